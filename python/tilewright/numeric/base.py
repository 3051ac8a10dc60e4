"""What a number of any type can do: conversion, comparison, arithmetic, text.

Arithmetic asks the types: which one holds both operands (`_with`), what an operator makes of that (`_under`), and what
of the result it keeps (`_fit`).
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from tilewright.numeric import traced
from tilewright.numeric.traced import Symbol

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

    @property
    def mlir_type(cls) -> Any:
        """The program's type of a number of this type, as a result of inline assembly.

        >>> from tilewright import Float32
        >>> print(Float32.mlir_type)
        f32
        """
        return traced.type_of(cls)


class Numeric(metaclass=NumericMeta):
    """A number of a fixed type.

    `width` is the number of bits of the type and `name` its name in CuTe's text (`f32`). A number made of a Python
    number keeps its low bits, as in C; a fraction is cut off. Arithmetic between two types is done in one of them: the
    floating-point one, the wider one, of equal width the unsigned one, or Float32 for two floats of one width. `/`
    of integers gives Float32 (Float64 for 64 bits). A Python number takes the type of the other operand, a Python
    float beside an integer Float32. Signed results wrap around, as unsigned ones do. Comparisons give True and False.

    In a function that is traced a number may be known at run time only (it prints as `?`): its operators are operations
    of the program, with the same rules, comparisons give a Boolean, and where Python itself asks for its value that is
    a TypeError.

    >>> from tilewright import Int8, Int32
    >>> type(Int8(1) + Int32(1)), type(Int8(1) / Int8(2))
    (Int32, Float32)
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
    is_integer: bool
    is_float: bool
    _computed_in: str  # the type that a program computes in; narrower floats are rounded after each operation

    def __init__(self, value: Any = 0) -> None:
        if not hasattr(self, "width"):
            raise TypeError(f"{type(self).__name__} is a family of types and has no numbers; use one such as Int32")
        if type(value) is type(self):
            self._value = value._value
        elif isinstance(value, Numeric):
            self._value = value.to(type(self))._value
        elif type(value) is Symbol:
            if value.type.kind != "number" or value.lanes != 1:
                raise TypeError(f"{type(self).__name__}: expected a number, but got a value of type {value.type}")
            self._value = traced.convert(value, type(self))
        else:
            self._value = self._made(value)

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
    def _made(cls, value: Any) -> Any:
        """The value of this type that a Python number becomes where a number is made of it."""
        return cls._round(value)

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
        """The value of another type as C converts it."""
        return cls._of(cls._round(source._value))

    @classmethod
    def _symbolic(cls, symbol: Any, source: Numeric) -> Self:
        """The number that a conversion gives, of a source that is known at run time only."""
        return cls._of(traced.convert(symbol, cls))

    @classmethod
    def _with(cls, other: object) -> type[Numeric] | None:
        """The type that arithmetic with another operand is done in; None where that is no number."""
        raise NotImplementedError

    @classmethod
    def _under(cls, symbol: str) -> type[Numeric] | None:
        """The type of a result for two operands of this type; None where the operator takes no such operands."""
        raise NotImplementedError

    @classmethod
    def _adopts(cls, value: Any) -> bool:
        """Whether a Python number beside a number of this type becomes one of it."""
        return True

    @classmethod
    def is_same_kind(cls, other: type[Numeric]) -> bool:
        """Whether both types are integers, or both floating-point.

        >>> from tilewright import Float16, Float32, Int8
        >>> Float16.is_same_kind(Float32), Float16.is_same_kind(Int8)
        (True, False)
        """
        return cls.is_integer == other.is_integer

    @property
    def dtype(self) -> type[Self]:
        """The type of the number."""
        return type(self)

    @property
    def value(self) -> Any:
        """The Python number, or the value of the program that it is."""
        return self._value

    def ir_value(self, *, loc: object = None, ip: object = None) -> Symbol:
        """The number as a value of the program that is traced, an operand of inline assembly."""
        symbol: Symbol = traced.symbol_of(type(self), self._value)
        return symbol

    @property
    def is_traced(self) -> bool:
        """Whether the value is known at run time only."""
        return type(self._value) is Symbol

    def to(self, dtype: type[T]) -> T:
        """Convert as the hardware does: integers wrap around, floats round to nearest, ties to even.

        Of a float the fraction is cut off; an integer type takes the nearest number that it holds, and 0 for NaN.
        Source: CuTeDSL `Numeric.to`.

        >>> from tilewright import Float16, Float32, Int8, Int32, Uint8
        >>> Float32(3.7).to(Int8), Int32(300).to(Uint8), Float32(0.1).to(Float16)
        (Int8(3), Uint8(44), Float16(0.0999755859375))
        """
        if dtype in (bool, int, float):
            return dtype(self)  # type: ignore[call-arg]
        if not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
            raise TypeError(f"{type(self)}.to: expected a numeric type such as Float32, but got {dtype!r}")
        if type(self._value) is Symbol:
            return dtype._symbolic(self._value, self)
        return dtype._converted(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._value,)

    def __hash__(self) -> int:
        return hash(self._known("hash"))

    def __bool__(self) -> bool:
        return bool(self._known("bool"))

    def __int__(self) -> int:
        return int(self._known("int"))

    def __float__(self) -> float:
        return float(self._known("float"))

    def _known(self, what: str) -> Any:
        """The Python number; TypeError where it is known at run time only."""
        if type(self._value) is Symbol:
            traced.refuse(self, what)
        return self._value

    def __str__(self) -> str:
        return "?" if type(self._value) is Symbol or traced.is_tracing() else str(self._value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def __format__(self, spec: str) -> str:
        try:
            return format(str(self), spec)
        except ValueError:  # of a number: what is known at run time has no digits
            return str(self) if self.is_traced else format(self._value, spec)

    def _common(self, other: object) -> type[Numeric] | None:
        """The type that the two operands are computed in; None where the other is no number."""
        common = self._with(other)
        if common is None or isinstance(other, Numeric) or common._adopts(other):
            return common
        return common._with_wide()

    @classmethod
    def _with_wide(cls) -> type[Numeric]:
        """The type for a Python number that this one does not hold."""
        return cls

    def _binary(self, other: object, function: Callable[[Any, Any], Any], symbol: str, swap: bool = False) -> Any:
        """The result of an arithmetic operator, or NotImplemented."""
        common = self._common(other)
        if common is None:
            return NotImplemented
        dtype = common._under(symbol)
        if dtype is None:
            raise TypeError(f"{symbol} needs two integers, but got {_operands(self, other, swap, symbol)}")
        a, b = dtype(self)._value, dtype(other)._value
        if swap:
            a, b = b, a
        if type(a) is Symbol or type(b) is Symbol:
            return dtype._of(traced.arithmetic(symbol, dtype, a, b))
        if symbol == "<<" and b >= dtype.width:
            return dtype._of(0)
        return dtype._of(dtype._made(function(a, b)))

    def _compare(self, other: object, function: Callable[[Any, Any], bool], symbol: str) -> Any:
        common = self._common(other)
        if common is None:
            return NotImplemented
        a, b = common(self)._value, common(other)._value
        if type(a) is Symbol or type(b) is Symbol:
            return _boolean(traced.compare(symbol, common, a, b))
        return function(a, b)

    def __eq__(self, other: object) -> Any:
        return self._compare(other, operator.eq, "==")

    def __ne__(self, other: object) -> Any:
        return self._compare(other, operator.ne, "!=")

    def __lt__(self, other: object) -> Any:
        return self._compare(other, operator.lt, "<")

    def __le__(self, other: object) -> Any:
        return self._compare(other, operator.le, "<=")

    def __gt__(self, other: object) -> Any:
        return self._compare(other, operator.gt, ">")

    def __ge__(self, other: object) -> Any:
        return self._compare(other, operator.ge, ">=")

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

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

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
        if type(self._value) is Symbol:
            return self._of(traced.unary("neg", type(self), self._value))
        return self._of(self._made(-self._value))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        if type(self._value) is Symbol:
            return self._of(traced.unary("abs", type(self), self._value))
        return self if self._value >= 0 else -self


def _divide(a: Any, b: Any) -> float:
    if b:
        return float(a / b)
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _boolean(symbol: Any) -> Numeric:
    from tilewright.numeric.integers import Boolean

    return Boolean._of(symbol)


def _operands(self: Numeric, other: object, swap: bool, symbol: str) -> str:
    texts = [f"{type(x)}({x._value})" if isinstance(x, Numeric) else repr(x) for x in (self, other)]
    return f" {symbol} ".join(reversed(texts) if swap else texts)


def require_dtype(function: str, dtype: Any) -> None:
    if not (isinstance(dtype, type) and issubclass(dtype, Numeric) and hasattr(dtype, "bits")):
        raise TypeError(f"{function}: expected an element type such as tilewright.Float32, but got {dtype!r}")
