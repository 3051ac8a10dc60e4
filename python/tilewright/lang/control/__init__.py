"""What rewritten functions call, under the name `__tilewright__`.

Every function here does what Python does unless a value is the program's, known only at run time; then it adds
operations. What Python decides costs one call.
"""

from __future__ import annotations

import builtins
import sys
from typing import TYPE_CHECKING, Any

from tilewright.lang.carry import is_dynamic, leaf_of
from tilewright.lang.carry.undefined import Undefined
from tilewright.lang.control.branches import If, Predicated, With, truth
from tilewright.lang.control.expressions import (
    and_,
    builtin,
    compare,
    equal,
    if_expression,
    not_,
    or_,
    register_builtin,
)
from tilewright.lang.control.loops import Loop, PythonWhile, Range, While
from tilewright.lang.control.site import Site
from tilewright.numeric.traced import current

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Loop",
    "Predicated",
    "With",
    "and_",
    "builtin",
    "caught",
    "compare",
    "context",
    "cross",
    "depth",
    "equal",
    "fails",
    "for_",
    "if_",
    "if_expression",
    "loop",
    "mark_range",
    "named",
    "named_each",
    "not_",
    "or_",
    "read",
    "register_builtin",
    "register_symbol",
    "too_deep",
    "while_",
]

_TAKEN, _NOT_TAKEN = (1,), (0,)


def if_(test: Any, names: tuple[str, ...], kept: tuple[str, ...], watched: tuple[str, ...]) -> Any:
    """The branches of an `if` that run: 1 or 0 for the one that Python chooses, both (3, 2) where the program does.

    names: variables that a branch assigns and that are read behind it; kept: those that only the second branch reads;
    watched: what the branches read.
    """
    if test is True:
        return _TAKEN
    if test is False:
        return _NOT_TAKEN
    if is_dynamic(test):
        builder = current()
        frame = sys._getframe(1)
        return If(builder, truth(test), names, kept, watched, frame)
    return _TAKEN if test else _NOT_TAKEN


def too_deep(test: Any) -> Any:
    """The condition of an `if` in so many others that Python cannot nest one more loop: Python's."""
    if is_dynamic(test):
        text = "this `if` is decided at run time, and stands in too many others: Python nests at most 20"
        raise TypeError(Site.of(sys._getframe(1)).error(text, "put it into a function of its own, under @cute.jit"))
    return test


def for_(
    iterable: Any, names: tuple[str, ...], watched: tuple[str, ...], stores: tuple[Any, ...], index: str = ""
) -> Any:
    """What a `for` iterates over: a Loop of the program for a range while tracing, else the iterable itself."""
    if iterable.__class__ is not Range:
        return iterable
    builder = current()
    if builder is None:
        return iterable
    return () if iterable.is_empty else Loop(builder, iterable, names, watched, stores, index, sys._getframe(1))


def while_(names: tuple[str, ...], watched: tuple[str, ...], stores: tuple[Any, ...]) -> Any:
    builder = current()
    if builder is None:
        return PythonWhile()
    return While(builder, names, watched, stores, sys._getframe(1))


def context(manager: Any, names: tuple[str, ...], watched: tuple[str, ...]) -> Any:
    """A context manager: one whose body is a branch becomes that branch."""
    if manager.__class__ is not Predicated:
        return manager
    condition = manager.condition()
    builder = current()
    frame = sys._getframe(1)
    return With(builder, truth(condition), names, watched, frame)


_RANGE_MARK = "__tilewright_range__"


def mark_range(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function one whose call in a `for` is a loop of the program, as `range` is."""
    setattr(function, _RANGE_MARK, True)
    return function


def loop(function: Any) -> Any:
    """The callee of a `for`'s iterable: a range is a loop of the program while tracing."""
    if function is builtins.range:
        return Range if current() is not None else _python_range
    if getattr(function, _RANGE_MARK, False) and current() is not None:
        return Range
    return function


def _python_range(*args: Any, **hints: Any) -> builtins.range:
    return builtins.range(*args)


def cross(what: str, *regions: Any) -> None:
    """Refuse to leave regions of the program by `break`, `continue`, `return` or `yield`; Python's own are left."""
    for region in regions:
        kind = region.__class__
        if (kind is int and region > 1) or kind is Loop or kind is With or (kind is While and region.dynamic):
            place = Site.of(sys._getframe(1))
            if what == "return":
                fix = "let all branches of the `if` end in `return`, outside of loops, or return a variable at the end"
            elif what == "yield":
                fix = "yield outside of it, or call a function in its place"
            else:
                fix = "put the rest of the body under the opposite condition, or loop with `while` over a flag"
            text = f"`{what}` leaves an `if` or a loop that is decided at run time, where the program has no jumps"
            raise TypeError(place.error(text, fix))


def read(value: Any) -> Any:
    """The value of a variable that a region may have left without one."""
    if value.__class__ is Undefined:
        raise UnboundLocalError(value.__tilewright_undefined__)
    return value


def depth() -> int:
    """How many blocks are open, for `caught`."""
    builder = current()
    return 0 if builder is None else builder.depth


def caught(blocks: int) -> None:
    """Refuse to catch an error that left a branch or loop of the program: at run time it may not be reached."""
    builder = current()
    if builder is not None and builder.depth != blocks:
        text = "this catches an error of an `if` or a loop that is decided at run time, where no error is raised"
        raise TypeError(Site.of(sys._getframe(1)).error(text, "choose by an `if`, and check by `assert`"))


def fails(test: Any, message: Callable[[], Any] | None, text: str) -> bool:
    """Whether an `assert` fails now; one that is decided at run time becomes an operation."""
    if not is_dynamic(test):
        return not test
    builder = current()
    shown = text if message is None else f"{text}: {message()}"
    builder.op("assert", (truth(test),), text=shown)
    return False


# --- names


_symbols: dict[type, Callable[[Any], Any]] = {}


def register_symbol(kind: type, symbol_of: Callable[[Any], Any]) -> None:
    """Say which value of the program, or None, gets the variable's name where one of a type is assigned."""
    _symbols[kind] = symbol_of


def named(value: Any, name: str) -> Any:
    """The value of an assignment; a number of the program, or a thread's own memory, gets the variable's name."""
    leaf = leaf_of(value.__class__)
    if leaf is not None:
        if leaf.is_dynamic(value):
            current().name(leaf.symbol_of(value), name)
    elif value.__class__ in _symbols:
        symbol = _symbols[value.__class__](value)
        if symbol is not None:
            current().name(symbol, name)
    return value


def named_each(values: Any, names: tuple[str, ...]) -> Any:
    """The same for `a, b = values`."""
    if values.__class__ is tuple or values.__class__ is list:
        for value, name in zip(values, names):  # noqa: B905 - Python says where they are not equally many
            if name != "_":
                named(value, name)
    return values
