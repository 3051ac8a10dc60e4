"""The CTAs of a multicast as a mask, also where the CTA is known only at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.numeric import Int32
from tilewright.numeric.traced import is_traced

if TYPE_CHECKING:
    from tilewright._core import Layout
    from tilewright.cute.int_tuple import Coord

__all__ = ["make_layout_image_mask"]


def make_layout_image_mask(
    layout: Layout | str, coord: Coord, mode: int, *, loc: object = None, ip: object = None
) -> int | Int32:
    """The set of offsets of one mode as a bit mask of 16 bits: the CTAs of a multicast.

        bit k is set where k = L(c) for some coordinate of the mode, the other modes fixed

    layout: coordinates of a cluster to numbers of CTAs, of cosize at most 16. coord: the coordinate of the other modes,
    its entry at `mode` does not count. An Int32 where the coordinate is known only at run time. Raises LayoutError
    where the cosize is above 16, or where there is no such mode.
    Source: CuTe `make_layout_image_mask`.

    >>> from tilewright import cute
    >>> bin(cute.make_layout_image_mask(cute.parse("(2,4):(1,2)"), (1, 0), mode=1))
    '0b10101010'
    """
    if not any(is_traced(leaf) for leaf in _core.flatten_to_tuple(coord)):
        return _core.make_layout_image_mask(layout, coord, mode)
    modes: tuple[Any, ...] = tuple(coord)  # type: ignore[arg-type]
    others = tuple(None if i == mode else c for i, c in enumerate(modes))
    _, offset = _core.slice_and_offset(others, layout)
    at_zero: Int32 = Int32(_core.make_layout_image_mask(layout, (0,) * len(others), mode))
    return at_zero << Int32(offset)  # type: ignore[no-any-return]
