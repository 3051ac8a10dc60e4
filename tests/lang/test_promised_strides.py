"""What a layout promises of a dynamic stride or offset decides how wide accesses are."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute


@cute.kernel
def rows_kernel(x: cute.Tensor, y: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    tv_layout = cute.make_layout((16, (4, 4)), stride=(16, (4, 1)))
    tX, tY = (cute.composition(cute.local_tile(t, (4, 64), (0, 0)), tv_layout)[tidx, None] for t in (x, y))
    tY.store(tX.load() + 1)


@cute.jit
def rows(x: cute.Tensor, y: cute.Tensor):
    rows_kernel(x, y).launch(block=[16, 1, 1])


@pytest.mark.parametrize("divisor", [8, 4, 2, 1])
def test_a_promised_stride_makes_accesses_wide(divisor):
    x = np.random.default_rng(0).normal(size=(4, 64 + divisor)).astype(np.float32)
    y = np.zeros_like(x)
    tensors = [
        cute.runtime.from_dlpack(t, assumed_align=16).mark_compact_shape_dynamic(1, divisibility=divisor)
        for t in (x, y)
    ]
    width = min(divisor, 4)
    source = cute.compile(rows, *tensors).source
    assert [int(n) for n in re.findall(r"\*vec<(\d)>\(", source)] == ([width] * 2 if width > 1 else [])
    with cute.on_cpu(check=True):
        rows(*tensors)
    assert (y[:, :64] == x[:, :64] + 1).all()
    load = next(line for line in cute.profile(rows, *tensors).lines if line.requests)
    assert load.requests == 2 * 16 // width


@cute.kernel
def swizzled_kernel(y: cute.Tensor, offset: cutlass.Int32):
    layout = cute.make_composed_layout(cute.make_swizzle(2, 2, 2), cute.assume(offset, divby=4), cute.make_layout(4))
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
    part = cute.make_tensor(shared.iterator, layout)
    part.store(cute.full(4, 2.0, cutlass.Float32))
    y[0] = part.load().reduce(cute.ReductionOp.ADD, 0.0, 0)


@cute.jit
def swizzled(y: cute.Tensor, offset: cutlass.Int32):
    swizzled_kernel(y, offset).launch(block=[1, 1, 1])


def test_a_promised_offset_of_a_swizzle_makes_accesses_wide():
    y = np.zeros(1, np.float32)
    assert cute.compile(swizzled, y, 20).source.count("*vec<4>(") == 2
    with cute.on_cpu(check=True):
        swizzled(y, 20)
    assert y[0] == 8
