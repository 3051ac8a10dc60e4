"""The backward pass of attention by TMA and wgmma, in bf16 or fp16: FlashAttention's loop over blocks of queries.

What to learn: scores are not kept by the forward pass but computed anew, P = exp(scale Q K^T - L). They are computed
transposed, a warpgroup's 64 keys by a tile of queries, so that the accumulators of one product are operand A of the
next: dV += P^T dO, dP = dO V^T, dS = P (dP - delta), dK += dS^T Q. A block of threads has a block of keys; dQ += dS K
therefore gets a part from each block, which warps of their own add to a workspace by TMA while the products go on.

Every order of these sums gives other bits. So blocks take turns: a tile of queries counts how many have added to it.
A turn comes some microseconds after the one before. That costs nothing where blocks reach a tile one after another
anyway: they begin with the last keys, and go through the queries that see theirs in ascending order, so that with
causal masks each reaches a tile two rounds before the block of the keys before; and blocks that begin together are
those of several heads. A second kernel for dQ would need no turns, but computes P and dP again, 7 products for 5.
`is_ordered=False` adds in any order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warpgroup
from tilewright.utils.accumulators import rows_and_columns

PICTURE = "S<3,3,3> o 0 o (8,64):(64,1)"  # 8 rows of 64 elements of Q, K, V, dO or dS in shared memory
KEYS = 128  # of a block of threads, 64 for each of two warpgroups
QUERIES = 64  # of a round of its loop: with 128, D 64 would want more registers than there are
WARPGROUPS = 2  # that multiply; a third one has the warps that load, that watch turns, and two that add up dQ
ADDERS = 2  # warps that take rounds in turn: while one waits until its sums are there, the other asks for the next
THREADS = 128 * (WARPGROUPS + 1)
STAGES = 2
ROUNDS_TOGETHER = 256  # of heads whose blocks begin together: 132 multiprocessors begin a head's 2 rounds apart
ROW = 256  # sums of dQ in a row of the workspace, which TMA adds up
LOG2_E = math.log2(math.e)

K, MN = warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
DS_IS_THERE, ADD, ADDED = 1, 2, 2 + ADDERS * WARPGROUPS  # named barriers; of the others each adder has its own


class Order(NamedTuple):
    """Which block is begun when: one of each of some heads, then another of each, then those of other heads."""

    blocks: cutlass.Int32  # of a head
    heads: cutlass.Int32  # of keys, of a batch
    all_heads: cutlass.Int32
    together: cutlass.Int32  # heads

    def of(self, number, is_ordered):
        """Block, head and batch. The last blocks have the first turns; without turns, the longest are begun first."""
        band = self.together * self.blocks
        begin, within = number // band * self.together, number % band
        count = cutlass.min(self.together, self.all_heads - begin)
        head = begin + within % count
        block = self.blocks - 1 - within // count if is_ordered else within // count
        return block, head % self.heads, head // self.heads


def order_of(mQ, mK, queries, batches, blocks, is_ordered):
    """The order of so many blocks of each head."""
    heads, together = mK.shape[1], cutlass.Int32(1)
    if cutlass.const_expr(is_ordered):
        # The longer a block's loop, the later the next one begins. More heads would need more of the L2 cache.
        rounds = cute.ceil_div(queries, QUERIES) * (mQ.shape[1] // heads)
        together = cute.ceil_div(ROUNDS_TOGETHER, cutlass.max(rounds, 1))
    return Order(blocks, heads, heads * batches, together)


class Blocks:
    """Which keys are seen by which queries of a sequence, and where the sequence begins.

    Query i sees the keys j with i + shift - left <= j <= i + shift + right, where left and right are known.
    """

    def __init__(self, mQ, mK, left, right, starts_q, starts_k, batch, of_keys=KEYS):
        self.left, self.right, self.of_keys = left, right, of_keys
        if cutlass.const_expr(starts_q is None):
            self.first_q = self.first_k = self.shift = cutlass.Int32(0)
            self.queries, self.keys = mQ.shape[2], mK.shape[2]
            tiles = cute.ceil_div(self.queries, QUERIES)
            self.first_tile, self.tiles_of_head, self.batch = batch * tiles, mQ.shape[0] * tiles, batch
        else:
            self.first_q, self.first_k = starts_q[batch], starts_k[batch]
            self.queries, self.keys = starts_q[batch + 1] - self.first_q, starts_k[batch + 1] - self.first_k
            self.shift = self.keys - self.queries
            self.batch = 0
            # Each sequence has whole tiles of its own in the workspace.
            self.first_tile = self.first_q // QUERIES + batch
            self.tiles_of_head = mQ.shape[2] // QUERIES + cute.size(starts_q) - 1
        self.tiles_q, self.tiles_k = cute.ceil_div(self.queries, QUERIES), cute.ceil_div(self.keys, self.of_keys)

    def workspace_tile(self, head, tile):
        return head * self.tiles_of_head + self.first_tile + tile

    def hides(self, first_key, first_query, keys):
        """Whether a key of so many is not seen by a query of a tile; queries count from the key at their place."""
        hides = first_key + keys > self.keys
        if cutlass.const_expr(self.right is not None):
            hides = cutlass.or_(hides, first_key + keys - 1 > first_query + self.right)
        if cutlass.const_expr(self.left is not None):
            hides = cutlass.or_(hides, first_key < first_query + QUERIES - 1 - self.left)
        return hides

    def sees(self, query, key):
        """Whether a query sees a key."""
        sees = key < self.keys
        if cutlass.const_expr(self.right is not None):
            sees = cutlass.and_(sees, key <= query + self.right)
        if cutlass.const_expr(self.left is not None):
            sees = cutlass.and_(sees, key >= query - self.left)
        return sees

    def tiles_that_see(self, block, count=1):
        """The first and the last tile of queries of which one sees a key of so many blocks."""
        first, last = cutlass.Int32(0), self.tiles_q - 1
        if cutlass.const_expr(self.right is not None):
            first = cutlass.max(0, block * self.of_keys - self.shift - self.right) // QUERIES
        if cutlass.const_expr(self.left is not None):
            end = (block + count) * self.of_keys - 1 - self.shift + self.left
            last = cutlass.min(last, end // QUERIES)
        return first, last

    def blocks_seen_by(self, tile):
        """The first and the last block of keys of which a query of the tile sees one."""
        first, last = cutlass.Int32(0), self.tiles_k - 1
        if cutlass.const_expr(self.left is not None):
            first = cutlass.max(0, tile * QUERIES + self.shift - self.left) // self.of_keys
        if cutlass.const_expr(self.right is not None):
            end = (tile + 1) * QUERIES - 1 + self.shift + self.right
            last = cutlass.min(last, end // self.of_keys)
        return first, last


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


@cute.kernel
def backward_kernel(
    load_Q: cute.CopyAtom, gQ: cute.Tensor, load_dO: cute.CopyAtom, gdO: cute.Tensor, load_K: cute.CopyAtom,
    gK: cute.Tensor, load_V: cute.CopyAtom, gV: cute.Tensor, mRows: cute.Tensor, put_dQ: cute.CopyAtom,
    add_dQ: cute.CopyAtom, gSums: cute.Tensor, mTurns: cute.Tensor, mQ: cute.Tensor, mK: cute.Tensor, mdK: cute.Tensor,
    mdV: cute.Tensor, scale: cutlass.Float32, left, right, starts_q, starts_k, order: Order,
    sQ_layout: cute.ComposedLayout, sK_layout: cute.ComposedLayout, sdS_layout: cute.ComposedLayout,
    mma_S: cute.TiledMma, mma_dV: cute.TiledMma, mma_dQ: cute.TiledMma, is_ordered: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    dtype, depth = load_Q.value_type, mQ.shape[3]
    group = mQ.shape[1] // mK.shape[1]  # heads of queries that share one of keys, whose dK and dV are summed here

    storage = cutlass.utils.SmemAllocator()
    sK, sV = (storage.allocate_tensor(dtype, sK_layout, 1024) for _ in range(2))
    sQ, sdO = (storage.allocate_tensor(dtype, sQ_layout, 1024) for _ in range(2))
    sdS = storage.allocate_tensor(dtype, sdS_layout, 1024)
    part = (QUERIES * depth // ROW // WARPGROUPS, ROW)  # of the workspace's rows, what a warpgroup has of a tile
    sSums = cute.make_layout((*part, WARPGROUPS), stride=(ROW, 1, part[0] * ROW))
    sSums = storage.allocate_tensor(cutlass.Float32, sSums, 128)
    sRows = storage.allocate_tensor(cutlass.Float32, cute.make_layout((QUERIES, 2, STAGES)), 128)
    barriers = storage.allocate_array(cutlass.Int64, 4 * STAGES + 2 + 2 * ADDERS)

    number, _, _ = cute.arch.block_idx()
    if cutlass.const_expr(is_ordered):
        # In whatever order a device starts blocks: those whose turn is before have begun, so nobody waits for ever.
        ticket = storage.allocate_tensor(cutlass.Int32, cute.make_layout(1))
        if tidx == 0:
            ticket[0] = cute.arch.atomic_add(mTurns.iterator + (cute.size(mTurns) - 1), cutlass.Int32(1))
        cute.arch.sync_threads()
        number = cute.arch.make_warp_uniform(ticket[0])
    block, key_head, batch = order.of(number, is_ordered)
    blocks = Blocks(mQ, mK, left, right, starts_q, starts_k, batch)
    first, last = blocks.tiles_that_see(block)
    rounds = cutlass.max(0, last - first + 1)

    def stages(count, first_barrier, size):
        one = pipeline.Agent.Thread
        return pipeline.PipelineTmaAsync.create(
            num_stages=count, producer_group=pipeline.CooperativeGroup(one), tx_count=size,
            consumer_group=pipeline.CooperativeGroup(one, 4 * WARPGROUPS), barrier_storage=barriers + first_barrier,
        )  # fmt: skip

    round_bytes = cute.size_in_bytes(dtype, sQ_layout) // STAGES + 4 * QUERIES
    loads_Q, loads_dO = stages(STAGES, 0, round_bytes), stages(STAGES, 2 * STAGES, round_bytes)
    loads_KV = stages(1, 4 * STAGES, 2 * cute.size_in_bytes(dtype, sK_layout))
    alone = cute.make_layout(1)

    def load():
        """A warp brings K and V once, and Q and dO with their rows' numbers for each round."""

        def tiles(atom, tensor, shared, first, head):
            tensor = cute.domain_offset((first, 0), tensor[None, None, head, blocks.batch])
            tensor = cute.local_tile(tensor, cute.product_each(shared.shape)[:2], (None, 0))
            return cpasync.tma_partition(atom, 0, alone, cute.group_modes(shared, 0, 2), cute.group_modes(tensor, 0, 2))

        start = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
        loads_KV.producer_acquire(start)
        for once, tensor, shared in ((load_K, gK, sK), (load_V, gV, sV)):
            whole, there = tiles(once, tensor, shared, blocks.first_k, key_head)
            cute.copy(once, there[None, block], whole, tma_bar_ptr=loads_KV.producer_get_barrier(start))
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
        numbers = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)

        def fetch(pipe, atom, to, at, which, tile, row, state):
            pipe.producer_acquire(state)
            barrier = pipe.producer_get_barrier(state)
            cute.copy(atom, at[None, tile], to[None, state.index], tma_bar_ptr=barrier)
            cute.copy(numbers, mRows[row, which, None], sRows[None, which, state.index], mbar_ptr=barrier)

        for member in cutlass.range(group, unroll=1):
            head = key_head * group + member
            sQ_to, sQ_at = tiles(load_Q, gQ, sQ, blocks.first_q, head)
            sdO_to, sdO_at = tiles(load_dO, gdO, sdO, blocks.first_q, head)
            for i in cutlass.range(rounds, unroll=1):
                row = blocks.workspace_tile(head, first + i)
                fetch(loads_Q, load_Q, sQ_to, sQ_at, 0, first + i, row, state)
                fetch(loads_dO, load_dO, sdO_to, sdO_at, 1, first + i, row, state)
                state.advance()

    turns = pipeline.PipelineAsync.create(
        num_stages=ADDERS, producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32),
        consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 32),
        barrier_storage=barriers + (4 * STAGES + 2),
    )  # fmt: skip

    def added_by(i):
        """Which part of the workspace round i adds to, and how many blocks add before this one."""
        tile = first + i % rounds
        at = blocks.workspace_tile(key_head * group + i // rounds, tile)
        return at, blocks.blocks_seen_by(tile)[1] - block if is_ordered else cutlass.Int32(1)

    def watch():
        """A warp waits for the turn of each round, and tells the adder."""
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, ADDERS)
        for i in cutlass.range(group * rounds, unroll=1):
            at, before = added_by(i)
            turns.producer_acquire(state)
            if cute.arch.lane_idx() == 0:
                while cute.arch.atomic_add(mTurns.iterator + at, 0) < before:
                    pass
                cute.arch.fence_acq_rel_gpu()
            cute.arch.sync_warp()
            turns.producer_commit(state)
            state.advance()

    def add_up(adder):
        """A warp adds this block's part of dQ to the sums in the workspace: in turn, and the first block stores."""
        rows = cute.local_tile(gSums, part, (None, 0))
        src, dst = cpasync.tma_partition(put_dQ, 0, alone, cute.group_modes(sSums, 0, 2), cute.group_modes(rows, 0, 2))
        for each in cutlass.range_constexpr(WARPGROUPS):
            if adder == 0:
                cute.arch.barrier_arrive(ADDED + each, 160)
        for i in cutlass.range(adder, group * rounds, ADDERS, unroll=1):
            at, before = added_by(i)
            if cutlass.const_expr(is_ordered):
                state = pipeline.PipelineState(ADDERS, 0, adder, i // ADDERS % 2)
                turns.consumer_wait(state)
                turns.consumer_release(state)
                cute.arch.fence_proxy("async.global")
            for each in cutlass.range_constexpr(WARPGROUPS):
                cute.arch.barrier(barrier_id=ADD + adder * WARPGROUPS + each, number_of_threads=160)
                if before == 0:
                    cute.copy(put_dQ, src[None, each], dst[None, at * WARPGROUPS + each])
                else:
                    cute.copy(add_dQ, src[None, each], dst[None, at * WARPGROUPS + each])
                cute.arch.cp_async_bulk_commit_group()
            for each in cutlass.range_constexpr(WARPGROUPS):
                cute.arch.cp_async_bulk_wait_group(WARPGROUPS - 1 - each, read=True)
                cute.arch.sync_warp()
                if i + 1 < group * rounds:
                    cute.arch.barrier_arrive(ADDED + (adder + 1) % ADDERS * WARPGROUPS + each, 160)
            if cutlass.const_expr(is_ordered):
                cute.arch.cp_async_bulk_wait_group(0)
                cute.arch.sync_warp()
                with cute.arch.elect_one():
                    cute.arch.fence_acq_rel_gpu()
                    cute.arch.atomic_add(mTurns.iterator + at, 1)
        cute.arch.cp_async_bulk_wait_group(0)

    def multiply():
        """A warpgroup has 64 of the keys: the five products of a round, and the sums dV and dK at the end."""
        group_idx = warp_idx // 4
        thr_S, thr_dV, thr_dQ = (mma.get_slice(group_idx * 128) for mma in (mma_S, mma_dV, mma_dQ))
        tSrK, tPrV = (mma_S.make_fragment_A(thr_S.partition_A(x)) for x in (sK, sV))
        tSrQ, tPrdO = (mma_S.make_fragment_B(thr_S.partition_B(x)) for x in (sQ, sdO))
        tVrdO, tKrQ = (mma_dV.make_fragment_B(thr_dV.partition_B(transposed(x))) for x in (sdO, sQ))
        tQrdS = mma_dQ.make_fragment_A(thr_dQ.partition_A(transposed(sdS)))
        tQrK = mma_dQ.make_fragment_B(thr_dQ.partition_B(transposed(sK)))
        S, dP = (mma_S.make_fragment_C(mma_S.partition_shape_C((KEYS, QUERIES))) for _ in range(2))
        dV, dK = (mma_dV.make_fragment_C(mma_dV.partition_shape_C((KEYS, depth))) for _ in range(2))
        dQ = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((QUERIES, depth)))
        P, dS = (cute.make_fragment_like(S, dtype) for _ in range(2))
        as_A = cute.make_layout(((2, 2, 2), 1, QUERIES // 16))  # accumulators lie as operand A has them
        tVrP, tKrdS = (cute.make_tensor(x.iterator, as_A) for x in (P, dS))
        # Accumulators are written by wgmma alone: else the compiler would run the products one by one.
        weights = cute.make_fragment_like(S)
        tS, tdP, tW = (rows_and_columns(x) for x in (S, dP, weights))

        own = mma_S.get_slice(tidx)
        at = rows_and_columns(own.partition_C(cute.make_identity_tensor((KEYS, QUERIES))))
        store_op = cute.nvgpu.warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4)
        store_dS = cute.make_tiled_copy_C(cute.make_copy_atom(store_op, dtype), mma_S)
        dS_to = store_dS.get_slice(tidx).partition_D(sdS)
        sums, sums_to = fours(dQ), of_thread(sSums, dQ, tidx)
        # The numbers of queries are the same for each key.
        spread = cute.make_layout((KEYS, QUERIES, 2, STAGES), stride=(0, 1, QUERIES, 2 * QUERIES))
        spread = own.partition_C(cute.make_tensor(sRows.iterator, spread))

        def numbers(which, stage, pair):
            """log2(e) L or delta of two of the thread's columns."""
            row = rows_and_columns(spread[None, None, None, which, stage])[0, (None, pair)]
            held = cute.make_fragment_like(row)
            cute.autovec_copy(row, held)
            return held.load()

        loads_KV.consumer_wait(pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1))
        state, done = (pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES) for _ in range(2))
        mma_S.set(warpgroup.Field.ACCUMULATE, False)
        mma_dQ.set(warpgroup.Field.ACCUMULATE, False)
        for i in cutlass.range(group * rounds, unroll=1):
            stage, buffer = (None, None, None, state.index), i % 2
            loads_Q.consumer_wait(state)
            loads_dO.consumer_wait(state)
            warpgroup.fence()
            cute.gemm(mma_S, S, tSrK, tSrQ[stage], S)
            warpgroup.commit_group()
            cute.gemm(mma_S, dP, tPrV, tPrdO[stage], dP)
            warpgroup.commit_group()
            warpgroup.wait_group(1)  # for S, and dK of the round before
            if i != 0:
                loads_Q.consumer_release(done)
                done.advance()
            for c in cutlass.range_constexpr(cute.size(tS.shape[1], mode=[1])):
                log2_sums = numbers(0, state.index, c)
                for r in cutlass.range_constexpr(cute.size(tS.shape[0])):
                    scores = cute.math.fma(tS[r, (None, c)].load(), scale * LOG2_E, -log2_sums)
                    tW[r, (None, c)].store(cute.math.exp2(scores, fastmath=True))
            mask(tW, at, blocks, block, first + i % rounds)
            P.store(weights.load().to(dtype))
            mma_dV.set(warpgroup.Field.ACCUMULATE, i != 0)
            warpgroup.fence()
            cute.gemm(mma_dV, dV, tVrP, tVrdO[stage], dV)
            warpgroup.commit_group()
            warpgroup.wait_group(1)  # for dP
            for c in cutlass.range_constexpr(cute.size(tS.shape[1], mode=[1])):
                deltas = numbers(1, state.index, c)
                for r in cutlass.range_constexpr(cute.size(tS.shape[0])):
                    tW[r, (None, c)].store(tW[r, (None, c)].load() * (tdP[r, (None, c)].load() - deltas))
            dS.store(weights.load().to(dtype))
            # All keys are summed for dQ. The other buffer may still be read by the other warpgroup.
            cute.copy(store_dS, store_dS.retile(dS), dS_to[None, None, None, buffer])
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier(barrier_id=DS_IS_THERE, number_of_threads=128 * WARPGROUPS)
            warpgroup.fence()
            cute.gemm(mma_dQ, dQ, tQrdS[None, None, None, buffer], tQrK, dQ)
            warpgroup.commit_group()
            cute.gemm(mma_dV, dK, tKrdS, tKrQ[stage], dK)
            warpgroup.commit_group()
            warpgroup.wait_group(1)  # for dQ and dV
            loads_dO.consumer_release(state)
            state.advance()
            turn = i % ADDERS * WARPGROUPS + group_idx
            cute.arch.barrier(barrier_id=ADDED + turn, number_of_threads=160)
            cute.autovec_copy(sums, sums_to)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier_arrive(barrier_id=ADD + turn, number_of_threads=160)
        warpgroup.wait_group(0)
        if group * rounds == 0:
            dV.fill(0.0)
            dK.fill(0.0)
        for acc, tensor, factor in ((dV, mdV, 1.0), (dK, mdK, scale)):
            found = cute.domain_offset((blocks.first_k, 0), tensor[blocks.batch, key_head, None, None])
            store(acc, factor, found, block, (KEYS, depth), blocks.keys, mma_dV.get_slice(tidx))

    if block < blocks.tiles_k:
        if warp_idx >= 4 * WARPGROUPS:
            cute.arch.setmaxregister_decrease(24)
            if warp_idx == 4 * WARPGROUPS:
                load()
            if cutlass.const_expr(is_ordered) and warp_idx == 4 * WARPGROUPS + 1:
                watch()
            if warp_idx >= 4 * WARPGROUPS + 2:
                add_up(warp_idx - (4 * WARPGROUPS + 2))
        else:
            cute.arch.setmaxregister_increase(240)
            multiply()


def transposed(shared):
    """Matrices (rows, columns, stages..) in shared memory as (columns, rows, stages..)."""
    rows, columns, *more = cute.product_each(shared.shape)
    order = cute.make_layout((columns, rows, *more), stride=(rows, 1, *(rows * columns for _ in more)))
    return cute.composition(shared, order)


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
    """Accumulators as vectors of 16 bytes."""
    return cute.make_tensor(acc.iterator, cute.make_layout((4, cute.size(acc) // 4)))


def of_thread(sums, acc, tidx):
    """Where a thread's vectors lie in a tile of the workspace: beside its neighbours', so no banks conflict."""
    shape = (4, cute.size(acc) // 4, 128, WARPGROUPS)
    layout = cute.make_layout(shape, stride=(1, 4 * 128, 4, 128 * cute.size(acc)))
    return cute.make_tensor(sums.iterator, layout)[None, None, tidx % 128, tidx // 128]


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


@cute.kernel
def finish_kernel(
    mSums: cute.Tensor, mdQ: cute.Tensor, mQ: cute.Tensor, mK: cute.Tensor, scale: cutlass.Float32, left, right,
    starts_q, starts_k, mma_dQ: cute.TiledMma,
):  # fmt: skip
    """dQ from its sums, which lie as the threads of the product had them."""
    tidx, _, _ = cute.arch.thread_idx()
    tile, head, batch = cute.arch.block_idx()
    shape = (QUERIES, mdQ.shape[3])
    blocks = Blocks(mQ, mK, left, right, starts_q, starts_k, batch)
    if tile < blocks.tiles_q:
        sums = cute.local_tile(mSums, (shape[0] * shape[1] // ROW, ROW), (blocks.workspace_tile(head, tile), 0))
        dQ = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C(shape))
        dQ.fill(0.0)
        first_block, last_block = blocks.blocks_seen_by(tile)
        if first_block <= last_block:
            cute.autovec_copy(of_thread(sums, dQ, tidx), fours(dQ))
        found = cute.domain_offset((blocks.first_q, 0), mdQ[blocks.batch, head, None, None])
        store(dQ, scale, found, tile, shape, blocks.queries, mma_dQ.get_slice(tidx))


@cute.jit
def attention_backward(
    mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor, mdO: cute.Tensor, mL: cute.Tensor,
    mdQ: cute.Tensor, mdK: cute.Tensor, mdV: cute.Tensor, mRows: cute.Tensor, mSums: cute.Tensor, mTurns: cute.Tensor,
    scale: cutlass.Float32, left, right, starts_q=None, starts_k=None, max_q=None, max_k=None,
    is_ordered: cutlass.Constexpr = True,
):  # fmt: skip
    """left, right: Int32 or None, as attention_forward has them; max_q, max_k: of the lengths that starts tell."""
    dtype, depth = mQ.element_type, mQ.shape[3]
    if depth not in (64, 128):
        raise ValueError(f"attention_backward: mQ has D = {depth}; expected 64 or 128, known while tracing")
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, dtype)
    sQ_layout = cute.tile_to_shape(atom, (QUERIES, depth, STAGES), (0, 1, 2))
    sK_layout = cute.tile_to_shape(atom, (KEYS, depth), (0, 1))
    sdS_layout = cute.tile_to_shape(atom, (KEYS, QUERIES, 2), (0, 1, 2))

    def product(atoms, n, a, source=SMEM, b=MN):
        op = warpgroup.MmaF16BF16Op(dtype, cutlass.Float32, (64, n, 16), source, a, b)
        return cute.make_tiled_mma(op, atoms)

    mma_S = product((WARPGROUPS, 1, 1), QUERIES, K, b=K)
    mma_dV = product((WARPGROUPS, 1, 1), depth, K, RMEM)
    mma_dQ = product((1, WARPGROUPS, 1), depth // WARPGROUPS, MN)

    def loads(tensor, layout):
        layout = cute.slice_(layout, (None, None, 0)) if cute.rank(layout) == 3 else layout
        rows_first = cute.make_tensor(tensor.iterator, cute.select(tensor.layout, [2, 3, 1, 0]))
        op = cpasync.CopyBulkTensorTileG2SOp()
        return cpasync.make_tiled_tma_atom(op, rows_first, layout, cute.product_each(layout.shape))

    load_Q, gQ = loads(mQ, sQ_layout)
    load_dO, gdO = loads(mdO, sQ_layout)
    load_K, gK = loads(mK, sK_layout)
    load_V, gV = loads(mV, sK_layout)
    part = cute.make_layout((QUERIES * depth // ROW // WARPGROUPS, ROW), stride=(ROW, 1))
    put_dQ, gSums = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), mSums, part, part.shape)
    add_dQ, _ = cpasync.make_tiled_tma_atom(cpasync.CopyReduceBulkTensorTileS2GOp(), mSums, part, part.shape)

    (batches, heads, queries, _), (_, key_heads, keys, _) = mQ.shape, mK.shape
    if cutlass.const_expr(starts_q is not None):
        batches, queries, keys = cute.size(starts_q) - 1, max_q, max_k
    tiles = [cute.ceil_div(queries, QUERIES), heads, batches]
    prepare_kernel(mO, mdO, mL, mRows, mSums, mTurns, mQ, mK, starts_q, starts_k, is_ordered).launch(
        grid=tiles, block=[256, 1, 1]
    )
    blocks_k = cute.ceil_div(keys, KEYS)
    order = order_of(mQ, mK, queries, batches, blocks_k, is_ordered)
    arguments = (
        load_Q, gQ, load_dO, gdO, load_K, gK, load_V, gV, mRows, put_dQ, add_dQ, gSums, mTurns, mQ, mK, mdK, mdV,
        scale, left, right, starts_q, starts_k, order, sQ_layout, sK_layout, sdS_layout, mma_S, mma_dV, mma_dQ,
        is_ordered,
    )  # fmt: skip
    backward_kernel(*arguments).launch(
        grid=[blocks_k * key_heads * batches, 1, 1], block=[THREADS, 1, 1], min_blocks_per_mp=1
    )
    finish_kernel(mSums, mdQ, mQ, mK, scale, left, right, starts_q, starts_k, mma_dQ).launch(
        grid=tiles, block=[256, 1, 1]
    )


def workspace_tiles(q, starts_q):
    """How many tiles of queries there are: each sequence has whole ones."""
    batches, heads, queries, _ = q.shape
    if starts_q is None:
        return heads * batches * -(-queries // QUERIES)
    return heads * (queries // QUERIES + len(starts_q) - 1)


def workspace(q, starts_q=None):
    """What the kernels keep between them: numbers of queries, sums of dQ, whose turn it is to add, who has begun."""
    tiles, depth = workspace_tiles(q, starts_q), q.shape[3]
    return (
        torch.empty(tiles, 2, QUERIES, device=q.device),
        torch.empty(tiles * QUERIES * depth // ROW, ROW, device=q.device),
        torch.empty(tiles + 1, device=q.device, dtype=torch.int32),
    )


def reference(q, k, v, do, scale, left, right):
    """O, L, dQ, dK and dV in float64, from the matrix of scores."""
    q, k, v = (x.double().requires_grad_() for x in (q, k, v))
    group = q.shape[1] // k.shape[1]
    ahead = torch.arange(k.shape[2], device=q.device) - torch.arange(q.shape[2], device=q.device)[:, None]
    hidden = (ahead > (k.shape[2] if right is None else right)) | (ahead < -(q.shape[2] if left is None else left))
    scores = (scale * q @ k.repeat_interleave(group, 1).mT).masked_fill(hidden, -math.inf)
    o = scores.softmax(-1).nan_to_num(0) @ v.repeat_interleave(group, 1)
    return o.detach(), scores.detach().logsumexp(-1), *torch.autograd.grad(o, (q, k, v), do.double())


# dtype, batches, heads, heads of keys, queries, keys, depth, left, right
CASES = (
    (torch.bfloat16, 1, 2, 1, 200, 200, 64, None, 0),
    (torch.float16, 1, 1, 1, 130, 300, 128, None, None),
    (torch.bfloat16, 2, 1, 1, 150, 150, 128, 40, 10),
)


def argument(tensor):
    """A tensor of which all but the last extent may be another at a later call of what was compiled."""
    made = cute.runtime.from_dlpack(tensor, assumed_align=16)
    for mode in range(max(tensor.ndim - 1, 1)):
        made.mark_compact_shape_dynamic(mode, stride_order=tensor.dim_order())
    return made


def operands(dtype, batches, heads, key_heads, queries, keys, depth, left, right, device):
    """Random Q, K, V and dO, and what a forward pass gives for them."""
    shapes = (heads, queries), (key_heads, keys), (key_heads, keys), (heads, queries)
    q, k, v, do = (torch.randn(batches, *shape, depth, device=device).to(dtype) for shape in shapes)
    o, lse, *expected = reference(q, k, v, do, depth**-0.5, left, right)
    return (q, k, v, o.to(dtype), do, lse.float()), expected


def problem(device):
    """A small call of the host function, for a look at it."""
    tensors, _ = operands(*CASES[0], device)
    gradients = [torch.empty_like(x) for x in tensors[:3]]
    arguments = map(argument, (*tensors, *gradients, *workspace(tensors[0])))
    return attention_backward, *arguments, CASES[0][6] ** -0.5, None, 0


def check(device: str) -> None:
    for case in CASES:
        (q, *_), expected = tensors, expected = operands(*case, device)
        gradients = [torch.full_like(x, math.nan) for x in tensors[:3]]
        arguments = map(argument, (*tensors, *gradients, *workspace(q)))
        attention_backward(*arguments, case[6] ** -0.5, *case[7:])
        for found, wanted in zip(gradients, expected, strict=True):
            torch.testing.assert_close(found, wanted.to(found.dtype), rtol=2e-2, atol=1e-2)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
