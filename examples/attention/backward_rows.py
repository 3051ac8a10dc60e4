"""Rows of attention's backward pass: what they are subtracted, how accumulators of theirs are written to memory."""

from __future__ import annotations

import math

from tilewright.examples.attention.backward_blocks import KEYS, QUERIES, Blocks

import tilewright as cutlass
from tilewright import cute
from tilewright.utils.accumulators import rows_and_columns

LOG2_E = math.log2(math.e)


@cute.kernel
def prepare_kernel(
    mO: cute.Tensor, mdO: cute.Tensor, mL: cute.Tensor, mRows: cute.Tensor, mSums: cute.Tensor, mTurns: cute.Tensor,
    mQ: cute.Tensor, mK: cute.Tensor, starts_q, starts_k, is_ordered: cutlass.Constexpr,
):  # fmt: skip
    """Of each query log2(e) L, infinite where it sees no key or does not exist, and delta = rowsum(dO * O)."""
    tidx, _, _ = cute.arch.thread_idx()
    tile, head, batch = cute.arch.block_idx()
    blocks = Blocks(mQ, mK, None, None, starts_q, starts_k, batch)
    depth = mO.shape[3]
    lanes = depth // 8
    at = blocks.workspace_tile(head, tile)
    if tidx + tile + head + batch == 0:
        mTurns[cute.size(mTurns) - 1] = 0
    if tile < blocks.tiles_q:
        for i in cutlass.range_constexpr(QUERIES * lanes // 256):
            row, column = (tidx + 256 * i) // lanes, (tidx + 256 * i) % lanes
            query = tile * QUERIES + row
            log2_sum, delta = cutlass.Float32(math.inf), cutlass.Float32(0.0)
            if query < blocks.queries:
                line = (blocks.batch, head, blocks.first_q + query)
                rows = (cute.local_tile(x[(*line, None)], (8,), (column,)) for x in (mO, mdO))
                o, do = (x.load().to(cutlass.Float32) for x in rows)
                delta = (o * do).reduce(cute.ReductionOp.ADD, 0.0, 0)
                logarithm = mL[line]
                if logarithm > -math.inf:
                    log2_sum = logarithm * LOG2_E
            delta = cute.arch.warp_reduction_sum(delta, threads_in_group=lanes)
            if column == 0:
                mRows[at, 0, row] = log2_sum
                mRows[at, 1, row] = delta
        turns, sums = ((cute.size(x) - y) // mRows.shape[0] for x, y in ((mTurns, 1), (mSums, 0)))  # of a tile
        if tidx < turns:
            mTurns[at * turns + tidx] = 0
        if cutlass.const_expr(not is_ordered):
            begin = mSums.iterator + cutlass.Int64(at) * sums
            to = cute.make_tensor(begin, cute.make_layout((4, 256, sums // 1024)))
            for i in cutlass.range(sums // 1024):
                to[None, tidx, i].fill(0.0)


class RowNumbers:
    """What prepare_kernel has found of the queries of a round, in shared memory: log2(e) L (0) and delta (1).

    sRows: (queries, which of the two, stages). A thread has columns of scores; own: its part of the product.
    """

    def __init__(self, sRows, own, keys):
        # They are the same for each key.
        queries, stages = cute.size(sRows, mode=[0]), cute.size(sRows, mode=[2])
        spread = cute.make_layout((keys, queries, 2, stages), stride=(0, 1, queries, 2 * queries))
        self.spread = own.partition_C(cute.make_tensor(sRows.iterator, spread))

    @cute.jit
    def of(self, which, stage, pair):
        """Those of two of the thread's columns."""
        row = rows_and_columns(self.spread[None, None, None, which, stage])[0, (None, pair)]
        held = cute.make_fragment_like(row)
        cute.autovec_copy(row, held)
        return held.load()


@cute.jit
def mask(tW, at, blocks, block, tile):
    """Zero for what a query does not see, where some query of the tile does not see some key."""
    first_key, first_query = block * KEYS, tile * QUERIES + blocks.shift
    if blocks.hides(first_key, first_query, KEYS):
        for r in cutlass.range_constexpr(cute.size(tW.shape[0])):
            for c in cutlass.range_constexpr(cute.size(tW.shape[1])):
                key, query = at[r, c]
                tW[r, c] = cute.where(blocks.sees(first_query + query, first_key + key), tW[r, c], 0.0)


def fours(acc):
    """Accumulators as vectors of 16 bytes: two rows of two columns."""
    return cute.make_tensor(acc.iterator, cute.make_layout((4, cute.size(acc) // 4)))


@cute.jit
def store(acc, factor, tensor, tile, shape, extent, own, across=0):
    """Sums by a factor, rounded, to the rows that exist of tile (tile, across)."""
    to = rows_and_columns(own.partition_C(cute.local_tile(tensor, shape, (tile, across))))
    at = rows_and_columns(own.partition_C(cute.make_identity_tensor(shape)))
    rounded = cute.make_fragment_like(acc, tensor.element_type)
    rounded.store((acc.load() * factor).to(tensor.element_type))
    rounded = rows_and_columns(rounded)
    for r in cutlass.range_constexpr(cute.size(rounded.shape[0])):
        if tile * shape[0] + at[r, 0][0] < extent:
            cute.autovec_copy(rounded[r, None], to[r, None])
