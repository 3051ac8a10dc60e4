"""B that stays in shared memory, boxes that clusters share in parts along K, and C along M by boxes, on a GPU."""

from __future__ import annotations

import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, TFloat32, _core
from tilewright.devices import H200
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.sm90.cases import Config
from tilewright.kernels.gemm.sm90.choose import _majors, plan_of

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

ALIGNED = (256, 256, 256)
TYPES = {
    BFloat16: torch.bfloat16, Float16: torch.float16, TFloat32: torch.float32, Float8E4M3FN: torch.float8_e4m3fn,
    Float32: torch.float32,
}  # fmt: skip
TALL = 34_000  # rows, of more than two tiles for each CTA of a device
# type, (m, n, k), order of B, configuration, CTAs
HELD = [
    (BFloat16, (TALL, 16, 24), "k", Config(64, 16, 1), 132),
    (BFloat16, (TALL + 8, 24, 128), "n", Config(64, 64, 1), 132),
    (BFloat16, (2000, 40, 456), "n", Config(128, 64), 3),
    (BFloat16, (2003, 136, 200), "k", Config(128, 144, ping_pong=True), 5),
    (Float16, (2000, 256, 128), "k", Config(128, 256), 4),
    (TFloat32, (2004, 32, 72), "k", Config(256, 32), 2),
    (Float8E4M3FN, (4096, 32, 336), "k", Config(192, 32, 3), 6),
    (BFloat16, (1000, 8, 64), "k", Config(64, 8, 1, resident=4), 7),
]
# type, (m, n, k), orders of A and B, configuration
PARTS = [
    (BFloat16, (1000, 40, 464), "kn", Config(64, 64, 1, cluster=(4, 1))),
    (BFloat16, (520, 200, 328), "kn", Config(128, 192, cluster=(2, 1))),
    (BFloat16, (520, 64, 1032), "kn", Config(64, 64, 1, cluster=(8, 1))),
    (Float16, (72, 1000, 200), "mk", Config(64, 48, 1, cluster=(1, 4))),
    (Float16, (200, 520, 136), "mn", Config(64, 64, 1, cluster=(2, 2))),
    (TFloat32, (328, 520, 200), "mk", Config(64, 96, 1, cluster=(1, 4))),
    (BFloat16, (392, 264, 584), "mn", Config(64, 192, ping_pong=True, cluster=(2, 1))),
]
COLUMNS = [
    (BFloat16, (520, 304, 200), Config(128, 152)),
    (BFloat16, (136, 520, 1032), Config(64, 104, 1, cluster=(1, 2))),
    (Float16, (1000, 16, 328), Config(64, 16, 1, resident=4)),
    (BFloat16, (264, 136, 2056), Config(64, 64, 1, split_k=2)),
    (BFloat16, (264, 264, 136), Config(128, 256, cluster=(2, 1))),
    (BFloat16, (392, 520, 264), Config(128, 120, ping_pong=True, cluster=(1, 2))),
    (BFloat16, (584, 200, 72), Config(192, 176, 3)),
]


@pytest.fixture(scope="module", autouse=True)
def hopper():
    if _core.cuda.device(0)["compute_capability"] != (9, 0):
        pytest.skip("the device is not Hopper, and has no wgmma")


def operand(rows, k, order, dtype):
    x = torch.randn((rows, k) if order == "k" else (k, rows), device="cuda")
    x = x.to(TYPES[dtype])
    return x if order == "k" else x.t()


def compare(plan, a, b, along="n", out=None, **epilogue):
    """The same bits over other contents of C, and the error of one rounding."""
    m, n = a.shape[0], b.shape[0]
    expected, results = a.double() @ b.double().mT, []
    for poison in (7, 9):
        c = torch.full((m, n) if along == "n" else (n, m), poison, device="cuda").to(out or torch.float32)
        c = c if along == "n" else c.t()
        plan.run(a, b, c)
        results.append(c)
    assert torch.equal(*results)
    error = float((results[0].double() - expected).norm() / expected.norm())
    assert error <= (1e-3 if plan.problem.a_type is TFloat32 else 3e-3), error


@pytest.mark.sanitized
@pytest.mark.parametrize("case", HELD, ids=lambda x: f"{x[0].__name__}-{'x'.join(map(str, x[1]))}")
def test_b_stays(case):
    dtype, (m, n, k), order, config, workers = case
    p = problem_of(m, n, k, dtype, b=order)
    config_of_few = config._replace(resident=1)
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    if not plan.held_b:  # of few tiles, for which the rule does not hold B
        steps = -(-k // plan.tiler_mnk[2])
        many = problem_of(132 * 4 * config.bM * config.resident, n, k, dtype, b=order)
        plan = plan_of(config, many, _majors(many, ALIGNED), ALIGNED, H200).replace(problem=p)
        assert plan.held_b == steps, config_of_few
    plan = plan.replace(workers=workers)
    torch.manual_seed(1)
    a, b = operand(m, k, "k", dtype), operand(n, k, order, dtype)
    compare(plan, a, b, out=TYPES[p.c_type])


@pytest.mark.sanitized
@pytest.mark.parametrize("case", PARTS, ids=lambda x: f"{x[2]}-{x[3].bM}x{x[3].bN}-{x[3].cluster}")
def test_boxes_in_parts_along_k(case):
    dtype, (m, n, k), orders, config = case
    p = problem_of(m, n, k, dtype, a=orders[0], b=orders[1])
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    assert max(x.parts for x in plan.operands()) > 1
    torch.manual_seed(2)
    compare(plan, operand(m, k, orders[0], dtype), operand(n, k, orders[1], dtype), out=TYPES[p.c_type])


@pytest.mark.sanitized
@pytest.mark.parametrize("case", COLUMNS, ids=lambda x: f"{x[2].bM}x{x[2].bN}-{x[2].cluster}-{x[2].split_k}")
def test_columns_of_any_width(case):
    dtype, (m, n, k), config = case
    p = problem_of(m, n, k, dtype, c="m")
    plan = plan_of(config, p, _majors(p, ALIGNED), ALIGNED, H200)
    assert plan is not None
    assert plan.store == "columns"
    torch.manual_seed(3)
    compare(plan, operand(m, k, "k", dtype), operand(n, k, "k", dtype), "m", TYPES[dtype])
