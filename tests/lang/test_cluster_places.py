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
