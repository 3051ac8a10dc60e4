"""Atoms of TMA: boxes of a tensor in global memory, as a tile of shared memory is made of them.

The tile's modes are put in the order of shared memory. The first of them runs along the tensor's contiguous mode; it
and those after it, as long as each runs along another mode, are the box. What is left says where the other boxes are.
A tile (128,64) of Float16, K-major under a swizzle of 128 bytes, in shared memory ((8,16),64):((64,512),1):

    in order       64 along k, 128 along m
    box            (64,128) of the tensor's modes (k, m), 16 KiB at once
"""

from __future__ import annotations

from math import gcd, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._notebook import drawn
from tilewright.cute.atoms.copy_atom import CopyAtom
from tilewright.cute.atoms.copy_ops import MAX_BOX_EXTENT, BulkOp
from tilewright.cute.atoms.modifiers import SwizzleMode

if TYPE_CHECKING:
    from tilewright.numeric import Numeric

__all__ = ["TmaAtom", "TmaTile", "tma_tile"]

_ALIGNED = 16  # bytes
_BOX_ALIGNED = 128  # bytes of shared memory
_ROWS = 8  # of a swizzle's pattern


class TmaTile(NamedTuple):
    """How boxes make a tile; modes of the tensor are counted from the contiguous one.

    `box`: extents along each mode of the tensor. `first`: (extent, mode) of the box in the order of shared memory,
    `rest`: (extent, mode, step) of the other boxes.
    """

    box: tuple[int, ...]
    first: tuple[tuple[int, int], ...]
    rest: tuple[tuple[int, int, int], ...]
    swizzle: SwizzleMode
    slices: int  # parts of the tile that CTAs of a cluster copy for each other

    @property
    def elements(self) -> int:
        """Elements of one box."""
        return prod(self.box)

    @property
    def boxes(self) -> int:
        """Boxes that one CTA asks for."""
        return prod(extent for extent, _, _ in self.rest) // self.slices

    def in_tensor(self) -> Any:
        """(box, boxes of all CTAs) to coordinates of the tensor."""
        box = _core.make_layout(
            tuple(extent for extent, _ in self.first),
            stride=tuple(_core.ScaledBasis(1, [mode]) for _, mode in self.first),
        )
        rest = self.rest or ((1, self.first[0][1], 1),)
        others = _core.make_layout(
            tuple(extent for extent, _, _ in rest),
            stride=tuple(_core.ScaledBasis(step, [mode]) for _, mode, step in rest),
        )
        return box, others


def tma_tile(
    function: str,
    dtype: type[Numeric],
    modes: tuple[int, ...],
    rank: int,
    smem_layout: Any,
    cta_tiler: Any,
    slices: int,
) -> TmaTile:
    """The boxes of a tile.

    `modes` are the tensor's, counted from the contiguous one, along which the tiler's go; `rank`: how many it has.
    Raises ValueError where TMA cannot make the tile.
    """
    swizzle, outer = _split(function, dtype, smem_layout)
    runs = _runs(function, outer, cta_tiler, modes, smem_layout)
    span = swizzle.span_bytes
    (extent, mode, _), *_ = runs
    if mode != 0:
        raise ValueError(
            f"{function}: shared memory {smem_layout} is contiguous along mode {modes.index(mode)} of the tile "
            f"{cta_tiler}, but the tensor along mode {modes.index(0) if 0 in modes else 'none'}; choose the layout of "
            "the tensor's major mode"
        )
    if span is not None:
        most = 8 * span // dtype.bits
        if extent % most:
            raise ValueError(
                f"{function}: the rows of shared memory {smem_layout} have {extent * dtype.bits // 8} bytes, but "
                f"{swizzle} permutes rows of {span}; choose the layout of a narrower swizzle"
            )
    size = prod(extent for extent, _, _ in runs)
    if size % slices:
        raise ValueError(
            f"{function}: num_multicast={slices} CTAs cannot share a tile of {size} elements in equal parts"
        )
    box = [1] * rank
    first: list[tuple[int, int]] = []
    rest: list[tuple[int, int, int]] = []
    left = size // slices
    for extent, mode, step in runs:
        fits = gcd(extent, left)
        along = _most(fits if span is None or first else gcd(fits, 8 * span // dtype.bits), prod(box) * dtype.bits)
        is_open = not rest and step == 1 and all(mode != other for _, other in first)
        taken = along if is_open else 1
        if is_open and taken > 1:
            box[mode] = taken
            first.append((taken, mode))
            left //= taken
        if extent > taken:
            rest.append((extent // taken, mode, step * taken))
    bits = box[0] * dtype.bits
    if bits % (8 * _ALIGNED):
        raise ValueError(
            f"{function}: the rows of a box {tuple(box)} have {bits / 8:g} bytes of {dtype.name}, but TMA takes "
            f"multiples of {_ALIGNED}; choose a larger tile along the contiguous mode"
        )
    elements = prod(box)
    if elements < size and elements * dtype.bits % (8 * _BOX_ALIGNED):
        fix = (
            "share it with fewer CTAs"
            if slices > 1
            else f"choose a tile whose extents are at most {MAX_BOX_EXTENT}, or multiples of it"
        )
        raise ValueError(
            f"{function}: the tile {cta_tiler} takes several boxes {tuple(box)}, and the second one would begin at "
            f"byte {elements * dtype.bits // 8} of shared memory, but TMA begins at multiples of {_BOX_ALIGNED}; "
            f"{fix}"
        )
    part = size // slices * dtype.bits // 8
    if span is not None and slices > 1 and part % (_ROWS * span):
        raise ValueError(
            f"{function}: the {slices} parts of the tile have {part} bytes, no multiple of the {_ROWS * span} of the "
            "swizzle's pattern; share the tile with fewer CTAs"
        )
    return TmaTile(tuple(box), tuple(first), tuple(rest), swizzle, slices)


def _most(extent: int, bits: int) -> int:
    """The largest divisor that a box may have, of so many bits each; if not all, one behind which a box may begin."""
    fitting = [n for n in range(min(extent, MAX_BOX_EXTENT), 0, -1) if extent % n == 0]
    aligned = (n for n in fitting if n == extent or n * bits % (8 * _BOX_ALIGNED) == 0)
    return next(aligned, fitting[0])


def _split(function: str, dtype: type[Numeric], layout: Any) -> tuple[SwizzleMode, Any]:
    """The swizzle of a layout of shared memory, and the layout inside of it."""
    if not isinstance(layout, _core.ComposedLayout):
        return SwizzleMode.NONE, layout
    swizzle, bits = layout.inner, dtype.bits.bit_length() - 4  # of a byte's address
    if isinstance(swizzle, _core.Swizzle):
        for mode in SwizzleMode:
            if swizzle.num_bits == mode.value and (
                mode is SwizzleMode.NONE or (swizzle.num_base + bits, swizzle.num_shift) == (4, 3)
            ):
                return mode, layout.outer
    raise ValueError(
        f"{function}: TMA has no swizzle {swizzle} of elements of {dtype.bits} bits; it permutes 16 bytes inside of "
        "32, 64 or 128, as the layouts of make_smem_layout_atom do"
    )


def _runs(function: str, outer: Any, cta_tiler: Any, modes: tuple[int, ...], whole: Any) -> list[tuple[int, int, int]]:
    """(extent, mode of the tensor, step along it) of the tile in the order of shared memory."""
    if _core.rank(outer) != len(modes):
        raise ValueError(f"{function}: smem_layout {whole} has {_core.rank(outer)} modes, but the tile {cta_tiler}")
    found = []
    for i, mode in enumerate(modes):
        one, step = outer[i], 1
        extents, strides = _core.flatten_to_tuple(one.shape), _core.flatten_to_tuple(one.stride)
        for extent, stride in zip(extents, strides, strict=True):
            if not isinstance(extent, int) or not isinstance(stride, int):
                raise ValueError(f"{function}: smem_layout {whole} is not static; shared memory has static layouts")
            if extent > 1:
                found.append((stride, extent, mode, step))
            step *= extent
        if step != int(_core.product(_at(cta_tiler, i))):
            raise ValueError(
                f"{function}: mode {i} of smem_layout {whole} has {step} elements, and that of the tile {cta_tiler} "
                f"{_at(cta_tiler, i)}; they need the same: pass the layout of one stage"
            )
    found.sort()
    covered = 1
    runs: list[tuple[int, int, int]] = []
    for stride, extent, mode, step in found:
        if stride != covered:
            raise ValueError(
                f"{function}: smem_layout {whole} is not compact: {covered} elements lie below the stride {stride}; "
                "TMA fills shared memory without gaps"
            )
        covered *= extent
        if runs and runs[-1][1] == mode and runs[-1][0] * runs[-1][2] == step:
            runs[-1] = (runs[-1][0] * extent, mode, runs[-1][2])
        else:
            runs.append((extent, mode, step))
    return runs or [(1, 0, 1)]


def _at(tiler: Any, i: int) -> Any:
    mode = tiler[i]
    return mode.shape if isinstance(mode, _core.Layout) else mode


@drawn
class TmaAtom(CopyAtom):
    """A copy of boxes of one tensor by TMA, with the tensor map as a value of the kernel; make_tiled_tma_atom makes it.

    >>> from tilewright import Float16, cute
    >>> from tilewright.cute.nvgpu import cpasync
    >>> tile = tma_tile("f", Float16, (1, 0), 2, cute.make_layout((128, 64), stride=(64, 1)), (128, 64), 1)
    >>> tile.box, tile.boxes
    ((64, 128), 1)
    """

    __slots__ = ("order", "symbol", "tile")
    op: BulkOp
    tile: TmaTile
    symbol: Any
    order: tuple[int, ...]  # the leaves of the tensor's layout as the tensor map has them, the contiguous one first

    def __init__(
        self, op: BulkOp, value_type: type[Numeric], tile: TmaTile, symbol: Any, order: tuple[int, ...]
    ) -> None:
        super().__init__(op.with_box(tile.box, tile.swizzle), value_type, tile.elements * value_type.bits)
        self.tile, self.symbol, self.order = tile, symbol, order

    def with_symbol(self, symbol: Any) -> TmaAtom:
        """The atom with another value as its tensor map."""
        return TmaAtom(self.op, self.value_type, self.tile, symbol, self.order)

    @property
    def box_bytes(self) -> int:
        """Bytes of one box."""
        return self.tile.elements * self.value_type.bits // 8

    def _key(self) -> tuple[Any, ...]:
        return (self.op, self.value_type, self.tile, self.order)

    def __reduce__(self) -> Any:
        raise TypeError("a TMA atom belongs to the function that is traced; make it there")
