"""Coordinates as iterators: what an identity tensor starts from, and what offsets along basis strides add to."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.numeric.traced import is_traced

__all__ = ["Coordinate", "as_coordinate", "index_error"]


class Coordinate(tuple[Any, ...]):
    """The iterator of an identity tensor: a coordinate to which offsets are added mode by mode."""

    __slots__ = ()

    def __add__(self, offset: Any) -> Coordinate:
        return Coordinate(_add_coordinates(tuple(self), as_coordinate(offset)))

    def __str__(self) -> str:
        return text(self)


def index_error(x: Any, coord: Any, error: Exception) -> Exception:
    """The error of x[coord] for one of the operation that reads the coordinate."""
    where = f"{x}[{text(coord) if isinstance(coord, (tuple, list)) else repr(coord)}]: "
    if not isinstance(error, LayoutError):
        return TypeError(f"{where}a coordinate is an integer, None or a nested tuple of them; None keeps a mode")
    message = str(error).partition("): ")[2]
    if "does not fit the shape" in message:  # of the mode that was read; the whole shape says more
        message = (
            f"the coordinate does not fit the shape {text(x.shape)}: each part is an integer or a tuple with one entry "
            "per mode"
        )
    return LayoutError(where + message)


def as_coordinate(offset: Any) -> Any:
    """v@i@j as the coordinate with v at [j][i] and 0 before it."""
    if isinstance(offset, _core.ScaledBasis):
        coordinate = offset.value
        for mode in offset.mode:  # innermost first
            coordinate = (*(0,) * mode, coordinate)
        return coordinate
    return offset


def _add_coordinates(a: Any, b: Any) -> Any:
    if not isinstance(a, tuple) and not isinstance(b, tuple):
        return a + b
    if not isinstance(b, tuple):
        a, b = b, a
    if not isinstance(a, tuple):
        if is_traced(a) or a != 0:
            raise LayoutError(f"cannot add {text(a)} to the coordinate {text(b)}: the profiles differ")
        return tuple(b)
    if len(a) == len(b):
        return tuple(map(_add_coordinates, a, b))
    short, long = sorted((a, b), key=len)
    return tuple(_add_coordinates(x, y) for x, y in zip(short, long, strict=False)) + tuple(long[len(short) :])
