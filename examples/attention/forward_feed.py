"""The warps of attention's forward pass that feed the warpgroups: with tiles, with Q, K and V, with V transposed."""

from __future__ import annotations

import math

from tilewright.examples.attention.forward_tiles import NO_TILE, ROWS, Tile, tile_of
from tilewright.examples.attention.stages import release

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync
from tilewright.utils.byte_transpose import transpose_bytes

TURNERS = 2  # warps that transpose values of 8 bits
CONSUMER, PRODUCER = pipeline.PipelineUserType.Consumer, pipeline.PipelineUserType.Producer


class HandedTiles:
    """The tiles of a CTA, two of which are known at a time.

    scales: of their scores and of O, where Q has 8 bits. heads: how many of Q and of K.
    """

    def __init__(self, stages, tiles, highs, scales, heads):
        self.stages, self.tiles, self.highs, self.scales, self.heads = stages, tiles, highs, scales, heads

    def key_head(self, tile):
        return tile.head // (self.heads[0] // self.heads[1])

    @cute.jit
    def at(self, state):
        """The tile that a stage holds. It is read wherever it is needed: registers are few."""
        held = cute.make_rmem_tensor(4, cutlass.Int32)
        cute.autovec_copy(self.tiles[None, state.index], held)
        return Tile(*(held[i] for i in range(4)), self.highs[state.index])

    def wait(self, state):
        """The tile of a stage, once it is there."""
        self.stages.consumer_wait(state)
        return self.at(state)

    def next(self, state):
        """The tile behind that of a stage, which this warp does not need any more."""
        release(self.stages, state)
        return self.wait(state)

    @cute.jit
    def hand_on(self, state, tile, problem):
        """A warp tells the others a tile."""
        self.stages.producer_acquire(state)
        if cute.arch.lane_idx() == 0:
            held = cute.make_rmem_tensor(4, cutlass.Int32)
            for i in cutlass.range_constexpr(4):
                held[i] = tile[i]
            cute.autovec_copy(held, self.tiles[None, state.index])
            self.highs[state.index] = tile.high
            if cutlass.const_expr(problem.scales[0] is not None):
                at = tile.batch, self.key_head(tile)
                of_q, of_k, of_v = (x[at] for x in problem.scales)
                self.scales[0, state.index] = problem.scale * of_q * of_k * math.log2(math.e)
                self.scales[1, state.index] = of_v
            self.stages.producer_commit(state)
        state.advance()


@cute.jit
def schedule(tiles, problem, plan, tickets, ctas):
    """One warp takes tickets and hands on their tiles, early enough that nobody waits for one."""
    state = pipeline.make_pipeline_state(PRODUCER, 2)
    ticket, _, _ = cute.arch.block_idx()
    while ticket < problem.tiles * problem.heads * problem.batches:
        taken = cutlass.Int32(0)
        if cute.arch.lane_idx() == 0:
            taken = cute.arch.atomic_add(tickets.iterator, cutlass.Int32(1))
        tile = tile_of(problem, plan, ticket)
        if tile.number * ROWS * plan.warpgroups < problem.sequence(tile.batch).queries:
            tiles.hand_on(state, tile, problem)
        ticket = ctas + cute.arch.make_warp_uniform(taken)
    tiles.hand_on(state, NO_TILE, problem)
    # The last CTA to come here leaves the tickets as they were.
    if cute.arch.lane_idx() == 0:
        done = cute.arch.atomic_add(tickets.iterator + 1, cutlass.Int32(1), sem="acq_rel", scope="gpu")
        if done == ctas - 1:
            cute.arch.atomic_exch(tickets.iterator, cutlass.Int32(0))
            cute.arch.atomic_exch(tickets.iterator + 1, cutlass.Int32(0))


@cute.jit
def loads(atom, tensor, shared, start, proj):
    """What fills a stage with a block of rows of one head, from row `start` on; proj: which mode has the rows."""
    tile = cute.product_each(shared.shape)[:2]
    moved = cute.domain_offset((start, 0) if proj == 0 else (0, start), tensor)
    blocks = cute.local_tile(moved, tile, (None, 0) if proj == 0 else (0, None))
    tXsX, tXgX = cpasync.tma_partition(
        atom, 0, cute.make_layout(1), cute.group_modes(shared, 0, 2), cute.group_modes(blocks, 0, 2)
    )

    def load(stages, state, block):
        stages.producer_acquire(state)
        barrier = stages.producer_get_barrier(state)
        cute.copy(atom, tXgX[None, block], tXsX[None, state.index], tma_bar_ptr=barrier)
        state.advance()

    return load


@cute.jit
def produce(tiles, problem, plan, of_Q, of_K, of_V):
    """One warp asks for Q, K and V: each is (TMA, global tensor, shared tensor, stages)."""
    (load_Q, gQ, sQ, stages_Q), (load_K, gK, sK, stages_K), (load_V, gV, sV, stages_V) = of_Q, of_K, of_V
    state_T = pipeline.make_pipeline_state(CONSUMER, 2)
    state_Q = pipeline.make_pipeline_state(PRODUCER, stages_Q.num_stages)
    state_K = pipeline.make_pipeline_state(PRODUCER, plan.stages)
    state_V = pipeline.make_pipeline_state(PRODUCER, plan.stages)
    for atom in (load_Q, load_K, load_V):
        cpasync.prefetch_descriptor(atom)

    def values_of(tile):
        """What fetches a tile's values."""
        key_head, batch = tiles.key_head(tile), problem.batch_of_tensors(tile.batch)
        start = problem.sequence(tile.batch).start_k
        return loads(load_V, gV[None, None, key_head, batch], sV, start, 0 if load_V.value_type.bits == 8 else 1)

    def fetch(tile, has_last, last):
        """A tile's blocks, and before its second one the values of the last block of the tile before."""
        head, batch, high = tile.head, problem.batch_of_tensors(tile.batch), tile.high
        sequence, low = problem.sequence(tile.batch), problem.low(plan, tile.first)
        key_head = tiles.key_head(tile)
        get_Q = loads(load_Q, gQ[None, None, head, batch], sQ, sequence.start_q, 0)
        get_K = loads(load_K, gK[None, None, key_head, batch], sK, sequence.start_k, 0)
        get_V = values_of(tile)
        for part in cutlass.range_constexpr(plan.warpgroups):
            get_Q(stages_Q, state_Q, tile.number * plan.warpgroups + part)
        get_K(stages_K, state_K, high - 1)
        if has_last:
            values_of(last)(stages_V, state_V, problem.low(plan, last.first))
        for i in cutlass.range(high - 1 - low, unroll=1):
            get_K(stages_K, state_K, high - 2 - i)
            get_V(stages_V, state_V, high - 1 - i)
        if cutlass.const_expr(not plan.overlaps):
            get_V(stages_V, state_V, low)

    tile = tiles.wait(state_T)
    has_last, last = cutlass.Boolean(False), tile
    while tile.high > 0:
        fetch(tile, has_last, last)
        if cutlass.const_expr(plan.overlaps):
            has_last, last = cutlass.Boolean(True), tile
        tile = tiles.next(state_T)
    if has_last:
        values_of(last)(stages_V, state_V, problem.low(plan, last.first))
    stages_K.producer_tail(state_K)
    stages_V.producer_tail(state_V)


@cute.jit
def turn(tiles, problem, plan, sV, stages_V, sT, stages_T, warp_idx):
    """Some warps transpose the values: wgmma reads 8-bit operands along K, which are the keys."""
    state_T = pipeline.make_pipeline_state(CONSUMER, 2)
    state_V = pipeline.make_pipeline_state(CONSUMER, plan.stages)
    turned = pipeline.make_pipeline_state(PRODUCER, plan.stages)
    depth = cute.size(sT, mode=[0])
    tile = tiles.wait(state_T)
    while tile.high > 0:
        for _ in cutlass.range(tile.high - problem.low(plan, tile.first), unroll=1):
            stages_V.consumer_wait(state_V)
            stages_T.producer_acquire(turned)
            rows = cute.local_tile(sV[None, None, state_V.index], (32, depth), (None, 0))
            columns = cute.local_tile(sT[None, None, turned.index], (depth, 32), (0, None))
            for i in cutlass.range(plan.keys // 32, unroll=1):
                transpose_bytes(rows[None, None, i], columns[None, None, i], warp_idx % 4 - 2, TURNERS)
            release(stages_V, state_V)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.sync_warp()
            with cute.arch.elect_one():
                stages_T.producer_commit(turned)
            turned.advance()
        tile = tiles.next(state_T)
