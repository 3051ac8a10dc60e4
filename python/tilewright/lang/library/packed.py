"""Arithmetic of two Float32 at a time: `add_packed_f32x2` and its like in `cute.arch`.

Devices before Blackwell have no instruction for it, so each is written as two operations, which give the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.numeric import Boolean, Float32, Float64, Int32
from tilewright.numeric.traced import emit, symbol_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.numeric import Numeric

    Value: TypeAlias = Numeric | float
    Pair: TypeAlias = tuple[Value, Value]

__all__ = ["add_packed_f32x2", "fma_packed_f32x2", "mul_packed_f32x2", "sub_packed_f32x2"]

_ROUNDINGS = ("rn", "rm", "rp", "rz")


def add_packed_f32x2(
    a: Pair, b: Pair, *, rnd: str = "rn", loc: object = None, ip: object = None
) -> tuple[Float32, Float32]:
    """(a[0] + b[0], a[1] + b[1]), rounded to nearest ("rn"), down ("rm"), up ("rp") or towards zero ("rz")."""
    return _pair("add_packed_f32x2", rnd, lambda x, y: (x, Float32(1), y), a, b)


def sub_packed_f32x2(
    a: Pair, b: Pair, *, rnd: str = "rn", loc: object = None, ip: object = None
) -> tuple[Float32, Float32]:
    """(a[0] - b[0], a[1] - b[1]); rnd as in add_packed_f32x2."""
    return _pair("sub_packed_f32x2", rnd, lambda x, y: (x, Float32(1), -y), a, b)


def mul_packed_f32x2(
    a: Pair, b: Pair, *, rnd: str = "rn", loc: object = None, ip: object = None
) -> tuple[Float32, Float32]:
    """(a[0] * b[0], a[1] * b[1]); rnd as in add_packed_f32x2."""
    return _pair("mul_packed_f32x2", rnd, lambda x, y: (x, y, None), a, b)


def fma_packed_f32x2(
    a: Pair, b: Pair, c: Pair, *, rnd: str = "rn", loc: object = None, ip: object = None
) -> tuple[Float32, Float32]:
    """(a[0] * b[0] + c[0], a[1] * b[1] + c[1]), each rounded once; rnd as in add_packed_f32x2."""
    return _pair("fma_packed_f32x2", rnd, lambda x, y, z: (x, y, z), a, b, c)


def _pair(name: str, rnd: str, terms: Callable[..., Any], *pairs: Pair) -> tuple[Float32, Float32]:
    if rnd not in _ROUNDINGS:
        raise ValueError(f"{name}: rnd is {rnd!r}; expected one of {', '.join(map(repr, _ROUNDINGS))}")
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{name}: expected pairs of Float32, but got {pair!r}")
    first, second = (_fma(terms(*(Float32(pair[i]) for pair in pairs)), rnd) for i in range(2))
    return first, second


def _fma(terms: tuple[Any, Any, Any], rnd: str) -> Any:
    """x * y + z, rounded once; without z the product."""
    x, y, z = terms
    if rnd == "rn":
        if z is None:
            return x * y
        return Float32._of(emit("fma", [symbol_of(Float32, number._value) for number in (x, y, z)]))
    product: Any = x.to(Float64) * y.to(Float64)  # has all its bits
    total, lost = product, Float64(0.0)
    if z is not None:
        other: Any = z.to(Float64)
        total = product + other
        back = total - product
        lost = (product - (total - back)) + (other - back)  # what the sum of both has beyond its 53 bits
    nearest = total.to(Float32)
    beyond = (total - nearest.to(Float64)) + lost  # has the sign of what rounding to nearest took away
    if rnd == "rz":
        is_off = _select(nearest < Float32(0), beyond > Float64(0), beyond < Float64(0))
        return _select(is_off, _step(nearest, _select(nearest < Float32(0), Int32(1), Int32(-1))), nearest)
    is_off = beyond < Float64(0) if rnd == "rm" else beyond > Float64(0)
    return _select(is_off, _step(nearest, Int32(-1) if rnd == "rm" else Int32(1)), nearest)


def _step(x: Any, by: Any) -> Any:
    """The next Float32 below (by is -1) or above (1)."""
    bits: Any = _bits(x, Int32)
    moved = _select(x < Float32(0), bits - by, bits + by)
    smallest = _select(by < Int32(0), Int32(-(2**31) + 1), Int32(1))
    return _bits(_select(x == Float32(0), smallest, moved), Float32)


def _bits(x: Any, dtype: Any) -> Any:
    return dtype._of(emit("bitcast", [symbol_of(type(x), x._value)], type=dtype.mlir_type))


def _select(condition: Any, x: Any, y: Any) -> Any:
    operands = [symbol_of(type(one), one._value) for one in (Boolean(condition), x, y)]
    return type(x)._of(emit("select", operands))
