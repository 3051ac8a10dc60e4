"""Vectors at the prompt: NumPy arrays, with the arithmetic of the element types."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.numeric import Boolean, Float, Int4, Integer, Numeric

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]

__all__ = ["array_of", "bitcast", "call", "compare", "convert", "operate", "reduce", "storage"]


def storage(dtype: type[Numeric]) -> Any:
    """NumPy's type for the elements: its own, or a wider one that holds them."""
    if dtype.numpy is not None:
        return np.dtype(dtype.numpy)
    if dtype.bits > 64:
        return np.dtype(object)
    return np.dtype(np.int8 if dtype is Int4 else np.float32)


def array_of(dtype: type[Numeric], values: Any) -> Array:
    """Numbers as elements of the type."""
    return _kept(dtype, np.asarray(values))


def _kept(dtype: type[Numeric], array: Array) -> Array:
    """What the type keeps of each number."""
    with np.errstate(all="ignore"):
        if dtype.numpy is not None:
            return array.astype(dtype.numpy)
        if dtype.__name__ == "BFloat16":
            bits = array.astype(np.float32).view(np.uint32)
            rounded = bits + (0x7FFF + (bits >> 16 & 1)).astype(np.uint32) & np.uint32(0xFFFF0000)
            return np.where(np.isnan(array), np.float32(np.nan), rounded.view(np.float32))
        return np.array([dtype._made(x) for x in array.tolist()], storage(dtype)).reshape(array.shape)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.mod,
    "**": np.power,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": np.left_shift,
    ">>": np.right_shift,
    "min": np.fmin,
    "max": np.fmax,
}
_COMPARISONS: dict[str, Callable[..., Any]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def operate(symbol: str, dtype: type[Numeric], a: Array, b: Array) -> Array:
    """a operator b, element by element, both of one type."""
    with np.errstate(all="ignore"):
        result = _OPERATIONS[symbol](a, b)
        if symbol in ("<<", ">>"):
            far = b.astype(object) >= dtype.width
            ends = np.where(a < 0, -1, 0) if symbol == ">>" else 0
            result = np.where(far, ends, result)
    return _kept(dtype, result)


def compare(symbol: str, a: Array, b: Array) -> Array:
    """Whether a operator b, element by element."""
    result: Array = _COMPARISONS[symbol](a, b)
    return result


def convert(source: type[Numeric], dtype: type[Numeric], array: Array) -> Array:
    """The elements as another type, as Numeric.to converts them."""
    if dtype is Boolean:
        return array != 0
    if issubclass(source, Float) and issubclass(dtype, Integer):
        low = -dtype.max - 1 if dtype.signed else 0
        return np.array([_integer(x, low, dtype.max) for x in array.tolist()], storage(dtype))
    return _kept(dtype, array)


def _integer(value: float, low: int, high: int) -> int:
    if value != value:
        return 0
    return low if value <= low else high if value >= high else int(value)


def bitcast(source: type[Numeric], dtype: type[Numeric], array: Array) -> Array:
    """The same bits as elements of another type."""
    if source.numpy is not None and dtype.numpy is not None:
        return np.ascontiguousarray(array).view(dtype.numpy)
    whole = 0
    for i, value in enumerate(array.tolist()):
        whole |= source._encode(value) << i * source.bits
    mask, count = (1 << dtype.bits) - 1, len(array) * source.bits // dtype.bits
    return np.array([dtype._decode(whole >> i * dtype.bits & mask) for i in range(count)], storage(dtype))


def reduce(symbol: str, dtype: type[Numeric], array: Array, init: Any, groups: Sequence[int], count: int) -> Array:
    """Of each group the elements one after the other: init operator x0 operator x1 .."""
    order = np.argsort(np.asarray(groups), kind="stable")
    steps = array[order].reshape(count, -1)
    total = np.full(count, init, storage(dtype))
    for step in range(steps.shape[1]):
        total = operate(symbol, dtype, total, steps[:, step])
    return total


def _rsqrt(x: Array) -> Array:
    result: Array = 1 / np.sqrt(x)
    return result


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "log", "log2", "log10", "sqrt", "sin", "cos", "tan")},
    "tanh": np.tanh,
    "floor": np.floor,
    "ceil": np.ceil,
    "abs": np.abs,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "pow": np.power,
    "rsqrt": _rsqrt,
    "rcp": np.reciprocal,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "min": np.fmin,
    "max": np.fmax,
    "fma": lambda a, b, c: a * b + c,  # of Float32 and narrower types: the product is exact in Float64
}


def call(code: str, dtype: type[Numeric], *arrays: Array) -> Array:
    """A function of the program, element by element, computed in Float64 and rounded once."""
    with np.errstate(all="ignore"):
        wide = [x.astype(np.float64) if issubclass(dtype, Float) else x for x in arrays]
        return _kept(dtype, np.asarray(_FUNCTIONS[code](*wide)))
