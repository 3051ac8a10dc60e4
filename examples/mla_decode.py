"""Decoding by multi-head latent attention: 128 heads that share one paged cache of 576 numbers a key, bf16 or fp16.

What to learn: all heads read the same keys, and the values are the first 512 numbers of the keys themselves. So a key
is used often, and what counts is that the tensor cores never wait. Two CTAs of a cluster have 64 heads each, and each
fetches half of a block of keys for both (multicast). The sums O of 64 heads fill the registers of two warpgroups, half
the columns each. A warpgroup computes the scores of every second block and hands its weights P to the other through
shared memory, where they take the place of the keys' last 64 numbers, which the values do not have. So while one
computes a softmax, the products of the other go on. Parts of the list of all blocks are of equal length; a sequence
that several parts share gets its sum from a second kernel, in the order of the keys: the bits are the same at each run.

For each head O = softmax(scale Q C^T) C[:, :512], with Q (576) and the cache C (keys, 576). The n queries of a sequence
are its last positions: query i sees the keys up to length - n + i. A query that sees no key has O = 0 and L = -inf.
Multi-head latent attention is that of "DeepSeek-V2" (2024), with its projections of keys and values absorbed by those
of Q and O. Equal parts are those of "Stream-K" (Osama et al., 2023).
"""

from __future__ import annotations

import math

import torch
from tilewright.examples.attention.latent_blocks import CTAS, HEADS, KEYS, LATENT, ROPE, query_of, split
from tilewright.examples.attention.latent_combine import combine
from tilewright.examples.attention.latent_heads import multiply, opaque, quad_max, rescale, save
from tilewright.examples.attention.latent_load import produce
from tilewright.examples.attention.latent_operands import arguments, operands, reference, workspace
from tilewright.examples.attention.stages import filled

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils import hopper_helpers
from tilewright.utils.accumulators import as_operand_a, rows_and_columns
from tilewright.utils.shared_matrices import transposed

__all__ = ["arguments", "check", "mla_decode", "operands", "problem", "reference", "workspace"]

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # 64 keys of 64 numbers in shared memory
ROWS = 64  # heads of a CTA
HALF = LATENT // 2  # columns of O that a warpgroup has
LOG2_E = math.log2(math.e)
SLACK = 8.0  # a maximum that is less than 2**SLACK times too small stays
PUBLISHED = 1  # named barriers: the weights of a block, by whose place they are in
TOGETHER, ALL = 3, 5  # those of a warpgroup, of both


@cute.kernel
def mla_kernel(
    load_Q: cute.CopyAtom, gQ: cute.Tensor, load_C: cute.CopyAtom, gC: cute.Tensor, load_R: cute.CopyAtom,
    gR: cute.Tensor, mTable: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, mSums: cute.Tensor,
    mStats: cute.Tensor, mShared: cute.Tensor, scale: cutlass.Float32, sQ_layout: cute.ComposedLayout,
    sC_layout: cute.ComposedLayout, sR_layout: cute.ComposedLayout, qk_mma: cute.TiledMma, own_mma: cute.TiledMma,
    other_mma: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    part, _, _ = cute.arch.cluster_idx()
    parts, _, _ = cute.arch.cluster_dim()
    rank = cute.arch.block_idx_in_cluster()
    warp_idx, lane = cute.arch.make_warp_uniform(cute.arch.warp_idx()), cute.arch.lane_idx()
    dtype, queries = load_Q.value_type, mO.shape[1]

    # Places of a block: even ones of a sequence's blocks are in place 0, odd ones in place 1.
    storage = cutlass.utils.SmemAllocator()
    sQ = storage.allocate_tensor(dtype, sQ_layout, 1024)
    sC = storage.allocate_tensor(dtype, sC_layout, 1024)  # (key, column, half, place)
    sR = storage.allocate_tensor(dtype, sR_layout, 1024)  # (key, column, place); then P: (head, key, place)
    sStats = storage.allocate_tensor(cutlass.Float32, cute.make_layout((ROWS, 3, 2)), 16)  # maximum, shrink, sum
    barriers = storage.allocate_array(cutlass.Int64, 14)

    # A stage has one warpgroup that reads it last: of a half the one with these columns, of P the one that gets it.
    half, rope = cute.slice_(sC_layout, (None, None, 0, 0)), cute.slice_(sR_layout, (None, None, 0))

    def stage(index, layout, warps, cluster):
        """One stage that TMA fills, and so many warps of each of these CTAs empty."""
        size, ctas = cute.size_in_bytes(dtype, layout), cute.make_layout((1, cluster, 1, 1))
        return filled(1, size, warps * cluster, barriers + 2 * index, ctas, True)

    stages = [[stage(3 * place + i, x, 4, CTAS) for i, x in enumerate((half, half, rope))] for place in range(2)]
    stage_Q = stage(6, sQ_layout, 8, 1)
    if warp_idx == 8:
        for atom in (load_Q, load_C, load_R):
            cpasync.prefetch_descriptor(atom)
    pipeline.pipeline_init_arrive(cute.make_layout(CTAS))
    pipeline.pipeline_init_wait(cute.make_layout(CTAS))
    splits = split(mLengths, queries, parts)
    cute.arch.griddepcontrol_wait()  # what comes before may begin while the kernel before this one ends
    cute.arch.griddepcontrol_launch_dependents()
    mine = splits.measure().of_part(part)

    if warp_idx >= 8:
        cute.arch.setmaxregister_decrease(40)
        if warp_idx == 8:
            of_Q, of_C, of_R = (load_Q, gQ, sQ, stage_Q), (load_C, gC, sC), (load_R, gR, sR)
            produce(of_Q, of_C, of_R, stages, mTable, mLengths, mShared, queries, splits, mine, rank)
    else:
        cute.arch.setmaxregister_increase(232)
        shared, mmas, to = (sQ, sC, sR, sStats), (qk_mma, own_mma, other_mma), (mO, mL, mSums, mStats)
        if warp_idx < 4:
            warpgroup_0 = Warpgroup(0, stages, shared, mmas, scale, warp_idx, lane, tidx)
            warpgroup_0.compute(stage_Q, mLengths, queries, splits, mine, to, rank)
        else:
            warpgroup_1 = Warpgroup(1, stages, shared, mmas, scale, warp_idx, lane, tidx)
            warpgroup_1.compute(stage_Q, mLengths, queries, splits, mine, to, rank)


class Warpgroup:
    """A warpgroup: its half of the columns of O, the scores of blocks in its place, P of those to the other.

    group: 0 or 1, known while tracing; it is the place of its blocks, too.
    """

    @cute.jit
    def __init__(self, group, stages, shared, mmas, scale, warp_idx, lane, tidx):
        sQ, sC, sR, sStats = shared
        self.group, self.other, self.stages, self.sC, self.sStats = group, 1 - group, stages, sC, sStats
        self.warp_idx, self.lane, self.dtype = warp_idx, lane, sC.element_type
        qk_mma, own_mma, other_mma = self.mmas = mmas

        # Products of the scores: by the halves of the latent columns, then by those that rotate.
        thr_qk = qk_mma.get_slice(0)
        self.products = [
            (
                qk_mma.make_fragment_A(thr_qk.partition_A(cute.local_tile(sQ, (ROWS, cute.size(x, mode=[1])), at))),
                qk_mma.make_fragment_B(thr_qk.partition_B(x)),
            )
            for x, at in (
                (sC[None, None, 0, None], (0, 0)), (sC[None, None, 1, None], (0, 1)), (sR, (0, LATENT // ROPE)),
            )
        ]  # fmt: skip
        tSrS = qk_mma.make_fragment_C(qk_mma.partition_shape_C((ROWS, KEYS)))
        tOrO = own_mma.make_fragment_C(own_mma.partition_shape_C((ROWS, HALF)))
        self.tOrV = own_mma.make_fragment_B(own_mma.get_slice(0).partition_B(transposed(sC[None, None, group, None])))
        self.tOsP = other_mma.make_fragment_A(other_mma.get_slice(0).partition_A(sR))
        P = cute.make_fragment_like(tSrS, self.dtype)
        self.tSrS, self.tOrO, self.P, self.tOrP = tSrS, tOrO, P, as_operand_a(P)
        store_op = warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4)
        self.copy_P = cute.make_tiled_copy_C(cute.make_copy_atom(store_op, self.dtype), qk_mma)
        self.sP = self.copy_P.get_slice(tidx % 128).partition_D(sR[None, None, group])

        # A thread has two rows, with the columns that its quad of lanes shares.
        self.tS, self.tO = rows_and_columns(tSrS), rows_and_columns(tOrO)
        own = qk_mma.get_slice(tidx % 128).partition_C(cute.make_identity_tensor((ROWS, KEYS)))
        self.row_0, self.column_0 = rows_and_columns(own)[0, 0]
        self.row_max, self.row_sum, self.shrink = (cute.make_rmem_tensor(2, cutlass.Float32) for _ in range(3))
        self.scale_log2 = scale * LOG2_E

    @cute.jit
    def begin_scores(self, states):
        """The scores of the next block of this warpgroup."""
        group, qk_mma = self.group, self.mmas[0]
        place = opaque(group)
        for i in cutlass.range_constexpr(3):
            self.stages[group][i].consumer_wait(states[group])
            a, b = self.products[i]
            multiply(qk_mma, self.tSrS, a[None, None, None, place - group], b[None, None, None, place], i != 0)
        warpgroup.commit_group()

    @cute.jit
    def weigh(self, left):
        """The softmax of the scores: weights to registers, and to the other warpgroup. `left` keys from here on."""
        group, tS, scale_log2, row_max, row_sum = self.group, self.tS, self.scale_log2, self.row_max, self.row_sum
        cute.arch.barrier(barrier_id=TOGETHER + group, number_of_threads=128)  # all warps have read the keys
        if left < KEYS:
            for i in cutlass.range_constexpr(cute.size(tS.shape[1])):
                for r in cutlass.range_constexpr(2):
                    tS[r, i] = cute.where(self.column_0 + i % 2 + i // 2 * 8 < left, tS[r, i], -math.inf)
        for r in cutlass.range_constexpr(2):
            found = tS[r, None].load()
            highest = cute.arch.fmax(row_max[r], quad_max(found.reduce(cute.ReductionOp.MAX, -math.inf, 0)))
            highest = cute.where((highest - row_max[r]) * scale_log2 <= SLACK, row_max[r], highest)
            shift = -(cute.where(highest == -math.inf, cutlass.Float32(0.0), highest) * scale_log2)
            weights = cute.math.exp2(cute.math.fma(found, scale_log2, shift), fastmath=True)
            self.shrink[r] = cute.math.exp2(cute.math.fma(row_max[r], scale_log2, shift), fastmath=True)
            row_max[r] = highest
            row_sum[r] = row_sum[r] * self.shrink[r] + weights.reduce(cute.ReductionOp.ADD, 0.0, 0)
            tS[r, None].store(weights)
            if self.column_0 == 0:
                self.sStats[self.row_0 + 8 * r, 0, group] = highest
                self.sStats[self.row_0 + 8 * r, 1, group] = self.shrink[r]
        self.P.store(self.tSrS.load().to(self.dtype))
        cute.copy(self.copy_P, self.copy_P.retile(self.P), self.sP)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier_arrive(barrier_id=PUBLISHED + group, number_of_threads=256)

    @cute.jit
    def clear(self, place, left):
        """Zeros where no key was written: there may be anything, and 0 times that, too."""
        if left < KEYS:
            for key in cutlass.range(left + self.warp_idx % 4, KEYS, 4, unroll=1):
                cute.local_tile(self.sC[key, None, self.group, place], (8,), (self.lane,)).fill(0.0)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier(barrier_id=TOGETHER + self.group, number_of_threads=128)

    def begin_own(self):
        """The values of this warpgroup's block."""
        rescale(self.tO, self.shrink)
        multiply(self.mmas[1], self.tOrO, self.tOrP, self.tOrV[None, None, None, opaque(self.group)], True)
        warpgroup.commit_group()

    def end_own(self, states):
        group = self.group
        warpgroup.wait_group(0)
        self.stages[group][group].consumer_release(states[group])
        states[group].advance()

    @cute.jit
    def begin_other(self, left=None):
        """The values of the other's block."""
        other, row_0 = self.other, self.row_0
        cute.arch.barrier(barrier_id=PUBLISHED + other, number_of_threads=256)
        if cutlass.const_expr(left is not None):
            self.clear(other, left)
        for r in cutlass.range_constexpr(2):
            self.row_max[r] = self.sStats[row_0 + 8 * r, 0, other]
            self.shrink[r] = self.sStats[row_0 + 8 * r, 1, other]
            self.row_sum[r] = self.row_sum[r] * self.shrink[r]
        rescale(self.tO, self.shrink)
        place = opaque(other)
        P, V = self.tOsP[None, None, None, place], self.tOrV[None, None, None, place]
        multiply(self.mmas[2], self.tOrO, P, V, True)
        warpgroup.commit_group()

    def end_other(self, states):
        other = self.other
        self.stages[other][self.group].consumer_release(states[other])
        self.stages[other][2].consumer_release(states[other])
        states[other].advance()

    @cute.jit
    def end_scores(self, release_Q, is_last):
        """Q is free for the next query once the scores of the last block are there."""
        warpgroup.wait_group(0)
        if is_last:
            release_Q()

    @cute.jit
    def even(self, states, keys, count, release_Q):
        """Warpgroup 0: the blocks 0, 2, .. of so many, each followed by the values of the next one."""
        self.begin_scores(states)
        self.end_scores(release_Q, count < 3)
        self.weigh(keys)
        self.clear(self.group, keys)
        self.begin_own()
        self.end_own(states)
        for i in cutlass.range((count - 1) // 2, unroll=1):
            self.begin_other()
            warpgroup.wait_group(0)
            self.end_other(states)  # at once: the next keys of that place are under way while those of this one come
            self.begin_scores(states)
            self.end_scores(release_Q, i == (count - 1) // 2 - 1)
            left = keys - 2 * (i + 1) * KEYS
            self.weigh(left)
            self.clear(self.group, left)
            self.begin_own()
            self.end_own(states)
        if count % 2 == 0:
            self.begin_other(keys - (count - 1) * KEYS)
            warpgroup.wait_group(0)
            self.end_other(states)

    @cute.jit
    def odd(self, states, keys, count, release_Q):
        """Warpgroup 1: the blocks 1, 3, .., and before the values of each those of the block before."""
        for i in cutlass.range(count // 2, unroll=1):
            self.begin_scores(states)
            self.end_scores(release_Q, i == count // 2 - 1)
            self.begin_other()
            left = keys - (2 * i + 1) * KEYS
            self.weigh(left)
            warpgroup.wait_group(0)
            self.end_other(states)
            self.clear(self.group, left)
            self.begin_own()
            self.end_own(states)
        if count == 1:
            release_Q()
        if count % 2 == 1:
            self.begin_other(keys - (count - 1) * KEYS)
            warpgroup.wait_group(0)
            self.end_other(states)

    @cute.jit
    def compute(self, stage_Q, mLengths, queries, splits, mine, to, rank):
        """The blocks of one query after another; sums of a query that other parts share go to the workspace."""
        state_Q = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
        states = [pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1) for _ in range(2)]

        def release_Q():
            stage_Q.consumer_release(state_Q)

        def attend(segment):
            sequence, query, keys = query_of(mLengths, queries, segment.item)
            count, left = segment.end - segment.begin, keys - segment.begin * KEYS
            self.row_max.fill(-math.inf)
            self.row_sum.fill(0.0)
            self.tOrO.fill(0.0)
            stage_Q.consumer_wait(state_Q)
            if cutlass.const_expr(self.group == 0):
                self.even(states, left, count, release_Q)
            else:
                self.odd(states, left, count, release_Q)
            state_Q.advance()
            self.finish(to, segment, sequence, query, rank)

        splits.for_each(mine, attend)

    @cute.jit
    def finish(self, to, segment, sequence, query, rank):
        """O and L of a query whose blocks are all of this part, or else sums and the logarithms of their weights."""
        mO, mL, mSums, mStats = to
        group, column_0, sStats = self.group, self.column_0, self.sStats
        # Each has summed the weights of its own blocks.
        for r in cutlass.range_constexpr(2):
            total = cute.arch.warp_reduction_sum(self.row_sum[r], threads_in_group=4)
            if column_0 == 0:
                sStats[self.row_0 + 8 * r, 2, group] = total
        cute.arch.barrier(barrier_id=ALL, number_of_threads=256)
        for r in cutlass.range_constexpr(2):
            row = self.row_0 + 8 * r
            weight = sStats[row, 2, 0] + sStats[row, 2, 1]
            inverse = cute.where(weight == 0.0, cutlass.Float32(0.0), cute.arch.rcp_approx(weight))
            logarithm = cute.where(weight == 0.0, -math.inf, self.row_max[r] * self.scale_log2 + cute.math.log2(weight))
            self.tO[r, None].store(self.tO[r, None].load() * inverse)
            head = rank * ROWS + row
            if segment.is_whole:
                save(self.tO[r, None], mO[sequence, query, head, None], group * HALF, self.lane)
            else:
                save(self.tO[r, None], mSums[segment.slot, head, None], group * HALF, self.lane)
            if group == 0 and column_0 == 0:
                if segment.is_whole:
                    mL[sequence, query, head] = logarithm / LOG2_E
                else:
                    mStats[segment.slot, head] = logarithm
        cute.arch.barrier(barrier_id=ALL, number_of_threads=256)  # before the sums of the next


@cute.jit
def mla_decode(
    mQ: cute.Tensor, mC: cute.Tensor, mTable: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor,
    mSums: cute.Tensor, mStats: cute.Tensor, mShared: cute.Tensor, scale: cutlass.Float32,
):  # fmt: skip
    """Q (batches, queries, 128, 576), cache (pages, 64, 576), table (batches, pages of the longest), O as Q, of 512."""
    dtype, parts = mQ.element_type, mShared.shape[0]
    if mQ.shape[2:] != (HEADS, LATENT + ROPE):
        raise ValueError(
            f"mla_decode: Q is {mQ.shape}; expected (batches, queries, {HEADS}, {LATENT + ROPE}), the last two known "
            "while tracing"
        )
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, dtype)
    sQ_layout = cute.tile_to_shape(atom, (ROWS, LATENT + ROPE, 1), (0, 1, 2))
    sC_layout = cute.tile_to_shape(atom, (KEYS, HALF, 2, 2), (0, 1, 2, 3))
    sR_layout = cute.tile_to_shape(atom, (KEYS, ROPE, 2), (0, 1, 2))
    k, mn, source = warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.MN, warpgroup.OperandSource
    qk_mma, own_mma, other_mma = (
        hopper_helpers.make_trivial_tiled_mma(dtype, dtype, k, major, cutlass.Float32, (1, 1, 1), (ROWS, n), src)
        for major, n, src in ((k, KEYS, source.SMEM), (mn, HALF, source.RMEM), (mn, HALF, source.SMEM))
    )
    rows_Q = cute.make_tensor(mQ.iterator, cute.select(mQ.layout, [2, 3, 1, 0]))
    steps = [cute.assume(mC.stride[i], divby=8) for i in (1, 0)]  # of a key and of a page, as TMA wants them
    extents = KEYS, LATENT + ROPE, mC.shape[0]
    pages = cute.make_tensor(mC.iterator, cute.make_layout(extents, stride=(steps[0], 1, steps[1])))
    one, several = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileG2SMulticastOp()
    half, rope = cute.slice_(sC_layout, (None, None, 0, 0)), cute.slice_(sR_layout, (None, None, 0))
    load_Q, gQ = cpasync.make_tiled_tma_atom(
        one, rows_Q, cute.slice_(sQ_layout, (None, None, 0)), (ROWS, LATENT + ROPE)
    )
    load_C, gC = cpasync.make_tiled_tma_atom(several, pages, half, (KEYS, HALF), num_multicast=CTAS)
    load_R, gR = cpasync.make_tiled_tma_atom(several, pages, rope, (KEYS, ROPE), num_multicast=CTAS)
    mla_kernel(
        load_Q, gQ, load_C, gC, load_R, gR, mTable, mLengths, mO, mL, mSums, mStats, mShared, scale, sQ_layout,
        sC_layout, sR_layout, qk_mma, own_mma, other_mma,
    ).launch(
        grid=[CTAS * parts, 1, 1], block=[384, 1, 1], cluster=[CTAS, 1, 1], min_blocks_per_mp=1, use_pdl=True
    )  # fmt: skip
    combine(mLengths, mO, mL, mSums, mStats, mShared)


# dtype, lengths, queries, multiprocessors
CASES = ((torch.bfloat16, (300, 64, 1), 1, 4), (torch.float16, (130, 0, 257), 2, 6))


def problem(device: str):
    """A small one."""
    return mla_decode, *arguments(*operands(device, torch.bfloat16, (300, 100), 1, 2)), 576**-0.5


def check(device: str) -> None:
    for dtype, *facts in CASES:
        q, cache, table, lengths, o, lse, space = operands(device, dtype, *facts)
        mla_decode(*arguments(q, cache, table, lengths, o, lse, space), 576**-0.5)
        expected, expected_lse = reference(q, cache, table, lengths, 576**-0.5)
        torch.testing.assert_close(o, expected.to(dtype), rtol=2e-2, atol=4e-3)
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
