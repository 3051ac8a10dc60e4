"""A copy of a matrix by TMA: each CTA brings a tile to shared memory, and stores it from there.

What to learn: the host function describes the matrices to the copy engine by tensor maps, one warp asks for a tile, and
an mbarrier counts its bytes as they arrive. What lies outside of the matrix comes as zeros and is not stored, so that
extents need not be multiples of the tile's.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync, warpgroup

PICTURE = "S<3,3,3> o 0 o ((8,1),64):((64,512),1)"  # 8 rows of the tile in shared memory
TILE = (64, 64)


@cute.kernel
def copy_tiles(
    load: cute.CopyAtom, gX: cute.Tensor, store: cute.CopyAtom, gY: cute.Tensor, smem_layout: cute.ComposedLayout
):
    bidx, bidy, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float16, smem_layout, byte_alignment=1024)
    barrier = smem.allocate_array(cutlass.Int64)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_warp()

    x = cute.local_tile(gX, TILE, (bidx, bidy))
    y = cute.local_tile(gY, TILE, (bidx, bidy))
    alone = cute.make_layout(1)  # no CTAs share a tile
    tXs, tXg = cpasync.tma_partition(load, 0, alone, cute.group_modes(tile, 0, 2), cute.group_modes(x, 0, 2))
    tYs, tYg = cpasync.tma_partition(store, 0, alone, cute.group_modes(tile, 0, 2), cute.group_modes(y, 0, 2))

    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, cute.size_in_bytes(cutlass.Float16, smem_layout))
    cute.copy(load, tXg, tXs, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)

    # The bytes came by the copy engine, which may store them as they are: no fence is needed.
    cute.copy(store, tYs, tYg)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def copy(x: cute.Tensor, y: cute.Tensor):
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    smem_layout = cute.tile_to_shape(atom, TILE, (0, 1))
    load, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, smem_layout, TILE)
    store, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, smem_layout, TILE)
    grid = cute.ceil_div(x.shape, TILE)
    copy_tiles(load, gX, store, gY, smem_layout).launch(grid=[grid[0], grid[1], 1], block=[32, 1, 1])


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(128, 128, device=device).half() for _ in range(2))
    return copy, *(cute.from_dlpack(x, assumed_align=16) for x in tensors)


def check(device="cuda"):
    for rows, columns in ((200, 136), (64, 64), (1, 8)):
        x = torch.randn(rows, columns, device=device).half()
        y = torch.full_like(x, -1)
        copy(*(cute.from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=1) for t in (x, y)))
        torch.testing.assert_close(y, x, rtol=0, atol=0)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
