"""What a number of any type can do: conversion, comparison, arithmetic, text.

Arithmetic asks the types: which one holds both operands (`_with`), what an operator makes of that (`_under`), and what
of the result it keeps (`_fit`).
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

    from tilewright._typing import T

__all__ = ["BITWISE", "Numeric", "NumericMeta", "require_dtype"]

BITWISE = ("&", "|", "^", "<<", ">>")


class NumericMeta(type):
    """Makes a type print as its bare name, as in CuTeDSL: `print(Float16)` gives `Float16`."""

    def __repr__(cls) -> str:
        return cls.__name__


class Numeric(metaclass=NumericMeta):
    """A number of a fixed type.

    `width` is the number of bits of the type and `name` its name in CuTe's text (`f32`). Arithmetic between two types
    gives, as in NumPy, the smallest type that holds every value of both (Float64 where none does); a Python number
    takes the type of the other operand. Comparisons give Python's True and False.
    """

    __slots__ = ("_value",)
    _value: Any

    width: int
    zero: Any
    max: Any
    name: str
    bits: int  # bits of one element in memory
    dlpack: tuple[int, int]  # DLPack type code and bits
    numpy: str | None  # NumPy's name, None where NumPy has no such type
    _digits: int  # significant bits of a value, at most
    _smallest: float  # the smallest positive value

    def __init__(self, value: Any = 0) -> None:
        if not hasattr(self, "width"):
            raise TypeError(f"{type(self).__name__} is a family of types and has no numbers; use one such as Int32")
        if isinstance(value, Numeric):
            value = value.to(type(self))._value
        self._value = self._round(value)

    @classmethod
    def _of(cls, value: Any) -> Self:
        """The instance of a value that the type is known to hold."""
        self = cls.__new__(cls)
        self._value = value
        return self

    @classmethod
    def _round(cls, value: Any) -> Any:
        """The value of this type for a Python number, or an error."""
        raise NotImplementedError

    @classmethod
    def _decode(cls, bits: int) -> Any:
        """The Python number that a bit pattern in memory stands for."""
        raise NotImplementedError

    @classmethod
    def _encode(cls, value: Any) -> int:
        """The bit pattern in memory of a Python number, or an error."""
        raise NotImplementedError

    @classmethod
    def _converted(cls, source: Numeric) -> Self:
        """The value of another type as C converts it, or an error."""
        return cls._of(cls._round(source._value))

    @classmethod
    def _holds(cls, other: type[Numeric]) -> bool:
        """Every finite value of another type is one of this type."""
        raise NotImplementedError

    @classmethod
    def _with(cls, other: object) -> type[Numeric] | None:
        """The type that arithmetic with another operand is done in; None where that is no number."""
        raise NotImplementedError

    @classmethod
    def _under(cls, symbol: str) -> type[Numeric] | None:
        """The type of a result for two operands of this type; None where the operator takes no such operands."""
        raise NotImplementedError

    @classmethod
    def _fit(cls, result: Any) -> Any:
        """What the type keeps of an exact result; None where that is out of range."""
        return result

    def to(self, dtype: type[T]) -> T:
        """Convert as C does: integers wrap around, fractions are cut off, floats round to nearest, ties to even.

        Raises OverflowError for a float whose integer part the integer type does not hold.
        Source: CuTeDSL `Numeric.to`.

        >>> from tilewright import Float16, Float32, Int8, Int32, Uint8
        >>> Float32(3.7).to(Int8), Int32(300).to(Uint8), Float32(0.1).to(Float16)
        (Int8(3), Uint8(44), Float16(0.0999755859375))
        """
        if dtype in (bool, int, float):
            return dtype(self._value)  # type: ignore[call-arg]
        if not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
            raise TypeError(f"{type(self)}.to: expected a numeric type such as Float32, but got {dtype!r}")
        return dtype._converted(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._value,)

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __float__(self) -> float:
        return float(self._value)

    def __str__(self) -> str:
        return str(self._value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def _binary(self, other: object, function: Callable[[Any, Any], Any], symbol: str, swap: bool = False) -> Any:
        """The result of an arithmetic operator, or NotImplemented."""
        common = self._with(other)
        if common is None:
            return NotImplemented
        dtype = common._under(symbol)
        if dtype is None:
            raise TypeError(f"{symbol} needs two integers, but got {_operands(self, other, swap, symbol)}")
        a = dtype._round(self._value)
        b = dtype._round(other._value if isinstance(other, Numeric) else other)
        result = function(b, a) if swap else function(a, b)
        kept = dtype._fit(result)
        if kept is None:
            text = _operands(self, other, swap, symbol)
            raise OverflowError(f"{text} = {result} does not fit in {dtype.width} bits; use a wider type")
        return dtype._of(dtype._round(kept))

    def _compare(self, other: object, function: Callable[[Any, Any], bool]) -> Any:
        if isinstance(other, Numeric):
            return function(self._value, other._value)
        if isinstance(other, (int, float)):
            return function(self._value, other)
        return NotImplemented

    def __eq__(self, other: object) -> Any:
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> Any:
        return self._compare(other, operator.ne)

    def __lt__(self, other: object) -> Any:
        return self._compare(other, operator.lt)

    def __le__(self, other: object) -> Any:
        return self._compare(other, operator.le)

    def __gt__(self, other: object) -> Any:
        return self._compare(other, operator.gt)

    def __ge__(self, other: object) -> Any:
        return self._compare(other, operator.ge)

    def __add__(self, other: object) -> Any:
        return self._binary(other, operator.add, "+")

    def __radd__(self, other: object) -> Any:
        return self._binary(other, operator.add, "+", swap=True)

    def __sub__(self, other: object) -> Any:
        return self._binary(other, operator.sub, "-")

    def __rsub__(self, other: object) -> Any:
        return self._binary(other, operator.sub, "-", swap=True)

    def __mul__(self, other: object) -> Any:
        return self._binary(other, operator.mul, "*")

    def __rmul__(self, other: object) -> Any:
        return self._binary(other, operator.mul, "*", swap=True)

    def __truediv__(self, other: object) -> Any:
        return self._binary(other, _divide, "/")

    def __rtruediv__(self, other: object) -> Any:
        return self._binary(other, _divide, "/", swap=True)

    def __floordiv__(self, other: object) -> Any:
        return self._binary(other, operator.floordiv, "//")

    def __rfloordiv__(self, other: object) -> Any:
        return self._binary(other, operator.floordiv, "//", swap=True)

    def __mod__(self, other: object) -> Any:
        return self._binary(other, operator.mod, "%")

    def __rmod__(self, other: object) -> Any:
        return self._binary(other, operator.mod, "%", swap=True)

    def __pow__(self, other: object) -> Any:
        return self._binary(other, operator.pow, "**")

    def __rpow__(self, other: object) -> Any:
        return self._binary(other, operator.pow, "**", swap=True)

    def __and__(self, other: object) -> Any:
        return self._binary(other, operator.and_, "&")

    def __rand__(self, other: object) -> Any:
        return self._binary(other, operator.and_, "&", swap=True)

    def __or__(self, other: object) -> Any:
        return self._binary(other, operator.or_, "|")

    def __ror__(self, other: object) -> Any:
        return self._binary(other, operator.or_, "|", swap=True)

    def __xor__(self, other: object) -> Any:
        return self._binary(other, operator.xor, "^")

    def __rxor__(self, other: object) -> Any:
        return self._binary(other, operator.xor, "^", swap=True)

    def __lshift__(self, other: object) -> Any:
        return self._binary(other, operator.lshift, "<<")

    def __rlshift__(self, other: object) -> Any:
        return self._binary(other, operator.lshift, "<<", swap=True)

    def __rshift__(self, other: object) -> Any:
        return self._binary(other, operator.rshift, ">>")

    def __rrshift__(self, other: object) -> Any:
        return self._binary(other, operator.rshift, ">>", swap=True)

    def __neg__(self) -> Any:
        return type(self)._of(type(self)._round(-self._value))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self._value >= 0 else -self


def _divide(a: Any, b: Any) -> float:
    if b:
        return float(a / b)
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _operands(self: Numeric, other: object, swap: bool, symbol: str) -> str:
    texts = [f"{type(x)}({x._value})" if isinstance(x, Numeric) else repr(x) for x in (self, other)]
    return f" {symbol} ".join(reversed(texts) if swap else texts)


def require_dtype(function: str, dtype: Any) -> None:
    if not (isinstance(dtype, type) and issubclass(dtype, Numeric) and hasattr(dtype, "bits")):
        raise TypeError(f"{function}: expected an element type such as tilewright.Float32, but got {dtype!r}")
