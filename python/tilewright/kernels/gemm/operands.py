"""From the arguments of a GEMM to its problem: all that can be wrong with them is found here."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.operands import (
    CPU,
    CUDA,
    CUDA_HOST,
    CUDA_MANAGED,
    Operand,
    operand,
    require_disjoint,
    require_injective,
)
from tilewright.kernels.gemm.problem import ACTIVATIONS, MAX_BATCH, SUMS, Epilogue, GemmProblem
from tilewright.kernels.gemm.types import names, require_types, type_named, type_of
from tilewright.numeric import BFloat16, Float16, Float32, Float64, Int32, Numeric, TFloat32

if TYPE_CHECKING:
    from tilewright.kernels.gemm.request import GemmRequest

FLOAT32_MOST = 3.4028235677973366e38  # what is less than this is finite when rounded to Float32
DIFFERENTIABLE = "tilewright.torch.matmul"
PITCH = 16  # bytes to which the unused stride of a mode of extent 1 is rounded: an access has no more
MOST_ALIGNED = 4096  # bytes: more of an address is not told apart


class GemmOperands(NamedTuple):
    """The tensors of a GEMM and its problem.

    Coordinate 0 of the problem's A, B, C and bias lies `shifts` bytes behind the address of each tensor.
    """

    problem: GemmProblem
    a: Operand
    b: Operand
    c: Operand
    bias: Operand | None
    shifts: tuple[int, int, int, int]

    @property
    def addresses(self) -> tuple[int, int, int, int]:
        """Of coordinate 0 of A, B, C and bias, 0 where there is no bias."""
        a, b, c, bias = self.tensors
        return (
            a.address + self.shifts[0],
            b.address + self.shifts[1],
            c.address + self.shifts[2],
            bias.address + self.shifts[3] if bias is not None else 0,
        )

    @property
    def tensors(self) -> tuple[Operand, Operand, Operand, Operand | None]:
        """A, B, C and bias."""
        return self.a, self.b, self.c, self.bias

    @property
    def output(self) -> int:
        """C, among the tensors."""
        return 2

    @property
    def alignments(self) -> tuple[int, int, int]:
        """The power of two that divides each address of A, B and C.

        Of an array on the host what is more than an access needs is an accident of its allocation, and counts as the
        most: the same call has the same plan each time.
        """
        on_host = self.a.device[0] in (CPU, CUDA_HOST)

        def known(address: int) -> int:
            found = alignment_of(address)
            return MOST_ALIGNED if on_host and found >= PITCH else found

        a, b, c, _ = self.addresses
        return known(a), known(b), known(c)

    @property
    def empty(self) -> bool:
        """Whether C has no elements."""
        return self.c.size == 0


def alignment_of(address: int) -> int:
    """The greatest power of two that divides an address; 4096 where it is more.

    >>> alignment_of(0x7f0010), alignment_of(0)
    (16, 4096)
    """
    return min(address & -address, MOST_ALIGNED) or MOST_ALIGNED


def gemm_operands(function: str, mA: Any, mB: Any, mC: Any, request: GemmRequest) -> GemmOperands:
    """Check the tensors and the epilogue of a GEMM and bring them into one form; errors name the function.

    Batch modes that A, B and C allow to be one are merged, and strides of C made positive by starting at its other end.
    """
    given = ((mA, "mA"), (mB, "mB"), (mC, "mC"))
    bias, stream, out_dtype = request.bias, request.stream, request.out_dtype
    a, b, c = (operand(x, function, name, stream, DIFFERENTIABLE) for x, name in given)
    d = None if bias is None else operand(bias, function, "bias", stream, DIFFERENTIABLE)
    operands = [x for x in (a, b, c, d) if x is not None]
    types = [type_of(x, function) for x in (a, b, c)]
    in_tf32 = request.in_tf32
    a_type, b_type = (TFloat32 if t is Float32 and in_tf32 else t for t in types[:2])
    require_types(function, a_type, b_type, types[2])
    if out_dtype is not None and type_named(function, "out_dtype", out_dtype) is not types[2]:
        raise TypeError(f"{function}: out_dtype is {out_dtype}, but mC has elements of {types[2]}; pass one of the two")
    sums = SUMS[a_type]
    m, n, k, batch = _extents(function, a, b, c)
    if a.device[0] not in (CPU, CUDA, CUDA_HOST, CUDA_MANAGED):
        raise ValueError(f"{function}: mA lies on {a.place}; GEMMs run on the CPU and on CUDA devices")
    for x in operands:
        if x.place != a.place:
            raise ValueError(f"{function}: mA lies on {a.place} and {x.name} on {x.place}; all must be on one device")
        if x.size and x.address % x.element_bytes:
            raise ValueError(
                f"{function}: {x.name} begins at 0x{x.address:x}, which is no multiple of its element's "
                f"{x.element_bytes} bytes; copy it to an aligned array first"
            )
    if c.read_only:
        raise ValueError(f"{function}: mC is read-only, and a GEMM writes it; pass a writable array")
    epilogue = _epilogue(function, types[2], sums, request)
    if d is not None:
        epilogue = _with_bias(function, epilogue, d, m, n, sums)
    if c.size:
        require_injective(c, function)
        for x in operands:
            if x is not c and x.size:
                require_disjoint(x, c, function, "give mC memory of its own")
    form = _Form(
        (m, n, k, *batch),
        [
            [a.strides[0], 0, a.strides[1], *_padded(a, batch)],
            [0, b.strides[0], b.strides[1], *_padded(b, batch)],
            [c.strides[0], c.strides[1], 0, *c.strides[2:]],
            [epilogue.bias_stride * (epilogue.bias == mode) for mode in ("m", "n")] + [0] * (1 + len(batch)),
        ],
    )
    form.turn()
    merged = form.merged_batch()
    (am, _, ak, *_), (_, bn, bk, *_), (cm, cn, _, *_), (dm, dn, *_) = form.strides
    if epilogue.bias != "m":
        m, am, cm, merged = _folded(m, am, cm, 0, 1, merged)
    if epilogue.bias != "n":
        n, bn, cn, merged = _folded(n, bn, cn, 1, 0, merged)
    if len(merged) > MAX_BATCH:
        raise LayoutError(
            f"{function}: {a}, {b} and {c} have {len(merged)} batch modes that cannot be merged; at most {MAX_BATCH} "
            "are supported: multiply slices"
        )
    sizes = [x.element_bytes for x in (a, b, c)]
    am, ak = _unused(m, k, am, ak, sizes[0])
    bn, bk = _unused(n, k, bn, bk, sizes[1])
    cm, cn = _unused(m, n, cm, cn, sizes[2])
    problem = GemmProblem(
        a_type,
        b_type,
        types[2],
        sums,
        m,
        n,
        k,
        tuple(extent for extent, _ in merged),
        (am, ak, *(s[0] for _, s in merged)),
        (bn, bk, *(s[1] for _, s in merged)),
        (cm, cn, *(s[2] for _, s in merged)),
        epilogue._replace(bias_stride=dm if epilogue.bias == "m" else dn),
    )
    shifts = [offset * x.element_bytes if x else 0 for offset, x in zip(form.offsets, (a, b, c, d), strict=True)]
    return GemmOperands(problem, a, b, c, d, (shifts[0], shifts[1], shifts[2], shifts[3]))


# ---- extents ----


def _extents(function: str, a: Operand, b: Operand, c: Operand) -> tuple[int, int, int, tuple[int, ...]]:
    """M, N, K and the batch's extents, which are those of C."""
    for x, modes in ((a, "(M,K)"), (b, "(N,K)"), (c, "(M,N)")):
        if len(x.shape) < 2:
            raise LayoutError(
                f"{function}: {x} has {modes_text(len(x.shape))}, but it needs two, {modes}, and behind them those of "
                "a batch"
            )
    (m, k), (n, other) = a.shape[:2], b.shape[:2]
    if k != other:
        turned = b.shape[0] == k
        raise LayoutError(
            f"{function}: {a} is (M,K) with K = {k} and {b} is (N,K) with K = {other}; both must have the same K"
            + (": pass a matrix (K,N) transposed" if turned else "")
        )
    if c.shape[:2] != (m, n):
        raise LayoutError(f"{function}: {c} must be (M,N) = {text((m, n))}, by the M of {a} and the N of {b}")
    batch = c.shape[2:]
    for x in (a, b):
        if len(x.shape) > len(c.shape):
            raise LayoutError(f"{function}: {x} has more batch modes than {c}; give mC all of them")
        for i, extent in enumerate(x.shape[2:]):
            if extent not in (1, batch[i]):
                raise LayoutError(
                    f"{function}: {x} has extent {extent} in mode {i + 2} and {c} has {batch[i]}; batch modes of A and "
                    "B must be those of C, or 1, or missing at the end"
                )
    return m, n, k, batch


def modes_text(count: int) -> str:
    """The number of modes in words.

    >>> modes_text(1), modes_text(0)
    ('1 mode', '0 modes')
    """
    return f"{count} mode{'' if count == 1 else 's'}"


def batch_of(function: str, a_batch: tuple[int, ...], b_batch: tuple[int, ...]) -> tuple[int, ...]:
    """The batch modes of C for those of A and B, as they broadcast: from the first on, 1 or missing for any extent.

    >>> batch_of("gemm", (2, 1, 4), (2, 3))
    (2, 3, 4)
    """
    if len(a_batch) < len(b_batch):
        return batch_of(function, b_batch, a_batch)
    found = list(a_batch)
    for i, extent in enumerate(b_batch):
        if found[i] not in (1, extent) and extent != 1:
            raise LayoutError(
                f"{function}: mA and mB have extents {a_batch[i]} and {extent} in batch mode {i}; they must be equal, "
                "or one of them 1"
            )
        found[i] = extent if found[i] == 1 else found[i]
    return tuple(found)


def _padded(x: Operand, batch: tuple[int, ...]) -> list[int]:
    """The strides of the batch modes, 0 where the tensor is broadcast."""
    given = [0 if n == 1 else d for n, d in zip(x.shape[2:], x.strides[2:], strict=True)]
    return given + [0] * (len(batch) - len(given))


def _folded(extent: int, d: int, c: int, side: int, other: int, batch: list[Any]) -> tuple[int, int, int, list[Any]]:
    """The rows of A (side 0) or B with the batch modes that go on with them, where the other has no such mode.

    `d` and `c` are the strides of the rows in the operand and in C.
    """
    left = []
    for count, strides in batch:
        if strides[other] == 0 and extent == 1:
            extent, d, c = count, strides[side], strides[2]
        elif strides[other] == 0 and extent and strides[side] == extent * d and strides[2] == extent * c:
            extent *= count
        else:
            left.append((count, strides))
    return extent, d, c, left


def _unused(first: int, second: int, d: int, e: int, size: int) -> tuple[int, int]:
    """The strides of two modes, a mode of extent 1 having the one that suits most kernels: nothing is read there."""

    def beside(extent: int, stride: int) -> int:
        step = PITCH // math.gcd(PITCH, size)
        return -(-extent // step) * step if stride == 1 else 1

    if first == 1 and second == 1:
        return beside(1, 1), 1
    if first == 1:
        return beside(second, e), e
    return (d, beside(first, d)) if second == 1 else (d, e)


class _Form:
    """Modes (m, n, k, batch..) and the strides of A, B, C and bias in each, with what starting at other ends adds."""

    def __init__(self, extents: tuple[int, ...], strides: list[list[int]]) -> None:
        self.extents = extents
        self.strides = strides
        self.offsets = [0, 0, 0, 0]

    def turn(self) -> None:
        """Start at the other end of modes that run backwards in C, or where nothing but A and B runs, in both."""
        for mode, extent in enumerate(self.extents):
            a, b, c, _ = (side[mode] for side in self.strides)
            if extent > 1 and (c < 0 or (mode == 2 and min(a, b) < 0 and max(a, b) <= 0)):
                for i, side in enumerate(self.strides):
                    self.offsets[i] += (extent - 1) * side[mode]
                    side[mode] = -side[mode]

    def merged_batch(self) -> list[tuple[int, tuple[int, ...]]]:
        """(extent, strides of A, B and C) of each batch mode, those of C ascending, as few as there can be."""
        modes = [
            (extent, tuple(side[i + 3] for side in self.strides[:3]))
            for i, extent in enumerate(self.extents[3:])
            if extent != 1
        ]
        modes.sort(key=lambda mode: (mode[1][2], [abs(d) for d in mode[1]]))
        merged: list[tuple[int, tuple[int, ...]]] = []
        for extent, strides in modes:
            if merged:
                last, before = merged[-1]
                if all(d == e * last for d, e in zip(strides, before, strict=True)):
                    merged[-1] = extent * last, before
                    continue
            merged.append((extent, strides))
        return merged


# ---- the epilogue ----


def _epilogue(function: str, c_type: type[Numeric], acc_type: type[Numeric], request: GemmRequest) -> Epilogue:
    activation = request.activation
    numbers_ = [number(function, name, getattr(request, name)) for name in ("alpha", "beta")]
    if activation is not None and not (isinstance(activation, str) and activation in ACTIVATIONS):
        raise ValueError(
            f"{function}: activation is {activation!r}, but it must be None, "
            f"{', '.join(map(repr, ACTIVATIONS[:-1]))} or {ACTIVATIONS[-1]!r}"
        )
    for name, x in zip(("alpha", "beta"), numbers_, strict=True):
        if acc_type is Int32 and c_type is Int32 and not abs(x) < 2**31:
            raise ValueError(f"{function}: {name} is {x}, which Int32 does not hold; store the sums as floats")
        if acc_type is not Float64 and FLOAT32_MOST < abs(x) < math.inf:
            raise ValueError(
                f"{function}: {name} is {x}, which Float32, the type of the epilogue, does not hold; scale mA, mB or mC"
            )
    return Epilogue(alpha=numbers_[0], beta=numbers_[1], activation=activation)


def number(function: str, name: str, x: Any) -> float:
    """An argument as a number of Python; TypeError where it is none, ValueError where no float holds it."""
    if isinstance(x, (numbers.Real, Numeric)):
        try:
            value = float(x)
        except OverflowError:
            raise ValueError(f"{function}: {name} is an integer greater than any float") from None
        whole: Any = x
        return whole if type(whole) is int else value
    mend = f"; pass {name}.item()" if hasattr(x, "item") else ""
    raise TypeError(f"{function}: expected {name} to be a number, but got {type(x).__name__}{mend}")


def _with_bias(function: str, epilogue: Epilogue, d: Operand, m: int, n: int, acc_type: type[Numeric]) -> Epilogue:
    dtype = type_of(d, function)
    allowed: tuple[type[Numeric], ...] = Float16, BFloat16, Float32
    if acc_type not in allowed:
        allowed = (*allowed, acc_type)
    if dtype not in allowed:
        raise TypeError(
            f"{function}: bias has elements of {dtype}, but to sums of {acc_type} one of {names(allowed)} is added"
        )
    sides: dict[tuple[int, ...], tuple[str, int]] = {(m, 1): ("m", 0), (m,): ("m", 0), (1, n): ("n", 1), (n,): ("n", 0)}
    if d.shape not in sides:
        raise LayoutError(f"{function}: {d} must be (N) or (1,N) with N = {n}, or (M) or (M,1) with M = {m}")
    side, mode = sides[d.shape]
    return epilogue._replace(bias=side, bias_type=dtype, bias_stride=d.strides[mode])
