"""What a notebook shows of an object: its picture, and its text where there is none."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright._registry import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.show.drawing.picture import Picture

__all__ = ["drawn", "or_text"]

T = TypeVar("T")


def _picture(x: Any) -> Picture:
    return load("tilewright.show.registry:show")(x)  # type: ignore[no-any-return]


def or_text(function: Callable[[T], str]) -> Callable[[T], str | None]:
    """What a notebook asks an object for: None, so that it shows the object's text, where the picture fails.

    A notebook asks by itself, for each result; an error that nobody provoked would hide the result. `show` raises.

    >>> print(or_text(lambda x: 1 // x)(0))
    None
    """

    @wraps(function)
    def drawn_or_none(self: T) -> str | None:
        try:
            return function(self)
        except Exception:
            return None

    return drawn_or_none


@or_text
def _repr_html_(self: Any) -> str:
    """The picture for a notebook, in HTML; None, so that the text is shown, where there is no picture."""
    return _picture(self)._repr_html_()


def drawn(cls: type[T]) -> type[T]:
    """Give a class what a notebook asks for, unless it has it; a class of the C++ module too.

    A notebook stores every form of a result that there is. Of a picture there is one, HTML, which is shown everywhere.

    >>> from tilewright import cute
    >>> "<img " in cute.make_layout(4)._repr_html_(), cute.make_layout(()).shape._repr_html_() is None
    (True, True)
    """
    if "_repr_html_" not in vars(cls):
        cls._repr_html_ = _repr_html_  # type: ignore[attr-defined]
    return cls
