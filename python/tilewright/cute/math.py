"""Functions of numbers and vectors: element by element, at the prompt and in kernels.

The operand is a vector (TensorSSA), a number or a Python number; integers are computed with as floats (Float32, of 64
bits Float64). `fastmath=True` allows the hardware's approximation in a kernel, and makes no difference at the prompt.
Where a function has no value, as log of -1, the result is NaN or infinite, as in C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._names import names_of
from tilewright._registry import Lazy
from tilewright.cute.vectors.shapes import broadcast_shape
from tilewright.cute.vectors.tensor_ssa import TensorSSA, as_vector
from tilewright.numeric import Float, Float32, Float64, Numeric
from tilewright.numeric.traced import arithmetic, emit, symbol_of, unary

if TYPE_CHECKING:
    from tilewright.cute.vectors.tensor_ssa import Operand, Value

__all__ = [
    "absf",
    "acos",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "cos",
    "erf",
    "exp",
    "exp2",
    "floor",
    "fma",
    "log",
    "log2",
    "log10",
    "max",
    "min",
    "pow",
    "rcp",
    "rsqrt",
    "sin",
    "sqrt",
    "tan",
    "tanh",
]

_call = Lazy("tilewright.cute.vectors.eager:call")
_array_of = Lazy("tilewright.cute.vectors.eager:array_of")


def _float_of(dtype: type[Numeric]) -> type[Numeric]:
    if issubclass(dtype, Float):
        return dtype
    return Float32 if dtype.width <= 32 else Float64


def _operand(name: str, x: Any) -> Any:
    """A number or vector of a floating-point type."""
    if isinstance(x, (int, float)):
        return Float32(x)
    if not isinstance(x, (Numeric, TensorSSA)):
        raise TypeError(f"math.{name}: expected a number or a TensorSSA, but got {type(x).__name__} {x!r}")
    dtype = x.dtype if isinstance(x, TensorSSA) else type(x)
    return x.to(_float_of(dtype))


def _apply(name: str, operands: tuple[Any, ...], fastmath: bool = False) -> Any:
    """The function of the program called `name`, of numbers or vectors in one type and shape."""
    numbers = [_operand(name, x) for x in operands]
    if len(numbers) > 1:
        numbers = _together(name, numbers)
    first = numbers[0]
    ints = (1,) if fastmath else ()
    if isinstance(first, TensorSSA):
        if any(x.is_traced for x in numbers):
            return TensorSSA(_emit(name, first.dtype, [x.symbol for x in numbers], ints), first.shape, first.dtype)
        return TensorSSA(_call(name, first.dtype, *(x._value for x in numbers)), first.shape, first.dtype)
    dtype = type(first)
    if any(x.is_traced for x in numbers):
        return dtype._of(_emit(name, dtype, [symbol_of(dtype, x._value) for x in numbers], ints))
    return dtype._of(_call(name, dtype, *(_array_of(dtype, [x._value]) for x in numbers))[0].item())


def _emit(name: str, dtype: type[Numeric], symbols: list[Any], ints: tuple[int, ...]) -> Any:
    if len(symbols) == 1:
        return unary(name, dtype, symbols[0], ints)
    if name in ("min", "max"):
        return arithmetic(name, dtype, *symbols)
    return emit(name, symbols, ints=ints)


def _together(name: str, numbers: list[Any]) -> list[Any]:
    """Operands in the type that holds all, and as vectors of one shape where one of them is a vector."""
    common = _type(numbers[0])
    for x in numbers[1:]:
        common = common._of(0)._common(_type(x)._of(0)) or common
    if not any(isinstance(x, TensorSSA) for x in numbers):
        return [x.to(common) for x in numbers]
    vectors = [as_vector(x, common).to(common) for x in numbers]
    shape = vectors[0].shape
    for vector in vectors[1:]:
        shape = broadcast_shape(shape, vector.shape, f"math.{name}")
    return [vector._repeated(shape, pad_left=True) for vector in vectors]


def _type(x: Any) -> Any:
    return x.dtype if isinstance(x, TensorSSA) else type(x)


def exp(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """e to the power x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.exp`.

    >>> print(exp(0))
    1.0
    """
    return _apply("exp", (a,), fastmath)


def exp2(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """2 to the power x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.exp2`.

    >>> print(exp2(3))
    8.0
    """
    return _apply("exp2", (a,), fastmath)


def log(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The natural logarithm.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.log`.

    >>> print(log(1))
    0.0
    """
    return _apply("log", (a,), fastmath)


def log2(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The logarithm to base 2.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.log2`.

    >>> print(log2(8))
    3.0
    """
    return _apply("log2", (a,), fastmath)


def log10(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The logarithm to base 10.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.log10`.

    >>> print(log10(100))
    2.0
    """
    return _apply("log10", (a,), fastmath)


def sqrt(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The square root.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.sqrt`.

    >>> print(sqrt(16))
    4.0
    """
    return _apply("sqrt", (a,), fastmath)


def rsqrt(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """1 over the square root.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.rsqrt`.

    >>> print(rsqrt(4))
    0.5
    """
    return _apply("rsqrt", (a,), fastmath)


def rcp(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """1 / x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.rcp`.

    >>> print(rcp(8))
    0.125
    """
    return _apply("rcp", (a,), fastmath)


def sin(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The sine of x in radians.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.sin`.

    >>> print(sin(0))
    0.0
    """
    return _apply("sin", (a,), fastmath)


def cos(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The cosine of x in radians.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.cos`.

    >>> print(cos(0))
    1.0
    """
    return _apply("cos", (a,), fastmath)


def tan(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The tangent of x in radians.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.tan`.

    >>> print(tan(0))
    0.0
    """
    return _apply("tan", (a,), fastmath)


def asin(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The angle in radians whose sine is x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.asin`.

    >>> print(asin(0))
    0.0
    """
    return _apply("asin", (a,), fastmath)


def acos(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The angle in radians whose cosine is x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.acos`.

    >>> print(acos(1))
    0.0
    """
    return _apply("acos", (a,), fastmath)


def atan(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The angle in radians whose tangent is x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.atan`.

    >>> print(atan(0))
    0.0
    """
    return _apply("atan", (a,), fastmath)


def tanh(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The hyperbolic tangent.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.tanh`.

    >>> print(tanh(0))
    0.0
    """
    return _apply("tanh", (a,), fastmath)


def erf(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The error function 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.erf`.

    >>> print(erf(0))
    0.0
    """
    return _apply("erf", (a,), fastmath)


def floor(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The greatest integer at most x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.floor`.

    >>> print(floor(-1.5))
    -2.0
    """
    return _apply("floor", (a,), fastmath)


def ceil(a: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The least integer at least x.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.ceil`.

    >>> print(ceil(-1.5))
    -1.0
    """
    return _apply("ceil", (a,), fastmath)


def absf(a: Operand, *, loc: object = None, ip: object = None) -> Value:
    """The magnitude.

    Raises TypeError for anything but a number or a TensorSSA. Source: CuTeDSL `cute.math.absf`.

    >>> print(absf(-1.5))
    1.5
    """
    return _apply("abs", (a,))


def atan2(a: Operand, b: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """The angle in radians of the point (b, a).

    Raises TypeError for anything but numbers and TensorSSAs, ValueError for vectors whose shapes do not broadcast.
    Source: CuTeDSL `cute.math.atan2`.

    >>> print(atan2(0, 1))
    0.0
    """
    return _apply("atan2", (a, b), fastmath)


def pow(a: Operand, b: Operand, fastmath: bool = False, *, loc: object = None, ip: object = None) -> Value:
    """a to the power b.

    Raises TypeError for anything but numbers and TensorSSAs, ValueError for vectors whose shapes do not broadcast.
    Source: CuTeDSL `cute.math.pow`.

    >>> print(pow(2, 10))
    1024.0
    """
    return _apply("pow", (a, b), fastmath)


def max(a: Operand, b: Operand, *, loc: object = None, ip: object = None) -> Value:
    """The greater of two numbers; the other one where one is NaN.

    Raises TypeError for anything but numbers and TensorSSAs, ValueError for vectors whose shapes do not broadcast.
    Source: CuTeDSL `cute.math.max`.

    >>> print(max(1, 2.5))
    2.5
    """
    return _apply("max", (a, b))


def min(a: Operand, b: Operand, *, loc: object = None, ip: object = None) -> Value:
    """The lesser of two numbers; the other one where one is NaN.

    Raises TypeError for anything but numbers and TensorSSAs, ValueError for vectors whose shapes do not broadcast.
    Source: CuTeDSL `cute.math.min`.

    >>> print(min(1, 2.5))
    1.0
    """
    return _apply("min", (a, b))


def fma(a: Operand, b: Operand, c: Operand, *, loc: object = None, ip: object = None) -> Value:
    """a b + c, rounded once.

    Raises TypeError for anything but numbers and TensorSSAs, ValueError for vectors whose shapes do not broadcast.
    Source: CuTeDSL `cute.math.fma`.

    >>> print(fma(2, 3, 4))
    10.0
    """
    return _apply("fma", (a, b, c))


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
