"""Grouped products of fp8 whose scales belong to blocks: the groups of grouped_gemm, the sums of fp8_block_gemm.

What to learn: a kernel of parts is another kernel for a few lines. grouped_gemm finds a group's tiles, brings them and
stores them; how a warpgroup multiplies is an object, and the one of fp8_block_gemm fits as well as its own. Scales of A
belong to its rows, wherever their group begins, and each group's B has scales of its own.

For each group g: C_g (M_g, N) = sum over blocks b of K: SA_g (M_g, b) * SB_g (N / 128, b) * (A_g (M_g, K) B_g (N, K)^T
over the block). Contiguous: A is (M, K), SA (M, K / 128), C (M, N), and ends (G,) says before which row each group
ends. Masked: A is (G, M, K), SA (G, M, K / 128), C (G, M, N), and counts (G,) says how many rows of each count. B is
(G, N, K), SB (G, N / 128, K / 128). A and B are e4m3 and contiguous along K, C is bf16 and contiguous along N, the
scales are Float32 in any order. Rows of no group stay as they are.
"""

from __future__ import annotations

import torch
from tilewright.examples.fp8_block_gemm import quantized as quantized_matrix
from tilewright.examples.fp8_block_gemm import reference as product
from tilewright.examples.grouped_gemm import argument, by_group, choose_cluster, grouped_gemm

import tilewright as cutlass
from tilewright import cute

PICTURE = "(2,(2,16)):(2,(1,4))"  # a thread's sums of 128 columns: its two rows, its columns


@cute.jit
def grouped_fp8_gemm(
    mA: cute.Tensor, mSA: cute.Tensor, mB: cute.Tensor, mSB: cute.Tensor, mC: cute.Tensor, ends: cute.Tensor,
    ctas: cutlass.Constexpr, cluster: cutlass.Constexpr = (1, 1), is_gated: cutlass.Constexpr = False,
):  # fmt: skip
    """ctas: how many the device runs at a time; cluster: as for grouped_gemm, see choose_cluster."""
    scales = by_group(mSA, (1, 2, 0) if len(mSA.shape) == 3 else (0, 1, None)), by_group(mSB, (1, 2, 0))
    grouped_gemm(mA, mB, mC, ends, ctas, cluster, is_gated, scales)


def quantized(x, rows):
    """x (.., rows, K) as e4m3 and scales, (.., rows / `rows`, K / 128), as fp8_block_gemm has them."""
    each = [quantized_matrix(one, rows) for one in x.reshape(-1, *x.shape[-2:])]
    values, scales = (torch.stack(found) for found in zip(*each, strict=True))
    return values.reshape(x.shape), scales.reshape(*x.shape[:-2], *scales.shape[-2:])


def reference(a, scales_a, b, scales_b, ends):
    """C in float64, of the elements as they were rounded to e4m3; rows of no group are zero."""
    c = torch.zeros(*a.shape[:-1], b.shape[1], dtype=torch.float64, device=a.device)
    first = 0
    for group, end in enumerate(ends.tolist()):
        rows = (group, slice(0, end)) if a.ndim == 3 else slice(first, end)
        c[rows] = product(a[rows], scales_a[rows], b[group], scales_b[group])
        first = end
    return c


def arguments(a, scales_a, b, scales_b, c, ends):
    """The tensors of torch as those of a kernel: A, its scales, B, its scales, C, the groups' ends or counts."""
    plain = cute.runtime.from_dlpack
    return argument(a), plain(scales_a), argument(b), plain(scales_b), argument(c), plain(ends)


# rows of the groups, N, K, rows that each could have (masked; None: contiguous)
CASES = (
    ((130, 0, 64, 1), 264, 144, None),
    ((3, 0, 140), 136, 256, 192),
)


def problem(device: str):
    """A small one: two groups, of which one ends inside of a tile."""
    a, scales_a = quantized(torch.randn(256, 256, device=device), 1)
    b, scales_b = quantized(torch.randn(2, 256, 256, device=device), 128)
    c = torch.empty(256, 256, device=device, dtype=torch.bfloat16)
    ends = torch.tensor([100, 256], dtype=torch.int32, device=device)
    return grouped_fp8_gemm, *arguments(a, scales_a.T.contiguous().T, b, scales_b, c, ends), 2


def check(device: str) -> None:
    for rows, n, k, most in CASES:
        counts = torch.tensor(rows, dtype=torch.int32, device=device)
        ends = counts if most else counts.cumsum(0, dtype=torch.int32)
        leading = (len(rows), most) if most else (sum(rows),)
        a, scales_a = quantized(torch.randn(*leading, k, device=device), 1)
        b, scales_b = quantized(torch.randn(len(rows), n, k, device=device), 128)
        scales_a = scales_a.mT.contiguous().mT  # neighbouring rows' scales side by side
        c = torch.zeros(*leading, n, device=device, dtype=torch.bfloat16)
        cluster = choose_cluster(sum(rows), len(rows), n)
        share = cluster[0] * cluster[1]
        is_gpu = device == "cuda"
        ctas = cutlass.utils.HardwareInfo().get_max_active_clusters(share) * share if is_gpu else 4
        grouped_fp8_gemm(*arguments(a, scales_a, b, scales_b, c, ends), ctas, cluster)
        expected = reference(a, scales_a, b, scales_b, ends)
        torch.testing.assert_close(c, expected.bfloat16(), rtol=1e-2, atol=2e-2)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
