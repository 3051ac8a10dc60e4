"""Pictures of swizzles: what lies where before and after, by bank of shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.show.drawing.axes import MOST
from tilewright.show.drawing.memory import memory_or_usual
from tilewright.show.subjects.layouts import layout_picture, mark_of

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Picture

__all__ = ["composed_picture", "swizzle_picture"]


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
    drawn: Picture = _core.picture.swizzle(swizzle, memory_or_usual(dtype, base), at, most)
    return drawn


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
    mark = mark_of(at, layout.shape)
    drawn: Picture = _core.picture.swizzled(layout, color, memory_or_usual(dtype, base), mark, most, only)
    return drawn
