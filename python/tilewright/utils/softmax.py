"""The softmax of rows whose scores come block by block, in the registers of accumulators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright._core import size
from tilewright.cute import math as cute_math
from tilewright.cute.tensors.rmem import make_rmem_tensor
from tilewright.cute.vectors.choose import where
from tilewright.cute.vectors.tensor_ssa import ReductionOp
from tilewright.lang import arch
from tilewright.numeric import Float32, Int32

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["OnlineSoftmax"]

_LANES = 4  # that have a row together


_TO_NEAREST = 1.5 * 2**23  # added to a number below 2^22, it leaves the nearest integer in the lowest bits


def _exp2_by_polynomial(x: Any) -> Any:
    """2^x for x <= 0, 0 below -127: x is an integer, which is added to the exponent's bits, and a rest in [-1/2, 1/2].

    2^rest = 1 + 0.6933 rest + 0.2422 rest^2 + 0.0550 rest^3 has the least relative error, 1.0e-4, of all polynomials of
    that degree which are exact at 0.
    """
    x = where(x > -127.0, x, -127.0)
    nearest = x + _TO_NEAREST
    rest = x - (nearest - _TO_NEAREST)
    power = cute_math.fma(rest, 0.05500893, 0.24221096)
    power = cute_math.fma(power, rest, 0.69328293)
    power = cute_math.fma(power, rest, 1.0)
    return (power.bitcast(Int32) + (nearest.bitcast(Int32) << 23)).bitcast(Float32)


class OnlineSoftmax:
    """Each row's maximum m and sum l of exponentials, from one block of scores to the next.

    Algorithm 1 of FlashAttention-2: m' = max(m, max s), w = exp(scale (s - m')), l' = exp(scale (m - m')) l + sum w.
    The exponentials are powers of 2 of one multiplication and addition, for scale_log2 = scale log2(e) above 0. A
    thread sums its own columns; `finish` adds those of the lanes with which it shares its rows. It is used in a
    kernel, by a matrix of scores that `rows_and_columns` has made, with so many rows.

    A multiprocessor has 16 exponentials a cycle, but 128 multiplications: where the exponentials take the most time,
    one of `by_polynomial` tiles of 8 columns takes a polynomial instead, right to 1e-4, which is little beside the
    rounding of weights to 16 bits.
    """

    def __init__(self, rows: int, scale_log2: Any, by_polynomial: int | None = None) -> None:
        self._rows, self._scale, self._by_polynomial = rows, scale_log2, by_polynomial
        self._max, self._sum = (make_rmem_tensor(rows, Float32) for _ in range(2))
        self._shrink = make_rmem_tensor(rows, Float32)

    def reset(self) -> None:
        """Begin with new rows."""
        self._max.fill(-math.inf)
        self._sum.fill(0.0)

    def step(self, scores: Tensor, is_masked: bool) -> None:
        """Replace the scores by their weights w; with is_masked, a row may have seen no score above -inf yet."""
        for r in range(self._rows):
            found = scores[r, None].load()
            highest = found.reduce(ReductionOp.MAX, -math.inf, 0)
            highest = arch.fmax(self._max[r], arch.warp_reduction(highest, arch.fmax, threads_in_group=_LANES))
            finite: Any = where(highest == -math.inf, Float32(0.0), highest) if is_masked else highest
            shift = -(finite * self._scale)
            shrink = cute_math.exp2((self._max[r] - finite) * self._scale, fastmath=True)
            self._max[r] = highest
            self._shrink[r] = shrink
            total = self._sum[r] * shrink
            for tile in range(size(scores, mode=[1, 1])):
                pair = scores[r, (None, tile)]
                exponent = cute_math.fma(pair.load(), self._scale, shift)
                if self._by_polynomial and tile % self._by_polynomial == 1:
                    pair.store(_exp2_by_polynomial(exponent))
                else:
                    pair.store(cute_math.exp2(exponent, fastmath=True))
                total = pair.load().reduce(ReductionOp.ADD, total, 0)
            self._sum[r] = total

    @property
    def sums(self) -> Any:
        """The sum of l over the thread's rows, which every exponential is in."""
        return self._sum.load().reduce(ReductionOp.ADD, Float32(0.0), 0)

    def rescale(self, sums: Tensor) -> None:
        """Bring weighted sums of the rows from the maximum before the last step to that after it."""
        for r in range(self._rows):
            sums[r, None].store(sums[r, None].load() * self._shrink[r])

    def finish(self, r: int) -> tuple[Any, Any]:
        """(1 / l, m scale log2(e) + log2(l)) of row r; (0, -inf) of one that has seen no score above -inf."""
        total = arch.warp_reduction_sum(self._sum[r], threads_in_group=_LANES)
        is_empty = total == 0.0
        inverse = where(is_empty, Float32(0.0), arch.rcp_approx(total))
        logarithm = where(is_empty, Float32(-math.inf), self._max[r] * self._scale + cute_math.log2(total))
        return inverse, logarithm
