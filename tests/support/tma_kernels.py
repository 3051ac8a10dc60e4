"""Kernels that copy by TMA, for the tests of the language on the CPU and on a GPU; each takes the defect to plant."""

from __future__ import annotations

import numpy as np

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync, warpgroup

Kind = warpgroup.SmemLayoutAtomKind
ALONE = cute.make_layout(1)


def dynamic(array, leading=None):
    tensor = cute.from_dlpack(array, assumed_align=16)
    leading = int(np.argmin(array.strides)) if leading is None else leading
    return tensor.mark_layout_dynamic(leading_dim=leading)


def aligned(shape, dtype, order="C"):
    """An array at a multiple of 128 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 128, np.uint8)
    start = -raw.ctypes.data % 128
    return raw[start : start + size].view(dtype).reshape(shape, order=order)


def numbers(shape, dtype=np.float16, order="C", seed=0):
    array = aligned(shape, dtype, order)
    array[...] = np.random.default_rng(seed).integers(-100, 100, shape)
    return array


# ---- a tile in and out, by the threads' own accesses on the other side ----


@cute.kernel
def load_kernel(
    atom: cute.CopyAtom, gX: cute.Tensor, y: cute.Tensor, layout: cutlass.Constexpr, tile: cutlass.Constexpr
):
    """Y gets the tiles one after the other, whole, as they lie in shared memory by its layout."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    shared = smem.allocate_tensor(y.element_type, layout, 1024)
    barrier = smem.allocate_array(cutlass.Int64)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    x = cute.local_tile(gX, tile, (bidx, bidy))
    tXs, tXg = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(shared, 0, 2), cute.group_modes(x, 0, 2))
    if cute.arch.warp_idx() == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, cute.size_in_bytes(y.element_type, layout))
        cute.copy(atom, tXg, tXs, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    rows = tile[0]
    for i in range(tidx, rows * tile[1], 64):
        y[bidx * rows + i % rows, bidy * tile[1] + i // rows] = shared[i % rows, i // rows]


@cute.jit
def run_load(x: cute.Tensor, y: cute.Tensor, layout: cutlass.Constexpr, tile: cutlass.Constexpr):
    atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, tile)
    grid = cute.ceil_div(x.shape, tile)
    load_kernel(atom, gX, y, layout, tile).launch(grid=[grid[0], grid[1], 1], block=[64, 1, 1])


LAYOUTS = {
    "plain": lambda tile, t: cute.make_ordered_layout(tile, order=(1, 0)),
    "none": lambda tile, t: cute.tile_to_shape(warpgroup.make_smem_layout_atom(Kind.K_INTER, t), tile, (0, 1)),
    "32": lambda tile, t: cute.tile_to_shape(warpgroup.make_smem_layout_atom(Kind.K_SW32, t), tile, (0, 1)),
    "64": lambda tile, t: cute.tile_to_shape(warpgroup.make_smem_layout_atom(Kind.K_SW64, t), tile, (0, 1)),
    "128": lambda tile, t: cute.tile_to_shape(warpgroup.make_smem_layout_atom(Kind.K_SW128, t), tile, (0, 1)),
    "mn 128": lambda tile, t: cute.tile_to_shape(warpgroup.make_smem_layout_atom(Kind.MN_SW128, t), tile, (0, 1)),
    "mn 64": lambda tile, t: cute.tile_to_shape(warpgroup.make_smem_layout_atom(Kind.MN_SW64, t), tile, (0, 1)),
}


def padded(x, tile):
    rows, columns = (-(-extent // by) * by for extent, by in zip(x.shape, tile, strict=True))
    whole = np.zeros((rows, columns), x.dtype)
    whole[: x.shape[0], : x.shape[1]] = x
    return whole


@cute.kernel
def store_kernel(
    atom: cute.CopyAtom, gY: cute.Tensor, x: cute.Tensor, layout: cutlass.Constexpr, tile: cutlass.Constexpr,
    defect: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(x.element_type, layout, 1024)
    y = cute.local_tile(gY, tile, (bidx, bidy))
    tYs, tYg = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(shared, 0, 2), cute.group_modes(y, 0, 2))
    for turn in cutlass.range_constexpr(2):
        for i in range(tidx, tile[0] * tile[1], 64):
            row, column = bidx * tile[0] + i % tile[0], bidy * tile[1] + i // tile[0]
            shared[i % tile[0], i // tile[0]] = x[row, column] + x.element_type(turn)  # write
        if defect != "no fence":
            cute.arch.fence_proxy("async.shared", space="cta")
        if defect != "no barrier":
            cute.arch.sync_threads()
        if cute.arch.warp_idx() == 0:
            cute.copy(atom, tYs, tYg)  # store
            if defect != "no commit":
                cute.arch.cp_async_bulk_commit_group()
            if defect != "no wait":
                cute.arch.cp_async_bulk_wait_group(0, read=turn == 1)
        cute.arch.sync_threads()


@cute.jit
def run_store(
    x: cute.Tensor, y: cute.Tensor, layout: cutlass.Constexpr, tile: cutlass.Constexpr, op: cutlass.Constexpr = None,
    defect: cutlass.Constexpr = None,
):  # fmt: skip
    atom, gY = cpasync.make_tiled_tma_atom(op or cpasync.CopyBulkTensorTileS2GOp(), y, layout, tile)
    grid = cute.ceil_div(y.shape, tile)
    store_kernel(atom, gY, x, layout, tile, defect).launch(grid=[grid[0], grid[1], 1], block=[64, 1, 1])


@cute.kernel
def stages_kernel(
    atom: cute.CopyAtom, gX: cute.Tensor, y: cute.Tensor, layout: cutlass.Constexpr, defect: cutlass.Constexpr
):
    """A producer warp fills two stages in turn, a consumer warp adds the tiles up."""
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    shared = smem.allocate_tensor(cutlass.Float32, layout, 1024)
    full = smem.allocate_array(cutlass.Int64, 2)
    empty = smem.allocate_array(cutlass.Int64, 2)
    if tidx == 0:
        for i in range(2):
            cute.arch.mbarrier_init(full + i, 1)
            cute.arch.mbarrier_init(empty + i, 1)
        if defect != "no init fence":
            cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    x = cute.local_tile(gX, (8, 32), (0, None))
    tXs, tXg = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(shared, 0, 2), cute.group_modes(x, 0, 2))
    tiles = cute.size(gX, mode=[1]) // 32
    if cute.arch.warp_idx() == 0:
        for i in range(tiles):
            if defect != "refill":
                cute.arch.mbarrier_wait(empty + i % 2, (i // 2 + 1) % 2)
            if defect != "no expect":
                with cute.arch.elect_one():
                    bytes_ = {"too many": 2048, "too few": 512}.get(defect, 1024)
                    cute.arch.mbarrier_arrive_and_expect_tx(full + i % 2, bytes_)  # expect
            cute.copy(atom, tXg[None, i], tXs[None, i % 2], tma_bar_ptr=full + i % 2)  # load
    else:
        lane = cute.arch.lane_idx()
        total = cutlass.Float32(0)
        for i in range(tiles):
            if defect != "no wait":
                cute.arch.mbarrier_wait(full + i % 2, (i // 2 + (defect == "phase")) % 2)  # wait
            for row in range(8):
                total += shared[row, lane, i % 2]  # read
            cute.arch.sync_warp()
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive(empty + i % 2)
        y[lane] = total


@cute.jit
def run_stages(x: cute.Tensor, y: cute.Tensor, defect: cutlass.Constexpr = None):
    layout = cute.make_ordered_layout((8, 32, 2), order=(1, 0, 2))
    one = cute.make_ordered_layout((8, 32), order=(1, 0))
    atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, one, (8, 32))
    stages_kernel(atom, gX, y, layout, defect).launch(block=[64, 1, 1])


@cute.kernel
def multicast_kernel(
    atom: cute.CopyAtom, gX: cute.Tensor, y: cute.Tensor, layout: cutlass.Constexpr, ctas: cutlass.Constexpr,
    defect: cutlass.Constexpr,
):  # fmt: skip
    """All CTAs of a cluster get the same tile, of which each loads a part."""
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    smem = cutlass.utils.SmemAllocator()
    shared = smem.allocate_tensor(cutlass.Float16, layout, 1024)
    barrier = smem.allocate_array(cutlass.Int64)
    if tidx == 0:
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 64 * 64 * 2)
    cute.arch.mbarrier_init_fence()
    if defect != "no cluster":
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    x = cute.local_tile(gX, (64, 64), (bidx // ctas, 0))
    tXs, tXg = cpasync.tma_partition(
        atom, rank, cute.make_layout(ctas), cute.group_modes(shared, 0, 2), cute.group_modes(x, 0, 2)
    )
    cute.copy(atom, tXg, tXs, tma_bar_ptr=barrier, mcast_mask=(1 << ctas) - 1)  # load
    if not (defect == "early" and rank == 1):
        cute.arch.mbarrier_wait(barrier, 0)
        for i in range(tidx, 64 * 64, 32):
            y[i % 64, i // 64, bidx] = shared[i % 64, i // 64]


@cute.jit
def run_multicast(x: cute.Tensor, y: cute.Tensor, ctas: cutlass.Constexpr, defect: cutlass.Constexpr = None):
    layout = LAYOUTS["128"]((64, 64), cutlass.Float16)
    atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SMulticastOp(), x, layout, (64, 64), ctas)
    grid = [x.shape[0] // 64 * ctas, 1, 1]
    multicast_kernel(atom, gX, y, layout, ctas, defect).launch(grid=grid, block=[32, 1, 1], cluster=[ctas, 1, 1])
