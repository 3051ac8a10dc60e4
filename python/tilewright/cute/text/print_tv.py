"""Pictures, as LaTeX, of which thread has which value: of tiled copies, multiplications, any thread-value layout."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.tensor import Tensor, make_identity_tensor
from tilewright.cute.text.printing import LATEX_HEAD, LATEX_TAIL, require_printable
from tilewright.cute.tiled.tiled_copy import TiledCopy
from tilewright.cute.tiled.tiled_mma import OPERAND_MODES, TiledMma

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright.cute.int_tuple import Tiler
__all__ = [
    "format_latex_tiled_copy",
    "format_latex_tiled_mma",
    "format_latex_tv",
    "print_latex_tiled_copy",
    "print_latex_tiled_mma",
    "print_latex_tv",
]

# Four hues and the same four lighter; a thread has the colour of its number modulo 8.
COLOURS = [
    (175, 175, 255),
    (175, 255, 175),
    (255, 255, 175),
    (255, 175, 175),
    (210, 210, 255),
    (210, 255, 210),
    (255, 255, 210),
    (255, 210, 210),
]
GAP = 3  # columns between two tables


def _extents(function: str, tile: Any) -> tuple[int, int]:
    extents = tuple(int(_core.size(mode)) for mode in tile) if isinstance(tile, (tuple, list)) else (tile,)
    if len(extents) != 2:
        raise LayoutError(
            f"{function}: the tile {text(tile)} has {len(extents)} modes, and a table has rows and columns"
        )
    require_printable(function, text(tile), extents[0] * extents[1])
    return extents[0], extents[1]


def _cells(places: Tensor, top: int, left: int, transposed: bool = False) -> list[str]:
    """A box with thread and value for each (row, column) that (thread, value) leads to, from (top, left) on.

    Of an element that several have, the first thread and value are shown. A transposed table has a mode 0 that runs to
    the right.
    """
    lines, seen = [], set()
    threads, values = (int(_core.size(places.layout, mode=[mode])) for mode in (0, 1))
    for thread in range(threads):
        r, g, b = COLOURS[thread % len(COLOURS)]
        for value in range(values):
            row, column = map(int, places[thread, value])
            if transposed:
                row, column = column, row
            if (row, column) not in seen:
                seen.add((row, column))
                fill = f"{{rgb,255:red,{r};green,{g};blue,{b}}}"
                lines.append(
                    rf"\node[fill={fill}] at ({top + row},{left + column}) {{\shortstack{{T{thread} \\ V{value}}}}};"
                )
    return lines


def _grid(rows: int, columns: int, top: int, left: int) -> list[str]:
    corners = rf"({top},{left}) grid ({top + rows},{left + columns})"
    return [rf"\draw[color=black,thick,shift={{(-0.5,-0.5)}}] {corners};", ""]


def _row_labels(rows: int, top: int, column: int) -> list[str]:
    return [rf"\node at ({top + row},{column}) {{\Large{{\texttt{{{row}}}}}}};" for row in range(rows)]


def _column_labels(columns: int, row: int, left: int) -> list[str]:
    return [rf"\node at ({row},{left + column}) {{\Large{{\texttt{{{column}}}}}}};" for column in range(columns)]


def _table(places: Tensor, rows: int, columns: int, left: int, labels: int) -> list[str]:
    """The table of (thread, value) -> (row, column), its first column at `left` and its row labels at `labels`."""
    lines = [*_cells(places, 0, left), *_grid(rows, columns, 0, left)]
    return [*lines, *_row_labels(rows, 0, labels), *_column_labels(columns, -1, left)]


def _heading(name: str, places: Tensor) -> str:
    return f"% Layout {name}: ArithTuple{places.iterator} o {places.layout}"


def format_latex_tiled_copy(tiled_copy: TiledCopy) -> str:
    """What `print_latex_tiled_copy` with the same argument writes."""
    function = "print_latex_tiled_copy"
    if not isinstance(tiled_copy, TiledCopy):
        raise TypeError(f"{function}: expected a TiledCopy, but got {tiled_copy!r}")
    rows, columns = _extents(function, tiled_copy.tiler_mn)
    tile = make_identity_tensor((rows, columns))
    source, target = (
        Tensor(tile.iterator, _core.composition(tile.layout, layout))
        for layout in (tiled_copy.layout_src_tv_tiled, tiled_copy.layout_dst_tv_tiled)
    )
    lines = [_heading("S TV", source), _heading("D TV", target), *LATEX_HEAD]
    lines += _table(source, rows, columns, 0, -1)
    lines += _table(target, rows, columns, columns + GAP, 2 * columns + GAP)
    return "\n".join([*lines, *LATEX_TAIL])


def print_latex_tiled_copy(tiled_copy: TiledCopy, *, loc: object = None, ip: object = None) -> None:
    """Print a LaTeX document that draws who reads and who writes each element of the tile of a tiled copy.

    Raises LayoutError for a tile that has not two modes. Source: CuTe C++ `cute::print_latex(TiledCopy)`, less the
    underscore of static integers.

    >>> from tilewright import Float16, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=32)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 1)), cute.make_layout((2, 1)))
    >>> cute.print_latex_tiled_copy(tiled)  # doctest: +ELLIPSIS
    % Layout S TV: ArithTuple(0,0) o (8,(2,1)):(2@0,(1@0,0))
    % Layout D TV: ArithTuple(0,0) o (8,(2,1)):(2@0,(1@0,0))
    \\documentclass[convert]{standalone}
    ...
    """
    sys.stdout.write(format_latex_tiled_copy(tiled_copy))


def format_latex_tiled_mma(tiled_mma: TiledMma) -> str:
    """What `print_latex_tiled_mma` with the same argument writes."""
    function = "print_latex_tiled_mma"
    if not isinstance(tiled_mma, TiledMma):
        raise TypeError(f"{function}: expected a TiledMma, but got {tiled_mma!r}")
    m, n, k = map(tiled_mma.get_tile_size, range(3))
    places = {}
    for operand in "CAB":
        tile = make_identity_tensor(tuple(map(tiled_mma.get_tile_size, OPERAND_MODES[operand])))
        layout = getattr(tiled_mma, f"tv_layout_{operand}_tiled")
        places[operand] = Tensor(tile.iterator, _core.composition(tile.layout, layout))
    lines = [f"% Layout{name}: ArithTuple{x.iterator} o {x.layout}" for name, x in places.items()] + [*LATEX_HEAD]
    # A to the left of C, B above it with N to the right, one row or column between them.
    start = -k - 1
    lines += [*_cells(places["C"], 0, 0), *_grid(m, n, 0, 0)]
    lines += [*_cells(places["A"], 0, start), *_grid(m, k, 0, start)]
    lines += [*_row_labels(m, 0, start - 1), *_column_labels(k, -1, start)]
    lines += [*_cells(places["B"], start, 0, transposed=True), *_grid(k, n, start, 0)]
    lines += [*_column_labels(n, start - 1, 0), *_row_labels(k, start, -1)]
    return "\n".join([*lines, *LATEX_TAIL])


def print_latex_tiled_mma(tiled_mma: TiledMma, *, loc: object = None, ip: object = None) -> None:
    """Print a LaTeX document that draws who has which element of A, B and C in a tile of a TiledMma.

    Raises TypeError for what is no TiledMma. Source: CuTe C++ `cute::print_latex(TiledMMA)`, less the underscore of
    static integers.

    >>> from tilewright import Float32, cute
    >>> cute.print_latex_tiled_mma(cute.make_tiled_mma(cute.nvgpu.warp.MmaTF32Op((16, 8, 8))))  # doctest: +ELLIPSIS
    % LayoutC: ArithTuple(0,0) o ((4,8),((2,2),(1,1))):((2@1,1@0),((1@1,8@0),(0,0)))
    % LayoutA: ArithTuple(0,0) o ((4,8),((2,2),(1,1))):((1@1,1@0),((8@0,4@1),(0,0)))
    % LayoutB: ArithTuple(0,0) o ((4,8),(2,(1,1))):((1@1,1@0),(4@1,(0,0)))
    \\documentclass[convert]{standalone}
    ...
    """
    sys.stdout.write(format_latex_tiled_mma(tiled_mma))


def format_latex_tv(layout_tv: Any, tile_mn: Any) -> str:
    """What `print_latex_tv` with the same arguments writes."""
    function = "print_latex_tv"
    if not isinstance(layout_tv, _core.Layout) or _core.rank(layout_tv) != 2:
        raise TypeError(f"{function}: expected a Layout of two modes, thread and value, but got {layout_tv!r}")
    rows, columns = _extents(function, tile_mn)
    tile = make_identity_tensor((rows, columns))
    least, greatest = _core.offset_range(layout_tv)
    if least < 0 or greatest >= rows * columns:
        raise LayoutError(
            f"{function}({layout_tv}, {text((rows, columns))}): the layout reaches from {least} to {greatest}, but the "
            f"tile has the elements 0 to {rows * columns - 1}"
        )
    places = Tensor(tile.iterator, _core.composition(tile.layout, layout_tv))
    return "\n".join([_heading("TV", places), *LATEX_HEAD, *_table(places, rows, columns, 0, -1), *LATEX_TAIL])


def print_latex_tv(layout_tv: Layout, tile_mn: Tiler, *, loc: object = None, ip: object = None) -> None:
    """Print a LaTeX document that draws which thread has which value: a layout from (thread, value) to a tile's index.

    Raises LayoutError for a layout that leads outside the tile. Source: CuTeDSL `utils.print_latex_tv`; the text is
    that of CuTe C++.

    >>> from tilewright import cute
    >>> cute.print_latex_tv(cute.parse("(4,2):(2,1)"), (4, 2))  # doctest: +ELLIPSIS
    % Layout TV: ArithTuple(0,0) o ((2,2),2):((2@0,1@1),1@0)
    \\documentclass[convert]{standalone}
    ...
    """
    sys.stdout.write(format_latex_tv(layout_tv, tile_mn))
