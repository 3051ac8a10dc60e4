"""Triton's copy and transpose: the usual kernels, 1024 elements and 64 x 64 elements a program."""

from __future__ import annotations

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(src, dst, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < count), mask=i < count)


@triton.jit
def transpose_kernel(src, dst, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (i[:, None] < rows) & (j[None, :] < columns)
    tile = tl.load(src + i[:, None] * columns + j[None, :], mask=inside)
    inside = (j[:, None] < columns) & (i[None, :] < rows)
    tl.store(dst + j[:, None] * rows + i[None, :], tl.trans(tile), mask=inside)


def copy(src: torch.Tensor, dst: torch.Tensor) -> None:
    """dst = src, both contiguous."""
    count = src.numel()
    copy_kernel[(triton.cdiv(count, 1024),)](src, dst, count, BLOCK=1024)


def transpose(src: torch.Tensor, dst: torch.Tensor) -> None:
    """dst = the transpose of src, both contiguous."""
    rows, columns = src.shape
    transpose_kernel[(triton.cdiv(rows, 64), triton.cdiv(columns, 64))](src, dst, rows, columns, BLOCK=64)
