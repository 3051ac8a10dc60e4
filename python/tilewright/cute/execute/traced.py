"""Copies and multiplications of a kernel that is traced: one operation of the program for a whole tensor."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.copy_ops import CopyG2SOp
from tilewright.cute.atoms.mma_ops import Field
from tilewright.cute.atoms.modifiers import LoadCacheMode
from tilewright.cute.execute.copy_calls import name_of
from tilewright.cute.execute.copy_elements import memory_tensor, sizes_of
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.pointer import AddressSpace
from tilewright.cute.tensors.tensor import Tensor
from tilewright.cute.vectors.choose import where
from tilewright.numeric import Boolean
from tilewright.numeric.traced import emit, is_traced

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.cute.atoms.copy_atom import CopyAtom
    from tilewright.cute.atoms.mma_atom import MmaAtom

__all__ = ["convert_elements", "copy_by_atom", "copy_elements", "copy_widest", "in_kernel", "multiply_add"]

_MOST_BITS = 128  # of one instruction of any GPU


def in_kernel(*tensors: Tensor) -> bool:
    """Whether one of the tensors is a kernel's."""
    return any(is_traced(tensor.iterator) for tensor in tensors)


def _access(function: str, tensor: Tensor) -> Any:
    """What the program accesses: the pointer and the layout."""
    if not is_traced(tensor.iterator):
        raise TypeError(
            f"{function}: {tensor} was made outside of the kernel; pass it as an argument, or make it in the kernel"
        )
    return tensor.iterator.symbol, tensor.layout


def _emit_copy(
    function: str, src: Tensor, dst: Tensor, pred: Tensor | None, elements: int, mode: int = 0, text: str = ""
) -> None:
    accesses = [_access(function, src), _access(function, dst)]
    if pred is not None:
        accesses.append(_access(function, pred))
    emit("copy", accesses=accesses, ints=(elements * src.iterator.dtype.bits, elements, mode), text=text)


# ---- by an atom ------------------------------------------------------------------------------------------------------


def copy_by_atom(
    function: str, atom: CopyAtom, src: Tensor, dst: Tensor, values: int, sizes: Sequence[int], pred: Any
) -> None:
    """Copy with one instruction for `values` elements; without a width of its own, as wide as both tensors allow."""
    chosen = None if pred is None else _predicate(function, pred, (sizes[0] // values, *sizes[1:]))
    for name, tensor in (("src", src), ("dst", dst)):
        _require_space(function, atom, name, tensor)
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
            f"{text(sizes)}, the calls of the first mode, then the other modes of src"
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
    accumulate = atom.get(Field.ACCUMULATE)
    if is_traced(accumulate):
        d.store(where(accumulate, c.load(), 0))
        c = d
    elif not accumulate:
        d.fill(0)
        c = d
    _, rows, depth = shapes["a"]
    accesses = [_access(function, tensor) for tensor in (d, a, b, c)]
    emit("fma_tile", accesses=accesses, ints=(1, rows, shapes["b"][1], depth))
