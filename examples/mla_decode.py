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

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils import hopper_helpers
from tilewright.utils.accumulators import as_operand_a, rows_and_columns

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # 64 keys of 64 numbers in shared memory
HEADS, ROWS, CTAS = 128, 64, 2  # of a query; of a CTA; of a cluster
KEYS = 64  # of a page, and of a block
LATENT, ROPE = 512, 64  # numbers of a key: those that are its value, too, and those that rotate with its position
HALF = LATENT // 2  # columns of O that a warpgroup has
VECTOR = 4  # columns of a thread that combines
COMBINED, THREADS = 16, 256  # heads and threads of a CTA that combines
SLACK = 8.0  # a maximum that is less than 2**SLACK times too small stays
LOG2_E = math.log2(math.e)
PUBLISHED = 1  # named barriers: the weights of a block, by whose place they are in
TOGETHER, ALL = 3, 5  # those of a warpgroup, of both


@cute.kernel
def mla_kernel(
    load_Q: cute.CopyAtom, gQ: cute.Tensor, load_C: cute.CopyAtom, gC: cute.Tensor, load_R: cute.CopyAtom,
    gR: cute.Tensor, mTable: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, mSums: cute.Tensor,
    mStats: cute.Tensor, scale: cutlass.Float32, sQ_layout: cute.ComposedLayout, sC_layout: cute.ComposedLayout,
    sR_layout: cute.ComposedLayout, qk_mma: cute.TiledMma, own_mma: cute.TiledMma, other_mma: cute.TiledMma,
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

    def stage(index, layout, warps, cluster):
        """One stage that TMA fills, and so many warps of each of these CTAs empty."""
        group = pipeline.CooperativeGroup
        return pipeline.PipelineTmaAsync.create(
            num_stages=1, producer_group=group(pipeline.Agent.Thread), defer_sync=True,
            consumer_group=group(pipeline.Agent.Thread, warps * cluster), barrier_storage=barriers + 2 * index,
            tx_count=cute.size_in_bytes(dtype, layout), cta_layout_vmnk=cute.make_layout((1, cluster, 1, 1)),
        )  # fmt: skip

    # A stage has one warpgroup that reads it last: of a half the one with these columns, of P the one that gets it.
    half, rope = cute.slice_(sC_layout, (None, None, 0, 0)), cute.slice_(sR_layout, (None, None, 0))
    stages = [[stage(3 * place + i, x, 4, CTAS) for i, x in enumerate((half, half, rope))] for place in range(2)]
    stage_Q = stage(6, sQ_layout, 8, 1)
    pipeline.pipeline_init_arrive(cute.make_layout(CTAS))
    pipeline.pipeline_init_wait(cute.make_layout(CTAS))

    # This part of the list, and the query in which it begins, whose blocks begin at `base`.
    items = mLengths.shape[0] * queries
    total = count_blocks(mLengths, queries, items, lane)
    parts = cutlass.min(parts, total)  # each has a block at least
    first, stop = (cutlass.min(i * total // parts, total) for i in (part, part + 1))
    item, base = find_item(mLengths, queries, items, first, lane)
    first, stop, item, base = (cute.arch.make_warp_uniform(x) for x in (first, stop, item, base))

    @cute.jit
    def for_each_segment(first, item, base, visit):
        """visit(sequence, query, from, to, blocks, keys) for this part's blocks of each query."""
        while first < stop:
            sequence = item // queries
            query = item - sequence * queries
            keys = cute.arch.make_warp_uniform(keys_of(mLengths[sequence], queries, query))
            blocks = blocks_of(keys)
            end = cutlass.min(stop, base + blocks)
            visit(sequence, query, first - base, end - base, blocks, keys)
            base += blocks
            first, item = end, item + 1

    def produce():
        """One warp of each CTA asks for its heads' Q and for its share of the keys."""
        state_Q = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
        states = [pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1) for _ in range(2)]
        alone, pair = cute.make_layout(1), cute.make_layout(CTAS)
        for atom in (load_Q, load_C, load_R):
            cpasync.prefetch_descriptor(atom)

        def partition(atom, who, layout, shared, tiles):
            return cpasync.tma_partition(
                atom, who, layout, cute.group_modes(shared, 0, 2), cute.group_modes(tiles, 0, 2)
            )

        tQsQ, tQgQ = partition(
            load_Q, 0, alone, sQ[None, None, 0], cute.local_tile(gQ, (ROWS, LATENT + ROPE), (None, 0))
        )
        tCsC, tCgC = partition(load_C, rank, pair, sC, cute.local_tile(gC, (KEYS, HALF), (0, None)))
        tRsR, tRgR = partition(load_R, rank, pair, sR, cute.local_tile(gR, (KEYS, ROPE), (0, None)))

        def load(place, state, sequence, block, keys):
            page = cutlass.Int32(-1)  # what is outside of the tensor comes as zeros
            if block * KEYS < keys:
                page = mTable[sequence, block]
            for i in cutlass.range_constexpr(3):
                pipe = stages[place][i]
                pipe.producer_acquire(state)
                barrier = pipe.producer_get_barrier(state)
                if cutlass.const_expr(i < 2):
                    cute.copy(
                        load_C, tCgC[None, i, page], tCsC[None, i, place], tma_bar_ptr=barrier, mcast_mask=2**CTAS - 1
                    )
                else:
                    cute.copy(
                        load_R, tRgR[None, LATENT // ROPE, page], tRsR[None, place], tma_bar_ptr=barrier,
                        mcast_mask=2**CTAS - 1,
                    )  # fmt: skip
            state.advance()

        def fetch(sequence, query, first, end, blocks, keys):
            stage_Q.producer_acquire(state_Q)
            cute.copy(
                load_Q, tQgQ[None, rank, query, sequence], tQsQ,
                tma_bar_ptr=stage_Q.producer_get_barrier(state_Q),
            )  # fmt: skip
            state_Q.advance()
            for i in cutlass.range(cute.ceil_div(end - first, 2), unroll=1):
                block = first + 2 * i
                load(0, states[0], sequence, block, keys)
                if block + 1 < end:
                    load(1, states[1], sequence, block + 1, keys)

        for_each_segment(first, item, base, fetch)
        for place in cutlass.range_constexpr(2):
            for pipe in stages[place]:
                pipe.producer_tail(states[place])

    def consume(group):
        """A warpgroup: its half of the columns of O, the scores of blocks in its place, P of those to the other."""
        other = 1 - group
        state_Q = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
        states = [pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1) for _ in range(2)]

        # Products of the scores: by the halves of the latent columns, then by those that rotate.
        thr_qk = qk_mma.get_slice(0)
        products = [
            (
                qk_mma.make_fragment_A(thr_qk.partition_A(cute.local_tile(sQ, (ROWS, cute.size(x, mode=[1])), at))),
                qk_mma.make_fragment_B(thr_qk.partition_B(x)),
            )
            for x, at in (
                (sC[None, None, 0, None], (0, 0)), (sC[None, None, 1, None], (0, 1)),
                (sR, (0, LATENT // ROPE)),
            )
        ]  # fmt: skip
        tSrS = qk_mma.make_fragment_C(qk_mma.partition_shape_C((ROWS, KEYS)))
        tOrO = own_mma.make_fragment_C(own_mma.partition_shape_C((ROWS, HALF)))
        tOrV = own_mma.make_fragment_B(own_mma.get_slice(0).partition_B(transposed(sC[None, None, group, None])))
        tOsP = other_mma.make_fragment_A(other_mma.get_slice(0).partition_A(sR))
        P = cute.make_fragment_like(tSrS, dtype)
        tOrP = as_operand_a(P)
        store_op = warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4)
        copy_P = cute.make_tiled_copy_C(cute.make_copy_atom(store_op, dtype), qk_mma)
        sP = copy_P.get_slice(tidx % 128).partition_D(sR[None, None, group])

        # A thread has two rows, with the columns that its quad of lanes shares.
        tS, tO = rows_and_columns(tSrS), rows_and_columns(tOrO)
        own = qk_mma.get_slice(tidx % 128).partition_C(cute.make_identity_tensor((ROWS, KEYS)))
        row_0, column_0 = rows_and_columns(own)[0, 0]
        row_max, row_sum, shrink = (cute.make_rmem_tensor(2, cutlass.Float32) for _ in range(3))
        scale_log2 = scale * LOG2_E

        def begin_scores(states):
            """The scores of the next block of this warpgroup."""
            place = opaque(group)
            for i in cutlass.range_constexpr(3):
                stages[group][i].consumer_wait(states[group])
                a, b = products[i]
                multiply(qk_mma, tSrS, a[None, None, None, place - group], b[None, None, None, place], i != 0)
            warpgroup.commit_group()

        def weigh(left):
            """The softmax of the scores: weights to registers, and to the other warpgroup. `left` keys from here on."""
            cute.arch.barrier(barrier_id=TOGETHER + group, number_of_threads=128)  # all warps have read the keys
            if left < KEYS:
                for i in cutlass.range_constexpr(cute.size(tS.shape[1])):
                    for r in cutlass.range_constexpr(2):
                        tS[r, i] = cute.where(column_0 + i % 2 + i // 2 * 8 < left, tS[r, i], -math.inf)
            for r in cutlass.range_constexpr(2):
                found = tS[r, None].load()
                highest = cute.arch.fmax(row_max[r], quad_max(found.reduce(cute.ReductionOp.MAX, -math.inf, 0)))
                highest = cute.where((highest - row_max[r]) * scale_log2 <= SLACK, row_max[r], highest)
                shift = -(cute.where(highest == -math.inf, cutlass.Float32(0.0), highest) * scale_log2)
                weights = cute.math.exp2(cute.math.fma(found, scale_log2, shift), fastmath=True)
                shrink[r] = cute.math.exp2(cute.math.fma(row_max[r], scale_log2, shift), fastmath=True)
                row_max[r] = highest
                row_sum[r] = row_sum[r] * shrink[r] + weights.reduce(cute.ReductionOp.ADD, 0.0, 0)
                tS[r, None].store(weights)
                if column_0 == 0:
                    sStats[row_0 + 8 * r, 0, group] = highest
                    sStats[row_0 + 8 * r, 1, group] = shrink[r]
            P.store(tSrS.load().to(dtype))
            cute.copy(copy_P, copy_P.retile(P), sP)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier_arrive(barrier_id=PUBLISHED + group, number_of_threads=256)

        def clear(place, left):
            """Zeros where no key was written: there may be anything, and 0 times that, too."""
            if left < KEYS:
                for key in cutlass.range(left + warp_idx % 4, KEYS, 4, unroll=1):
                    cute.local_tile(sC[key, None, group, place], (8,), (lane,)).fill(0.0)
                cute.arch.fence_proxy("async.shared", space="cta")
                cute.arch.barrier(barrier_id=TOGETHER + group, number_of_threads=128)

        def rescale(factors):
            """Bring the sums to new maxima, where a row of the warp has one."""
            if cute.arch.vote_any_sync(cute.arch.fmin(factors[0], factors[1]) < 1.0):
                for r in cutlass.range_constexpr(2):
                    tO[r, None].store(tO[r, None].load() * factors[r])

        def begin_own():
            """The values of this warpgroup's block."""
            rescale(shrink)
            multiply(own_mma, tOrO, tOrP, tOrV[None, None, None, opaque(group)], True)
            warpgroup.commit_group()

        def end_own(states):
            warpgroup.wait_group(0)
            stages[group][group].consumer_release(states[group])
            states[group].advance()

        def begin_other(left=None):
            """The values of the other's block."""
            cute.arch.barrier(barrier_id=PUBLISHED + other, number_of_threads=256)
            if cutlass.const_expr(left is not None):
                clear(other, left)
            for r in cutlass.range_constexpr(2):
                row_max[r] = sStats[row_0 + 8 * r, 0, other]
                shrink[r] = sStats[row_0 + 8 * r, 1, other]
                row_sum[r] = row_sum[r] * shrink[r]
            rescale(shrink)
            place = opaque(other)
            multiply(other_mma, tOrO, tOsP[None, None, None, place], tOrV[None, None, None, place], True)
            warpgroup.commit_group()

        def end_other(states):
            stages[other][group].consumer_release(states[other])
            stages[other][2].consumer_release(states[other])
            states[other].advance()

        def even(states, keys, count):
            """Warpgroup 0: the blocks 0, 2, .. of so many, each followed by the values of the next one."""
            begin_scores(states)
            warpgroup.wait_group(0)
            weigh(keys)
            clear(group, keys)
            begin_own()
            end_own(states)
            for i in cutlass.range((count - 1) // 2, unroll=1):
                begin_other()
                begin_scores(states)
                warpgroup.wait_group(1)
                end_other(states)
                warpgroup.wait_group(0)
                left = keys - 2 * (i + 1) * KEYS
                weigh(left)
                clear(group, left)
                begin_own()
                end_own(states)
            if count % 2 == 0:
                begin_other(keys - (count - 1) * KEYS)
                warpgroup.wait_group(0)
                end_other(states)

        def odd(states, keys, count):
            """Warpgroup 1: the blocks 1, 3, .., and before the values of each those of the block before."""
            for i in cutlass.range(count // 2, unroll=1):
                begin_scores(states)
                warpgroup.wait_group(0)
                begin_other()
                left = keys - (2 * i + 1) * KEYS
                weigh(left)
                warpgroup.wait_group(0)
                end_other(states)
                clear(group, left)
                begin_own()
                end_own(states)
            if count % 2 == 1:
                begin_other(keys - (count - 1) * KEYS)
                warpgroup.wait_group(0)
                end_other(states)

        def compute(sequence, query, first, end, blocks, keys):
            row_max.fill(-math.inf)
            row_sum.fill(0.0)
            tOrO.fill(0.0)
            stage_Q.consumer_wait(state_Q)
            if cutlass.const_expr(group == 0):
                even(states, keys - first * KEYS, end - first)
            else:
                odd(states, keys - first * KEYS, end - first)
            stage_Q.consumer_release(state_Q)
            state_Q.advance()

            # Each has summed the weights of its own blocks.
            for r in cutlass.range_constexpr(2):
                total = cute.arch.warp_reduction_sum(row_sum[r], threads_in_group=4)
                if column_0 == 0:
                    sStats[row_0 + 8 * r, 2, group] = total
            cute.arch.barrier(barrier_id=ALL, number_of_threads=256)
            is_whole = end - first == blocks
            slot = 2 * part + (1 if first == 0 else 0)
            for r in cutlass.range_constexpr(2):
                row = row_0 + 8 * r
                weight = sStats[row, 2, 0] + sStats[row, 2, 1]
                inverse = cute.where(weight == 0.0, cutlass.Float32(0.0), cute.arch.rcp_approx(weight))
                logarithm = cute.where(weight == 0.0, -math.inf, row_max[r] * scale_log2 + cute.math.log2(weight))
                tO[r, None].store(tO[r, None].load() * inverse)
                head = rank * ROWS + row
                if is_whole:
                    save(tO[r, None], mO[sequence, query, head, None], group * HALF + column_0)
                else:
                    save(tO[r, None], mSums[slot, head, None], group * HALF + column_0)
                if group == 0 and column_0 == 0:
                    if is_whole:
                        mL[sequence, query, head] = logarithm / LOG2_E
                    else:
                        mStats[slot, head] = logarithm
            cute.arch.barrier(barrier_id=ALL, number_of_threads=256)  # before the sums of the next

        for_each_segment(first, item, base, compute)

    if warp_idx >= 8:
        cute.arch.setmaxregister_decrease(40)
        if warp_idx == 8:
            produce()
    else:
        cute.arch.setmaxregister_increase(232)
        if warp_idx < 4:
            consume(0)
        else:
            consume(1)


def multiply(tiled_mma, acc, a, b, accumulate):
    """wgmma that begin now."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, accumulate)
    cute.gemm(tiled_mma, acc, a, b, acc)


def save(sums, row, column):
    """A thread's pairs of columns of a row, 8 apart."""
    row = cute.domain_offset((column,), row)
    for i in cutlass.range_constexpr(cute.size(sums) // 2):
        pair = cute.make_rmem_tensor(2, row.element_type)
        for e in cutlass.range_constexpr(2):
            pair[e] = sums[2 * i + e].to(row.element_type)
        cute.local_tile(row, (2,), (4 * i,)).store(pair.load())


def opaque(place):
    """A place that the compiler does not know: it would compute descriptors ahead that no registers are left for."""
    return cute.arch.make_warp_uniform(cutlass.Int32(place))


def transposed(shared):
    """Matrices (rows, columns, places) in shared memory as (columns, rows, places)."""
    rows, columns, places = cute.product_each(shared.shape)
    order = cute.make_layout((columns, rows, places), stride=(rows, 1, rows * columns))
    return cute.composition(shared, order)


def quad_max(value):
    """The greatest of four lanes, which have a row together."""
    return cute.arch.warp_reduction(value, cute.arch.fmax, threads_in_group=4)


def keys_of(length, queries, query):
    """The keys that one of a sequence's queries sees."""
    return cutlass.max(0, length - queries + 1 + query)


def blocks_of(keys):
    """The blocks of a query; one without keys has a block, too, which writes zeros."""
    return cutlass.max(1, cute.ceil_div(keys, KEYS))


@cute.jit
def count_blocks(mLengths: cute.Tensor, queries: cutlass.Int32, items: cutlass.Int32, lane: cutlass.Int32):
    """The blocks of the first items."""
    count = cutlass.Int32(0)
    for item in cutlass.range(lane, items, 32, unroll=1):
        count += blocks_of(keys_of(mLengths[item // queries], queries, item % queries))
    return cute.arch.warp_reduction_sum(count)


@cute.jit
def find_item(
    mLengths: cute.Tensor, queries: cutlass.Int32, items: cutlass.Int32, block: cutlass.Int32, lane: cutlass.Int32
):
    """The item that has a block of the list, and which block of the list is its first: 32 items at a time."""
    item, base, before = cutlass.Int32(0), cutlass.Int32(0), cutlass.Int32(0)
    for begin in cutlass.range(0, items, 32, unroll=1):
        end = cutlass.Int32(0)
        if begin + lane < items:
            end = blocks_of(keys_of(mLengths[(begin + lane) // queries], queries, (begin + lane) % queries))
        for step in cutlass.range_constexpr(5):
            other = cute.arch.shuffle_sync_up(end, 1 << step)
            if lane >= 1 << step:
                end += other
        end += before
        passed = cute.arch.popc(cute.arch.vote_ballot_sync(begin + lane < items and end <= block))
        item += passed
        if passed > 0:
            base = cute.arch.shuffle_sync(end, passed - 1)
        before = cute.arch.shuffle_sync(end, 31)
    return item, base


@cute.kernel
def combine_kernel(
    mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, mSums: cute.Tensor, mStats: cute.Tensor,
    parts: cutlass.Int32,
):  # fmt: skip
    """O and L of queries that several parts share: of each part's sums, in the order of the keys."""
    tidx, _, _ = cute.arch.thread_idx()
    rows, item, _ = cute.arch.block_idx()
    lane, queries = cute.arch.lane_idx(), mO.shape[1]
    total = count_blocks(mLengths, queries, mLengths.shape[0] * queries, lane)
    base = count_blocks(mLengths, queries, item, lane)
    blocks = blocks_of(keys_of(mLengths[item // queries], queries, item % queries))
    parts = cutlass.min(parts, total)
    first, last = ((base + 1) * parts - 1) // total, ((base + blocks) * parts - 1) // total
    if first < last:
        across = LATENT // VECTOR
        column = tidx % across
        for i in cutlass.range(COMBINED * across // THREADS, unroll=4):
            head = rows * COMBINED + tidx // across + i * (THREADS // across)
            highest, weight = cutlass.Float32(-math.inf), cutlass.Float32(0.0)
            for other in cutlass.range(first, last + 1, unroll=2):
                highest = cute.arch.fmax(highest, mStats[2 * other + (1 if other == first else 0), head])
            shift = cute.where(highest == -math.inf, cutlass.Float32(0.0), highest)
            sums = cute.make_rmem_tensor(VECTOR, cutlass.Float32)
            sums.fill(0.0)
            for other in cutlass.range(first, last + 1, unroll=2):
                slot = 2 * other + (1 if other == first else 0)
                share = cute.math.exp2(mStats[slot, head] - shift, fastmath=True)
                weight += share
                sums.store(sums.load() + cute.local_tile(mSums[slot, head, None], (VECTOR,), (column,)).load() * share)
            to = cute.local_tile(mO[item // queries, item % queries, head, None], (VECTOR,), (column,))
            inverse = cute.where(weight == 0.0, cutlass.Float32(0.0), cute.arch.rcp_approx(weight))
            to.store((sums.load() * inverse).to(mO.element_type))
            if column == 0:
                mL[item // queries, item % queries, head] = (highest + cute.math.log2(weight)) / LOG2_E


@cute.jit
def mla_decode(
    mQ: cute.Tensor, mC: cute.Tensor, mTable: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor,
    mSums: cute.Tensor, mStats: cute.Tensor, scale: cutlass.Float32,
):  # fmt: skip
    """Q (batches, queries, 128, 576), cache (pages, 64, 576), table (batches, pages of the longest), O as Q, of 512."""
    dtype, parts = mQ.element_type, mSums.shape[0] // 2
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
        load_Q, gQ, load_C, gC, load_R, gR, mTable, mLengths, mO, mL, mSums, mStats, scale, sQ_layout, sC_layout,
        sR_layout, qk_mma, own_mma, other_mma,
    ).launch(grid=[CTAS * parts, 1, 1], block=[384, 1, 1], cluster=[CTAS, 1, 1], min_blocks_per_mp=1)  # fmt: skip
    combine_kernel(mLengths, mO, mL, mSums, mStats, parts).launch(
        grid=[HEADS // COMBINED, mQ.shape[0] * mQ.shape[1], 1], block=[THREADS, 1, 1]
    )


def workspace(device, processors):
    """Sums of two queries for each part of the list, and the logarithms of their weights."""
    slots = 2 * max(1, processors // CTAS)
    return torch.empty(slots, HEADS, LATENT, device=device), torch.empty(slots, HEADS, device=device)


def reference(q, cache, table, lengths, scale):
    """O and L in float64, sequence by sequence."""
    queries = q.shape[1]
    o = torch.empty(*q.shape[:3], LATENT, dtype=torch.float64, device=q.device)
    lse = torch.empty(q.shape[:3], dtype=torch.float64, device=q.device)
    for b, length in enumerate(map(int, lengths)):
        keys = cache[table[b, : -(-length // KEYS)].long()].flatten(0, 1)[:length].double()
        scores = scale * q[b].double() @ keys.mT
        hidden = torch.ones(queries, length, dtype=torch.bool, device=q.device).triu(length - queries + 1)
        scores = scores.masked_fill(hidden[:, None], -math.inf)
        o[b], lse[b] = scores.softmax(-1).nan_to_num() @ keys[:, :LATENT], scores.logsumexp(-1)
    return o, lse


def paged(dtype, lengths, device):
    """A cache and a table of random pages for sequences of these lengths; what has no key is NaN."""
    counts = [-(-length // KEYS) for length in lengths]
    order = torch.randperm(sum(counts) + 1, device=device).int()
    table = torch.full((len(lengths), max(*counts, 1)), 2**30, device=device, dtype=torch.int32)
    cache = torch.randn(len(order), KEYS, LATENT + ROPE, device=device).to(dtype)
    cache[order[-1]] = math.nan
    for b, (length, pages) in enumerate(zip(lengths, order[:-1].split(counts), strict=True)):
        table[b, : len(pages)] = pages
        if length % KEYS:
            cache[pages[-1], length % KEYS :] = math.nan
    return cache, table


# dtype, lengths, queries, multiprocessors
CASES = (
    (torch.bfloat16, (300, 64, 1), 1, 4),
    (torch.float16, (130, 0, 257), 2, 6),
)


def argument(tensor, *modes):
    """A tensor whose extents of these modes may be others at a later call of what was compiled."""
    made = cute.runtime.from_dlpack(tensor, assumed_align=16)
    for mode in modes:
        made.mark_compact_shape_dynamic(mode, stride_order=tensor.dim_order())
    return made


def arguments(q, cache, table, lengths, o, lse, space):
    """The operands of mla_decode. The strides of the cache have 64 bits, for it may have more than 2**31 numbers."""
    if tuple(cache.shape[1:]) != (KEYS, LATENT + ROPE):
        raise ValueError(f"mla_decode: the cache is {tuple(cache.shape)}; expected (pages, {KEYS}, {LATENT + ROPE})")
    keys = cute.runtime.from_dlpack(cache, assumed_align=16).mark_layout_dynamic(leading_dim=2)
    return (
        argument(q, 0, 1), keys, argument(table, 0, 1), argument(lengths, 0), argument(o, 0, 1),
        argument(lse, 0, 1), *(argument(x, 0) for x in space),
    )  # fmt: skip


def operands(device, dtype, lengths, queries, processors):
    """Random ones: Q, the cache, its table, lengths, O and L to be written, the workspace."""
    cache, table = paged(dtype, lengths, device)
    q = torch.randn(len(lengths), queries, HEADS, LATENT + ROPE, device=device).to(dtype)
    o = torch.full((*q.shape[:3], LATENT), math.nan, device=device, dtype=dtype)
    lse = torch.full(q.shape[:3], math.nan, device=device)
    held = torch.tensor(lengths, device=device, dtype=torch.int32)
    return q, cache, table, held, o, lse, workspace(device, processors)


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
