"""A GEMM of bf16 or fp16 by wgmma: cp.async fills swizzled stages, and the tensor cores read shared memory themselves.

What to learn: two warpgroups share a tile of C; each has 64 of its rows at a time. The layouts of A and B in shared
memory are those that a descriptor of wgmma says (make_smem_layout_a), and slicing one by step and stage moves the
descriptor. A group of instructions owns its accumulators and reads its stage until wait_group has let it finish, so a
stage is filled again two steps later. Extents are multiples of the tile's; gemm_mma_sync shows any.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync, warpgroup
from tilewright.utils import LayoutEnum, hopper_helpers

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # 64 rows of a stage of A, where A lies along K
TILE, STAGES = (128, 128, 64), 4
WARPGROUPS = 2
THREADS = 128 * WARPGROUPS
VECTOR = 8  # elements of 16 bits that cp.async moves


@cute.kernel
def gemm_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout,
    copy_A: cute.TiledCopy, copy_B: cute.TiledCopy, tiled_mma: cute.TiledMma,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    cta_coord = (bidx, bidy, None)
    storage = cutlass.utils.SmemAllocator()
    sA = storage.allocate_tensor(mA.element_type, sA_layout, 1024)
    sB = storage.allocate_tensor(mB.element_type, sB_layout, 1024)
    sides = []
    for tensor, shared, tiled_copy, proj in ((mA, sA, copy_A, (1, None, 1)), (mB, sB, copy_B, (None, 1, 1))):
        thr_copy = tiled_copy.get_slice(tidx)
        tiles = cute.local_tile(tensor, TILE, cta_coord, proj)
        sides.append((tiled_copy, thr_copy.partition_S(tiles), thr_copy.partition_D(shared)))
    tiles = cute.size(mA, mode=[1]) // TILE[2]

    def load(tile):
        """Begin to copy a tile of A and of B into its stage."""
        if tile < tiles:
            for tiled_copy, src, dst in sides:
                cute.copy(tiled_copy, src[None, None, None, tile], dst[None, None, None, tile % STAGES])
        cute.arch.cp_async_commit_group()

    # The warpgroup, one number for all of its threads: so the descriptors are uniform.
    group = cute.arch.make_warp_uniform(tidx // 128)
    thr_mma = tiled_mma.get_slice(group * 128)
    tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))
    tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB))
    tCrC = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE[:2]))
    tCrC.fill(0.0)

    load(0)
    load(1)
    for tile in cutlass.range(tiles, unroll=1):
        cute.arch.cp_async_wait_group(1)
        cute.arch.fence_proxy("async.shared", space="cta")  # wgmma reads what cp.async has written
        cute.arch.sync_threads()  # it is there for all, and all have done with the tile of two steps before
        load(tile + 2)
        warpgroup.fence()
        stage = (None, None, None, tile % STAGES)
        cute.gemm(tiled_mma, tCrC, tCrA[stage], tCrB[stage], tCrC)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
    warpgroup.wait_group(0)

    tCgC = tiled_mma.get_slice(tidx).partition_C(cute.local_tile(mC, TILE, cta_coord, proj=(1, 1, None)))
    rounded = cute.make_fragment_like(tCrC, mC.element_type)
    rounded.store(tCrC.load().to(mC.element_type))
    cute.autovec_copy(rounded, tCgC)


def operand(tensor, extent):
    """How the stages of an operand lie, and who copies what: neighbours along the mode in which it is contiguous."""
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), tensor.element_type, num_bits_per_copy=128)
    if tensor.leading_dim == 1:
        along = TILE[2] // VECTOR
        threads, values = cute.make_layout((THREADS // along, along), stride=(along, 1)), (1, VECTOR)
    else:
        along = extent // VECTOR
        threads, values = cute.make_layout((along, THREADS // along)), (VECTOR, 1)
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout(values))


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    orders = [LayoutEnum.from_tensor(x) for x in (mA, mB)]
    sA_layout = hopper_helpers.make_smem_layout_a(orders[0], TILE, mA.element_type, STAGES)
    sB_layout = hopper_helpers.make_smem_layout_b(orders[1], TILE, mB.element_type, STAGES)
    tiled_mma = hopper_helpers.make_trivial_tiled_mma(
        mA.element_type, mB.element_type, *(x.sm90_mma_major_mode() for x in orders), cutlass.Float32,
        (WARPGROUPS, 1, 1), (64, TILE[1]),
    )  # fmt: skip
    copies = operand(mA, TILE[0]), operand(mB, TILE[1])
    gemm_kernel(mA, mB, mC, sA_layout, sB_layout, *copies, tiled_mma).launch(
        grid=[mC.shape[0] // TILE[0], mC.shape[1] // TILE[1], 1], block=[THREADS, 1, 1], min_blocks_per_mp=1
    )


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(256, 256, device=device).bfloat16() for _ in range(3))
    return gemm, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors)


def check(device: str) -> None:
    for dtype, m, n, k in ((torch.bfloat16, 256, 128, 320), (torch.float16, 128, 128, 64)):
        for along_k_A, along_k_B in ((False, False), (False, True), (True, False), (True, True)):
            a = torch.randn(m, k, device=device) if along_k_A else torch.randn(k, m, device=device).T
            b = torch.randn(n, k, device=device) if along_k_B else torch.randn(k, n, device=device).T
            a, b = a.to(dtype), b.to(dtype)
            c = torch.full((m, n), float("nan"), device=device, dtype=dtype)
            gemm(*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)))
            torch.testing.assert_close(c, (a.double() @ b.double().T).to(dtype), rtol=1e-2, atol=1e-3)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
