"""A GEMM whose A, B or both are first copied into what its kernel takes: rows that are aligned, along K or turned.

Kernels that load by TMA need rows that begin at multiples of 16 bytes, and for some types rows along K. Where tensors
lie otherwise, `kernels.tiled_copy`'s plans bring them into a workspace, and the kernel multiplies that. For gemm_simt
the copies are turned: contiguous along M and N, in which its shared memory is, and as long as whole tiles. What is
behind the last row is never written, and only sums that are not stored come from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.launch import PADDED, KernelLaunch, Place
from tilewright.kernels.common.operands import CPU, Operand
from tilewright.kernels.common.plan_value import unchanging
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.run import run_on_host as copy_on_host
from tilewright.kernels.gemm.composite.padding import ROW, pad, workspace_bytes
from tilewright.kernels.gemm.composite.plan import CompositeGemm, beside
from tilewright.kernels.gemm.plan import GemmPlan
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals.accesses import Accesses
    from tilewright.kernels.gemm.problem import GemmProblem

SOURCE, WORKSPACE = 1 << 60, 1 << 61  # addresses of nothing, far from each other


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class PaddedGemm(CompositeGemm):
    """A plan of up to three launches: `copy_a` and `copy_b`, CopyPlans or None, and `gemm`, a plan for the copies.

    `problem` is that of the tensors as they are. A plan does not change: `replace(gemm=...)` gives another one.
    """

    copy_a: CopyPlan | None
    copy_b: CopyPlan | None
    gemm: GemmPlan

    @classmethod
    def of(
        cls, problem: GemmProblem, alignments: tuple[int, int, int], sides: tuple[bool, bool], gemm: GemmPlan
    ) -> PaddedGemm:
        """The plan that copies the operands of `sides` for a plan of the problem with those copies."""
        turned = _is_turned(gemm, sides)
        a, b = (
            _copy_plan(problem, side, alignments[side], turned) if wanted else None for side, wanted in enumerate(sides)
        )
        return cls(problem=problem, copy_a=a, copy_b=b, gemm=gemm)

    def require_fields(self) -> None:
        """ValueError where `gemm` is no plan of the problem with the copies."""
        own = self.gemm.problem.swapped() if self.gemm.swapped else self.gemm.problem
        wanted, _ = pad(self.problem, (1, 1, 1), self.sides, self.is_turned)
        if own != wanted:
            raise ValueError(
                f"PaddedGemm: gemm is a plan of {own}, but with the copies it has to be one of {wanted}; replace gemm "
                "and copies together"
            )

    @property
    def sides(self) -> tuple[bool, bool]:
        """Whether A and B are copied."""
        return self.copy_a is not None, self.copy_b is not None

    @property
    def is_turned(self) -> bool:
        """Whether the copies are contiguous along M and N; else they are along K."""
        return _is_turned(self.gemm, self.sides)

    @property
    def workspace(self) -> tuple[int, int, int]:
        """Where the copies of A and of B begin in the workspace, and its size, in bytes."""
        padded, _ = pad(self.problem.undivided, (1, 1, 1), self.sides, self.is_turned)
        a = workspace_bytes(padded.m, padded.k, padded.batch, padded.a_strides, padded.a_type.bits // 8)
        b = workspace_bytes(padded.n, padded.k, padded.batch, padded.b_strides, padded.b_type.bits // 8)
        first, second = a * self.sides[0], b * self.sides[1]
        return 0, first, max(first + second, 1)

    def for_problem(self, problem: GemmProblem) -> PaddedGemm:
        """The plan for other sizes, by copies of their own. ValueError where K is 0, for there is nothing to copy."""
        if problem.k == 0:
            raise ValueError("plan.run: K is 0, but the plan copies A or B first; let kernels.gemm choose a plan")
        padded, _ = pad(problem, (1, 1, 1), self.sides, self.is_turned)
        a, b = (
            None if old is None else old.replace(problem=_copy_plan(problem, side, ROW, self.is_turned).problem)
            for side, old in enumerate((self.copy_a, self.copy_b))
        )
        gemm = self.gemm.for_problem(padded.swapped() if self.gemm.swapped else padded)
        return PaddedGemm(problem=problem, copy_a=a, copy_b=b, gemm=gemm)

    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """Check what the copies and the kernel rely on; ValueError where it does not hold."""
        for copy, address in ((self.copy_a, a_address), (self.copy_b, b_address)):
            if copy is not None:
                copy.require(address, WORKSPACE, function)
        a, b = (WORKSPACE if padded else x for padded, x in zip(self.sides, (a_address, b_address), strict=True))
        self.gemm.require(*((b, a) if self.gemm.swapped else (a, b)), c_address, function)

    @property
    def single_plans(self) -> tuple[Any, ...]:
        """As CompositeGemm.single_plans: the copies, then the GEMM."""
        return (*(copy for copy in (self.copy_a, self.copy_b) if copy is not None), self.gemm)

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """As CompositeGemm.launches: the copies, then the GEMM."""
        *starts, size = self.workspace
        found: list[KernelLaunch] = []
        places = list(tensors)
        for side, copy in enumerate((self.copy_a, self.copy_b)):
            if copy is not None:
                places[side] = Place(PADDED, starts[side], WORKSPACE + starts[side])
                found += copy.launches((tensors[side], places[side]))
        found += self.gemm.launches(tuple(places))
        return tuple(one._replace(workspace=(*one.workspace[:2], size)) for one in found)

    def run_on_host(self, a: int, b: int, c: int, bias: int, check: bool) -> Any:
        """As CompositeGemm.run_on_host; the report is that of the GEMM, after the copies."""
        *starts, size = self.workspace
        memory = _core.Memory.allocate(size, ROW)
        found = [a, b]
        for side, copy in enumerate((self.copy_a, self.copy_b)):
            if copy is not None:
                copy_on_host(copy, found[side], memory.address + starts[side])
                found[side] = memory.address + starts[side]
        a, b = found
        report = self.gemm.run_on_host(a, b, c, bias, check)
        del memory  # it had to live until here
        return report

    def accesses(self, addresses: tuple[int, int, int, int]) -> Accesses:
        """As CompositeGemm.accesses."""
        a, b, c, bias = addresses
        copies: list[MemoryInstruction] = []
        for name, copy, address in (("A", self.copy_a, a), ("B", self.copy_b, b)):
            if copy is not None:
                copy.require(address, 0, "analyze")
                found = kernel_of(copy).accesses(copy, (address, 0)).instructions
                copies += [x._replace(name=f"copy of {name}: {x.name}") for x in found]
        places = (0 if self.copy_a is not None else a, 0 if self.copy_b is not None else b, c, bias)
        return beside(kernel_of(self.gemm).accesses(self.gemm, places), before=copies)

    def __str__(self) -> str:
        lines = [f"gemm of copies, {self.workspace[2]} bytes: {self.problem}"]
        for name, copy in (("A", self.copy_a), ("B", self.copy_b)):
            if copy is not None:
                lines += [f"copy of {name}: {copy}"]
        return "\n".join([*lines, str(self.gemm)])


def _is_turned(gemm: GemmPlan, sides: tuple[bool, bool]) -> bool:
    p = gemm.problem.swapped() if gemm.swapped else gemm.problem
    copied = [strides for strides, side in zip((p.a_strides, p.b_strides), sides, strict=True) if side]
    return any(strides[0] == 1 and strides[1] != 1 for strides in copied)


def _copy_plan(problem: GemmProblem, side: int, start: int, is_turned: bool) -> CopyPlan:
    """The plan of the copy of A (side 0) or B into the workspace, for tensors whose addresses are aligned as start."""
    from tilewright.kernels.copy.planned import plan_operands

    src, dst = copy_operands(problem, side, is_turned, SOURCE + start, WORKSPACE, (CPU, 0))
    plan: CopyPlan = plan_operands("kernels.gemm", src, dst)[0]
    return plan


def copy_operands(
    problem: GemmProblem, side: int, is_turned: bool, src: int, dst: int, device: tuple[int, int]
) -> tuple[Operand, Operand]:
    """A or B at its address, and its copy in the workspace, without the modes over which it is broadcast."""
    problem = problem.undivided
    padded, _ = pad(problem, (1, 1, 1), (side == 0, side == 1), is_turned)
    rows, dtype = ((problem.m, problem.a_type), (problem.n, problem.b_type))[side]
    size = dtype.bits // 8
    given, copied = ((problem.a_strides, padded.a_strides), (problem.b_strides, padded.b_strides))[side]
    modes = [mode for mode in zip((rows, problem.k, *problem.batch), given, copied, strict=True) if mode[1] or mode[2]]
    shape, from_strides, to_strides = (tuple(mode[i] for mode in modes) for i in range(3))

    def at(address: int, strides: tuple[int, ...], name: str) -> Operand:
        shown = f"{text(shape)}:{text(strides)}"
        return Operand(name, address, str(dtype), size, shape, strides, device, False, shown, None)

    name = "mA" if side == 0 else "mB"
    return at(src, from_strides, name), at(dst, to_strides, f"the copy of {name}")
