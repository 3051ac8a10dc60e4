"""Floating-point types: their formats, and exact conversion between numbers and bit patterns."""

from __future__ import annotations

import math
from typing import Any

from tilewright.numeric.base import BITWISE, Numeric


class Float(Numeric):
    """A floating-point number: a sign, `exponent` bits with a bias, `mantissa` bits after the leading one.

    What the largest patterns mean differs: `ieee` has infinities and NaN; `fn` and `fnuz` have NaN alone; `finite` has
    neither. `fnuz` has no negative zero. A value too large becomes infinity, or the largest number where there is none.

    >>> from tilewright import Float16
    >>> float(Float16(0.1))
    0.0999755859375
    """

    __slots__ = ()
    is_integer, is_float = False, True
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
        cls._computed_in = "Float32" if storage or pattern < 16 else cls.__name__
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
        number = as_float(value, cls)
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

    @classmethod
    def _with(cls, other: object) -> type[Numeric] | None:
        if isinstance(other, Float):
            return float_type(cls, type(other))
        return cls if isinstance(other, (Numeric, int, float)) else None

    @classmethod
    def _under(cls, symbol: str) -> type[Numeric] | None:
        return None if symbol in BITWISE else cls


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
        number = as_float(value, cls)
        if math.isnan(number):
            return 255
        if number <= 0:
            raise ValueError(f"{cls}({number}): the type holds powers of two only")
        if math.isinf(number):
            return 254
        fraction, exponent = math.frexp(number)  # 0.5 <= fraction < 1; ties go up
        return min(max(exponent - (fraction < 0.75) + 127, 0), 254)


def as_float(value: Any, dtype: type[Numeric]) -> float:
    """A Python float that rounds to the same number of the type as the value does."""
    if isinstance(value, (str, bytes)):  # float would read them
        raise TypeError(f"{dtype}: expected a number, but got {value!r} of type {type(value).__name__}")
    if isinstance(value, int) and getattr(dtype, "mantissa", 52) < 52 and value.bit_length() > 53:
        # Keep 53 bits and let the last one say whether anything was cut off: then rounding again can't go wrong.
        cut = value.bit_length() - 53
        sign, magnitude = (-1, -value) if value < 0 else (1, value)
        kept = magnitude >> cut
        value = sign * ((kept | (kept << cut != magnitude)) << cut)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError, RuntimeError):  # the last is torch's
        raise TypeError(f"{dtype}: expected a number, but got {value!r} of type {type(value).__name__}") from None


def float_type(a: type[Float], b: type[Float]) -> type[Float]:
    """The wider of two types; Float32 for two of one width that differ."""
    if a is b:
        return a
    if a.width == b.width:
        return Float32
    return a if a.width > b.width else b
