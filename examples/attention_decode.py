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
from tilewright.examples.attention.decode_rows import ROWS, WARPS, join, load_rows, save, synchronize
from tilewright.examples.attention.paged import argument, paged, reference
from tilewright.examples.attention.stages import filled

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils.accumulators import as_operand_a, rows_and_columns
from tilewright.utils.softmax import OnlineSoftmax
from tilewright.utils.split_keys import SplitKeys

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # 64 keys of 64 elements in shared memory
KEYS, STAGES = 64, 3  # of a block; blocks under way
SHARE = KEYS // WARPS  # of a block's keys, that a warp attends to
CTAS = 2  # on a multiprocessor
JOINING = 2  # blocks: what it costs a CTA to share a sequence
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
    size = 2 * KEYS * depth * dtype.width // 8  # of a stage, which has keys and values
    stages = filled(STAGES, size, WARPS, storage.allocate_array(cutlass.Int64, 2 * STAGES))

    if warp_idx == WARPS:
        for atom in (load_K, load_V):
            cpasync.prefetch_descriptor(atom)
    splits = SplitKeys(lambda batch: blocks_of(mLengths[batch]), mLengths.shape[0], parts, JOINING)
    cute.arch.griddepcontrol_wait()  # what comes before may begin while the kernel before this one ends
    cute.arch.griddepcontrol_launch_dependents()
    mine = splits.measure().of_part(part)

    if warp_idx == WARPS:
        load_pages((load_K, gK), (load_V, gV), sKV, stages, mTable, mLengths, together, head, splits, mine)
    else:
        place, out, kept = (head, tile), (mO, mL), (mSums, mStats)
        rows = Rows(sQ, sKV, sStats, stages, scale, tiled_mma, place, group, queries, warp_idx, lane, tidx)
        rows.decode(splits, mine, mQ, mLengths, out, kept, mArrivals, sArrived)


@cute.jit
def load_pages(of_K, of_V, sKV, stages, mTable, mLengths, together, head, splits, mine):
    """A warp brings the keys and values of this part; of_K, of_V: TMA and the pages that it takes them from.

    together: how many keys of a block lie side by side in a page.
    """
    (load_K, gK), (load_V, gV), depth = of_K, of_V, cute.size(sKV, mode=[1])
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


class Rows:
    """The rows of a tile: each warp attends to its share of a block's keys, and at the end the warps meet."""

    @cute.jit
    def __init__(self, sQ, sKV, sStats, stages, scale, tiled_mma, place, group, queries, warp_idx, lane, tidx):
        """place: the head of keys and the number of the tile; group: heads of Q that share it."""
        depth, dtype, thr_mma = cute.size(sKV, mode=[1]), sKV.element_type, tiled_mma.get_slice(lane)
        self.sQ, self.sKV, self.sStats, self.stages, self.tiled_mma = sQ, sKV, sStats, stages, tiled_mma
        self.place, self.group, self.queries = place, group, queries
        self.warp_idx, self.lane, self.tidx = warp_idx, lane, tidx
        shares = cute.flat_divide(sKV, (SHARE, depth))[None, None, warp_idx, 0, None, None]
        sK, sV = shares[None, None, 0, None], shares[None, None, 1, None]
        sV = cute.make_tensor(sV.iterator, cute.select(sV.layout, [1, 0, 2]))  # operand B of the second product
        tSrQ = tiled_mma.make_fragment_A(thr_mma.partition_A(sQ))
        tSrK = tiled_mma.make_fragment_B(thr_mma.partition_B(sK[None, None, 0]))
        tOrV = tiled_mma.make_fragment_B(thr_mma.partition_B(sV[None, None, 0]))
        tSrS = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((ROWS, SHARE)))
        tOrO = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((ROWS, depth)))
        self.tSrQ, self.tSrK, self.tOrV, self.tSrS, self.tOrO = tSrQ, tSrK, tOrV, tSrS, tOrO

        def fragments(shared, registers, make_tiled_copy, transpose=False):
            """What reads an operand by ldmatrix."""
            op = warp.LdMatrix8x8x16bOp(transpose=transpose, num_matrices=4)
            tiled_copy = make_tiled_copy(cute.make_copy_atom(op, dtype), tiled_mma)
            return tiled_copy, tiled_copy.get_slice(lane).partition_S(shared), tiled_copy.retile(registers)

        self.of_Q = fragments(sQ, tSrQ, cute.make_tiled_copy_A)
        self.of_K = fragments(sK, tSrK, cute.make_tiled_copy_B)
        self.of_V = fragments(sV, tOrV, cute.make_tiled_copy_B, transpose=True)

        # A thread has two rows of each tile of the instruction, with the columns that its quad of lanes shares.
        self.tS, self.tO = rows_and_columns(tSrS), rows_and_columns(tOrO)
        self.at = rows_and_columns(thr_mma.partition_C(cute.make_identity_tensor((ROWS, SHARE))))
        self.copy_S = cute.make_tiled_copy_C(
            cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=64), tiled_mma
        )
        self.key_of = thr_mma.partition_B(cute.make_identity_tensor((depth, SHARE)))
        self.rows = cute.size(self.tS.shape[0])
        self.softmax = OnlineSoftmax(self.rows, scale * LOG2_E)
        self.state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)

    @cute.jit
    def attend(self, block, is_last, keys):
        """This warp's keys of a block, by a running maximum; the last stage stays ours."""
        (copy_Q, tSsQ, tSrQ_view), (copy_K, tSsK, tSrK_view) = self.of_Q, self.of_K
        copy_V, tOsV, tOrV_view = self.of_V
        tiled_mma, stages, state, tS, tOrV = self.tiled_mma, self.stages, self.state, self.tS, self.tOrV
        stages.consumer_wait(state)
        self.tSrS.fill(0.0)
        for step in cutlass.range_constexpr(cute.size(self.tSrQ, mode=[2])):
            # Q is read again for each block: two CTAs on a multiprocessor have no registers to hold it.
            cute.copy(copy_Q, tSsQ[None, None, step], tSrQ_view[None, None, step])
            cute.copy(copy_K, tSsK[None, None, step, state.index], tSrK_view[None, None, step])
            cute.gemm(tiled_mma, self.tSrS, self.tSrQ[None, None, step], self.tSrK[None, None, step], self.tSrS)
        begin = block * KEYS + self.warp_idx * SHARE
        if (block + 1) * KEYS > keys - self.queries + 1:  # some row does not see all of them
            for r in cutlass.range_constexpr(self.rows):
                seen = keys - self.queries + (self.place[1] * ROWS + self.at[r, 0][0]) // self.group
                for c in cutlass.range_constexpr(cute.size(tS.shape[1])):
                    tS[r, c] = cute.where(begin + self.at[r, c][1] <= seen, tS[r, c], -math.inf)
        self.softmax.step(tS, True)
        self.softmax.rescale(self.tO)
        cute.copy(copy_V, tOsV[None, None, None, state.index], tOrV_view)
        if (block + 1) * KEYS > keys:  # what no key was written to may be anything, and 0 times that, too
            for i in cutlass.range_constexpr(cute.size(tOrV)):
                tOrV[i] = cute.where(begin + self.key_of[i][1] < keys, tOrV[i], tOrV.element_type(0.0))
        P = cute.make_fragment_like(self.tSrS, tOrV.element_type)
        P.store(self.tSrS.load().to(tOrV.element_type))
        cute.gemm(tiled_mma, self.tOrO, as_operand_a(P), tOrV, self.tOrO)
        if not is_last:
            stages.consumer_release(state)
            state.advance()

    @cute.jit
    def meet(self):
        """The warps' sums, in the stage that they have read last, which is theirs still."""
        depth, tO, at = cute.size(self.sKV, mode=[1]), self.tO, self.at
        # Neighbouring rows in banks of their own.
        layout = cute.make_composed_layout(
            cute.make_swizzle(2, 3, depth.bit_length() - 4), 0,
            cute.make_layout((ROWS, depth, WARPS), stride=(depth, 1, ROWS * depth)),
        )  # fmt: skip
        synchronize()
        memory = cute.recast_ptr(self.sKV.iterator + self.state.index * (2 * KEYS * depth), dtype=cutlass.Float32)
        sSums = cute.make_tensor(memory, layout)
        for r in cutlass.range_constexpr(self.rows):
            inverse, logarithm = self.softmax.finish(r)
            tO[r, None].store(tO[r, None].load() * inverse)
            if at[r, 0][1] == 0:
                self.sStats[at[r, 0][0], self.warp_idx] = logarithm
        to = self.copy_S.get_slice(self.lane).partition_D(sSums[None, None, self.warp_idx])
        cute.copy(self.copy_S, self.copy_S.retile(self.tOrO), to)
        synchronize()
        return sSums

    @cute.jit
    def decode(self, splits, mine, mQ, mLengths, out, kept, mArrivals, sArrived):
        """This part's keys of each sequence, from its Q to its sums; out: O and L, kept: what parts leave of them."""
        (head, tile), stages, state = self.place, self.stages, self.state
        group, queries, tidx, sQ, sStats = self.group, self.queries, self.tidx, self.sQ, self.sStats

        def decode_segment(segment):
            length = mLengths[segment.item]
            load_rows(mQ[segment.item, None, None, None], head, tile, group, sQ, tidx)
            synchronize()
            self.softmax.reset()
            self.tOrO.fill(0.0)
            for block in cutlass.range(segment.begin, segment.end, unroll=1):
                self.attend(block, block + 1 == segment.end, length)
            sSums = self.meet()
            save(segment, out, kept, sStats, sSums, head, tile, group, queries, tidx)
            cute.arch.fence_proxy("async.shared", space="cta")  # the stage's next bytes come by TMA
            stages.consumer_release(state)
            state.advance()
            if not segment.is_whole:
                join(segment, splits, out, kept, mArrivals, sArrived, head, tile, group, queries, tidx)

        splits.for_each(mine, decode_segment)


def blocks_of(length):
    """The blocks of a sequence; one without keys has a block, too, which writes zeros."""
    return cutlass.max(1, cute.ceil_div(length, KEYS))


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
    sums, stats = (torch.empty(x, device=q.device, dtype=torch.float32) for x in ((*shape, q.shape[3]), shape))
    return sums, stats, torch.zeros(parts, key_heads, tiles, device=q.device, dtype=torch.int32)


# dtype, lengths, page size, heads, heads of keys, queries, depth, multiprocessors
CASES = (
    (torch.bfloat16, (300, 64, 1), 64, 8, 1, 1, 128, 2),
    (torch.bfloat16, (1000,), 16, 8, 2, 1, 64, 4),
    (torch.float16, (130, 0, 257), 128, 4, 1, 5, 128, 3),
)


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
