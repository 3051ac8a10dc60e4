"""Integer types, and among them the dynamic integers of the layout algebra, which carry a number that divides them."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from tilewright.numeric import traced
from tilewright.numeric.base import BITWISE, Numeric
from tilewright.numeric.floats import Float, Float32, Float64, as_float
from tilewright.numeric.traced import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


class Integer(Numeric):
    """An integer of `width` bits, in two's complement where it is signed; results out of range wrap around.

    >>> from tilewright import Int8
    >>> int(Int8(100) + Int8(100))
    -56
    """

    __slots__ = ()
    is_integer, is_float = True, False
    signed: bool
    zero = 0

    def __init_subclass__(cls, *, width: int = 0, signed: bool = True) -> None:
        if width:
            cls.width = cls.bits = width
            cls.signed = signed
            cls.max = (1 << width - signed) - 1
            cls.name = f"i{width}"
            cls._computed_in = cls.__name__
            cls.dlpack = (0 if signed else 1, width)
            cls.numpy = f"{'' if signed else 'u'}int{width}" if width in (8, 16, 32, 64) else None
            cls.__doc__ = cls.__doc__ or f"{'A signed' if signed else 'An unsigned'} integer of {width} bits."

    @classmethod
    def _round(cls, value: Any) -> int:
        if isinstance(value, float):
            if not value.is_integer():
                raise TypeError(f"{cls}({value}): not an integer; cut the fraction off with int(...) first")
            value = int(value)
        try:
            number = int(value.__index__())
        except AttributeError:
            raise TypeError(f"{cls}: expected a number, but got {value!r} of type {type(value).__name__}") from None
        low = -cls.max - 1 if cls.signed else 0
        if not low <= number <= cls.max:
            raise OverflowError(f"{cls}({number}): out of range; {cls} holds {low} to {cls.max}")
        return number

    @classmethod
    def _made(cls, value: Any) -> int:
        try:
            bits = operator.index(value)
        except TypeError:  # floats; torch's have the method and refuse
            bits = int(cls._finite(value))
        return cls._decode(bits & (1 << cls.width) - 1)

    @classmethod
    def _finite(cls, value: Any) -> float:
        number = as_float(value, cls)
        if number != number:
            raise ValueError(f"{cls}(NaN): an integer type has no NaN")
        if math.isinf(number):
            raise OverflowError(f"{cls}({number}): an integer type has no infinity")
        return number

    @classmethod
    def _converted(cls, source: Numeric) -> Any:
        value = source._value if isinstance(source, Integer) else _truncate(source._value, cls)
        return cls._from_integer(value, source)

    @classmethod
    def _from_integer(cls, value: int, source: Numeric) -> Integer:
        """C's conversion of an integer: the low bits."""
        return cls._of(cls._decode(value & (1 << cls.width) - 1))

    @classmethod
    def _decode(cls, bits: int) -> int:
        return bits - (1 << cls.width) if cls.signed and bits > cls.max else bits

    @classmethod
    def _encode(cls, value: Any) -> int:
        return cls._round(value) & (1 << cls.width) - 1

    @classmethod
    def _with(cls, other: object) -> type[Numeric] | None:
        if isinstance(other, Integer):
            return integer_type(cls, type(other))
        if isinstance(other, Float):
            return type(other)
        if isinstance(other, int):
            return cls
        return Float32 if isinstance(other, float) else None

    @classmethod
    def _under(cls, symbol: str) -> type[Numeric] | None:
        if symbol == "/":
            return Float32 if cls.width <= 32 else Float64
        return cls

    @classmethod
    def _adopts(cls, value: Any) -> bool:
        return not isinstance(value, int) or -(1 << cls.width - 1) <= value < 1 << cls.width

    @classmethod
    def _with_wide(cls) -> type[Numeric]:
        return Int64 if cls.width < 64 else Int128

    def __index__(self) -> int:
        return int(self._known("index"))

    def __invert__(self) -> Any:
        if type(self._value) is Symbol:
            return self._of(traced.unary("not", type(self), self._value))
        return self._binary(-1 if self.signed else self.max, operator.xor, "^")


class Boolean(Integer):
    """True or False; one byte in memory."""

    __slots__ = ()
    width = 1
    bits = 8
    signed = False
    max = 1
    name = "i8"
    dlpack = (6, 8)
    numpy = "bool"
    _computed_in = "Boolean"

    @classmethod
    def _round(cls, value: Any) -> Any:
        # Nearly everything has a truth value; numbers of other libraries are floats, too, and a vector says its own.
        if not isinstance(value, (bool, int, float)) and not hasattr(value, "__float__"):
            raise TypeError(f"Boolean: expected a number, but got {value!r} of type {type(value).__name__}")
        return bool(value)

    _made = _round

    @classmethod
    def _from_integer(cls, value: int, source: Numeric) -> Integer:
        return cls._of(bool(source._value))

    @classmethod
    def _decode(cls, bits: int) -> bool:
        return bits != 0

    @classmethod
    def _with(cls, other: object) -> type[Numeric] | None:
        return Int32 if isinstance(other, int) and not isinstance(other, bool) else super()._with(other)

    @classmethod
    def _under(cls, symbol: str) -> type[Numeric] | None:
        return cls if symbol in BITWISE and symbol not in ("<<", ">>") else Int32._under(symbol)

    def __neg__(self) -> Any:
        return -self.to(Int32)

    def __invert__(self) -> Boolean:
        if type(self._value) is Symbol:
            return self._of(traced.unary("not", Boolean, self._value))
        return Boolean(not self._value)


class Int4(Integer, width=4):
    __slots__ = ()


class Int8(Integer, width=8):
    __slots__ = ()


class Int16(Integer, width=16):
    __slots__ = ()


class _DynamicInteger(Integer):
    """An integer whose value the structure of a layout does not know, with a number that divides it.

    A product multiplies the known divisors, a sum takes their greatest common divisor.
    """

    __slots__ = ("_div",)
    _div: int

    def __init__(self, value: Any = 0) -> None:
        super().__init__(value)
        self._div = value._div if isinstance(value, _DynamicInteger) else 1

    @classmethod
    def _of(cls, value: Any) -> Self:
        return cls._make(value, 1)

    @classmethod
    def _make(cls, value: int, div: int) -> Self:
        """The instance with a value and a number known to divide it; both are taken as they are."""
        self = cls.__new__(cls)
        self._value = value
        self._div = div
        return self

    @classmethod
    def _from_integer(cls, value: int, source: Numeric) -> Integer:
        number = cls._decode(value & (1 << cls.width) - 1)
        return cls._make(number, source._div if isinstance(source, _DynamicInteger) and number == value else 1)

    @classmethod
    def _symbolic(cls, symbol: Any, source: Numeric) -> Self:
        known = source._div if isinstance(source, _DynamicInteger) else 1
        if source.width > cls.width:  # what is cut off is a multiple of a power of two
            known &= -known
        return cls._make(traced.convert(symbol, cls), known)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._make, (self._value, self._div)

    def __str__(self) -> str:
        facts = ["i64"] if self.width == 64 else []
        if self._div != 1:
            facts.append(f"div={self._div}")
        return "?{" + " ".join(facts) + "}" if facts else "?"

    def _binary(self, other: object, function: Callable[[Any, Any], Any], symbol: str, swap: bool = False) -> Any:
        result = super()._binary(other, function, symbol, swap)
        if isinstance(result, _DynamicInteger):
            a, b = (other, self) if swap else (self, other)
            result._div = _divisor_of_result(symbol, a, b)
        return result

    def __neg__(self) -> Self:
        result: Self = super().__neg__()
        result._div = self._div
        return result


class Int32(_DynamicInteger, width=32):
    """A 32-bit integer that a layout treats as known only at run time.

    >>> x = Int32(8)
    >>> print(x, x * 4, x + 2, x == 8)
    ? ?{div=4} ? True
    """

    __slots__ = ()


class Int64(_DynamicInteger, width=64):
    """A 64-bit integer that a layout treats as known only at run time.

    >>> print(Int64(8), Int64(8) * 16)
    ?{i64} ?{i64 div=16}
    """

    __slots__ = ()


class Int128(Integer, width=128):
    __slots__ = ()


class Uint8(Integer, width=8, signed=False):
    __slots__ = ()


class Uint16(Integer, width=16, signed=False):
    __slots__ = ()


class Uint32(Integer, width=32, signed=False):
    __slots__ = ()


class Uint64(Integer, width=64, signed=False):
    __slots__ = ()


class Uint128(Integer, width=128, signed=False):
    __slots__ = ()


def integer_type(a: type[Integer], b: type[Integer]) -> type[Integer]:
    """The wider of two types; of equal width the unsigned one."""
    if a.width == b.width:
        return b if a.signed else a
    return a if a.width > b.width else b


def _truncate(value: float, dtype: type[Integer]) -> int:
    """The integer of the type next to a number, towards zero; 0 for NaN."""
    low = -dtype.max - 1 if dtype.signed else 0
    if dtype is Boolean:
        return int(value != 0)
    if value != value:
        return 0
    return low if value <= low else dtype.max if value >= dtype.max else int(value)


def _divisor_of_result(symbol: str, a: object, b: object) -> int:
    """A number known to divide `a symbol b`, from what is known of the operands."""
    left, right = _divisor(a), _divisor(b)
    known = 1
    if symbol == "*":
        known = left * right
    elif symbol in ("+", "-", "%", "min", "max"):
        known = math.gcd(left, right)
    elif symbol == "//" and isinstance(b, int) and right and left % right == 0:
        known = left // right
    elif symbol == "<<" and isinstance(b, int):
        known = left << b
    return known or 1


def _divisor(value: object) -> int:
    """A number known to divide a value; 0 for the static 0."""
    if isinstance(value, _DynamicInteger):
        return value._div
    return abs(value) if isinstance(value, int) else 1
