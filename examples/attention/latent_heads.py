"""The scores and sums of a thread in decoding by latent attention: a block's softmax, and its rows on their way out."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute


def save(sums, row, column):
    """A thread's pairs of columns of a row, 8 apart."""
    row = cute.domain_offset((column,), row)
    for i in cutlass.range_constexpr(cute.size(sums) // 2):
        pair = cute.make_rmem_tensor(2, row.element_type)
        for e in cutlass.range_constexpr(2):
            pair[e] = sums[2 * i + e].to(row.element_type)
        cute.local_tile(row, (2,), (4 * i,)).store(pair.load())


def opaque(place):
    """A place that the compiler does not know: it would compute descriptors ahead that no registers are left for."""
    return cute.arch.make_warp_uniform(cutlass.Int32(place))


def quad_max(value):
    """The greatest of four lanes, which have a row together."""
    return cute.arch.warp_reduction(value, cute.arch.fmax, threads_in_group=4)
