"""Schedulers of tiles: each tile is computed once, in the order that is asked for, also where they go round loops."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.utils import (
    GroupedGemmTileSchedulerHelper,
    HardwareInfo,
    PersistentTileSchedulerParams,
    StaticPersistentTileScheduler,
    create_initial_search_state,
)

MOST = 64


@cute.kernel
def note_tiles(params: PersistentTileSchedulerParams, order: cute.Tensor):
    """order[cta, turn]: a tile as m + 100 n + 10000 l; turns behind the last stay -1."""
    tidx, _, _ = cute.arch.thread_idx()
    x, y, z = cute.arch.block_idx()
    columns, rows, _ = cute.arch.grid_dim()
    scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()
    while work.is_valid_tile:
        if tidx == 0:
            m, n, batch = work.tile_idx
            order[(z * rows + y) * columns + x, scheduler.num_tiles_executed] = m + 100 * n + 10000 * batch
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.jit
def take_tiles(
    order: cute.Tensor, m: cutlass.Int32, n: cutlass.Int32, batches: cutlass.Int32, cluster: cutlass.Constexpr,
    swizzle: cutlass.Constexpr, along_m: cutlass.Constexpr, active: cutlass.Int32,
):  # fmt: skip
    params = PersistentTileSchedulerParams((m, n, batches), cluster, swizzle, along_m)
    note_tiles(params, order).launch(
        grid=StaticPersistentTileScheduler.get_grid_shape(params, active), block=[32, 1, 1], cluster=cluster
    )


def tiles_of(shape, cluster, swizzle, along_m, active):
    """The tiles that each CTA takes, in order."""
    order = np.full((MOST, MOST), -1, np.int32)
    with cute.on_cpu(check=True):
        take_tiles(order, *shape, cluster, swizzle, along_m, active)
    return [[(int(x) % 100, int(x) // 100 % 100, int(x) // 10000) for x in row if x >= 0] for row in order]


@pytest.mark.parametrize("along_m", [True, False])
@pytest.mark.parametrize("swizzle", [1, 2, 3])
@pytest.mark.parametrize(("shape", "active"), [((1, 1, 1), 4), ((5, 3, 2), 4), ((4, 7, 1), 1), ((3, 3, 3), 32)])
def test_each_tile_is_taken_once(shape, active, swizzle, along_m):
    taken = tiles_of(shape, (1, 1, 1), swizzle, along_m, active)
    assert sorted(chain.from_iterable(taken)) == list(np.ndindex(shape))
    counts = [len(tiles) for tiles in taken[: min(active, np.prod(shape))]]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("cluster", [(2, 1, 1), (1, 2, 1), (2, 2, 1)])
def test_ctas_of_a_cluster_take_neighbours(cluster):
    taken = tiles_of((4, 6, 2), cluster, 1, True, 3)
    assert sorted(chain.from_iterable(taken)) == list(np.ndindex(4, 6, 2))
    size = cluster[0] * cluster[1]
    for first in range(0, 3 * size, size):
        for together in zip(*taken[first : first + size], strict=True):
            m, n, batch = together[0]
            expected = {(m + i, n + j, batch) for i in range(cluster[0]) for j in range(cluster[1])}
            assert set(together) == expected


def test_the_order_is_that_of_bands():
    bands = [(m, n, 0) for band in ((0, 1), (2, 3), (4,)) for m in range(3) for n in band]
    assert tiles_of((3, 5, 1), (1, 1, 1), 2, True, 1)[0] == bands
    assert tiles_of((3, 5, 1), (1, 1, 1), 1, False, 1)[0] == [(m, n, 0) for m in range(3) for n in range(5)]


@cute.kernel
def note_groups(params: PersistentTileSchedulerParams, sizes: cute.Tensor, found: cute.Tensor, groups: cutlass.Int32):
    scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
    helper = GroupedGemmTileSchedulerHelper(groups, params, (64, 32, 16), create_initial_search_state())
    work = scheduler.initial_work_tile_info()
    while work.is_valid_tile:
        tile = helper.delinearize_z(work.tile_idx, sizes)
        for i, value in enumerate((tile.group_idx, tile.cta_tile_idx_m, tile.cta_tile_idx_n, tile.cta_tile_count_k)):
            found[work.tile_idx[2], i] = value
        scheduler.advance_to_next_work()
        work = scheduler.get_current_work()


@cute.jit
def find_groups(sizes: cute.Tensor, found: cute.Tensor, tiles: cutlass.Int32, active: cutlass.Int32):
    params = PersistentTileSchedulerParams((1, 1, tiles), (1, 1, 1))
    note_groups(params, sizes, found, sizes.shape[0]).launch(
        grid=StaticPersistentTileScheduler.get_grid_shape(params, active), block=[1, 1, 1]
    )


@pytest.mark.parametrize("active", [1, 3, 100])
def test_each_tile_of_each_gemm_is_found(active):
    sizes = np.array([[64, 32, 16, 1], [1, 1, 1, 1], [0, 64, 16, 1], [200, 70, 33, 1], [64, 0, 1, 1], [130, 31, 64, 1]])
    sizes = sizes.astype(np.int32)
    expected = [
        (g, m, n, -(-k // 16))
        for g, (rows, columns, k, _) in enumerate(sizes)
        for n in range(-(-columns // 32))
        for m in range(-(-rows // 64))
    ]
    found = np.full((len(expected), 4), -1, np.int32)
    with cute.on_cpu(check=True):
        find_groups(sizes, found, len(expected), active)
    assert [tuple(x) for x in found] == expected


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"problem_shape_ntile_mnl is tuple \(1, 2\); expected three extents"):
        PersistentTileSchedulerParams((1, 2), (1, 1, 1))
    with pytest.raises(ValueError, match=r"cluster_shape_mnk is \(1, 1, 2\); .* expected \(m, n, 1\)"):
        PersistentTileSchedulerParams((1, 2, 1), (1, 1, 2))
    with pytest.raises(ValueError, match="swizzle_size is 0; expected an integer of at least 1"):
        PersistentTileSchedulerParams((1, 2, 1), (1, 1, 1), 0)
    with pytest.raises(TypeError, match="expected PersistentTileSchedulerParams, but got int 3"):
        StaticPersistentTileScheduler.create(3, (0, 0, 0), (1, 1, 1))


def test_a_device_has_a_multiprocessor_for_each_cluster_of_one():
    info = HardwareInfo()
    assert info.get_max_active_clusters(1) == info.get_device_multiprocessor_count() > 0
    assert info.get_max_active_clusters(2) == info.get_device_multiprocessor_count() // 2
    with pytest.raises(ValueError, match="cluster_size is 0; expected at least 1"):
        info.get_max_active_clusters(0)


def test_the_search_goes_on_where_it_was_and_ends_at_the_last_gemm():
    sizes = cute.runtime.from_dlpack(np.array([[64, 32, 16, 1], [128, 32, 48, 1], [64, 64, 16, 1]], np.int32))
    params = PersistentTileSchedulerParams((1, 1, 5), (1, 1, 1))
    helper = GroupedGemmTileSchedulerHelper(3, params, (64, 32, 16), create_initial_search_state())
    assert [int(x) for x in helper.search_cluster_tile_count_k((0, 0, 2), sizes)] == [3, 1]
    assert [int(x) for x in helper.search_state] == [1, 1]
    assert int(helper.delinearize_z((0, 0, 100), sizes).group_idx) == 2
    assert [int(x) for x in helper.search_state] == [2, 3]
