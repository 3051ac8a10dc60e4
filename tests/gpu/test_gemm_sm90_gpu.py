"""Every configuration of the Hopper kernel on the GPU: clusters, ping-pong, splits, all stores, orders and types."""

from __future__ import annotations

import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Int8, TFloat32, _core
from tilewright.devices import H200
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.sm90.choose import Sm90Configs, _majors, plan_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

from compile_plans import compile_all  # noqa: E402

TORCH = {
    BFloat16: torch.bfloat16, Float16: torch.float16, Float32: torch.float32, TFloat32: torch.float32, Int8: torch.int8,
    Float8E4M3FN: torch.float8_e4m3fn,
}  # fmt: skip
ALIGNED = (256, 256, 256)
# m, n, k, type, contiguous modes of A, B and C, output, batch: ragged along every mode.
PROBLEMS = [
    (264, 520, 328, BFloat16, "k", "k", "n", None, ()),
    (264, 520, 328, BFloat16, "m", "k", "n", None, ()),
    (264, 520, 328, Float16, "k", "n", "n", Float32, ()),
    (264, 520, 328, BFloat16, "m", "n", "n", None, ()),
    (264, 523, 328, BFloat16, "k", "k", "m", None, ()),
    (136, 75, 328, Float16, "m", "k", "m", None, (3,)),
    (130, 100, 96, TFloat32, "k", "k", "n", None, ()),
    (260, 520, 328, TFloat32, "m", "k", "n", None, ()),
    (260, 520, 328, TFloat32, "m", "k", "m", None, ()),
    (132, 104, 96, TFloat32, "m", "k", "m", None, (3,)),
    (132, 104, 40, TFloat32, "m", "k", "n", Float16, ()),
    (136, 1000, 512, Int8, "k", "k", "n", None, ()),
    (130, 104, 96, Float8E4M3FN, "k", "k", "n", None, ()),
    (136, 72, 64, BFloat16, "k", "n", "n", None, (3,)),
    (136, 72, 64, BFloat16, "k", "k", "n", Float32, (2, 3)),
]
STORES = {"boxes": ("pairs", "singles"), "columns": ("singles",), "pairs": ("singles",), "singles": ()}  # instead


def problem(m, n, k, dtype, a, b, c, out, batch):
    return problem_of(m, n, k, dtype, a=a, b=b, c=c, out=out, batch=batch)


def plans(p):
    """All configurations, each with the store that it would have, and one large and one small with every other, too."""
    majors = _majors(p, ALIGNED)
    for config in Sm90Configs.of(H200).configs:
        plan = plan_of(config, p, majors, ALIGNED, H200)
        if plan is None:
            continue
        yield plan
        if (config.bM, config.bN) in ((128, 256), (64, 128)):
            for store in STORES[plan.store]:
                yield plan.replace(store=store)


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if _core.cuda.device(0)["compute_capability"] != (9, 0):
        pytest.skip("the device is not Hopper, and has no wgmma")
    compile_all([plan for fields in PROBLEMS for plan in plans(problem(*fields))])


def matrix(rows, k, batch, dtype, contiguous):
    shape = (*batch[::-1], rows, k) if contiguous == "k" else (*batch[::-1], k, rows)
    x = torch.randn(shape, device="cuda")
    x = x if contiguous == "k" else x.mT
    if dtype is Int8:
        x = (x * 30).round().clamp(-128, 127)
    return x.to(TORCH[dtype])


@pytest.mark.parametrize("fields", PROBLEMS, ids=str)
def test_every_configuration(fields):
    m, n, k, dtype, a, b, c, _, batch = fields
    torch.manual_seed(0)
    p = problem(*fields)
    A, B = matrix(m, k, batch, dtype, a), matrix(n, k, batch, dtype, b)
    expected = A.double() @ B.double().mT
    modes = (*range(len(batch), len(batch) + 2), *reversed(range(len(batch))))  # torch's to CuTe's order
    for plan in plans(p):
        shape = (*batch[::-1], m, n) if c == "n" else (*batch[::-1], n, m)
        first = torch.full(shape, 7, dtype=TORCH.get(p.c_type, torch.int32), device="cuda")
        first = first if c == "n" else first.mT
        second = torch.full_like(first, 9)
        for C in (first, second):
            plan.run(*(x.permute(modes) for x in (A, B, C)))
        assert torch.equal(first, second), plan
        error = float((first.double() - expected).norm() / expected.norm())
        assert error <= (0 if dtype is Int8 else 3e-3), plan
