"""Grouped products and fp8 with scales of blocks on a GPU: random problems beside float64, equal from run to run."""

from __future__ import annotations

import runpy

import pytest

import tilewright as cutlass
from places import ROOT
from tilewright import _core, cute

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    pytest.mark.skipif(
        not torch.cuda.is_available() or torch.cuda.get_device_capability()[0] != 9, reason="wgmma is Hopper's"
    ),
]

GROUPED, BLOCKS, BOTH = (
    runpy.run_path(str(ROOT / "examples" / f"{x}.py")) for x in ("grouped_gemm", "fp8_block_gemm", "grouped_fp8_gemm")
)
PROBLEMS, BATCHES = 500, 10


def below(limit: int) -> int:
    return int(torch.randint(0, limit, (1,)))


def clusters(ctas: int) -> int:
    return cutlass.utils.HardwareInfo().get_max_active_clusters(ctas)


def of_any_extents(x, step=8):
    """What is compiled for it serves all other extents; the last one is a multiple of `step`."""
    made = cute.runtime.from_dlpack(x, assumed_align=16)
    for mode in range(x.ndim):
        divisor = step if mode == x.ndim - 1 else 1
        made.mark_compact_shape_dynamic(mode, stride_order=x.dim_order(), divisibility=divisor)
    return made


def of_any_strides(x, leading):
    return cute.runtime.from_dlpack(x).mark_layout_dynamic(leading_dim=leading)


def assert_rounded(c, expected, again):
    assert torch.equal(c.view(torch.int16), again.view(torch.int16))
    errors = [float((x.double() - expected).norm()) for x in (c, expected.to(c.dtype))]
    assert errors[0] <= 1.1 * errors[1] + 1e-9


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_groups(batch):
    for seed in range(batch, PROBLEMS, BATCHES):
        torch.manual_seed(seed)
        dtype = (torch.bfloat16, torch.float16)[below(2)]
        counts = torch.tensor([below(400) for _ in range(1 + below(9))], dtype=torch.int32)
        n, k, is_masked = 8 * (1 + below(100)), 8 * (1 + below(60)), bool(below(2))
        ends = (counts if is_masked else counts.cumsum(0, dtype=torch.int32)).cuda()
        leading = (len(counts), 400) if is_masked else (int(counts.sum()) + 3,)
        a = torch.randn(*leading, k, device="cuda").to(dtype)
        b = torch.randn(len(counts), n, k, device="cuda").to(dtype)
        cluster = ((1, 1), (2, 1), (1, 2))[below(3)]
        results = []
        for _ in range(2):
            c = torch.zeros(*leading, n, device="cuda", dtype=dtype)
            tensors = *map(of_any_extents, (a, b, c)), of_any_strides(ends, 0)
            ctas = clusters(cluster[0] * cluster[1]) * cluster[0] * cluster[1]
            GROUPED["grouped_gemm"](*tensors, ctas, cluster)
            results.append(c)
        assert_rounded(results[0], GROUPED["reference"](a, b, ends), results[1])


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_blocks(batch):
    for seed in range(batch, PROBLEMS, BATCHES):
        torch.manual_seed(seed)
        m, n, k = 1 + below(600), 8 * (1 + below(100)), 16 * (1 + below(60))
        # Rows of very different size: a scale at the wrong place is seen.
        a, b = (torch.randn(x, k).cuda() * torch.exp2(torch.randint(-6, 6, (x, 1)).cuda()) for x in (m, n))
        a, scales_a = BLOCKS["quantized"](a, 1)
        b, scales_b = BLOCKS["quantized"](b, 128)
        scales_a, scales_b = scales_a.T.contiguous().T, scales_b.contiguous()
        results = []
        for _ in range(2):
            c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
            scales = of_any_strides(scales_a, 0), of_any_strides(scales_b, 1)
            tensors = of_any_extents(a, 16), scales[0], of_any_extents(b, 16), scales[1], of_any_extents(c)
            BLOCKS["gemm"](*tensors, clusters(2))
            results.append(c)
        expected = BLOCKS["reference"](a, scales_a, b, scales_b)
        assert torch.equal(results[0].view(torch.int16), results[1].view(torch.int16))
        # wgmma of fp8 cuts products off at 14 bits below the largest.
        assert float((results[0].double() - expected).norm() / expected.norm()) <= 4e-3


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_groups_of_blocks(batch):
    for seed in range(batch, PROBLEMS, BATCHES):
        torch.manual_seed(seed)
        counts = torch.tensor([below(400) for _ in range(1 + below(9))], dtype=torch.int32)
        n, k, is_masked = 8 * (1 + below(100)), 16 * (1 + below(60)), bool(below(2))
        ends = (counts if is_masked else counts.cumsum(0, dtype=torch.int32)).cuda()
        leading = (len(counts), 400) if is_masked else (int(counts.sum()) + 3,)
        a, b = (
            torch.randn(*shape, k).cuda() * torch.exp2(torch.randint(-6, 6, (*shape, 1)).cuda())
            for shape in (leading, (len(counts), n))
        )
        (a, scales_a), (b, scales_b) = BOTH["quantized"](a, 1), BOTH["quantized"](b, 128)
        scales_a = scales_a.mT.contiguous().mT
        cluster = ((1, 1), (2, 1), (1, 2))[below(3)]
        share = cluster[0] * cluster[1]
        results = []
        for _ in range(2):
            c = torch.zeros(*leading, n, device="cuda", dtype=torch.bfloat16)
            scales = of_any_strides(scales_a, scales_a.ndim - 2), of_any_strides(scales_b, 2)
            tensors = of_any_extents(a, 16), scales[0], of_any_extents(b, 16), scales[1], of_any_extents(c)
            BOTH["grouped_fp8_gemm"](*tensors, of_any_strides(ends, 0), clusters(share) * share, cluster)
            results.append(c)
        expected = BOTH["reference"](a, scales_a, b, scales_b, ends)
        assert torch.equal(results[0].view(torch.int16), results[1].view(torch.int16))
        assert float((results[0].double() - expected).norm() / (expected.norm() + 1e-9)) <= 4e-3
