"""Pictures of the divides: a layout cut into tiles, and the same elements with one tile in each column."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.picture import Link, Picture, Rule
from tilewright.show.drawing.tables import arranged, ends, grids_for, refusal, room_for
from tilewright.show.operations.operations import layout_of, operand_panel, traced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from tilewright.show.drawing.axes import Shown
    from tilewright.show.drawing.picture import Panel
    from tilewright.show.drawing.tables import Grid

__all__ = ["flat_divide_picture", "logical_divide_picture", "tiled_divide_picture", "zipped_divide_picture"]

SIDE = 44  # rows and columns of each of two large panels
LARGEST = 1 << 22  # elements of one mode that are sorted into tiles


class Cut(NamedTuple):
    """How a mode is cut into `tiles` tiles of `tile` elements."""

    tile: int
    tiles: int
    elements: npt.NDArray[np.int64]  # the element at place + tile * number
    places: npt.NDArray[np.int64]  # of each element: place + tile * number; -1 where no tile has it
    in_blocks: bool  # whether each tile is a run of neighbours


def cut_of(extent: int, tiler: Any) -> Cut:
    """A mode of `extent` elements, cut by a tiler: an extent or a layout; None leaves it whole.

    >>> cut_of(6, 2).places, cut_of(6, _core.make_layout(2, stride=3)).places
    (array([0, 1, 2, 3, 4, 5]), array([0, 2, 4, 1, 3, 5]))
    """
    if extent > LARGEST:
        raise ValueError(f"show: a mode of {extent} elements is too large to be sorted into tiles, at most {LARGEST}")
    divided = _core.logical_divide(_core.make_layout(extent), extent if tiler is None else tiler)
    tile, tiles = (int(_core.size(divided, mode=[mode])) for mode in (0, 1))
    elements = divided.offsets()
    places = np.full(extent, -1)
    inside = np.flatnonzero(elements < extent)[::-1]  # the first place of an element is the one that stays
    places[elements[inside]] = inside
    in_blocks = bool((elements[1:] == elements[:-1] + 1).all())
    return Cut(tile, tiles, elements, places, in_blocks)


class Cuts(NamedTuple):
    """All modes of a layout, cut; a tiler that is one layout cuts all elements as one mode."""

    modes: tuple[Cut, ...]
    extents: tuple[int, ...]
    tiled: int  # modes that the tiler has

    def tiles(self, indices: Sequence[int]) -> tuple[list[int], list[tuple[int, ...]]]:
        """The numbers of the tiles that have these elements, -1 where none has it; their places there, by mode."""
        index = np.array(indices, np.int64)
        number, scale = np.zeros_like(index), 1
        inside, places = np.ones(len(index), bool), []
        for cut, extent in zip(self.modes, self.extents, strict=True):
            index, element = divmod(index, extent)
            place = cut.places[element]
            inside &= place >= 0
            number += place // cut.tile * scale
            scale *= cut.tiles
            places.append((place % cut.tile).tolist())
        return np.where(inside, number, -1).tolist(), list(zip(*places[: self.tiled], strict=True))

    def sources(self, indices: Sequence[int], by_mode: bool) -> tuple[list[int], list[int]]:
        """Of indices of the result the elements, -1 past the end of a mode, and the numbers of their tiles.

        by_mode, a logical divide: ((place, tile), ..) of each mode. Otherwise the places of all modes and then the
        tiles.
        """
        index = np.array(indices, np.int64)
        tiles = index // math.prod(cut.tile for cut in self.modes)
        source, number, step, scale = np.zeros_like(index), np.zeros_like(index), 1, 1
        inside = np.ones(len(index), bool)
        for cut, extent in zip(self.modes, self.extents, strict=True):
            index, place = divmod(index, cut.tile)
            if by_mode:
                index, at = divmod(index, cut.tiles)
            else:
                tiles, at = divmod(tiles, cut.tiles)
            element = cut.elements[place + cut.tile * at]
            inside &= element < extent
            source += element * step
            number += at * scale
            step *= extent
            scale *= cut.tiles
        return np.where(inside, source, -1).tolist(), number.tolist()


def cuts_of(target: Any, tiler: Any) -> Cuts:
    """How a tiler cuts a layout: mode by mode for a tuple, all of it for a layout."""
    if isinstance(tiler, tuple):
        extents = tuple(int(_core.size(target, mode=[mode])) for mode in range(_core.rank(target)))
        entries = (*tiler, *(None,) * (len(extents) - len(tiler)))
        cuts = [cut_of(extent, entry) for extent, entry in zip(extents, entries, strict=True)]
        # A mode that the tiler lacks is no part of a tile: each of its elements is in other tiles.
        cuts[len(tiler) :] = [cut_of(extent, 1) for extent in extents[len(tiler) :]]
        return Cuts(tuple(cuts), extents, len(tiler))
    size = int(_core.size(target))
    return Cuts((cut_of(size, tiler),), (size,), 1)


def divide_picture(operation: str, target: Any, tiler: Any, *, at: Any = None) -> Picture:
    """A layout, coloured by tile, beside the result of a divide by a tiler, in which one element is followed.

    A result whose first mode is a tile has a column for each tile. Elements past the end of a mode, which ragged tiles
    reach, are grey. Raises TypeError for a target that is no layout, ValueError for an `at` outside of the result.
    """
    layout = layout_of(operation, "the target", target)
    call = f"{operation}({layout}, {text(tiler)})"
    try:
        result = getattr(_core, operation)(layout, tiler)
    except _core.LayoutError as error:
        return refusal(error, [operand_panel("the target", layout)])
    cuts = cuts_of(layout, tiler)
    by_mode = operation == "logical_divide"
    down = cuts.tiled if operation == "flat_divide" else 1
    grids = grids_for((layout.shape, result.shape), SIDE, (1, down), room_for(layout))

    drawn = grids[1].drawn()
    sources, numbers = cuts.sources(drawn, by_mode)
    source_of = dict(zip(drawn, sources, strict=True))

    def place_of(element: int) -> tuple[int, int] | None:
        return grids[0].place(element) if element >= 0 else None

    index = traced(operation, grids[1], at, lambda i: place_of(source_of[i]) is not None)
    element = cuts.sources([index], by_mode)[0][0]
    known = iter(grids[0].coordinates([x for x in sources if x >= 0]))
    more = [
        (("tile", str(number)), ("of", "outside" if x < 0 else next(known)))
        for x, number in zip(sources, numbers, strict=True)
    ]
    colors = [None if x < 0 else number for x, number in zip(sources, numbers, strict=True)]
    outside = [x < 0 for x in sources]
    tiles = _count(cuts)
    panels = [
        _before(f"{tiles} tile{'s' * (tiles > 1)}, a colour for each", layout, grids[0], cuts, element),
        grids[1].offsets(
            f"{result}", _says(operation, by_mode and isinstance(tiler, tuple)), result, colors, [index], outside, more
        ),
    ]
    if isinstance(tiler, tuple) or _core.rank(layout) == 1:
        row_rules, column_rules = _rules(cuts, grids[0])
        panels[0] = panels[0]._replace(row_rules=row_rules, column_rules=column_rules)
    places = place_of(element), grids[1].place(index)
    links = [Link((0, *places[0]), (1, *places[1]))] if places[0] is not None and places[1] is not None else []
    notes = [_outside(cuts)] if _outside(cuts) else []
    notes += [*grids[0].note(f"{layout}"), *grids[1].note(f"{result}")]
    return Picture(f"{call} = {result}", arranged(panels), notes, links)


def _before(subtitle: str, layout: Any, grid: Grid, cuts: Cuts, marked: int) -> Panel:
    """A layout, coloured by tile; elements that are in no tile are faded."""
    numbers, places = cuts.tiles(grid.drawn())
    names = {place: text(place if len(place) > 1 else place[0]) for place in set(places)}
    more = [
        () if number < 0 else (("tile", str(number)), ("place in it", names[place]))
        for number, place in zip(numbers, places, strict=True)
    ]
    colors = [None if number < 0 else number for number in numbers]
    return grid.offsets(f"{layout}", subtitle, layout, colors, [marked], [number < 0 for number in numbers], more)


def _count(cuts: Cuts) -> int:
    count = 1
    for cut in cuts.modes:
        count *= cut.tiles
    return count


def _says(operation: str, pairs: bool) -> str:
    if pairs:
        return "each mode as (place, tile)"
    return {
        "logical_divide": "(place, tile): a column for each tile",
        "zipped_divide": "(place, tile): a column for each tile",
        "tiled_divide": "(place, tile, ..): a column for each tile",
        "flat_divide": "(place, .., tile, ..): a column for each tile",
    }[operation]


def _outside(cuts: Cuts) -> str:
    """What is to be said of tiles that reach past the end."""
    ragged = [
        f"mode {mode} has {extent} elements in {cut.tiles} tiles of {cut.tile}, which reach "
        f"{cut.tiles * cut.tile - extent} past its end"
        for mode, (cut, extent) in enumerate(zip(cuts.modes, cuts.extents, strict=True))
        if cut.tile * cut.tiles > extent
    ]
    return "; ".join(ragged)


def _rules(cuts: Cuts, grid: Grid) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Thick lines where a tile ends, after rows and columns, for modes whose tiles are runs of neighbours."""
    if _core.rank(grid.shape) == 1:
        whole_lines = len(grid.rows) == 1 or len(grid.columns) % cuts.modes[0].tile == 0
        return (), _ends(cuts.modes[0], grid.columns) if whole_lines else ()
    down, across = cuts.modes[:2]
    return _ends(down, grid.rows), _ends(across, grid.columns) if _core.rank(grid.shape) == 2 else ()


def _ends(cut: Cut, shown: Shown) -> tuple[Rule, ...]:
    return ends(cut.tile, shown) if cut.in_blocks else ()


def _picture(operation: str) -> Callable[..., Picture]:
    return partial(divide_picture, operation)


logical_divide_picture = _picture("logical_divide")
zipped_divide_picture = _picture("zipped_divide")
tiled_divide_picture = _picture("tiled_divide")
flat_divide_picture = _picture("flat_divide")
