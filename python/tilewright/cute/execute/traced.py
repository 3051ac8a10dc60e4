"""Copies and multiplications of a kernel that is traced: one operation of the program for a whole tensor."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.copy_ops import CopyG2SOp, MatrixOp
from tilewright.cute.atoms.mma_ops import Field
from tilewright.cute.atoms.modifiers import LoadCacheMode, MemoryOrder
from tilewright.cute.execute.copy_calls import name_of
from tilewright.cute.execute.copy_elements import memory_tensor, sizes_of
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.pointer import AddressSpace, recast_ptr
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.vectors.choose import where
from tilewright.numeric import Boolean
from tilewright.numeric.traced import emit, is_traced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.cute.atoms.copy_atom import CopyAtom
    from tilewright.cute.atoms.mma_atom import MmaAtom

__all__ = [
    "access",
    "convert_elements",
    "copy_by_atom",
    "copy_by_warp",
    "copy_elements",
    "copy_widest",
    "in_kernel",
    "multiply_add",
    "multiply_by_warp",
    "require_registers",
]

_MOST_BITS = 128  # of one instruction of any GPU
_REGISTER_BITS = 32


def in_kernel(*tensors: Tensor) -> bool:
    """Whether one of the tensors is a kernel's."""
    return any(is_traced(tensor.iterator) for tensor in tensors)


def access(function: str, tensor: Tensor) -> Any:
    """What the program accesses: the pointer and the layout."""
    if not is_traced(tensor.iterator):
        raise TypeError(
            f"{function}: {tensor} was made outside of the kernel; pass it as an argument, or make it in the kernel"
        )
    return tensor.iterator.symbol, tensor.layout


def _emit_copy(
    function: str, src: Tensor, dst: Tensor, pred: Tensor | None, elements: int, mode: int = 0, text: str = ""
) -> None:
    accesses = [access(function, src), access(function, dst)]
    if pred is not None:
        accesses.append(access(function, pred))
    emit("copy", accesses=accesses, ints=(elements * src.iterator.dtype.bits, elements, mode), text=text)


# ---- by an atom ------------------------------------------------------------------------------------------------------


def copy_by_atom(
    function: str, atom: CopyAtom, src: Tensor, dst: Tensor, values: int, sizes: Sequence[int], pred: Any
) -> None:
    """Copy with one instruction for `values` elements; without a width of its own, as wide as both tensors allow."""
    chosen = None if pred is None else _predicate(function, pred, (sizes[0] // values, *sizes[1:]))
    for name, tensor in (("src", src), ("dst", dst)):
        _require_space(function, atom, name, tensor)
    order = getattr(atom.op, "memory_order", MemoryOrder.WEAK)
    if order is not MemoryOrder.WEAK:
        raise ValueError(
            f"{function}: {atom.op} has the memory order {order.value}, but copies in kernels are weak; order other "
            'threads\' accesses by atomics, as cute.arch.atomic_add(ptr, 0, sem="acquire", scope="gpu") and '
            'cute.arch.atomic_exch(ptr, value, sem="release", scope="gpu"), or by a fence'
        )
    if atom.num_bits_per_copy is None and chosen is None:
        copy_widest(function, src, dst)
        return
    for name, tensor in (("src", src), ("dst", dst)):
        _require_vectors(function, atom, name, tensor, values)
    if isinstance(atom.op, CopyG2SOp):
        mode = int(atom.op.cache_mode is LoadCacheMode.GLOBAL)
        _emit_copy(function, src, dst, chosen, values, mode, "cp.async")
    else:
        _emit_copy(function, src, dst, chosen, values)


def _predicate(function: str, pred: Any, sizes: tuple[int, ...]) -> Tensor:
    tensor = memory_tensor(function, "pred", pred)
    if tensor.element_type is not Boolean:
        raise TypeError(f"{function}: pred is {tensor}, but a predicate has elements of Boolean")
    found = sizes_of(function, "pred", tensor)
    # A single call of an atom needs no mode of its own.
    if found != sizes and not (sizes[0] == 1 and found == sizes[1:]):
        raise ValueError(
            f"{function}: pred has shape {text(tensor.shape)}, but needs one Boolean for each call of the atom: "
            f"{text(sizes)}, the calls of the first mode, then the other modes of src; "
            f"make_rmem_tensor({text(sizes)}, Boolean) has them"
        )
    return tensor


def _require_space(function: str, atom: CopyAtom, name: str, tensor: Tensor) -> None:
    spaces = getattr(atom.traits, f"{name}_spaces")
    if tensor.memspace not in spaces:
        verb = "reads" if name == "src" else "writes"
        raise ValueError(
            f"{function}: {atom.op} {verb} {' or '.join(map(str, spaces))} memory, but {name} is {tensor}; "
            "choose the operation for these memories"
        )


def _require_vectors(function: str, atom: CopyAtom, name: str, tensor: Tensor, values: int) -> None:
    """Each group of `values` elements lies side by side, at a multiple of its size."""
    if values == 1 or tensor.memspace is AddressSpace.rmem:
        return  # registers are named one by one
    needed = values * tensor.iterator.dtype.bits // 8
    if not _is_run(tensor.layout, values):
        raise ValueError(
            f"{function}: {name_of(atom)} accesses {values} elements of {name} side by side, but {tensor} is not known "
            "to have them so; use a narrower copy or another thread-value layout"
        )
    known = _known_alignment(tensor, _core.logical_divide(tensor.layout, values))
    if known < needed:
        raise ValueError(
            f"{function}: {name_of(atom)} needs {name} aligned to {needed} bytes, but the vectors of {tensor} are "
            f"known to be aligned to {known}; promise more (assumed_align= of the pointer, cute.assume(stride, "
            "divby=..)), or use a narrower copy"
        )


def _is_run(layout: Any, values: int) -> bool:
    """Whether the first elements are known to follow one another, and so each group of as many."""
    if isinstance(layout, _core.ComposedLayout):
        swizzle = layout.inner
        if not isinstance(swizzle, _core.Swizzle) or 1 << swizzle.num_base < values:
            return False
        layout = layout.outer
    first = _core.coalesce(_core.composition(layout, _core.make_layout(values)))
    return bool(first == _core.make_layout(values))


def _known_alignment(tensor: Tensor, parts: Any) -> int:
    """Bytes that are known to divide the addresses of the vectors of a layout (vector, vectors) of the tensor."""
    pointer = tensor.iterator
    bits, width = 8 * pointer.alignment, pointer.dtype.bits
    if isinstance(parts, _core.ComposedLayout):
        bits = gcd(bits, _divisor(parts.offset) * width, (1 << parts.inner.num_base) * width)
        parts = parts.outer
    vectors = _core.coalesce(parts[1])
    extents, strides = _core.flatten_to_tuple(vectors.shape), _core.flatten_to_tuple(vectors.stride)
    for extent, stride in zip(extents, strides, strict=True):
        if not (isinstance(extent, int) and extent == 1):
            bits = gcd(bits, _divisor(stride) * width)
    known: int = max(bits // 8, 1)
    return known


def _divisor(x: Any) -> int:
    return int(_core.get_divisibility(x))


# ---- by a warp -------------------------------------------------------------------------------------------------------


def copy_by_warp(function: str, atom: CopyAtom, src: Tensor, dst: Tensor, pred: Any) -> None:
    """Copy matrices between shared memory and the registers of a warp: ldmatrix and stmatrix."""
    op = atom.op
    if not isinstance(op, MatrixOp):
        raise ValueError(f"{function}: {op} is no operation of kernels yet; ldmatrix and stmatrix are, and cp.async")
    if pred is not None:
        raise ValueError(
            f"{function}: {op} is executed by the 32 threads of a warp together, so none of its calls can be left out; "
            "pad the tensors to whole tiles and leave pred out"
        )
    sides = (("src", src, atom.layout_src_tv), ("dst", dst, atom.layout_dst_tv))
    calls = []
    for name, tensor, layout in sides:
        _require_space(function, atom, name, tensor)
        values, (first, *rest) = int(_core.size(layout, mode=[1])), sizes_of(function, name, tensor)
        if first % values:
            raise ValueError(
                f"{function}: {name_of(atom)} moves {values} elements of a thread's {name} at once, but mode 0 of "
                f"{tensor} has {first}, which is no multiple of it; partition it by this tiled copy (partition_S, "
                "partition_D, retile)"
            )
        calls.append((first // values, *rest))
        if tensor.memspace is AddressSpace.rmem:
            require_registers(function, name_of(atom), name, tensor)
        else:
            _require_vectors(function, atom, name, tensor, values)
    if calls[0] != calls[1]:
        raise ValueError(
            f"{function}: {name_of(atom)} is called {text(calls[0])} times by the modes of src {src}, and "
            f"{text(calls[1])} times by those of dst {dst}; they need the same"
        )
    emit(
        "ldmatrix" if op.is_load else "stmatrix",
        accesses=[access(function, src), access(function, dst)],
        ints=(op.num_matrices, int(op.transpose)),
    )


def require_registers(function: str, what: str, name: str, tensor: Tensor) -> None:
    """Each register of 32 bits holds neighbours."""
    bits = tensor.iterator.dtype.bits
    together = max(_REGISTER_BITS // bits, 1)
    if tensor.memspace is not AddressSpace.rmem:
        raise ValueError(
            f"{function}: {what} takes {name} from registers, but it is {tensor}; copy it to a fragment first "
            "(make_fragment_A, make_fragment_B, make_fragment_C)"
        )
    parts = _core.logical_divide(tensor.layout, together)
    if not _is_run(tensor.layout, together) or 8 * _known_alignment(tensor, parts) < together * bits:
        raise ValueError(
            f"{function}: {what} takes {together} elements of {name} from each register, but {tensor} is not known to "
            "have them side by side; make the fragment with make_fragment_A, make_fragment_B or make_fragment_C"
        )


def multiply_by_warp(
    function: str, atom: MmaAtom, d: Tensor, a: Tensor, b: Tensor, c: Tensor, shapes: dict[str, tuple[int, ...]]
) -> None:
    """d[m,n] = c[m,n] + sum over k of a[m,k] b[n,k], an instruction of the warp for each m, n and k: mma.sync."""
    op = atom.op
    for name, tensor in (("d", d), ("a", a), ("b", b), ("c", c)):
        require_registers(function, str(op), name, tensor)
    c = _initial(atom, d, c)
    # Of Float32 the instruction reads the upper bits.
    a, b = (Tensor(recast_ptr(x.iterator, dtype=t), x.layout) for x, t in ((a, op.a_dtype), (b, op.b_dtype)))
    _, rows, depth = shapes["a"]
    emit(
        "mma",
        accesses=[access(function, tensor) for tensor in (d, a, b, c)],
        ints=(*op.shape_mnk, rows, shapes["b"][1], depth, int(op.arch.removeprefix("sm_"))),
        text=op.instruction,
    )


# ---- element by element ----------------------------------------------------------------------------------------------


def copy_widest(function: str, src: Tensor, dst: Tensor, most_bits: int = _MOST_BITS) -> None:
    """Copy with the widest vectors that both layouts and alignments are known to allow."""
    bits = src.iterator.dtype.bits
    common = _core.max_common_layout(src.layout, dst.layout)
    elements = gcd(int(_core.size(common)), max(most_bits // bits, 1))
    while elements > 1:
        vector = _core.composition(common, _core.make_layout(elements))
        parts = [Tensor(tensor.iterator, _core.logical_divide(tensor.layout, vector)) for tensor in (src, dst)]
        if all(
            part.memspace is AddressSpace.rmem or 8 * _known_alignment(part, part.layout) >= elements * bits
            for part in parts
        ):
            src, dst = parts
            break
        elements //= 2
    _emit_copy(function, src, dst, None, max(elements, 1))


def copy_elements(function: str, src: Tensor, dst: Tensor, pred: Tensor | None) -> None:
    """Copy one element after the other, those where the predicate is true."""
    _emit_copy(function, src, dst, pred, 1)


def convert_elements(src: Tensor, dst: Tensor) -> None:
    """Copy into elements of another type."""
    vector = src.load().to(dst.iterator.dtype)
    dst.store(vector)


# ---- multiplication --------------------------------------------------------------------------------------------------


def multiply_add(
    function: str, atom: MmaAtom, d: Tensor, a: Tensor, b: Tensor, c: Tensor, shapes: dict[str, tuple[int, ...]]
) -> None:
    """d[m,n] = c[m,n] + sum over k of a[m,k] b[n,k], each step a fused multiply-add."""
    c = _initial(atom, d, c)
    _, rows, depth = shapes["a"]
    accesses = [access(function, tensor) for tensor in (d, a, b, c)]
    emit("fma_tile", accesses=accesses, ints=(1, rows, shapes["b"][1], depth))


def _initial(atom: MmaAtom, d: Tensor, c: Tensor) -> Tensor:
    """What is added to: c, or d where that is cleared first."""
    accumulate = atom.get(Field.ACCUMULATE)
    if is_traced(accumulate):
        d.store(where(accumulate, c.load(), 0))
        return d
    if not accumulate:
        d.fill(0)
        return d
    return c
