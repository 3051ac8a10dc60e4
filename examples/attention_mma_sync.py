"""Attention without its matrix of scores: FlashAttention-2's forward pass by mma.sync, in bf16 or fp16, D 64 or 128.

What to learn: a softmax needs each row's maximum and sum, but not the row at once. From one block of keys to the next a
maximum m and a sum l are kept; where m grows, what was summed before is scaled by exp(m_old - m_new). So scores live in
registers only. Accumulators of one product are operand A of the next: their layouts differ in grouping alone.

For each head O = softmax(scale Q K^T) V, with Q (S, D), K and V (T, D); several heads of Q may share one of K and V.
Causal: query i sees the keys up to i. L is the logarithm of each row's sum of exponentials, for a backward pass.
The steps are those of Algorithm 1 of "FlashAttention-2: Faster Attention with Better Parallelism and Work
Partitioning", for a scale above 0.
"""

from __future__ import annotations

import math

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "S<3,3,3> o 0 o (8,64):(64,1)"  # 8 rows of 64 elements of Q, K or V in shared memory
QUERIES, KEYS = 128, 64  # of a block of threads; of a round of its loop
LOG2_E = math.log2(math.e)


@cute.kernel
def attention_kernel(
    mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, scale: cutlass.Float32,
    is_causal: cutlass.Constexpr, sQ_layout: cute.ComposedLayout, sK_layout: cute.ComposedLayout,
    copy_in: cute.TiledCopy, copy_out: cute.TiledCopy, tiled_mma: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, head, batch = cute.arch.block_idx()
    tiles, _, _ = cute.arch.grid_dim()
    tile = tiles - 1 - bidx  # where causal, later queries see more keys: the longest work begins first
    queries, keys, depth = mQ.shape[2], mK.shape[2], mQ.shape[3]
    key_head = head // (mQ.shape[1] // mK.shape[1])
    dtype, scale_log2 = mQ.element_type, scale * LOG2_E
    storage = cutlass.utils.SmemAllocator()

    def operand(tensor, layout):
        """Shared memory for a block of rows, and what starts to fill it, with zeros for rows that do not exist."""
        shared = storage.allocate_tensor(dtype, layout, 1024)
        thr_copy, shape = copy_in.get_slice(tidx), cute.product_each(layout.shape)
        src = thr_copy.partition_S(cute.local_tile(tensor, shape, (None, 0)))
        at = thr_copy.partition_S(cute.local_tile(cute.make_identity_tensor(tensor.shape), shape, (None, 0)))
        dst = thr_copy.partition_D(shared)

        def load(block):
            exists = cute.make_rmem_tensor(cute.make_layout((1, *dst.shape[1:]), stride=(0, 1, 0)), cutlass.Boolean)
            for i in cutlass.range_constexpr(dst.shape[1]):
                exists[0, i, 0] = at[0, i, 0, block][0] < tensor.shape[0]
            cute.copy(copy_in, src[None, None, None, block], dst, pred=exists)
            cute.arch.cp_async_commit_group()

        return shared, load

    sQ, load_Q = operand(mQ[batch, head, None, None], sQ_layout)
    sK, load_K = operand(mK[batch, key_head, None, None], sK_layout)
    sV, load_V = operand(mV[batch, key_head, None, None], sK_layout)
    # V (keys, D) is operand B of the second product as (D, keys).
    sV = cute.composition(sV, cute.make_layout((depth, KEYS), stride=(KEYS, 1)))

    def wait_for_copies():
        """What was loaded is there for all threads, and all have read what they had to."""
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()

    thr_mma = tiled_mma.get_slice(tidx)
    tSrQ = tiled_mma.make_fragment_A(thr_mma.partition_A(sQ))
    tSrK = tiled_mma.make_fragment_B(thr_mma.partition_B(sK))
    tOrV = tiled_mma.make_fragment_B(thr_mma.partition_B(sV))
    tSrS = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((QUERIES, KEYS)))
    tOrO = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((QUERIES, depth)))

    def fragments(shared, registers, make_tiled_copy, transpose=False):
        """What reads a step of a product by ldmatrix."""
        op = cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose=transpose, num_matrices=4)
        tiled_copy = make_tiled_copy(cute.make_copy_atom(op, dtype), tiled_mma)
        src, dst = tiled_copy.get_slice(tidx).partition_S(shared), tiled_copy.retile(registers)
        return lambda step: cute.copy(tiled_copy, src[None, None, step], dst[None, None, step])

    read_Q = fragments(sQ, tSrQ, cute.make_tiled_copy_A)
    read_K = fragments(sK, tSrK, cute.make_tiled_copy_B)
    read_V = fragments(sV, tOrV, cute.make_tiled_copy_B, transpose=True)

    # A thread has two rows of each tile of the instruction, with the columns that its quad of lanes shares.
    tS, tO = rows_and_columns(tSrS), rows_and_columns(tOrO)
    at = rows_and_columns(thr_mma.partition_C(cute.make_identity_tensor((QUERIES, KEYS))))
    rows = tS.shape[0]
    row_max = cute.make_rmem_tensor(cute.size(rows), cutlass.Float32)
    row_sum = cute.make_rmem_tensor(cute.size(rows), cutlass.Float32)
    row_max.fill(-math.inf)
    row_sum.fill(0.0)
    tOrO.fill(0.0)

    def attend(block, blocks, is_masked):
        """One block of keys: lines 7 to 10 of Algorithm 1."""
        wait_for_copies()  # K
        load_V(block)
        tSrS.fill(0.0)
        for step in cutlass.range_constexpr(cute.size(tSrQ, mode=[2])):
            read_Q(step)
            read_K(step)
            cute.gemm(tiled_mma, tSrS, tSrQ[None, None, step], tSrK[None, None, step], tSrS)
        wait_for_copies()  # V
        if block + 1 < blocks:
            load_K(block + 1)
        for r in cutlass.range_constexpr(cute.size(rows)):
            if cutlass.const_expr(is_masked):
                last = keys - 1
                if cutlass.const_expr(is_causal):
                    last = cutlass.min(last, tile * QUERIES + at[r, 0][0])
                for c in cutlass.range_constexpr(cute.size(tS.shape[1])):
                    tS[r, c] = cute.where(block * KEYS + at[r, c][1] <= last, tS[r, c], -math.inf)
            scores = tS[r, None].load()
            highest = cute.arch.fmax(row_max[r], quad_max(scores.reduce(cute.ReductionOp.MAX, -math.inf, 0)))
            scaled = highest * scale_log2
            weights = cute.math.exp2(cute.math.fma(scores, scale_log2, -scaled), fastmath=True)
            shrink = cute.math.exp2(cute.math.fma(row_max[r], scale_log2, -scaled), fastmath=True)
            row_max[r] = highest
            row_sum[r] = row_sum[r] * shrink + weights.reduce(cute.ReductionOp.ADD, 0.0, 0)
            tO[r, None].store(tO[r, None].load() * shrink)
            tS[r, None].store(weights)
        P = cute.make_fragment_like(tSrS, dtype)
        P.store(tSrS.load().to(dtype))
        tOrP = as_operand_A(P)
        for step in cutlass.range_constexpr(cute.size(tOrP, mode=[2])):
            read_V(step)
            cute.gemm(tiled_mma, tOrO, tOrP[None, None, step], tOrV[None, None, step], tOrO)

    # Blocks that all queries see as a whole, then those that are masked. Each row sees key 0, so its maximum is finite.
    blocks, full = cute.ceil_div(keys, KEYS), keys // KEYS
    if cutlass.const_expr(is_causal):
        blocks = cutlass.min(blocks, cute.ceil_div((tile + 1) * QUERIES, KEYS))
        full = cutlass.min(full, (tile * QUERIES + 1) // KEYS)
    load_Q(tile)
    load_K(0)
    for block in cutlass.range(full, unroll=1):
        attend(block, blocks, False)
    for block in cutlass.range(full, blocks, unroll=1):
        attend(block, blocks, True)

    for r in cutlass.range_constexpr(cute.size(rows)):
        row, column = at[r, 0]
        total = cute.arch.warp_reduction_sum(row_sum[r], threads_in_group=4)
        tO[r, None].store(tO[r, None].load() * (1.0 / total))
        if column == 0 and tile * QUERIES + row < queries:
            mL[batch, head, tile * QUERIES + row] = row_max[r] * scale + cute.math.log(total)
    store(tOrO, sQ, mO[batch, head, None, None], tile, copy_out, tiled_mma, tidx)


def quad_max(value):
    """The greatest of four lanes, which have a row of a tile together."""
    return cute.arch.warp_reduction(value, cute.arch.fmax, threads_in_group=4)


def rows_and_columns(acc):
    """Accumulators ((2 columns, 2 rows), tiles along M, tiles along N) as a matrix (rows, columns) of the thread."""
    (columns, rows), tiles_m, tiles_n = acc.shape
    (across, down), tile_m, tile_n = acc.stride
    layout = cute.make_layout(((rows, tiles_m), (columns, tiles_n)), stride=((down, tile_m), (across, tile_n)))
    return cute.make_tensor(acc.iterator, layout)


def as_operand_A(acc):
    """Accumulators of 16 x 8 as operands of 16 x 16: two neighbours along N are one step along K."""
    two_by_two, tiles_m, tiles_n = cute.logical_divide(acc.layout, (None, None, 2))
    pair, steps = tiles_n
    layout = cute.append(cute.append(cute.flatten(cute.append(two_by_two, pair)), tiles_m), steps)
    return cute.make_tensor(acc.iterator, cute.group_modes(layout, 0, 3))


def store(tOrO, sO, tensor, tile, copy_out, tiled_mma, tidx):
    """Rounded sums to rows of O, through the shared memory of Q: there, a thread finds 16 bytes of a row.

    All threads have read Q, for they have waited for the last block of V since.
    """
    dtype, shape = tensor.element_type, cute.product_each(sO.shape)
    pairs = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=32)
    tiled_copy = cute.make_tiled_copy_C(pairs, tiled_mma)
    rounded = cute.make_fragment_like(tOrO, dtype)
    rounded.store(tOrO.load().to(dtype))
    cute.copy(tiled_copy, tiled_copy.retile(rounded), tiled_copy.get_slice(tidx).partition_D(sO))
    cute.arch.sync_threads()
    thr_copy = copy_out.get_slice(tidx)
    src, dst = thr_copy.partition_S(sO), thr_copy.partition_D(cute.local_tile(tensor, shape, (tile, 0)))
    at = thr_copy.partition_D(cute.local_tile(cute.make_identity_tensor(tensor.shape), shape, (tile, 0)))
    exists = cute.make_rmem_tensor(cute.make_layout((1, *dst.shape[1:]), stride=(0, 1, 0)), cutlass.Boolean)
    for i in cutlass.range_constexpr(dst.shape[1]):
        exists[0, i, 0] = at[0, i, 0][0] < tensor.shape[0]
    cute.copy(copy_out, src, dst, pred=exists)


@cute.jit
def attention(
    mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor, mL: cute.Tensor, scale: cutlass.Float32,
    is_causal: cutlass.Constexpr[bool],
):  # fmt: skip
    dtype, depth = mQ.element_type, mQ.shape[3]
    if depth not in (64, 128):
        raise ValueError(f"attention: mQ has D = {depth}; expected 64 or 128, known while tracing")
    atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    sQ_layout, sK_layout = (cute.tile_to_shape(atom, (extent, depth), (0, 1)) for extent in (QUERIES, KEYS))
    warps = depth // 16  # so a thread has 64 sums of O
    threads, values = cute.make_layout((4 * warps, 8), stride=(8, 1)), cute.make_layout((1, 8))
    cpasync = cute.nvgpu.cpasync
    copy_in, copy_out = (
        cute.make_tiled_copy_tv(cute.make_copy_atom(op, dtype, num_bits_per_copy=128), threads, values)
        for op in (cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL), cute.nvgpu.CopyUniversalOp())
    )
    op = cute.nvgpu.warp.MmaF16BF16Op(dtype, cutlass.Float32, (16, 8, 16))
    # Two atoms side by side along N: ldmatrix reads 16 rows of B at once.
    tiled_mma = cute.make_tiled_mma(op, (warps, 1, 1), permutation_mnk=(16 * warps, 16, 16))
    batches, heads, queries, _ = mQ.shape
    attention_kernel(mQ, mK, mV, mO, mL, scale, is_causal, sQ_layout, sK_layout, copy_in, copy_out, tiled_mma).launch(
        grid=[cute.ceil_div(queries, QUERIES), heads, batches], block=[32 * warps, 1, 1]
    )


def reference(q, k, v, scale, is_causal):
    """O and L in float64, from the matrix of scores."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = scale * q @ k.mT
    if is_causal:
        scores += torch.full(scores.shape[2:], -math.inf, device=q.device).triu(1)
    return scores.softmax(-1) @ v, scores.logsumexp(-1)


# dtype, batches, heads, heads of keys, queries, keys, depth, causal
CASES = (
    (torch.bfloat16, 1, 2, 2, 256, 256, 64, False),
    (torch.bfloat16, 1, 2, 1, 200, 200, 128, True),
    (torch.float16, 2, 2, 1, 77, 150, 64, True),
    (torch.float16, 1, 1, 1, 130, 1, 128, False),
)


def argument(tensor):
    """A tensor of which all but the last extent may be another at a later call of what was compiled."""
    made = cute.runtime.from_dlpack(tensor, assumed_align=16)
    for mode in range(3):
        made.mark_compact_shape_dynamic(mode, stride_order=tensor.dim_order())
    return made


def problem(device: str):
    """A small one."""
    q, k, v, o = (torch.randn(1, 2, 256, 64, device=device).bfloat16() for _ in range(4))
    return attention, *map(argument, (q, k, v, o, torch.empty(1, 2, 256, device=device))), 0.125, True


def check(device: str) -> None:
    for dtype, batches, heads, key_heads, queries, keys, depth, is_causal in CASES:
        q = torch.randn(batches, heads, queries, depth, device=device).to(dtype)
        k, v = (torch.randn(batches, key_heads, keys, depth, device=device).to(dtype) for _ in range(2))
        o, lse = torch.full_like(q, math.nan), torch.full(q.shape[:3], math.nan, device=device)
        scale = depth**-0.5
        attention(*map(argument, (q, k, v, o, lse)), scale, is_causal)
        expected, expected_lse = reference(q, k, v, scale, is_causal)
        torch.testing.assert_close(o, expected.to(dtype), rtol=2e-2, atol=4e-3)
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
