"""Triton's GEMMs, after its tutorials 3 and 9: tiles in groups for the L2, and a persistent kernel that loads by TMA.

C(m, n, l) = sum over k of A(m, k, l) B(n, k, l), any strides. `candidates` gives the ways that suit a problem; who
measures takes the fastest.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

Call = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]
GROUP = 8


@triton.jit
def _tile(index, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Where a tile lies: GROUP rows of tiles at a time, down each column."""
    first = index // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first, GROUP)
    inside = index % (GROUP * tiles_n)
    return first + inside % rows, inside // rows


@triton.jit
def grouped_kernel(
    a, b, c, M, N, K, a_m, a_k, a_l, b_n, b_k, b_l, c_m, c_n, c_l,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, ACC: tl.constexpr, TF32: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(1).to(tl.int64)
    at_m, at_n = _tile(tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN), GROUP)
    m, n, k = at_m * BM + tl.arange(0, BM), at_n * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at = a + batch * a_l + (m % M)[:, None] * a_m + k[None, :] * a_k
    b_at = b + batch * b_l + k[:, None] * b_k + (n % N)[None, :] * b_n
    total = tl.zeros((BM, BN), ACC)
    for step in range(tl.cdiv(K, BK)):
        left = K - step * BK
        x = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        total = tl.dot(x, y, total, input_precision="tf32" if TF32 else "ieee", out_dtype=ACC)
        a_at += BK * a_k
        b_at += BK * b_k
    c_at = c + batch * c_l + m[:, None] * c_m + n[None, :] * c_n
    tl.store(c_at, total.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def persistent_kernel(
    a, b, c, M, N, K,
    A_K: tl.constexpr, B_K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    CTAS: tl.constexpr, ACC: tl.constexpr, TF32: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for index in tl.range(tl.program_id(0), tiles_m * tiles_n, CTAS, flatten=True):
        at_m, at_n = _tile(index, tiles_m, tiles_n, GROUP)
        total = tl.zeros((BM, BN), ACC)
        for step in range(tl.cdiv(K, BK)):
            x = a.load([at_m * BM, step * BK]) if A_K else a.load([step * BK, at_m * BM]).T
            y = b.load([at_n * BN, step * BK]).T if B_K else b.load([step * BK, at_n * BN])
            total = tl.dot(x, y, total, input_precision="tf32" if TF32 else "ieee", out_dtype=ACC)
        if SPLIT:  # two halves, so that what is stored takes half the shared memory
            left, right = total.reshape(BM, 2, BN // 2).permute(0, 2, 1).split()
            c.store([at_m * BM, at_n * BN], left.to(c.dtype))
            c.store([at_m * BM, at_n * BN + BN // 2], right.to(c.dtype))
        else:
            c.store([at_m * BM, at_n * BN], total.to(c.dtype))


# BM, BN, and the bytes of a row of BK; warps, stages.
LARGE = [(128, 256, 128, 8, 3), (128, 128, 128, 4, 4)]
PERSISTENT = [(128, 256, 128, 8, 3), (128, 128, 128, 8, 4)]
MIDDLE = [(64, 128, 128, 4, 4), (64, 64, 128, 4, 5)]
FLAT = [(16, 64, 256, 4, 5), (16, 128, 256, 4, 4)]  # for an M of at most 16


def _sum_type(dtype: torch.dtype) -> tl.dtype:
    return tl.int32 if dtype == torch.int8 else tl.float32


def grouped(config: tuple[int, int, int, int, int], tf32: bool) -> Call:
    bm, bn, row, warps, stages = config

    def call(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> object:
        (m, k), n = a.shape[:2], b.shape[0]
        bk = row // a.element_size()
        batches = [x.stride(2) if x.dim() == 3 else 0 for x in (a, b, c)]
        strides = [s for x, batch in zip((a, b, c), batches, strict=True) for s in (*x.stride()[:2], batch)]
        grid = (triton.cdiv(m, bm) * triton.cdiv(n, bn), c.shape[2] if c.dim() == 3 else 1)
        return grouped_kernel[grid](
            a, b, c, m, n, k, *strides, BM=bm, BN=bn, BK=bk, GROUP=GROUP, ACC=_sum_type(a.dtype), TF32=tf32,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip

    return call


def persistent(config: tuple[int, int, int, int, int], tf32: bool, ctas: int) -> Call:
    bm, bn, row, warps, stages = config
    descriptors: dict[tuple[int, ...], TensorDescriptor] = {}

    def descriptor(x: torch.Tensor, first: int, second: int) -> TensorDescriptor:
        """Of a matrix of either order; made once, so that the time of making it is not counted."""
        known = descriptors.get((x.data_ptr(), first, second))
        if known is None:
            block = [first, second] if x.stride(1) == 1 else [second, first]
            known = TensorDescriptor.from_tensor(x if x.stride(1) == 1 else x.t(), block)
            descriptors[x.data_ptr(), first, second] = known
        return known

    def call(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> object:
        (m, k), n = a.shape, b.shape[0]
        bk = row // a.element_size()
        split = c.element_size() == 4
        grid = (min(ctas, triton.cdiv(m, bm) * triton.cdiv(n, bn)),)
        return persistent_kernel[grid](
            descriptor(a, bm, bk), descriptor(b, bn, bk), descriptor(c, bm, bn // (1 + split)), m, n, k,
            A_K=a.stride(1) == 1, B_K=b.stride(1) == 1, BM=bm, BN=bn, BK=bk, GROUP=GROUP, CTAS=grid[0],
            ACC=_sum_type(a.dtype), TF32=tf32, SPLIT=split, num_warps=warps, num_stages=stages,
        )  # fmt: skip

    return call


def candidates(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, ctas: int, *, tf32: bool = False) -> dict[str, Call]:
    """Name to call(a, b, c), of what is worth trying for these tensors on a device of that many multiprocessors."""
    m, n = a.shape[0], b.shape[0]
    configs = FLAT if m <= 16 else LARGE if m * n >= 2048**2 else LARGE + MIDDLE
    found = {f"grouped {x[0]}x{x[1]}": grouped(x, tf32) for x in configs}
    aligned = all(s == 1 or s * x.element_size() % 16 == 0 for x in (a, b, c) for s in x.stride())
    if a.dim() == 2 and aligned and m > 16:
        found |= {f"persistent {x[0]}x{x[1]}": persistent(x, tf32, ctas) for x in PERSISTENT}
    return found
