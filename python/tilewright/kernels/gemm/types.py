"""The element types of a GEMM: what they are called, and which go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import numeric
from tilewright.kernels.gemm.problem import FLOAT8, FLOATS, SUMS
from tilewright.numeric import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    Numeric,
    Uint8,
)

if TYPE_CHECKING:
    from tilewright.kernels.common.operands import Operand

MIXED = ({Int8, Uint8}, set(FLOAT8))  # types that one MMA takes together

# What arrays of torch, NumPy and CuPy call the element types.
ARRAY_NAMES: dict[type[Numeric], str] = {
    Float16: "float16", BFloat16: "bfloat16", Float32: "float32", Float64: "float64", Float8E4M3FN: "float8_e4m3fn",
    Float8E5M2: "float8_e5m2", Int8: "int8", Uint8: "uint8", Int32: "int32",
}  # fmt: skip
TYPES = {name: dtype for dtype, name in ARRAY_NAMES.items()}


def type_named(function: str, name: str, dtype: Any) -> type[Numeric]:
    """The element type that a dtype of torch, NumPy or tilewright names.

    >>> import numpy
    >>> type_named("gemm", "out_dtype", numpy.float32), type_named("gemm", "out_dtype", numpy.dtype("int8"))
    (Float32, Int8)
    """
    if isinstance(dtype, type) and issubclass(dtype, Numeric):
        return dtype
    text = dtype.__name__ if isinstance(dtype, type) else str(dtype)
    found = TYPES.get(text.removeprefix("torch."))
    if found is None:
        raise TypeError(
            f"{function}: {name} is {dtype!r}, but it must be one of {', '.join(map(str, TYPES.values()))}, or what "
            "torch or NumPy call it"
        )
    return found


def type_of(x: Operand, function: str) -> type[Numeric]:
    found = getattr(numeric, x.element_type, None)
    if isinstance(found, type) and issubclass(found, Numeric):
        return found
    raise TypeError(f"{function}: {x.name} has elements of {x.element_type}, which are no numbers of a GEMM")


def names(types: Any) -> str:
    names = [str(t) for t in types]
    return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]


def require_types(function: str, a: type[Numeric], b: type[Numeric], c: type[Numeric]) -> None:
    for name, dtype in (("mA", a), ("mB", b)):
        if dtype not in SUMS:
            raise TypeError(
                f"{function}: {name} has elements of {dtype}, which no MMA atom takes; convert them to {names(SUMS)}"
            )
    if a is not b and {a, b} not in MIXED:
        raise TypeError(f"{function}: no MMA atom multiplies {a} (mA) by {b} (mB); give both the same type")
    allowed = (Int32, *FLOATS) if SUMS[a] is Int32 else FLOATS
    if c not in allowed:
        raise TypeError(
            f"{function}: mC has elements of {c}, but sums of {SUMS[a]} are stored as {names(allowed)}; pass an mC of "
            "one of these"
        )
