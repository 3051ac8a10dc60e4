"""The example of grouped products: right for any groups, no row of another one is touched, nothing is spilled."""

from __future__ import annotations

import runpy

import pytest

from compiling import nvrtc
from places import ROOT
from tilewright import cute
from tilewright.lang.cpu import KernelError

torch = pytest.importorskip("torch")

PATH = ROOT / "examples" / "grouped_gemm.py"
PROGRAM = runpy.run_path(str(PATH))
CLUSTERS = ((1, 1), (2, 1), (1, 2))


def multiply(a, b, ends, cluster=(1, 1), check=True, gemm=PROGRAM["grouped_gemm"], is_gated=False):
    """C; its rows of no group keep what they had, 7."""
    c = torch.full((*a.shape[:-1], b.shape[1] // (2 if is_gated else 1)), 7, dtype=a.dtype)
    with cute.on_cpu(check=check):
        gemm(*map(PROGRAM["argument"], (a, b, c)), cute.runtime.from_dlpack(ends), 4, cluster, is_gated)
    return c


def operands(dtype, rows, n, k, most=None, orders="kk"):
    counts = torch.tensor(rows, dtype=torch.int32)
    leading = (len(rows), most) if most else (sum(rows) + 5,)
    a = torch.randn(*leading, k) if orders[0] == "k" else torch.randn(*leading[:-1], k, -(-leading[-1] // 8) * 8).mT
    b = torch.randn(len(rows), n, k) if orders[1] == "k" else torch.randn(len(rows), k, n).mT
    a = a.to(dtype)[..., : leading[-1], :]  # with padded columns where it lies along M
    return a, b.to(dtype), counts if most else counts.cumsum(0, dtype=torch.int32)


def kept(a, ends):
    """Which rows belong to no group."""
    if a.ndim == 3:
        return torch.arange(a.shape[1]) >= ends[:, None]
    return torch.arange(a.shape[0]) >= ends[-1]


@pytest.mark.parametrize("seed", range(10))
def test_errors_are_those_of_torch(seed):
    torch.manual_seed(seed)
    dtype = (torch.bfloat16, torch.float16)[seed % 2]
    most = 200 if seed % 3 == 0 else None
    rows = [int(x) for x in torch.randint(0, 200, (int(torch.randint(1, 6, (1,))),))]
    n, k = (8 * int(x) for x in torch.randint(1, 40, (2,)))
    orders = ("kk", "kn", "mk", "mn")[seed % 4] if most is None else "kk"
    a, b, ends = operands(dtype, rows, n, k, most, orders)
    c = multiply(a, b, ends, CLUSTERS[seed % 3], check=seed < 5)
    expected, outside = PROGRAM["reference"](a, b, ends), kept(a, ends)
    assert (c[outside] == 7).all()
    inside = ~outside
    theirs = expected.to(dtype)
    errors = [float((x[inside].double() - expected[inside]).norm()) for x in (c, theirs)]
    assert errors[0] <= 1.1 * errors[1] + 1e-9


def test_gates_and_values_are_multiplied_where_they_are():
    torch.manual_seed(0)
    a, b, ends = operands(torch.bfloat16, (70, 0, 130), 2 * 136, 72)
    c = multiply(a, b, ends, (2, 1), is_gated=True)
    gates, values = PROGRAM["reference"](a, b, ends).chunk(2, 1)
    expected = torch.nn.functional.silu(gates) * values
    torch.testing.assert_close(c[:200], expected[:200].bfloat16(), rtol=1e-2, atol=1e-2)
    assert (c[200:] == 7).all()


def test_no_access_takes_more_than_the_least():
    """No bank conflicts, and no more sectors than the bytes need."""
    gemm, *arguments = PROGRAM["problem"]("cpu")
    assert cute.profile(gemm, *arguments).worst == []


@nvrtc
@pytest.mark.parametrize("is_masked", [False, True])
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_tensor_cores_are_kept_busy(cluster, is_masked):
    a, b, c = (torch.empty(4, 1024, 1024, dtype=torch.bfloat16) for _ in range(3))
    a, c = (a, c) if is_masked else (a.flatten(0, 1), c.flatten(0, 1))
    ends = cute.runtime.from_dlpack(torch.zeros(4, dtype=torch.int32))
    tensors = map(PROGRAM["argument"], (a, b, c))
    compiled = cute.compile(PROGRAM["grouped_gemm"], *tensors, ends, 132, cluster, options="--gpu-arch sm_90a")
    (kernel,) = compiled.kernels
    assert (compiled.spills, compiled.registers) == (0, 168)
    assert "serialized" not in kernel.binary.log
    assert compiled.ptx.count("wgmma.mma_async.sync") == 4  # 64 elements along K


@pytest.mark.parametrize(
    ("text", "planted", "kinds"),
    [
        ("self.stages.consumer_wait(self.state)", "pass", {"race", "not written"}),
        ('cute.arch.fence_proxy("async.shared", space="cta")', "pass", {"missing fence"}),
        ("        warpgroup.wait_group(0)\n", "", {"not landed"}),
    ],
)
def test_a_planted_defect_is_found(text, planted, kinds, tmp_path):
    source = PATH.read_text()
    assert text in source
    path = tmp_path / "planted.py"
    path.write_text(source.replace(text, planted))
    gemm = runpy.run_path(str(path))["grouped_gemm"]
    a, b, ends = operands(torch.float16, (128, 64), 256, 128)
    with pytest.raises(KernelError) as info:
        multiply(a, b, ends, gemm=gemm)
    assert {finding.kind for finding in info.value.findings} & kinds, str(info.value)


def test_a_ragged_end_by_tma_would_touch_the_next_group(tmp_path):
    """What the rows of their own are for: a store of whole boxes alone overwrites what is not its group's."""
    path = tmp_path / "planted.py"
    path.write_text(PATH.read_text().replace("is_whole = left >= PART[0]", "is_whole = left > 0"))
    gemm = runpy.run_path(str(path))["grouped_gemm"]
    a, b, ends = operands(torch.float16, (70, 60), 64, 64)
    assert not (multiply(a, b, ends, check=False, gemm=gemm)[130:] == 7).all()
