"""Attention of a few new queries to a long paged cache of keys and values: flash decoding, bf16 or fp16, D 64 or 128.

What to learn: each key is read once and used little, so what counts is that all multiprocessors read all the time. The
blocks of keys of all sequences are one list, cut into equal parts whatever the lengths are; where all are equally long,
parts end with sequences. A part that begins or ends inside of one has partial sums. They go to a workspace, and who
arrives last at a sequence combines what is there, in the order of the keys: so the bits are the same at every run.
Several heads of Q share one of K and V; they and the new queries are the 16 rows of mma.sync. TMA fetches pages, and
each warp attends to keys of its own of every block. Short sequences are a chain of latencies (lengths, table, keys,
sums of others), so what needs no memory is done while the kernel before this one ends.

For each head O = softmax(scale Q K^T) V. The n queries of a sequence are its last positions: query i sees the keys up
to length - n + i. Keys and values lie in pages (pages, page size, heads, D); row b of the table has the pages of
sequence b. A query that sees no key has O = 0 and L = -inf. Partial sums are those of "Flash-Decoding for long-context
inference" (Dao, Haziza, Massa, Sizov, 2023), equal parts those of "Stream-K" (Osama et al., 2023).
"""

from __future__ import annotations

import math

import torch

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils.accumulators import as_operand_a, rows_and_columns
from tilewright.utils.softmax import OnlineSoftmax, merge_states
from tilewright.utils.split_keys import SplitKeys

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # 64 keys of 64 elements in shared memory
ROWS, KEYS = 16, 64  # of a tile: heads and queries; of a block
WARPS, STAGES = 4, 3  # that attend, each to its share of a block's keys; blocks under way
SHARE = KEYS // WARPS
CTAS = 2  # on a multiprocessor
JOINING = 2  # blocks: what it costs a CTA to share a sequence
VECTOR, WIDE = 4, 8  # columns of a row that a thread has when warps meet, and when parts do: one pass for 8 rows of 128
LOG2_E = math.log2(math.e)


@cute.kernel
def decode_kernel(
    mQ: cute.Tensor, load_K: cute.CopyAtom, gK: cute.Tensor, load_V: cute.CopyAtom, gV: cute.Tensor,
    mTable: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, mSums: cute.Tensor,
    mStats: cute.Tensor, mArrivals: cute.Tensor, scale: cutlass.Float32, page_layout: cute.ComposedLayout,
    sQ_layout: cute.ComposedLayout, tiled_mma: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    head, tile, part = cute.arch.block_idx()
    _, _, parts = cute.arch.grid_dim()
    warp_idx, lane = cute.arch.make_warp_uniform(cute.arch.warp_idx()), cute.arch.lane_idx()
    dtype, queries, depth = mQ.element_type, mQ.shape[2], mQ.shape[3]
    group = mQ.shape[1] // gK.shape[3]  # heads of Q that share one of K and V
    together = cute.product_each(page_layout.shape)[0]  # keys of a block that lie side by side in a page

    storage = cutlass.utils.SmemAllocator()
    sKV_layout = cute.tile_to_shape(page_layout, (KEYS, depth, 2, STAGES), (0, 1, 2, 3))
    sKV = storage.allocate_tensor(dtype, sKV_layout, 1024)
    sQ = storage.allocate_tensor(dtype, sQ_layout, 1024)
    sStats = storage.allocate_tensor(cutlass.Float32, cute.make_layout((ROWS, WARPS)), 16)
    sArrived = storage.allocate_tensor(cutlass.Int32, cute.make_layout(1), 4)
    agents = pipeline.CooperativeGroup
    stages = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=agents(pipeline.Agent.Thread),
        consumer_group=agents(pipeline.Agent.Thread, WARPS),
        barrier_storage=storage.allocate_array(cutlass.Int64, 2 * STAGES), tx_count=2 * KEYS * depth * dtype.width // 8,
    )  # fmt: skip

    if warp_idx == WARPS:
        for atom in (load_K, load_V):
            cpasync.prefetch_descriptor(atom)
    splits = SplitKeys(lambda batch: blocks_of(mLengths[batch]), mLengths.shape[0], parts, JOINING)
    cute.arch.griddepcontrol_wait()  # what comes before may begin while the kernel before this one ends
    cute.arch.griddepcontrol_launch_dependents()
    mine = splits.measure().of_part(part)

    if warp_idx == WARPS:
        alone = cute.make_layout(1)
        # (page's part, part of the block, K or V, stage), (page's part, part of the page, page, head)
        tiles = cute.group_modes(cute.flat_divide(sKV, (together, depth)), 0, 2)
        tKgK, tVgV = (cute.group_modes(cute.flat_divide(x, (together, depth)), 0, 2) for x in (gK, gV))
        tKsK, tKgK = cpasync.tma_partition(load_K, 0, alone, tiles, tKgK)
        tVsV, tVgV = cpasync.tma_partition(load_V, 0, alone, tiles, tVgV)
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)

        def fetch(segment):
            length = mLengths[segment.item]
            for block in cutlass.range(segment.begin, segment.end, unroll=1):
                pages = cute.make_rmem_tensor(KEYS // together, cutlass.Int32)
                for i in cutlass.range_constexpr(KEYS // together):
                    key = block * KEYS + i * together
                    pages[i] = -1  # what is outside of the tensor comes as zeros
                    if key < length:
                        pages[i] = mTable[segment.item, key // gK.shape[0]]
                stages.producer_acquire(state)
                barrier = stages.producer_get_barrier(state)
                for i in cutlass.range_constexpr(KEYS // together):
                    inside = (block * (KEYS // together) + i) % (gK.shape[0] // together)
                    there, here = (None, inside, 0, pages[i], head), (None, i, 0, None, state.index)
                    cute.copy(load_K, tKgK[there], tKsK[here][None, 0], tma_bar_ptr=barrier)
                    cute.copy(load_V, tVgV[there], tVsV[here][None, 1], tma_bar_ptr=barrier)
                state.advance()

        splits.for_each(mine, fetch)
        stages.producer_tail(state)
    else:
        thr_mma = tiled_mma.get_slice(lane)
        shares = cute.flat_divide(sKV, (SHARE, depth))[None, None, warp_idx, 0, None, None]
        sK, sV = shares[None, None, 0, None], shares[None, None, 1, None]
        sV = cute.make_tensor(sV.iterator, cute.select(sV.layout, [1, 0, 2]))  # operand B of the second product
        tSrQ = tiled_mma.make_fragment_A(thr_mma.partition_A(sQ))
        tSrK = tiled_mma.make_fragment_B(thr_mma.partition_B(sK[None, None, 0]))
        tOrV = tiled_mma.make_fragment_B(thr_mma.partition_B(sV[None, None, 0]))
        tSrS = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((ROWS, SHARE)))
        tOrO = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((ROWS, depth)))

        def fragments(shared, registers, make_tiled_copy, transpose=False):
            """What reads an operand by ldmatrix."""
            op = warp.LdMatrix8x8x16bOp(transpose=transpose, num_matrices=4)
            tiled_copy = make_tiled_copy(cute.make_copy_atom(op, dtype), tiled_mma)
            return tiled_copy, tiled_copy.get_slice(lane).partition_S(shared), tiled_copy.retile(registers)

        copy_Q, tSsQ, tSrQ_view = fragments(sQ, tSrQ, cute.make_tiled_copy_A)
        copy_K, tSsK, tSrK_view = fragments(sK, tSrK, cute.make_tiled_copy_B)
        copy_V, tOsV, tOrV_view = fragments(sV, tOrV, cute.make_tiled_copy_B, transpose=True)

        # A thread has two rows of each tile of the instruction, with the columns that its quad of lanes shares.
        tS, tO = rows_and_columns(tSrS), rows_and_columns(tOrO)
        at = rows_and_columns(thr_mma.partition_C(cute.make_identity_tensor((ROWS, SHARE))))
        copy_S = cute.make_tiled_copy_C(
            cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=64), tiled_mma
        )
        key_of = thr_mma.partition_B(cute.make_identity_tensor((depth, SHARE)))
        rows = cute.size(tS.shape[0])
        softmax = OnlineSoftmax(rows, scale * LOG2_E)
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)

        def attend(block, is_last, keys):
            """This warp's keys of a block, by a running maximum; the last stage stays ours."""
            stages.consumer_wait(state)
            tSrS.fill(0.0)
            for step in cutlass.range_constexpr(cute.size(tSrQ, mode=[2])):
                # Q is read again for each block: two CTAs on a multiprocessor have no registers to hold it.
                cute.copy(copy_Q, tSsQ[None, None, step], tSrQ_view[None, None, step])
                cute.copy(copy_K, tSsK[None, None, step, state.index], tSrK_view[None, None, step])
                cute.gemm(tiled_mma, tSrS, tSrQ[None, None, step], tSrK[None, None, step], tSrS)
            begin = block * KEYS + warp_idx * SHARE
            if (block + 1) * KEYS > keys - queries + 1:  # some row does not see all of them
                for r in cutlass.range_constexpr(rows):
                    seen = keys - queries + (tile * ROWS + at[r, 0][0]) // group
                    for c in cutlass.range_constexpr(cute.size(tS.shape[1])):
                        tS[r, c] = cute.where(begin + at[r, c][1] <= seen, tS[r, c], -math.inf)
            softmax.step(tS, True)
            softmax.rescale(tO)
            cute.copy(copy_V, tOsV[None, None, None, state.index], tOrV_view)
            if (block + 1) * KEYS > keys:  # what no key was written to may be anything, and 0 times that, too
                for i in cutlass.range_constexpr(cute.size(tOrV)):
                    tOrV[i] = cute.where(begin + key_of[i][1] < keys, tOrV[i], dtype(0.0))
            P = cute.make_fragment_like(tSrS, dtype)
            P.store(tSrS.load().to(dtype))
            cute.gemm(tiled_mma, tOrO, as_operand_a(P), tOrV, tOrO)
            if not is_last:
                stages.consumer_release(state)
                state.advance()

        # Neighbouring rows in banks of their own.
        sSums_layout = cute.make_composed_layout(
            cute.make_swizzle(2, 3, depth.bit_length() - 4), 0,
            cute.make_layout((ROWS, depth, WARPS), stride=(depth, 1, ROWS * depth)),
        )  # fmt: skip

        def decode_segment(segment):
            """This part's keys of a sequence, from its Q to its sums."""
            length = mLengths[segment.item]
            load_rows(mQ[segment.item, None, None, None], head, tile, group, sQ, tidx)
            synchronize()
            softmax.reset()
            tOrO.fill(0.0)
            for block in cutlass.range(segment.begin, segment.end, unroll=1):
                attend(block, block + 1 == segment.end, length)

            # The warps meet in the stage that they have read last, which is theirs still.
            synchronize()
            memory = cute.recast_ptr(sKV.iterator + state.index * (2 * KEYS * depth), dtype=cutlass.Float32)
            sSums = cute.make_tensor(memory, sSums_layout)
            for r in cutlass.range_constexpr(rows):
                inverse, logarithm = softmax.finish(r)
                tO[r, None].store(tO[r, None].load() * inverse)
                if at[r, 0][1] == 0:
                    sStats[at[r, 0][0], warp_idx] = logarithm
            cute.copy(copy_S, copy_S.retile(tOrO), copy_S.get_slice(lane).partition_D(sSums[None, None, warp_idx]))
            synchronize()

            # What a row has seen: a sequence that parts share has such a state of each.
            for i in cutlass.range(ROWS * depth // (32 * WARPS * VECTOR), unroll=1):
                row, column = divide(tidx + i * 32 * WARPS, depth // VECTOR)
                if tile * ROWS + row < queries * group:
                    logarithm, values = merge_states(
                        [(sStats[row, w], columns(sSums[row, None, w], column, VECTOR).load()) for w in range(WARPS)]
                    )
                    if segment.is_whole:
                        finish(logarithm, values, mO, mL, segment.item, head, tile, group, row, column)
                    else:
                        columns(mSums[segment.slot, head, tile, row, None], column, VECTOR).store(values)
                        if column == 0:
                            mStats[segment.slot, head, tile, row] = logarithm
            cute.arch.fence_proxy("async.shared", space="cta")  # the stage's next bytes come by TMA
            stages.consumer_release(state)
            state.advance()

            if not segment.is_whole:
                synchronize()
                arrivals = mArrivals[segment.first_part, head, None]
                if tidx == 0:
                    cute.arch.fence_acq_rel_gpu()  # what the block has written comes before its arrival
                    sArrived[0] = cute.arch.atomic_add(arrivals.iterator + tile, 1)
                    cute.arch.fence_acq_rel_gpu()  # and what it reads behind those of others
                synchronize()
                if sArrived[0] == segment.last_part - segment.first_part:
                    for i in cutlass.range(ROWS * depth // (32 * WARPS * WIDE), unroll=1):
                        row, column = divide(tidx + i * 32 * WARPS, depth // WIDE)
                        if tile * ROWS + row < queries * group:
                            read = read_state(mSums, mStats, head, tile, row, column)
                            logarithm, values = splits.merge(segment.first_part, segment.last_part, read)
                            finish(logarithm, values, mO, mL, segment.item, head, tile, group, row, column)
                    if tidx == 0:
                        cute.arch.atomic_exch(arrivals.iterator + tile, 0)  # for the next call

        splits.for_each(mine, decode_segment)


def synchronize():
    """A barrier of the warps that attend."""
    cute.arch.barrier(barrier_id=1, number_of_threads=32 * WARPS)


def blocks_of(length):
    """The blocks of a sequence; one without keys has a block, too, which writes zeros."""
    return cutlass.max(1, cute.ceil_div(length, KEYS))


@cute.jit
def load_rows(
    mQ: cute.Tensor, head: cutlass.Int32, tile: cutlass.Int32, group: cutlass.Int32, sQ: cute.Tensor,
    tidx: cutlass.Int32,
):  # fmt: skip
    """The rows of a tile into shared memory, with zeros for those that do not exist."""
    across = mQ.shape[2] // 8  # threads of a row, each 16 bytes of it
    for i in cutlass.range_constexpr(ROWS * across // (32 * WARPS)):
        row = tidx // across + i * (32 * WARPS // across)
        query, which = divide(tile * ROWS + row, group)
        values = cute.make_rmem_tensor(8, mQ.element_type)
        values.fill(0.0)
        if query < mQ.shape[1]:
            source = cute.local_tile(mQ[head * group + which, query, None], (8,), (tidx % across,))
            values.store(source.load())
        cute.local_tile(sQ, (1, 8), (row, tidx % across))[0, None].store(values.load())


def divide(row, group):
    """(query, head of the group) of a row."""
    return row // group, row % group


def columns(row, column, count):
    """So many columns of a row, in vectors as far apart as they are in the whole row."""
    vectors = count // VECTOR
    return cute.local_tile(cute.logical_divide(row, cute.size(row) // vectors), (VECTOR, vectors), (column, 0))


def read_state(mSums, mStats, head, tile, row, column):
    """What gives the state of a row that a part has left."""
    return lambda slot: (
        mStats[slot, head, tile, row],
        columns(mSums[slot, head, tile, row, None], column, WIDE).load(),
    )


@cute.jit
def finish(logarithm, values, mO, mL, batch, head, tile, group, row, column):
    """O and L of a row."""
    query, which = divide(tile * ROWS + row, group)
    to = columns(mO[batch, head * group + which, query, None], column, cute.size(values.shape))
    to.store(values.to(mO.element_type))
    if column == 0:
        mL[batch, head * group + which, query] = logarithm * (1 / LOG2_E)


@cute.jit
def decode(
    mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mTable: cute.Tensor, mLengths: cute.Tensor, mO: cute.Tensor,
    mL: cute.Tensor, mSums: cute.Tensor, mStats: cute.Tensor, mArrivals: cute.Tensor, scale: cutlass.Float32,
):  # fmt: skip
    dtype, depth, page_size = mQ.element_type, mQ.shape[3], mK.shape[1]
    if depth not in (64, 128):
        raise ValueError(f"decode: mQ has D = {depth}; expected 64 or 128, known while tracing")
    if not isinstance(page_size, int) or page_size < 8 or (KEYS % page_size and page_size % KEYS):
        raise ValueError(
            f"decode: mK has pages of {page_size} keys; expected 8, 16, 32 or a multiple of {KEYS}, known while tracing"
        )
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, dtype)
    page = min(page_size, KEYS), depth
    page_layout, sQ_layout = (cute.tile_to_shape(atom, shape, (0, 1)) for shape in (page, (ROWS, depth)))
    # (key of the page, D, page, head)
    load_K, gK, load_V, gV = (
        made
        for x in (mK, mV)
        for made in cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(),
            cute.make_tensor(x.iterator, cute.select(x.layout, [1, 3, 0, 2])), page_layout, page,
        )
    )  # fmt: skip
    op = warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    # Two atoms side by side along N: ldmatrix reads 16 rows of B at once.
    tiled_mma = cute.make_tiled_mma(op, (1, 1, 1), permutation_mnk=(16, 16, 16))
    parts, heads, tiles = mArrivals.shape
    decode_kernel(
        mQ, load_K, gK, load_V, gV, mTable, mLengths, mO, mL, mSums, mStats, mArrivals, scale, page_layout, sQ_layout,
        tiled_mma,
    ).launch(
        grid=[heads, tiles, parts], block=[32 * (WARPS + 1), 1, 1], min_blocks_per_mp=CTAS,
        use_pdl=True,
    )  # fmt: skip


def workspace(q, key_heads, processors):
    """States of parts, sums and logarithms of weights, and arrivals, which are zeros before and after a call.

    processors: of the device; a part of the list is for one of the CTAS blocks that each runs at a time.
    """
    tiles = -(-q.shape[1] // key_heads * q.shape[2] // ROWS)
    parts = max(1, CTAS * processors // (key_heads * tiles))
    shape = 2 * parts, key_heads, tiles, ROWS
    sums, stats = (torch.empty(x, device=q.device) for x in ((*shape, q.shape[3]), shape))
    return sums, stats, torch.zeros(parts, key_heads, tiles, device=q.device, dtype=torch.int32)


def reference(q, k, v, table, lengths, scale):
    """O and L in float64, sequence by sequence."""
    batches, heads, queries, _ = q.shape
    o, lse = torch.empty_like(q, dtype=torch.float64), torch.empty(q.shape[:3], dtype=torch.float64, device=q.device)
    for b in range(batches):
        length = int(lengths[b])
        pages = table[b, : -(-length // k.shape[1])].long()
        keys, values = (
            x[pages].flatten(0, 1)[:length].double().transpose(0, 1).repeat_interleave(heads // x.shape[2], 0)
            for x in (k, v)
        )
        scores = scale * q[b].double() @ keys.mT
        hidden = torch.ones(queries, length, dtype=torch.bool, device=q.device).triu(length - queries + 1)
        scores = scores.masked_fill(hidden, -math.inf)
        o[b], lse[b] = scores.softmax(-1).nan_to_num() @ values, scores.logsumexp(-1)
    return o, lse


def paged(dtype, lengths, page_size, shapes, device):
    """A table of random pages for sequences of these lengths, and caches with elements of these shapes for each key.

    What has no key is NaN, and no page is far outside.
    """
    counts = [-(-length // page_size) for length in lengths]
    order = torch.randperm(sum(counts) + 1, device=device).int()
    table = torch.full((len(lengths), max(*counts, 1)), 2**30, device=device, dtype=torch.int32)
    caches = [torch.full((len(order), page_size, *shape), math.nan, device=device, dtype=dtype) for shape in shapes]
    for b, (length, pages) in enumerate(zip(lengths, order[:-1].split(counts), strict=True)):
        table[b, : len(pages)] = pages
        for i, page in enumerate(pages):
            keys = min(page_size, length - i * page_size)
            for cache in caches:
                cache[page, :keys] = torch.randn(keys, *cache.shape[2:], device=device).to(dtype)
    return table, *caches


# dtype, lengths, page size, heads, heads of keys, queries, depth, multiprocessors
CASES = (
    (torch.bfloat16, (300, 64, 1), 64, 8, 1, 1, 128, 2),
    (torch.bfloat16, (1000,), 16, 8, 2, 1, 64, 4),
    (torch.float16, (130, 0, 257), 128, 4, 1, 5, 128, 3),
)


def argument(tensor, *modes):
    """A tensor whose extents of these modes may be others at a later call of what was compiled."""
    made = cute.runtime.from_dlpack(tensor, assumed_align=16)
    for mode in modes:
        made.mark_compact_shape_dynamic(mode, stride_order=tensor.dim_order())
    return made


def arguments(q, k, v, table, lengths, o, lse, space):
    """The operands of decode; heads, D and the size of pages are known while tracing."""
    sums, stats, arrivals = space
    return (
        argument(q, 0, 2), argument(k, 0), argument(v, 0), argument(table, 0, 1), argument(lengths, 0),
        argument(o, 0, 2), argument(lse, 0, 2), argument(sums, 0, 1, 2), argument(stats, 0, 1, 2),
        argument(arrivals, 0, 1, 2),
    )  # fmt: skip


def operands(device, dtype, lengths, page_size, heads, key_heads, queries, depth, processors):
    """Random ones: Q, K, V, the table, lengths, O and L to be written, the workspace."""
    table, k, v = paged(dtype, lengths, page_size, [(key_heads, depth)] * 2, device)
    q = torch.randn(len(lengths), heads, queries, depth, device=device).to(dtype)
    o, lse = torch.full_like(q, math.nan), torch.full(q.shape[:3], math.nan, device=device)
    held = torch.tensor(lengths, device=device, dtype=torch.int32)
    return q, k, v, table, held, o, lse, workspace(q, key_heads, processors)


def problem(device: str):
    """A small one."""
    return decode, *arguments(*operands(device, torch.bfloat16, (300, 100), 64, 8, 1, 1, 64, 2)), 0.125


def check(device: str) -> None:
    for dtype, lengths, *others in CASES:
        q, k, v, table, _, o, lse, space = made = operands(device, dtype, lengths, *others)
        scale = q.shape[3] ** -0.5
        decode(*arguments(*made), scale)
        expected, expected_lse = reference(q, k, v, table, lengths, scale)
        torch.testing.assert_close(o, expected.to(dtype), rtol=2e-2, atol=4e-3)
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)
        assert not space[2].any()


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
