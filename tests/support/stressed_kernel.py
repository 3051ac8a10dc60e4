"""Kernels that several threads trace, compile and call at once."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import Constexpr, Float32, Int32, cute


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 64 + thread
    if i < cute.size(x):
        y[i] = x[i] * 2.0


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor):
    scale_kernel(x, y).launch(grid=((cute.size(x) + 63) // 64, 1, 1), block=(64, 1, 1))


@cute.kernel
def powers_kernel(x: cute.Tensor, y: cute.Tensor, count: Constexpr[int], limit: Int32):
    i, _, _ = cute.arch.thread_idx()
    if i < limit:
        power = Float32(1)
        for _ in cutlass.range_constexpr(count):
            power = power * x[i]
        total = Float32(0)
        for _ in range(limit - i):
            total = total + power
        y[i] = total


@cute.jit
def powers(x: cute.Tensor, y: cute.Tensor, count: Constexpr[int], limit: Int32):
    """y[i] = (limit - i) x[i]^count, with control flow of both kinds."""
    powers_kernel(x, y, count, limit).launch(grid=(1, 1, 1), block=(32, 1, 1))
