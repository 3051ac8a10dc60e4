"""The problem that a copy solves, without names and order: which strides stand behind each extent on either side.

A copy dst(c) = src(c) does not depend on the order of the modes, nor on which end a mode starts at. So every copy is
brought into one form: modes of extent 1 are dropped, the destination's strides are positive and ascending, and modes
that are one mode on both sides are merged. Plans are made for that form.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.operands import Operand, require_disjoint, require_injective

MAX_RANK = 8


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
