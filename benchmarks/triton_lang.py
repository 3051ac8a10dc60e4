"""Triton's rivals of kernels written in Python, after its tutorials: add, transpose, rows of a matrix, GEMM of fp32.

Each function is call(*operands) as the benchmark's other contestants are, with the result as the last operand.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from triton_rivals import transpose as transpose

GROUP = 8


@triton.jit
def add_kernel(a, b, c, count, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(c + i, tl.load(a + i, mask=i < count) + tl.load(b + i, mask=i < count), mask=i < count)


def add(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    """c = a + b, all contiguous."""
    add_kernel[(triton.cdiv(c.numel(), 1024),)](a, b, c, c.numel(), BLOCK=1024)


@triton.jit
def _row(src, columns, BLOCK: tl.constexpr):
    """The program's row of a contiguous matrix in fp32, where it is inside, and the row's first element."""
    start = tl.program_id(0).to(tl.int64) * columns
    i = tl.arange(0, BLOCK)
    return tl.load(src + start + i, mask=i < columns, other=0.0).to(tl.float32), i < columns, start


@triton.jit
def softmax_kernel(src, dst, columns, BLOCK: tl.constexpr):
    x, inside, start = _row(src, columns, BLOCK)
    x = tl.where(inside, x, -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(dst + start + tl.arange(0, BLOCK), (e / tl.sum(e, axis=0)).to(dst.dtype.element_ty), mask=inside)


@triton.jit
def rms_norm_kernel(src, dst, columns, BLOCK: tl.constexpr):
    x, inside, start = _row(src, columns, BLOCK)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / columns + 1e-6)
    tl.store(dst + start + tl.arange(0, BLOCK), y.to(dst.dtype.element_ty), mask=inside)


@triton.jit
def layer_norm_kernel(src, dst, columns, BLOCK: tl.constexpr):
    x, inside, start = _row(src, columns, BLOCK)
    centred = tl.where(inside, x - tl.sum(x, axis=0) / columns, 0.0)
    y = centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + 1e-5)
    tl.store(dst + start + tl.arange(0, BLOCK), y.to(dst.dtype.element_ty), mask=inside)


def rows(name: str):
    """call(src, dst) of softmax, rms_norm or layer_norm over the rows of a contiguous matrix."""
    kernel = {"softmax": softmax_kernel, "rms_norm": rms_norm_kernel, "layer_norm": layer_norm_kernel}[name]

    def call(src: torch.Tensor, dst: torch.Tensor) -> None:
        columns = src.shape[1]
        block = triton.next_power_of_2(columns)
        warps = min(max(block // 2048, 1) * 4, 32)
        kernel[(src.shape[0],)](src, dst, columns, BLOCK=block, num_warps=warps)

    return call


@triton.jit
def gemm_kernel(
    a, b, c, M, N, K, a_m, a_k, b_n, b_k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    index = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = index // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first, GROUP)
    inside = index % (GROUP * tiles_n)
    m = (first + inside % rows) * BM + tl.arange(0, BM)
    n = inside // rows * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a + (m % M)[:, None] * a_m + k[None, :] * a_k
    b_at = b + k[:, None] * b_k + (n % N)[None, :] * b_n
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(K, BK)):
        left = K - step * BK
        x = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
        a_at += BK * a_k
        b_at += BK * b_k
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def gemm(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
    """C (M,N) = A (M,K) B (N,K) in fp32 without tf32, C with N contiguous."""
    (m, k), n = a.shape, b.shape[0]
    bm, bn = 64, 64
    grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn),)
    gemm_kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BM=bm, BN=bn, BK=16, GROUP=GROUP, num_warps=4)
