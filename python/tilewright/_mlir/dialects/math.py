"""Functions of real numbers, by the names that `cutlass._mlir.dialects.math` has for them: those of `cute.math`."""

from __future__ import annotations

from tilewright.cute.math import (
    acos,
    asin,
    atan,
    atan2,
    cos,
    erf,
    exp,
    exp2,
    log,
    log2,
    log10,
    rsqrt,
    sin,
    sqrt,
    tan,
    tanh,
)

__all__ = [
    "acos", "asin", "atan", "atan2", "cos", "erf", "exp", "exp2", "log", "log2", "log10", "rsqrt", "sin", "sqrt", "tan",
    "tanh",
]  # fmt: skip
