"""A GEMM by FMA in which nothing waits: cp.async runs tiles ahead of the products, fragments one step ahead.

What to learn: a loop hides its loads where each round loads what a later round multiplies. Shared memory has STAGES
tiles, of which one is multiplied while the others are under way; registers have the fragments of this step along K and
of the next. C (M, N) = A (M, K) B (N, K)^T, each in either order, of any extents.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "((8,2),(4,2),8):((4,64),(1,32),128)"  # (row, step along K) of A in shared memory, as threads read it
TILE, STAGES, THREADS = (128, 128, 8), 3, 128


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, sA_layout: cute.Layout, sB_layout: cute.Layout,
    tiled_copy_A: cute.TiledCopy, tiled_copy_B: cute.TiledCopy, tiled_mma: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    cta_coord = (bidx, bidy, None)
    storage = cutlass.utils.SmemAllocator()

    def loader(tensor, layout, tiled_copy, proj):
        """The stages of an operand, and a function that begins to load a tile into one: zeros outside of the tensor."""
        shared = storage.allocate_tensor(tensor.element_type, layout, 16)
        thr_copy = tiled_copy.get_slice(tidx)
        src = thr_copy.partition_S(cute.local_tile(tensor, TILE, cta_coord, proj))
        at = thr_copy.partition_S(cute.local_tile(cute.make_identity_tensor(tensor.shape), TILE, cta_coord, proj))
        dst = thr_copy.partition_D(shared)
        inside = cute.make_rmem_tensor((1, *dst.shape[1:3]), cutlass.Boolean)

        def load(tile, stage):
            for i in cutlass.range_constexpr(cute.size(inside, mode=[1])):
                for j in cutlass.range_constexpr(cute.size(inside, mode=[2])):
                    inside[0, i, j] = cute.elem_less(at[0, i, j, tile], tensor.shape)
            cute.copy(tiled_copy, src[None, None, None, tile], dst[None, None, None, stage], pred=inside)

        return shared, load

    sA, load_A = loader(mA, sA_layout, tiled_copy_A, (1, None, 1))
    sB, load_B = loader(mB, sB_layout, tiled_copy_B, (None, 1, 1))

    def load(tile, stage):
        load_A(tile, stage)
        load_B(tile, stage)
        cute.arch.cp_async_commit_group()

    def next_tile_is_there():
        """For all threads, and none of them reads the tile before any longer."""
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
    next_tile_is_there()
    read(0, 0)
    stage, free = cutlass.Int32(0), cutlass.Int32(STAGES - 1)  # the one that is multiplied, the one to load
    steps = TILE[2]
    for tile in cutlass.range(cute.ceil_div(mA.shape[1], steps)):
        load(tile + (STAGES - 1), free)
        for step in cutlass.range_constexpr(steps):
            if cutlass.const_expr(step == steps - 1):
                free = stage
                stage = stage + 1 if stage + 1 < STAGES else 0
                next_tile_is_there()
            read((step + 1) % steps, stage)
            cute.gemm(tiled_mma, tCrC, tCrA[None, None, step], tCrB[None, None, step], tCrC)

    tCcC = thr_mma.partition_C(
        cute.local_tile(cute.make_identity_tensor(mC.shape), TILE, cta_coord, proj=(1, 1, None))
    )
    for i in cutlass.range(cute.size(tCrC), unroll_full=True):
        if cute.elem_less(tCcC[i], mC.shape):
            tCgC[i] = tCrC[i]


def plan(tensor, extent: int):
    """How the tiles of an operand, (M or N, K, stage), lie in shared memory, and who copies which elements there."""
    steps, cpasync = TILE[2], cute.nvgpu.cpasync
    if tensor.leading_dim == 1:  # threads take neighbours along K to rows of their own, which padding spreads over banks
        layout = cute.make_layout((extent, steps, STAGES), stride=(1, extent + 4, (extent + 4) * steps))
        threads, vector = cute.make_layout((THREADS // steps, steps), stride=(steps, 1)), 1
    else:
        layout = cute.make_layout((extent, steps, STAGES))
        aligned = cute.is_static(tensor.layout) and tensor.shape[0] % 4 == tensor.stride[1] % 4 == 0
        vector = 4 if aligned and tensor.iterator.alignment % 16 == 0 else 1
        threads = cute.make_layout((extent // vector, THREADS * vector // extent))
    op = cpasync.CopyG2SOp(cpasync.LoadCacheMode.GLOBAL if vector == 4 else cpasync.LoadCacheMode.ALWAYS)
    atom = cute.make_copy_atom(op, tensor.element_type, num_bits_per_copy=vector * tensor.element_type.width)
    return layout, cute.make_tiled_copy_tv(atom, threads, cute.make_layout((vector, 1)))


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    b_m, b_n, _ = TILE
    sA_layout, tiled_copy_A = plan(mA, b_m)
    sB_layout, tiled_copy_B = plan(mB, b_n)
    # A warp has 64 x 64 of C, a lane 8 x 16: four neighbours at a time, so that it reads 16 bytes, and its neighbours the
    # same ones.
    atoms = cute.make_layout(((8, 2), (2, 2, 2), 1), stride=((2, 32), (1, 16, 64), 0))
    rows = cute.make_layout(((8, 2), (4, 2)), stride=((4, 64), (1, 32)))
    columns = cute.make_layout(((4, 2), (4, 4)), stride=((4, 64), (1, 16)))
    tiled_mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32), atoms, (rows, columns, None))
    gemm_kernel(mA, mB, mC, sA_layout, sB_layout, tiled_copy_A, tiled_copy_B, tiled_mma).launch(
        grid=[cute.ceil_div(mC.shape[0], b_m), cute.ceil_div(mC.shape[1], b_n), 1], block=[THREADS, 1, 1],
        min_blocks_per_mp=2,
    )  # fmt: skip


def check(device: str) -> None:
    for m, n, k in ((128, 128, 32), (132, 20, 40), (131, 67, 13)):
        for order_A, order_B in ((0, 0), (0, 1), (1, 0), (1, 1)):  # the mode that is contiguous
            a = torch.randn((k, m), device=device).T if order_A == 0 else torch.randn((m, k), device=device)
            b = torch.randn((k, n), device=device).T if order_B == 0 else torch.randn((n, k), device=device)
            c = torch.full((m, n), float("nan"), device=device)
            gemm(*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)))
            torch.testing.assert_close(c, (a.double() @ b.double().T).float(), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
