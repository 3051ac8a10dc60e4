"""Conditional expressions, `and`, `or`, `not`, comparisons, min, max, any, all: Python's, or the program's."""

from __future__ import annotations

import builtins
import operator
import sys
from typing import TYPE_CHECKING, Any

from tilewright.lang.carry import is_dynamic, leaf_of, number_like
from tilewright.lang.control.branches import Branches, truth, watch_of
from tilewright.lang.control.site import Site
from tilewright.numeric.traced import current

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["and_", "builtin", "compare", "equal", "if_expression", "not_", "or_", "register_builtin"]


def if_expression(test: Any, first: Callable[[], Any], second: Callable[[], Any], watched: tuple[str, ...] = ()) -> Any:
    """`first() if test else second()`: only what is chosen is evaluated, at run time, too."""
    if not is_dynamic(test):
        return first() if test else second()
    frame = sys._getframe(1)
    branches, _ = _branches(test, watched, frame)
    values = []
    for arm in (first, second):
        branches.begin()
        values.append(arm())
        branches.end()
    return branches.finish(("the expression",), values[:1], values[1:])[0]


def _branches(test: Any, watched: tuple[str, ...], frame: Any) -> tuple[Branches, Any]:
    builder = current()
    site = Site.of(frame)
    return Branches(builder, truth(test), site, watch_of(frame, watched)), builder


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
    """`and` (absorbing: False) or `or` (True), where the program has to know the first value.

    Of two numbers of one type it is one of them, as in Python; of anything else whether it holds.
    """
    branches, builder = _branches(first, watched, frame)
    branches.begin()
    value = second()
    arms: tuple[Any, Any] = (value, first)
    is_known = False  # the second value, while tracing
    if not _is_number_like(first, value):
        symbol = truth(value) if is_dynamic(value) else None
        if symbol is not None and builder.can_speculate and not branches.watch.changes():
            builder.inline_block()
            return _boolean(builder.op("or" if absorbing else "and", (branches.condition, symbol)))
        is_known = symbol is None
        arms = bool(value) if is_known else _boolean(symbol), absorbing
    branches.end()
    branches.begin()
    branches.end()
    if absorbing:
        branches.swap()
        arms = arms[1], arms[0]
    joined = branches.finish(("the condition",), arms[:1], arms[1:])[0]
    return _boolean(branches.condition) if is_known and joined is not absorbing else joined


def _is_number_like(first: Any, value: Any) -> bool:
    """Whether a value is a number of the other's type, which is no Boolean, or a Python number that becomes one."""
    if first.__class__ is type(number_like(False, False)):
        return False
    return value.__class__ is first.__class__ or value.__class__ in (int, float)


def not_(value: Any) -> Any:
    if not is_dynamic(value):
        return not value
    builder = current()
    return _boolean(builder.op("not", (truth(value),)))


def _boolean(symbol: Any) -> Any:
    like = number_like(False, False)
    return leaf_of(type(like)).wrap(symbol, like)  # type: ignore[union-attr]


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
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


def compare(
    left: Any, operators: tuple[str, ...], rest: tuple[Callable[[], Any], ...], watched: tuple[str, ...] = ()
) -> Any:
    """`left op x op y ...`: every operand is evaluated once, if the comparisons before it hold."""
    return _compare(left, operators, rest, watched, sys._getframe(1))


def _compare(
    left: Any, operators: tuple[str, ...], rest: tuple[Callable[[], Any], ...], watched: tuple[str, ...], frame: Any
) -> Any:
    right = rest[0]()
    result = _COMPARISONS[operators[0]](left, right)
    if len(operators) == 1 or (not is_dynamic(result) and not result):
        return result

    def others() -> Any:
        return _compare(right, operators[1:], rest[1:], watched, frame)

    return _connect(result, others, watched, False, frame) if is_dynamic(result) else others()


def equal(left: Any, right: Any, negated: bool) -> Any:
    """`left == right`, or `left != right`: of lists and tuples that hold numbers of the program a Boolean."""
    if not (_holds_dynamic(left) or _holds_dynamic(right)):
        return left != right if negated else left == right
    same = _same(left, right)
    return not_(same) if negated else same


def _holds_dynamic(value: Any) -> bool:
    return value.__class__ in (list, tuple) and any(is_dynamic(x) or _holds_dynamic(x) for x in value)


def _same(left: Any, right: Any) -> Any:
    if not (left.__class__ in (list, tuple) and right.__class__ is left.__class__):
        return left == right
    return len(left) == len(right) and _all(map(_same, left, right))


_builtins: dict[Any, Callable[..., Any]] = {}


def register_builtin(function: Callable[..., Any], extreme: Callable[..., Any]) -> None:
    """Say what `min` or `max` gives for numbers of which one is the program's: `extreme(x, y)`."""

    def call(*args: Any, **options: Any) -> Any:
        values = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
        if options or (len(args) == 1 and values is args) or not any(map(is_dynamic, values)):
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
