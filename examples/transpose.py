"""Transpose a matrix through shared memory in three ways: plain, padded, swizzled.

What to learn: only the layout of the shared tile differs. Plain, the 32 lanes that read a column of it meet in one
bank; a padding of one element or a swizzle spreads them over all.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

TILE, ROWS = 32, 8
LAYOUTS = {
    "plain": lambda: cute.make_layout((TILE, TILE), stride=(TILE, 1)),
    "padded": lambda: cute.make_layout((TILE, TILE), stride=(TILE + 1, 1)),
    "swizzled": lambda: cute.make_composed_layout(
        cute.make_swizzle(5, 0, 5), 0, cute.make_layout((TILE, TILE), stride=(TILE, 1))
    ),
}
PICTURE = "S<5,0,5> o 0 o (32,32):(32,1)"


@cute.kernel
def transpose_kernel(src: cute.Tensor, dst: cute.Tensor, shared_layout: cute.Layout):
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(src.element_type, shared_layout)
    m, n = src.shape
    for i in cutlass.range_constexpr(0, TILE, ROWS):
        row, column = bidy * TILE + tidy + i, bidx * TILE + tidx
        if row < m and column < n:
            tile[tidy + i, tidx] = src[row, column]
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(0, TILE, ROWS):
        row, column = bidx * TILE + tidy + i, bidy * TILE + tidx
        if row < n and column < m:
            dst[row, column] = tile[tidx, tidy + i]


@cute.jit
def transpose(src: cute.Tensor, dst: cute.Tensor, kind: cutlass.Constexpr):
    m, n = src.shape
    transpose_kernel(src, dst, LAYOUTS[kind]()).launch(
        grid=[cute.ceil_div(n, TILE), cute.ceil_div(m, TILE), 1], block=[TILE, ROWS, 1]
    )


def check(device: str) -> None:
    for kind in LAYOUTS:
        for m, n in ((32, 64), (45, 101)):
            src = torch.randn(m, n, device=device)
            dst = torch.full((n, m), float("nan"), device=device)
            transpose(src, dst, kind)
            torch.testing.assert_close(dst, src.T, rtol=0, atol=0)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
