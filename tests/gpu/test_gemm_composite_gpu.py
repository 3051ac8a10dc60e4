"""GEMMs of several launches on a GPU, small ones: copies of operands, residues, and both, each called in all ways."""

from __future__ import annotations

import pytest

from tilewright import _core, kernels
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import pad
from tilewright.kernels.gemm.composite.residue import ResidueGemm, split
from tilewright.kernels.gemm.composite.split_k import SplitKGemm, parts_problem
from tilewright.kernels.gemm.composite.sum_parts import SumParts
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.gemm.sm90.kernel import SM90

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.sanitized,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

from compile_plans import SANITIZER  # noqa: E402
from copies import DEVICE  # noqa: E402
from gemm_samples import error, exact  # noqa: E402

LOOSE = (4, 4, 4)  # alignments of fp32


def padded(problem, sides):
    """The plan of gemm_simt for copies along M and N."""
    gemm = SIMT.choose(*pad(problem, LOOSE, sides, is_turned=True), H200, sides)
    return PaddedGemm.of(problem, LOOSE, sides, gemm)


def residue(problem, along, begin, sides=None):
    """The plan of two parts, the first one by copies of the operands of `sides`."""
    first, second = split(problem, along, begin)
    gemm = padded(first.problem, sides) if sides else choose_gemm(first.problem, LOOSE, H200)
    behind = choose_gemm(second.problem, LOOSE, H200)
    return ResidueGemm(problem=problem, gemm=gemm, residue=behind, along=along, begin=begin)


def split_k(problem, parts):
    """The plan of so many parts of K."""
    gemm = choose_gemm(parts_problem(problem, problem.k // parts), LOOSE, H200)
    sums = SumParts(problem=problem, parts=parts, wide=False)
    return SplitKGemm(problem=problem, gemm=gemm, sum=sums)


# What makes a plan of a problem of fp32, and how many kernels it launches.
PLANS = {
    "copy of A": (lambda p: padded(p, (True, False)), 2),
    "copies of A and B": (lambda p: padded(p, (True, True)), 3),
    "rows behind": (lambda p: residue(p, 0, 128), 2),
    "columns behind": (lambda p: residue(p, 1, 64), 2),
    "copies, columns behind": (lambda p: residue(p, 1, 64, (True, True)), 4),
    "parts of K": (lambda p: split_k(p, 5), 2),
}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def calls_of(plan, a, b, c, **told):
    """All ways to the same launches: the second call by `plan=` is one that is remembered."""
    bound = plan.bind(a, b, c, **{"bias": told["bias"]} if "bias" in told else {})
    return [
        lambda: kernels.gemm(a, b, c, plan=plan, **told),
        lambda: kernels.gemm(a, b, c, plan=plan, **told),
        lambda: plan.run(a, b, c, **{"bias": told["bias"]} if "bias" in told else {}),
        bound,
        bound,
    ]


@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize("name", PLANS)
def test_plans_of_several_launches(name, batch):
    """With all that an epilogue has; C is read, so each call begins with the same numbers."""
    if SANITIZER == "initcheck" and ("cop" in name or "parts" in name):
        pytest.skip(
            "what lies behind the rows of a workspace is never written, and only reaches sums that are not stored"
        )
    m, n, k = 131, 69, 45
    modes = (batch,) if batch else ()

    def matrix(rows, columns):
        found = torch.randn(*modes, rows, columns, device=DEVICE)
        return found.permute(1, 2, 0) if batch else found

    a, b, before = matrix(m, k), matrix(n, k), matrix(m, n)
    told = {"alpha": 0.5, "beta": 2.0, "bias": torch.randn(n, device=DEVICE), "activation": "relu"}
    c = before.clone()
    direct = kernels.gemm.plan(a, b, c, **told)
    make, launches = PLANS[name]
    plan = make(direct.problem.swapped() if direct.swapped else direct.problem)
    assert len(plan.single_plans) == launches
    outside = (2, 0, 1) if batch else (0, 1)
    right = 0.5 * exact(a.permute(outside), b.permute(outside)) + 2 * before.permute(outside).double()
    right = torch.relu(right + told["bias"].double())
    for number, call in enumerate(calls_of(plan, a, b, c, **told)):
        c.copy_(before)
        call()
        assert error(c.permute(outside), right) < 1e-6, (name, number)


@pytest.mark.parametrize(
    ("dtype", "tf32", "shape"),
    [(torch.bfloat16, False, (129, 129, 1027)), (torch.float32, True, (515, 390, 515))],
    ids=["bf16", "tf32"],
)
def test_copies_for_wgmma(dtype, tf32, shape):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("gemm_sm90 is for compute capability 9.0")
    m, n, k = shape
    a, b = (torch.randn(rows, k, device=DEVICE).to(dtype) for rows in (m, n))
    plan = kernels.gemm.plan(a, b, allow_tf32=tf32)
    assert isinstance(plan, PaddedGemm)
    assert plan.gemm.kernel_name == "sm90"
    for _ in range(3):
        assert error(kernels.gemm(a, b, allow_tf32=tf32), exact(a, b)) < 0.005


# Types, what lies along K, M, N, K, products of a part.
UNEVEN = [
    ("float16", "kk", 72, 40, 1000, 384), ("bfloat16", "mn", 136, 24, 2330, 64), ("float16", "kn", 8, 264, 200, 128),
    ("bfloat16", "kk", 300, 513, 4808, 640), ("float32", "kk", 40, 72, 204, 32), ("float32", "mk", 72, 40, 1000, 96),
    ("int8", "kk", 40, 72, 2720, 512), ("float8_e4m3fn", "kk", 200, 72, 1072, 256),
]  # fmt: skip


@pytest.mark.parametrize("case", UNEVEN, ids=str)
@pytest.mark.parametrize("batch", [0, 3])
def test_the_last_part_of_k_may_be_shorter(case, batch):
    """In every tile that is chosen from, in both orientations."""
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("gemm_sm90 is for compute capability 9.0")
    name, orders, m, n, k, part = case
    dtype, modes = getattr(torch, name), (batch,) if batch else ()

    def matrix(rows, order):
        shape = (*modes, k, rows) if order in "mn" else (*modes, rows, k)
        drawn = torch.randint(-9, 9, shape, device=DEVICE) if name == "int8" else torch.randn(shape, device=DEVICE)
        found = drawn.to(dtype)
        found = found.mT if order in "mn" else found
        return found.permute(1, 2, 0) if batch else found

    a, b = (matrix(rows, order) for rows, order in zip((m, n), orders, strict=True))
    out = {"int8": torch.int32, "float8_e4m3fn": torch.bfloat16}.get(name, dtype)
    c = torch.empty((*modes, m, n), dtype=out, device=DEVICE)
    c = c.permute(1, 2, 0) if batch else c
    direct = kernels.gemm.plan(a, b, c, allow_tf32=name == "float32")
    problem = direct.problem.swapped() if direct.swapped else direct.problem
    outside = (2, 0, 1) if batch else (0, 1)
    right, tried = exact(a.permute(outside), b.permute(outside)), 0
    parts = parts_problem(problem, part)
    for view, swapped in ((parts, False), (parts.swapped(), True)):
        for gemm in SM90.variants(view, (16, 16, 16), H200)[::5]:
            plan = SplitKGemm(
                problem=problem,
                gemm=gemm.replace(swapped=swapped),
                sum=SumParts(problem=problem, parts=parts.batch[-1], wide=False),
            )
            c.fill_(3)
            plan.run(a, b, c)
            assert error(c.permute(outside), right) < (0.05 if "8" in name else 0.005), plan
            tried += 1
    assert tried >= 4


@pytest.mark.parametrize("shape", [(64, 64, 32768), (488, 48, 7400), (72, 64, 9166), (64, 100, 16384)])
def test_parts_of_k_have_the_same_bits_each_time(shape):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("gemm_sm90 is for compute capability 9.0")
    m, n, k = shape
    a, b = (torch.randn(rows, k, device=DEVICE).bfloat16() for rows in (m, n))
    assert kernels.gemm.plan(a, b).kernel_name == "split_k"
    first = kernels.gemm(a, b)
    assert error(first, exact(a, b)) < 0.005
    for _ in range(20):
        assert torch.equal(kernels.gemm(a, b), first)
    graph = torch.cuda.CUDAGraph()
    c = torch.zeros_like(first)
    with torch.cuda.graph(graph):
        kernels.gemm(a, b, c)
    graph.replay()
    assert torch.equal(c, first)
