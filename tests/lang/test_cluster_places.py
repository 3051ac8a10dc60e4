"""Where a CTA of a cluster stands, and which CTAs a multicast goes to."""

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import LayoutError, cute


@cute.kernel
def places_kernel(x: cute.Tensor):
    i, j, _ = cute.arch.block_idx()
    places = (*cute.arch.cluster_idx(), *cute.arch.cluster_dim(), *cute.arch.block_in_cluster_dim())
    for k in cutlass.range_constexpr(9):
        x[i, j, k] = places[k]


def test_clusters_of_a_grid():
    x = np.zeros((8, 6, 9), np.int32)
    places_kernel(x).launch(grid=(8, 6, 1), block=1, cluster=(2, 3, 1))
    for i, j in np.ndindex(8, 6):
        assert x[i, j].tolist() == [i // 2, j // 3, 0, 4, 2, 1, 2, 3, 1]


@cute.kernel
def masks_kernel(x: cute.Tensor, layout: cutlass.Constexpr):
    rank = cute.arch.block_idx_in_cluster()
    place = layout.get_flat_coord(rank)
    for mode in cutlass.range_constexpr(2):
        x[rank, mode] = cute.make_layout_image_mask(layout, place, mode)


def test_masks_of_a_multicast():
    """Each CTA's mask along a mode has those that agree with it in the other one."""
    layout = cute.make_layout((4, 2, 1))
    x = np.zeros((8, 2), np.int32)
    masks_kernel(x, layout).launch(grid=(4, 2, 1), block=1, cluster=(4, 2, 1))
    for rank in range(8):
        wanted = [cute.make_layout_image_mask(layout, (rank % 4, rank // 4, 0), mode) for mode in range(2)]
        assert x[rank].tolist() == wanted == [0b1111 << (rank // 4 * 4), 0b10001 << rank % 4]


def test_masks_of_too_many():
    with pytest.raises(LayoutError, match="make_layout_image_mask"):
        masks_kernel(np.zeros((8, 2), np.int32), cute.make_layout((4, 8, 1))).launch(
            grid=(4, 2, 1), block=1, cluster=(4, 2, 1)
        )


@cute.kernel
def visiting_kernel(y: cute.Tensor, before: cutlass.Constexpr):
    """Each of two CTAs writes into the other one's shared memory."""
    i, _, _ = cute.arch.thread_idx()
    rank = cute.arch.block_idx_in_cluster()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32))
    if cutlass.const_expr(before == "cluster"):
        cute.arch.cluster_arrive()
        cute.arch.cluster_wait()
    if cutlass.const_expr(before == "threads"):
        cute.arch.sync_threads()
    cute.make_tensor(cute.arch.mapa(shared.iterator, rank ^ 1), cute.make_layout(32))[i] = rank
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()
    y[rank * 32 + i] = shared[i]


@cute.jit
def visiting(y: cute.Tensor, before: cutlass.Constexpr):
    visiting_kernel(y, before).launch(grid=[2, 1, 1], block=[32, 1, 1], cluster=[2, 1, 1])


@pytest.mark.parametrize("seed", range(3))
def test_the_other_ctas_of_a_cluster_may_not_have_begun(seed):
    y = np.zeros(64, np.int32)
    with cute.on_cpu(seed=seed):
        visiting(y, "cluster")
        assert y.tolist() == [1] * 32 + [0] * 32
        for before in ("", "threads"):
            with pytest.raises(
                cute.KernelError, match=r"may not have begun by then.* cluster_arrive\(\) and cluster_wait"
            ):
                visiting(y, before)
