"""What rewritten functions call, under the name `__tilewright__`.

Every function here does what Python does unless a value is the program's, known only at run time; then it adds
operations. What Python decides costs one call.
"""

from __future__ import annotations

import builtins
import operator
import sys
from typing import TYPE_CHECKING, Any

from tilewright.lang.branches import Branches, If, Predicated, With, truth, watch_of
from tilewright.lang.carry import is_dynamic, leaf_of
from tilewright.lang.current import current
from tilewright.lang.loops import Loop, PythonWhile, Range, While
from tilewright.lang.site import Site
from tilewright.lang.undefined import UNBOUND, Undefined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "Loop",
    "With",
    "and_",
    "builtin",
    "compare",
    "context",
    "cross",
    "depth",
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
    "unwind",
    "while_",
]

_TAKEN, _NOT_TAKEN = (1,), (0,)


def if_(test: Any, names: tuple[str, ...], watched: tuple[str, ...]) -> Any:
    """The branches of an `if` that run: 1 or 0 for the one that Python chooses, both (3, 2) where the program does."""
    if test is True:
        return _TAKEN
    if test is False:
        return _NOT_TAKEN
    if is_dynamic(test):
        builder = current()
        frame = sys._getframe(1)
        return If(builder, truth(builder, test), names, watched, frame)
    return _TAKEN if test else _NOT_TAKEN


def for_(
    iterable: Any, names: tuple[str, ...], watched: tuple[str, ...], stores: tuple[str, ...], index: str = ""
) -> Any:
    """What a `for` iterates over: a Loop of the program for a range while tracing, else the iterable itself."""
    if iterable.__class__ is not Range:
        return iterable
    builder = current()
    if builder is None:
        return iterable
    return () if iterable.is_empty else Loop(builder, iterable, names, watched, stores, index, sys._getframe(1))


def while_(names: tuple[str, ...], watched: tuple[str, ...], stores: tuple[str, ...]) -> Any:
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
    return With(builder, truth(builder, condition), names, watched, frame)


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
    """Refuse to leave regions of the program by `break`, `continue` or `return`; Python's own are left."""
    for region in regions:
        kind = region.__class__
        if (kind is int and region > 1) or kind is Loop or kind is With or (kind is While and region.dynamic):
            place = Site.of(sys._getframe(1))
            if what == "return":
                fix = "let every branch of the `if` end in `return`, outside of loops, or assign a variable and return it at the end"
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
    """How many blocks are open, for `unwind`."""
    builder = current()
    return 0 if builder is None else builder.depth


def unwind(blocks: int) -> None:
    """Forget the blocks that an error left, which the user's function caught."""
    builder = current()
    if builder is not None:
        builder.abandon(blocks)


# --- expressions


def if_expression(test: Any, first: Callable[[], Any], second: Callable[[], Any], watched: tuple[str, ...] = ()) -> Any:
    """`first() if test else second()`: only what is chosen is evaluated, at run time, too."""
    if not is_dynamic(test):
        return first() if test else second()
    frame = sys._getframe(1)
    branches, builder = _branches(test, watched, frame)
    values = []
    for arm in (first, second):
        branches.begin()
        values.append(arm())
        branches.end()
    return branches.finish(("the expression",), values[:1], values[1:])[0]


def _branches(test: Any, watched: tuple[str, ...], frame: Any) -> tuple[Branches, Any]:
    builder = current()
    site = Site.of(frame)
    return Branches(builder, truth(builder, test), site, watch_of(frame, watched)), builder


def and_(first: Any, second: Callable[[], Any], watched: tuple[str, ...] = ()) -> Any:
    """`first and second()`: a Boolean where one of them is the program's; the second is reached as in Python."""
    if not is_dynamic(first):
        return first and second()
    return _connect(first, second, watched, False, sys._getframe(1))


def or_(first: Any, second: Callable[[], Any], watched: tuple[str, ...] = ()) -> Any:
    """`first or second()`."""
    if not is_dynamic(first):
        return first or second()
    return _connect(first, second, watched, True, sys._getframe(1))


def _connect(first: Any, second: Callable[[], Any], watched: tuple[str, ...], absorbing: bool, frame: Any) -> Any:
    """`and` (absorbing: False) or `or` (True), where the program has to know the first value."""
    branches, builder = _branches(first, watched, frame)
    branches.begin()
    value = second()
    symbol = truth(builder, value) if is_dynamic(value) else None
    if symbol is not None and builder.can_speculate and not branches.watch.changes():
        builder.inline_block()
        return _boolean(builder.op("or" if absorbing else "and", (branches.condition, symbol)))
    second_value = bool(value) if symbol is None else _boolean(symbol)
    branches.end()
    branches.begin()
    branches.end()
    arms = [second_value], [absorbing]
    if absorbing:
        branches.swap()
        arms = arms[1], arms[0]
    joined = branches.finish(("the condition",), *arms)[0]
    if joined is absorbing:
        return joined
    return joined if symbol is not None else _boolean(branches.condition)


def not_(value: Any) -> Any:
    if not is_dynamic(value):
        return not value
    builder = current()
    return _boolean(builder.op("not", (truth(builder, value),)))


def _boolean(symbol: Any) -> Any:
    from tilewright.lang.carry import number_like

    like = number_like(False, False)
    return leaf_of(type(like)).wrap(symbol, like)  # type: ignore[union-attr]


_COMPARISONS = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
    "Is": operator.is_,
    "IsNot": operator.is_not,
    "In": lambda x, y: x in y,
    "NotIn": lambda x, y: x not in y,
}


def compare(left: Any, operators: tuple[str, ...], rest: tuple[Callable[[], Any], ...]) -> Any:
    """`left op x op y ...`: every operand is evaluated once, if the comparisons before it hold."""
    right = rest[0]()
    result = _COMPARISONS[operators[0]](left, right)
    if len(operators) == 1:
        return result
    if not is_dynamic(result):
        return compare(right, operators[1:], rest[1:]) if result else result
    return _connect(result, lambda: compare(right, operators[1:], rest[1:]), (), False, sys._getframe(1))


_builtins: dict[Any, Callable[..., Any]] = {}


def register_builtin(function: Callable[..., Any], extreme: Callable[..., Any]) -> None:
    """Say what `min` or `max` gives for numbers of which one is the program's: `extreme(x, y)`."""

    def call(*args: Any, **options: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if options or len(args) == 1 and values is args or not any(map(is_dynamic, values)):
            return function(*args, **options)
        result = values[0]
        for value in values[1:]:
            result = extreme(result, value)
        return result

    _builtins[function] = call


def builtin(function: Any) -> Any:
    """`min`, `max`, `any` and `all` for numbers of the program; any other function as it is."""
    return _builtins.get(function, function) if function.__class__ is _BUILTIN else function


_BUILTIN = type(len)


def _all(values: Iterable[Any]) -> Any:
    result: Any = True
    for value in values:
        result = and_(result, lambda value=value: value)  # type: ignore[misc]
        if result is False:
            return False
    return result if is_dynamic(result) else bool(result)


def _any(values: Iterable[Any]) -> Any:
    result: Any = False
    for value in values:
        result = or_(result, lambda value=value: value)  # type: ignore[misc]
        if result is True:
            return True
    return result if is_dynamic(result) else bool(result)


_builtins[builtins.all] = _all
_builtins[builtins.any] = _any


def fails(test: Any, message: Callable[[], Any] | None, text: str) -> bool:
    """Whether an `assert` fails now; one that is decided at run time becomes an operation."""
    if not is_dynamic(test):
        return not test
    builder = current()
    shown = text if message is None else f"{text}: {message()}"
    builder.op("assert", (truth(builder, test),), text=shown)
    return False


# --- names


def named(value: Any, name: str) -> Any:
    """The value of an assignment; a number of the program gets the variable's name."""
    leaf = leaf_of(value.__class__)
    if leaf is not None and leaf.is_dynamic(value):
        current().name(leaf.symbol_of(value), name)
    return value


def named_each(values: Any, names: tuple[str, ...]) -> Any:
    """The same for `a, b = values`."""
    if values.__class__ is tuple or values.__class__ is list:
        for value, name in zip(values, names):  # noqa: B905 - Python says where they are not equally many
            if name != "_":
                named(value, name)
    return values
