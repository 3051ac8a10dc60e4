"""A GEMM of bf16 or fp16 by mma.sync: cp.async fills swizzled stages, ldmatrix reads fragments, a warp multiplies.

What to learn: which thread has which element is said by layouts alone, those of the instructions. A tiled copy that is
made of a tiled multiplication (make_tiled_copy_A) reads what the multiplication wants by the instruction that suits
shared memory, and retile shows both the same registers. C (M, N) = A (M, K) B (N, K)^T is summed in fp32. A and B are
contiguous along either mode, C along N, and extents are any.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "S<2,3,3> o 0 o ((8,2),32):((32,256),1)"  # 16 rows of a tile of A, where A lies along K
TILE, STAGES = (128, 256, 32), 4
WARPS = (2, 4, 1)  # of a block, along M, N, K: each has 64 x 64 of C's tile
THREADS = 32 * WARPS[0] * WARPS[1]
BAND = 16  # tiles along M that blocks take before those of the next column: they share B, and all of them A
PAD = 8  # elements between rows of C's tile in shared memory, so that its rows begin in different banks


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout,
    copy_A: cute.TiledCopy, copy_B: cute.TiledCopy, copy_C: cute.TiledCopy, tiled_mma: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    tile_m, tile_n = place(mC)
    cta_coord = (tile_m, tile_n, None)
    storage = cutlass.utils.SmemAllocator()

    def operand(tensor, layout, tiled_copy, proj):
        """Its stages in shared memory, and what starts to copy a tile into one, with zeros for what does not exist."""
        shared = storage.allocate_tensor(tensor.element_type, layout, 1024)
        thr_copy = tiled_copy.get_slice(tidx)
        src = thr_copy.partition_S(cute.local_tile(tensor, TILE, cta_coord, proj))
        at = thr_copy.partition_S(cute.local_tile(cute.make_identity_tensor(tensor.shape), TILE, cta_coord, proj))
        dst = thr_copy.partition_D(shared)

        def load(tile, stage):
            exists = cute.make_rmem_tensor((1, *dst.shape[1:3]), cutlass.Boolean)
            if cutlass.const_expr(is_covered(tensor, layout)):
                exists.fill(tile < tensor.shape[1] // TILE[2])
            else:
                for i in cutlass.range_constexpr(cute.size(exists, mode=[1])):
                    for j in cutlass.range_constexpr(cute.size(exists, mode=[2])):
                        exists[0, i, j] = cute.elem_less(at[0, i, j, tile], tensor.shape)
            if cutlass.const_expr(isinstance(tiled_copy.op, cute.nvgpu.cpasync.CopyG2SOp)):
                cute.copy(tiled_copy, src[None, None, None, tile], dst[None, None, None, stage], pred=exists)
            else:  # single elements of 2 bytes go through registers
                held = cute.make_fragment_like(dst[None, None, None, 0], tensor.element_type)
                held.fill(0)
                cute.copy(tiled_copy, src[None, None, None, tile], held, pred=exists)
                cute.copy(tiled_copy, held, dst[None, None, None, stage])

        return shared, load

    sA, load_A = operand(mA, sA_layout, copy_A, (1, None, 1))
    sB, load_B = operand(mB, sB_layout, copy_B, (None, 1, 1))

    def load(tile, stage):
        load_A(tile, stage)
        load_B(tile, stage)
        cute.arch.cp_async_commit_group()

    def wait_for_the_next_tile():
        """It is there for all threads, and all have read the one before, whose stage may be filled again."""
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()

    thr_mma = tiled_mma.get_slice(tidx)
    tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA)[None, None, None, 0])
    tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB)[None, None, None, 0])
    tCrC = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE[:2]))
    tCrC.fill(0.0)

    def fragments(tensor, shared, registers, make_tiled_copy):
        """What reads a step along K of a stage: ldmatrix, which transposes what does not lie along K."""
        op = cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose=tensor.leading_dim == 0, num_matrices=4)
        tiled_copy = make_tiled_copy(cute.make_copy_atom(op, tensor.element_type), tiled_mma)
        src, dst = tiled_copy.get_slice(tidx).partition_S(shared), tiled_copy.retile(registers)
        return lambda step, stage: cute.copy(tiled_copy, src[None, None, step, stage], dst[None, None, step])

    read_A = fragments(mA, sA, tCrA, cute.make_tiled_copy_A)
    read_B = fragments(mB, sB, tCrB, cute.make_tiled_copy_B)

    def read(step, stage):
        read_A(step, stage)
        read_B(step, stage)

    for stage in cutlass.range_constexpr(STAGES - 1):
        load(stage, stage)
    wait_for_the_next_tile()
    read(0, 0)
    stage, free = cutlass.Int32(0), cutlass.Int32(STAGES - 1)  # the one that is multiplied, the one that is filled
    steps = cute.size(tCrA, mode=[2])
    for tile in cutlass.range(cute.ceil_div(mA.shape[1], TILE[2]), unroll=1):
        for step in cutlass.range_constexpr(steps):
            if cutlass.const_expr(step == steps - 1):
                free = stage
                stage = stage + 1 if stage + 1 < STAGES else 0
                wait_for_the_next_tile()
            read((step + 1) % steps, stage)
            if cutlass.const_expr(step == 0):
                load(tile + (STAGES - 1), free)
            cute.gemm(tiled_mma, tCrC, tCrA[None, None, step], tCrB[None, None, step], tCrC)
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    store(tCrC, mC, cute.recast_ptr(sA.iterator, dtype=mC.element_type), cta_coord, copy_C, tiled_mma, tidx)


def place(mC):
    """Which tile of C a block has: bands of BAND rows of tiles, column by column, keep A and B in the L2 cache."""
    bidx, _, _ = cute.arch.block_idx()
    tiles_m, tiles_n = cute.ceil_div(mC.shape[0], TILE[0]), cute.ceil_div(mC.shape[1], TILE[1])
    band, inside = bidx // (BAND * tiles_n), bidx % (BAND * tiles_n)
    height = cutlass.min(tiles_m - band * BAND, BAND)
    return band * BAND + inside % height, inside // height


def store(tCrC, mC, memory, cta_coord, copy_C, tiled_mma, tidx):
    """Sums to C, through the shared memory that A and B no longer need: there, a thread finds neighbours of a row."""
    b_m, b_n, _ = TILE
    sC = cute.make_tensor(memory, cute.make_layout((b_m, b_n), stride=(b_n + PAD, 1)))
    pairs = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), mC.element_type, num_bits_per_copy=32)
    tiled_copy = cute.make_tiled_copy_C(pairs, tiled_mma)
    rounded = cute.make_fragment_like(tCrC, mC.element_type)
    rounded.store(tCrC.load().to(mC.element_type))
    cute.copy(tiled_copy, tiled_copy.retile(rounded), tiled_copy.get_slice(tidx).partition_D(sC))
    cute.arch.sync_threads()

    def tile(tensor):
        return cute.local_tile(tensor, TILE, cta_coord, proj=(1, 1, None))

    thr_copy = copy_C.get_slice(tidx)
    src, dst = thr_copy.partition_S(sC), thr_copy.partition_D(tile(mC))
    at = thr_copy.partition_D(tile(cute.make_identity_tensor(mC.shape)))
    exists = cute.make_rmem_tensor((1, *dst.shape[1:]), cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(exists, mode=[1])):
        for j in cutlass.range_constexpr(cute.size(exists, mode=[2])):
            exists[0, i, j] = cute.elem_less(at[0, i, j], mC.shape)
    cute.copy(copy_C, src, dst, pred=exists)


def is_covered(tensor, layout):
    """Whether tiles of such a layout divide the extents: then all of one exists, or all of it lies behind K."""
    rows, depth = tensor.shape
    return cute.is_static(tensor.layout) and rows % cute.size(layout, mode=[0]) == depth % TILE[2] == 0


def vector_of(tensor, most=8):
    """How many neighbours are moved at once: all of them exist, and their address is a multiple of their bytes."""
    along = tensor.leading_dim
    if not cute.is_static(tensor.layout):
        return 1
    vector, width = most, tensor.element_type.width // 8
    while (
        tensor.shape[along] % vector
        or tensor.stride[1 - along] % vector
        or tensor.iterator.alignment % (vector * width)
    ):
        vector //= 2
    return vector


def plan(tensor, extent):
    """How an operand's tiles (extent, K, stage) lie in shared memory, and who copies what of them."""
    depth, cpasync, vector = TILE[2], cute.nvgpu.cpasync, vector_of(tensor)
    if tensor.leading_dim == 1:
        atom = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
        threads = cute.make_layout((THREADS * vector // depth, depth // vector), stride=(depth // vector, 1))
        values = cute.make_layout((1, vector))
    else:
        atom = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((64, 8)))
        across = min(extent // vector, THREADS)
        threads, values = cute.make_layout((across, THREADS // across)), cute.make_layout((vector, 1))
    layout = cute.tile_to_shape(atom, (extent, depth, STAGES), (0, 1, 2))
    bits = vector * tensor.element_type.width
    op = cute.nvgpu.CopyUniversalOp()  # cp.async takes 4, 8 or 16 bytes
    if bits >= 32:
        op = cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL if bits == 128 else cpasync.LoadCacheMode.ALWAYS)
    return layout, cute.make_tiled_copy_tv(
        cute.make_copy_atom(op, tensor.element_type, num_bits_per_copy=bits), threads, values
    )


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    b_m, b_n, _ = TILE
    sA_layout, copy_A = plan(mA, b_m)
    sB_layout, copy_B = plan(mB, b_n)
    vector = vector_of(mC)
    atom = cute.make_copy_atom(
        cute.nvgpu.CopyUniversalOp(), mC.element_type, num_bits_per_copy=vector * mC.element_type.width
    )
    across = min(b_n // vector, THREADS)
    copy_C = cute.make_tiled_copy_tv(
        atom, cute.make_layout((THREADS // across, across), stride=(across, 1)), cute.make_layout((1, vector))
    )
    op = cute.nvgpu.warp.MmaF16BF16Op(mA.element_type, cutlass.Float32, (16, 8, 16))
    # Two atoms of a warp side by side along N: ldmatrix reads 16 rows of B at once.
    tiled_mma = cute.make_tiled_mma(op, WARPS, permutation_mnk=(16 * WARPS[0], 16 * WARPS[1], 16))
    tiles = cute.ceil_div(mC.shape[0], b_m) * cute.ceil_div(mC.shape[1], b_n)
    gemm_kernel(mA, mB, mC, sA_layout, sB_layout, copy_A, copy_B, copy_C, tiled_mma).launch(
        grid=[tiles, 1, 1], block=[THREADS, 1, 1], min_blocks_per_mp=1
    )


CASES = (
    (torch.bfloat16, 72, 72, 168), (torch.float16, 136, 264, 40), (torch.bfloat16, 131, 67, 13),
    (torch.bfloat16, 128, 256, 64),
)  # fmt: skip


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(256, 256, device=device).bfloat16() for _ in range(3))
    return gemm, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors)


def check(device: str) -> None:
    for dtype, m, n, k in CASES:
        for along_k_A, along_k_B in ((False, False), (False, True), (True, False), (True, True)):
            a = torch.randn(m, k, device=device) if along_k_A else torch.randn(k, m, device=device).T
            b = torch.randn(n, k, device=device) if along_k_B else torch.randn(k, n, device=device).T
            a, b = a.to(dtype), b.to(dtype)
            c = torch.full((m, n), float("nan"), device=device, dtype=dtype)
            gemm(*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)))
            torch.testing.assert_close(c, (a.double() @ b.double().T).to(dtype), rtol=1e-2, atol=1e-3)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
