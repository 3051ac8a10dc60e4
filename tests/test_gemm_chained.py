"""GEMMs in parts along K: where the parts are, what each adds to C, how they are launched, and when they are chosen."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest

from tilewright import BFloat16, Float32, Float64, _core, kernels
from tilewright.kernels import gemm_launch, gemm_run
from tilewright.kernels.choose_gemm import choose_gemm
from tilewright.kernels.gemm_chained import ChainedGemm
from tilewright.kernels.gemm_plan import H200
from tilewright.kernels.gemm_problem import problem_of
from tilewright.kernels.gemm_simt import GemmSimt

ALIGNED = (16, 16, 16)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def chain(a, b, c, terms, **asked):
    """The plan of a call, in parts."""
    plan = kernels.gemm.plan(a, b, c, **asked)
    plan = plan.gemm if isinstance(plan, ChainedGemm) else plan
    return ChainedGemm(plan.problem.swapped() if plan.swapped else plan.problem, plan, terms)


@pytest.mark.parametrize("transposed", [False, True], ids=["C", "C transposed"])
@pytest.mark.parametrize("orders", ["kk", "mn", "kn"])
@pytest.mark.parametrize(("k", "terms"), [(300, 100), (257, 64), (33, 64), (64, 32)])
def test_parts_add_up(k, terms, orders, transposed):
    """With everything that an epilogue has, and the check of every part."""
    m, n = 70, 130
    a, b = numbers(m, k), numbers(n, k, seed=1)
    a, b = (np.asfortranarray(x) if order in "mn" else x for x, order in zip((a, b), orders, strict=True))
    before, bias = numbers(m, n, seed=2), numbers(n, seed=3)
    c = np.asfortranarray(before) if transposed else before.copy()
    plan = chain(a, b, c, terms, alpha=0.5, beta=2, bias=bias, activation="relu")
    assert plan.gemm.swapped == transposed
    assert all(end - begin <= terms + plan.tiler_mnk[2] for begin, end in itertools.pairwise(plan.cuts))
    expected = 0.5 * (a.astype(np.float64) @ b.astype(np.float64).T) + 2 * before + bias
    plan.run(a, b, c, bias=bias)
    np.testing.assert_allclose(c, np.maximum(expected, 0), rtol=1e-5, atol=1e-4)
    c[...] = before
    report = plan.run(a, b, c, bias=bias, check=True)
    assert report, str(report)
    np.testing.assert_allclose(c, np.maximum(expected, 0), rtol=1e-5, atol=1e-4)


def test_cuts_are_even_and_at_steps():
    plan = choose_gemm(problem_of(8192, 8192, 8192, Float32, a="m", b="n"), ALIGNED, H200)
    assert plan.cuts == (0, 2048, 4096, 6144, 8192)
    step = plan.tiler_mnk[2]
    for k in (1, 31, 4097, 10000, 20480):
        cuts = plan.for_problem(problem_of(8192, 8192, k, Float32, a="m", b="n")).cuts
        assert (cuts[0], cuts[-1]) == (0, k)
        assert all(cut % step == 0 for cut in cuts[:-1])
        lengths = [end - begin for begin, end in itertools.pairwise(cuts)]
        assert max(lengths) - min(lengths[:-1], default=k) <= step
        assert max(lengths) <= 2048 + step


def test_batches_and_other_sizes():
    a, b = numbers(5, 40, 200).transpose(1, 2, 0), numbers(5, 24, 200, seed=1).transpose(1, 2, 0)
    c = np.zeros((5, 40, 24), np.float32).transpose(1, 2, 0)
    plan = chain(a, b, c, 64)
    plan.run(a, b, c)
    np.testing.assert_allclose(c, np.einsum("mkl,nkl->mnl", a, b), rtol=1e-4, atol=1e-4)
    x, y = numbers(36, 76), numbers(20, 76, seed=1)
    plan = chain(numbers(64, 128), numbers(64, 128), np.zeros((64, 64), np.float32), 32)
    np.testing.assert_allclose(plan.run(x, y), x @ y.T, rtol=1e-4, atol=1e-4)
    none = np.ones((4, 0), np.float32)
    np.testing.assert_array_equal(plan.run(none, none), 0)


def test_sums_are_shorter():
    a, b = numbers(16, 8192), numbers(16, 8192, seed=1)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    plan = chain(a, b, np.zeros((16, 16), np.float32), 1024)
    plan = plan.replace(gemm=plan.gemm.replace(promote=0))
    errors = [np.linalg.norm(p.run(a, b) - exact) for p in (plan, plan.gemm)]
    assert errors[0] < 0.6 * errors[1]


def test_launches(monkeypatch):
    """Each part with its own addresses, all but the first before the one before it has ended, and again unplanned."""
    torch = pytest.importorskip("torch")
    launches = []

    class Noted:
        def __init__(self, *args, **options):
            self.programmatic, self.inner = options["programmatic"], _core_prepared(*args, **options)

        def launch(self, addresses, stream):
            launches.append(self.programmatic)
            self.inner.launch(addresses, stream)

    recorder, _core_prepared = _core.cuda.Recorder(), _core.cuda.Prepared
    monkeypatch.setattr(gemm_run, "CPU", -1)
    functions = []
    monkeypatch.setattr(gemm_launch, "function_of", lambda plan, device: functions.append(plan) or recorder)
    monkeypatch.setattr(_core.cuda, "Prepared", Noted)
    a, b, c = torch.zeros(64, 300), torch.zeros(64, 300), torch.zeros(64, 64)
    plan = chain(a, b, c, 100)
    kernels.gemm(a, b, c, plan=plan)
    assert launches == [False, True, True]
    assert [part.problem.epilogue.beta for part in functions] == [0, 1, 1]
    assert all(part.chained for part in functions)
    params = recorder.last[4]
    found = [int.from_bytes(params[place : place + 8], "little") for _, place, _ in functions[2].pointers()]
    begin = 4 * plan.cuts[2]
    assert found == [a.data_ptr() + begin, b.data_ptr() + begin, c.data_ptr()]
    monkeypatch.setattr(gemm_run, "execute", None)
    kernels.gemm(a, b, c, plan=plan)
    assert (recorder.count, len(functions)) == (6, 3)


def test_which_problems_are_taken_in_parts():
    """Large ones, whose last round of tiles does not fill the device anyhow, where C holds sums as they are."""

    def kind(m, n, k, dtype=Float32, facts=H200, **options):
        plan = choose_gemm(problem_of(m, n, k, dtype, **options), ALIGNED, facts)
        return plan.KERNEL, len(plan.cuts) - 1 if isinstance(plan, ChainedGemm) else 0

    assert kind(8192, 8192, 8192) == kind(8192, 8192, 8192, c="m") == ("chained", 2)
    assert kind(8192, 8192, 8192, a="m", b="n") == ("chained", 4)
    assert kind(8192, 8192, 16384, a="m") == ("chained", 4)
    for other in (
        kind(4096, 4096, 8192),
        kind(8192, 8192, 4096, a="m", b="n"),
        kind(8192, 8192, 8192, out=BFloat16),
        kind(8192, 8192, 8192, facts=H200._replace(capability=80, name="NVIDIA A100")),
    ):
        assert other[0] == "simt"
    assert kind(8192, 8192, 8192, Float64)[0] != "chained"
    assert kind(8191, 8193, 8199)[0] == "packed"


def test_few_tiles_are_taken_in_parts():
    """As many as are expected to take the least time, if they save more than starting them costs."""

    def parts(m, n, k, facts=H200, **options):
        plan = choose_gemm(problem_of(m, n, k, Float32, **options), ALIGNED, facts)
        return len(plan.cuts) - 1 if isinstance(plan, ChainedGemm) else 1

    assert [parts(64, 64, k) for k in (512, 1024, 4096)] == [1, 1, 4]
    assert [parts(n, n, 4096) for n in (256, 512, 1024, 4096)] == [4, 4, 1, 1]
    assert parts(32, 1024, 8192) == parts(1024, 32, 8192, c="m") == 8
    assert parts(64, 64, 4096, out=BFloat16) == 1
    assert parts(64, 64, 4096, batch=(1000,)) == 1
    assert parts(1, 1, 1 << 34) == 1
    # Sums that would not be promoted within a part are not at all.
    promotes = [choose_gemm(problem_of(n, n, 4096, Float32), ALIGNED, H200).gemm.promote for n in (64, 256, 512)]
    assert promotes == [2, 0, 0]
    assert parts(64, 64, 4096, facts=H200._replace(capability=80, name="NVIDIA A100")) == 1


def test_a_plan_is_a_value():
    plan = choose_gemm(problem_of(8192, 8192, 8192, Float32), ALIGNED, H200)
    assert pickle.loads(pickle.dumps(plan)) == plan == plan.replace(terms=plan.terms)
    assert hash(plan) == hash(plan.replace())
    assert plan != plan.replace(terms=2048)
    assert str(plan).startswith("gemm in parts along K, 4096, 4096, each of which adds to C")
    with pytest.raises(AttributeError, match=r"plan.replace\(terms=...\) gives another one"):
        plan.terms = 1
    with pytest.raises(TypeError, match="ChainedGemm: terms is 0, but it must be a positive integer"):
        plan.replace(terms=0)
    with pytest.raises(TypeError, match="ChainedGemm: gemm is a NoneType, but it must be a GemmSimt"):
        plan.replace(gemm=None)
    with pytest.raises(TypeError, match="ChainedGemm: no field named depth; the fields are problem, gemm, terms"):
        plan.replace(depth=1)
    other = problem_of(8192, 8192, 8192, Float32, out=BFloat16)
    with pytest.raises(TypeError, match="C has elements of BFloat16, but sums of Float32 are left there"):
        plan.replace(problem=other)


def test_analysis_has_every_part():
    plan = choose_gemm(problem_of(8192, 8192, 8192, Float32), ALIGNED, H200)
    found = list(plan.analyze())
    assert {x.name.partition(":")[0] for x in found} == {"part 1 of 2", "part 2 of 2"}
    whole = {x.name: x for x in plan.gemm.analyze()}
    warps = 4096 * 4
    # Each part reads one step ahead, of 8 rows of A and 16 of B, 4 at a time.
    for name, ahead in (("load A", 0), ("load B", 0), ("read A", 2 * warps), ("read B", 4 * warps)):
        parts = [x for x in found if x.name.endswith(f": {name}")]
        assert sum(x.requests for x in parts) == whole[name].requests + ahead
    stores = [x.requests for x in found if x.name.endswith(": store C")]
    assert stores == [whole["store C"].requests] * 2
    assert [x.requests for x in found if x.name.endswith(": load C")] == stores[:1]


def test_the_kernel_waits_for_the_one_before():
    plan = choose_gemm(problem_of(8192, 8192, 8192, Float32), ALIGNED, H200)
    for part, _, _ in plan.parts:
        assert isinstance(part, GemmSimt)
        ptx = part.compile("sm_90a").ptx
        assert ptx.index("griddepcontrol.launch_dependents") < ptx.index("griddepcontrol.wait")
        assert "griddepcontrol" not in part.compile("sm_80").ptx
    assert "griddepcontrol" not in plan.gemm.compile("sm_90a").ptx


@pytest.mark.parametrize("transposed", [False, True], ids=["C", "C transposed"])
@pytest.mark.parametrize("k", [2048, 2101])
def test_few_tiles_on_the_cpu(transposed, k):
    """What kernels.gemm chooses, with an epilogue, aligned and not."""
    a, b, bias, before = numbers(40, k), numbers(70, k, seed=1), numbers(70, seed=2), numbers(40, 70, seed=3)
    c = np.asfortranarray(before) if transposed else before.copy()
    plan = kernels.gemm.plan(a, b, c, alpha=0.5, beta=2, bias=bias, activation="relu")
    assert isinstance(plan, ChainedGemm)
    plan.run(a, b, c, bias=bias)
    np.testing.assert_allclose(c, np.maximum(0.5 * a @ b.T + 2 * before + bias, 0), rtol=1e-4, atol=1e-3)
