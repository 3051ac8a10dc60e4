"""How coordinates of any shape are laid out on paper: mode 0 down, mode 1 across, a panel for each of the rest."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.axes import ELISION, MOST, Shown, axis_of, digits, extents, rules_of, shown_of
from tilewright.show.drawing.picture import Label, Modes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.show.drawing.picture import Axis, Rule

__all__ = ["CELLS", "Grid", "grids_of", "static"]

LINE = 32  # elements on a line, where there is one mode
CELLS = 64 * 64  # a picture draws about so many
PANELS = 12  # and so many panels of a layout with more than two modes


class Grid(NamedTuple):
    """One panel's coordinates: `rows` and `columns` are the indices that are drawn, `rest` those of the modes 2, 3, ...

    Of a shape with one mode, a row is a line of `len(columns)` elements.
    """

    shape: Any
    row_shape: Any
    column_shape: Any
    rows: Shown
    columns: Shown
    rest: tuple[int, ...] = ()

    @property
    def flat(self) -> bool:
        """Whether the shape has one mode, which is drawn line by line."""
        return not isinstance(self.shape, tuple) or len(self.shape) < 2

    @property
    def cut(self) -> bool:
        """Whether a line ends in the middle of a leaf of the shape."""
        leaves, across = extents(self.shape), extents(self.column_shape)
        return leaves[: len(across)] != across

    def coordinate(self, row: int, column: int) -> Any:
        """The coordinate of an element, one index for each mode; with one mode the index, with none ()."""
        if self.flat:
            if self.shape == ():
                return ()
            return row * math.prod(extents(self.column_shape)) + column
        return (row, column, *self.rest)

    def number(self, row: int, column: int) -> int:
        """The one-dimensional coordinate: modes in order, mode 0 fastest."""
        if self.flat:
            return row * math.prod(extents(self.column_shape)) + column
        index, step = 0, 1
        for i, mode in zip((row, column, *self.rest), self.shape, strict=True):
            index, step = index + i * step, step * int(_core.size(mode))
        return index

    def place(self, index: int) -> tuple[int, int] | None:
        """Row and column of the panel at which an index is drawn; None where it is not in this panel."""
        if self.flat:
            row, column = divmod(index, math.prod(extents(self.column_shape)))
        else:
            row, column, *rest = digits(index, tuple(int(_core.size(mode)) for mode in self.shape))
            if tuple(rest) != self.rest:
                return None
        if row not in self.rows or column not in self.columns:
            return None
        return self.rows.index(row), self.columns.index(column)

    def names(self) -> tuple[list[str], list[str], str]:
        """The text of a coordinate in the shape's own nesting is rows[r] + columns[c] + end."""
        if self.flat:
            return ["" for _ in self.rows], ["" for _ in self.columns], ""
        modes = self.modes
        assert modes is not None
        rows, columns, rest = ([nested for _, nested in places] for places in modes)
        return [f"({row}," for row in rows], columns, "".join(f",{x}" for x in rest) + ")"

    @property
    def modes(self) -> Modes | None:
        """What rows, columns and the panel stand for, mode by mode; None of a shape with one mode."""
        if self.flat:
            return None

        def of(shown: Shown, mode: Any) -> tuple[tuple[str, str], ...]:
            return tuple(("", "") if i is None else (str(i), text(_core.idx2crd(i, mode))) for i in shown)

        rest = (of((i,), mode)[0] for i, mode in zip(self.rest, self.shape[2:], strict=True))
        return Modes(of(self.rows, self.shape[0]), of(self.columns, self.shape[1]), tuple(rest))

    def name(self, row: int, column: int) -> str:
        """The text of a coordinate in the shape's own nesting."""
        coordinate = self.coordinate(row, column)
        if self.flat:
            inside = self.shape[0] if isinstance(self.shape, tuple) and self.shape else self.shape
            found = text(_core.idx2crd(coordinate, inside)) if self.shape != () else ""
            return f"({found})" if isinstance(self.shape, tuple) else found
        return text(tuple(_core.idx2crd(i, mode) for i, mode in zip(coordinate, self.shape, strict=True)))

    def cells(self) -> Iterator[tuple[int, int, Any, int, str]]:
        """For each element: row and column of the panel, coordinate, one-dimensional coordinate, and its text."""
        size = int(_core.size(self.shape))
        if self.flat:
            for r, row in enumerate(self.rows):
                for c, column in enumerate(self.columns):
                    if row is not None and column is not None and self.number(row, column) < size:
                        yield r, c, self.coordinate(row, column), self.number(row, column), self.name(row, column)
            return
        row_names, column_names, end = self.names()
        height, first = int(_core.size(self.shape[0])), self.number(0, 0)
        for r, row in enumerate(self.rows):
            if row is None:
                continue
            for c, column in enumerate(self.columns):
                if column is not None:
                    name = row_names[r] + column_names[c] + end
                    yield r, c, (row, column, *self.rest), first + row + column * height, name

    @property
    def row_axis(self) -> Axis:
        """Labels of the rows; none for a single line."""
        if self.flat and len(self.rows) == 1:
            return ()
        if self.flat and self.cut:
            return (tuple(Label(ELISION if i is None else str(self.coordinate(i, 0))) for i in self.rows),)
        return axis_of(self.row_shape, self.rows)

    @property
    def column_axis(self) -> Axis:
        """Labels of the columns."""
        return axis_of(self.column_shape, self.columns, "+" if self.flat and self.cut else "")

    @property
    def row_rules(self) -> tuple[Rule, ...]:
        """Rules between the tiles along the rows."""
        return rules_of(self.row_shape, self.rows)

    @property
    def column_rules(self) -> tuple[Rule, ...]:
        """Rules between the tiles along the columns."""
        return rules_of(self.column_shape, self.columns)

    @property
    def title(self) -> str:
        """Which slice of a shape with more than two modes this is."""
        return f"(_,_,{','.join(map(str, self.rest))})" if self.rest else ""


def static(shape: Any) -> Any:
    """A shape with its dynamic integers as plain ones."""
    return tuple(map(static, shape)) if isinstance(shape, tuple) else int(shape)


def grids_of(shape: Any, most: int = MOST) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
    """The panels of a shape, and notes that say what of it is left out.

    >>> grids, notes = grids_of(((2, 2), 96))
    >>> grids[0].name(3, 95), notes
    ('((1,1),95)', ('4 x 63 of 4 x 96 elements are drawn: the first ones and the last',))
    """
    shape = static(shape)
    if not isinstance(shape, tuple) or len(shape) < 2:
        row_shape, column_shape = _lines(shape, most)
    else:
        row_shape, column_shape = shape[:2]
    rows, columns = (math.prod(extents(x)) for x in (row_shape, column_shape))
    shown = shown_of(rows, most), shown_of(columns, most)
    notes = []
    if None in shown[0] or None in shown[1]:
        drawn = " x ".join(str(sum(i is not None for i in axis)) for axis in shown)
        notes.append(f"{drawn} of {rows} x {columns} elements are drawn: the first ones and the last")
    others = tuple(int(_core.size(mode)) for mode in shape[2:]) if isinstance(shape, tuple) else ()
    count = math.prod(others)
    panels = min(count, PANELS, max(1, CELLS // (len(shown[0]) * len(shown[1]))))
    if panels < count:
        notes.append(f"{panels} of {count} slices along the modes from 2 on are drawn: the first ones")
    rests = (digits(i, others) if others else () for i in range(panels))
    return tuple(Grid(shape, row_shape, column_shape, *shown, rest) for rest in rests), tuple(notes)


def _lines(shape: Any, most: int) -> tuple[Any, Any]:
    """One mode in lines: the first leaves across as long as they fit, the others down; a long leaf is cut in pieces.

    Lines are as long as the panel is wide where all elements fit in only so.

    >>> [_lines((size,), 64) for size in (96, 2100, 4000, 4096, 8192)]
    [(3, 32), (35, 60), (63, 64), (64, 64), (256, 32)]
    """
    leaves = extents(shape)
    size = math.prod(leaves)
    if size <= LINE:
        return 1, leaves
    line = most if LINE * most < size <= most * most else LINE
    count, width = 0, 1
    while width * leaves[count] <= line:
        width *= leaves[count]
        count += 1
    if count:
        return leaves[count:], leaves[:count]
    even = (n for n in range(line, line // 2, -1) if leaves[0] % n == 0)
    width = next((n for n in even if line == LINE or size <= n * most), line)
    return -(-size // width), width
