"""The problem that a copy solves, without names and order: which strides stand behind each extent on either side.

A copy dst(c) = src(c) does not depend on the order of the modes, nor on which end a mode starts at. So every copy is
brought into one form: modes of extent 1 are dropped, the destination's strides are positive and ascending, and modes
that are one mode on both sides are merged. Plans are made for that form.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.pointer import Pointer
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric.dlpack import from_dlpack_code

MAX_RANK = 8
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
SIZES = (1, 2, 4, 8, 16)


class Operand(NamedTuple):
    """A tensor as a copy sees it: where it lies, and flat extents and strides in elements."""

    name: str
    address: int
    element_type: str
    element_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]
    read_only: bool
    shown: str
    owner: Any  # the object that was passed
    memory: Any = None  # what keeps the elements alive, where the object does not

    @property
    def place(self) -> str:
        """`cpu`, `cuda:0`, ..."""
        kind, number = self.device
        return (
            "cpu" if kind in (CPU, CUDA_HOST) else f"cuda:{number}" if kind in (CUDA, CUDA_MANAGED) else f"type {kind}"
        )

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def reach(self) -> tuple[int, int]:
        """The first byte of the elements and the one after their last."""
        ends = [(e - 1) * d for e, d in zip(self.shape, self.strides, strict=True)]
        least, greatest = sum(min(x, 0) for x in ends), sum(max(x, 0) for x in ends)
        return self.address + least * self.element_bytes, self.address + (greatest + 1) * self.element_bytes

    def __str__(self) -> str:
        return f"{self.name} = {self.shown}"


def operand(x: Any, function: str, name: str, stream: int | None = None, differentiable: str = "") -> Operand:
    """An array of any library with DLPack, or a Tensor, as an operand; errors name the function and the argument.

    `differentiable` names a function that does the same and of which torch's autograd is told.
    """
    where = f"{function}: {name}"
    if isinstance(x, Tensor):
        pointer, layout = x.iterator, x.layout
        if not isinstance(pointer, Pointer) or pointer._memory is None:
            raise TypeError(f"{where}: {x} has no memory of its own; make the tensor with from_dlpack")
        if isinstance(layout, _core.ComposedLayout) or _core.has_scaled_basis(layout.stride):
            raise LayoutError(
                f"{where}: {layout} is no shape and stride; copy from or to the tensor without the swizzle"
            )
        memory = pointer._memory
        shape, strides = (tuple(map(int, _core.flatten_to_tuple(y))) for y in (x.shape, x.stride))
        bits, kind, address = pointer.dtype.bits, pointer.dtype.__name__, pointer.toint()
        shown = str(layout)
        first, last = Operand(name, address, kind, bits // 8, shape, strides, (0, 0), True, shown, x, memory).reach()
        if math.prod(shape) and bits % 8 == 0 and (first < memory.begin or last > memory.end):
            raise LayoutError(
                f"{where}: {layout} reaches from 0x{first:x} to 0x{last:x}, beyond the owner's memory, which is from "
                f"0x{memory.begin:x} to 0x{memory.end:x}; use a layout that stays inside"
            )
    else:
        if not hasattr(x, "__dlpack__"):
            raise TypeError(f"{where}: expected an array with __dlpack__, or a Tensor, but got {type(x).__name__}")
        from tilewright.cute.runtime import _export

        memory = _export(x, where, stream, differentiable)
        code, width, lanes = memory.dtype
        bits = -(-width // 8) * 8 if memory.padded else width * lanes
        known = from_dlpack_code(code, width) if lanes == 1 else None
        kind = known.__name__ if known is not None else f"DLPack type {(code, width, lanes)}"
        shape, strides, address = memory.shape, memory.strides, memory.address
        shown = f"{text(shape)}:{text(strides)}"
    if bits % 8 or bits // 8 not in SIZES:
        raise TypeError(
            f"{where}: elements of {kind} have {bits} bits, but kernels take elements of 1, 2, 4, 8 or 16 bytes"
        )
    return Operand(
        name, address, kind, bits // 8, shape, strides, memory.dlpack_device, memory.read_only, shown, x, memory
    )


class CopyProblem(NamedTuple):
    """Extents, and the strides on both sides in elements; coordinate 0 lies that many elements behind each pointer.

    The destination's strides ascend and are positive.
    """

    element_type: str
    element_bytes: int
    extents: tuple[int, ...]
    src_strides: tuple[int, ...]
    dst_strides: tuple[int, ...]
    src_offset: int
    dst_offset: int

    def __str__(self) -> str:
        return (
            f"{self.element_type} {text(self.extents)}: src strides {text(self.src_strides)}, "
            f"dst strides {text(self.dst_strides)}"
        )


def copy_problem(src: Operand, dst: Operand, function: str, canonical: bool = True) -> CopyProblem:
    """The problem in its one form, after all that can be wrong with two operands has been checked.

    Without `canonical`, in the order of the tensors' own modes, for a TiledCopy that speaks of them.
    """
    if src.element_type != dst.element_type or src.element_bytes != dst.element_bytes:
        raise TypeError(
            f"{function}: {src.name} has elements of {src.element_type} and {dst.name} of {dst.element_type}; a copy "
            "does not convert: give both the same type"
        )
    if src.shape != dst.shape:
        raise LayoutError(f"{function}: shapes differ: {src} and {dst}; they must be equal, mode by mode")
    if src.place != dst.place:
        raise ValueError(
            f"{function}: {src.name} lies on {src.place} and {dst.name} on {dst.place}; both must be on one device"
        )
    if dst.read_only:
        raise ValueError(f"{function}: {dst.name} is read-only, and a copy writes it; pass a writable array")
    # What a library calls an aligned complex128 begins at a multiple of 8 bytes: it is copied as two elements.
    unit = min(src.element_bytes, 8) if canonical else src.element_bytes
    if src.address % unit or dst.address % unit:
        odd = src if src.address % unit else dst
        raise ValueError(
            f"{function}: {odd.name} begins at 0x{odd.address:x}, which is no multiple of its element's "
            f"{odd.element_bytes} bytes; copy it to an aligned array first"
        )
    if src.size:
        require_injective(dst, function)
        require_disjoint(src, dst, function)
    if not canonical:
        return CopyProblem(src.element_type, src.element_bytes, src.shape, src.strides, dst.strides, 0, 0)
    if src.address % src.element_bytes or dst.address % dst.element_bytes:
        src, dst = (
            x._replace(element_bytes=unit, shape=(*x.shape, 2), strides=(*(2 * d for d in x.strides), 1))
            for x in (src, dst)
        )
    modes = []
    src_offset = dst_offset = 0
    for extent, s, d in zip(src.shape, src.strides, dst.strides, strict=True):
        if extent == 1:
            continue
        if d < 0:
            src_offset, dst_offset, s, d = src_offset + (extent - 1) * s, dst_offset + (extent - 1) * d, -s, -d
        modes.append((d, s, extent))
    modes.sort(key=lambda mode: (mode[0], abs(mode[1])))
    merged: list[tuple[int, int, int]] = []
    for d, s, extent in modes:
        if merged:
            d0, s0, e0 = merged[-1]
            if d == d0 * e0 and s == s0 * e0:
                merged[-1] = (d0, s0, e0 * extent)
                continue
        merged.append((d, s, extent))
    merged = merged or [(1, 1, 1)]
    if len(merged) > MAX_RANK:
        raise LayoutError(
            f"{function}: {src} and {dst} have {len(merged)} modes that cannot be merged; at most {MAX_RANK} are "
            "supported: copy slices"
        )
    extents, src_strides, dst_strides = (tuple(mode[i] for mode in merged) for i in (2, 1, 0))
    return CopyProblem(src.element_type, src.element_bytes, extents, src_strides, dst_strides, src_offset, dst_offset)


def _coordinate(x: Operand, index: int) -> str:
    return text(_core.idx2crd(index, x.shape or 1))


def require_injective(dst: Operand, function: str) -> None:
    """Two coordinates with one address would be a race."""
    try:
        found = _core._collision(_core.make_layout(dst.shape or 1, stride=dst.strides or 0))
    except LayoutError as error:
        raise LayoutError(
            f"{function}: it is not known whether writing {dst} is a race, since its strides do not nest: {error}; "
            "copy slices"
        ) from None
    if found is not None:
        origin, other = (_coordinate(dst, index) for index in found)
        raise LayoutError(
            f"{function}: {dst} maps the coordinates {origin} and {other} to one element, so writing it is a "
            "race; pass a destination with an element for each coordinate"
        )


def require_disjoint(src: Operand, dst: Operand, function: str, mend: str = "copy through a third array") -> None:
    """An element that is read and written has either value, depending on which thread comes first."""
    (a, b), (c, d) = src.reach(), dst.reach()
    if b <= c or d <= a:
        return
    reads, writes = (
        _core.make_layout((x.element_bytes, *x.shape), stride=(1, *(d * x.element_bytes for d in x.strides)))
        for x in (src, dst)
    )
    try:
        apart = _core.is_disjoint(reads, writes, dst.address - src.address)
    except LayoutError as error:
        raise LayoutError(
            f"{function}: {src} at 0x{src.address:x} and {dst} at 0x{dst.address:x} lie in the same memory, and it is "
            f"not known whether they share elements: {error}; {mend}"
        ) from None
    if not apart:
        i, j = (index // x.element_bytes for index, x in zip(apart.witness, (src, dst), strict=False))
        raise LayoutError(
            f"{function}: {src} at coordinate {_coordinate(src, i)} and {dst} at coordinate {_coordinate(dst, j)} "
            f"share memory, so the result depends on the order; {mend}"
        )
