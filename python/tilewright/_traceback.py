"""Short tracebacks: an error of a public function ends at the line that called it."""

from __future__ import annotations

import functools
import os
import sys
import types
import warnings
from typing import TYPE_CHECKING, TypeVar

from tilewright._cells import with_cell_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import ParamSpec

    P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["REFUSALS", "is_package", "short", "short_trace", "shorten", "warn"]

# What says that a call is refused. Of other errors, which are our own mistakes, all is shown.
REFUSALS = (BufferError, OSError, RuntimeError, TypeError, ValueError)
PACKAGE = __name__.partition(".")[0]
EXAMPLES = f"{PACKAGE}.examples"


def is_package(module: str) -> bool:
    """Whether a module of this name is the package's own code: its examples are programs as a user's are.

    >>> [is_package(name) for name in ("tilewright.cute", "tilewright.examples.scan", "__main__")]
    [True, False, False]
    """
    return module.partition(".")[0] == PACKAGE and not module.startswith(EXAMPLES)


def shorten(error: BaseException, kinds: tuple[type[BaseException], ...] = REFUSALS) -> None:
    """Leave the frames of this package out of the tracebacks of an error and of its causes; to be followed by `raise`.

    The error's text names the cells of a notebook as IPython does. Frames of what the package called, such as a
    `__dlpack__` of the user's, stay. Where TILEWRIGHT_FULL_TRACEBACK is set in the environment all do.
    """
    if error.args and type(error.args[0]) is str:
        error.args = (with_cell_names(error.args[0]), *error.args[1:])
    if os.environ.get("TILEWRIGHT_FULL_TRACEBACK"):
        return
    found: BaseException | None = error
    while isinstance(found, kinds):
        head = found.__traceback__
        rest = found.__traceback__ = _without_package(head)
        if head is not None and _is_ours(head):
            head.tb_next = rest  # Python 3.10 raises again with the traceback that it began with
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _is_ours(traceback: TracebackType) -> bool:
    return is_package(traceback.tb_frame.f_globals.get("__name__", ""))


def _without_package(traceback: TracebackType | None) -> TracebackType | None:
    """The frames that are not of this package, nor of what it calls in the standard library by the way.

    A traced function is called from here, and its line is where an error stands.
    """
    kept = []
    at, is_inside = traceback, False
    while at is not None:
        is_inside = _is_ours(at) or (is_inside and at.tb_frame.f_globals.get("__name__") in _PASSED)
        if not is_inside:
            kept.append(at)
        at = at.tb_next
    rest = None
    for one in reversed(kept):
        if one.tb_next is not rest:
            one = types.TracebackType(rest, one.tb_frame, one.tb_lasti, one.tb_lineno)
        rest = one
    return rest


_PASSED = ("contextlib", "functools", "inspect")


def short_trace(function: Callable[P, T]) -> Callable[P, T]:
    """The same for a function that traces the user's: whatever is raised there is the user's, or about the line there.

    >>> @short_trace
    ... def refuse():
    ...     raise IndexError("never")
    >>> refuse()
    Traceback (most recent call last):
    IndexError: never
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            if isinstance(error, REFUSALS) or _is_users(error):
                shorten(error, (*REFUSALS, type(error)))
            raise

    return call


def _is_users(error: BaseException) -> bool:
    """Whether an error was raised by the user's function, or says what is wrong there: an index, a name."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    if at is None or not _is_ours(at) or isinstance(error, (IndexError, NameError)):
        return True
    return at.tb_frame.f_globals.get("__name__") == f"{PACKAGE}._names"


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


def warn(message: str) -> None:
    """Give a RuntimeWarning at the line of the caller that is not of this package, however deep it was called."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and is_package(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=level)
