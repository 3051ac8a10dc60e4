"""cute.profile: costs by line of Python, without a GPU."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute

STRIDES = (1, 2, 8, 33)


@cute.kernel
def strided_kernel(x: cute.Tensor, y: cute.Tensor, stride: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, 32 * 33)
    shared[i * stride] = x[i * stride]
    cute.arch.sync_threads()
    if i < 16:
        y[i] = shared[i * stride]


@cute.jit
def strided(x: cute.Tensor, y: cute.Tensor, stride: cutlass.Constexpr):
    strided_kernel(x, y, stride).launch(block=[32, 1, 1])


@pytest.mark.parametrize("stride", STRIDES)
def test_sectors_wavefronts_and_lanes_of_each_line(stride):
    x, y = np.ones(32 * 33, np.float32), np.zeros(32, np.float32)
    found = cute.profile(strided, x, y, stride)
    both, last = (line for line in found.lines if line.requests)
    assert (y == 0).all()  # it is counted on copies
    lanes = np.arange(32) * stride
    assert both.sectors == len(set(lanes // 8))
    banks = [len(set(lanes[lanes % 32 == bank])) for bank in range(32)]
    assert both.wavefronts == max(banks)
    assert (both.requests, last.requests, both.ideal_sectors) == (2, 2, 4)
    assert (both.lanes, last.lanes, last.sectors) == (32, 16, 2)
    assert both.text.strip() == "shared[i * stride] = x[i * stride]"
    assert "wavefronts" in str(found)


def test_what_is_no_jit_function_is_refused():
    with pytest.raises(TypeError, match=r"^profile: expected a function decorated with @cute\.jit, but got"):
        cute.profile(len)
