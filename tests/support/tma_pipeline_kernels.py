"""Kernels whose pipelines are filled and emptied by TMA; each takes the defect to plant."""

from __future__ import annotations

import tilewright as cutlass
from pipeline_kernels import group
from tilewright import cute
from tilewright.cute.nvgpu import cpasync
from tilewright.pipeline import NamedBarrier, PipelineTmaAsync, PipelineTmaStore
from tilewright.utils import PersistentTileSchedulerParams, StaticPersistentTileScheduler
from tma_kernels import LAYOUTS

TILE, STAGES, BUFFERS = (64, 64), 3, 2
WORKERS = 2  # warps, of which each thread has a row of a tile
ALONE = cute.make_layout(1)
BYTES = 64 * 64 * 2


def staged(count):
    return cute.tile_to_shape(LAYOUTS["128"]((8, 64), cutlass.Float16), (*TILE, count), (0, 1, 2))


@cute.kernel
def double_kernel(
    load: cute.CopyAtom, gX: cute.Tensor, store: cute.CopyAtom, gY: cute.Tensor, params: PersistentTileSchedulerParams,
    sX_layout: cute.ComposedLayout, sY_layout: cute.ComposedLayout, defect: cutlass.Constexpr,
):  # fmt: skip
    """Y = 2 X, by CTAs that take one tile after another: a warp loads, the others double, one of them stores."""
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = cutlass.utils.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float16, sX_layout, 1024)
    sY = smem.allocate_tensor(cutlass.Float16, sY_layout, 1024)
    producer, consumer = PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=group(1), consumer_group=group(WORKERS),
        tx_count=BYTES + 2 if defect == "tx_count" else BYTES,
        barrier_storage=smem.allocate_array(cutlass.Int64, 2 * STAGES),
    ).make_participants()  # fmt: skip
    tiles_x, tiles_y = (cute.local_tile(tensor, TILE, (None, None)) for tensor in (gX, gY))
    tXs, tXg = cpasync.tma_partition(load, 0, ALONE, cute.group_modes(sX, 0, 2), cute.group_modes(tiles_x, 0, 2))
    tYs, tYg = cpasync.tma_partition(store, 0, ALONE, cute.group_modes(sY, 0, 2), cute.group_modes(tiles_y, 0, 2))
    scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()
    if warp == WORKERS:
        while work.is_valid_tile:
            handle = producer.acquire_and_advance()
            m, n, _ = work.tile_idx
            cute.copy(load, tXg[None, m, n], tXs[None, handle.index], tma_bar_ptr=handle.barrier)  # load
            handle.commit()
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        producer.tail()
    else:
        stores = PipelineTmaStore.create(num_stages=BUFFERS, producer_group=group(32))
        workers = NamedBarrier(1, 32 * WORKERS)
        while work.is_valid_tile:
            buffer = scheduler.num_tiles_executed % BUFFERS
            handle = consumer.wait_and_advance()  # wait
            if defect == "released early":
                handle.release()
            for column in cutlass.range(TILE[1]):
                sY[tidx, column, buffer] = sX[tidx, column, handle.index] * 2  # double
            if defect != "released early":
                handle.release()
            if defect != "no fence":
                cute.arch.fence_proxy("async.shared", space="cta")
            workers.arrive_and_wait()
            if warp == 0:
                m, n, _ = work.tile_idx
                cute.copy(store, tYs[None, buffer], tYg[None, m, n])  # store
                stores.producer_commit()
                if defect != "no acquire":
                    stores.producer_acquire()
            workers.arrive_and_wait()
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        if warp == 0:
            stores.producer_tail()


@cute.jit
def double(x: cute.Tensor, y: cute.Tensor, ctas: cutlass.Int32, defect: cutlass.Constexpr = None):
    sX_layout, sY_layout = staged(STAGES), staged(BUFFERS)
    one = cute.slice_(sX_layout, (None, None, 0))
    load, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, one, TILE)
    store, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, one, TILE)
    params = PersistentTileSchedulerParams((*cute.ceil_div(x.shape, TILE), 1), (1, 1, 1), swizzle_size=2)
    double_kernel(load, gX, store, gY, params, sX_layout, sY_layout, defect).launch(
        grid=StaticPersistentTileScheduler.get_grid_shape(params, ctas), block=[32 * (WORKERS + 1), 1, 1]
    )


@cute.kernel
def spread_kernel(
    load: cute.CopyAtom, gX: cute.Tensor, y: cute.Tensor, sX_layout: cute.ComposedLayout, defect: cutlass.Constexpr
):
    """The CTAs of a cluster sum the same tiles, row by row; each of them loads a part, for all."""
    tidx, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.block_idx_in_cluster()
    ctas = y.shape[1]
    smem = cutlass.utils.SmemAllocator()
    sX = smem.allocate_tensor(cutlass.Float16, sX_layout, 1024)
    arrivals = WORKERS if defect == "count" else ctas * WORKERS
    producer, consumer = PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=group(1), consumer_group=group(arrivals), tx_count=BYTES,
        barrier_storage=smem.allocate_array(cutlass.Int64, 2 * STAGES),
        cta_layout_vmnk=cute.make_layout((1, ctas, 1, 1)),
    ).make_participants()  # fmt: skip
    tiles = cute.local_tile(gX, TILE, (0, None))
    tXs, tXg = cpasync.tma_partition(
        load, rank, cute.make_layout(ctas), cute.group_modes(sX, 0, 2), cute.group_modes(tiles, 0, 2)
    )
    if warp == WORKERS:
        for n in range(tiles.shape[2]):
            handle = producer.acquire_and_advance()
            cute.copy(
                load, tXg[None, n], tXs[None, handle.index], tma_bar_ptr=handle.barrier, mcast_mask=(1 << ctas) - 1
            )
        producer.tail()
    else:
        total = cutlass.Float32(0)
        for _ in range(tiles.shape[2]):
            handle = consumer.wait_and_advance()
            for column in cutlass.range(TILE[1]):
                total += sX[tidx, column, handle.index].to(cutlass.Float32)  # read
            handle.release()
        y[tidx, rank] = total


@cute.jit
def spread(x: cute.Tensor, y: cute.Tensor, defect: cutlass.Constexpr = None):
    ctas, sX_layout = y.shape[1], staged(STAGES)
    one = cute.slice_(sX_layout, (None, None, 0))
    load, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SMulticastOp(), x, one, TILE, ctas)
    spread_kernel(load, gX, y, sX_layout, defect).launch(
        grid=[ctas, 1, 1], block=[32 * (WORKERS + 1), 1, 1], cluster=[ctas, 1, 1]
    )
