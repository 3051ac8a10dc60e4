"""Tiled copies that move what the threads of a tiled multiplication have of A, B or C."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute.atoms.copy_atom import CopyAtom
from tilewright.cute.int_tuple import text
from tilewright.cute.layout_error import layout_error
from tilewright.cute.tiled.make_tiled_copy import checked_tiled_copy
from tilewright.cute.tiled.tiled_copy import TiledCopy
from tilewright.cute.tiled.tiled_mma import OPERAND_MODES, TiledMma

__all__ = ["make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C", "make_tiled_copy_C_atom"]


def _tile(function: str, tiled_mma: Any, operand: str) -> tuple[int, ...]:
    if not isinstance(tiled_mma, TiledMma):
        raise TypeError(
            f"{function}: expected tiled_mma to be a TiledMma, but got {tiled_mma!r}; make_tiled_mma makes one"
        )
    return tuple(tiled_mma.get_tile_size(mode) for mode in OPERAND_MODES[operand])


def make_tiled_copy_A(atom: CopyAtom, tiled_mma: TiledMma, *, loc: object = None, ip: object = None) -> TiledCopy:
    """The tiled copy in which each thread has what it multiplies of A: layout_tv_tiled is tv_layout_A_tiled.

    Raises LayoutError where the atom takes more values at once than a thread has. Source: CuTeDSL
    `cute.make_tiled_copy_A`.

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> load = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
    >>> tiled = cute.make_tiled_copy_A(load, cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16)))
    >>> tiled.tiler_mn, tiled.layout_src_tv_tiled
    ((32, 16), ((16,2,2,2),(8,1)):((1,256,16,0),(32,0)))
    """
    tile = _tile("make_tiled_copy_A", tiled_mma, "A")
    return checked_tiled_copy("make_tiled_copy_A", atom, tiled_mma.tv_layout_A_tiled, tile)


def make_tiled_copy_B(atom: CopyAtom, tiled_mma: TiledMma, *, loc: object = None, ip: object = None) -> TiledCopy:
    """The tiled copy in which each thread has what it multiplies of B: layout_tv_tiled is tv_layout_B_tiled.

    Raises LayoutError as make_tiled_copy_A. Source: CuTeDSL `cute.make_tiled_copy_B`.

    >>> from tilewright import Float32, cute
    >>> tiled_mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), cute.make_layout((16, 16, 1)))
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32)
    >>> cute.make_tiled_copy_B(atom, tiled_mma).layout_tv_tiled  # 16 threads have the same columns
    ((16,16),(1,(1,1))):((0,1),(0,(0,0)))
    """
    tile = _tile("make_tiled_copy_B", tiled_mma, "B")
    return checked_tiled_copy("make_tiled_copy_B", atom, tiled_mma.tv_layout_B_tiled, tile)


def make_tiled_copy_C(atom: CopyAtom, tiled_mma: TiledMma, *, loc: object = None, ip: object = None) -> TiledCopy:
    """The tiled copy in which each thread has what it accumulates of C: layout_tv_tiled is tv_layout_C_tiled.

    Raises LayoutError as make_tiled_copy_A. Source: CuTeDSL `cute.make_tiled_copy_C`.

    >>> from tilewright import Float16, Float32, cute
    >>> tiled_mma = cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16)), (2, 2, 1))
    >>> atom = cute.make_copy_atom(cute.nvgpu.warp.StMatrix8x8x16bOp(num_matrices=2), Float16)
    >>> tiled = cute.make_tiled_copy_C(atom, tiled_mma)
    >>> tiled.tiler_mn, tiled.layout_tv_tiled
    ((32, 16), ((4,8,2,2),((2,2),(1,1))):((64,1,16,256),((32,8),(0,0))))
    """
    tile = _tile("make_tiled_copy_C", tiled_mma, "C")
    return checked_tiled_copy("make_tiled_copy_C", atom, tiled_mma.tv_layout_C_tiled, tile)


def make_tiled_copy_C_atom(atom: CopyAtom, tiled_mma: TiledMma, *, loc: object = None, ip: object = None) -> TiledCopy:
    """The smallest tiled copy with the threads of C and, of each, the first values: as many as the atom moves at once.

    Its tiler has a layout for each mode, because these values need not lie side by side. Raises LayoutError where the
    atom moves more values than a thread has. Source: CuTeDSL `cute.make_tiled_copy_C_atom`.

    >>> from tilewright import Float16, Float32, cute
    >>> warpgroup, K = cute.nvgpu.warpgroup, cute.nvgpu.OperandMajorMode.K
    >>> op = warpgroup.MmaF16BF16Op(Float16, Float32, (64, 64, 16), warpgroup.OperandSource.SMEM, K, K)
    >>> store = cute.make_copy_atom(cute.nvgpu.warp.StMatrix8x8x16bOp(num_matrices=4), Float16)
    >>> tiled = cute.make_tiled_copy_C_atom(store, cute.make_tiled_mma(op))
    >>> tiled.tiler_mn, tiled.layout_tv_tiled
    (((8,4,2):(1,16,8), (4,2,2):(2,1,8)), ((4,8,4),(2,2,2)):((64,1,8),(256,32,512)))
    """
    function = "make_tiled_copy_C_atom"
    tile = _tile(function, tiled_mma, "C")
    layout = tiled_mma.tv_layout_C_tiled
    if not isinstance(atom, CopyAtom):
        raise TypeError(f"{function}: expected atom to be a CopyAtom, but got {atom!r}; make_copy_atom makes one")
    threads, values = (int(_core.size(layout, mode=[mode])) for mode in (0, 1))
    count = int(_core.size(atom.layout_ref, mode=[1]))
    if count > values:
        raise layout_error(
            function,
            (layout,),
            f"{atom!r} moves {count} values of a thread at once, but a thread has {values} of C; use a narrower atom",
        )
    first = _core.composition(layout, _core.make_layout((threads, count)))
    tiler = []
    for mode in range(len(tile)):
        unit = tuple(int(mode == other) for other in range(len(tile)))
        tiler.append(_core.filter(_core.composition(_core.make_layout(tile, stride=unit), first)))
    # The place in the small tile to the element of C's tile, and back.
    places = _core.composition(_core.make_layout(tile), tuple(tiler))
    layout_tv = _core.composition(_core.left_inverse(places), first)
    if _core.size(places) != int(_core.product(tuple(_core.size(t) for t in tiler))):
        raise layout_error(function, (layout, text(tuple(tiler))), "the first values of all threads do not make a tile")
    return checked_tiled_copy(function, atom, layout_tv, tuple(tiler))
