"""Attention by TMA and wgmma: FlashAttention-3's forward pass in bf16, fp16 or fp8, for D 64, 128 and 256.

What to learn: while the tensor cores compute the scores of the next block of keys, the other units compute the softmax
of this one. That happens within a warpgroup, whose wgmma are asynchronous, and between the warpgroups, which take turns
(ping-pong). At a tile's end the first scores of the next tile take the place of the next block's. One warp asks TMA for
Q, K and V; CTAs stay and take tile after tile, those with the most keys first, by tickets: who is done takes the next.
Another warp takes the tickets, early enough that the next Q is there in time. A warpgroup whose rows do not see the
last keys of a tile, or do not exist, passes over these blocks.

wgmma of fp8 (e4m3) wants V with neighbours along the keys. Two warps transpose it in shared memory, and put the keys
into the order in which the weights already lie in registers. Weights are multiplied by 256 before they are rounded,
since e4m3 has numbers up to 448. Q, K and V have a scale for each batch and head of keys; O is bf16.

For each head O = softmax(scale Q K^T) V, with Q (S, D), K and V (T, D); several heads of Q may share one of K and V.
Query i sees the keys i + o - left to i + o + right. o is 0, or T - S for sequences of several lengths in one tensor. L
is the natural logarithm of each row's sum of exponentials, for a backward pass; a row without keys has O = 0, L = -inf.
The steps are those of Algorithm 2 of "FlashAttention-3: Fast and Accurate Attention with Asynchrony and
Low-precision", for a scale above 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils import LayoutEnum, hopper_helpers
from tilewright.utils.accumulators import as_operand_a, rows_and_columns
from tilewright.utils.byte_transpose import transpose_bytes
from tilewright.utils.softmax import OnlineSoftmax

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # a warpgroup's rows of Q, 64 of their elements
ROWS = 64  # of Q that a warpgroup has
L2_BYTES = 32 << 20  # of keys and values that CTAs running at a time may share in the L2 cache


class Plan(NamedTuple):
    """How a depth is computed."""

    warpgroups: int
    keys: int  # of a block
    stages: int  # of K, and of V
    takes_turns: bool
    overlaps: bool  # tiles: there is shared memory for the next Q beside this one, and for O
    passes: int  # tiles of at most so many blocks: a warpgroup passes over those that its rows do not see


PLANS = {  # by depth and the bits of an element
    (64, 16): Plan(3, 128, 4, True, True, 16),
    (128, 16): Plan(2, 128, 2, True, True, 16),
    (256, 16): Plan(2, 80, 2, False, False, 0),
    (64, 8): Plan(3, 128, 4, True, True, 16),
    (128, 8): Plan(3, 96, 2, True, True, 16),
    (256, 8): Plan(2, 64, 2, True, True, 16),
}
TURNERS = 2  # warps that transpose values of 8 bits
# Of a thread that fetches and of one that computes, by warpgroups and bits.
REGISTERS = {(2, 16): (24, 240), (3, 16): (32, 160), (2, 8): (56, 224), (3, 8): (32, 160)}


class Problem(NamedTuple):
    """What all threads know: windows, where sequences start, and the order of tiles."""

    left: cutlass.Int32 | None
    right: cutlass.Int32 | None
    starts_q: cute.Tensor | None
    starts_k: cute.Tensor | None
    tiles: cutlass.Int32  # of a head
    heads: cutlass.Int32  # of Q, of a batch
    batches: cutlass.Int32
    together: cutlass.Int32  # heads whose keys and values share the L2 cache
    queries: cutlass.Int32
    keys: cutlass.Int32
    scale: cutlass.Float32
    scales: tuple[cute.Tensor | None, ...]  # of Q, K and V: (batches, heads of K)

    def sequence(self, batch):
        if cutlass.const_expr(self.starts_q is None):
            return Sequence(0, self.queries, 0, self.keys)
        start_q, start_k = self.starts_q[batch], self.starts_k[batch]
        return Sequence(start_q, self.starts_q[batch + 1] - start_q, start_k, self.starts_k[batch + 1] - start_k)

    def batch_of_tensors(self, batch):
        return batch if self.starts_q is None else 0

    def low(self, plan, first):
        """The first block of keys that a tile's rows see."""
        return 0 if self.left is None else cutlass.max(first - self.left, 0) // plan.keys


class Sequence(NamedTuple):
    """Where a sequence lies in its tensors: its first rows there, and how many."""

    start_q: cutlass.Int32
    queries: cutlass.Int32
    start_k: cutlass.Int32
    keys: cutlass.Int32


class Tile(NamedTuple):
    """Rows of a head, and the blocks of keys that some of them see."""

    number: cutlass.Int32  # within the sequence
    head: cutlass.Int32
    batch: cutlass.Int32
    first: cutlass.Int32  # the key at the first row's place
    high: cutlass.Int32  # the blocks end before this one: at least one, so that no case is special; 0: no tile is left


NO_TILE = Tile(0, 0, 0, 0, 0)


def tile_of(problem, plan, ticket):
    """Of some heads the tiles with the most keys come first, then those of the next heads."""
    rows = ROWS * plan.warpgroups
    band = problem.together * problem.tiles
    begin, within = ticket // band * problem.together, ticket % band
    count = cutlass.min(problem.together, problem.heads * problem.batches - begin)
    number, head = problem.tiles - 1 - within // count, begin + within % count
    batch, head = head // problem.heads, head % problem.heads
    sequence = problem.sequence(batch)
    offset = 0 if problem.starts_q is None else sequence.keys - sequence.queries
    first, high = number * rows + offset, sequence.keys
    if cutlass.const_expr(problem.right is not None):
        high = cutlass.min(high, first + rows + problem.right)
    high = cutlass.max(cute.ceil_div(cutlass.max(high, 0), plan.keys), problem.low(plan, first) + 1)
    return Tile(number, head, batch, first, high)


@cute.kernel
def attention_kernel(
    load_Q: cute.CopyAtom, gQ: cute.Tensor, load_K: cute.CopyAtom, gK: cute.Tensor, load_V: cute.CopyAtom,
    gV: cute.Tensor, store_O: cute.CopyAtom, gO: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, tickets: cute.Tensor,
    problem: Problem, sQ_layout: cute.ComposedLayout, sK_layout: cute.ComposedLayout, sV_layout: cute.ComposedLayout,
    sT_layout: cute.ComposedLayout, sO_layout: cute.ComposedLayout, qk_mma: cute.TiledMma, pv_mma: cute.TiledMma,
    plan: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    dtype, warpgroups, depth = load_Q.value_type, plan.warpgroups, cute.size(sQ_layout, mode=[1])
    buffers = 2 if plan.overlaps else 1  # of Q, for each warpgroup
    is_8 = dtype.bits == 8
    turners = TURNERS if is_8 else 0
    storage = cutlass.utils.SmemAllocator()
    sQ = storage.allocate_tensor(dtype, sQ_layout, 1024)
    sK = storage.allocate_tensor(dtype, sK_layout, 1024)
    sV = storage.allocate_tensor(dtype, sV_layout, 1024)
    sT = storage.allocate_tensor(dtype, sT_layout, 1024) if is_8 else sV
    sO = storage.allocate_tensor(store_O.value_type, sO_layout, 1024) if plan.overlaps else sQ
    sTiles = storage.allocate_tensor(cutlass.Int32, cute.make_layout((4, 2)), 16)  # all of a tile but its last block
    sHighs = storage.allocate_tensor(cutlass.Int32, cute.make_layout(2))
    sScales = storage.allocate_tensor(cutlass.Float32, cute.make_layout((2, 2)))  # of scores and O, by stage

    def stages(count, layout, warps):
        """Stages that TMA fills, with the bytes of one, and so many warps empty."""
        group = pipeline.CooperativeGroup
        return pipeline.PipelineTmaAsync.create(
            num_stages=count, producer_group=group(pipeline.Agent.Thread),
            consumer_group=group(pipeline.Agent.Thread, warps),
            barrier_storage=storage.allocate_array(cutlass.Int64, 2 * count),
            tx_count=cute.size_in_bytes(dtype, cute.slice_(layout, (None, None, 0))),
        )  # fmt: skip

    def handed_stages(count, producers, consumers):
        """Stages that warps fill and empty."""
        group = pipeline.CooperativeGroup
        return pipeline.PipelineAsync.create(
            num_stages=count, producer_group=group(pipeline.Agent.Thread, producers),
            consumer_group=group(pipeline.Agent.Thread, consumers),
            barrier_storage=storage.allocate_array(cutlass.Int64, 2 * count),
        )  # fmt: skip

    stages_Q = stages(buffers * warpgroups, sQ_layout, 4)  # of warpgroup 0, 1, .., then 0 again
    stages_K = stages(plan.stages, sK_layout, 4 * warpgroups)
    stages_V = stages(plan.stages, sV_layout, turners if is_8 else 4 * warpgroups)
    stages_T = handed_stages(plan.stages, turners, 4 * warpgroups) if is_8 else stages_V
    handed = handed_stages(2, 1, 4 * warpgroups + turners + 1)
    ctas, _, _ = cute.arch.grid_dim()

    def tile_at(state):
        """The tile that a stage holds. It is read wherever it is needed: registers are few."""
        held = cute.make_rmem_tensor(4, cutlass.Int32)
        cute.autovec_copy(sTiles[None, state.index], held)
        return Tile(*(held[i] for i in range(4)), sHighs[state.index])

    def release(stages, state):
        """A warp has read a stage."""
        if cutlass.const_expr(isinstance(stages, pipeline.PipelineTmaAsync)):
            stages.consumer_release(state)
        else:
            cute.arch.sync_warp()
            with cute.arch.elect_one():
                stages.consumer_release(state)
        state.advance()

    def schedule():
        """One warp takes tickets and hands on their tiles, early enough that nobody waits for one."""
        state_T = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)

        def hand_on(tile):
            handed.producer_acquire(state_T)
            if cute.arch.lane_idx() == 0:
                held = cute.make_rmem_tensor(4, cutlass.Int32)
                for i in cutlass.range_constexpr(4):
                    held[i] = tile[i]
                cute.autovec_copy(held, sTiles[None, state_T.index])
                sHighs[state_T.index] = tile.high
                if cutlass.const_expr(is_8):
                    at = tile.batch, tile.head // (gQ.shape[2] // gK.shape[2])
                    of_q, of_k, of_v = (x[at] for x in problem.scales)
                    sScales[0, state_T.index] = problem.scale * of_q * of_k * math.log2(math.e)
                    sScales[1, state_T.index] = of_v
                handed.producer_commit(state_T)
            state_T.advance()

        ticket, _, _ = cute.arch.block_idx()
        while ticket < problem.tiles * problem.heads * problem.batches:
            taken = cutlass.Int32(0)
            if cute.arch.lane_idx() == 0:
                taken = cute.arch.atomic_add(tickets.iterator, cutlass.Int32(1))
            tile = tile_of(problem, plan, ticket)
            if tile.number * ROWS * warpgroups < problem.sequence(tile.batch).queries:
                hand_on(tile)
            ticket = ctas + cute.arch.make_warp_uniform(taken)
        hand_on(NO_TILE)
        # The last CTA to come here leaves the tickets as they were.
        if cute.arch.lane_idx() == 0:
            cute.arch.fence_acq_rel_gpu()
            if cute.arch.atomic_add(tickets.iterator + 1, cutlass.Int32(1)) == ctas - 1:
                cute.arch.fence_acq_rel_gpu()
                cute.arch.atomic_exch(tickets.iterator, cutlass.Int32(0))
                cute.arch.atomic_exch(tickets.iterator + 1, cutlass.Int32(0))

    def produce():
        """One warp asks for Q, K and V."""
        state_T = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        state_Q = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, buffers * warpgroups)
        state_K = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, plan.stages)
        state_V = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, plan.stages)
        for atom in (load_Q, load_K, load_V):
            cpasync.prefetch_descriptor(atom)

        def loads(atom, tensor, shared, start, proj):
            """What fills a stage with a block of rows of one head, from row `start` on."""
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

        def values_of(tile):
            """What fetches a tile's values."""
            key_head, batch = tile.head // (gQ.shape[2] // gK.shape[2]), problem.batch_of_tensors(tile.batch)
            start = problem.sequence(tile.batch).start_k
            return loads(load_V, gV[None, None, key_head, batch], sV, start, 0 if is_8 else 1)

        def fetch(tile, has_last, last):
            """A tile's blocks, and before its second one the values of the last block of the tile before."""
            head, batch, high = tile.head, problem.batch_of_tensors(tile.batch), tile.high
            sequence, low = problem.sequence(tile.batch), problem.low(plan, tile.first)
            key_head = head // (gQ.shape[2] // gK.shape[2])
            get_Q = loads(load_Q, gQ[None, None, head, batch], sQ, sequence.start_q, 0)
            get_K = loads(load_K, gK[None, None, key_head, batch], sK, sequence.start_k, 0)
            get_V = values_of(tile)
            for part in cutlass.range_constexpr(warpgroups):
                get_Q(stages_Q, state_Q, tile.number * warpgroups + part)
            get_K(stages_K, state_K, high - 1)
            if has_last:
                values_of(last)(stages_V, state_V, problem.low(plan, last.first))
            for i in cutlass.range(high - 1 - low, unroll=1):
                get_K(stages_K, state_K, high - 2 - i)
                get_V(stages_V, state_V, high - 1 - i)
            if cutlass.const_expr(not plan.overlaps):
                get_V(stages_V, state_V, low)

        handed.consumer_wait(state_T)
        tile = tile_at(state_T)
        has_last, last = cutlass.Boolean(False), tile
        while tile.high > 0:
            fetch(tile, has_last, last)
            if cutlass.const_expr(plan.overlaps):
                has_last, last = cutlass.Boolean(True), tile
            release(handed, state_T)
            handed.consumer_wait(state_T)
            tile = tile_at(state_T)
        if has_last:
            values_of(last)(stages_V, state_V, problem.low(plan, last.first))
        stages_K.producer_tail(state_K)
        stages_V.producer_tail(state_V)

    def turn():
        """Some warps transpose the values: wgmma reads 8-bit operands along K, which are the keys."""
        state_T = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        state_V = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, plan.stages)
        turned = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, plan.stages)
        handed.consumer_wait(state_T)
        tile = tile_at(state_T)
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
            release(handed, state_T)
            handed.consumer_wait(state_T)
            tile = tile_at(state_T)

    def consume():
        """A warpgroup computes its rows of O."""
        group = warp_idx // 4
        state_K = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, plan.stages)
        state_V = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, plan.stages)
        state_T = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        next_T = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        next_T.advance()
        visits = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, buffers)  # of tiles

        tSrQ = qk_mma.make_fragment_A(qk_mma.get_slice(0).partition_A(sQ))
        tSrK = qk_mma.make_fragment_B(qk_mma.get_slice(0).partition_B(sK))
        tOrV = pv_mma.make_fragment_B(pv_mma.get_slice(0).partition_B(sT))
        tSrS = qk_mma.make_fragment_C(qk_mma.partition_shape_C((ROWS, plan.keys)))
        tOrO = pv_mma.make_fragment_C(pv_mma.partition_shape_C((ROWS, depth)))
        weights = as_operand_a(tSrS, dtype)
        tOrP = cute.make_rmem_tensor(weights.shape, dtype)
        tS, tO = rows_and_columns(tSrS), rows_and_columns(tOrO)
        own = qk_mma.get_slice(tidx % 128).partition_C(cute.make_identity_tensor((ROWS, plan.keys)))
        row_0, column_0 = rows_and_columns(own)[0, 0]
        softmax = OnlineSoftmax(2, None if is_8 else problem.scale * math.log2(math.e), 8 if is_8 else 0)
        store = stores(tOrO, sO, store_O, gO, mO, pv_mma, problem, group, warp_idx, tidx % 128, plan)

        def own_Q():
            return pipeline.PipelineState(buffers * warpgroups, 0, visits.index * warpgroups + group, visits.phase)

        def reset(state):
            softmax.reset(sScales[0, state.index] if is_8 else None)

        def take_turn():
            if cutlass.const_expr(plan.takes_turns):
                cute.arch.barrier(barrier_id=1 + group, number_of_threads=256)

        def end_turn():
            if cutlass.const_expr(plan.takes_turns):
                cute.arch.barrier_arrive(barrier_id=1 + (group + 1) % warpgroups, number_of_threads=256)

        def own_high(tile):
            """Where the blocks end that this warpgroup computes: one at least, as for the tile."""
            if cutlass.const_expr(plan.passes == 0):
                return tile.high
            row, high = group * ROWS, tile.high
            if cutlass.const_expr(problem.right is not None):
                high = cutlass.min(high, cute.ceil_div(tile.first + row + ROWS + problem.right, plan.keys))
            exists = tile.number * ROWS * warpgroups + row < problem.sequence(tile.batch).queries
            high = cutlass.max(cute.where(exists, high, 0), problem.low(plan, tile.first) + 1)
            # In a long tile it gains less than products of two tiles at a time do.
            return cute.where(tile.high <= plan.passes, high, tile.high)

        def pass_over():
            """A block that others see."""
            stages_K.consumer_wait(state_K)
            take_turn()
            end_turn()
            release(stages_K, state_K)
            stages_T.consumer_wait(state_V)
            release(stages_T, state_V)

        def begin(block, tile):
            """The weights of a tile's first block, alone."""
            stages_Q.consumer_wait(own_Q())
            stages_K.consumer_wait(state_K)
            take_turn()
            multiply(qk_mma, tSrS, tSrQ[None, None, None, own_Q().index], tSrK, state_K, False)
            end_turn()
            warpgroup.wait_group(0)
            release(stages_K, state_K)
            weigh(block, tile)
            tOrP.store(weights.load().to(dtype))

        @cute.jit
        def attend(block, tile, accumulate):
            """The scores of a block and the weighted values of the one before, then the softmax of these scores."""
            stages_K.consumer_wait(state_K)
            take_turn()
            multiply(qk_mma, tSrS, tSrQ[None, None, None, own_Q().index], tSrK, state_K, False)
            if cutlass.const_expr(warpgroups == 2):  # as below
                softmax.rescale(tO)
            stages_T.consumer_wait(state_V)
            multiply(pv_mma, tOrO, tOrP, tOrV, state_V, accumulate)
            end_turn()
            warpgroup.wait_group(1)
            release(stages_K, state_K)
            weigh(block, tile)
            # V came long ago. This keeps ptxas from waiting for O before the exponentials: it moves that wait up, but
            # not over a branch. Where two other warpgroups fill that time, the branch costs more than it gains.
            if cutlass.const_expr(warpgroups == 2):
                stages_T.consumer_wait(state_V)
            warpgroup.wait_group(0)
            release(stages_T, state_V)

        def end(accumulate):
            """The weighted values of a tile's last block, alone."""
            if cutlass.const_expr(warpgroups == 2):
                softmax.rescale(tO)
            stages_T.consumer_wait(state_V)
            multiply(pv_mma, tOrO, tOrP, tOrV, state_V, accumulate)
            warpgroup.wait_group(0)
            release(stages_T, state_V)

        @cute.jit
        def weigh(block, tile):
            """The softmax of a block's scores."""
            begin, keys = block * plan.keys, problem.sequence(tile.batch).keys
            query = tile.first + group * ROWS
            hides = begin + plan.keys > keys  # some key from some query of this warpgroup
            if cutlass.const_expr(problem.right is not None):
                hides = cutlass.or_(hides, begin + plan.keys - 1 > query + problem.right)
            if cutlass.const_expr(problem.left is not None):
                hides = cutlass.or_(hides, begin < query + ROWS - 1 - problem.left)
            if hides:
                for r in cutlass.range_constexpr(2):
                    seen = query + row_0 + 8 * r - begin - column_0  # where the query's own key is
                    last = keys - 1 - begin - column_0
                    if cutlass.const_expr(problem.right is not None):
                        last = cutlass.min(last, seen + problem.right)
                    for c in cutlass.range_constexpr(cute.size(tS, mode=[1])):
                        column = c % 2 + c // 2 * 8
                        tS[r, c] = cute.where(column <= last, tS[r, c], -math.inf)
                        if cutlass.const_expr(problem.left is not None):
                            tS[r, c] = cute.where(column >= seen - problem.left, tS[r, c], -math.inf)
            softmax.step(tS, True)

        def finish(state, softmax):
            """Divide O by the sums of weights, and send it."""
            tile = tile_at(state)
            sequence, batch = problem.sequence(tile.batch), problem.batch_of_tensors(tile.batch)
            block = tile.number * warpgroups + group
            for r in cutlass.range_constexpr(2):
                inverse, logarithm = softmax.finish(r)
                if cutlass.const_expr(is_8):
                    inverse = inverse * sScales[1, state.index]
                tO[r, None].store(tO[r, None].load() * inverse)
                row = block * ROWS + row_0 + 8 * r
                if column_0 == 0 and row < sequence.queries:
                    mL[batch, tile.head, sequence.start_q + row] = logarithm * math.log(2)
            store(block, tile.head, batch, sequence)

        if cutlass.const_expr(plan.takes_turns) and group == warpgroups - 1:
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=256)
        tOrO.fill(0.0)
        handed.consumer_wait(state_T)
        more, is_begun = tile_at(state_T).high > 0, cutlass.Boolean(False)
        while more:
            tile = tile_at(state_T)
            low, high = problem.low(plan, tile.first), own_high(tile)
            if cutlass.not_(is_begun):
                if cutlass.const_expr(plan.passes):
                    for _ in cutlass.range(tile.high - high, unroll=1):
                        pass_over()
                reset(state_T)
                begin(high - 1, tile)
            for i in cutlass.range(high - 1 - low, unroll=1):
                attend(high - 2 - i, tile, i != 0)
                if cutlass.const_expr(warpgroups != 2):
                    softmax.rescale(tO)
                tOrP.store(weights.load().to(dtype))
            is_first = low == high - 1  # block, too
            handed.consumer_wait(next_T)
            following = tile_at(next_T)
            more = following.high > 0
            is_begun = cutlass.and_(more, own_high(following) == following.high)
            if cutlass.const_expr(plan.overlaps):
                stages_Q.consumer_release(own_Q())
                visits.advance()
            if cutlass.const_expr(plan.overlaps) and is_begun:
                stages_Q.consumer_wait(own_Q())
                before = softmax.copy()
                reset(next_T)
                attend(following.high - 1, following, not is_first)
                tOrP.store(weights.load().to(dtype))
                finish(state_T, before)
            else:
                is_begun = cutlass.Boolean(False)
                end(not is_first)
                finish(state_T, softmax)
            if cutlass.const_expr(not plan.overlaps):
                stages_Q.consumer_release(own_Q())
                visits.advance()
            release(handed, state_T)
            next_T.advance()
        cute.arch.cp_async_bulk_wait_group(0, read=True)

    if warp_idx >= 4 * warpgroups:
        cute.arch.setmaxregister_decrease(REGISTERS[warpgroups, dtype.bits][0])
        if warp_idx == 4 * warpgroups:
            produce()
        elif warp_idx == 4 * warpgroups + 1:
            schedule()
        elif cutlass.const_expr(is_8):
            turn()
    else:
        cute.arch.setmaxregister_increase(REGISTERS[warpgroups, dtype.bits][1])
        consume()


def multiply(tiled_mma, acc, a, b, state, accumulate):
    """A group of wgmma that begins now, by the stage of b."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, accumulate)
    cute.gemm(tiled_mma, acc, a, b[None, None, None, state.index], acc)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)  # as before, so that loops change nothing
    warpgroup.commit_group()


def stores(tOrO, sO, store_O, gO, mO, tiled_mma, problem, group, warp_idx, tidx, plan):
    """What brings a warpgroup's rows of O to memory: by stmatrix into shared memory, by TMA from there."""
    dtype, shape = store_O.value_type, cute.product_each(sO.shape)[:2]
    asks = warp_idx % 4 == 0  # one warp of the group
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    tiled_copy = cute.make_tiled_copy_C(atom, tiled_mma)
    buffer = tiled_copy.get_slice(tidx).partition_D(sO)[None, None, None, group]
    rounded = cute.make_fragment_like(tOrO, dtype)
    across = shape[1] // 8
    universal = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((128 // across, across), stride=(across, 1))
    copy_rows = cute.make_tiled_copy_tv(universal, threads, cute.make_layout((1, 8)))
    by_rows = copy_rows.get_slice(tidx)

    @cute.jit
    def send(block, exists, rows):
        """A block of 64 rows by TMA, which leaves out those that the tensor does not have."""
        if asks and exists:
            blocks = cute.local_tile(rows, shape, (None, 0))
            tOsO, tOgO = cpasync.tma_partition(
                store_O, 0, cute.make_layout(1), cute.group_modes(sO, 0, 2), cute.group_modes(blocks, 0, 2)
            )
            cute.copy(store_O, tOsO[None, group], tOgO[None, block])

    @cute.jit
    def store(block, head, batch, sequence):
        # The last O has left, and all warps have read Q where O takes its place.
        if asks:
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.barrier(barrier_id=5 + group, number_of_threads=128)
        rounded.store(tOrO.load().to(dtype))
        cute.copy(tiled_copy, tiled_copy.retile(rounded), buffer)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=5 + group, number_of_threads=128)
        left = sequence.queries - block * ROWS
        rows = cute.domain_offset((sequence.start_q, 0), gO[None, None, head, batch])
        if cutlass.const_expr(problem.starts_q is None):
            send(block, left > 0, rows)
        else:
            # A box would reach into the next sequence: rows that are no whole block go element by element.
            send(block, left >= ROWS, rows)
            if left > 0 and left < ROWS:
                begin = sequence.start_q + block * ROWS
                target = cute.local_tile(cute.domain_offset((begin, 0), mO[batch, head, None, None]), shape, (0, 0))
                dst = by_rows.partition_D(target)
                at = by_rows.partition_D(cute.make_identity_tensor(shape))
                exists = cute.make_rmem_tensor(cute.make_layout((1, *dst.shape[1:]), stride=(0, 1, 0)), cutlass.Boolean)
                for i in cutlass.range_constexpr(dst.shape[1]):
                    exists[0, i, 0] = at[0, i, 0][0] < left
                cute.copy(copy_rows, by_rows.partition_S(sO[None, None, group]), dst, pred=exists)
        if asks:
            cute.arch.cp_async_bulk_commit_group()
            if cutlass.const_expr(not plan.overlaps):
                cute.arch.cp_async_bulk_wait_group(0, read=True)

    return store


@cute.jit
def attention(
    mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, scale: cutlass.Float32,
    left: cutlass.Int32, right: cutlass.Int32, starts_q: cute.Tensor, starts_k: cute.Tensor, max_q: cutlass.Int32,
    scale_q: cute.Tensor, scale_k: cute.Tensor, scale_v: cute.Tensor, tickets: cute.Tensor, ctas: cutlass.Int32,
    depth: cutlass.Constexpr,
):  # fmt: skip
    """left, right, starts_q, starts_k: or None. max_q: the queries of the longest sequence. ctas run at a time.

    scale_q, scale_k, scale_v: of 8-bit elements, (batches, heads of keys) that multiply them; else None.

    tickets: two zeros, which are zeros again at the end; calls that may run at a time need their own.
    """
    dtype, out = mQ.element_type, mO.element_type
    if (depth, dtype.bits) not in PLANS:
        depths = ", ".join(str(d) for d, bits in PLANS if bits == dtype.bits)
        raise ValueError(f"attention: depth is {depth}; expected one of {depths}")
    plan, is_8 = PLANS[depth, dtype.bits], dtype.bits == 8
    row_major, column_major = LayoutEnum.ROW_MAJOR, LayoutEnum.COL_MAJOR
    q_tile, k_tile = (ROWS, ROWS, depth), (ROWS, plan.keys, depth)
    sQ_layout, sO_layout = (
        hopper_helpers.make_smem_layout_a(row_major, q_tile, of, count * plan.warpgroups)
        for of, count in ((dtype, 2 if plan.overlaps else 1), (out, 1))
    )
    sK_layout = hopper_helpers.make_smem_layout_b(row_major, k_tile, dtype, plan.stages)
    # Values of 8 bits come as they lie in memory, and are transposed.
    sT_layout = hopper_helpers.make_smem_layout_b(
        row_major if is_8 else column_major, (ROWS, depth, plan.keys), dtype, plan.stages
    )
    sV_layout = sK_layout if is_8 else sT_layout
    k, mn, source = warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.MN, warpgroup.OperandSource
    qk_mma, pv_mma = (
        hopper_helpers.make_trivial_tiled_mma(dtype, dtype, k, major, cutlass.Float32, (1, 1, 1), (ROWS, n), src)
        for major, n, src in ((k, plan.keys, source.SMEM), (k if is_8 else mn, depth, source.RMEM))
    )

    def matrices(tensor, order):
        """(rows, depth, heads, batches) with a depth known while tracing, or (depth, rows, ..)."""
        shape, stride = tensor.shape, tensor.stride
        extents = shape[2], depth, shape[1], shape[0]
        rows, heads, batches = (
            cute.assume(stride[i], divby=128 // tensor.element_type.bits) for i in (2, 1, 0)
        )  # as TMA wants
        steps = rows, 1, heads, batches
        return cute.make_tensor(tensor.iterator, cute.select(cute.make_layout(extents, stride=steps), order))

    def one(layout):
        return cute.slice_(layout, (None, None, 0))

    by_row, by_column = [0, 1, 2, 3], [1, 0, 2, 3]
    load, save = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    load_Q, gQ = cpasync.make_tiled_tma_atom(load, matrices(mQ, by_row), one(sQ_layout), (ROWS, depth))
    load_K, gK = cpasync.make_tiled_tma_atom(load, matrices(mK, by_row), one(sK_layout), (plan.keys, depth))
    of_V = (plan.keys, depth) if is_8 else (depth, plan.keys)
    load_V, gV = cpasync.make_tiled_tma_atom(load, matrices(mV, by_row if is_8 else by_column), one(sV_layout), of_V)
    store_O, gO = cpasync.make_tiled_tma_atom(save, matrices(mO, by_row), one(sO_layout), (ROWS, depth))
    rows_O = matrices(mO, [3, 2, 0, 1])
    heads, keys = mQ.shape[1], mK.shape[2]
    batches = mQ.shape[0] if starts_q is None else starts_q.shape[0] - 1
    tiles = cute.ceil_div(max_q, ROWS * plan.warpgroups)
    shared = cutlass.max(L2_BYTES // (cutlass.max(keys, 1) * depth * dtype.bits // 4), 1) * (heads // mK.shape[1])
    scales = scale_q, scale_k, scale_v
    problem = Problem(left, right, starts_q, starts_k, tiles, heads, batches, shared, mQ.shape[2], keys, scale, scales)
    attention_kernel(
        load_Q, gQ, load_K, gK, load_V, gV, store_O, gO, rows_O, mL, tickets, problem, sQ_layout, sK_layout,
        sV_layout, sT_layout, sO_layout, qk_mma, pv_mma, plan,
    ).launch(
        grid=[cutlass.min(ctas, tiles * heads * batches), 1, 1], block=[128 * (plan.warpgroups + 1), 1, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip


def reference(q, k, v, scale, left=None, right=None):
    """O and L in float64, from the matrix of scores."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = scale * q @ k.mT
    distance = torch.arange(k.shape[2], device=q.device) - torch.arange(q.shape[2], device=q.device)[:, None]
    if left is not None:
        scores = scores.masked_fill(distance < -left, -math.inf)
    if right is not None:
        scores = scores.masked_fill(distance > right, -math.inf)
    return scores.softmax(-1).nan_to_num() @ v, scores.logsumexp(-1)


# dtype, batches, heads, heads of keys, queries, keys, depth, left, right
CASES = (
    (torch.bfloat16, 1, 2, 2, 256, 256, 64, None, None),
    (torch.bfloat16, 1, 2, 1, 200, 200, 128, None, 0),
    (torch.float16, 2, 2, 1, 77, 150, 64, 40, 0),
    (torch.float16, 1, 1, 1, 130, 1, 128, None, None),
)


def argument(tensor):
    """A tensor of which all extents may be others at a later call of what was compiled."""
    return cute.runtime.from_dlpack(tensor, assumed_align=16).mark_layout_dynamic(leading_dim=tensor.ndim - 1)


def arguments(
    q, k, v, o, lse, scale, left=None, right=None, starts_q=None, starts_k=None, max_q=None, scales=(None, None, None)
):
    """What attention takes for these tensors, on all of the device's multiprocessors."""
    tickets = cute.runtime.from_dlpack(torch.zeros(2, device=q.device, dtype=torch.int32))
    ctas = cutlass.utils.HardwareInfo().get_device_multiprocessor_count() if q.is_cuda else 2
    starts = (None if x is None else cute.runtime.from_dlpack(x).mark_layout_dynamic() for x in (starts_q, starts_k))
    scales = (None if x is None else cute.runtime.from_dlpack(x).mark_layout_dynamic(leading_dim=1) for x in scales)
    return (
        *map(argument, (q, k, v, o, lse)),
        scale,
        left,
        right,
        *starts,
        max_q or q.shape[2],
        *scales,
        tickets,
        ctas,
        q.shape[3],
    )


def problem(device: str):
    """A small one: causal, with two heads of queries for one of keys."""
    q = torch.randn(1, 2, 256, 128, device=device).bfloat16()
    k, v = (torch.randn(1, 1, 256, 128, device=device).bfloat16() for _ in range(2))
    o, lse = torch.empty_like(q), torch.empty(q.shape[:3], device=device)
    return attention, *arguments(q, k, v, o, lse, 128**-0.5, None, 0)


def check(device: str) -> None:
    for dtype, batches, heads, key_heads, queries, keys, depth, left, right in CASES:
        q = torch.randn(batches, heads, queries, depth, device=device).to(dtype)
        k, v = (torch.randn(batches, key_heads, keys, depth, device=device).to(dtype) for _ in range(2))
        o, lse = torch.full_like(q, math.nan), torch.full(q.shape[:3], math.nan, device=device)
        scale = depth**-0.5
        attention(*arguments(q, k, v, o, lse, scale, left, right))
        expected, expected_lse = reference(q, k, v, scale, left, right)
        torch.testing.assert_close(o, expected.to(dtype), rtol=2e-2, atol=4e-3)
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
