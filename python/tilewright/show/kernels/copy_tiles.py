"""The picture of a copy plan: who loads and who stores each element of a tile, and where shared memory keeps it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.analysis.bank_conflicts import BANKS, WORD, coordinate
from tilewright.show.drawing.palette import INK, thread_color
from tilewright.show.formats.svg_tables import Svg

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.kernels.copy.plan import CopyPlan

__all__ = ["draw_copy"]

SHOWN = 64  # a picture shows this many rows and columns
LINE = 32  # elements on a line, where the tile has one mode
PLACED = 1536  # cells of a table, up to which each text has a place: three tables of more would take 200 kB
ROW = 18.0  # pixels
LETTER = 6.0  # pixels, of the small font
LEFT, GAP, HEAD = 46.0, 34.0, 50.0

Cell = tuple[int, int]
Coordinate = tuple[int, ...]


class Grid(NamedTuple):
    """The cells of a table and the coordinates of the tile that they show."""

    coordinates: dict[Cell, Coordinate]
    row_names: list[str]
    column_names: list[str]
    cut: str


class Table(NamedTuple):
    """What stands in each cell, and whose it is: the number of a thread or of a bank."""

    grid: Grid
    labels: dict[Cell, str]
    owners: dict[Cell, int]


class Picture(Svg):
    """With tables of thousands of cells that take a few bytes each: one path an owner, one text a row."""

    def table(self, table: Table, left: float, top: float, hover: Callable[[int], str]) -> tuple[float, float]:
        """Draw a table; `hover` says what a cell's owner shows. The table's right and lower end."""
        rows, columns = len(table.grid.row_names), len(table.grid.column_names)
        letters = max(map(len, table.labels.values()), default=1) + 2
        cell = letters * LETTER
        width, height = columns * cell, rows * ROW

        def line(y: float, fill: str, labels: list[str]) -> None:
            texts = [f"{label:^{letters}}" for label in labels]
            content, length = "".join(texts).rstrip(), ""
            if rows * columns <= PLACED:
                content = "".join(f'<tspan x="{left + n * cell:.1f}">{text}</tspan>' for n, text in enumerate(texts))
            else:
                length = f' textLength="{LETTER * len(content):.1f}"'
            self._body.append(f'<text class="c" x="{left:.1f}" y="{y:.1f}"{length}{fill}>{content}</text>')

        # One unit is a cell: it is a line, as thick as a cell is high, or wide.
        across, down = (_runs(table.owners, way) for way in ((0, 1), (1, 0)))
        runs, (dx, dy), way = (across, (0, 0.5), "h") if len(across) <= len(down) else (down, (0.5, 0), "v")
        place = f"translate({left + dx * cell:.2f} {top + dy * ROW:.2f}) scale({cell:.2f} {ROW:.2f})"
        self._body.append(f'<g transform="{place}" fill="none">')
        paths: dict[int, str] = {}
        for row, column, length in runs:
            owner = table.owners[row, column]
            paths[owner] = paths.get(owner, "") + f"M{column} {row}{way}{length}"
        for owner, path in sorted(paths.items()):
            self._body.append(f'<path d="{path}" stroke="{thread_color(owner)}"><title>{hover(owner)}</title></path>')
        rules = "".join(f"M{left:.1f} {top + row * ROW:.1f}h{width:.1f}" for row in range(rows + 1))
        rules += "".join(f"M{left + n * cell:.1f} {top:.1f}v{height:.1f}" for n in range(columns + 1))
        self._body.append(
            f'</g><g pointer-events="none" xml:space="preserve"><path d="{rules}" stroke="#444" stroke-opacity=".4"/>'
        )
        line(top - 5, f' style="fill:{INK}"', table.grid.column_names)
        for row, name in enumerate(table.grid.row_names):
            self.text(left - 18, top + (row + 0.5) * ROW, name, "g")
            line(top + row * ROW + 12.5, "", [table.labels.get((row, n), "-") for n in range(columns)])
        self._body.append("</g>")
        return left + width, top + height


def _runs(owners: dict[Cell, int], way: Cell) -> list[tuple[int, int, int]]:
    """Neighbouring cells of one owner: where each run begins, and its length."""
    runs = []
    for (row, column), owner in owners.items():
        if owners.get((row - way[0], column - way[1])) != owner:
            length = 1
            while owners.get((row + length * way[0], column + length * way[1])) == owner:
                length += 1
            runs.append((row, column, length))
    return runs


def draw_copy(plan: CopyPlan) -> str:
    """A plan as a picture, in SVG: the tile as it is loaded beside the tile as it is stored, and below, for a plan that
    goes through shared memory, where each element lies there.

    Cells are coloured by thread, with thread and value in each; rows and columns are the first two modes in which the
    tile has more than one element, of which 64 x 64 are drawn at most. Pointing at a cell shows its thread or banks.

    >>> import numpy
    >>> from tilewright import kernels
    >>> a = numpy.zeros((64, 64), numpy.float32)
    >>> draw_copy(kernels.tiled_copy.plan(a, a.copy().T)).startswith("<svg")
    True
    """
    picture = Picture(f"{plan.kernel} copy of {plan.problem}")
    drawn = [i for i, extent in enumerate(plan.tile) if extent > 1][:2] or [0]
    rest = [i for i, extent in enumerate(plan.tile) if extent > 1 and i not in drawn]
    box, begin = list(plan.tile), [0] * len(plan.tile)
    if plan.smem is not None and plan.dst_shift:  # shared memory and those who fill it begin before the tile
        box[plan.dst_mode] += plan.dst_shift
        begin[plan.dst_mode] -= plan.dst_shift
    in_shared = _grid(box, drawn, begin)
    modes = " and ".join(f"mode {i} {way}" for i, way in zip(drawn, ("down", "across"), strict=False))
    if len(drawn) == 1:
        modes = f"mode {drawn[0]}, line by line"
    if rest:
        modes += f", mode{'s' * (len(rest) > 1)} {', '.join(map(str, rest))} at 0"
    left, right, bottom = LEFT, 0.0, 0.0
    for side, grid, tv, vector in (
        ("loaded", in_shared, plan.load_tv, plan.load_vector),
        ("stored", _grid(list(plan.tile), drawn, [0] * len(box)), plan.store_tv, plan.store_vector),
    ):
        bits = 8 * vector * plan.problem.element_bytes
        headline = picture.heading(
            left - 30, 22, f"as {side}: {tv}", f"thread and value, {bits} bits at once; {modes}{grid.cut}"
        )
        end, low = picture.table(_by_thread(plan, grid, tv), left, 22 + HEAD, "thread {}".format)
        right, bottom = max(headline, end), max(bottom, low)
        left = right + GAP + LEFT
    if plan.smem is not None:
        what = f"offset in elements, coloured by bank; {plan.shared_bytes} bytes; {modes}{in_shared.cut}"
        headline = picture.heading(16, bottom + GAP, f"in shared memory: {plan.smem}", what)
        table, banks = _by_bank(in_shared, plan.smem, plan.problem.element_bytes)
        end, bottom = picture.table(table, LEFT, bottom + GAP + HEAD, banks)
        right = max(right, headline, end)
    return picture.render(math.ceil(right + 16), bottom + 16)


def _grid(box: list[int], drawn: list[int], begin: list[int]) -> Grid:
    """The part of a tile that is drawn; names of rows and columns count from `begin`."""
    first, second = drawn[0], drawn[-1]
    coordinates = {}
    if first == second:
        extent = min(box[first], SHOWN * LINE)
        columns = min(extent, LINE)
        rows = -(-extent // columns)
        cut = f"; {extent} of {box[first]} shown" if extent < box[first] else ""
        for i in range(extent):
            coordinates[divmod(i, columns)] = tuple(i if m == first else 0 for m in range(len(box)))
        row_names = [str(begin[first] + row * columns) for row in range(rows)]
        return Grid(
            coordinates, row_names, [f"+{n}" if rows > 1 else str(begin[first] + n) for n in range(columns)], cut
        )
    rows, columns = min(box[first], SHOWN), min(box[second], SHOWN)
    for row in range(rows):
        for column in range(columns):
            coordinates[row, column] = tuple(
                row if m == first else column if m == second else 0 for m in range(len(box))
            )
    whole = (rows, columns) == (box[first], box[second])
    row_names, column_names = (
        [str(begin[m] + n) for n in range(count)] for m, count in ((first, rows), (second, columns))
    )
    return Grid(
        coordinates,
        row_names,
        column_names,
        "" if whole else f"; {rows} x {columns} of {box[first]} x {box[second]} shown",
    )


def _by_thread(plan: CopyPlan, grid: Grid, tv: Any) -> Table:
    like = _core.make_layout(plan.tile)
    readers: dict[Coordinate, list[tuple[int, int]]] = {}
    for thread in range(int(_core.size(tv, mode=[0]))):
        for value in range(int(_core.size(tv, mode=[1]))):
            c = coordinate(tv, thread, value, like)
            readers.setdefault(c if isinstance(c, tuple) else (c,), []).append((thread, value))
    labels, owners = {}, {}
    for cell, c in grid.coordinates.items():
        if c in readers:
            (thread, value), *others = readers[c]
            labels[cell] = f"T{thread}V{value}" + (f"+{len(others)}" if others else "")
            owners[cell] = thread
    return Table(grid, labels, owners)


def _by_bank(grid: Grid, smem: Any, size: int) -> tuple[Table, Callable[[int], str]]:
    """The offsets in shared memory, and the text about a bank; an element of 8 or 16 bytes lies in several of them."""
    offsets = {cell: int(smem(c if len(c) > 1 else c[0])) for cell, c in grid.coordinates.items()}
    owners = {cell: offset * size // WORD % BANKS for cell, offset in offsets.items()}
    more = max(size // WORD, 1) - 1

    def text_of(bank: int) -> str:
        return f"banks {bank} to {bank + more}" if more else f"bank {bank}"

    return Table(grid, {cell: str(offset) for cell, offset in offsets.items()}, owners), text_of
