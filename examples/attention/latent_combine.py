"""O and L of queries whose keys several parts have, in decoding by latent attention."""

from __future__ import annotations

import math

from tilewright.examples.attention.latent_blocks import HEADS, LATENT, split

import tilewright as cutlass
from tilewright import cute

LOG2_E = math.log2(math.e)
VECTOR, COMBINED = 4, 2  # columns of a head that a thread combines; heads that a CTA combines at a time
LEAST = 8  # CTAs for a query
AT_ONCE = 12  # sums that a thread reads


@cute.kernel
def combine_kernel(
    mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, mSums: cute.Tensor, mStats: cute.Tensor,
    mShared: cute.Tensor,
):  # fmt: skip
    """O and L of the query that a part begins and others end, if it has one: of all parts' sums, in the keys' order."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, part, _ = cute.arch.block_idx()
    ctas, _, _ = cute.arch.grid_dim()
    queries, across = mO.shape[1], LATENT // VECTOR
    cute.arch.griddepcontrol_launch_dependents()
    cute.arch.griddepcontrol_wait()
    item, first, last = (mShared[part, i] for i in range(3))
    if item >= 0:
        splits, column = split(mLengths, queries, mShared.shape[0]), tidx % across
        sequence = item // queries
        query = item - sequence * queries
        for head in cutlass.range(bidx * COMBINED + tidx // across, HEADS, ctas * COMBINED, unroll=1):

            def read(slot, head=head):
                return mStats[slot, head], cute.local_tile(mSums[slot, head, None], (VECTOR,), (column,)).load()

            logarithm, values = splits.merge(first, last, read, AT_ONCE)
            to = cute.local_tile(mO[sequence, query, head, None], (VECTOR,), (column,))
            to.store(values.to(mO.element_type))
            if column == 0:
                mL[sequence, query, head] = logarithm * (1 / LOG2_E)


@cute.jit
def combine(mLengths, mO, mL, mSums, mStats, mShared):
    """Launch combine_kernel. Few queries have many parts each, so that more CTAs are to share one."""
    ctas = cutlass.max(LEAST, HEADS // COMBINED // cutlass.max(mLengths.shape[0] * mO.shape[1], 1))
    combine_kernel(mLengths, mO, mL, mSums, mStats, mShared).launch(
        grid=[ctas, mShared.shape[0], 1], block=[COMBINED * LATENT // VECTOR, 1, 1], use_pdl=True
    )
