"""The softmax of rows whose scores come block by block, in the registers of accumulators."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright.cute import math as cute_math
from tilewright.cute.tensors.rmem import make_rmem_tensor
from tilewright.cute.vectors.choose import where
from tilewright.cute.vectors.tensor_ssa import ReductionOp
from tilewright.lang import arch
from tilewright.numeric import Float32

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["OnlineSoftmax", "merge_states"]

_LANES = 4  # that have a row together


def merge_states(states: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The state (L, o) of a row over the keys of all states, which are added in their order.

    L = log2 sum 2^s over scores s, and o = sum 2^(s - L) v: L' = log2 sum 2^L_i and o' = sum 2^(L_i - L') o_i. A state
    without keys is (-inf, 0). Source: "Cascade inference" (FlashInfer, 2024), which merges states of attention so.
    """
    highest = states[0][0]
    for other, _ in states[1:]:
        highest = arch.fmax(highest, other)
    finite: Any = where(highest == -math.inf, Float32(0.0), highest)
    shares = [cute_math.exp2(logarithm - finite, fastmath=True) for logarithm, _ in states]
    weight, sums = shares[0], states[0][1] * shares[0]
    for (_, values), share in zip(states[1:], shares[1:], strict=True):
        weight, sums = weight + share, sums + values * share
    inverse = where(weight == 0.0, Float32(0.0), arch.rcp_approx(weight))
    return highest + cute_math.log2(weight), sums * inverse


class OnlineSoftmax:
    """Each row's maximum m and sum l of exponentials, from one block of scores to the next.

    Algorithm 1 of FlashAttention-2: m' = max(m, max s), w = exp(scale (s - m')), l' = exp(scale (m - m')) l + sum w.
    The exponentials are powers of 2 of one multiplication and addition, for scale_log2 = scale log2(e) above 0. A
    thread sums its own columns; `finish` adds those of the lanes with which it shares its rows. It is used in a
    kernel, by a matrix of scores that `rows_and_columns` has made, with so many rows.

    scale_log2 is None where `reset` gives that of new rows. Weights, and so their sums, are multiplied by
    2^weight_log2: those that are converted to 8 bits fill the range of that type, up to 448.
    """

    def __init__(self, rows: int, scale_log2: Any, weight_log2: float = 0.0) -> None:
        self._rows, self._given, self._weight = rows, scale_log2, weight_log2
        self._own = make_rmem_tensor(1, Float32) if scale_log2 is None else None
        self._max, self._sum = (make_rmem_tensor(rows, Float32) for _ in range(2))
        self._shrink = make_rmem_tensor(rows, Float32)

    @property
    def _scale(self) -> Any:
        return self._given if self._own is None else self._own[0]

    def copy(self) -> OnlineSoftmax:
        """The same rows, to be finished when this has begun with new ones."""
        made = OnlineSoftmax(self._rows, self._given, self._weight)
        for to, of in ((made._max, self._max), (made._sum, self._sum), (made._own, self._own)):
            if to is not None and of is not None:
                to.store(of.load())
        return made

    def reset(self, scale_log2: Any = None) -> None:
        """Begin with new rows, whose scale is given where that of the constructor was None."""
        if self._own is not None:
            self._own[0] = scale_log2
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
            if self._weight:
                shift = shift + self._weight
            shrink = cute_math.exp2((self._max[r] - finite) * self._scale, fastmath=True)
            self._max[r] = highest
            self._shrink[r] = shrink
            weights = cute_math.exp2(cute_math.fma(found, self._scale, shift), fastmath=True)
            self._sum[r] = weights.reduce(ReductionOp.ADD, self._sum[r] * shrink, 0)
            scores[r, None].store(weights)

    def rescale(self, sums: Tensor) -> None:
        """Bring weighted sums of the rows from the maximum before the last step to that after it."""
        for r in range(self._rows):
            sums[r, None].store(sums[r, None].load() * self._shrink[r])

    def finish(self, r: int) -> tuple[Any, Any]:
        """(1 / l, m scale log2(e) + log2(l)) of row r; (0, -inf) of one that has seen no score above -inf.

        l of the first is the sum of the weights as they are, with their 2^weight_log2; that of the second is not.
        """
        total = arch.warp_reduction_sum(self._sum[r], threads_in_group=_LANES)
        is_empty = total == 0.0
        inverse = where(is_empty, Float32(0.0), arch.rcp_approx(total))
        logarithm = self._max[r] * self._scale + cute_math.log2(total) - self._weight
        return inverse, where(is_empty, Float32(-math.inf), logarithm)
