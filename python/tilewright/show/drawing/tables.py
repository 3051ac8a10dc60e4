"""Panels of what is counted by the coordinates of a shape: the first mode runs down, the others across."""

from __future__ import annotations

from functools import partial
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.axes import MOST
from tilewright.show.drawing.grids import grids_of
from tilewright.show.drawing.picture import Cell, Panel, Picture, Rule, below, beside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tilewright.show.drawing import grids
    from tilewright.show.drawing.axes import Shown
    from tilewright.show.drawing.picture import Axis, Entry, Hover, Link, Placed

__all__ = [
    "ROOM",
    "Content",
    "Grid",
    "arranged",
    "ends",
    "grid_of",
    "grids_for",
    "owner_hover",
    "refusal",
    "table",
]

PAGE, LETTER = 1300.0, 7.3  # pixels
ROOM = 3 * MOST * MOST  # cells of which a picture has 200 kB and 50 ms for each one's text
HOVERED = 5 << 10  # and for all that pointing at them shows


class Content(NamedTuple):
    """What stands in a cell: a Cell without its place."""

    lines: tuple[str, ...] = ()
    owner: int | None = None
    hover: Hover = ()
    faded: bool = False
    marked: bool = False


def table(
    title: str,
    subtitle: str,
    shown: tuple[Shown, Shown],
    content: Callable[[int, int], Content | None],
    axes: tuple[Axis, Axis] = ((), ()),
    rules: tuple[Iterable[Rule], Iterable[Rule]] = ((), ()),
    legend: Sequence[Entry] = (),
) -> Panel:
    """A panel of the rows and columns that are shown, filled by `content(row, column)`; None leaves a place empty."""
    rows, columns = shown
    cells = []
    for r, row in enumerate(rows):
        for c, column in enumerate(columns):
            if row is None or column is None:
                continue
            found = content(row, column)
            if found is not None:
                cells.append(_cell((r, c, *found)))
    return _panel(title, subtitle, shown, cells, axes, rules, legend)


_lines = attrgetter("lines")
_cell = partial(tuple.__new__, Cell)  # of all its fields: thousands, in a third of the time of a call with defaults


def _panel(
    title: str,
    subtitle: str,
    shown: tuple[Shown, Shown],
    cells: Iterable[Cell],
    axes: tuple[Axis, Axis],
    rules: tuple[Iterable[Rule], Iterable[Rule]],
    legend: Sequence[Entry],
) -> Panel:
    (rows, columns), (row_axis, column_axis), (row_rules, column_rules) = shown, axes, rules
    return Panel(
        title, subtitle, len(rows), len(columns), tuple(cells), row_axis, column_axis, tuple(row_rules),
        tuple(column_rules), tuple(legend),
    )  # fmt: skip


class Grid(NamedTuple):
    """The coordinates of a shape on one panel; those of a shape of one mode run line by line.

    The element at (row, column) has the index row * steps[0] + column * steps[1]. `names` are the texts of rows and
    columns of which the text of a coordinate is made; none for one mode.
    """

    shape: Any
    sheet: grids.Grid
    notes: tuple[str, ...]
    steps: tuple[int, int]
    names: tuple[dict[int, str], dict[int, str]] | None

    @property
    def rows(self) -> Shown:
        return self.sheet.rows

    @property
    def columns(self) -> Shown:
        return self.sheet.columns

    def place(self, index: int) -> tuple[int, int] | None:
        """Where the element of a 1-D index is drawn; None where it is left out or outside."""
        return self.sheet.place(index)

    def places(self) -> list[tuple[int, int, int]]:
        """Row and column of the panel, and index, of each element that is drawn, line by line."""
        size, (down, across) = int(_core.size(self.shape)), self.steps
        ends = [(c, column * across) for c, column in enumerate(self.columns) if column is not None]
        starts = [(r, row * down) for r, row in enumerate(self.rows) if row is not None]
        # The last line of one mode may be shorter.
        return [(r, c, start + end) for r, start in starts for c, end in ends if start + end < size]

    def drawn(self) -> list[int]:
        """The indices that are drawn."""
        return [index for _, _, index in self.places()]

    def coordinate(self, index: int) -> str:
        """The coordinate of a 1-D index in the profile of the shape."""
        if self.names is not None:
            rows, columns = self.names
            column, row = divmod(index, self.steps[1])
            if row in rows and column in columns:
                return rows[row] + columns[column]
        elif type(self.shape) is int:
            return str(index)
        return text(_core.idx2crd(index, self.shape))

    def panel(
        self, title: str, subtitle: str, content: Callable[[int], Content | None], legend: Sequence[Entry] = ()
    ) -> Panel:
        """A panel filled by `content(index)`, the index counting colexicographically through the shape."""
        found = [(r, c, content(index)) for r, c, index in self.places()]
        return self.panel_of(title, subtitle, [_cell((r, c, *x)) for r, c, x in found if x is not None], legend)

    def panel_of(self, title: str, subtitle: str, cells: Iterable[Cell], legend: Sequence[Entry] = ()) -> Panel:
        """A panel with these cells."""
        sheet = self.sheet
        axes, rules = (sheet.row_axis, sheet.column_axis), (sheet.row_rules, sheet.column_rules)
        return _panel(title, subtitle, (sheet.rows, sheet.columns), cells, axes, rules, legend)

    def note(self, what: str) -> tuple[str, ...]:
        """What is to be said where not all of it is drawn."""
        return tuple(f"{what}: {note}" for note in self.notes)


def grid_of(shape: Any, most: int = MOST, down: int = 1) -> Grid:
    """The grid of a shape, its first `down` modes as rows and the others as columns, at most `most` of each.

    >>> grid = grid_of((2, (3, 2)))
    >>> grid.columns, grid.place(7), grid.coordinate(7)
    ((0, 1, 2, 3, 4, 5), (1, 3), '(1,(0,1))')
    """
    modes = shape if isinstance(shape, tuple) else (shape,)
    if len(modes) == 1:
        (sheet, *_), notes = grids_of((modes[0],), most)
        return Grid(shape, sheet, notes, (sheet.width, 1), None)
    down = min(down, len(modes) - 1)
    sides = (tuple(modes[:down]), tuple(modes[down:]))
    (sheet, *_), notes = grids_of(tuple(x[0] if len(x) == 1 else x for x in sides), most)
    names = (_names(sides[0], sheet.rows, "({},"), _names(sides[1], sheet.columns, "{})"))
    return Grid(shape, sheet, notes, (1, int(_core.size(sides[0]))), names)


def grids_for(shapes: Sequence[Any], most: int, downs: Sequence[int] = (), room: int = HOVERED) -> tuple[Grid, ...]:
    """The grids of the shapes of one picture: of 64 rows and columns where there is room, else of `most`.

    There is room for as many cells as pointing at them shows all of, or, where no shape has more rows or columns, for
    `room` of them. `downs` are the modes of each that run down, by default one.

    >>> [[len(grid.rows) for grid in grids_for([(64, n)] * 2, 44, room=ROOM)] for n in (8, 64, 65)]
    [[64, 64], [64, 64], [44, 44]]
    """
    pairs = list(zip(shapes, downs or (1,) * len(shapes), strict=True))
    found = tuple(grid_of(shape, MOST, down) for shape, down in pairs)
    count = sum(len(grid.rows) * len(grid.columns) for grid in found)
    if count <= HOVERED or (count <= room and not any(grid.notes for grid in found)):
        return found
    return tuple(grid_of(shape, most, down) for shape, down in pairs)


def _names(modes: tuple[Any, ...], shown: Shown, form: str) -> dict[int, str]:
    """The text of each index as a coordinate of some modes, without parentheses, in a form."""
    return {i: form.format(text(_core.idx2crd(i, modes))[1:-1]) for i in shown if i is not None}


def ends(extent: int, shown: Shown) -> tuple[Rule, ...]:
    """Thick lines after every `extent` rows or columns."""
    return tuple(
        Rule(n, 2) for n, i in enumerate(shown, 1) if i is not None and (i + 1) % extent == 0 and n < len(shown)
    )


def arranged(panels: Sequence[Panel]) -> tuple[Placed, ...]:
    """Panels side by side where a page is wide enough for them, else one below the other."""

    def width(panel: Panel) -> float:
        letters = max(map(len, chain.from_iterable(map(_lines, panel.cells))), default=1)
        return max(panel.columns * max(letters * LETTER + 10, 28.0) + 40, len(panel.title) * LETTER)

    return beside(*panels) if sum(map(width, panels)) <= PAGE else below(*panels)


def owner_hover(pairs: Sequence[tuple[int, int]]) -> Hover:
    """What pointing at an element shows of the (thread, value) pairs that have it, of many threads the first."""
    if len(pairs) == 1:
        ((thread, value),) = pairs
        return (("thread", str(thread)), ("value", str(value)))
    if len(pairs) == 2:
        (a, value), (b, _) = pairs
        return (("thread", str(a) if a == b else f"{min(a, b)}, {max(a, b)}"), ("value", str(value)))
    threads = sorted({t for t, _ in pairs})
    shown = ", ".join(map(str, threads[:8])) + (f", .. {threads[-1]}" if len(threads) > 8 else "")
    return (("thread", shown), ("value", str(pairs[0][1])))


def refusal(error: _core.LayoutError, panels: Sequence[Panel], links: Sequence[Link] = ()) -> Picture:
    """The picture of an operation without a result: why, then its operands."""
    return Picture(f"LayoutError: {error}", arranged(panels), links=links, error=error)
