"""Pictures of layouts: a grid of coordinates with the offset in each cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.cute.tensors.coordinate import as_coordinate
from tilewright.cute.text.printing import format_printf
from tilewright.show.drawing.axes import MOST
from tilewright.show.drawing.memory import memory_or_usual

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Picture

__all__ = ["index_of", "layout_picture", "mark_of", "plain", "with_values"]


def with_values(layout: Any) -> str:
    """CuTe's text with the values of dynamic integers."""
    return format_printf("{}", layout, end="")


def plain(x: Any) -> Any:
    """A coordinate with its dynamic integers as plain ones."""
    if type(x) is int:
        return x
    if isinstance(x, tuple):
        return tuple(map(plain, x))
    if isinstance(x, _core.ScaledBasis):
        return plain(as_coordinate(x))
    return int(x)


def index_of(at: Any, shape: Any) -> int | None:
    """The one-dimensional coordinate of what is to be marked; None for nothing. ValueError outside of the shape."""
    if at is None:
        return None
    if isinstance(at, str):
        raise TypeError(f"show: expected at to be a coordinate of {text(plain(shape))}, not {at!r}")
    return _core.picture.index_of(at, plain(shape))


def mark_of(at: Any, shape: Any) -> tuple[int, str] | None:
    """The same with the text of the coordinate."""
    index = index_of(at, shape)
    return None if index is None else (index, text(at))


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
    mark = mark_of(at, layout.shape)
    drawn: Picture = _core.picture.layout(layout, color, memory_or_usual(dtype, base), mark, most)
    return drawn
