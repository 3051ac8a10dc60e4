"""A five-point stencil over a matrix, tiles with their halo in shared memory.

What to learn: domain_offset shifts a tensor's origin, so that a block reads one row and column more on each side; what
lies outside of the matrix counts as 0.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

TILE = 16
PICTURE = "(18,18):(18,1)"


@cute.kernel
def stencil_kernel(src: cute.Tensor, dst: cute.Tensor):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    m, n = src.shape
    halo = cute.make_layout((TILE + 2, TILE + 2), stride=(TILE + 2, 1))
    tile = cutlass.utils.SmemAllocator().allocate_tensor(src.element_type, halo)
    row, column = bidy * TILE + tidy, bidx * TILE + tidx
    number = tidy * TILE + tidx
    for k in cutlass.range(number, (TILE + 2) * (TILE + 2), TILE * TILE):
        i, j = k // (TILE + 2), k % (TILE + 2)
        y, x = bidy * TILE + i - 1, bidx * TILE + j - 1
        inside = y >= 0 and y < m and x >= 0 and x < n
        tile[i, j] = src[y, x] if inside else cutlass.Float32(0)
    cute.arch.sync_threads()
    if row < m and column < n:
        i, j = tidy + 1, tidx + 1
        around = tile[i - 1, j] + tile[i + 1, j] + tile[i, j - 1] + tile[i, j + 1]
        dst[row, column] = tile[i, j] * 0.5 + around * 0.125


@cute.jit
def stencil(src: cute.Tensor, dst: cute.Tensor):
    m, n = src.shape
    stencil_kernel(src, dst).launch(grid=[cute.ceil_div(n, TILE), cute.ceil_div(m, TILE), 1], block=[TILE, TILE, 1])


def problem(device: str):
    """A small one."""
    src = torch.randn(64, 64, device=device)
    return stencil, src, torch.empty_like(src)


def check(device: str) -> None:
    for m, n in ((16, 16), (37, 50)):
        src = torch.randn(m, n, device=device)
        dst = torch.full_like(src, float("nan"))
        stencil(src, dst)
        p = torch.nn.functional.pad(src, (1, 1, 1, 1))
        around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
        torch.testing.assert_close(dst, src * 0.5 + around * 0.125)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
