"""What the other warps do for those that multiply in attention's backward pass for D 256, and dQ at its end."""

from __future__ import annotations

from tilewright.examples.attention.backward_blocks import QUERIES, Blocks
from tilewright.examples.attention.backward_fetch import tiles_of, wait_for_turn
from tilewright.examples.attention.backward_rows import store
from tilewright.examples.attention.pair_sums import of_lane, row_of
from tilewright.examples.attention.pairs import CHUNK, CTAS, DEPTH, KEYS, ROWS, STAGES, TURNS, added_by, handed_on
from tilewright.examples.attention.stages import PRODUCER, visit

import tilewright as cutlass
from tilewright import cute


@cute.jit
def load(work, of_K, of_V, of_Q, of_dO):
    """A warp brings K and V once, and for each round half of Q and dO, and all of their rows' numbers."""
    blocks = work.blocks
    for pipe, atom, tensor, shared in (of_K, of_V):
        start = visit(1, 0, PRODUCER)
        pipe.producer_acquire(start)
        to, at = tiles_of(atom, tensor, shared, blocks.first_k, work.key_head, blocks.batch)
        cute.copy(atom, at[None, work.block], to, tma_bar_ptr=pipe.producer_get_barrier(start))
    for member in cutlass.range(work.group, unroll=1):
        head = work.key_head * work.group + member
        fetch_Q, fetch_dO = of_Q.of(head), of_dO.of(head)
        for i in cutlass.range(work.rounds, unroll=1):
            row, state = blocks.workspace_tile(head, work.first + i), visit(STAGES, member * work.rounds + i, PRODUCER)
            fetch_Q(state, work.first + i, row)
            fetch_dO(state, work.first + i, row)


@cute.jit
def watch(work, rank, turns, mTurns):
    """A warp waits for the turn of each round, and tells the warpgroup that adds."""
    for i in cutlass.range(work.total, unroll=1):
        at, before, is_seen = added_by(work, rank, i)
        state = visit(TURNS, i, PRODUCER)
        turns.producer_acquire(state)
        wait_for_turn(mTurns, at, before, is_seen)
        turns.producer_commit(state)


@cute.jit
def publish(work, rank, adds, mTurns):
    """A warp tells the block whose turn is next that a round has been added."""
    for i in cutlass.range(work.total, unroll=1):
        at, _, is_seen = added_by(work, rank, i)
        state = visit(TURNS, i)
        adds.consumer_wait(state)
        if cutlass.and_(cute.arch.lane_idx() == 0, is_seen):
            cute.arch.atomic_add(mTurns.iterator + at, 1, sem="release", scope="gpu")
        cute.arch.sync_warp()
        adds.consumer_release(state)


@cute.kernel
def finish_kernel(
    mSums: cute.Tensor, mdQ: cute.Tensor, mQ: cute.Tensor, mK: cute.Tensor, scale: cutlass.Float32, left, right,
    starts_q, starts_k, mma_dQ: cute.TiledMma,
):  # fmt: skip
    """dQ from the sums of the two blocks of clusters, which lie as the threads of the product had them."""
    tidx, _, _ = cute.arch.thread_idx()
    tile, head, batch = cute.arch.block_idx()
    blocks = Blocks(mQ, mK, left, right, starts_q, starts_k, batch, KEYS)
    if tile < blocks.tiles_q:
        low, high = blocks.blocks_seen_by(tile)
        _, power, _ = handed_on(mdQ.element_type)
        to = cute.domain_offset((blocks.first_q, 0), mdQ[blocks.batch, head, None, None])
        for chunk in cutlass.range_constexpr(DEPTH // CHUNK):
            dQ = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((QUERIES, CHUNK)))
            dQ.fill(0.0)
            for rank in cutlass.range_constexpr(CTAS):
                if high - (high - rank) % CTAS >= low:  # the last block of that rank
                    row = row_of(blocks.workspace_tile(head, tile) * CTAS + rank, chunk, tidx // 32)
                    sums = of_lane(mSums[row, None].iterator, ROWS, tidx % 32)
                    found = cute.make_fragment_like(sums)
                    cute.autovec_copy(sums, found)
                    for j in cutlass.range_constexpr(cute.size(dQ)):
                        dQ[j] = dQ[j] + found[j]
            store(dQ, scale * 2.0**-power, to, tile, (QUERIES, CHUNK), blocks.queries, mma_dQ.get_slice(tidx), chunk)
