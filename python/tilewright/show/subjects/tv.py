"""Pictures of thread-value layouts, both ways: the tile by thread, and the table from (thread, value) to the tile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.axes import MOST, axis_of, extents, rules_of, shown_of
from tilewright.show.drawing.grids import CELLS, Grid, grids_of
from tilewright.show.drawing.memory import Memory, memory_of, memory_or_usual
from tilewright.show.drawing.picture import Cell, Link, Panel, Picture, Placed
from tilewright.show.subjects.layouts import index_of, plain, with_values
from tilewright.show.subjects.tensors import short

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import numpy.typing as npt

    from tilewright.show.drawing.picture import Hover

__all__ = ["Owners", "coverage", "indices_of", "owners_of", "table_panel", "tile_panel", "tv_picture", "values_picture"]

COUNTED = 1 << 20  # threads times values, beyond which nobody is looked for, the owners of a tile's elements
COUNTED_BASIS = 1 << 14  # of a layout with basis strides
NAMED = 4  # of several owners, those that hovering names
RICH = _core.picture.RICH
NOBODY: list[tuple[int, int]] = []
ROWS, FEW = 32, 8  # threads of a table, and of one beside a large tile
BESIDE = 24  # columns of a tile, beyond which the table stands below it

Owners = dict[int, "list[tuple[int, int]]"]
"""For each index of a tile the (thread, value) pairs that have it, in order of threads."""


def index_in(tile: Any, place: Any) -> int:
    """The index in a tile of what a thread-value layout leads to: an index, or a coordinate."""
    place = plain(place)
    return place if isinstance(place, int) else int(_core.crd2idx(place, tile, _core.make_layout(tile).stride))


def owners_of(tv: Any, tile: Any, among: Collection[int] | None = None) -> Owners:
    """Who has each element of a tile, by a layout from (thread, value) to the tile's index or coordinate.

    `among`: the indices of the tile that are asked for; None: all. Raises LayoutError for a layout that has not two
    modes or leads out of the tile.

    >>> owners_of(_core.parse("(2,2):(0,1)"), (2,))
    {0: [(0, 0), (1, 0)], 1: [(0, 1), (1, 1)]}
    """
    check_modes(tv, tile)
    values = int(_core.size(tv, mode=[1]))
    indices, size = indices_of(tv, tile), int(_core.size(tile))
    outside = np.flatnonzero((indices < 0) | (indices >= size))
    if len(outside):
        thread, value = divmod(int(outside[0]), values)
        raise _core.LayoutError(
            f"show({tv}, tile={text(tile)}): thread {thread}, value {value} leads to index {indices[outside[0]]}, but "
            f"the tile has the elements 0 to {size - 1}; the layout's cosize is to be at most that"
        )
    chosen = range(len(indices)) if among is None else np.flatnonzero(np.isin(indices, [*among])).tolist()
    found: Owners = {}
    for i, index in zip(chosen, indices[chosen].tolist() if among is not None else indices.tolist(), strict=True):
        found.setdefault(index, []).append(divmod(i, values))
    return found


def check_modes(tv: Any, tile: Any) -> None:
    """LayoutError where a thread-value layout has not the two modes, thread and value.

    >>> check_modes(_core.parse("(2,2):(0,1)"), (2,))
    """
    if _core.rank(tv) != 2:
        raise _core.LayoutError(
            f"show({tv}, tile={text(tile)}): a thread-value layout has two modes, thread and value, but this has "
            f"{_core.rank(tv)}"
        )


def indices_of(tv: Any, tile: Any) -> npt.NDArray[np.int64]:
    """The indices of the tile to which (thread, value) leads: of thread 0 all values, then of thread 1.

    >>> indices_of(_core.parse("(2,2):(2,1)"), (2, 2)).tolist()
    [0, 1, 2, 3]
    """
    threads, values = (int(_core.size(tv, mode=[mode])) for mode in (0, 1))
    if _core.has_scaled_basis(tv):
        pairs = ((thread, value) for thread in range(threads) for value in range(values))
        return np.array([index_in(tile, tv(pair)) for pair in pairs], np.int64)
    return np.ascontiguousarray(tv.offsets().reshape(values, threads).T).reshape(-1)


def coverage(indices: npt.NDArray[np.int64], size: int) -> str:
    """Whether each element of a tile has one owner, by the indices to which all threads and values lead.

    >>> coverage(np.array([0, 1, 1]), 4)
    '2 of 4 elements with nobody, 1 with several'
    """
    counts = np.unique(indices, return_counts=True)[1]
    nobody, several = size - len(counts), int((counts > 1).sum())
    if not nobody and not several:
        return "each element once"
    parts = [f"{n} of {size} elements with {whom}" for n, whom in ((nobody, "nobody"), (several, "several")) if n]
    return ", ".join([parts[0], *(part.replace(f" of {size} elements", "") for part in parts[1:])])


def tile_panel(
    grid: Grid,
    owners: Owners,
    title: str = "",
    subtitle: str = "",
    *,
    data: Any = None,
    memory: Memory | None = None,
    element: Callable[[Any], str] | None = None,
    marked: frozenset[int] | set[int] = frozenset(),
    faded: Callable[[int, int], bool] | None = None,
) -> Panel:
    """A tile, coloured by thread, with thread and value in each cell; what nobody has is empty.

    `data`, the layout of the tile's memory, adds the offset to what hovering shows, and `memory` bank and address;
    `element` gives the text of a coordinate's element, which is then written above thread and value; `faded(thread,
    value)` says which of them the picture is not about.
    """
    single = all(value == 0 for pairs in owners.values() for _, value in pairs)
    dense = len(grid.rows) * len(grid.columns) > RICH
    cells = []
    for row, column, coordinate, index, name in grid.cells():
        pairs = owners.get(index, NOBODY)
        offset = None if data is None else plain(data(coordinate))
        lines: tuple[str, ...] = ("",)
        owner, pale = None, False
        if pairs:
            owner, value = pairs[0]
            more = f"+{len(pairs) - 1}" if len(pairs) > 1 else ""
            if single:
                lines = (f"T{owner}{more}",)
            elif dense or element is not None:
                lines = (f"T{owner}V{value}{more}",)
            else:
                lines = (f"T{owner}", f"V{value}{more}")
            pale = faded is not None and all(faded(*pair) for pair in pairs)
        hover = _tile_hover(name, pairs, offset, memory, index)
        if element is not None:
            shown = element(coordinate)
            hover, lines = (hover[0], ("element", shown), *hover[1:]), (shown, *lines)
        cells.append(Cell(row, column, lines, owner, hover, pale, index in marked))
    axes = grid.row_axis, grid.column_axis, grid.row_rules, grid.column_rules
    return Panel(title, subtitle, len(grid.rows), len(grid.columns), tuple(cells), *axes)


def _tile_hover(name: str, pairs: list[tuple[int, int]], offset: Any, memory: Memory | None, index: int) -> Hover:
    hover: Hover = (("coordinate", name),)
    if offset is not None:
        hover += (("offset", text(offset)),)
    if pairs:
        hover += (("thread", str(pairs[0][0])), ("value", str(pairs[0][1])))
    else:
        hover += (("thread", "none"), ("value", "none"))
    if memory is not None:
        hover += memory.hover(index if offset is None else offset)
    hover += (("index", str(index)),)
    if len(pairs) > 1:
        others = [f"T{thread}V{value}" for thread, value in pairs[1 : 1 + NAMED]]
        hover += (("also", ",".join(others) + ("…" if len(pairs) > 1 + NAMED else "")),)
    return hover


def table_panel(
    tv: Any,
    tile: Any,
    title: str = "",
    subtitle: str = "",
    *,
    data: Any = None,
    memory: Memory | None = None,
    marked: frozenset[tuple[int, int]] | set[tuple[int, int]] = frozenset(),
    most: int = ROWS,
) -> Panel:
    """The table of a thread-value layout: a row for each thread, a column for each value, the tile's index in the cell.

    Of a tile with several modes, the coordinate stands below the index.
    """
    threads, values = (int(_core.size(tv, mode=[mode])) for mode in (0, 1))
    rows, columns = shown_of(threads, most), shown_of(values, most)
    shape = tv.shape
    several = isinstance(tile, tuple) and sum(int(_core.size(mode)) > 1 for mode in tile) > 1
    several = several and len(rows) * len(columns) <= RICH
    cells = []
    for r, thread in enumerate(rows):
        for c, value in enumerate(columns):
            if thread is None or value is None:
                continue
            index = index_in(tile, tv((thread, value)))
            name = text(_core.idx2crd(index, tile))
            coordinate = _core.idx2crd(index, tuple(int(_core.size(mode)) for mode in tile)) if several else index
            hover: Hover = (("thread", str(thread)), ("value", str(value)), ("coordinate", name))
            offset = None if data is None else plain(data(coordinate if several else index))
            if offset is not None:
                hover += (("offset", text(offset)),)
            if memory is not None:
                hover += memory.hover(index if offset is None else offset)
            hover += (("index", str(index)),)
            lines = (str(index), text(coordinate)) if several else (str(index),)
            cells.append(Cell(r, c, lines, thread, hover, marked=(thread, value) in marked))
    return Panel(
        title,
        subtitle,
        len(rows),
        len(columns),
        tuple(cells),
        axis_of(threads, rows, "T"),
        axis_of(values, columns, "V"),
        rules_of(shape[0], rows),
        rules_of(shape[1], columns),
    )


def tv_picture(tv: Any, tile: Any, *, dtype: Any = None, base: int = 0, at: Any = None, most: int = MOST) -> Picture:
    """A thread-value layout: the tile with the thread and value of each element, and the table the other way round.

    `tile` is a shape, or the layout of the tile in memory (a Layout, swizzled or not, a Tensor), by which hovering
    shows the offset as well. `at` is the (thread, value) to mark in both. Raises LayoutError where TV is not a layout
    of two modes into the tile.

    >>> picture = tv_picture(_core.parse("(2,2):(2,1)"), (2, 2), at=(1, 0))
    >>> print(picture.text(color=False).split("\\n\\n")[1])
    tile (2,2)                                     from (thread, value) to the tile
    2 threads, 2 values each; each element once    the index in the tile, below it the coordinate
         0      1                                        V0      V1
      +------+------+                                 +-------+-------+
    0 |   T0 | [T1] |                              T0 |     0 |     1 |
      |   V0 |   V0 |                                 | (0,0) | (1,0) |
      +------+------+                                 +-------+-------+
    1 |   T0 |   T1 |                              T1 |   [2] |     3 |
      |   V1 |   V1 |                                 | (0,1) | (1,1) |
      +------+------+                                 +-------+-------+
    """
    data = None
    if not isinstance(tile, (int, tuple, list)):
        if not hasattr(getattr(tile, "layout", tile), "shape"):
            raise TypeError(f"show: expected tile to be a shape, a Layout or a Tensor, not {tile!r}")
        data = getattr(tile, "layout", tile)
        dtype = getattr(tile, "element_type", None) if dtype is None else dtype
        tile = data.shape
    tile = tuple(tile) if isinstance(tile, list) else tile
    memory = memory_of(dtype, base) if data is None else memory_or_usual(dtype, base)
    if any(extent < 1 for extent in extents(tile)):
        raise _core.LayoutError(f"show({tv}, tile={text(tile)}): the extents of a tile must be at least 1")
    check_modes(tv, tile)
    threads, values = (int(_core.size(tv, mode=[mode])) for mode in (0, 1))
    pair = _pair(at, tv)
    marked = frozenset() if pair is None else frozenset({index_in(tile, tv(pair))})
    grids, notes = grids_of(tile, most)
    facts = f"{threads} thread{'s' * (threads != 1)}, {values} value{'s' * (values != 1)} each"
    if threads * values > (COUNTED_BASIS if _core.has_scaled_basis(tv) else COUNTED):
        grids, subtitle, owners = (), facts, {}
        notes = (f"the tile is not drawn: {threads * values} threads and values are too many to look for the owners",)
    else:
        indices = indices_of(tv, tile)
        owners = owners_of(tv, tile, {number for grid in grids for _, _, _, number, _ in grid.cells()})
        subtitle = f"{facts}; {coverage(indices, int(_core.size(tile)))}"
    of = text(tile) if data is None else with_values(data)
    panels = [
        tile_panel(
            grid,
            owners,
            f"tile {of}" + (f" at {grid.title}" if grid.title else ""),
            subtitle,
            data=data,
            memory=memory,
            marked=marked,
        )
        for grid in grids
    ]
    # What is left of the room for a picture.
    most = min(most, ROWS if sum(len(panel.cells) for panel in panels) < CELLS // 2 else FEW)
    table = table_panel(
        tv,
        tile,
        "from (thread, value) to the tile",
        "the index in the tile" + (", below it the coordinate" if isinstance(tile, tuple) and len(tile) > 1 else ""),
        data=data,
        memory=memory,
        marked=frozenset() if pair is None else {pair},
        most=most,
    )
    if threads > most or values > most:
        notes = (*notes, f"of {threads} threads and {values} values the first and the last ones are in the table")
    beside = len(panels) == 1 and panels[0].columns <= BESIDE
    placed = [Placed(0, i, panel) for i, panel in enumerate(panels)]
    placed.append(Placed(0, 1, table) if beside else Placed(1, 0, table))
    return Picture(with_values(tv), placed, notes, _links([*panels, table]))


def _pair(at: Any, tv: Any) -> tuple[int, int] | None:
    index = index_of(at, tv.shape)
    threads = int(_core.size(tv, mode=[0]))
    return None if index is None else (index % threads, index // threads)


def _links(panels: list[Panel]) -> tuple[Link, ...]:
    """From the marked cell of the table, the last panel, to that of the tile."""
    marked = [(i, cell.row, cell.column) for i, panel in enumerate(panels) for cell in panel.cells if cell.marked]
    if len(marked) != 2:
        return ()
    end, start = marked
    return (Link(start, end),)


def values_picture(result: Any, *, most: int = MOST) -> Picture:
    """What `kernels.visualize_tv` returns: the elements of the tensor with the thread and value that read each.

    >>> import numpy
    >>> from tilewright import cute, kernels
    >>> tv = cute.parse("((2,2),(2,3)):((2,12),(1,4))")
    >>> picture = values_picture(kernels.visualize_tv(numpy.arange(24), tv))
    >>> [placed.panel.cells[5].lines for placed in picture.panels]
    [('5', 'T0V3'), ('9',)]
    """
    layout, tv = result.tensor.layout, result.tv_layout
    shape = _line_or_more(layout.shape)
    grids, notes = grids_of(shape, most)
    owners = owners_of(tv, shape, {number for grid in grids for _, _, _, number, _ in grid.cells()})
    elements = {index: short(result.values[pairs[0]]) for index, pairs in owners.items()}
    panels = [
        tile_panel(
            grid,
            owners,
            f"tensor {with_values(layout)}",
            f"element over thread and value; {result.coverage}",
            data=layout,
            element=lambda coordinate: elements.get(index_in(shape, coordinate), "-"),
        )
        for grid in grids
    ]
    table = table_panel(
        tv, shape, f"TV {with_values(tv)}", "the index in the tensor of each thread and value", data=layout
    )
    beside = len(panels) == 1 and panels[0].columns <= BESIDE // 2
    placed = [Placed(0, i, panel) for i, panel in enumerate(panels)]
    placed.append(Placed(0, 1, table) if beside else Placed(1, 0, table))
    return Picture(f"values by thread: {with_values(tv)}", placed, notes)


def _line_or_more(shape: Any) -> Any:
    """A shape that is drawn line by line where one mode alone has more than one element: (24,1) as 24."""
    modes = [mode for mode in shape if int(_core.size(mode)) > 1] if isinstance(shape, tuple) else [shape]
    return shape if len(modes) > 1 else modes[0] if modes else 1
