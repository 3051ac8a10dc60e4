"""Short tracebacks: an error of a public function ends at the line that called it."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import ParamSpec

    P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["REFUSALS", "short", "shorten"]

# What says that a call is refused. Of other errors, which are our own mistakes, all is shown.
REFUSALS = (BufferError, OSError, RuntimeError, TypeError, ValueError)
PACKAGE = __name__.partition(".")[0]


def shorten(error: BaseException) -> None:
    """Leave the frames of this package out of the tracebacks of an error and of its causes; to be followed by `raise`.

    Frames of what the package called, such as a `__dlpack__` of the user's, stay. Where TILEWRIGHT_FULL_TRACEBACK is
    set in the environment all do.
    """
    if os.environ.get("TILEWRIGHT_FULL_TRACEBACK"):
        return
    found: BaseException | None = error
    while isinstance(found, REFUSALS):
        head = found.__traceback__
        rest = found.__traceback__ = _behind(head)
        if head is not None and rest is not head:
            head.tb_next = rest  # Python 3.10 raises again with the traceback that it began with
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _behind(traceback: TracebackType | None) -> TracebackType | None:
    """What follows the last frame of this package."""
    rest = at = traceback
    while at is not None:
        if at.tb_frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
            rest = at.tb_next
        at = at.tb_next
    return rest


def short(function: Callable[P, T]) -> Callable[P, T]:
    """The function with short tracebacks. It costs a call: on the way to a repeated launch call `shorten` instead.

    >>> @short
    ... def refuse():
    ...     raise ValueError("never")
    >>> refuse()
    Traceback (most recent call last):
    ValueError: never
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except REFUSALS as error:
            shorten(error)
            raise

    return call
