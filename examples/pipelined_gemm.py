"""A GEMM by FMA in which nothing waits: copies run whole tiles ahead of the products, fragments one step ahead.

What to learn: a loop hides its loads where each round loads what a later round multiplies. Shared memory has STAGES
tiles, of which one is multiplied while cp.async brings the others; registers have the fragments of this step along K
and of the next. C (M, N) = A (M, K) B (N, K)^T, with A and B contiguous along either mode, of any extents.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "(128,8):(1,132)"  # a tile of A in shared memory, where A lies along K
TILE, STAGES = (128, 128, 8), 3
THREADS, BLOCKS = 128, 0  # of a block; on a multiprocessor, at least
# A warp has 64 x 64 of C's tile, a lane 8 x 16: four neighbours at a time, which are 16 bytes of shared memory.
ATOMS = cute.make_layout(((8, 2), (2, 2, 2), 1), stride=((2, 32), (1, 16, 64), 0))
ROWS = cute.make_layout(((8, 2), (4, 2)), stride=((4, 64), (1, 32)))
COLUMNS = cute.make_layout(((4, 2), (4, 4)), stride=((4, 64), (1, 16)))


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, sA_layout: cute.Layout, sB_layout: cute.Layout,
    tiled_copy_A: cute.TiledCopy, tiled_copy_B: cute.TiledCopy, tiled_mma: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    cta_coord = (bidx, bidy, None)
    storage = cutlass.utils.SmemAllocator()

    def operand(tensor, layout, tiled_copy, proj):
        """Its stages in shared memory, and what starts to copy a tile into one, with zeros for what does not exist."""
        shared = storage.allocate_tensor(tensor.element_type, layout, 16)
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
            cute.copy(tiled_copy, src[None, None, None, tile], dst[None, None, None, stage], pred=exists)

        return shared, load

    sA, load_A = operand(mA, sA_layout, tiled_copy_A, (1, None, 1))
    sB, load_B = operand(mB, sB_layout, tiled_copy_B, (None, 1, 1))

    def load(tile, stage):
        load_A(tile, stage)
        load_B(tile, stage)
        cute.arch.cp_async_commit_group()

    def wait_for_the_next_tile():
        """It is there for all threads, and all have read the one before, whose stage may be filled again."""
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()

    thr_mma = tiled_mma.get_slice(tidx)
    tCsA, tCsB = thr_mma.partition_A(sA), thr_mma.partition_B(sB)
    tCgC = thr_mma.partition_C(cute.local_tile(mC, TILE, cta_coord, proj=(1, 1, None)))
    tCrA = tiled_mma.make_fragment_A(tCsA[None, None, None, 0])
    tCrB = tiled_mma.make_fragment_B(tCsB[None, None, None, 0])
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)

    def read(step, stage):
        cute.autovec_copy(tCsB[None, None, step, stage], tCrB[None, None, step])
        cute.autovec_copy(tCsA[None, None, step, stage], tCrA[None, None, step])

    for stage in cutlass.range_constexpr(STAGES - 1):
        load(stage, stage)
    wait_for_the_next_tile()
    read(0, 0)
    stage, free = cutlass.Int32(0), cutlass.Int32(STAGES - 1)  # the one that is multiplied, the one that is filled
    steps = TILE[2]
    for tile in cutlass.range(cute.ceil_div(mA.shape[1], steps)):
        load(tile + (STAGES - 1), free)
        for step in cutlass.range_constexpr(steps):
            if cutlass.const_expr(step == steps - 1):
                free = stage
                stage = stage + 1 if stage + 1 < STAGES else 0
                wait_for_the_next_tile()
            read((step + 1) % steps, stage)
            cute.gemm(tiled_mma, tCrC, tCrA[None, None, step], tCrB[None, None, step], tCrC)

    cC = cute.local_tile(cute.make_identity_tensor(mC.shape), TILE, cta_coord, proj=(1, 1, None))
    # What one access stores lies in neighbouring registers, even and odd ones in turn. If these were the sums, an FMA
    # would often read a sum and a factor from the same bank; so they are results of an addition.
    vectors = (1, 1, neighbours(mC, 1))
    at, sums, to = (cute.zipped_divide(x, vectors) for x in (thr_mma.partition_C(cC), tCrC, tCgC))
    for i in cutlass.range(cute.size(sums, mode=[1]), unroll_full=True):
        if cute.elem_less(at[0, i], mC.shape):
            to[None, i].store(sums[None, i].load() + 0.0)


def is_covered(tensor, layout):
    """Whether tiles of such a layout divide the extents: then all of one exists, or all of it lies behind K."""
    rows, depth = tensor.shape
    return cute.is_static(tensor.layout) and rows % cute.size(layout, mode=[0]) == depth % TILE[2] == 0


def neighbours(tensor, mode):
    """How many elements along a mode make an access of 16 bytes: 4, or 1 where they may not be there or not aligned."""
    if not cute.is_static(tensor.layout) or tensor.stride[mode] != 1 or tensor.iterator.alignment % 16 != 0:
        return 1
    return 4 if tensor.shape[mode] % 4 == tensor.stride[1 - mode] % 4 == 0 else 1


def plan(tensor, extent):
    """How an operand's tiles (extent, K, stage) lie in shared memory, and who copies what of them."""
    steps, cpasync = TILE[2], cute.nvgpu.cpasync
    if tensor.leading_dim == 1:  # neighbours along K go to rows of their own; padding puts these into different banks
        layout = cute.make_layout((extent, steps, STAGES), stride=(1, extent + 4, (extent + 4) * steps))
        threads, vector = cute.make_layout((THREADS // steps, steps), stride=(steps, 1)), 1
    else:
        layout = cute.make_layout((extent, steps, STAGES))
        vector = neighbours(tensor, 0)
        threads = cute.make_layout((extent // vector, THREADS * vector // extent))
    op = cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL if vector == 4 else cpasync.LoadCacheMode.ALWAYS)
    atom = cute.make_copy_atom(op, tensor.element_type, num_bits_per_copy=vector * tensor.element_type.width)
    return layout, cute.make_tiled_copy_tv(atom, threads, cute.make_layout((vector, 1)))


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    b_m, b_n, _ = TILE
    sA_layout, tiled_copy_A = plan(mA, b_m)
    sB_layout, tiled_copy_B = plan(mB, b_n)
    tiled_mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32), ATOMS, (ROWS, COLUMNS, None))
    gemm_kernel(mA, mB, mC, sA_layout, sB_layout, tiled_copy_A, tiled_copy_B, tiled_mma).launch(
        grid=[cute.ceil_div(mC.shape[0], b_m), cute.ceil_div(mC.shape[1], b_n), 1], block=[THREADS, 1, 1],
        min_blocks_per_mp=BLOCKS,
    )  # fmt: skip


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(128, 128, device=device) for _ in range(3))
    return gemm, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors)


def check(device: str) -> None:
    for m, n, k in ((128, 128, 32), (132, 20, 40), (131, 67, 13)):
        for along_k_A, along_k_B in ((False, False), (False, True), (True, False), (True, True)):
            a = torch.randn(m, k, device=device) if along_k_A else torch.randn(k, m, device=device).T
            b = torch.randn(n, k, device=device) if along_k_B else torch.randn(k, n, device=device).T
            c = torch.full((m, n), float("nan"), device=device)
            gemm(*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)))
            torch.testing.assert_close(c, (a.double() @ b.double().T).float(), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
