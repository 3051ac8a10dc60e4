"""Sum the rows of a matrix: registers, then a warp's shuffles, then shared memory.

What to learn: TensorSSA.reduce adds a thread's own values, warp_reduction_sum those of 32 lanes, and one element of
shared memory a warp carries the rest.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "(128,4):(4,1)"
THREADS, VALUES = 128, 4


@cute.jit
def block_sum(value: cutlass.Float32, partial: cute.Tensor):
    """The sum over the block, in all of its threads."""
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    value = cute.arch.warp_reduction_sum(value)
    if lane == 0:
        partial[warp] = value
    cute.arch.sync_threads()
    total = partial[0]
    for i in cutlass.range_constexpr(1, THREADS // 32):
        total += partial[i]
    return total


@cute.kernel
def row_sum_kernel(src: cute.Tensor, dst: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    columns = src.shape[1]
    partial = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS // 32))
    total = cutlass.Float32(0)
    for start in cutlass.range(tidx * VALUES, columns, THREADS * VALUES):
        values = cute.make_rmem_tensor(VALUES, cutlass.Float32)
        values.fill(0)
        for i in cutlass.range_constexpr(VALUES):
            if start + i < columns:
                values[i] = src[row, start + i]
        total += values.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    total = block_sum(total, partial)
    if tidx == 0:
        dst[row] = total


@cute.jit
def row_sum(src: cute.Tensor, dst: cute.Tensor):
    row_sum_kernel(src, dst).launch(grid=[src.shape[0], 1, 1], block=[THREADS, 1, 1])


def problem(device: str):
    """A small one."""
    return row_sum, torch.randn(4, 2048, device=device), torch.empty(4, device=device)


def check(device: str) -> None:
    for m, n in ((1, 2), (5, 512), (3, 1237)):
        src = torch.randn(m, n, device=device)
        dst = torch.full((m,), float("nan"), device=device)
        row_sum(src, dst)
        torch.testing.assert_close(dst, src.double().sum(1).float(), rtol=1e-5, atol=1e-4)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
