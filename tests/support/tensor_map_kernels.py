"""A kernel whose blocks put their own tensors into tensor maps, for the CPU and a GPU; it takes a defect to plant."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync, warpgroup
from tilewright.utils import TensorMapManager, TensorMapUpdateMode

ROWS, COLUMNS = 64, 64
ALONE = cute.make_layout(1)
LAYOUT = cute.tile_to_shape(
    warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16), (ROWS, COLUMNS), (0, 1)
)


def tensor_of(group, addresses, rows, strides):
    """Tensor (rows, columns) number `group`, of which memory says where it is."""
    pointer = cute.make_ptr(cutlass.Float16, addresses[group], cute.AddressSpace.gmem, assumed_align=16)
    return cute.make_tensor(pointer, cute.make_layout((rows[group], COLUMNS), stride=(strides[group], 1)))


@cute.kernel
def double_kernel(
    load: cute.CopyAtom, gX: cute.Tensor, store: cute.CopyAtom, gY: cute.Tensor, addresses: cute.Tensor,
    rows: cute.Tensor, strides: cute.Tensor, maps: cute.Tensor, mode: cutlass.Constexpr, defect: cutlass.Constexpr,
):  # fmt: skip
    """Block b takes the pairs of tensors b, b + blocks, ..: twice the first, up to (64, 64), goes to the second."""
    bidx, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    lane = cute.arch.lane_idx()
    smem = cutlass.utils.SmemAllocator()
    tile = smem.allocate_tensor(cutlass.Float16, LAYOUT.outer, 1024, LAYOUT.inner)
    changed = smem.allocate_array(cutlass.Int64, 32, 128)
    barrier = smem.allocate_array(cutlass.Int64)
    if lane == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    x, y = (cute.group_modes(cute.local_tile(each, (ROWS, COLUMNS), (0, 0)), 0, 2) for each in (gX, gY))
    tXs, tXg = cpasync.tma_partition(load, 0, ALONE, cute.group_modes(tile, 0, 2), x)
    tYs, tYg = cpasync.tma_partition(store, 0, ALONE, cute.group_modes(tile, 0, 2), y)
    manager = TensorMapManager(mode, 128)
    x_map = manager.get_tensormap_ptr(maps[bidx, 0, None].iterator)
    y_map = manager.get_tensormap_ptr(maps[bidx, 1, None].iterator)
    in_shared = cutlass.const_expr(mode is TensorMapUpdateMode.SMEM)
    x_init, y_init = (changed, changed + 16) if in_shared else (x_map, y_map)
    if cutlass.const_expr(defect != "no map"):
        manager.init_tensormap_from_atom(load, x_init, 0)
    manager.init_tensormap_from_atom(store, y_init, 0)
    manager.fence_tensormap_initialization()
    phase = cutlass.Int32(0)
    for group in range(bidx, addresses.shape[0], blocks):
        tensors = tuple(tensor_of(group, addresses[None, i], rows, strides[None, i]) for i in range(2))
        if cutlass.const_expr(defect in ("no release", "no sync_warp")):
            for tensor, atom, place in zip(tensors, (load, store), (x_init, y_init), strict=True):
                cpasync.update_tma_descriptor(atom, tensor, place)
            if cutlass.const_expr(in_shared):
                cpasync.cp_fence_tma_desc_release(x_map, x_init)
                cpasync.cp_fence_tma_desc_release(y_map, y_init)
            else:
                cute.arch.sync_warp()
        else:
            manager.update_tensormap(tensors, (load, store), (x_map, y_map), 0, (x_init, y_init))
        if cutlass.const_expr(defect != "no acquire"):
            manager.fence_tensormap_update(x_map)
            manager.fence_tensormap_update(y_map)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, ROWS * COLUMNS * 2)
        generic = cute.AddressSpace.generic
        cute.copy(load, tXg, tXs, tma_bar_ptr=barrier, tma_desc_ptr=manager.get_tensormap_ptr(x_map, generic))
        cute.arch.mbarrier_wait(barrier, phase)
        phase ^= 1
        for i in range(lane, ROWS * COLUMNS, 32):
            at = i // COLUMNS, i % COLUMNS
            tile[at] = tile[at] + tile[at]
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_warp()
        cute.copy(store, tYs, tYg, tma_desc_ptr=manager.get_tensormap_ptr(y_map, generic))
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.sync_warp()


@cute.jit
def double(
    x: cute.Tensor, y: cute.Tensor, addresses: cute.Tensor, rows: cute.Tensor, strides: cute.Tensor, maps: cute.Tensor,
    mode: cutlass.Constexpr, defect: cutlass.Constexpr,
):  # fmt: skip
    """Twice the tensors whose addresses, rows and strides are given; x and y stand for their elements and order."""
    load, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, LAYOUT, (ROWS, COLUMNS))
    store, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, LAYOUT, (ROWS, COLUMNS))
    double_kernel(load, gX, store, gY, addresses, rows, strides, maps, mode, defect).launch(
        grid=[maps.shape[0], 1, 1], block=[32, 1, 1]
    )
