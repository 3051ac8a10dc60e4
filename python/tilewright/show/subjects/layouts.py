"""Pictures of layouts and tensors: a grid of coordinates with the offset, or the element, in each cell."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.coordinate import as_coordinate
from tilewright.cute.text.printing import format_printf
from tilewright.show.drawing.axes import MOST
from tilewright.show.drawing.grids import Grid, grids_of, static
from tilewright.show.drawing.memory import Memory, bank_legend, memory_or_usual
from tilewright.show.drawing.picture import Cell, Panel, Picture, Placed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.show.drawing.picture import Hover

__all__ = [
    "facts_of",
    "index_of",
    "layout_cells",
    "layout_panel",
    "layout_picture",
    "picture_of",
    "placed_in_lines",
    "plain",
    "subtitle_of",
    "with_values",
]

COUNTED = 1 << 16  # elements that are evaluated to say how the offsets of a layout lie
PER_LINE = 4  # panels
COLORS = 16  # of offsets


def with_values(layout: Any) -> str:
    """CuTe's text with the values of dynamic integers."""
    return format_printf("{}", layout, end="")


def facts_of(layout: Any) -> str:
    """How many elements a layout has, and how its offsets lie.

    >>> facts_of(_core.parse("(4,8):(8,1)")), facts_of(_core.parse("(4,8):(0,1)"))
    ('4 x 8 elements, offsets 0 to 31, each once', '4 x 8 elements, offsets 0 to 7, some more than once')
    """
    shape = layout.shape if isinstance(layout.shape, tuple) else (layout.shape,)
    size = int(_core.size(layout))
    count = " x ".join(str(int(_core.size(mode))) for mode in shape) if shape else "1"
    found = f"{count} element{'s' * (size != 1)}"
    if _core.has_scaled_basis(layout):
        return found
    once: bool | None
    if size <= COUNTED:
        try:
            offsets = layout.offsets()
        except _core.LayoutError:  # of a composed layout, they may be coordinates
            return found
        low, high, once = int(offsets.min()), int(offsets.max()), len(set(offsets.tolist())) == size
    elif isinstance(layout, _core.Layout):
        low, high = _core.offset_range(layout)
        try:
            once = _core.is_injective(layout)
        except _core.LayoutError:  # too many offsets to look at
            once = None
    else:
        return found
    if size == 1:
        return f"{found}, offset {low}"
    if once is None:
        return f"{found}, offsets {low} to {high}"
    how = "some more than once" if not once else "each once" if high - low + 1 == size else "none twice"
    return f"{found}, offsets {low} to {high}, {how}"


def _color(color: Any, grid: Grid, memory: Memory | None) -> Callable[[Any, Any], int | None]:
    """The owner of the element at a coordinate, which has an offset."""
    if color == "value":
        # A power of two, so that the colours repeat with strides that are one.
        return lambda coordinate, offset: None if (number := _first(offset)) is None else number % COLORS
    if color == "bank":
        if memory is None or memory.assumed:
            raise ValueError("show: color='bank' needs the size of an element: dtype=Float16, for example")
        return lambda coordinate, offset: memory.group(offset)
    path = (0,) if color == "mode" else (color,) if isinstance(color, int) else color
    if not isinstance(path, tuple) or not path or not all(isinstance(i, int) for i in path):
        raise ValueError(f"show: color is 'value', 'mode', 'bank' or the number of a mode, but got {color!r}")
    shape = grid.shape if isinstance(grid.shape, tuple) else (grid.shape,)
    mode: Any = shape
    for i in path:
        if not isinstance(mode, tuple) or not 0 <= i < len(mode):
            raise ValueError(f"show: color={color!r} names no mode of {text(shape)}")
        mode = mode[i]

    def owner(coordinate: Any, offset: Any) -> int:
        coordinate = coordinate if isinstance(coordinate, tuple) else (coordinate,)
        inside = _core.idx2crd(coordinate[path[0]], shape[path[0]])
        for i in path[1:]:
            inside = inside[i]
        return int(_core.crd2idx(inside, mode))

    return owner


def _first(x: Any) -> int | None:
    while isinstance(x, tuple) and x:
        x = x[0]
    return x if isinstance(x, int) else None


def layout_cells(
    function: Callable[[Any], Any],
    grid: Grid,
    color: Any = "value",
    memory: Memory | None = None,
    marked: int | None = None,
    content: Callable[[Any, Any], tuple[str, Hover]] | None = None,
) -> tuple[Cell, ...]:
    """The cells of one panel: a layout, or another function, at each coordinate of the grid.

    `content(coordinate, offset)` replaces the offset as the text of a cell and adds to what hovering shows.
    """
    owner = _color(color, grid, memory)
    known = _known_offsets(function, grid.shape)
    # Column by column, which takes half as long as cell by cell.
    places = list(grid.cells())
    if not places:
        return ()
    rows, columns, coordinates, numbers, names = zip(*places, strict=True)
    offsets = [known[i] for i in numbers] if known else [plain(function(c)) for c in coordinates]
    shown = [str(offset) if type(offset) is int else text(offset) for offset in offsets]
    hovers = [list(zip(repeat("coordinate"), names)), list(zip(repeat("offset"), shown))]
    if memory is not None and isinstance(offsets[0], int):
        hovers += memory.hovers(offsets)
    # Of a layout with one plain mode the coordinate is the index.
    if not grid.flat or "(" in grid.name(0, 0):
        hovers.append(list(zip(repeat("index"), map(str, numbers))))
    every: list[Hover] = list(zip(*hovers, strict=True))
    if content is not None:
        found = [content(c, offset) for c, offset in zip(coordinates, offsets, strict=True)]
        shown = [said for said, _ in found]
        every = [(hover[0], *more, *hover[1:]) for hover, (_, more) in zip(every, found, strict=True)]
    lines = [(said,) for said in shown]
    if color == "value" and known:
        owners: list[int | None] = [offset % COLORS for offset in offsets]
    else:
        owners = list(map(owner, coordinates, offsets))
    marks = [number == marked for number in numbers]
    return tuple(map(Cell, rows, columns, lines, owners, every, repeat(False), marks))


def _known_offsets(function: Any, shape: Any) -> list[int]:
    """The offsets of a layout of this shape, all at once; none of a large one, and of one that leads to coordinates."""
    if not isinstance(function, (_core.Layout, _core.ComposedLayout)) or int(_core.size(function)) > COUNTED:
        return []
    domain = function.outer if isinstance(function, _core.ComposedLayout) else function
    if static(domain.shape) != shape:
        return []
    try:
        return function.offsets().tolist()  # type: ignore[no-any-return]
    except _core.LayoutError:  # they are coordinates
        return []


def plain(x: Any) -> Any:
    """A coordinate with its dynamic integers as plain ones."""
    if type(x) is int:
        return x
    if isinstance(x, tuple):
        return tuple(map(plain, x))
    if isinstance(x, _core.ScaledBasis):
        return plain(as_coordinate(x))
    return int(x)


def layout_panel(
    function: Callable[[Any], Any],
    grid: Grid,
    title: str = "",
    subtitle: str = "",
    *,
    color: Any = "value",
    memory: Memory | None = None,
    marked: int | None = None,
    content: Callable[[Any, Any], tuple[str, Hover]] | None = None,
) -> Panel:
    """One panel of a layout, or of another function of coordinates; options as of `layout_cells`."""
    cells = layout_cells(function, grid, color, memory, marked, content)
    return Panel(
        title,
        subtitle,
        len(grid.rows),
        len(grid.columns),
        cells,
        grid.row_axis,
        grid.column_axis,
        grid.row_rules,
        grid.column_rules,
        bank_legend({cell.owner for cell in cells if cell.owner is not None}) if color == "bank" else (),
        grid.modes,
    )


def placed_in_lines(panels: list[Panel]) -> tuple[Placed, ...]:
    """Panels from left to right, a few on a line."""
    return tuple(Placed(i // PER_LINE, i % PER_LINE, panel) for i, panel in enumerate(panels))


def index_of(at: Any, shape: Any) -> int | None:
    """The one-dimensional coordinate of what is to be marked; None for nothing. ValueError outside of the shape."""
    if at is None:
        return None
    shape = static(shape)
    if isinstance(at, str):
        raise TypeError(f"show: expected at to be a coordinate of {text(shape)}, not {at!r}")
    index = int(_core.crd2idx(at, shape))
    if not _inside(at, shape):
        raise ValueError(f"show: at={text(at)} lies outside the shape {text(shape)}")
    return index


def _inside(coordinate: Any, shape: Any) -> bool:
    if isinstance(coordinate, tuple):
        return all(map(_inside, coordinate, shape))
    return 0 <= int(coordinate) < int(_core.size(shape))


def layout_picture(
    layout: Any,
    *,
    color: Any = "value",
    tile: Any = None,
    dtype: Any = None,
    base: int = 0,
    at: Any = None,
    most: int = MOST,
) -> Picture:
    """A layout as a grid: mode 0 down, mode 1 across, a panel for each coordinate of the other modes.

    A layout of one mode is drawn line by line. Nested modes have a level of labels for each of their parts, and thicker
    lines where an outer part goes on. Dynamic integers are shown with their values. Of more than `most` rows or columns
    the first and the last ones are drawn. Options as in `show`.

    Raises ValueError for a color or a coordinate that it does not have.

    >>> from tilewright import cute
    >>> print(layout_picture(cute.parse("(2,(2,2)):(1,(4,2))"), color=(1, 1)).text(color=False))
    (2,(2,2)):(1,(4,2))
    <BLANKLINE>
    2 x 4 elements, offsets 0 to 7, each once; coloured by mode
    (1,1)
          0   |   1
        0   1   0   1
      +---+---+---+---+
    0 | 0 | 4 # 2 | 6 |
      +---+---+---+---+
    1 | 1 | 5 # 3 | 7 |
      +---+---+---+---+
    """
    if tile is not None:
        from tilewright.show.subjects.tv import tv_picture

        return tv_picture(layout, tile, dtype=dtype, base=base, at=at, most=most)
    title = with_values(layout)
    subtitle = subtitle_of(layout, title, color)
    return picture_of(layout, title, subtitle, color, memory_or_usual(dtype, base), at, most)


def subtitle_of(layout: Any, title: str, color: Any) -> str:
    subtitle = facts_of(layout)
    if title != str(layout):
        subtitle += f"; with ? for what is dynamic: {layout}"
    if color == "bank":
        subtitle += "; coloured by bank"
    elif color != "value":
        subtitle += f"; coloured by mode {text(0 if color == 'mode' else color)}"
    return subtitle


def picture_of(
    layout: Any,
    title: str,
    subtitle: str,
    color: Any,
    memory: Memory | None,
    at: Any,
    most: int,
    content: Callable[[Any, Any], tuple[str, Hover]] | None = None,
    notes: tuple[str, ...] = (),
) -> Picture:
    grids, cut = grids_of(layout.shape, most)
    marked = index_of(at, layout.shape)
    panels = [
        layout_panel(layout, grid, grid.title, "", color=color, memory=memory, marked=marked, content=content)
        for grid in grids
    ]
    if len(panels) == 1:
        panels = [panels[0]._replace(subtitle=subtitle)]
    else:
        notes = (subtitle, *notes)
    if marked is not None and not any(cell.marked for panel in panels for cell in panel.cells):
        cut += (f"the marked coordinate {text(at)} is among those that are not drawn",)
    return Picture(title, placed_in_lines(panels), (*notes, *cut))
