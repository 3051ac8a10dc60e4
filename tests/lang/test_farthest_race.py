"""Of the pairs of threads that race at two lines, the one that is told is the one that takes the most to order."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute


@cute.kernel
def shared_kernel(x: cute.Tensor, y: cute.Tensor, step: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    threads, _, _ = cute.arch.block_dim()
    values = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(128))
    values[i] = x[i]
    y[i] = values[(i + step) % threads]


@cute.kernel
def global_kernel(x: cute.Tensor, y: cute.Tensor, step: cutlass.Constexpr):
    i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
    x[i] = x[i] + 1
    y[i] = x[(i + step) % cute.size(x)]


def found(kernel, size, step, grid, block):
    x, y = np.zeros(size, np.float32), np.zeros(size, np.float32)
    with pytest.raises(cute.KernelError) as error:
        kernel(x, y, step).launch(grid=grid, block=block)
    (race,) = (finding for finding in error.value.findings if finding.kind == "race")
    (block, thread), (other_block, other_thread) = race.thread, race.other_thread
    return race, block[0] - other_block[0], thread[0] // 32 - other_thread[0] // 32


@pytest.mark.parametrize("step", [1, 16, 33])
def test_warps_before_lanes(step):
    race, _, warps = found(shared_kernel, 128, step, 1, 128)
    assert "no barrier is between" in race.message
    assert warps != 0


def test_lanes_where_no_others_race():
    race, _, warps = found(shared_kernel, 128, 1, 1, 32)
    assert "no sync_warp is between" in race.message
    assert warps == 0


@pytest.mark.parametrize("step", [1, 32, 64])
def test_blocks_before_warps(step):
    race, blocks, _ = found(global_kernel, 256, step, 4, 64)
    assert "the CTAs are in no order" in race.message
    assert blocks != 0
    assert str(race.coordinate)
