"""Pictures of swizzles: what lies where before and after, by bank of shared memory."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.axes import MOST, axis_of, shown_of
from tilewright.show.drawing.grids import CELLS, Grid, grids_of
from tilewright.show.drawing.memory import Memory, bank_legend, memory_of
from tilewright.show.drawing.picture import Cell, Link, Panel, Picture, Placed, below, beside
from tilewright.show.subjects.layouts import facts_of, index_of, layout_panel, layout_picture, with_values

__all__ = ["composed_picture", "swizzle_picture"]

CORE = 16  # bytes: what a swizzle of shared memory keeps together
ACROSS = 12  # columns of a panel, up to which two of them stand beside each other
PAIR = 40  # rows and columns of each of two panels, of which CELLS would be too few for all


def usual_memory(swizzle: Any, dtype: Any, base: int) -> tuple[Memory, str]:
    """The memory of the elements that a swizzle permutes; without a type those of which it keeps 16 bytes together."""
    memory = memory_of(dtype, base)
    if memory is not None:
        return memory, f"elements of {_size(memory)}"
    memory = Memory(8 * max(1, CORE >> swizzle.num_base), base)
    size = _size(memory)
    return memory._replace(kind=size), f"for elements of {size}"


def _size(memory: Memory) -> str:
    if memory.bits % 8:
        return f"{memory.bits} bits"
    return f"{memory.bits // 8} byte{'s' * (memory.bits != 8)}"


def swizzle_picture(swizzle: Any, *, dtype: Any = None, base: int = 0, at: Any = None, most: int = MOST) -> Picture:
    """A swizzle on the smallest block that it permutes, before and after: a cell stands for 2^m elements in a row.

    A row is what the shift spans, 2^|s| cells. `dtype` is the type of an element, by default one of which 2^m make 16
    bytes; `at` is an offset to mark. Raises ValueError for an offset outside of the block.

    >>> from tilewright import cute
    >>> print(swizzle_picture(cute.make_swizzle(1, 0, 1)).text(color=False).split("\\n\\n")[1])
    before: x         after: S(x)
    offsets 0 to 3    where x is moved to
       +0  +1            +0  +1
      +---+---+         +---+---+
    0 | 0 | 1 |       0 | 0 | 1 |
      +---+---+         +---+---+
    2 | 2 | 3 |       2 | 3 | 2 |
      +---+---+         +---+---+
    """
    memory, kind = usual_memory(swizzle, dtype, base)
    run, columns = 1 << swizzle.num_base, 1 << abs(swizzle.num_shift)
    size = 1 << (swizzle.num_bits + swizzle.num_base + abs(swizzle.num_shift))
    if at is not None and not 0 <= at < size:
        raise ValueError(f"show: at={at} lies outside the {size} offsets that {swizzle} permutes")
    rows_shown, columns_shown = shown_of(size // run // columns, most), shown_of(columns, most)
    panels = []
    for title, subtitle, function in (
        ("before: x", f"offsets 0 to {size - 1}" + (f", {run} in a cell" if run > 1 else ""), int),
        ("after: S(x)", "where x is moved to", swizzle),
    ):
        cells, groups = [], set()
        for r, row in enumerate(rows_shown):
            for c, column in enumerate(columns_shown):
                if row is None or column is None:
                    continue
                x = (row * columns + column) * run
                offset = int(function(x))
                group = memory.group(offset)
                groups.add(group)
                hover = (("coordinate", _span(x, run)), ("offset", _span(offset, run)), *memory.hover(offset))
                cells.append(Cell(r, c, (str(offset),), group, hover, marked=at is not None and x <= at < x + run))
        row_axis, column_axis = axis_of(size // run // columns, rows_shown), axis_of(columns, columns_shown)
        labels = tuple(
            label._replace(text=str(int(label.text) * columns * run)) if label.text.isdigit() else label
            for label in row_axis[-1]
        )
        column_labels = tuple(
            label._replace(text=f"+{int(label.text) * run}") if label.text.isdigit() else label
            for label in column_axis[-1]
        )
        panels.append(
            Panel(
                title,
                subtitle,
                len(rows_shown),
                len(columns_shown),
                tuple(cells),
                (labels,),
                (column_labels,),
                (),
                (),
                () if function is int else bank_legend(groups),
            )
        )
    notes = [
        f"coloured by bank, {kind}",
        f"S(x) = x ^ ((x & {swizzle.y_mask}) {'>>' if swizzle.num_shift >= 0 else '<<'} {abs(swizzle.num_shift)})",
    ]
    if None in rows_shown or None in columns_shown:
        notes.append(f"{size // run} cells are too many: the first rows and columns and the last ones are drawn")
    return Picture(str(swizzle), _placed(panels), notes, _marked_link(panels))


def _span(x: int, run: int) -> str:
    return str(x) if run == 1 else f"{x}..{x + run - 1}"


def _placed(panels: list[Panel]) -> tuple[Placed, ...]:
    return beside(*panels) if all(panel.columns <= ACROSS for panel in panels) else below(*panels)


def _marked_link(panels: list[Panel]) -> tuple[Link, ...]:
    marked = [(i, cell.row, cell.column) for i, panel in enumerate(panels) for cell in panel.cells if cell.marked]
    return (Link(marked[0], marked[1]),) if len(marked) == 2 else ()


def composed_picture(
    layout: Any,
    *,
    color: Any = "bank",
    tile: Any = None,
    dtype: Any = None,
    base: int = 0,
    at: Any = None,
    most: int = MOST,
    only: str | None = None,
) -> Picture:
    """A swizzled layout: the offsets before and after the swizzle, by bank; another composed layout as a plain one.

    R(c) = inner(offset + outer(c)); before is offset + outer(c). `dtype` is the type of an element, by default one of
    which 2^m make 16 bytes. `only` is "before" or "after" for one of the two, of which 64 x 64 are drawn, of both
    40 x 40. Other options as for a layout. Raises ValueError for another `only`.

    >>> from tilewright import cute
    >>> picture = composed_picture(cute.parse("S<1,1,1> o 0 o (4,4):(4,1)"))
    >>> [placed.panel.title for placed in picture.panels]
    ['before: (4,4):(4,1)', 'after: S<1,1,1> o 0 o (4,4):(4,1)']
    """
    if not isinstance(layout.inner, _core.Swizzle) or tile is not None:
        return layout_picture(
            layout,
            color="value" if color == "bank" and dtype is None else color,
            tile=tile,
            dtype=dtype,
            base=base,
            at=at,
            most=most,
        )
    memory, kind = usual_memory(layout.inner, dtype, base)
    if only not in (None, "before", "after"):
        raise ValueError(f"show: only is 'before' or 'after', or None for both, but got {only!r}")
    grids, notes = _grids(layout.shape, most, 1 if only else 2)
    marked = index_of(at, layout.shape)
    before, start = layout.outer, int(layout.offset)
    name = with_values(before) if not start else f"{start} + {with_values(before)}"
    views = [(f"before: {name}", lambda c: start + int(before(c))), (f"after: {with_values(layout)}", layout)]
    if only:
        views = views[:1] if only == "before" else views[1:]
    panels = []
    for grid in grids:
        for title, function in views:
            title += f" at {grid.title}" if grid.title else ""
            panel = layout_panel(function, grid, title, color=color, memory=memory, marked=marked)
            panels.append(panel if function is views[-1][1] else panel._replace(legend=()))
    how = "" if color != "bank" else f"; coloured by bank, {kind}"
    across = len(views) == 2 and all(panel.columns <= ACROSS for panel in panels)
    placed = [Placed(n // 2, n % 2, panel) if across else Placed(n, 0, panel) for n, panel in enumerate(panels)]
    if marked is not None and not any(cell.marked for panel in panels for cell in panel.cells):
        notes = (*notes, f"the marked coordinate {text(at)} is among those that are not drawn")
    return Picture(with_values(layout), placed, (facts_of(layout) + how, *notes), _marked_link(panels))


def _grids(shape: Any, most: int, views: int) -> tuple[tuple[Grid, ...], tuple[str, ...]]:
    """The panels of a shape that is drawn so many times, and notes that say what of it is left out."""
    grids, notes = grids_of(shape, most)
    if views * sum(len(grid.rows) * len(grid.columns) for grid in grids) <= CELLS:
        return grids, notes
    others = tuple(shape[2:]) if isinstance(shape, tuple) else ()
    grids, notes = grids_of(shape, min(most, PAIR))
    grids = grids[: max(1, CELLS // views // (len(grids[0].rows) * len(grids[0].columns)))]
    count = int(_core.size(others)) if others else 1
    if len(grids) < count:
        said = f"{len(grids)} of {count} slices along the modes from 2 on are drawn: the first ones"
        notes = (*grids_of(shape[:2], min(most, PAIR))[1], said)
    return grids, (*notes, "only='after' draws more of what is after the swizzle, alone")
