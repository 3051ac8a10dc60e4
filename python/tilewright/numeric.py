"""Element types, and the dynamic integers of the layout algebra.

A class is the name of a type (`Float16.width == 16`); an instance is one immutable value of it, held exactly.

Instances of Int32 and Int64 are the *dynamic* integers of the algebra: their value is known here but counts as unknown
in the structure of a layout, so they print as `?`, and they carry a number known to divide them (`?{div=4}`).
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self

__all__ = [
    "BFloat16",
    "Boolean",
    "Float",
    "Float4E2M1FN",
    "Float6E2M3FN",
    "Float6E3M2FN",
    "Float8E4M3",
    "Float8E4M3B11FNUZ",
    "Float8E4M3FN",
    "Float8E5M2",
    "Float8E8M0FNU",
    "Float16",
    "Float32",
    "Float64",
    "Int4",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Int128",
    "Integer",
    "Numeric",
    "TFloat32",
    "Uint8",
    "Uint16",
    "Uint32",
    "Uint64",
    "Uint128",
]


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

    def __init__(self, value: Any = 0) -> None:
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

    def to(self, dtype: type[Any]) -> Any:
        """Convert as C does: integers wrap around, fractions are cut off, floats round to nearest, ties to even.

        Raises OverflowError for a float whose integer part the integer type does not hold.
        Source: CuTeDSL `Numeric.to`.

        >>> Float32(3.7).to(Int8), Int32(300).to(Uint8), Float32(0.1).to(Float16)
        (Int8(3), Uint8(44), Float16(0.0999755859375))
        """
        if dtype in (bool, int, float):
            return dtype(self._value)
        if not (isinstance(dtype, type) and issubclass(dtype, Numeric)):
            raise TypeError(f"{type(self)}.to: expected a numeric type such as Float32, but got {dtype!r}")
        if issubclass(dtype, Integer):
            value = self._value if isinstance(self, Integer) else _truncate(self._value, dtype)
            return dtype._from_integer(value, self)
        return dtype._of(dtype._round(self._value))

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
        dtype = _result_type(self, other)
        if dtype is None:
            return NotImplemented
        if symbol == "/" and issubclass(dtype, Integer):
            dtype = Float64
        if dtype is Boolean and symbol not in _BITWISE:
            dtype = Int32
        if symbol in _BITWISE and issubclass(dtype, Float):
            raise TypeError(f"{symbol} needs two integers, but got {_operands(self, other, swap, symbol)}")
        a = dtype._round(self._value)
        b = dtype._round(other._value if isinstance(other, Numeric) else other)
        result = function(b, a) if swap else function(a, b)
        if issubclass(dtype, Integer):
            if not dtype.signed:
                result &= dtype.max
            elif not -dtype.max - 1 <= result <= dtype.max:
                text = _operands(self, other, swap, symbol)
                raise OverflowError(f"{text} = {result} does not fit in {dtype.width} bits; use a wider type")
        return dtype._of(dtype._round(result))

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


class Integer(Numeric):
    """An integer of `width` bits. Signed results out of range are an error, unsigned ones wrap around."""

    __slots__ = ()
    signed: bool
    zero = 0

    def __init_subclass__(cls, *, width: int = 0, signed: bool = True) -> None:
        if width:
            cls.width = cls.bits = width
            cls.signed = signed
            cls.max = (1 << width - signed) - 1
            cls.name = f"i{width}"
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
    def _from_integer(cls, value: int, source: Numeric) -> Integer:
        """C's conversion of an integer: the low bits."""
        return cls._of(cls._decode(value & (1 << cls.width) - 1))

    @classmethod
    def _decode(cls, bits: int) -> int:
        return bits - (1 << cls.width) if cls.signed and bits > cls.max else bits

    @classmethod
    def _encode(cls, value: Any) -> int:
        return cls._round(value) & (1 << cls.width) - 1

    def __index__(self) -> int:
        return int(self._value)

    def __neg__(self) -> Any:
        return 0 - self

    def __invert__(self) -> Any:
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

    @classmethod
    def _round(cls, value: Any) -> Any:
        if not isinstance(value, (bool, int, float)) and not hasattr(value, "__bool__"):
            raise TypeError(f"Boolean: expected a number, but got {value!r} of type {type(value).__name__}")
        return bool(value)

    @classmethod
    def _from_integer(cls, value: int, source: Numeric) -> Integer:
        return cls._of(bool(source._value))

    @classmethod
    def _decode(cls, bits: int) -> bool:
        return bits != 0

    def __invert__(self) -> Boolean:
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


class Float(Numeric):
    """A floating-point number: a sign, `exponent` bits with a bias, `mantissa` bits after the leading one.

    What the largest patterns mean differs: `ieee` has infinities and NaN; `fn` and `fnuz` have NaN alone; `finite` has
    neither. `fnuz` has no negative zero. A value too large becomes infinity, or the largest number where there is none.
    """

    __slots__ = ()
    inf: float  # of the kind ieee
    exponent: int
    mantissa: int
    bias: int
    kind: str
    _top: int  # the pattern of the largest number
    _shift = 0  # unused low bits in memory

    def __init_subclass__(
        cls,
        *,
        name: str,
        exponent: int,
        mantissa: int,
        dlpack: int,
        kind: str = "ieee",
        bias: int = 0,
        signed: bool = True,
        storage: int = 0,
    ) -> None:
        cls.name = name
        cls.exponent, cls.mantissa, cls.kind = exponent, mantissa, kind
        cls.bias = bias or (1 << exponent - 1) - 1
        pattern = signed + exponent + mantissa
        cls.width = cls.bits = storage or pattern
        cls._shift = cls.bits - pattern
        cls.dlpack = (dlpack, cls.bits)
        cls.numpy = f"float{cls.width}" if dlpack == 2 and not storage else None
        # Patterns above the largest number: a whole exponent, NaN alone, or none.
        reserved = {"ieee": 1 << mantissa, "fn": 1, "fnuz": 0, "finite": 0}[kind]
        cls._top = (1 << exponent + mantissa) - 1 - reserved
        cls.max = cls._decode(cls._top << cls._shift)
        if signed:
            cls.zero = 0.0
        if kind == "ieee":
            cls.inf = math.inf
        cls.__doc__ = cls.__doc__ or (
            f"A number of {cls.width} bits: a sign, {exponent} of exponent (bias {cls.bias}), {mantissa} of mantissa; "
            f"{'with' if kind == 'ieee' else 'no'} infinities, {'no' if kind == 'finite' else 'with'} NaN; "
            f"at most {cls.max:g}."
        )

    @classmethod
    def _decode(cls, bits: int) -> float:
        bits >>= cls._shift
        negative = bits >> cls.exponent + cls.mantissa
        bits &= (1 << cls.exponent + cls.mantissa) - 1
        if bits > cls._top or (negative and bits == 0 and cls.kind == "fnuz"):
            return (-math.inf if negative else math.inf) if bits == cls._top + 1 and cls.kind == "ieee" else math.nan
        e, m = bits >> cls.mantissa, bits & (1 << cls.mantissa) - 1
        if e:
            m += 1 << cls.mantissa
        value = math.ldexp(m, max(e, 1) - cls.bias - cls.mantissa)
        return -value if negative else value

    @classmethod
    def _pattern(cls, value: Any) -> int:
        """The bit pattern nearest to a number, ties to even."""
        number = _as_float(value, cls)
        negative = math.copysign(1.0, number) < 0
        magnitude = abs(number)
        if math.isnan(number):
            if cls.kind == "finite":
                raise ValueError(f"{cls} has no NaN")
            if cls.kind == "fnuz":
                return 1 << cls.exponent + cls.mantissa
            quiet = 1 << cls.mantissa - 1 if cls.kind == "ieee" else 0
            return cls._top + 1 + quiet
        if math.isinf(number):
            bits = cls._top + (cls.kind == "ieee")
        else:
            exponent = max(math.frexp(magnitude)[1] - 1, 1 - cls.bias) if magnitude else 1 - cls.bias
            units = round(math.ldexp(magnitude, cls.mantissa - exponent))
            # Carrying into the exponent is what adding the units does.
            bits = (exponent + cls.bias - 1 << cls.mantissa) + units
            bits = min(bits, cls._top + (cls.kind == "ieee"))
        if cls.kind == "fnuz" and bits == 0:
            negative = False
        return bits | negative << cls.exponent + cls.mantissa

    @classmethod
    def _encode(cls, value: Any) -> int:
        return cls._pattern(value) << cls._shift

    @classmethod
    def _round(cls, value: Any) -> float:
        return cls._decode(cls._encode(value))


class Float64(Float, name="f64", exponent=11, mantissa=52, dlpack=2):
    __slots__ = ()


class Float32(Float, name="f32", exponent=8, mantissa=23, dlpack=2):
    __slots__ = ()


class Float16(Float, name="f16", exponent=5, mantissa=10, dlpack=2):
    __slots__ = ()


class BFloat16(Float, name="bf16", exponent=8, mantissa=7, dlpack=4):
    __slots__ = ()


class TFloat32(Float, name="tf32", exponent=8, mantissa=10, dlpack=2, storage=32):
    """Float32 of which the tensor cores read the upper 19 bits; 32 bits in memory."""

    __slots__ = ()


class Float8E5M2(Float, name="f8E5M2", exponent=5, mantissa=2, dlpack=12):
    __slots__ = ()


class Float8E4M3(Float, name="f8E4M3", exponent=4, mantissa=3, dlpack=8):
    __slots__ = ()


class Float8E4M3FN(Float, name="f8E4M3FN", exponent=4, mantissa=3, dlpack=10, kind="fn"):
    __slots__ = ()


class Float8E4M3B11FNUZ(Float, name="f8E4M3B11FNUZ", exponent=4, mantissa=3, dlpack=9, kind="fnuz", bias=11):
    __slots__ = ()


class Float6E3M2FN(Float, name="f6E3M2FN", exponent=3, mantissa=2, dlpack=16, kind="finite"):
    __slots__ = ()


class Float6E2M3FN(Float, name="f6E2M3FN", exponent=2, mantissa=3, dlpack=15, kind="finite"):
    __slots__ = ()


class Float4E2M1FN(Float, name="f4E2M1FN", exponent=2, mantissa=1, dlpack=17, kind="finite"):
    __slots__ = ()


class Float8E8M0FNU(Float, name="f8E8M0FNU", exponent=8, mantissa=0, dlpack=14, kind="fn", signed=False):
    """A power of two from 2^-127 to 2^127, without sign and without zero: the scale of the block formats."""

    __slots__ = ()

    @classmethod
    def _decode(cls, bits: int) -> float:
        return math.nan if bits == 255 else math.ldexp(1.0, bits - 127)

    @classmethod
    def _pattern(cls, value: Any) -> int:
        number = _as_float(value, cls)
        if math.isnan(number):
            return 255
        if number <= 0:
            raise ValueError(f"{cls}({number}): the type holds powers of two only")
        if math.isinf(number):
            return 254
        fraction, exponent = math.frexp(number)  # 0.5 <= fraction < 1; ties go up
        return min(max(exponent - (fraction < 0.75) + 127, 0), 254)


def _divide(a: Any, b: Any) -> float:
    if b:
        return float(a / b)
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _truncate(value: float, dtype: type[Integer]) -> int:
    low = -dtype.max - 1 if dtype.signed else 0
    if dtype is Boolean:
        return int(value != 0)
    if not low - 1 < value < dtype.max + 1:
        raise OverflowError(f"{value} to {dtype}: out of range; {dtype} holds {low} to {dtype.max}")
    return int(value)


def _as_float(value: Any, dtype: type[Float]) -> float:
    """A Python float that rounds to the same number of the type as the value does."""
    if isinstance(value, int) and dtype.mantissa < 52 and value.bit_length() > 53:
        # Keep 53 bits and let the last one say whether anything was cut off: then rounding again can't go wrong.
        cut = value.bit_length() - 53
        sign, magnitude = (-1, -value) if value < 0 else (1, value)
        kept = magnitude >> cut
        value = sign * ((kept | (kept << cut != magnitude)) << cut)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        raise TypeError(f"{dtype}: expected a number, but got {value!r} of type {type(value).__name__}") from None


def _operands(self: Numeric, other: object, swap: bool, symbol: str) -> str:
    texts = [f"{type(x)}({x._value})" if isinstance(x, Numeric) else repr(x) for x in (self, other)]
    return f" {symbol} ".join(reversed(texts) if swap else texts)


def _result_type(a: Numeric, b: object) -> type[Numeric] | None:
    """The type of an arithmetic result: the smallest that holds every value of both operands' types."""
    left = type(a)
    if isinstance(b, bool):
        return _promote(left, Boolean)
    if isinstance(b, int):
        return _promote(left, Int32) if left is Boolean else left
    if isinstance(b, float):
        return left if issubclass(left, Float) else Float64
    if not isinstance(b, Numeric):
        return None
    return _promote(left, type(b))


def _promote(a: type[Numeric], b: type[Numeric]) -> type[Numeric]:
    if a is b:
        return a
    candidates: list[type[Numeric]] = [a, b]
    if issubclass(a, Integer) and issubclass(b, Integer):
        candidates += [Int8, Int16, Int32, Int64, Int128]
    else:
        candidates += [Float16, Float32]
    return next((c for c in candidates if _holds(c, a) and _holds(c, b)), Float64)


def _holds(outer: type[Numeric], inner: type[Numeric]) -> bool:
    """Every finite value of one type is one of the other."""
    if issubclass(inner, Integer):
        digits = inner.width - inner.signed
        if issubclass(outer, Integer):
            return outer.width - outer.signed >= digits and outer.signed >= inner.signed
        return issubclass(outer, Float) and outer.mantissa + 1 >= digits and outer.max >= inner.max
    if not (issubclass(outer, Float) and issubclass(inner, Float)):
        return False
    if outer is Float8E8M0FNU:
        return outer is inner
    smallest = math.ldexp(1.0, 1 - inner.bias - inner.mantissa)
    return (
        outer.mantissa >= inner.mantissa
        and outer.max >= inner.max
        and math.ldexp(1.0, 1 - outer.bias - outer.mantissa) <= smallest
    )


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


_BITWISE = ("&", "|", "^", "<<", ">>")

_DTYPES: dict[tuple[int, int], type[Numeric]] = {
    dtype.dlpack: dtype
    for dtype in (
        *(Boolean, Int4, Int8, Int16, Int32, Int64, Int128, Uint8, Uint16, Uint32, Uint64, Uint128),
        *(Float16, Float32, Float64, BFloat16, Float8E5M2, Float8E4M3, Float8E4M3FN, Float8E4M3B11FNUZ),
        *(Float8E8M0FNU, Float6E3M2FN, Float6E2M3FN, Float4E2M1FN),
    )
}


def from_dlpack_code(code: int, bits: int) -> type[Numeric] | None:
    """The type of a DLPack code and number of bits, None where there is none."""
    return _DTYPES.get((code, bits))
