"""wgmma in kernels: the operands as descriptors of shared memory or as registers, and what orders the instructions."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.mma_ops import Field
from tilewright.cute.atoms.mma_warpgroup import OperandMajorMode, OperandSource
from tilewright.cute.atoms.wgmma_layout import canonical_addresses
from tilewright.cute.execute.traced import access, require_registers
from tilewright.cute.tensors.pointer import AddressSpace, recast_ptr
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric import Boolean
from tilewright.numeric.traced import emit, is_tracing, symbol_of

if TYPE_CHECKING:
    from tilewright.cute.atoms.mma_atom import MmaAtom

__all__ = ["commit_group", "fence", "multiply_by_warpgroup", "wait_group"]

_ROW = 16  # bytes that lie side by side in every form
_ROWS = 8  # of a swizzle's pattern
_LINE = 128  # bytes by which the rows of that pattern are told apart


def fence(*, loc: object = None, ip: object = None) -> None:
    """Let the wgmma that follow use registers, and shared memory, that this warpgroup has touched before.

    It comes before the first wgmma of a kernel, and before one that uses registers which other code has read or written
    since. What was written to shared memory by ordinary stores or cp.async needs `cute.arch.fence_proxy`, too.
    Source: CuTeDSL `cute.nvgpu.warpgroup.fence`.
    """
    _emit("fence", "wgmma_fence")


def commit_group(*, loc: object = None, ip: object = None) -> None:
    """Make the wgmma since the last group a group, for which `wait_group` waits.

    Source: CuTeDSL `cute.nvgpu.warpgroup.commit_group`.
    """
    _emit("commit_group", "wgmma_commit_group")


def wait_group(group: int, *, loc: object = None, ip: object = None) -> None:
    """Wait until at most the last `group` groups are under way: the registers and operands of the others are free.

    Raises TypeError or ValueError for what is no integer of 0 to 7 known while tracing.
    Source: CuTeDSL `cute.nvgpu.warpgroup.wait_group`.
    """
    if not isinstance(group, int) or isinstance(group, bool):
        raise TypeError(f"wait_group: expected the number of groups as a Python integer, but got {group!r}")
    if not 0 <= group <= 7:
        raise ValueError(f"wait_group({group}): expected 0 to 7 groups that may be under way")
    _emit("wait_group", "wgmma_wait_group", group)


def _emit(function: str, code: str, *ints: int) -> None:
    if not is_tracing():
        raise RuntimeError(
            f"warpgroup.{function}: it is an instruction of a kernel; call it in a @cute.kernel function"
        )
    emit(code, ints=ints)


# ---- operands --------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _form(values: Any, shape: tuple[int, int], size: int, major: str, span: int) -> tuple[int, int] | None:
    """(leading, stride) bytes of an instruction's matrix that lies as `values` say; None where it cannot."""
    rows, k = shape
    offsets = _core.composition(values, _core.make_layout((rows, k))).offsets().reshape(rows, k, order="F") * size
    group = (span or _ROW) // size

    def at(r: int, c: int) -> int:
        return int(offsets[r, c]) if r < rows and c < k else 0

    if major == "k":
        leading, stride = at(0, group), at(_ROWS, 0)
    elif span:
        leading, stride = at(group, 0), at(0, _ROWS)
    else:
        leading, stride = at(0, _ROWS), at(group, 0)
    found = canonical_addresses(shape, size, major, span, leading, stride)
    fits = (found == offsets).all() and leading % _ROW == stride % _ROW == 0 and min(leading, stride) >= 0
    return (leading, stride) if fits else None


def _described(function: str, op: Any, operand: str, tensor: Tensor) -> tuple[tuple[Any, Any], tuple[int, ...]]:
    """(where the matrices of the instructions begin, leading, stride, span, whether it is MN-major)."""
    name = operand.lower()
    layout: Any = tensor.layout
    pointer: Any = tensor.iterator
    if tensor.memspace is not AddressSpace.smem:
        raise ValueError(
            f"{function}: {op} reads {name} from shared memory, but it is {tensor}; pass make_fragment_{operand} of a "
            "partition of a tensor there"
        )
    size = int(pointer.dtype.bits) // 8
    swizzle, offset = pointer.swizzle, 0
    if isinstance(layout, _core.ComposedLayout):
        if swizzle is not None or not isinstance(layout.inner, _core.Swizzle):
            raise ValueError(f"{function}: {op} reads {name} by one swizzle of the hardware, but it is {tensor}")
        swizzle, offset, layout = _core.recast_layout(8, 8 * size, layout.inner), layout.offset, layout.outer
        repeats = _LINE << swizzle.num_bits
        if pointer.alignment % (_ROW if swizzle.num_bits == 0 else repeats):
            raise ValueError(
                f"{function}: {op} swizzles the address of {name}, whose pattern repeats after {repeats} bytes, but "
                f"{tensor} is known to be aligned to {pointer.alignment}; allocate it with that alignment"
            )
    bits = 0 if swizzle is None else swizzle.num_bits
    if bits and (bits > 3 or (swizzle.num_base, swizzle.num_shift) != (4, 3)):
        raise _unreadable(function, op, name, tensor)
    span = _ROW << bits if bits else 0
    mode = op.a_major_mode if operand == "A" else op.b_major_mode
    rows, k = (op.shape_mnk[0] if operand == "A" else op.shape_mnk[1]), op.shape_mnk[2]
    values = layout[0]
    form = _form(values, (rows, k), size, mode.value, span) if _core.is_static(values) else None
    if form is None:
        raise _unreadable(function, op, name, tensor)
    dtype = op.a_dtype if operand == "A" else op.b_dtype  # of Float32 the instruction reads the upper bits
    plain = recast_ptr(pointer, None if pointer.swizzle is None else _core.Swizzle(0, 4, 3), dtype)
    rest = [layout[i] for i in range(1, _core.rank(layout))] or [_core.make_layout(1)]
    begins = _core.make_composed_layout(_core.Swizzle(0, 4, 3), offset, _core.make_layout(rest))
    return access(function, Tensor(plain, begins)), (*form, span, int(mode is OperandMajorMode.MN))


def _unreadable(function: str, op: Any, name: str, tensor: Tensor) -> ValueError:
    return ValueError(
        f"{function}: {op} cannot read {name} as {tensor} lies; make its layout by tile_to_shape of a "
        "make_smem_layout_atom of the operation's major mode, and partition it by this TiledMma"
    )


def multiply_by_warpgroup(
    function: str, atom: MmaAtom, d: Tensor, a: Tensor, b: Tensor, c: Tensor, shapes: dict[str, tuple[int, ...]]
) -> None:
    """d[m,n] += sum over k of a[m,k] b[n,k], an instruction of the warpgroup for each m, n and k: wgmma."""
    op: Any = atom.op
    if d.iterator.symbol != c.iterator.symbol or d.layout != c.layout:
        raise ValueError(f"{function}: {op} adds to the registers that it writes; pass d, {d}, as c, too")
    from_registers = op.a_src is OperandSource.RMEM
    for name, tensor in (("d", d), ("a", a))[: 1 + from_registers]:
        require_registers(function, str(op), name, tensor)
    if from_registers:
        left: Any = access(function, Tensor(recast_ptr(a.iterator, dtype=op.a_dtype), a.layout))
        form_a: tuple[int, ...] = (0, 0, 0, 0)
    else:
        left, form_a = _described(function, op, "A", a)
    right, form_b = _described(function, op, "B", b)
    _, n, k = op.shape_mnk
    _, rows, depth = shapes["a"]
    adds = Boolean(atom.get(Field.ACCUMULATE))
    emit(
        "wgmma",
        (symbol_of(Boolean, adds._value),),
        accesses=[access(function, d), left, right],
        ints=(n, k, rows, shapes["b"][1], depth, int(from_registers), *form_a, *form_b),
        text=op.instruction,
    )
