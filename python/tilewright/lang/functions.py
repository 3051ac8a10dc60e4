"""What CuTeDSL's functions are written with: cutlass.range, const_expr, min and max, and_, or_, not_, Constexpr."""

from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING, Any, overload

from tilewright.lang.carry import is_dynamic
from tilewright.lang.control import and_ as _and
from tilewright.lang.control import mark_range
from tilewright.lang.control import not_ as _not
from tilewright.lang.control import or_ as _or
from tilewright.lang.control.loops import Range
from tilewright.lang.trace import traced
from tilewright.numeric import Boolean, Int32, Numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Annotated, SupportsIndex, TypeVar

    N = TypeVar("N", bound=Numeric)
    T = TypeVar("T")
    Constexpr = Annotated[T, "compile-time constant"]
else:
    from tilewright.lang.arguments import Constexpr

__all__ = [
    "Constexpr",
    "and_",
    "const_expr",
    "dynamic_expr",
    "for_generate",
    "max_",
    "min_",
    "not_",
    "or_",
    "range_",
    "range_constexpr",
    "range_dynamic",
]


@mark_range
def range_(
    start: SupportsIndex,
    stop: SupportsIndex | None = None,
    step: SupportsIndex = 1,
    *,
    unroll: object = None,
    unroll_full: object = None,
    prefetch_stages: object = None,
    vectorize: object = None,
) -> Iterator[Int32]:
    """The integers of Python's range as dynamic ones; the hints to a compiler are ignored.

    >>> [str(i) for i in range_(2)], [int(i) for i in range_(1, 6, 2)]
    (['?', '?'], [1, 3, 5])
    """
    bounds = (0, start) if stop is None else (start, stop)
    return map(Int32, builtins.range(*map(operator.index, (*bounds, step))))


@mark_range
def range_dynamic(*args: SupportsIndex, **hints: object) -> Iterator[Int32]:
    """The same as `range`.

    >>> [int(i) for i in range_dynamic(2, 4)]
    [2, 3]
    """
    made: Iterator[Int32] = range_(*args, **hints)
    return made


def range_constexpr(*args: SupportsIndex) -> builtins.range:
    """Python's range: static integers.

    >>> list(range_constexpr(3))
    [0, 1, 2]
    """
    if any(is_dynamic(x) for x in args):
        raise TypeError(
            "range_constexpr: the value is known only at run time; loop over cutlass.range, or make it known while "
            "tracing: a parameter that is Constexpr, an extent of a tensor that from_dlpack made"
        )
    return builtins.range(*map(operator.index, args))


def const_expr(expression: T) -> T:
    """The expression, which has to be known while tracing; TypeError where it is known at run time only.

    >>> const_expr(2 > 1)
    True
    """
    if is_dynamic(expression):
        raise TypeError(
            "const_expr: the value is known only at run time; leave const_expr out for a branch of the program, or "
            "pass what the value is made of as cutlass.Constexpr"
        )
    return expression


def dynamic_expr(expression: T) -> T:
    """The expression, marked as known at run time."""
    return expression


def for_generate(
    start: SupportsIndex,
    stop: SupportsIndex | None = None,
    step: SupportsIndex = 1,
    *,
    loc: object = None,
    ip: object = None,
) -> Iterator[Int32]:
    """A loop of the program where nothing is rewritten: `for i in for_generate(n): ..` with yield_out() at its end.

    It carries no values from trip to trip: a loop over cutlass.range does. RuntimeError outside of a function that is
    traced.
    """
    builder = traced("for_generate").builder
    like, bounds = Range(start, stop, step).bounds()
    depth = builder.depth
    (index,) = builder.begin_block([bounds[0].type])
    try:
        yield type(like)(index)
    except GeneratorExit:
        builder.abandon(depth)
        raise
    builder.op("for", bounds, blocks=(builder.end_block([]),), ints=(0,))


@overload
def min_(*args: int) -> int: ...
@overload
def min_(*args: N) -> N: ...
@overload
def min_(*args: float | Numeric) -> float | Numeric: ...
def min_(*args: float | Numeric) -> float | Numeric:
    """The smallest of the arguments, dynamic if one of them is.

    >>> print(min_(3, 2), min_(Int32(3), 2))
    2 ?
    """
    least: float | Numeric = _extreme("min", builtins.min, args)
    return least


@overload
def max_(*args: int) -> int: ...
@overload
def max_(*args: N) -> N: ...
@overload
def max_(*args: float | Numeric) -> float | Numeric: ...
def max_(*args: float | Numeric) -> float | Numeric:
    """The largest of the arguments, dynamic if one of them is."""
    greatest: float | Numeric = _extreme("max", builtins.max, args)
    return greatest


def _extreme(name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if not args:
        raise TypeError(f"{name}: expected at least one argument")
    result = args[0]
    for x in args[1:]:
        numeric, other = (result, x) if isinstance(result, Numeric) else (x, result)
        result = numeric._binary(other, function, name) if isinstance(numeric, Numeric) else function(result, x)
    return result


def and_(*args: object) -> bool | Boolean:
    """Whether all arguments are true.

    >>> and_(True, 1), and_(True, 0)
    (True, False)
    """
    result: Any = True
    for x in args:
        result = _and(result, lambda x=x: x)  # type: ignore[misc]
    return result if is_dynamic(result) else bool(result)


def or_(*args: object) -> bool | Boolean:
    """Whether any argument is true.

    >>> or_(False, 1), or_(False, 0)
    (True, False)
    """
    result: Any = False
    for x in args:
        result = _or(result, lambda x=x: x)  # type: ignore[misc]
    return result if is_dynamic(result) else bool(result)


def not_(x: object) -> bool | Boolean:
    """Whether the argument is false.

    >>> not_(0), not_(3)
    (True, False)
    """
    result: bool | Boolean = _not(x)
    return result
