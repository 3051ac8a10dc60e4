"""The bits of elements, read from one tensor and written to another; the truth values that choose elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor, as_tensor

if TYPE_CHECKING:
    Array = np.ndarray[Any, Any]

__all__ = ["clear", "memory_tensor", "move", "predicates_of", "require_same_width", "sizes_of"]


def sizes_of(function: str, name: str, tensor: Tensor) -> tuple[int, ...]:
    """The size of each mode, all of which have to be known while tracing."""
    found = []
    for mode in range(_core.rank(tensor.layout)):
        size = _core.size(tensor.layout, mode=[mode])
        if getattr(size, "is_traced", False):
            raise TypeError(
                f"{function}: the size of mode {mode} of {name} {tensor} is known only at run time; choose one tile "
                f"of it, as with {name}[None, k] in a loop over k, or mark the tensor's layout as static"
            )
        found.append(int(size))
    return tuple(found)


def _bytes(function: str, tensor: Tensor, offsets: Array, action: str) -> tuple[Any, Any]:
    """The owner's bytes, and the index of the first byte of each element; None where elements are no whole bytes."""
    pointer: Pointer = tensor.iterator
    memory = pointer._accessible(action)
    data = np.frombuffer(memory, np.uint8)
    size, rest = divmod(pointer.dtype.bits, 8)
    if rest or pointer._bits % 8:
        return data, None
    first = offsets * size + (pointer.toint() - memory.begin)
    if first.size and (first.min() < 0 or first.max() + size > len(data)):
        bad = int(((first < 0) | (first + size > len(data))).argmax())
        raise IndexError(
            f"{function}: offset {offsets[bad]} of {tensor} lies outside the owner's memory, which has "
            f"{len(data) // size} elements; predicate what is out of bounds"
        )
    return data, first


def move(function: str, src: Tensor, src_offsets: Array, dst: Tensor, dst_offsets: Array) -> None:
    """Copy bits: the element at each offset of one tensor to that at the offset of the other."""
    size = src.iterator.dtype.bits // 8
    read, source = _bytes(function, src, src_offsets, "load from")
    written, target = _bytes(function, dst, dst_offsets, "store to")
    if source is None or target is None:
        values = [_bits(src.iterator + int(offset)) for offset in src_offsets]
        for offset, value in zip(dst_offsets, values, strict=True):
            _set_bits(dst.iterator + int(offset), value)
        return
    each = np.arange(size)
    written[target[:, None] + each] = read[source[:, None] + each]


def _bits(pointer: Pointer) -> int:
    memory, bits = pointer._accessible("load from"), pointer.dtype.bits
    address, shift = pointer._bits >> 3, pointer._bits & 7
    return sum(memory.load(address + start // 8, shift, min(bits - start, 64)) << start for start in range(0, bits, 64))


def _set_bits(pointer: Pointer, value: int) -> None:
    memory, bits = pointer._accessible("store to"), pointer.dtype.bits
    address, shift = pointer._bits >> 3, pointer._bits & 7
    for start in range(0, bits, 64):
        memory.store(address + start // 8, shift, min(bits - start, 64), value >> start & 0xFFFFFFFFFFFFFFFF)


def clear(function: str, dst: Tensor, offsets: Array) -> None:
    """Zero bits."""
    data, first = _bytes(function, dst, offsets, "store to")
    if first is None:
        for offset in offsets:
            _set_bits(dst.iterator + int(offset), 0)
    else:
        data[first[:, None] + np.arange(dst.iterator.dtype.bits // 8)] = 0


def memory_tensor(function: str, argument: str, x: Any) -> Tensor:
    tensor = as_tensor(x, function, argument)
    if not isinstance(tensor.iterator, Pointer):
        raise TypeError(
            f"{function}: {argument} is {tensor}, whose elements are computed, not stored; "
            "make_rmem_tensor and from_dlpack give memory"
        )
    return tensor


def require_same_width(function: str, src: Tensor, dst: Tensor) -> None:
    a, b = src.iterator.dtype, dst.iterator.dtype
    if a.bits != b.bits:
        raise TypeError(
            f"{function}: src has elements of {a.bits} bits ({a}) and dst of {b.bits} bits ({b}); "
            "basic_copy converts, recast_tensor sees the same memory as another type"
        )


def predicates_of(function: str, pred: Any, sizes: tuple[int, ...]) -> Array:
    """One truth value for each of so many calls, in colexicographic order."""
    tensor = memory_tensor(function, "pred", pred)
    found = sizes_of(function, "pred", tensor)
    # A single call of an atom needs no mode of its own.
    if found != sizes and not (sizes[0] == 1 and found == sizes[1:]):
        raise ValueError(
            f"{function}: pred has shape {text(tensor.shape)}, but needs one Boolean for each call of the atom: "
            f"{text(sizes)}, the calls of the first mode, then the other modes of src; "
            f"make_rmem_tensor({text(sizes)}, Boolean) has them"
        )
    values: Array = np.asarray(tensor._elements() != 0)
    return values
