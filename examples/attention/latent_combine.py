"""O and L of queries whose keys several parts have, in decoding by latent attention."""

from __future__ import annotations

import math

from tilewright.examples.attention.latent_blocks import HEADS, LATENT, blocks_of, query_of, split

import tilewright as cutlass
from tilewright import cute

LOG2_E = math.log2(math.e)
VECTOR, COMBINED = 4, 2  # columns of a head that a thread combines; heads of a CTA


@cute.kernel
def combine_kernel(
    mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, mSums: cute.Tensor, mStats: cute.Tensor,
    parts: cutlass.Int32,
):  # fmt: skip
    """O and L of the query in which a part begins, if others have begun it: of all parts' sums, in the keys' order."""
    tidx, _, _ = cute.arch.thread_idx()
    rows, part, _ = cute.arch.block_idx()
    queries, across = mO.shape[1], LATENT // VECTOR
    cute.arch.griddepcontrol_launch_dependents()
    splits = split(mLengths, queries, parts).measure()
    begin = splits.begin_of(cutlass.min(part + 1, splits.parts - 1))
    item, base = splits.find(begin)
    sequence, query, keys = query_of(mLengths, queries, item)
    first, last = splits.sharing(base, blocks_of(keys))
    cute.arch.griddepcontrol_wait()
    if part + 1 < splits.parts and base < begin and first == part:
        head, column = rows * COMBINED + tidx // across, tidx % across
        sums, logarithms = mSums[None, head, None], mStats[None, head]
        logarithm, values = splits.merge(
            first, last, lambda slot: (logarithms[slot], cute.local_tile(sums[slot, None], (VECTOR,), (column,)).load())
        )
        to = cute.local_tile(mO[sequence, query, head, None], (VECTOR,), (column,))
        to.store(values.to(mO.element_type))
        if column == 0:
            mL[sequence, query, head] = logarithm * (1 / LOG2_E)


@cute.jit
def combine(mLengths, mO, mL, mSums, mStats, parts):
    """Launch combine_kernel."""
    combine_kernel(mLengths, mO, mL, mSums, mStats, parts).launch(
        grid=[HEADS // COMBINED, cutlass.max(parts - 1, 1), 1], block=[COMBINED * LATENT // VECTOR, 1, 1], use_pdl=True
    )
