"""The example of fp8 with scales of blocks: as right as the rounding of its sums, and nothing is spilled."""

from __future__ import annotations

import runpy

import pytest

from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "fp8_block_gemm.py"
PROGRAM = runpy.run_path(str(PATH))
PARTS = PROGRAM["PARTS"], (64, 64, 64, 64)


def operands(m, n, k, by_rows=True):
    # Blocks of very different size: a scale at the wrong place is seen.
    a, b = (torch.randn(x, k) * torch.exp2(torch.randint(-6, 6, (x, 1)).float()) for x in (m, n))
    a, scales_a = PROGRAM["quantized"](a, 1)
    b, scales_b = PROGRAM["quantized"](b, 128)
    return a, scales_a.T.contiguous().T if by_rows else scales_a.contiguous(), b, scales_b.contiguous()


def multiply(tensors, check=True, gemm=PROGRAM["gemm"], parts=PROGRAM["PARTS"]):
    c = torch.full((tensors[0].shape[0], tensors[2].shape[0]), float("nan"), dtype=torch.bfloat16)
    with cute.on_cpu(check=check):
        gemm(*PROGRAM["arguments"](*tensors, c), 2, parts)
    return c


@pytest.mark.parametrize("seed", range(8))
def test_errors_are_those_of_rounding(seed):
    torch.manual_seed(seed)
    m, n = int(torch.randint(1, 300, (1,))), 8 * int(torch.randint(1, 60, (1,)))
    tensors = operands(m, n, 16 * int(torch.randint(1, 30, (1,))), seed % 4 < 2)
    c = multiply(tensors, check=seed < 4, parts=PARTS[seed % 2])
    expected = PROGRAM["reference"](*tensors)
    errors = [float((x.double() - expected).norm()) for x in (c, expected.bfloat16())]
    assert errors[0] <= 1.1 * errors[1] + 1e-9


def test_no_access_takes_more_than_the_least():
    """No bank conflicts, and no more sectors than the bytes need."""
    gemm, *arguments = PROGRAM["problem"]("cpu")
    assert cute.profile(gemm, *arguments).worst == []


@nvrtc
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_the_sums_stay_in_registers(parts):
    m, n, k = 4096, 7168, 2048
    a, b = (torch.empty(x, k, dtype=torch.float8_e4m3fn) for x in (m, n))
    scales = torch.empty(k // 128, m).T, torch.empty(n // 128, k // 128)
    c = torch.empty(m, n, dtype=torch.bfloat16)
    tensors = PROGRAM["arguments"](a, scales[0], b, scales[1], c)
    compiled = cute.compile(PROGRAM["gemm"], *tensors, 66, parts, options="--gpu-arch sm_90a")
    (kernel,) = compiled.kernels
    assert (compiled.spills, compiled.registers) == (0, 168)
    assert "serialized" not in kernel.binary.log
    assert compiled.ptx.count("wgmma.mma_async.sync") == len(parts) * 4  # 128 elements along K


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("warpgroup.wait_group(0)", "pass", {"not landed"}),
        ("self.stages.consumer_wait(self.state)", "pass", {"race", "not written"}),
        ("src.shape[0] - 1\n", "src.shape[0]\n", {"out of bounds"}),
        ("cute.arch.cp_async_mbarrier_arrive_noinc(barrier)", "pass", {"deadlock"}),
    ],
)
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    source = PATH.read_text()
    assert text in source
    path = tmp_path / "planted.py"
    path.write_text(source.replace(text, planted))
    gemm = runpy.run_path(str(path))["gemm"]
    with pytest.raises(KernelError) as info:
        multiply(operands(130, 128, 256), gemm=gemm)
    assert {finding.kind for finding in info.value.findings} & kinds, str(info.value)
