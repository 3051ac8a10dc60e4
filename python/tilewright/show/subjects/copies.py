"""Pictures of copies: the tile as it is read beside the tile as it is written, coloured by thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import Float16, Float32, _core
from tilewright.cute.atoms.copy_atom import make_copy_atom
from tilewright.cute.atoms.copy_ops import BulkOp, LdMatrix8x8x16bOp, StMatrix8x8x16bOp
from tilewright.show.drawing.grids import grids_of
from tilewright.show.drawing.picture import Picture
from tilewright.show.drawing.tables import arranged
from tilewright.show.subjects.tv import owners_of, tile_panel

if TYPE_CHECKING:
    from tilewright.cute.atoms.copy_atom import CopyAtom
    from tilewright.cute.atoms.copy_ops import CopyOp
    from tilewright.cute.tiled.tiled_copy import TiledCopy

__all__ = ["copy_atom_picture", "copy_op_picture", "tile_extents", "tiled_copy_picture"]


def tile_extents(tiled: TiledCopy) -> tuple[int, ...]:
    """The extents of the tile of a tiled copy."""
    return tuple(int(_core.size(mode)) for mode in tiled.tiler_mn)


def tiled_copy_picture(tiled: TiledCopy) -> Picture:
    """The tile of a tiled copy as it is read beside the tile as it is written, coloured by thread.

    Each cell has thread and value; +n: so many others have the element too. One panel stands for both sides where they
    are the same.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=64)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 2)), cute.make_layout((2, 1)))
    >>> print(cute.show(tiled).title)
    TiledCopy by CopyUniversalOp: 4 threads, Float32, 64 bits at once
    """
    extents = tile_extents(tiled)
    sides: list[Any] = [
        (f"{name}: {tv}", owners_of(tv, extents))
        for name, tv in (("source", tiled.layout_src_tv_tiled), ("destination", tiled.layout_dst_tv_tiled))
    ]
    if sides[0][1] == sides[1][1]:
        sides = [(f"source and destination: {tiled.layout_tv_tiled}", sides[0][1])]
    title = f"TiledCopy by {_instruction(tiled)}: {tiled.size} threads, {_moved(tiled)}"
    found: Picture = _core.picture.copy(title, extents, sides)
    return found


def copy_atom_picture(atom: CopyAtom) -> Picture:
    """What the threads of one instruction read beside what they write: the same elements, row by row as they lie.

    >>> from tilewright import Float16, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(num_matrices=1), Float16)
    >>> print(cute.show(atom).title)
    CopyAtom of LdMatrix8x8x16bOp: 32 threads, Float16, 32 bits a thread
    """
    sides = [("source", atom.layout_src_tv), ("destination", atom.layout_dst_tv)]
    count = max(int(_core.cosize(tv)) for _, tv in sides)
    width = max(int(_core.size(tv, mode=[1])) for _, tv in sides)
    rows = -(-count // width)
    grids, notes = grids_of((rows, width) if rows > 1 else (width,))
    panels = []
    for name, tv in sides:
        # Elements are numbered row by row, as they lie in memory.
        owned = {i // width + rows * (i % width): pairs for i, pairs in owners_of(tv, (rows * width,)).items()}
        panels.append(tile_panel(grids[0], owned, f"{name}: {tv}", "thread and value of each element"))
    threads = int(_core.size(atom.thr_id))
    return Picture(
        f"CopyAtom of {_instruction(atom)}: {threads} thread{'s' * (threads > 1)}, {_moved(atom, ' a thread')}",
        arranged(panels),
        notes,
    )


def copy_op_picture(op: CopyOp, *, dtype: Any = None, bits: int | None = None) -> Picture:
    """One instruction of a copy operation: the picture of its atom, for elements of `dtype`, `bits` a thread at once.

    By default elements of f16 for matrices of 16 bits, and 128 bits of f32 for all others; a note says so.

    >>> from tilewright import cute
    >>> picture = cute.show(cute.nvgpu.CopyUniversalOp())
    >>> print(picture.title, *picture.notes, sep="\\n")
    CopyAtom of CopyUniversalOp: 1 thread, Float32, 128 bits a thread
    an operation has no element type: drawn for Float32, dtype= names another, bits= the width of an access
    """
    matrix = isinstance(op, (LdMatrix8x8x16bOp, StMatrix8x8x16bOp))
    whole = matrix or isinstance(op, BulkOp)  # what the operation itself says how much is moved of
    width = bits if bits is not None or whole else 128
    kind = dtype if dtype is not None else Float16 if matrix else Float32
    picture = copy_atom_picture(make_copy_atom(op, kind, num_bits_per_copy=width))
    if dtype is not None:
        return picture
    says = f"an operation has no element type: drawn for {kind.__name__}, dtype= names another"
    return Picture(
        picture.title, picture.panels, (*picture.notes, says + ("" if whole else ", bits= the width of an access"))
    )


def _instruction(atom: CopyAtom) -> str:
    return type(atom.op).__name__


def _moved(atom: CopyAtom, when: str = " at once") -> str:
    bits = int(_core.size(atom.layout_ref, mode=[1])) * atom.value_type.bits
    return f"{atom.value_type.__name__}, {bits} bits{when}"
