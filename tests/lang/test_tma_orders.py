"""Boxes of three and four modes: a tile in shared memory has its modes in any order behind the contiguous one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync
from tilewright.cute.runtime import from_dlpack
from tma_kernels import ALONE


@cute.kernel
def through_shared_memory(
    load: cute.CopyAtom, gX: cute.Tensor, store: cute.CopyAtom, gY: cute.Tensor, whole: cute.Tensor,
    layout: cutlass.Constexpr, tile: cutlass.Constexpr,
):  # fmt: skip
    """A tile that TMA loads is read by its layout, and stored by TMA where threads have written it by its layout."""
    smem = cutlass.utils.SmemAllocator()
    loaded, stored = (smem.allocate_tensor(whole.element_type, layout, 1024) for _ in range(2))
    barrier = smem.allocate_array(cutlass.Int64)
    lane, _, _ = cute.arch.thread_idx()
    which, _, _ = cute.arch.block_idx()
    rank = cute.rank(tile)

    def parts(atom, tensor, shared):
        box = cute.zipped_divide(tensor, tile)[None, which]
        return cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(shared, 0, rank), box)

    tXs, tXg = parts(load, gX, loaded)
    tYs, tYg = parts(store, gY, stored)
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, cute.size_in_bytes(whole.element_type, layout))
    cute.arch.sync_warp()
    cute.copy(load, tXg, tXs, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    places = cute.zipped_divide(cute.make_identity_tensor(whole.shape), tile)
    rows = cute.zipped_divide(whole, tile)
    for i in range(lane, cute.size(tile), 32):
        stored[i] = -loaded[i]
        if cute.elem_less(places[i, which], whole.shape):
            rows[i, which] = loaded[i]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    cute.copy(store, tYs, tYg)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor, layout: cutlass.Constexpr, tile: cutlass.Constexpr):
    load, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, tile)
    store, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, layout, tile)
    tiles = cute.size(cute.ceil_div(x.shape, tile))
    through_shared_memory(load, gX, store, gY, z, layout, tile).launch(grid=[tiles, 1, 1], block=[32, 1, 1])


def of_order(shape, order, dtype):
    """Random numbers whose mode order[0] is contiguous, order[1] next, and so on."""
    made = np.random.default_rng(0).integers(1, 1000, [shape[i] for i in reversed(order)]).astype(dtype)
    return made.transpose([len(order) - 1 - order.index(i) for i in range(len(order))])


def check(shape, memory, tile, shared, dtype=np.float32, swizzle=None):
    x, y, z = (of_order(shape, memory, dtype) for _ in range(3))
    layout = cute.make_ordered_layout(tile, order=[shared.index(i) for i in range(len(tile))])
    if swizzle is not None:
        layout = cute.make_composed_layout(swizzle, 0, layout)
    run(*(from_dlpack(each, assumed_align=16) for each in (x, y, z)), layout, tile)
    np.testing.assert_array_equal(z, x)
    np.testing.assert_array_equal(y, -x)


@pytest.mark.parametrize(
    ("memory", "shared"),
    [pair for pair in itertools.product(itertools.permutations(range(3)), repeat=2) if pair[0][0] == pair[1][0]],
)
def test_three_modes_in_any_order(memory, shared):
    check((8, 12, 16), memory, (4, 4, 8), shared)


@pytest.mark.parametrize("shared", [(3, 2, 1, 0), (3, 0, 1, 2), (3, 1, 0, 2)])
def test_four_modes_of_which_tiles_reach_beyond_the_ends(shared):
    check((3, 5, 4, 16), (3, 2, 1, 0), (2, 3, 2, 8), shared)


def test_a_swizzle_of_three_modes():
    check((4, 16, 64), (2, 1, 0), (2, 8, 64), (2, 1, 0), np.float16, cute.make_swizzle(3, 3, 3))


def test_a_box_begins_where_tma_may():
    """300 rows of 32 bytes are three boxes of 100, not two of 150, whose second one would begin at 37.5 times 128."""
    check((300, 8), (1, 0), (300, 8), (1, 0))
    with pytest.raises(ValueError, match=r"several boxes \(4, 2\), .* begin at byte 32 .* multiples of 128"):
        check((514, 4), (1, 0), (514, 4), (1, 0))
