"""Pictures of composition, coalesce and complement: the operands, the result, and how one comes from the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.axes import MOST, extents
from tilewright.show.drawing.picture import Entry, Label, Link, Picture, Rule, below
from tilewright.show.drawing.tables import (
    Content,
    Grid,
    arranged,
    grid_of,
    grids_for,
    leaves_of,
    offset_at,
    offsets_at,
    refusal,
    room_for,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.show.drawing.picture import Panel

__all__ = ["coalesce_picture", "complement_picture", "composition_picture", "layout_of", "operand_panel"]

EVALUATED = 1 << 16  # elements that are followed
PAIR = 44  # rows and columns of each of two large panels
LINE = 32  # offsets on a line of a complement
NAMED = 12  # entries of a legend


def layout_of(operation: str, name: str, x: Any) -> Any:
    """An operand as a layout: a Layout or its text, that of a tensor, n:1 for an extent; TypeError for others."""
    if isinstance(x, str):
        x = _core.parse(x)
    if isinstance(x, (_core.Layout, _core.ComposedLayout)):
        return x
    if isinstance(x, int) and not isinstance(x, bool):
        return _core.make_layout(x)
    layout = getattr(x, "layout", None)
    if isinstance(layout, (_core.Layout, _core.ComposedLayout)):
        return layout
    raise TypeError(f"show: expected {name} of {operation} to be a layout, but got {x!r}")


def operand_panel(
    name: str, layout: Any, subtitle: str = "", marked: tuple[int, ...] = (), grid: Grid | None = None
) -> Panel:
    """A layout as a plain table of offsets, with some of its indices marked; it says itself what has no place in it.

    `grid`: of a picture whose notes say that.
    """
    if grid is None:
        grid = grid_of(layout.shape)
        subtitle = "; ".join(filter(None, (subtitle, *grid.notes)))
    return grid.offsets(f"{name} = {layout}", subtitle, layout, leaves_of(layout.shape, grid.drawn()), marked)


def traced(operation: str, grid: Grid, at: Any, follows: Callable[[int], bool]) -> int:
    """The index that a picture follows: that of the coordinate `at`, else one in the middle that can be followed."""
    if at is None:
        drawn = list(grid.drawn())
        middle = len(drawn) * 5 // 8
        return next((i for i in drawn[middle:] + drawn[:middle] if follows(i)), drawn[0])
    index, size = int(_core.crd2idx(at, grid.shape)), int(_core.size(grid.shape))
    if not 0 <= index < size:
        raise ValueError(f"show: at={text(at)} lies outside the shape {text(grid.shape)} of {operation}'s result")
    return index


def composition_picture(lhs: Any, rhs: Any, *, at: Any = None) -> Picture:
    """B, A and A o B; one coordinate (`at`, else one in the middle) is followed through all three.

    R(i) = A(B(i)). Cells of B and of A o B are coloured by mode 0 of B, and cells of A as that of B which leads there;
    pale ones are not reached. Where there is no result, the message is shown and the operands, with the
    counter-example marked. Raises TypeError for operands that are no layouts, ValueError for an `at` outside of B.

    >>> from tilewright import cute
    >>> picture = cute.show(cute.composition, cute.parse("6:2"), cute.parse("(3,2):(1,3)"), at=(1, 1))
    >>> picture.title, picture.notes
    ('composition(6:2, (3,2):(1,3)) = (3,2):(2,6)', ('at (1,1): B gives 4, A(4) = 8, and A o B at (1,1) = 8',))
    """
    a = lhs if isinstance(lhs, _core.Swizzle) else layout_of("composition", "A", lhs)
    if isinstance(rhs, tuple):
        return _composition_by_mode(a, rhs)
    b = layout_of("composition", "B", rhs)
    try:
        result = _core.composition(a, b)
    except _core.LayoutError as error:
        return _no_composition(a, b, error)
    drawn: Picture = _core.picture.composition(a, b, result, at)
    return drawn


def _no_composition(a: Any, b: Any, error: _core.LayoutError) -> Picture:
    example = error.counterexample
    at = example[0] if example is not None and isinstance(example[0], int) else None
    via = b(at) if at is not None else None
    marks = (() if via is None or not isinstance(via, int) else (via,), () if at is None else (at,))
    panels = [operand_panel("B", b, "a coordinate to an index of A", marks[1])]
    links = []
    if not isinstance(a, _core.Swizzle):
        panels.append(operand_panel("A", a, "an index to an offset", marks[0]))
        places = [grid_of(x.shape).place(mark[0]) if mark else None for x, mark in ((b, marks[1]), (a, marks[0]))]
        if places[0] is not None and places[1] is not None:
            links.append(Link((0, *places[0]), (1, *places[1]), str(via)))
    return refusal(error, panels, links)


def _composition_by_mode(a: Any, tiler: tuple[Any, ...]) -> Picture:
    """A and what a tuple takes of it, mode by mode."""
    try:
        result = _core.composition(a, tiler)
    except _core.LayoutError as error:
        return refusal(error, [operand_panel("A", a)])
    grids = grids_for((a.shape, result.shape), PAIR, room=room_for(a))
    taken = _core.composition(_core.make_layout(_core.product_each(a.shape)), tiler)
    followed = range(min(int(_core.size(taken)), EVALUATED))
    owners = dict(zip(map(int, offsets_at(taken, followed)), leaves_of(result.shape, followed), strict=True))

    drawn = grids[0].drawn()
    pale = [index not in owners for index in drawn]
    return Picture(
        f"composition({a}, {text(tiler)}) = {result}",
        arranged(
            [
                grids[0].offsets(f"A = {a}", "pale: not taken", a, map(owners.get, drawn), faded=pale),
                operand_panel("A o B", result, "mode by mode", grid=grids[1]),
            ]
        ),
        [*grids[0].note(f"A = {a}"), *grids[1].note(f"A o B = {result}")],
    )


def coalesce_picture(layout: Any, target_profile: Any = None, *, at: Any = None) -> Picture:
    """A layout before and after coalesce: the same offset at the same index, with fewer modes.

    Coloured by the outermost mode before. Raises TypeError for what is no layout, ValueError for an `at` outside.

    >>> from tilewright import cute
    >>> print(cute.show(cute.coalesce, cute.parse("(2,(1,6)):(1,(6,2))")).title)
    coalesce((2,(1,6)):(1,(6,2))) = 12:1
    """
    before = layout_of("coalesce", "the operand", layout)
    operands = text(before) if target_profile is None else f"{before}, {text(target_profile)}"
    try:
        after = _core.coalesce(before, target_profile)
    except _core.LayoutError as error:
        return refusal(error, [operand_panel("L", before)])
    grids = grids_for((before.shape, after.shape), PAIR, room=room_for(before))
    index = traced("coalesce", grids[0], at, lambda i: grids[1].place(i) is not None)

    def panel(which: int, name: str, x: Any) -> Panel:
        modes = len(extents(x.shape)) if int(_core.size(x)) > 1 else 1
        says = f"{modes} mode{'s' * (modes > 1)} of more than one element"
        return grids[which].offsets(f"{name}: {x}", says, x, leaves_of(before.shape, grids[which].drawn()), [index])

    places = [grid.place(index) for grid in grids]
    links = [Link((0, *places[0]), (1, *places[1]))] if places[0] is not None and places[1] is not None else []
    both = " and ".join(grid.coordinate(index) for grid in grids)
    notes = [f"index {index} gives {text(offset_at(before, index))} in both: {both}"]
    notes += [*grids[0].note(f"before, {before}"), *grids[1].note(f"after, {after}")]
    panels = panel(0, "before", before), panel(1, "after", after)
    return Picture(f"coalesce({operands}) = {after}", arranged(panels), notes, links)


def complement_picture(layout: Any, cotarget: Any = None) -> Picture:
    """A layout in grey and its complement in colours: all offsets below M, and the copies of the layout as columns.

    Each colour is the layout once more, moved by an offset of the complement. White offsets are in no copy. Raises
    TypeError for what is no layout.

    >>> from tilewright import cute
    >>> print(cute.show(cute.complement, cute.parse("(2,2):(1,6)"), 24).title)
    complement((2,2):(1,6), 24) = (3,2):(2,12)
    """
    a = layout_of("complement", "the operand", layout)
    if isinstance(a, _core.ComposedLayout):
        a = a.outer
    operands = text(a) if cotarget is None else f"{a}, {text(cotarget)}"
    try:
        rest = _core.complement(a, cotarget)
    except _core.LayoutError as error:
        return refusal(error, [operand_panel("A", a)])
    bound = int(_core.cosize(_core.filter(a))) if cotarget is None else int(_core.size(cotarget))
    both = _core.make_layout([a, rest])
    size, copies = int(_core.size(a)), int(_core.size(rest))
    shown = min(copies, MOST)
    found: dict[int, tuple[int, int]] = {}
    for copy in range(min(copies, EVALUATED // max(size, 1) + 1)):
        for index in range(size):
            found.setdefault(int(both(index + size * copy)), (index, copy))

    def look(offset: int) -> Content:
        if offset not in found:
            return Content((str(offset),), None, (("offset", str(offset)), ("copy", "none")))
        index, copy = found[offset]
        hover = (("offset", str(offset)), ("copy", str(copy)), ("of A", str(index)))
        return Content((str(offset),), copy - 1 if copy else None, hover, faded=copy == 0)

    names = [Entry(None, "A", True), *(Entry(i - 1, f"A + {int(rest(i))}") for i in range(1, min(shown, NAMED)))]
    if copies > len(names):
        names.append(Entry(None, f"and {copies - len(names)} more"))
    line = _line(bound, max(found) + 1, both, look)
    grid = grid_of((a.shape, rest.shape), MOST if size * copies <= LINE * MOST else PAIR)
    columns = grid.panel(
        f"(A, A*) = {both}", "a column for each copy", lambda i: look(int(both(i))), names if copies > 1 else ()
    )
    notes = list(grid.note(f"(A, A*) = {both}"))
    beyond = sum(offset >= bound for offset in found)
    holes = bound - (len(found) - beyond)
    if beyond:
        notes.append(f"the sizes do not divide, so A* rounds up: {beyond} offsets from {bound} on are reached")
    if holes and copies * size <= EVALUATED:
        notes.append(f"{holes} of the {bound} offsets are in no copy of A")
    if not beyond and not holes:
        notes.append(f"each of the {bound} offsets is reached once")
    panels = below(line, columns) if line.rows == 1 else arranged([line, columns])
    return Picture(f"complement({operands}) = {rest}", panels, notes)


def _line(bound: int, reach: int, both: Any, look: Callable[[int], Content]) -> Panel:
    """All offsets in order, as many on a line as a mode of the layouts steps over, if that is a readable number."""
    count = max(bound, reach)
    strides = [int(d) for d in _core.flatten_to_tuple(both.stride) if 8 <= int(d) <= LINE and bound % int(d) == 0]
    width = count if count <= LINE else max(strides, default=LINE)
    lines = -(-count // width)
    grid = grid_of((lines, width))  # row by row, unlike the columns of a layout

    def content(row: int, column: int) -> Content | None:
        offset = row * width + column
        return look(offset) if offset < count else None

    rules = [Rule(bound, 2)] if bound < count and lines == 1 else []
    title = f"the offsets 0 to {count - 1}" if bound == count else f"the offsets 0 to {count - 1}, M = {bound}"
    axes = _starts(grid.rows, width) if lines > 1 else (), grid.sheet.column_axis
    return table(title, "grey: A; a colour for each copy of it", (grid.rows, grid.columns), content, axes, ((), rules))


def _starts(rows: Any, width: int) -> Any:
    return (tuple(Label("…" if row is None else str(row * width)) for row in rows),)
