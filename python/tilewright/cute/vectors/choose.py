"""Vectors like others, choices between vectors, and questions about all elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._boundary import shown
from tilewright.cute.vectors.shapes import broadcast_shape
from tilewright.cute.vectors.tensor_ssa import ReductionOp, TensorSSA, as_vector, full
from tilewright.numeric import Boolean, Float32, Int32, Numeric
from tilewright.numeric.base import require_dtype
from tilewright.numeric.traced import emit

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor
    from tilewright.cute.vectors.tensor_ssa import Operand, Value

__all__ = ["all_", "any_", "empty_like", "full_like", "ones_like", "where", "zeros_like"]


def full_like(
    a: Tensor | TensorSSA,
    fill_value: Numeric | float,
    dtype: type[Numeric] | None = None,
    *,
    loc: object = None,
    ip: object = None,
) -> TensorSSA:
    """A vector of the shape and type of a tensor or vector, with one number in every element.

    Raises TypeError where neither `a` nor dtype gives an element type, and for a fill_value that is no number;
    LayoutError for a shape that is not static. Source: CuTeDSL `cute.full_like`.

    >>> from tilewright import Float32, cute
    >>> list(cute.full_like(cute.make_rmem_tensor(2, Float32), 7))
    [7.0, 7.0]
    """
    return _like("full_like", a, fill_value, dtype)


def _like(function: str, a: Any, fill_value: Any, dtype: Any) -> TensorSSA:
    if not hasattr(a, "shape"):
        raise TypeError(f"{function}: expected a to be a Tensor or a TensorSSA, but got {shown(a)}")
    found = getattr(a, "element_type", None) if dtype is None else dtype
    if found is None:
        raise TypeError(f"{function}: {shown(a)} has no element type; pass dtype")
    require_dtype(function, found)
    return full(a.shape, fill_value, found)


def zeros_like(
    a: Tensor | TensorSSA, dtype: type[Numeric] | None = None, *, loc: object = None, ip: object = None
) -> TensorSSA:
    """A vector of zeros of the shape and type of a tensor or vector.

    Raises as full_like. Source: CuTeDSL `cute.zeros_like`.

    >>> from tilewright import Float32, cute
    >>> list(cute.zeros_like(cute.make_rmem_tensor(2, Float32)))
    [0.0, 0.0]
    """
    return _like("zeros_like", a, 0, dtype)


def ones_like(
    a: Tensor | TensorSSA, dtype: type[Numeric] | None = None, *, loc: object = None, ip: object = None
) -> TensorSSA:
    """A vector of ones of the shape and type of a tensor or vector.

    Raises as full_like. Source: CuTeDSL `cute.ones_like`.

    >>> from tilewright import Int8, cute
    >>> list(cute.ones_like(cute.make_rmem_tensor(2, Int8)))
    [1, 1]
    """
    return _like("ones_like", a, 1, dtype)


def empty_like(
    a: Tensor | TensorSSA, dtype: type[Numeric] | None = None, *, loc: object = None, ip: object = None
) -> TensorSSA:
    """A vector of the shape and type of a tensor or vector, whose elements mean nothing: here they are zeros.

    Raises as full_like. Source: CuTeDSL `cute.empty_like`.

    >>> from tilewright import Int8, cute
    >>> len(cute.empty_like(cute.make_rmem_tensor(2, Int8)))
    2
    """
    return _like("empty_like", a, 0, dtype)


def where(cond: Operand, x: Operand, y: Operand, *, loc: object = None, ip: object = None) -> Value:
    """x where a condition is true, else y, element by element; both are computed.

    Vectors broadcast as in arithmetic, and numbers are taken as they are: of numbers alone the result is a number.
    Raises TypeError for anything but numbers and TensorSSAs, ValueError for vectors whose shapes do not broadcast.
    Source: CuTeDSL `cute.where`.

    >>> from tilewright import Float32, cute
    >>> vector = cute.full(2, 3.0, Float32)
    >>> list(cute.where(vector > 2, vector, 0.0)), cute.where(True, 1, 2)
    ([3.0, 3.0], 1)
    """
    for name, operand in (("cond", cond), ("x", x), ("y", y)):
        _require_operand("where", name, operand)
    dtype = _type_of_both(x, y)
    if not any(isinstance(operand, TensorSSA) for operand in (cond, x, y)):
        if isinstance(cond, Numeric) and cond.is_traced:
            a, b = dtype(x), dtype(y)
            condition = cond.to(Boolean)._value
            return dtype._of(emit("select", (condition, as_vector(a, dtype).symbol, as_vector(b, dtype).symbol)))
        chosen = x if cond else y
        return dtype(chosen) if isinstance(x, Numeric) or isinstance(y, Numeric) else chosen
    c = as_vector(cond, Boolean).to(Boolean)
    a, b = as_vector(x, dtype).to(dtype), as_vector(y, dtype).to(dtype)
    shape = broadcast_shape(broadcast_shape(a.shape, b.shape, "where"), c.shape, "where")
    c, a, b = (v._repeated(shape, pad_left=True) for v in (c, a, b))
    if c.is_traced or a.is_traced or b.is_traced:
        return a._like(emit("select", (c.symbol, a.symbol, b.symbol)))
    import numpy as np

    return a._like(np.where(c._value, a._value, b._value))


def _type_of_both(x: Any, y: Any) -> Any:
    """The type of a choice between two operands."""
    kinds = [v.dtype if isinstance(v, TensorSSA) else type(v) if isinstance(v, Numeric) else None for v in (x, y)]
    if kinds[0] is None and kinds[1] is None:
        return Float32 if isinstance(x, float) or isinstance(y, float) else Boolean if isinstance(x, bool) else Int32
    first = kinds[0] or kinds[1]
    other = (y if kinds[0] else x) if None in kinds else kinds[1]._of(0)  # type: ignore[union-attr]
    common = first._of(0)._common(other)  # type: ignore[union-attr]
    if common is None:
        raise TypeError(f"where: expected numbers or vectors, but got {x!r} and {y!r}")
    return common


def any_(x: TensorSSA, *, loc: object = None, ip: object = None) -> Boolean | bool:
    """Whether an element is not 0.

    Raises TypeError for anything but a TensorSSA or a number. Source: CuTeDSL `cute.any_`.

    >>> from tilewright import Float32, cute
    >>> cute.any_(cute.full(4, 1.0, Float32) > 2)
    False
    """
    found: Boolean | bool = _as_flag("any_", x).reduce(ReductionOp.MAX, 0, 0) != 0
    return found


def all_(x: TensorSSA, *, loc: object = None, ip: object = None) -> Boolean | bool:
    """Whether no element is 0.

    Raises TypeError for anything but a TensorSSA or a number. Source: CuTeDSL `cute.all_`.

    >>> from tilewright import Float32, cute
    >>> cute.all_(cute.full(4, 3.0, Float32) > 2)
    True
    """
    found: Boolean | bool = _as_flag("all_", x).reduce(ReductionOp.MIN, 1, 0) != 0
    return found


def _as_flag(function: str, x: TensorSSA) -> TensorSSA:
    _require_operand(function, "x", x)
    return as_vector(x, Boolean).to(Boolean).to(Int32)


def _require_operand(function: str, argument: str, x: Any) -> None:
    """Refuse what has a truth value in Python, but is no number: a tensor, a list, None."""
    if isinstance(x, (TensorSSA, Numeric, int, float)) or getattr(x, "ndim", None) == 0:  # NumPy's numbers
        return
    hint = "; x.load() gives its elements" if hasattr(x, "load") else ""
    raise TypeError(f"{function}: expected {argument} to be a TensorSSA or a number, but got {shown(x)}{hint}")
