"""The arithmetic of matrix multiply instructions, on the CPU.

Products are exact. An instruction of one thread adds one of them and rounds to the accumulator's type; Float64
instructions do so for each k in turn. mma.sync and wgmma of other floating-point types do not say how they round: here
the sum over k and C is formed in Float64 and rounded once. Integers wrap around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.numeric import Float64, Int32

if TYPE_CHECKING:
    from tilewright.cute.atoms.mma_atom import MmaAtom

    Array = np.ndarray[Any, Any]

__all__ = ["multiply"]


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b as a rounded sum and its error, exactly."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b as a rounded product and its error, exactly unless a part over- or underflows."""
    product = a * b
    high_a, high_b = (x * 134217729.0 - (x * 134217729.0 - x) for x in (a, b))  # the upper 26 bits: 2^27 + 1
    low_a, low_b = a - high_a, b - high_b
    return product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def _odd_sum(a: Array, b: Array) -> Array:
    """a + b, where inexact the neighbour with an odd last bit, so that rounding it once more rounds the exact sum."""
    total, error = _two_sum(a, b)
    even = (total.view(np.int64) & 1) == 0
    nudge = np.isfinite(total) & (error != 0) & even
    return np.where(nudge, np.nextafter(total, np.where(error > 0, np.inf, -np.inf)), total)


def _fma(a: Array, b: Array, c: Array, accumulator: Any) -> Array:
    """a b + c of Float64 numbers, rounded once to the accumulator's type."""
    with np.errstate(all="ignore"):
        if accumulator is not Float64:
            return _odd_sum(a * b, c).astype(accumulator.numpy).astype(np.float64)  # narrower types: products are exact
        product, error = _two_product(a, b)
        high, low = _two_sum(c, error)
        total, rest = _two_sum(product, high)
        exact: Array = total + _odd_sum(rest, low)
        return np.where(np.isfinite(product) & np.isfinite(error), exact, a * b + c)


def multiply(atom: MmaAtom, a: Array, b: Array, c: Array) -> Array:
    """D (m,n,..) of A (m,k,..), B (n,k,..) and C (m,n,..), of the accumulator's type; .. counts executions."""
    accumulator = atom.op.acc_dtype
    if accumulator is Int32:
        total: Array = c.astype(np.int64) + np.einsum("mk...,nk...->mn...", a.astype(np.int64), b.astype(np.int64))
        return total.astype(np.int32)  # wraps around
    a, b, d = a.astype(np.float64), b.astype(np.float64), c.astype(np.float64)
    if atom.traits.fused:
        for k in range(a.shape[1]):
            d = _fma(a[:, None, k], b[None, :, k], d, accumulator)
    else:
        with np.errstate(all="ignore"):
            d = d + np.einsum("mk...,nk...->mn...", a, b)
    with np.errstate(all="ignore"):
        result: Array = d.astype(accumulator.numpy)
    return result
