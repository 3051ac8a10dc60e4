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

import torch
from tilewright.examples.attention.forward_feed import TURNERS, HandedTiles, produce, schedule, turn
from tilewright.examples.attention.forward_operands import arguments, matrices
from tilewright.examples.attention.forward_store import stores
from tilewright.examples.attention.forward_tiles import PLANS, ROWS, Problem, mask
from tilewright.examples.attention.references import reference
from tilewright.examples.attention.stages import Stream, filled, handed, release

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warpgroup
from tilewright.utils import LayoutEnum, hopper_helpers
from tilewright.utils.accumulators import as_operand_a, rows_and_columns
from tilewright.utils.softmax import OnlineSoftmax

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # a warpgroup's rows of Q, 64 of their elements
L2_BYTES = 32 << 20  # of keys and values that CTAs running at a time may share in the L2 cache
# Of a thread that fetches and of one that computes, by warpgroups and bits.
REGISTERS = {(2, 16): (24, 240), (3, 16): (32, 160), (2, 8): (56, 224), (3, 8): (32, 160)}


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
    dtype, warpgroups = load_Q.value_type, plan.warpgroups
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

    def barriers(count):
        return storage.allocate_array(cutlass.Int64, 2 * count)

    def loaded(layout, warps):
        """Stages that TMA fills with tiles of a layout, and so many warps empty."""
        count, size = cute.size(layout, mode=[2]), cute.size_in_bytes(dtype, cute.slice_(layout, (None, None, 0)))
        return filled(count, size, warps, barriers(count))

    stages_Q = loaded(sQ_layout, 4)  # of warpgroup 0, 1, .., then 0 again where tiles overlap
    stages_K = loaded(sK_layout, 4 * warpgroups)
    stages_V = loaded(sV_layout, turners if is_8 else 4 * warpgroups)
    stages_T = handed(plan.stages, turners, 4 * warpgroups, barriers(plan.stages)) if is_8 else stages_V
    stages_of_tiles = handed(2, 1, 4 * warpgroups + turners + 1, barriers(2))
    tiles = HandedTiles(stages_of_tiles, sTiles, sHighs, sScales, (gQ.shape[2], gK.shape[2]))
    ctas, _, _ = cute.arch.grid_dim()

    if warp_idx >= 4 * warpgroups:
        cute.arch.setmaxregister_decrease(REGISTERS[warpgroups, dtype.bits][0])
        if warp_idx == 4 * warpgroups:
            of_Q, of_K = (load_Q, gQ, sQ, stages_Q), (load_K, gK, sK, stages_K)
            produce(tiles, problem, plan, of_Q, of_K, (load_V, gV, sV, stages_V))
        elif warp_idx == 4 * warpgroups + 1:
            schedule(tiles, problem, plan, tickets, ctas)
        elif cutlass.const_expr(is_8):
            turn(tiles, problem, plan, sV, stages_V, sT, stages_T, warp_idx)
    else:
        cute.arch.setmaxregister_increase(REGISTERS[warpgroups, dtype.bits][1])
        group = warp_idx // 4
        of_Q, of_K, of_V = (sQ, stages_Q), (sK, stages_K), (sT, stages_T)
        rows = Rows(tiles, problem, plan, of_Q, of_K, of_V, qk_mma, pv_mma, group, tidx)
        rows.compute(mL, stores(rows.tOrO, sO, store_O, gO, mO, pv_mma, problem, group, warp_idx, tidx % 128, plan))


class Turns:
    """The warpgroups of a block begin products one after another, each once it has been told to (ping-pong)."""

    def __init__(self, plan, group):
        self.plan, self.group = plan, group

    @cute.jit
    def begin(self):
        """What the last warpgroup tells the first one is that it may begin."""
        if cutlass.const_expr(self.plan.takes_turns) and self.group == self.plan.warpgroups - 1:
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=256)

    def take(self):
        if self.plan.takes_turns:
            cute.arch.barrier(barrier_id=1 + self.group, number_of_threads=256)

    def end(self):
        if self.plan.takes_turns:
            cute.arch.barrier_arrive(barrier_id=1 + (self.group + 1) % self.plan.warpgroups, number_of_threads=256)


class Rows:
    """The rows of O of a warpgroup: for each block of keys their scores S and weights P, and the sums of values O."""

    @cute.jit
    def __init__(self, tiles, problem, plan, of_Q, of_K, of_V, qk_mma, pv_mma, group, tidx):
        """of_Q, of_K, of_V: each a tensor in shared memory and its stages."""
        (sQ, self.stages_Q), (sK, stages_K), (sV, stages_V) = of_Q, of_K, of_V
        self.tiles, self.problem, self.plan, self.group, self.turns = tiles, problem, plan, group, Turns(plan, group)
        self.qk_mma, self.pv_mma, self.dtype, self.is_8 = qk_mma, pv_mma, sQ.element_type, sQ.element_type.bits == 8
        buffers = self.stages_Q.num_stages // plan.warpgroups
        self.visits = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, buffers)  # of tiles
        self.tSrQ = qk_mma.make_fragment_A(qk_mma.get_slice(0).partition_A(sQ))
        self.K = Stream(qk_mma.make_fragment_B(qk_mma.get_slice(0).partition_B(sK)), stages_K)
        self.V = Stream(pv_mma.make_fragment_B(pv_mma.get_slice(0).partition_B(sV)), stages_V)
        tSrS = qk_mma.make_fragment_C(qk_mma.partition_shape_C((ROWS, plan.keys)))
        tOrO = pv_mma.make_fragment_C(pv_mma.partition_shape_C((ROWS, cute.size(sV, mode=[0]))))
        weights = as_operand_a(tSrS, self.dtype)
        tOrP = cute.make_rmem_tensor(weights.shape, self.dtype)
        self.tSrS, self.tOrO, self.weights, self.tOrP = tSrS, tOrO, weights, tOrP
        self.tS, self.tO = rows_and_columns(tSrS), rows_and_columns(tOrO)
        own = qk_mma.get_slice(tidx % 128).partition_C(cute.make_identity_tensor((ROWS, plan.keys)))
        row_0, column_0 = rows_and_columns(own)[0, 0]
        self.place = row_0, column_0
        self.softmax = OnlineSoftmax(2, None if self.is_8 else problem.scale * math.log2(math.e), 8 if self.is_8 else 0)

    def own_Q(self):
        """The stage of this warpgroup's rows of Q."""
        stages, visits = self.stages_Q.num_stages, self.visits
        return pipeline.PipelineState(stages, 0, visits.index * self.plan.warpgroups + self.group, visits.phase)

    def leave_Q(self):
        self.stages_Q.consumer_release(self.own_Q())
        self.visits.advance()

    def reset(self, state):
        self.softmax.reset(self.tiles.scales[0, state.index] if self.is_8 else None)

    def begin_scores(self):
        """S of the next block."""
        self.K.wait()
        self.turns.take()
        multiply(self.qk_mma, self.tSrS, self.tSrQ[None, None, None, self.own_Q().index], self.K, False)

    def begin_sums(self, accumulate):
        """O of the block whose weights are there."""
        if self.plan.warpgroups == 2:  # as in attend
            self.softmax.rescale(self.tO)
        self.V.wait()
        multiply(self.pv_mma, self.tOrO, self.tOrP, self.V, accumulate)

    def weigh(self, block, tile):
        """The softmax of a block's scores."""
        mask(self.tS, self.problem, self.plan, block, tile, self.group, self.place)
        self.softmax.step(self.tS, True)

    def round(self):
        """The weights become the operand of the product with values."""
        self.tOrP.store(self.weights.load().to(self.dtype))

    def begin(self, block, tile):
        """The weights of a tile's first block, alone."""
        self.stages_Q.consumer_wait(self.own_Q())
        self.begin_scores()
        self.turns.end()
        warpgroup.wait_group(0)
        self.K.release()
        self.weigh(block, tile)
        self.round()

    def attend(self, block, tile, accumulate):
        """The scores of a block and the weighted values of the one before, then the softmax of these scores."""
        self.begin_scores()
        self.begin_sums(accumulate)
        self.turns.end()
        warpgroup.wait_group(1)
        self.K.release()
        self.weigh(block, tile)
        # V came long ago. This keeps ptxas from waiting for O before the exponentials: it moves that wait up, but
        # not over a branch. Where two other warpgroups fill that time, the branch costs more than it gains.
        if self.plan.warpgroups == 2:
            self.V.wait()
        warpgroup.wait_group(0)
        self.V.release()

    def end(self, accumulate):
        """The weighted values of a tile's last block, alone."""
        self.begin_sums(accumulate)
        warpgroup.wait_group(0)
        self.V.release()

    @cute.jit
    def finish(self, state, softmax, mL, store):
        """Divide O by the sums of weights, and send it."""
        tile, problem, (row_0, column_0) = self.tiles.at(state), self.problem, self.place
        sequence, batch = problem.sequence(tile.batch), problem.batch_of_tensors(tile.batch)
        block = tile.number * self.plan.warpgroups + self.group
        for r in cutlass.range_constexpr(2):
            inverse, logarithm = softmax.finish(r)
            if cutlass.const_expr(self.is_8):
                inverse = inverse * self.tiles.scales[1, state.index]
            self.tO[r, None].store(self.tO[r, None].load() * inverse)
            row = block * ROWS + row_0 + 8 * r
            if column_0 == 0 and row < sequence.queries:
                mL[batch, tile.head, sequence.start_q + row] = logarithm * math.log(2)
        store(block, tile.head, batch, sequence)

    @cute.jit
    def compute(self, mL, store):
        """Tile after tile; the first scores of the next one are computed beside the last sums of this one."""
        state_T, next_T = (pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2) for _ in range(2))
        next_T.advance()
        tiles, problem, plan, group = self.tiles, self.problem, self.plan, self.group
        turns, K, V = self.turns, self.K, self.V
        turns.begin()
        self.tOrO.fill(0.0)
        more, is_begun = tiles.wait(state_T).high > 0, cutlass.Boolean(False)
        while more:
            tile = tiles.at(state_T)
            low, high = problem.low(plan, tile.first), problem.high(plan, tile, group)
            if cutlass.not_(is_begun):
                if cutlass.const_expr(plan.passes):
                    for _ in cutlass.range(tile.high - high, unroll=1):
                        pass_over(turns, K, V)
                self.reset(state_T)
                self.begin(high - 1, tile)
            for i in cutlass.range(high - 1 - low, unroll=1):
                self.attend(high - 2 - i, tile, i != 0)
                if cutlass.const_expr(plan.warpgroups != 2):
                    self.softmax.rescale(self.tO)
                self.round()
            is_first = low == high - 1  # block, too
            following = tiles.wait(next_T)
            more = following.high > 0
            is_begun = cutlass.and_(more, problem.high(plan, following, group) == following.high)
            if cutlass.const_expr(plan.overlaps):
                self.leave_Q()
            before = self.softmax.copy()
            if cutlass.const_expr(plan.overlaps) and is_begun:
                self.stages_Q.consumer_wait(self.own_Q())
                self.reset(next_T)
                self.attend(following.high - 1, following, not is_first)
                self.round()
            else:
                is_begun = cutlass.Boolean(False)
                self.end(not is_first)
            self.finish(state_T, before, mL, store)
            if cutlass.const_expr(not plan.overlaps):
                self.leave_Q()
            release(tiles.stages, state_T)
            next_T.advance()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


def pass_over(turns, K, V):
    """A block that others see."""
    K.wait()
    turns.take()
    turns.end()
    K.release()
    V.wait()
    V.release()


def multiply(tiled_mma, acc, a, b, accumulate):
    """A group of wgmma that begins now, by the next stage of b."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, accumulate)
    cute.gemm(tiled_mma, acc, a, b.fragments[None, None, None, b.state.index], acc)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)  # as before, so that loops change nothing
    warpgroup.commit_group()


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

    def one(layout):
        return cute.slice_(layout, (None, None, 0))

    by_row, by_column = [0, 1, 2, 3], [1, 0, 2, 3]
    load, save = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
    load_Q, gQ = cpasync.make_tiled_tma_atom(load, matrices(mQ, depth, by_row), one(sQ_layout), (ROWS, depth))
    load_K, gK = cpasync.make_tiled_tma_atom(load, matrices(mK, depth, by_row), one(sK_layout), (plan.keys, depth))
    of_V = (plan.keys, depth) if is_8 else (depth, plan.keys)
    order_V = by_row if is_8 else by_column
    load_V, gV = cpasync.make_tiled_tma_atom(load, matrices(mV, depth, order_V), one(sV_layout), of_V)
    store_O, gO = cpasync.make_tiled_tma_atom(save, matrices(mO, depth, by_row), one(sO_layout), (ROWS, depth))
    rows_O = matrices(mO, depth, [3, 2, 0, 1])
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


# dtype, batches, heads, heads of keys, queries, keys, depth, left, right
CASES = (
    (torch.bfloat16, 1, 2, 2, 256, 256, 64, None, None),
    (torch.bfloat16, 1, 2, 1, 200, 200, 128, None, 0),
    (torch.float16, 2, 2, 1, 77, 150, 64, 40, 0),
    (torch.float16, 1, 1, 1, 130, 1, 128, None, None),
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
