"""The GEMM of the article "Honey, I Tiled the Tensors": tiles by cp.async, one stage, universal FMA.

What to learn: local_tile carves a block's tiles, partitions a thread's parts, and predicates made of coordinates guard
the edges. C (M, N) = A (M, K) B (N, K)^T, all with K or N innermost as the article has them.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "(128,8):(1,128)"
THREADS, TILE = 256, (128, 128, 8)
VECTOR = 4


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, sA_layout: cute.Layout, sB_layout: cute.Layout,
    tiled_copy_A: cute.TiledCopy, tiled_copy_B: cute.TiledCopy, tiled_mma: cute.TiledMma,
):  # fmt: skip
    b_m, b_n, _ = TILE
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    thr_mma = tiled_mma.get_slice(tidx)
    cta_coords = (bidx, bidy, None)
    gA = cute.local_tile(mA, TILE, cta_coords, proj=(1, None, 1))
    gB = cute.local_tile(mB, TILE, cta_coords, proj=(None, 1, 1))
    gC = cute.local_tile(mC, TILE, cta_coords, proj=(1, 1, None))
    cA = cute.local_tile(cute.make_identity_tensor(mA.shape), TILE, cta_coords, proj=(1, None, 1))
    cB = cute.local_tile(cute.make_identity_tensor(mB.shape), TILE, cta_coords, proj=(None, 1, 1))

    storage = cutlass.utils.SmemAllocator()
    sA = storage.allocate_tensor(mA.element_type, sA_layout, 16)
    sB = storage.allocate_tensor(mB.element_type, sB_layout, 16)
    thr_copy_A, thr_copy_B = tiled_copy_A.get_slice(tidx), tiled_copy_B.get_slice(tidx)
    tAgA, tAsA, tAcA = thr_copy_A.partition_S(gA), thr_copy_A.partition_D(sA), thr_copy_A.partition_S(cA)
    tBgB, tBsB, tBcB = thr_copy_B.partition_S(gB), thr_copy_B.partition_D(sB), thr_copy_B.partition_S(cB)
    tApA = cute.make_rmem_tensor((1, cute.size(tAsA, mode=[1]), cute.size(tAsA, mode=[2])), cutlass.Boolean)
    tBpB = cute.make_rmem_tensor((1, cute.size(tBsB, mode=[1]), cute.size(tBsB, mode=[2])), cutlass.Boolean)

    tCsA, tCsB = thr_mma.partition_A(sA), thr_mma.partition_B(sB)
    tCgC = thr_mma.partition_C(gC)
    tCrC = tiled_mma.make_fragment_C(tCgC)
    tCrC.fill(0.0)

    tAsA.fill(0)
    tBsB.fill(0)
    cute.arch.sync_threads()
    for k in range(cute.size(tAgA, mode=[3])):
        for i in cutlass.range_constexpr(cute.size(tApA, mode=[1])):
            for j in cutlass.range_constexpr(cute.size(tApA, mode=[2])):
                tApA[0, i, j] = cute.elem_less(tAcA[0, i, j, k], mA.shape)
        for i in cutlass.range_constexpr(cute.size(tBpB, mode=[1])):
            for j in cutlass.range_constexpr(cute.size(tBpB, mode=[2])):
                tBpB[0, i, j] = cute.elem_less(tBcB[0, i, j, k], mB.shape)
        cute.copy(tiled_copy_A, tAgA[None, None, None, k], tAsA, pred=tApA)
        cute.copy(tiled_copy_B, tBgB[None, None, None, k], tBsB, pred=tBpB)
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        cute.gemm(tiled_mma, tCrC, tCsA, tCsB, tCrC)
        cute.arch.sync_threads()

    tCpC = thr_mma.partition_C(cute.make_identity_tensor(gC.shape))
    predC = cute.make_rmem_tensor(tCrC.layout, cutlass.Boolean)
    residue_m = mC.shape[0] - b_m * bidx
    residue_n = mC.shape[1] - b_n * bidy
    for i in range(cute.size(tCrC.shape), unroll_full=True):
        predC[i] = cute.elem_less(tCpC[i], (residue_m, residue_n))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), mC.element_type)
    cute.copy(atom, tCrC, tCgC, pred=predC)


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    b_m, b_n, b_k = TILE
    dtype = mA.element_type
    sA_layout, sB_layout = cute.make_layout((b_m, b_k)), cute.make_layout((b_n, b_k))
    copy_atom_A = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), dtype, num_bits_per_copy=dtype.width)
    tA = cute.make_layout((THREADS // b_k, b_k), stride=(b_k, 1))
    tiled_copy_A = cute.make_tiled_copy_tv(copy_atom_A, tA, cute.make_layout((1, 1)))
    copy_atom_B = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), dtype, num_bits_per_copy=dtype.width * VECTOR)
    major_mode_size = b_n // VECTOR
    tB = cute.make_layout((major_mode_size, THREADS // major_mode_size), stride=(1, major_mode_size))
    tiled_copy_B = cute.make_tiled_copy_tv(copy_atom_B, tB, cute.make_layout((VECTOR, 1)))
    atoms_layout = cute.make_layout((THREADS // 16, 16, 1), stride=(16, 1, 0))
    tiled_mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32), atom_layout_mnk=atoms_layout)
    gemm_kernel(mA, mB, mC, sA_layout, sB_layout, tiled_copy_A, tiled_copy_B, tiled_mma).launch(
        grid=[cute.ceil_div(mC.shape[0], b_m), cute.ceil_div(mC.shape[1], b_n), 1], block=[THREADS, 1, 1]
    )


def problem(device: str):
    """A small one."""
    a, b, c = (torch.randn(*x, device=device) for x in ((128, 64), (64, 128), (128, 128)))
    return gemm, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b.T, c))


def check(device: str) -> None:
    for m, n, k in ((128, 128, 16), (150, 132, 20)):
        a = torch.randn(m, k, device=device)
        b = torch.randn(k, n, device=device).T  # (N, K), N innermost
        c = torch.full((m, n), float("nan"), device=device)
        tensors = [cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)]
        gemm(*tensors)
        torch.testing.assert_close(c, (a.double() @ b.double().T).float(), rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
