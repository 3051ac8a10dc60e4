"""Pictures of layouts and tensors: a grid of coordinates with the offset, or the element, in each cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.printing import format_printf
from tilewright.show.axes import MOST
from tilewright.show.grids import Grid, grids_of, static
from tilewright.show.memory import Memory, bank_legend, memory_of
from tilewright.show.picture import Cell, Panel, Picture, Placed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.show.picture import Hover

__all__ = ["facts_of", "layout_cells", "layout_panel", "layout_picture", "placed_in_lines", "tensor_picture"]

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
        if memory is None:
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
    # Of a layout with one plain mode the coordinate is the index.
    indexed = not grid.flat or "(" in grid.name(0, 0)
    cells = []
    for row, column, coordinate, number, name in grid.cells():
        offset = plain(function(coordinate))
        shown = str(offset) if type(offset) is int else text(offset)
        hover: Hover = (("coordinate", name), ("offset", shown))
        if memory is not None:
            hover += memory.hover(offset)
        if indexed:
            hover += (("index", str(number)),)
        if content is not None:
            shown, more = content(coordinate, offset)
            hover = hover[:1] + more + hover[1:]
        cells.append(Cell(row, column, (shown,), owner(coordinate, offset), hover, False, number == marked))
    return tuple(cells)


def plain(x: Any) -> Any:
    """A coordinate with its dynamic integers as plain ones."""
    if type(x) is int:
        return x
    if isinstance(x, tuple):
        return tuple(map(plain, x))
    if isinstance(x, _core.ScaledBasis):
        from tilewright.cute.tensor import _as_coordinate

        return plain(_as_coordinate(x))
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
        from tilewright.show.tv import tv_picture

        return tv_picture(layout, tile, dtype=dtype, base=base, at=at, most=most)
    title = with_values(layout)
    subtitle = _subtitle(layout, title, color)
    return _picture(layout, title, subtitle, color, memory_of(dtype, base), at, most)


def _subtitle(layout: Any, title: str, color: Any) -> str:
    subtitle = facts_of(layout)
    if title != str(layout):
        subtitle += f"; with ? for what is dynamic: {layout}"
    if color == "bank":
        subtitle += "; coloured by bank"
    elif color != "value":
        subtitle += f"; coloured by mode {text(0 if color == 'mode' else color)}"
    return subtitle


def _picture(
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


def tensor_picture(tensor: Any, *, color: Any = "value", at: Any = None, most: int = MOST) -> Picture:
    """A tensor as a grid of its elements; pointing at one shows its coordinate, its offset, and where it lies.

    Of memory that the CPU does not read, the offsets are drawn. Options as for a layout.

    >>> import numpy
    >>> from tilewright import cute
    >>> picture = tensor_picture(cute.from_dlpack(numpy.array([[1.5, 2.0], [0.25, -1.0]])))
    >>> print(picture.text(color=False).split("\\n\\n", 1)[1])
    2 x 2 elements, offsets 0 to 3, each once
         0      1
      +------+------+
    0 |  1.5 |    2 |
      +------+------+
    1 | 0.25 |   -1 |
      +------+------+
    """
    from tilewright.cute.tensor import Pointer

    memory: Memory | None = None
    notes: tuple[str, ...] = ()
    content = None
    if isinstance(tensor.iterator, Pointer):
        pointer = tensor.iterator
        memory = Memory(pointer.dtype.bits, pointer.toint())
        try:
            tensor[_origin(tensor.shape)]
        except (RuntimeError, IndexError) as error:
            notes = (f"the offsets are drawn, not the elements: {error}",)
        else:
            content = _element(tensor)
    else:
        content = _element(tensor)
    title = f"{tensor.iterator} o {with_values(tensor.layout)}"
    return _picture(
        tensor.layout,
        title,
        _subtitle(tensor.layout, str(tensor.layout), color),
        color,
        memory,
        at,
        most,
        content,
        notes,
    )


def _origin(shape: Any) -> Any:
    return tuple(map(_origin, shape)) if isinstance(shape, tuple) else 0


def _element(tensor: Any) -> Callable[[Any, Any], tuple[str, Hover]]:
    from tilewright.cute.tensor import Pointer

    pointer = tensor.iterator
    if isinstance(pointer, Pointer) and pointer.dtype.bits <= 64:
        # As pointer[offset], but without a Pointer for each of thousands of elements.
        memory, first, bits = pointer._accessible("load from"), pointer._bits, pointer.dtype.bits

        def element(coordinate: Any, offset: int) -> Any:
            place = first + offset * bits
            return pointer.dtype._decode(memory.load(place >> 3, place & 7, bits))
    else:

        def element(coordinate: Any, offset: int) -> Any:
            return tensor[coordinate]

    def content(coordinate: Any, offset: Any) -> tuple[str, Hover]:
        shown = short(element(coordinate, offset))
        return shown, (("element", shown),)

    return content


def short(x: Any) -> str:
    """An element in a few characters."""
    if isinstance(x, tuple):
        return text(plain(x))
    x = x.item() if hasattr(x, "item") else x
    return f"{x:.4g}" if isinstance(x, float) else str(int(x))
