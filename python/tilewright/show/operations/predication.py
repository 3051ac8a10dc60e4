"""Pictures of predication: which places of ragged tiles lie inside of the tensor, element by element and by vector."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.axes import MOST, cut_note
from tilewright.show.drawing.picture import Entry, Panel, Picture
from tilewright.show.drawing.tables import Content, Grid, arranged, ends, grid_of

__all__ = ["predication_picture"]

WHOLE, PARTLY = 3, 2  # colours


class Tiles(NamedTuple):
    """Extents of a tensor and of a tile, two of each: a tensor of one mode has a row for each tile."""

    extents: tuple[int, int]
    tile: tuple[int, int]
    rank: int

    @property
    def counts(self) -> tuple[int, int]:
        """The tiles along each mode."""
        (m, n), (tm, tn) = self.extents, self.tile
        return -(-m // tm), -(-n // tn)

    def inside(self, tile: tuple[int, int]) -> tuple[int, int]:
        """How much of a tile lies inside, along each mode."""
        i, j = (min(t, e - k * t) for t, e, k in zip(self.tile, self.extents, tile, strict=True))
        return i, j

    def shown(self, pair: tuple[int, int]) -> str:
        """A pair of numbers as the tensor's modes have them."""
        return text(pair) if self.rank > 1 else str(pair[1])


def predication_picture(shape: Any, tiler: Any, *, vector: int = 1, mode: int = 0) -> Picture:
    """The tiles that cover a tensor of a shape, coloured by tile; what lies outside of the tensor is grey.

    `shape` and `tiler` are extents or tuples of one or two; a Layout or a Tensor stands for its shape. A tensor of one
    mode has a row for each tile; of a large one, its tiles and the elements of the last one are shown. With `vector`,
    accesses of so many elements along `mode` are shown too, each of which has one predicate: those that lie partly
    outside are marked, for no predicate expresses them. Raises ValueError for other shapes, for a mode that
    there is not, and where the vector does not divide the tile.

    >>> from tilewright import cute
    >>> cute.show("predication", (5, 7), (4, 4)).notes[0]
    '35 of 64 places lie inside, on average 8.75 of the 16 of a tile'
    """
    tiles = _tiles(shape, tiler)
    for name, x in (("vector", vector), ("mode", mode)):
        if not isinstance(x, int) or isinstance(x, bool):
            raise TypeError(f"show: expected {name} of predication to be an integer, but got {x!r}")
    if not 0 <= mode < tiles.rank:
        modes = "mode 0" if tiles.rank == 1 else "modes 0 and 1"
        raise ValueError(
            f"show: predication has no mode {mode}: the tile {tiles.shown(tiles.tile)} has {modes}; mode is the "
            "one along which vectors lie"
        )
    along = mode + 2 - tiles.rank
    if vector < 1 or tiles.tile[along] % vector:
        raise ValueError(
            f"show: vectors of {vector} elements along mode {mode} do not divide the tile {tiles.shown(tiles.tile)}, "
            f"which has {tiles.tile[along]} there; vector must be a divisor of {tiles.tile[along]}"
        )
    counts = tiles.counts
    last = (counts[0] - 1, counts[1] - 1)
    drawn = (counts[1], tiles.tile[1]) if tiles.rank == 1 else (counts[0] * tiles.tile[0], counts[1] * tiles.tile[1])
    small = max(drawn) <= MOST
    first = (0, 0) if small else last
    panels = [] if small else [_overview(tiles)]
    panels.append(_elements(tiles, first))
    if vector > 1:
        panels.append(_vectors(tiles, first, vector, along))
    return Picture(
        f"tiles {tiles.shown(tiles.tile)} of a tensor {tiles.shown(tiles.extents)}",
        arranged(panels),
        _notes(tiles, last, small),
    )


def _tiles(shape: Any, tiler: Any) -> Tiles:
    found = []
    for name, x in (("the shape", shape), ("the tiler", tiler)):
        x = getattr(x, "shape", x)
        if isinstance(x, str):
            raise TypeError(f"show: expected {name} of predication to be a tuple of integers, not {x!r}")
        modes = x if isinstance(x, tuple) else (x,)
        found.append(tuple(int(_core.size(mode)) for mode in modes))
        if len(modes) not in (1, 2) or min(found[-1]) < 1:
            raise ValueError(
                f"show: {name} of predication is {text(x)}, but needs one or two modes, none of them empty"
            )
    extents, tile = found
    if len(extents) != len(tile):
        raise ValueError(f"show: the shape {text(extents)} and the tiler {text(tile)} of predication differ in rank")
    rank = len(extents)
    return Tiles((1, *extents)[-2:], (1, *tile)[-2:], rank)  # type: ignore[arg-type]


def _notes(tiles: Tiles, last: tuple[int, int], small: bool) -> list[str]:
    count, inside, places = (math.prod(x) for x in (tiles.counts, tiles.extents, tiles.tile))
    notes = [f"{inside} of {count * places} places lie inside, on average {inside / count:g} of the {places} of a tile"]
    if tiles.inside(last) != tiles.tile:
        notes.append(f"the last tile, {tiles.shown(last)}, has {tiles.shown(tiles.inside(last))} inside")
    if not small:
        if count > 1:
            notes.append(f"of the {count} tiles the last one is drawn element by element, of the others only the grid")
        notes += [x for x in (cut_note("the grid of tiles", *tiles.counts),) if x]
        notes += [x for x in (cut_note("the last tile", *tiles.tile),) if x]
    return notes


def _region(tiles: Tiles, first: tuple[int, int], steps: tuple[int, int]) -> tuple[Grid, Any]:
    """The places of the tiles from `first` on, and (row, column) to the place's coordinate in units of `steps`.

    With one mode, the tiles run down and their places across.
    """
    tm, tn = (t // s for t, s in zip(tiles.tile, steps, strict=True))
    m, n = (count - f for count, f in zip(tiles.counts, first, strict=True))
    grid = grid_of(((tm, m), (tn, n)) if tiles.rank > 1 else (n, tn))
    rows = m * tm if tiles.rank > 1 else n

    def at(index: int) -> tuple[int, int]:
        row, column = index % rows, index // rows
        if tiles.rank == 1:
            row, column = 0, row * tn + column
        return (row + first[0] * tm) * steps[0], (column + first[1] * tn) * steps[1]

    return grid, at


def _overview(tiles: Tiles) -> Panel:
    """A cell for each tile."""
    grid = grid_of(tiles.counts if tiles.rank > 1 else (tiles.counts[1],))

    def content(index: int) -> Content:
        rows = tiles.counts[0]
        tile = (index % rows, index // rows)
        inside = tiles.inside(tile)
        hover = (("tile", tiles.shown(tile)), ("inside", tiles.shown(inside)))
        whole = inside == tiles.tile
        return Content((" x ".join(map(str, inside[2 - tiles.rank :])),), WHOLE if whole else PARTLY, hover)

    legend = (Entry(WHOLE, "whole"), Entry(PARTLY, "partly inside"))
    return grid.panel(f"{tiles.shown(tiles.counts)} tiles", "how much of each lies inside", content, legend)


def _elements(tiles: Tiles, first: tuple[int, int]) -> Panel:
    grid, at = _region(tiles, first, (1, 1))
    whole = first == (0, 0)

    def content(index: int) -> Content:
        place = at(index)
        tile = place[0] // tiles.tile[0], place[1] // tiles.tile[1]
        inside = place[0] < tiles.extents[0] and place[1] < tiles.extents[1]
        within = place[0] % tiles.tile[0], place[1] % tiles.tile[1]
        hover = (("coordinate", tiles.shown(place)), ("tile", tiles.shown(tile)), ("place in it", tiles.shown(within)))
        owner = tile[0] - first[0] + (tile[1] - first[1]) * (tiles.counts[0] - first[0])
        shown = tiles.shown(place).strip("()") if whole else str(int(inside))
        return Content((shown,), owner if inside else None, hover, not inside)

    title = f"{tiles.shown(tiles.counts)} tiles" if whole else f"the last tile, {tiles.shown(first)}"
    what = "coordinates; a colour for each tile, grey: outside" if whole else "1: inside; 0, grey: outside"
    return grid.panel(title, what, content)


def _vectors(tiles: Tiles, first: tuple[int, int], vector: int, mode: int) -> Panel:
    """A cell for each access."""
    grid, at = _region(tiles, first, (vector, 1) if mode == 0 else (1, vector))

    def content(index: int) -> Content:
        place = at(index)
        inside = min(max(tiles.extents[mode] - place[mode], 0), vector)
        if place[1 - mode] >= tiles.extents[1 - mode]:
            inside = 0
        hover = (("first element", tiles.shown(place)), ("inside", f"{inside} of {vector}"))
        partly = 0 < inside < vector
        owner = WHOLE if inside == vector else PARTLY if partly else None
        return Content((f"{inside}/{vector}" if partly else str(int(inside > 0)),), owner, hover, not inside, partly)

    panel = grid.panel(
        f"vectors of {vector} along mode {mode - (tiles.rank == 1)}",
        "the predicate of each access",
        content,
        (Entry(WHOLE, "1: inside"), Entry(PARTLY, "partly: no predicate says it"), Entry(None, "0: outside", True)),
    )
    if tiles.rank == 1:
        return panel
    down, across = (t // (vector if m == mode else 1) for m, t in enumerate(tiles.tile))
    return panel._replace(row_rules=ends(down, grid.rows), column_rules=ends(across, grid.columns))
