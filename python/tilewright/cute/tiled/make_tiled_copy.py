"""Tiled copies made of an atom and the layouts of threads and values, with the conditions that these meet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.atoms.copy_atom import CopyAtom
from tilewright.cute.int_tuple import text
from tilewright.cute.layout_error import layout_error, renamed
from tilewright.cute.tiled.tiled_copy import TiledCopy, extents_of

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright.cute.int_tuple import Tiler

__all__ = [
    "checked_tiled_copy",
    "make_cotiled_copy",
    "make_tiled_copy",
    "make_tiled_copy_D",
    "make_tiled_copy_S",
    "make_tiled_copy_tv",
]


def checked_tiled_copy(function: str, atom: Any, layout_tv: Any, tiler_mn: Any) -> TiledCopy:
    """The tiled copy of the atom, the layout and the tiler, if they fit together."""
    if not isinstance(atom, CopyAtom):
        raise TypeError(f"{function}: expected atom to be a CopyAtom, but got {atom!r}; make_copy_atom makes one")
    if isinstance(atom, TiledCopy):
        atom = atom._atom()
    if not isinstance(layout_tv, _core.Layout):
        raise TypeError(f"{function}: expected layout_tv to be a Layout, but got {layout_tv!r}")
    tiler = tuple(tiler_mn) if isinstance(tiler_mn, (tuple, list)) else (tiler_mn,)
    operands = (layout_tv, tiler)
    for mode, part in enumerate(tiler):
        if isinstance(part, bool) or not isinstance(part, (int, _core.Layout)):
            raise TypeError(f"{function}: mode {mode} of tiler_mn is {part!r}, but must be an integer or a Layout")
    if _core.rank(layout_tv) != 2:
        raise layout_error(function, operands, "layout_tv has two modes, thread and value")
    if not (_core.is_static(layout_tv) and all(map(_core.is_static, tiler))):
        raise layout_error(function, operands, "tiles are static; use Python integers for their extents and strides")
    _fit_atom(function, atom, layout_tv, operands)
    _cover(function, layout_tv, tiler, operands)
    return TiledCopy(atom, layout_tv, tiler)


def _fit_atom(function: str, atom: CopyAtom, layout_tv: Any, operands: tuple[Any, ...]) -> None:
    for mode, what in enumerate(("threads", "values of a thread")):
        needed, given = (int(_core.size(x, mode=[mode])) for x in (atom.layout_ref, layout_tv))
        if given % needed:
            fix = f"give it a multiple of {needed}"
            if mode == 1 and atom.op.instruction == "universal":
                fix += " or lower num_bits_per_copy"
            raise layout_error(
                function, operands, f"{atom!r} takes {needed} {what} at once, but mode {mode} has {given}; {fix}"
            )


def _cover(function: str, layout_tv: Any, tiler: tuple[Any, ...], operands: tuple[Any, ...]) -> None:
    """Every element of the tile belongs to a thread, and every value lies in the tile."""
    size = int(_core.product(extents_of(tiler)))
    if _core.has_scaled_basis(layout_tv):
        raise layout_error(function, operands, "layout_tv counts the elements of the tile, so its strides are integers")
    if _core.is_bijective(layout_tv) and _core.size(layout_tv) == size:
        return
    offsets = layout_tv.offsets()
    outside = (offsets < 0) | (offsets >= size)
    if outside.any():
        index = int(outside.argmax())
        value, thread = divmod(index, int(_core.size(layout_tv, mode=[0])))
        raise layout_error(
            function,
            operands,
            f"thread {thread}, value {value} is element {offsets[index]}, but the tile has 0 to {size - 1}; "
            "enlarge the tiler",
            (index, int(offsets[index]), None),
        )
    owned = np.zeros(size, bool)
    owned[offsets] = True
    if not owned.all():
        missing = int(owned.argmin())
        coord = _core.idx2crd(missing, extents_of(tiler))
        raise layout_error(
            function,
            operands,
            f"element {text(coord)} of the tile {text(extents_of(tiler))} belongs to no thread, and "
            f"{size - owned.sum()} of {size} elements would not be copied; the tiler has to be what the threads cover",
            (missing, None, None),
        )


def make_tiled_copy(
    atom: CopyAtom, layout_tv: Layout, tiler_mn: Tiler, *, loc: object = None, ip: object = None
) -> TiledCopy:
    """The tiled copy of a layout from (thread, value) to the index in a tile.

        value v of thread t is the element layout_tv(t, v) of the tile, counted along mode 0 first

    The tiler is an extent or a layout for each mode. Elements may belong to several threads. Raises LayoutError where
    an element of the tile belongs to none (CuTe would not copy it), where a value lies outside the tile, and where the
    atom takes more threads or values than there are. Source: CuTeDSL `cute.make_tiled_copy`.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
    >>> tiled = cute.make_tiled_copy(atom, cute.make_layout((256, 4), stride=(4, 1)), (128, 8))
    >>> tiled.size, tiled.layout_src_tv_tiled
    (256, (256,(4,1)):(4,(1,0)))
    """
    return checked_tiled_copy("make_tiled_copy", atom, layout_tv, tiler_mn)


def make_tiled_copy_tv(
    atom: CopyAtom, thr_layout: Layout, val_layout: Layout, *, loc: object = None, ip: object = None
) -> TiledCopy:
    """The tiled copy of threads laid out as `thr_layout`, each with values as `val_layout` side by side.

        (tiler_mn, layout_tv_tiled) = make_layout_tv(thr_layout, val_layout)

    The tile has the extents of both multiplied. Raises LayoutError as make_tiled_copy. Source: CuTeDSL
    `cute.make_tiled_copy_tv`.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
    >>> threads, values = cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((4, 4), stride=(4, 1))
    >>> tiled = cute.make_tiled_copy_tv(atom, threads, values)
    >>> tiled.tiler_mn, tiled.layout_tv_tiled
    ((16, 128), ((32,4),(4,4)):((64,4),(16,1)))
    """
    try:
        tiler_mn, layout_tv = _core.make_layout_tv(thr_layout, val_layout)
    except LayoutError as error:
        raise renamed(error, "make_tiled_copy_tv") from None
    return checked_tiled_copy("make_tiled_copy_tv", atom, layout_tv, tiler_mn)


def _another(function: str, tiled_copy: Any) -> TiledCopy:
    if not isinstance(tiled_copy, TiledCopy):
        raise TypeError(f"{function}: expected tiled_copy to be a TiledCopy, but got {tiled_copy!r}")
    return tiled_copy


def make_tiled_copy_S(atom: CopyAtom, tiled_copy: TiledCopy, *, loc: object = None, ip: object = None) -> TiledCopy:
    """The tiled copy in which each thread has what it reads in another tiled copy.

    Raises TypeError for what is no CopyAtom or TiledCopy, LayoutError where the atom takes more threads or values than
    the tiled copy has. Source: CuTeDSL `cute.make_tiled_copy_S`.

    >>> from tilewright import Float16, cute
    >>> load = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
    >>> tiled = cute.make_tiled_copy_tv(load, cute.make_layout((8, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    >>> row = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
    >>> tiled.layout_src_tv_tiled, cute.make_tiled_copy_S(row, tiled).layout_tv_tiled
    (((8,4),((2,4),1)):((1,16),((8,64),0)), ((8,4),((2,4),1)):((1,16),((8,64),0)))
    """
    other = _another("make_tiled_copy_S", tiled_copy)
    return checked_tiled_copy("make_tiled_copy_S", atom, other.layout_src_tv_tiled, other.tiler_mn)


def make_tiled_copy_D(atom: CopyAtom, tiled_copy: TiledCopy, *, loc: object = None, ip: object = None) -> TiledCopy:
    """The tiled copy in which each thread has what it writes in another tiled copy.

    Raises as make_tiled_copy_S. Source: CuTeDSL `cute.make_tiled_copy_D`.

    >>> from tilewright import Float16, cute
    >>> load = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=4), Float16)
    >>> tiled = cute.make_tiled_copy_tv(load, cute.make_layout((8, 4), stride=(4, 1)), cute.make_layout((1, 8)))
    >>> pair = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=32)
    >>> tiled.layout_dst_tv_tiled, cute.make_tiled_copy_D(pair, tiled).layout_tv_tiled
    (((4,8),(8,1)):((64,1),(8,0)), ((4,8),(8,1)):((64,1),(8,0)))
    """
    other = _another("make_tiled_copy_D", tiled_copy)
    return checked_tiled_copy("make_tiled_copy_D", atom, other.layout_dst_tv_tiled, other.tiler_mn)


def make_cotiled_copy(
    atom: CopyAtom, atom_layout_tv: Layout, data_layout: Layout, *, loc: object = None, ip: object = None
) -> TiledCopy:
    """The tiled copy of a layout from (thread, value) to offsets in memory, where data_layout has the elements.

    The tile is the smallest one with all those elements: a layout for each mode of data_layout. Raises LayoutError
    where a value lies at an offset without an element. Source: CuTeDSL `cute.make_cotiled_copy`.

    >>> from tilewright import Float16, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=64)
    >>> tiled = cute.make_cotiled_copy(atom, cute.make_layout((8, 4), stride=(4, 1)), cute.parse("(32,4):(4,1)"))
    >>> print(tiled.tiler_mn, tiled.layout_tv_tiled)
    (8:1, 4:1) (8,4):(1,8)
    """
    name = "make_cotiled_copy"
    for argument, layout in (("atom_layout_tv", atom_layout_tv), ("data_layout", data_layout)):
        if not isinstance(layout, _core.Layout):
            raise TypeError(f"{name}: expected {argument} to be a Layout, but got {layout!r}")
    operands = (atom_layout_tv, data_layout)
    if _core.rank(atom_layout_tv) != 2:
        raise layout_error(name, operands, "atom_layout_tv has two modes, thread and value")
    extents = _core.product_each(data_layout.shape)
    extents = extents if isinstance(extents, tuple) else (extents,)
    # Offset to element; an offset past the last one leads to the mode of extent 1, not to another element.
    inverse = _core.make_layout([_core.left_inverse(data_layout), _core.make_layout(1)])
    elements = _core.composition(inverse, atom_layout_tv)
    tiler = []
    for mode in range(len(extents)):
        unit = tuple(int(mode == other) for other in range(len(extents)))
        coordinates = _core.composition(_core.make_layout(extents, stride=unit), elements)
        tiler.append(_core.filter(coordinates))
    tile = _core.composition(_core.make_layout(extents), tuple(tiler))
    layout_tv = _core.composition(_core.left_inverse(tile), elements)
    found = _core.composition(data_layout, tile)
    offsets = atom_layout_tv.offsets()
    size = int(_core.size(found))
    inside = layout_tv.offsets()
    wrong = [
        i
        for i, (offset, index) in enumerate(zip(offsets.tolist(), inside.tolist(), strict=True))
        if index >= size or found(index) != offset
    ]
    if wrong:
        value, thread = divmod(wrong[0], int(_core.size(atom_layout_tv, mode=[0])))
        raise layout_error(
            name,
            operands,
            f"thread {thread}, value {value} lies at offset {offsets[wrong[0]]}, where the data has no element; "
            "every offset of atom_layout_tv has to be one of data_layout",
            (wrong[0], None, int(offsets[wrong[0]])),
        )
    return checked_tiled_copy(name, atom, layout_tv, tuple(tiler))
