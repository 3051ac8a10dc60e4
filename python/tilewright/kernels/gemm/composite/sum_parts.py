"""The plan of split-K's second launch: C from the sums of parts along K (kernels/sum_parts.cuh)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tilewright._cached import cached_property
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.device_types import numeric_type
from tilewright.kernels.common.launch import KernelLaunch, Place
from tilewright.kernels.common.params import fast_divisor
from tilewright.kernels.common.plan_value import PlanValue, Positive, unchanging
from tilewright.kernels.gemm.epilogue import bias_offset, epilogue_type, pack_epilogue
from tilewright.kernels.gemm.problem import GemmProblem

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts

__all__ = ["PartSums", "SumParts", "sums_of", "takes_accesses"]

THREADS = 128
ACCESS = 16  # bytes of a part's sums that a thread loads at a time
ROW = 128  # bytes of whose multiple a row of sums begins
MOST = 1 << 31  # numbers that the kernel divides are below


class PartSums(NamedTuple):
    """Where the sums of each part lie: elements from one row to the next, and from one part to the next.

    Rows are those of C; where C is contiguous along M they are its columns.
    """

    along_m: bool
    length: int
    rows: int
    pitch: int
    step: int

    @property
    def strides(self) -> tuple[int, int]:
        """Those of the sums (M,N) of a part."""
        return (1, self.pitch) if self.along_m else (self.pitch, 1)


def takes_accesses(problem: GemmProblem, vector: int, alignment: int) -> bool:
    """Whether C takes accesses of so many elements along the mode in which it is contiguous.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> [takes_accesses(problem_of(64, n, 4096, Float16), 4, 16) for n in (100, 102)]
    [True, False]
    """
    p = problem.swapped() if sums_of(problem).along_m else problem
    rows = zip((p.m, *p.batch), (p.c_strides[0], *p.c_strides[2:]), strict=True)
    size = int(p.c_type.bits) // 8
    steps = [stride * size for extent, stride in rows if extent > 1]
    return p.c_strides[1] == 1 and all(x % (vector * size) == 0 for x in (alignment, *steps))


def sums_of(problem: GemmProblem) -> PartSums:
    """The sums of a problem's parts, contiguous as C is.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> sums_of(problem_of(64, 100, 4096, Float16))
    PartSums(along_m=False, length=100, rows=64, pitch=128, step=8192)
    """
    p = problem
    along_m = p.c_strides[0] == 1 and p.c_strides[1] != 1
    length, rows = (p.m, p.n) if along_m else (p.n, p.m)
    unit = ROW * 8 // p.acc_type.bits
    pitch = -(-length // unit) * unit
    return PartSums(along_m, length, rows, pitch, pitch * rows * p.batches)


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SumParts(PlanValue):
    """How sums of parts become C: `problem` is that of C, whose epilogue finishes the sums of `parts` parts.

    `wide`: whether C is written by accesses of as many elements as a thread has.
    """

    problem: GemmProblem
    parts: Positive
    wide: bool

    @property
    def view(self) -> GemmProblem:
        """The problem whose C is contiguous along N where C is along either mode."""
        return self.problem.swapped() if self.sums.along_m else self.problem

    @property
    def sums(self) -> PartSums:
        """Where the sums lie."""
        return sums_of(self.problem)

    @property
    def vector(self) -> int:
        """The neighbours in a row that a thread has.

        >>> from tilewright import Float16
        >>> from tilewright.kernels.gemm.problem import problem_of
        >>> SumParts(problem=problem_of(64, 100, 4096, Float16), parts=8, wide=True).vector
        4
        """
        return ACCESS * 8 // int(self.problem.acc_type.bits)

    @property
    def vectors(self) -> int:
        """Those of all rows, a thread each."""
        return -(-self.sums.length // self.vector) * self.sums.rows * self.problem.batches

    @property
    def threads(self) -> int:
        """The threads of a CTA."""
        return THREADS

    @property
    def ctas(self) -> int:
        """The CTAs of a launch."""
        return max(-(-self.vectors // THREADS), 1)

    @property
    def shared_bytes(self) -> int:
        """The shared memory of a CTA: none."""
        return 0

    @cached_property
    def name(self) -> str:
        """The kernel's name expression: the template and everything static."""
        p = self.view
        unit = 1 if p.c_strides[1] == 1 else -1
        kinds = f"{numeric_type(p.acc_type)}, {epilogue_type(p)}, {self.vector}, {str(self.wide).lower()}"
        return f"sum_parts<SumParts<{kinds}, {unit}, {len(p.batch)}>>"

    def params(self, parts: int = 0, c: int = 0, bias: int = 0) -> bytes:
        """The kernel's parameter, for the addresses of the parts' sums, of C and of the bias."""
        p, sums = self.view, self.sums
        epilogue = pack_epilogue(p, bias)
        batch = (*p.batch, 1)
        divisors = (-(-sums.length // self.vector), sums.rows, *batch)
        words = [w for d in divisors for w in fast_divisor(max(d, 1))]
        head = struct.pack("<2Q", parts, c) + epilogue + bytes(-len(epilogue) % 8)
        strides = struct.pack(f"<{2 + len(batch)}q", *p.c_strides, 0) + struct.pack("<q", sums.step)
        counts = struct.pack("<2i3I", p.m, p.n, self.parts, sums.pitch, self.vectors)
        packed = head + strides + counts + struct.pack(f"<{len(words)}I", *words)
        return packed + bytes(-len(packed) % 8)

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """The kernel of the plan, for the parts' sums, C and the bias at these places."""
        pointers = [(0, 0, 0), (1, 8, 0)]
        if self.problem.epilogue.bias is not None:
            pointers.append((2, 16 + bias_offset(self.problem), 0))
        return (KernelLaunch(self, tensors, (self.ctas, 1, 1), self.params(), pointers, programmatic=True),)

    def require(self, c_address: int, function: str) -> None:
        """Check what the kernel relies on for C at this address; ValueError where it does not hold."""
        p = self.view
        size = self.vector * int(p.c_type.bits) // 8
        if self.wide and not takes_accesses(self.problem, self.vector, c_address):
            raise ValueError(
                f"{function}: the plan writes C by accesses of {size} bytes, but mC {text((p.m, p.n, *p.batch))}:"
                f"{text(p.c_strides)} at {c_address:#x} has rows that are not aligned to them; make a plan for it"
            )

    def require_device(self, facts: DeviceFacts, function: str = "kernels.gemm") -> None:
        """LayoutError where C has more than the kernel counts."""
        if self.vectors + THREADS >= MOST:
            raise LayoutError(
                f"{function}: C has {self.vectors} vectors, but the kernel counts fewer than 2^31 of them"
            )

    def __str__(self) -> str:
        p, sums = self.view, self.sums
        return "\n".join(
            [
                f"sum of {self.parts} parts: C {text((p.m, p.n, *p.batch))}:{text(p.c_strides)} of {p.c_type}"
                + (" (transposed)" if sums.along_m else ""),
                f"  threads    {THREADS}, {self.ctas} CTAs, each thread {self.vector} elements of a row",
                f"  load       {8 * ACCESS} bits of each part, rows {sums.pitch} elements apart, in their order",
                f"  store C    {int(p.c_type.bits) * (self.vector if self.wide else 1)} bits",
            ]
        )
