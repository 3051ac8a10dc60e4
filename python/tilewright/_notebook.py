"""What a notebook shows of an object: its picture, and its text where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from tilewright._core import LayoutError

if TYPE_CHECKING:
    from tilewright.show.picture import Picture

__all__ = ["drawn"]

T = TypeVar("T")


def _picture(x: Any) -> Picture | None:
    from tilewright.show.registry import show

    try:
        return show(x)
    except (LayoutError, TypeError, ValueError):
        return None


def _repr_svg_(self: Any) -> str | None:
    """The picture for a notebook, in SVG; None, so that the text is shown, where there is no picture."""
    picture = _picture(self)
    return None if picture is None else picture.svg()


def _repr_html_(self: Any) -> str | None:
    """The picture for a notebook, in HTML; None, so that the text is shown, where there is no picture."""
    picture = _picture(self)
    return None if picture is None else picture._repr_html_()


def drawn(cls: type[T]) -> type[T]:
    """Give a class what a notebook asks for, besides what it has; a class of the C++ module too.

    >>> from tilewright import cute
    >>> cute.make_layout(4)._repr_svg_().startswith("<svg"), cute.make_layout(()).shape._repr_html_() is None
    (True, True)
    """
    for function in (_repr_svg_, _repr_html_):
        if function.__name__ not in vars(cls):
            setattr(cls, function.__name__, function)
    return cls
