"""Numbers that are known at run time only: their operations go into the program that is traced.

Such a number holds a Symbol of the program in place of a Python number. What the program computes with it is said by
`emit`, the one place where Python adds operations. Each has the line of the user's Python that it comes from: the
innermost one outside of this package.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "Symbol",
    "arithmetic",
    "compare",
    "constant",
    "convert",
    "emit",
    "is_traced",
    "is_tracing",
    "refuse",
    "type_of",
    "unary",
]

_program = _core.program
Symbol = _program.Symbol
current: Callable[[], Any] = _program.current

# What to do where Python asks for a number that is known at run time only, which depends on the function that asks;
# tilewright.lang.rewrite puts a function here.
advice: Callable[[], str] | None = None

# Operators by what the program calls them.
_OPERATIONS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "//": "floor_div",
    "%": "floor_mod",
    "**": "pow",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "shr",
    "min": "min",
    "max": "max",
}
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_MOST_FACTORS = 64


def is_tracing() -> bool:
    """Whether this thread traces a function."""
    return current() is not None


def _builder() -> Any:
    """The builder of this thread's trace."""
    builder = current()
    if builder is None:
        raise RuntimeError(
            "a value of a kernel is used outside of the function that was traced; store it in a tensor to get it out"
        )
    return builder


def is_traced(x: object) -> bool:
    """Whether a number, pointer or vector is known at run time only.

    >>> is_traced(3)
    False
    """
    return getattr(x, "is_traced", False)


def emit(
    code: str,
    operands: Sequence[Any] = (),
    *,
    type: Any = None,
    accesses: Sequence[Any] = (),
    ints: Sequence[int] = (),
    text: str = "",
) -> Any:
    """Add an operation to the program of this thread's trace: its result, a tuple of several, or None."""
    return _builder().op(code, operands, type=type, accesses=accesses, ints=ints, text=text)


def type_of(dtype: Any, lanes: int = 1) -> Any:
    """The program's type of a number, or of a vector of them."""
    return _program.number(dtype.__name__, lanes)


def constant(dtype: Any, value: Any) -> Any:
    """The symbol of a Python number that the type holds."""
    return _builder().constant_bits(dtype.__name__, dtype._encode(value))


def symbol_of(dtype: Any, value: Any) -> Any:
    """The symbol of a value of a type: itself, or a constant."""
    return value if type(value) is Symbol else constant(dtype, value)


def _cast(symbol: Any, name: str) -> Any:
    return emit("cast", (symbol,), type=_program.number(name, symbol.lanes))


def arithmetic(symbol: str, dtype: Any, a: Any, b: Any) -> Any:
    """a operator b of one type, each a Symbol or a Python number."""
    if symbol == "**" and (power := _power(dtype, a, b)) is not None:
        return power
    name = dtype._computed_in
    x, y = symbol_of(dtype, a), symbol_of(dtype, b)
    if name == dtype.__name__:
        return emit(_OPERATIONS[symbol], (x, y))
    return _cast(emit(_OPERATIONS[symbol], (_cast(x, name), _cast(y, name))), dtype.__name__)


def _power(dtype: Any, base: Any, exponent: Any) -> Any:
    """A power by multiplications: of integers, squares, and the third and fourth one of Float32 and Float64.

    The CPU and a GPU round multiplications alike, each by half an ulp; CUDA's powf may be wrong by 4 ulp, and is a
    hundred instructions long.
    """
    if type(exponent) is Symbol or exponent != int(exponent):
        return None
    times = int(exponent)
    of_floats = 4 if dtype._computed_in == dtype.__name__ else 2  # narrow ones would be rounded in between
    if not 0 < times <= (_MOST_FACTORS if dtype.zero.__class__ is int else of_floats):
        return None
    result, factor = None, base
    while times:
        if times & 1:
            result = factor if result is None else arithmetic("*", dtype, result, factor)
        times >>= 1
        if times:
            factor = arithmetic("*", dtype, factor, factor)
    return result


def compare(symbol: str, dtype: Any, a: Any, b: Any) -> Any:
    """Whether a operator b, a Boolean; both of one type."""
    name = dtype._computed_in
    x, y = symbol_of(dtype, a), symbol_of(dtype, b)
    if name != dtype.__name__:
        x, y = _cast(x, name), _cast(y, name)
    return emit(_COMPARISONS[symbol], (x, y))


def unary(code: str, dtype: Any, a: Any, ints: Sequence[int] = ()) -> Any:
    """An operation on one number."""
    name = dtype._computed_in
    if name == dtype.__name__:
        return emit(code, (a,), ints=ints)
    return _cast(emit(code, (_cast(a, name),), ints=ints), dtype.__name__)


def convert(symbol: Any, dtype: Any) -> Any:
    """The number as another type, as C converts; floats saturate to integers, and NaN becomes 0."""
    return symbol if symbol.scalar == dtype.__name__ else _cast(symbol, dtype.__name__)


_FIXES = {
    "bool": "a branch on it is an `if` in a function under @cute.jit or @cute.kernel; const_expr(..) and `assert` of "
    "static facts need what is known while tracing",
    "int": "compute with it as it is, or pass the number as cutlass.Constexpr; cutlass.Int32(x) converts it",
    "float": "compute with it as it is (what Python's math has is in cute.math), or pass the number as "
    "cutlass.Constexpr; cutlass.Float32(x) converts it",
    "index": "a loop over it is `for i in range(n)` in a function under @cute.jit or @cute.kernel; what is needed "
    "while tracing is passed as cutlass.Constexpr",
    "hash": "a dict or set is looked up while tracing; use a tensor, or cute.where",
}


def refuse(number: Any, what: str) -> NoReturn:
    """Say that Python asks for a number that is known at run time only."""
    fix = advice() if advice is not None and what in ("bool", "index") else _FIXES[what]
    raise TypeError(f"{what}({type(number).__name__}): the value is known only at run time; {fix}")
