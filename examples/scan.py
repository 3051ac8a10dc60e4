"""Running sums of a block of numbers: shuffles inside warps, shared memory between them.

What to learn: shuffle_sync_up gives a lane the value of one before it; five steps of doubling distance scan a warp.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

THREADS = 256
PICTURE = "(32,8):(1,32)"


@cute.jit
def warp_scan(value: cutlass.Int32, lane: cutlass.Int32):
    """The sum of the values of this lane and those before it."""
    for step in cutlass.range_constexpr(5):
        before = cute.arch.shuffle_sync_up(value, 1 << step)
        if lane >= 1 << step:
            value += before
    return value


@cute.kernel
def scan_kernel(src: cute.Tensor, dst: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    n = cute.size(src)
    sums = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(THREADS // 32))
    value = src[tidx] if tidx < n else cutlass.Int32(0)
    value = warp_scan(value, lane)
    if lane == 31:
        sums[warp] = value
    cute.arch.sync_threads()
    before = cutlass.Int32(0)
    for i in cutlass.range(warp):
        before += sums[i]
    if tidx < n:
        dst[tidx] = value + before


@cute.jit
def scan(src: cute.Tensor, dst: cute.Tensor):
    scan_kernel(src, dst).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def problem(device: str):
    """A small one."""
    src = torch.randint(-100, 100, (THREADS,), device=device, dtype=torch.int32)
    return scan, src, torch.empty_like(src)


def check(device: str) -> None:
    for n in (1, 33, 200, 256):
        src = torch.randint(-100, 100, (n,), device=device, dtype=torch.int32)
        dst = torch.full_like(src, -1)
        scan(src, dst)
        assert dst.tolist() == torch.cumsum(src, 0).tolist()


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
