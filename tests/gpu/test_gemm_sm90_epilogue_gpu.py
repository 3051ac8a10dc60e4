"""Epilogues of the Hopper kernel: C brought before the sums end, biases along both modes, shares of a split tile."""

from __future__ import annotations

import pytest

from tilewright import BFloat16, Float16, Float32, TFloat32, _core
from tilewright.devices import H200
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, _majors, plan_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

ALIGNED = (256, 256, 256)
TORCH = {BFloat16: torch.bfloat16, Float16: torch.float16, Float32: torch.float32}
CONFIGS = {
    "cluster": Config(128, 256, cluster=(2, 1)),
    "one-box": Config(128, 256, buffers=1),
    "three-boxes": Config(128, 128, buffers=3),
    "two-blocks": Config(256, 128),
    "ping-pong": Config(128, 128, ping_pong=True, cluster=(2, 1)),
    "split": Config(128, 128, split_k=2, buffers=1),
    "split-4": Config(64, 128, 1, split_k=4),
    "split-blocks": Config(128, 128, 1, split_k=2),
}
# Boxes along M of 8, of an odd number of eights and of 48 columns, and those of parts of a split.
NARROW = {
    "8 columns": Config(64, 8, 1),
    "40 columns": Config(128, 80, 1),
    "48 columns": Config(128, 144),
    "two blocks of 160": Config(256, 160),
    "three consumers": Config(192, 192, 3),
    "split columns": Config(128, 80, split_k=2),
}
EPILOGUES = {
    "beta": Epilogue(beta=0.5),
    "bias n": Epilogue(bias="n", bias_type=Float32, bias_stride=1),
    "bias m, relu": Epilogue(2.0, bias="m", bias_type=Float32, bias_stride=3, activation="relu"),
    "all, gelu_tanh": Epilogue(0.5, -1.5, "n", Float32, 2, "gelu_tanh"),
    "silu": Epilogue(activation="silu"),
}
ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "silu": torch.nn.functional.silu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if _core.cuda.device(0)["compute_capability"] != (9, 0):
        pytest.skip("the device is not Hopper, and has no wgmma")


@pytest.mark.sanitized
@pytest.mark.parametrize("along", ["n", "m"])
@pytest.mark.parametrize("epilogue", ["bias n", "bias m, relu", "all, gelu_tanh"])
@pytest.mark.parametrize("name", CONFIGS)
def test_epilogue_of_paired_rows(name, epilogue, along):
    """A of TFloat32 along M comes from registers: other rows, and boxes of C along either mode."""
    e = EPILOGUES[epilogue]
    torch.manual_seed(3)
    for m, n, k, pad in ((456, 584, 264, 0), (456, 584, 136, 3)):  # by boxes, and from registers
        p = problem_of(m, n, k, TFloat32, a="m", c=along, epilogue=e, pads=(0, 0, pad))
        configs = CONFIGS[name], CONFIGS[name]._replace(bN=64)  # where the larger one leaves too few registers
        plans = [plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200) for config in configs]
        plan = plans[0] or plans[1]
        assert plan is not None
        assert (
            plan.store == {("n", 0): "boxes", ("n", 3): "singles", ("m", 0): "columns", ("m", 3): "singles"}[along, pad]
        )
        plan = plan.replace(workers=4)
        A, B = torch.randn(k, m, device="cuda").t(), torch.randn(n, k, device="cuda")
        bias = torch.randn((m if e.bias == "m" else n) * max(e.bias_stride, 1), device="cuda")[:: e.bias_stride or 1]
        given = torch.randn((m, n + pad) if along == "n" else (n, m + pad), device="cuda")
        rows, columns = (slice(m), slice(n)) if along == "n" else (slice(n), slice(m))
        inside = given[rows, columns] if along == "n" else given[rows, columns].t()
        expected = e.alpha * (A.double() @ B.double().mT) + e.beta * inside.double()
        if e.bias:
            expected += bias.double()[:, None] if e.bias == "m" else bias.double()
        expected = ACTIVATIONS[e.activation](expected)
        results = []
        for _ in range(2):
            C = given.clone()
            view = C[rows, columns] if along == "n" else C[rows, columns].t()
            plan.run(A, B, view, bias=bias if e.bias else None)
            assert torch.equal(C[:, columns.stop :], given[:, columns.stop :])
            results.append(view)
        assert torch.equal(*results)
        error = float((results[0].double() - expected).norm() / expected.norm())
        assert error <= 1e-3, (m, n, plan)


@pytest.mark.sanitized
@pytest.mark.parametrize("out", [BFloat16, Float16], ids=str)
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("name", [*CONFIGS, *NARROW])
def test_epilogue_of_columns(name, epilogue, out):
    """C of 16 bits along M, by boxes whose columns are those of the tile."""
    e, config = EPILOGUES[epilogue], {**CONFIGS, **NARROW}[name]
    torch.manual_seed(4)
    m, n, k, pad = 456, 583, 264, 8
    p = problem_of(m, n, k, Float16, out=out, c="m", epilogue=e, pads=(0, 0, pad))
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    assert plan.store == "columns"
    plan = plan.replace(workers=4)
    A, B = (torch.randn(rows, k, device="cuda").half() for rows in (m, n))
    bias = torch.randn((m if e.bias == "m" else n) * max(e.bias_stride, 1), device="cuda")[:: e.bias_stride or 1]
    given = torch.randn(n, m + pad, device="cuda").to(TORCH[out])
    expected = e.alpha * (A.double() @ B.double().mT) + e.beta * given[:, :m].t().double()
    if e.bias:
        expected += bias.double()[:, None] if e.bias == "m" else bias.double()
    expected = ACTIVATIONS[e.activation](expected)
    results = []
    for _ in range(2):
        C = given.clone()
        plan.run(A, B, C[:, :m].t(), bias=bias if e.bias else None)
        assert torch.equal(C[:, m:], given[:, m:])
        results.append(C)
    assert torch.equal(*results)
    error = float((results[0][:, :m].t().double() - expected).norm() / expected.norm())
    assert error <= {BFloat16: 3e-3, Float16: 5e-4}[out], plan


@pytest.mark.sanitized
@pytest.mark.parametrize("out", [BFloat16, Float16, Float32], ids=str)
@pytest.mark.parametrize("epilogue", EPILOGUES)
@pytest.mark.parametrize("name", CONFIGS)
def test_epilogue(name, epilogue, out):
    e = EPILOGUES[epilogue]
    torch.manual_seed(2)
    for m, n, k, pad in ((456, 584, 264, 0), (456, 583, 264, 5)):  # by boxes, and from registers
        p = problem_of(m, n, k, Float16, out=out, epilogue=e, pads=(0, 0, pad))
        plan = plan_of(CONFIGS[name], p, _majors(p, ALIGNED), ALIGNED, H200)
        assert plan is not None
        plan = plan.replace(workers=4)
        A, B = (torch.randn(rows, k, device="cuda").half() for rows in (m, n))
        bias = torch.randn((m if e.bias == "m" else n) * max(e.bias_stride, 1), device="cuda")[:: e.bias_stride or 1]
        given = torch.randn(m, n + pad, device="cuda").to(TORCH[out])
        expected = e.alpha * (A.double() @ B.double().mT) + e.beta * given[:, :n].double()
        if e.bias:
            expected += bias.double()[:, None] if e.bias == "m" else bias.double()
        expected = ACTIVATIONS[e.activation](expected)
        results = []
        for _ in range(2):
            C = given.clone()
            plan.run(A, B, C[:, :n], bias=bias if e.bias else None)
            assert torch.equal(C[:, n:], given[:, n:])
            results.append(C[:, :n])
        assert torch.equal(*results)
        error = float((results[0].double() - expected).norm() / expected.norm())
        assert error <= {BFloat16: 3e-3, Float16: 5e-4, Float32: 2e-6}[out], (m, n, plan)
