"""Count how often each byte occurs: a histogram of each block in shared memory, added to the whole with atomics.

What to learn: atomics in shared memory first, so that global memory sees one addition for a bin and block.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

THREADS, BINS = 256, 256
PICTURE = "256:1"


@cute.kernel
def histogram_kernel(src: cute.Tensor, dst: cute.Tensor):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    bins = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(BINS))
    bins[tidx] = cutlass.Int32(0)
    cute.arch.sync_threads()
    for i in cutlass.range(bidx * THREADS + tidx, cute.size(src), blocks * THREADS):
        cute.arch.atomic_add(bins.iterator + src[i].to(cutlass.Int32), cutlass.Int32(1))
    cute.arch.sync_threads()
    cute.arch.atomic_add(dst.iterator + tidx, bins[tidx])


@cute.jit
def histogram(src: cute.Tensor, dst: cute.Tensor):
    histogram_kernel(src, dst).launch(grid=[4, 1, 1], block=[THREADS, 1, 1])


def problem(device: str):
    """A small one."""
    src = torch.randint(0, 256, (4096,), device=device, dtype=torch.uint8)
    return histogram, src, torch.zeros(BINS, device=device, dtype=torch.int32)


def check(device: str) -> None:
    src = torch.randint(0, 256, (5000,), device=device, dtype=torch.uint8)
    dst = torch.zeros(BINS, device=device, dtype=torch.int32)
    histogram(src, dst)
    assert dst.tolist() == torch.bincount(src.long(), minlength=BINS).tolist()


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
