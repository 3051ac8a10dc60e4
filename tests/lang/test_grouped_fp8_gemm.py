"""The example of grouped products of fp8: each row and each group has its own scales, nothing is spilled."""

from __future__ import annotations

import runpy

import pytest

from compiling import nvrtc
from places import ROOT
from tilewright import cute

torch = pytest.importorskip("torch")

PROGRAM = runpy.run_path(str(ROOT / "examples" / "grouped_fp8_gemm.py"))
CLUSTERS = ((1, 1), (2, 1), (1, 2))


def operands(rows, n, k, most=None):
    """Rows of very different size: a scale at the wrong place is seen."""
    counts = torch.tensor(rows, dtype=torch.int32)
    leading = (len(rows), most) if most else (sum(rows) + 5,)
    a = torch.randn(*leading, k) * torch.exp2(torch.randint(-6, 6, (*leading, 1)).float())
    b = torch.randn(len(rows), n, k) * torch.exp2(torch.randint(-6, 6, (len(rows), 1, 1)).float())
    a, scales_a = PROGRAM["quantized"](a, 1)
    b, scales_b = PROGRAM["quantized"](b, 128)
    return a, scales_a.mT.contiguous().mT, b, scales_b, counts if most else counts.cumsum(0, dtype=torch.int32)


def multiply(a, scales_a, b, scales_b, ends, cluster, check):
    """C; its rows of no group keep what they had, 7."""
    c = torch.full((*a.shape[:-1], b.shape[1]), 7, dtype=torch.bfloat16)
    with cute.on_cpu(check=check):
        PROGRAM["grouped_fp8_gemm"](*PROGRAM["arguments"](a, scales_a, b, scales_b, c, ends), 4, cluster)
    return c


@pytest.mark.parametrize("seed", range(6))
def test_errors_are_those_of_rounding(seed):
    torch.manual_seed(seed)
    most = 200 if seed % 2 else None
    rows = [int(x) for x in torch.randint(0, 200, (int(torch.randint(1, 5, (1,))),))]
    tensors = operands(rows, 8 * int(torch.randint(1, 60, (1,))), 16 * int(torch.randint(1, 30, (1,))), most)
    c = multiply(*tensors, CLUSTERS[seed % 3], check=seed < 3)
    expected, ends = PROGRAM["reference"](*tensors), tensors[-1]
    inside = torch.arange(c.shape[-2]) < (ends[:, None] if most else ends[-1])
    assert (c[~inside] == 7).all()
    errors = [float((x[inside].double() - expected[inside]).norm()) for x in (c, expected.bfloat16())]
    assert errors[0] <= 1.1 * errors[1] + 1e-9


@nvrtc
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_sums_stay_in_registers(cluster, is_masked):
    a, b, c = (torch.empty(4, 1024, 1024, dtype=x) for x in (torch.float8_e4m3fn, torch.float8_e4m3fn, torch.bfloat16))
    scales_a, scales_b = torch.empty(4, 1024, 8), torch.empty(4, 8, 8)
    if not is_masked:
        a, c, scales_a = (x.flatten(0, 1) for x in (a, c, scales_a))
    ends = torch.zeros(4, dtype=torch.int32)
    tensors = PROGRAM["arguments"](a, scales_a.mT.contiguous().mT, b, scales_b, c, ends)
    compiled = cute.compile(PROGRAM["grouped_fp8_gemm"], *tensors, 132, cluster, options="--gpu-arch sm_90a")
    (kernel,) = compiled.kernels
    assert (compiled.spills, compiled.registers) == (0, 168)
    assert "serialized" not in kernel.binary.log
