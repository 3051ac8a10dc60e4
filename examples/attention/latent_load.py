"""The warp that asks TMA for Q and for the keys in decoding by latent attention."""

from __future__ import annotations

from tilewright.examples.attention.latent_blocks import CTAS, KEYS, LATENT, ROPE, query_of

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync


@cute.jit
def produce(of_Q, of_C, of_R, stages, mTable, mLengths, mShared, queries, splits, mine, rank):
    """One warp of each CTA asks for its heads' Q and for its share of the keys.

    of_Q, of_C, of_R: each (TMA, global tensor, shared tensor); stages: of each place those of the halves of the latent
    numbers and of those that rotate. mine: the part of the list of blocks that splits gives. mShared gets the query
    that this part begins and others end, if there is one.
    """
    (load_Q, gQ, sQ, stage_Q), (load_C, gC, sC), (load_R, gR, sR) = of_Q, of_C, of_R
    state_Q = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
    states = [pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1) for _ in range(2)]
    alone, pair = cute.make_layout(1), cute.make_layout(CTAS)

    def partition(atom, who, layout, shared, tiles):
        return cpasync.tma_partition(atom, who, layout, cute.group_modes(shared, 0, 2), cute.group_modes(tiles, 0, 2))

    rows = cute.product_each(sQ.shape)[:2]
    tQsQ, tQgQ = partition(load_Q, 0, alone, sQ[None, None, 0], cute.local_tile(gQ, rows, (None, 0)))
    tCsC, tCgC = partition(load_C, rank, pair, sC, cute.local_tile(gC, (KEYS, LATENT // 2), (0, None)))
    tRsR, tRgR = partition(load_R, rank, pair, sR, cute.local_tile(gR, (KEYS, ROPE), (0, None)))

    def page_of(sequence, block, keys):
        page = cutlass.Int32(-1)  # what is outside of the tensor comes as zeros
        if block * KEYS < keys:
            page = mTable[sequence, block]
        return page

    def load(place, state, sequence, block, end, keys):
        page = page_of(sequence, block, keys)
        for i in cutlass.range_constexpr(3):
            pipe = stages[place][i]
            pipe.producer_acquire(state)
            barrier = pipe.producer_get_barrier(state)
            if cutlass.const_expr(i < 2):
                there, here = tCgC[None, i, page], tCsC[None, i, place]
                cute.copy(load_C, there, here, tma_bar_ptr=barrier, mcast_mask=2**CTAS - 1)
            else:
                there, here = tRgR[None, LATENT // ROPE, page], tRsR[None, place]
                cute.copy(load_R, there, here, tma_bar_ptr=barrier, mcast_mask=2**CTAS - 1)
        state.advance()
        # The next block of this place comes from the L2 cache: nothing is under way while the place is in use.
        if block + 2 < end:
            page = page_of(sequence, block + 2, keys)
            for i in cutlass.range_constexpr(2):
                cute.prefetch(load_C, tCgC[None, i, page])
            cute.prefetch(load_R, tRgR[None, LATENT // ROPE, page])

    def tell(*facts):
        if rank == 0 and cute.arch.lane_idx() == 0:
            for i in cutlass.range_constexpr(len(facts)):
                mShared[mine.part, i] = facts[i]

    def fetch(segment):
        if segment.first_part == mine.part and not segment.is_whole:
            tell(segment.item, segment.first_part, segment.last_part)
        sequence, query, keys = query_of(mLengths, queries, segment.item)
        stage_Q.producer_acquire(state_Q)
        rows = tQgQ[None, rank, query, sequence]
        cute.copy(load_Q, rows, tQsQ, tma_bar_ptr=stage_Q.producer_get_barrier(state_Q))
        state_Q.advance()
        for i in cutlass.range(cute.ceil_div(segment.end - segment.begin, 2), unroll=1):
            block = segment.begin + 2 * i
            load(0, states[0], sequence, block, segment.end, keys)
            if block + 1 < segment.end:
                load(1, states[1], sequence, block + 1, segment.end, keys)

    tell(cutlass.Int32(-1))
    splits.for_each(mine, fetch)
    for place in cutlass.range_constexpr(2):
        for pipe in stages[place]:
            pipe.producer_tail(states[place])
