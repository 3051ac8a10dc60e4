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

import torch
from tilewright.examples.attention.backward_blocks import KEYS, QUERIES, Blocks, Order, Work, order_of
from tilewright.examples.attention.backward_fetch import Fetched, layouts, loads, product, tiles_of, wait_for_turn
from tilewright.examples.attention.backward_operands import argument, compare, operands, reference, workspace_tiles
from tilewright.examples.attention.backward_rows import LOG2_E, RowNumbers, fours, mask, prepare_kernel, store
from tilewright.examples.attention.stages import filled, handed

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warpgroup
from tilewright.utils.accumulators import as_operand_a, rows_and_columns
from tilewright.utils.shared_matrices import transposed

__all__ = ["argument", "attention_backward", "check", "operands", "problem", "reference", "workspace"]
PICTURE = "S<3,3,3> o 0 o (8,64):(64,1)"  # 8 rows of 64 elements of Q, K, V, dO or dS in shared memory
WARPGROUPS = 2  # that multiply, 64 keys each; a third one has the warps that load, watch turns, and add up dQ
ADDERS = 2  # warps that take rounds in turn: while one waits until its sums are there, the other asks for the next
STAGES = 2
ROW = 256  # sums of dQ in a row of the workspace, which TMA adds up

K, MN = warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.MN
RMEM = warpgroup.OperandSource.RMEM
CONSUMER, PRODUCER = pipeline.PipelineUserType.Consumer, pipeline.PipelineUserType.Producer
DS_IS_THERE, ADD, ADDED = 1, 2, 2 + ADDERS * WARPGROUPS  # named barriers; of the others each adder has its own


@cute.jit
def added_by(work, i):
    """Which part of the workspace round i adds to, and how many blocks add before this one."""
    tile = work.first + i % work.rounds
    at = work.blocks.workspace_tile(work.key_head * work.group + i // work.rounds, tile)
    return at, work.blocks.blocks_seen_by(tile)[1] - work.block if work.is_ordered else cutlass.Int32(1)


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
    work = Work(blocks, block, key_head, group, first, last, rounds, is_ordered)

    round_bytes = cute.size_in_bytes(dtype, sQ_layout) // STAGES + 4 * QUERIES
    loads_Q, loads_dO = (filled(STAGES, round_bytes, 4 * WARPGROUPS, barriers + 2 * STAGES * i) for i in range(2))
    loads_KV = filled(1, 2 * cute.size_in_bytes(dtype, sK_layout), 4 * WARPGROUPS, barriers + 4 * STAGES)
    turns = handed(ADDERS, 32, 32, barriers + (4 * STAGES + 2))

    if block < blocks.tiles_k:
        if warp_idx >= 4 * WARPGROUPS:
            cute.arch.setmaxregister_decrease(24)
            if warp_idx == 4 * WARPGROUPS:
                of_Q = Fetched(loads_Q, load_Q, gQ, sQ, mRows, sRows, 0, blocks)
                of_dO = Fetched(loads_dO, load_dO, gdO, sdO, mRows, sRows, 1, blocks)
                load(work, loads_KV, ((load_K, gK, sK), (load_V, gV, sV)), of_Q, of_dO)
            if cutlass.const_expr(is_ordered) and warp_idx == 4 * WARPGROUPS + 1:
                watch(work, turns, mTurns)
            if warp_idx >= 4 * WARPGROUPS + 2:
                add_up(work, turns, mTurns, put_dQ, add_dQ, gSums, sSums, warp_idx - (4 * WARPGROUPS + 2))
        else:
            cute.arch.setmaxregister_increase(240)
            products = Products(work, sK, sV, sQ, sdO, sdS, sSums, sRows, (mma_S, mma_dV, mma_dQ), warp_idx, tidx)
            products.compute(loads_KV, loads_Q, loads_dO, scale)
            products.store(mdK, mdV, scale)


@cute.jit
def load(work, loads_KV, of_KV, of_Q, of_dO):
    """A warp brings K and V once, and Q and dO with their rows' numbers for each round."""
    blocks = work.blocks
    start = pipeline.make_pipeline_state(PRODUCER, 1)
    loads_KV.producer_acquire(start)
    for once, tensor, shared in of_KV:
        whole, there = tiles_of(once, tensor, shared, blocks.first_k, work.key_head, blocks.batch)
        cute.copy(once, there[None, work.block], whole, tma_bar_ptr=loads_KV.producer_get_barrier(start))
    state = pipeline.make_pipeline_state(PRODUCER, STAGES)
    for member in cutlass.range(work.group, unroll=1):
        head = work.key_head * work.group + member
        fetch_Q, fetch_dO = of_Q.of(head), of_dO.of(head)
        for i in cutlass.range(work.rounds, unroll=1):
            row = blocks.workspace_tile(head, work.first + i)
            fetch_Q(state, work.first + i, row)
            fetch_dO(state, work.first + i, row)
            state.advance()


@cute.jit
def watch(work, turns, mTurns):
    """A warp waits for the turn of each round, and tells the adder."""
    state = pipeline.make_pipeline_state(PRODUCER, ADDERS)
    for i in cutlass.range(work.total, unroll=1):
        at, before = added_by(work, i)
        turns.producer_acquire(state)
        wait_for_turn(mTurns, at, before)
        turns.producer_commit(state)
        state.advance()


@cute.jit
def add_up(work, turns, mTurns, put_dQ, add_dQ, gSums, sSums, adder):
    """A warp adds this block's part of dQ to the sums in the workspace: in turn, and the first block stores."""
    rows = cute.local_tile(gSums, cute.product_each(sSums.shape)[:2], (None, 0))
    sums, rows = (cute.group_modes(x, 0, 2) for x in (sSums, rows))
    src, dst = cpasync.tma_partition(put_dQ, 0, cute.make_layout(1), sums, rows)
    for each in cutlass.range_constexpr(WARPGROUPS):
        if adder == 0:
            cute.arch.barrier_arrive(ADDED + each, 160)
    for i in cutlass.range(adder, work.total, ADDERS, unroll=1):
        at, before = added_by(work, i)
        if cutlass.const_expr(work.is_ordered):
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
            if i + 1 < work.total:
                cute.arch.barrier_arrive(ADDED + (adder + 1) % ADDERS * WARPGROUPS + each, 160)
        if cutlass.const_expr(work.is_ordered):
            cute.arch.cp_async_bulk_wait_group(0)
            cute.arch.sync_warp()
            with cute.arch.elect_one():
                cute.arch.atomic_add(mTurns.iterator + at, 1, sem="release", scope="gpu")
    cute.arch.cp_async_bulk_wait_group(0)


class Products:
    """The five products of a warpgroup, which has 64 of the keys, in a round, and what becomes of their sums."""

    @cute.jit
    def __init__(self, work, sK, sV, sQ, sdO, sdS, sSums, sRows, mmas, warp_idx, tidx):
        mma_S, mma_dV, mma_dQ = self.mmas = mmas
        dtype, depth = sQ.element_type, cute.size(sQ, mode=[1])
        group_idx = warp_idx // 4
        self.work, self.group_idx, self.tidx, self.dtype = work, group_idx, tidx, dtype
        thr_S, thr_dV, thr_dQ = (mma.get_slice(group_idx * 128) for mma in mmas)
        self.tSrK, self.tPrV = (mma_S.make_fragment_A(thr_S.partition_A(x)) for x in (sK, sV))
        self.tSrQ, self.tPrdO = (mma_S.make_fragment_B(thr_S.partition_B(x)) for x in (sQ, sdO))
        self.tVrdO, self.tKrQ = (mma_dV.make_fragment_B(thr_dV.partition_B(transposed(x))) for x in (sdO, sQ))
        self.tQrdS = mma_dQ.make_fragment_A(thr_dQ.partition_A(transposed(sdS)))
        self.tQrK = mma_dQ.make_fragment_B(thr_dQ.partition_B(transposed(sK)))
        self.S, self.dP = (mma_S.make_fragment_C(mma_S.partition_shape_C((KEYS, QUERIES))) for _ in range(2))
        self.dV, self.dK = (mma_dV.make_fragment_C(mma_dV.partition_shape_C((KEYS, depth))) for _ in range(2))
        dQ = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((QUERIES, depth)))
        self.P, self.dS = (cute.make_fragment_like(self.S, dtype) for _ in range(2))
        self.tVrP, self.tKrdS = (as_operand_a(x) for x in (self.P, self.dS))
        # Accumulators are written by wgmma alone: else the compiler would run the products one by one.
        weights = cute.make_fragment_like(self.S)
        self.dQ, self.weights = dQ, weights
        self.tS, self.tdP, self.tW = (rows_and_columns(x) for x in (self.S, self.dP, weights))

        own = mma_S.get_slice(tidx)
        self.at = rows_and_columns(own.partition_C(cute.make_identity_tensor((KEYS, QUERIES))))
        store_op = cute.nvgpu.warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4)
        self.store_dS = cute.make_tiled_copy_C(cute.make_copy_atom(store_op, dtype), mma_S)
        self.dS_to = self.store_dS.get_slice(tidx).partition_D(sdS)
        self.sums, self.sums_to = fours(dQ), of_thread(sSums, dQ, tidx)
        self.numbers = RowNumbers(sRows, own, KEYS)

    @cute.jit
    def weigh(self, stage, scale, i):
        """P = exp(scale S - L), and 0 for what a query does not see."""
        work, tS, tW = self.work, self.tS, self.tW
        for c in cutlass.range_constexpr(cute.size(tS.shape[1], mode=[1])):
            log2_sums = self.numbers.of(0, stage, c)
            for r in cutlass.range_constexpr(cute.size(tS.shape[0])):
                scores = cute.math.fma(tS[r, (None, c)].load(), scale * LOG2_E, -log2_sums)
                tW[r, (None, c)].store(cute.math.exp2(scores, fastmath=True))
        mask(tW, self.at, work.blocks, work.block, work.first + i % work.rounds)
        self.P.store(self.weights.load().to(self.dtype))

    @cute.jit
    def slope(self, stage):
        """dS = P (dP - delta)."""
        tdP, tW = self.tdP, self.tW
        for c in cutlass.range_constexpr(cute.size(tdP.shape[1], mode=[1])):
            deltas = self.numbers.of(1, stage, c)
            for r in cutlass.range_constexpr(cute.size(tdP.shape[0])):
                tW[r, (None, c)].store(tW[r, (None, c)].load() * (tdP[r, (None, c)].load() - deltas))
        self.dS.store(self.weights.load().to(self.dtype))

    @cute.jit
    def compute(self, loads_KV, loads_Q, loads_dO, scale):
        """Round after round; dV and dK are sums of all."""
        work, (mma_S, mma_dV, mma_dQ) = self.work, self.mmas
        loads_KV.consumer_wait(pipeline.make_pipeline_state(CONSUMER, 1))
        state, done = (pipeline.make_pipeline_state(CONSUMER, STAGES) for _ in range(2))
        mma_S.set(warpgroup.Field.ACCUMULATE, False)
        mma_dQ.set(warpgroup.Field.ACCUMULATE, False)
        for i in cutlass.range(work.total, unroll=1):
            stage, buffer = (None, None, None, state.index), i % 2
            loads_Q.consumer_wait(state)
            loads_dO.consumer_wait(state)
            warpgroup.fence()
            cute.gemm(mma_S, self.S, self.tSrK, self.tSrQ[stage], self.S)
            warpgroup.commit_group()
            cute.gemm(mma_S, self.dP, self.tPrV, self.tPrdO[stage], self.dP)
            warpgroup.commit_group()
            warpgroup.wait_group(1)  # for S, and dK of the round before
            if i != 0:
                loads_Q.consumer_release(done)
                done.advance()
            self.weigh(state.index, scale, i)
            mma_dV.set(warpgroup.Field.ACCUMULATE, i != 0)
            warpgroup.fence()
            cute.gemm(mma_dV, self.dV, self.tVrP, self.tVrdO[stage], self.dV)
            warpgroup.commit_group()
            warpgroup.wait_group(1)  # for dP
            self.slope(state.index)
            # All keys are summed for dQ. The other buffer may still be read by the other warpgroup.
            cute.copy(self.store_dS, self.store_dS.retile(self.dS), self.dS_to[None, None, None, buffer])
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier(barrier_id=DS_IS_THERE, number_of_threads=128 * WARPGROUPS)
            warpgroup.fence()
            cute.gemm(mma_dQ, self.dQ, self.tQrdS[None, None, None, buffer], self.tQrK, self.dQ)
            warpgroup.commit_group()
            cute.gemm(mma_dV, self.dK, self.tKrdS, self.tKrQ[stage], self.dK)
            warpgroup.commit_group()
            warpgroup.wait_group(1)  # for dQ and dV
            loads_dO.consumer_release(state)
            state.advance()
            turn = i % ADDERS * WARPGROUPS + self.group_idx
            cute.arch.barrier(barrier_id=ADDED + turn, number_of_threads=160)
            cute.autovec_copy(self.sums, self.sums_to)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier_arrive(barrier_id=ADD + turn, number_of_threads=160)
        warpgroup.wait_group(0)

    @cute.jit
    def store(self, mdK, mdV, scale):
        """dV and dK, of zeros where no query sees a key of the block."""
        work, blocks, (_, mma_dV, _) = self.work, self.work.blocks, self.mmas
        if work.total == 0:
            self.dV.fill(0.0)
            self.dK.fill(0.0)
        for acc, tensor, factor in ((self.dV, mdV, 1.0), (self.dK, mdK, scale)):
            found = cute.domain_offset((blocks.first_k, 0), tensor[blocks.batch, work.key_head, None, None])
            store(acc, factor, found, work.block, (KEYS, tensor.shape[3]), blocks.keys, mma_dV.get_slice(self.tidx))


def of_thread(sums, acc, tidx):
    """Where a thread's vectors lie in a tile of the workspace: beside its neighbours', so no banks conflict."""
    shape = (4, cute.size(acc) // 4, 128, WARPGROUPS)
    layout = cute.make_layout(shape, stride=(1, 4 * 128, 4, 128 * cute.size(acc)))
    return cute.make_tensor(sums.iterator, layout)[None, None, tidx % 128, tidx // 128]


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
    sQ_layout, sK_layout, sdS_layout = layouts(dtype, depth, KEYS, STAGES, 2)
    mma_S = product(dtype, QUERIES, K, K, atoms=(WARPGROUPS, 1, 1))
    mma_dV = product(dtype, depth, K, MN, RMEM, (WARPGROUPS, 1, 1))
    mma_dQ = product(dtype, depth // WARPGROUPS, MN, MN, atoms=(1, WARPGROUPS, 1))

    (load_Q, gQ), (load_dO, gdO) = (loads(x, sQ_layout) for x in (mQ, mdO))
    (load_K, gK), (load_V, gV) = (loads(x, sK_layout) for x in (mK, mV))
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
    backward_kernel(
        load_Q, gQ, load_dO, gdO, load_K, gK, load_V, gV, mRows, put_dQ, add_dQ, gSums, mTurns, mQ, mK, mdK, mdV,
        scale, left, right, starts_q, starts_k, order, sQ_layout, sK_layout, sdS_layout, mma_S, mma_dV, mma_dQ,
        is_ordered,
    ).launch(
        grid=[blocks_k * key_heads * batches, 1, 1], block=[128 * (WARPGROUPS + 1), 1, 1], min_blocks_per_mp=1
    )  # fmt: skip
    finish_kernel(mSums, mdQ, mQ, mK, scale, left, right, starts_q, starts_k, mma_dQ).launch(
        grid=tiles, block=[256, 1, 1]
    )


def workspace(q, starts_q=None):
    """What the kernels keep between them: numbers of queries, sums of dQ, whose turn it is to add, who has begun."""
    tiles, depth = workspace_tiles(q, starts_q), q.shape[3]
    return (
        torch.empty(tiles, 2, QUERIES, device=q.device, dtype=torch.float32),
        torch.empty(tiles * QUERIES * depth // ROW, ROW, device=q.device, dtype=torch.float32),
        torch.empty(tiles + 1, device=q.device, dtype=torch.int32),
    )


# dtype, batches, heads, heads of keys, queries, keys, depth, left, right
CASES = (
    (torch.bfloat16, 1, 2, 1, 200, 200, 64, None, 0),
    (torch.float16, 1, 1, 1, 130, 300, 128, None, None),
    (torch.bfloat16, 2, 1, 1, 150, 150, 128, 40, 10),
)


def problem(device):
    """A small call of the host function, for a look at it."""
    tensors, _ = operands(*CASES[0], device)
    gradients = [torch.empty_like(x) for x in tensors[:3]]
    arguments = map(argument, (*tensors, *gradients, *workspace(tensors[0])))
    return attention_backward, *arguments, CASES[0][6] ** -0.5, None, 0


def check(device: str) -> None:
    for case in CASES:
        compare(attention_backward, workspace, case, device)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
