"""O and L of queries whose keys several parts have, in decoding by latent attention."""

from __future__ import annotations

import math

from tilewright.examples.attention.latent_blocks import HEADS, LATENT, blocks_of, count_blocks, keys_of

import tilewright as cutlass
from tilewright import cute

LOG2_E = math.log2(math.e)
VECTOR = 4  # columns of a thread
COMBINED, THREADS = 16, 256  # heads and threads of a CTA


@cute.kernel
def combine_kernel(
    mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, mSums: cute.Tensor, mStats: cute.Tensor,
    parts: cutlass.Int32,
):  # fmt: skip
    """O and L of queries that several parts share: of each part's sums, in the order of the keys."""
    tidx, _, _ = cute.arch.thread_idx()
    rows, item, _ = cute.arch.block_idx()
    lane, queries = cute.arch.lane_idx(), mO.shape[1]
    total = count_blocks(mLengths, queries, mLengths.shape[0] * queries, lane)
    base = count_blocks(mLengths, queries, item, lane)
    blocks = blocks_of(keys_of(mLengths[item // queries], queries, item % queries))
    parts = cutlass.min(parts, total)
    first, last = ((base + 1) * parts - 1) // total, ((base + blocks) * parts - 1) // total
    if first < last:
        across = LATENT // VECTOR
        column = tidx % across
        for i in cutlass.range(COMBINED * across // THREADS, unroll=4):
            head = rows * COMBINED + tidx // across + i * (THREADS // across)
            highest, weight = cutlass.Float32(-math.inf), cutlass.Float32(0.0)
            for other in cutlass.range(first, last + 1, unroll=2):
                highest = cute.arch.fmax(highest, mStats[2 * other + (1 if other == first else 0), head])
            shift = cute.where(highest == -math.inf, cutlass.Float32(0.0), highest)
            sums = cute.make_rmem_tensor(VECTOR, cutlass.Float32)
            sums.fill(0.0)
            for other in cutlass.range(first, last + 1, unroll=2):
                slot = 2 * other + (1 if other == first else 0)
                share = cute.math.exp2(mStats[slot, head] - shift, fastmath=True)
                weight += share
                sums.store(sums.load() + cute.local_tile(mSums[slot, head, None], (VECTOR,), (column,)).load() * share)
            to = cute.local_tile(mO[item // queries, item % queries, head, None], (VECTOR,), (column,))
            inverse = cute.where(weight == 0.0, cutlass.Float32(0.0), cute.arch.rcp_approx(weight))
            to.store((sums.load() * inverse).to(mO.element_type))
            if column == 0:
                mL[item // queries, item % queries, head] = (highest + cute.math.log2(weight)) / LOG2_E


@cute.jit
def combine(mLengths, mO, mL, mSums, mStats, parts, items):
    """Launch combine_kernel for so many queries."""
    combine_kernel(mLengths, mO, mL, mSums, mStats, parts).launch(
        grid=[HEADS // COMBINED, items, 1], block=[THREADS, 1, 1]
    )
