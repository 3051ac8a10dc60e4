"""A kernel with two accumulators whose groups of wgmma overlap, for the test of which registers are held where."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import warpgroup


@cute.kernel
def two_sums_kernel(
    mD: cute.Tensor, layout: cutlass.Constexpr, tiled_mma: cute.TiledMma, steps: cutlass.Int32, form: cutlass.Constexpr
):
    tidx, _, _ = cute.arch.thread_idx()
    storage = cutlass.utils.SmemAllocator()
    sA = storage.allocate_tensor(cutlass.BFloat16, layout, 1024)
    thread = tiled_mma.get_slice(tidx)
    tD = thread.partition_C(mD)
    first = tiled_mma.make_fragment_C(tD)
    second = tiled_mma.make_fragment_C(tD)
    rA = tiled_mma.make_fragment_A(thread.partition_A(sA))
    rB = tiled_mma.make_fragment_B(thread.partition_B(sA))
    first.fill(0.0)
    second.fill(0.0)
    if cutlass.const_expr(form == "straight"):
        warpgroup.fence()
        cute.gemm(tiled_mma, first, rA, rB, first)
        warpgroup.commit_group()
        cute.gemm(tiled_mma, second, rA, rB, second)
        warpgroup.commit_group()
        warpgroup.wait_group(1)
        warpgroup.wait_group(0)
    elif cutlass.const_expr(form == "loop"):  # what begins in a round ends in the next one
        warpgroup.fence()
        cute.gemm(tiled_mma, first, rA, rB, first)
        warpgroup.commit_group()
        for _ in cutlass.range(steps, unroll=1):
            warpgroup.fence()
            cute.gemm(tiled_mma, second, rA, rB, second)
            warpgroup.commit_group()
            warpgroup.wait_group(1)
            warpgroup.fence()
            cute.gemm(tiled_mma, first, rA, rB, first)
            warpgroup.commit_group()
            warpgroup.wait_group(1)
        warpgroup.wait_group(0)
    else:  # a branch
        warpgroup.fence()
        if steps > 1:
            cute.gemm(tiled_mma, first, rA, rB, first)
            warpgroup.commit_group()
        else:
            cute.gemm(tiled_mma, second, rA, rB, second)
            warpgroup.commit_group()
        warpgroup.wait_group(0)
    cute.autovec_copy(first, tD)
    cute.autovec_copy(second, tD)


@cute.jit
def two_sums(
    mD: cute.Tensor, layout: cutlass.Constexpr, tiled_mma: cute.TiledMma, steps: cutlass.Int32, form: cutlass.Constexpr
):
    two_sums_kernel(mD, layout, tiled_mma, steps, form).launch(block=[128, 1, 1])
