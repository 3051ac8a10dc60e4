"""GEMMs whose last rows or columns are a GEMM of their own: what each part multiplies, and when it is chosen."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from tilewright import BFloat16, Float32, _core, cute, kernels
from tilewright.devices import H200
from tilewright.kernels.common import launch
from tilewright.kernels.common import plan as common_plan
from tilewright.kernels.gemm import host as gemm_host
from tilewright.kernels.gemm import run as gemm_run
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.residue import ResidueGemm, split
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.report import GemmReport

ALIGNED = (16, 16, 16)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def residue(a, b, c, along, begin, **keywords):
    """The plan of a call, in two parts."""
    plan = kernels.gemm.plan(a, b, c, **keywords)
    problem = plan.problem.swapped() if plan.swapped else plan.problem
    plans = [choose_gemm(part.problem, part.alignments((4, 4, 4)), H200) for part in split(problem, along, begin)]
    return ResidueGemm(problem=problem, gemm=plans[0], residue=plans[1], along=along, begin=begin)


@pytest.mark.parametrize("transposed", [False, True], ids=["C", "C transposed"])
@pytest.mark.parametrize("orders", ["kk", "mn", "kn"])
@pytest.mark.parametrize(("along", "begin"), [(0, 64), (0, 69), (1, 1), (1, 128)])
@pytest.mark.parametrize("bias_along", ["m", "n"])
def test_both_parts_are_c(along, begin, orders, transposed, bias_along):
    """With everything that an epilogue has, and the check of both."""
    m, n, k = 70, 130, 43
    a, b = numbers(m, k), numbers(n, k, seed=1)
    a, b = (np.asfortranarray(x) if order in "mn" else x for x, order in zip((a, b), orders, strict=True))
    before = numbers(m, n, seed=2)
    bias = numbers(m, 1, seed=3) if bias_along == "m" else numbers(n, seed=3)
    c = np.asfortranarray(before) if transposed else before.copy()
    plan = residue(a, b, c, along, begin, alpha=0.5, beta=2, bias=bias, activation="relu")
    expected = np.maximum(0.5 * (a.astype(np.float64) @ b.astype(np.float64).T) + 2 * before + bias, 0)
    plan.run(a, b, c, bias=bias)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-4)
    c[...] = before
    report = plan.run(a, b, c, bias=bias, check=True)
    assert str(report) == f"each of {m * n} elements of C is written exactly once"
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-4)


def test_batches_and_other_sizes():
    a, b = numbers(5, 40, 20).transpose(1, 2, 0), numbers(5, 24, 20, seed=1).transpose(1, 2, 0)
    c = np.zeros((5, 40, 24), np.float32).transpose(1, 2, 0)
    residue(a, b, c, 0, 39).run(a, b, c)
    np.testing.assert_allclose(c, np.einsum("mkl,nkl->mnl", a, b), rtol=1e-4, atol=1e-4)
    plan = residue(numbers(40, 20), numbers(24, 20), np.zeros((40, 24), np.float32), 0, 32)
    for m in (2, 31, 33, 64, 100):
        x, y = numbers(m, 20), numbers(24, 20, seed=1)
        np.testing.assert_allclose(plan.run(x, y), x @ y.T, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="C has 1 rows, but the plan is of two parts of them"):
        plan.run(numbers(1, 20), numbers(24, 20))


@pytest.mark.parametrize("unsound", [0, 1])
def test_a_part_that_is_not_sound_is_reported(unsound, monkeypatch):
    reports = [GemmReport(4, {}), GemmReport(4, {})]
    reports[unsound] = GemmReport(4, {"never_written": {"count": 1, "first": [(0, 1)]}})
    left = iter(reports)
    monkeypatch.setattr(gemm_host, "run_on_host", lambda *args, **options: next(left))
    plan = residue(numbers(40, 64), numbers(24, 64), np.zeros((40, 24), np.float32), 0, 32)
    report = plan.run(numbers(40, 64), numbers(24, 64), check=True)
    assert not report
    assert report.never_written.first == ((0, 1),)


def test_launches(monkeypatch):
    """Each part with its own addresses, and again unplanned."""
    torch = pytest.importorskip("torch")
    recorder, functions = _core.cuda.Recorder(), []
    monkeypatch.setattr(gemm_run, "CPU", -1)
    monkeypatch.setattr(common_plan, "CPU", -1)
    monkeypatch.setattr(
        launch, "functions_of", lambda plans, device: functions.extend(plans) or [recorder] * len(plans)
    )
    monkeypatch.setattr(launch, "facts_of", lambda device: H200)
    a, b, c, bias = torch.zeros(64, 32), torch.zeros(70, 32), torch.zeros(64, 70), torch.zeros(70)
    plan = residue(a, b, c, 1, 64, bias=bias)
    kernels.gemm(a, b, c, bias=bias, plan=plan)
    assert functions == [plan.gemm, plan.residue]
    params = recorder.last[4]
    found = {argument: int.from_bytes(params[at : at + 8], "little") for argument, at, _ in plan.residue.pointers()}
    order = (1, 0, 2, 3) if plan.residue.swapped else (0, 1, 2, 3)
    expected = (a.data_ptr(), b.data_ptr() + 64 * 32 * 4, c.data_ptr() + 64 * 4, bias.data_ptr() + 64 * 4)
    assert [found[order.index(i)] for i in range(4)] == list(expected)
    monkeypatch.setattr(gemm_run, "execute", None)
    kernels.gemm(a, b, c, bias=bias, plan=plan)
    assert (recorder.count, len(functions)) == (4, 2)


def test_which_problems_have_a_residue():
    """Large ones with a few columns or rows behind whole tiles; not those whose last round has room for them."""

    def chosen(m, n, k, alignments=ALIGNED, **options):
        return choose_gemm(problem_of(m, n, k, **{"dtype": Float32, **options}), alignments, H200)

    plan = chosen(4095, 4097, 4103, (4, 4, 4))
    assert (plan.kernel_name, plan.along, plan.begin) == ("residue", 1, 4096)
    assert isinstance(plan.gemm, PaddedGemm)
    assert (plan.residue.kernel_name, plan.kernel_plan) == ("simt", plan.gemm.gemm)
    assert plan.gemm.gemm.stream_k_ctas > 0
    plan = chosen(4097, 4097, 4096)
    assert (plan.along, plan.gemm.along, plan.gemm.gemm.problem[3:6]) == (1, 0, (Float32, 4096, 4096))
    assert chosen(4096, 4100, 4096, c="m").kernel_name == "residue"
    for other in (
        chosen(4096, 4096, 4096),
        chosen(4096, 4096 + 64, 4096),
        chosen(1000, 130, 1000),
        chosen(4097, 4097, 4096, dtype=BFloat16),
        chosen(4097, 4097, 0),
    ):
        assert other.kernel_name != "residue"


def test_sums_are_as_short_as_those_of_the_whole():
    """4992 columns come in nearly whole rounds, 5000 do not; there cuBLAS shares K where B lies along N."""
    plan = choose_gemm(problem_of(5000, 5000, 5000, Float32, b="n"), ALIGNED, H200)
    assert plan.kernel_name == "residue"
    assert plan.kernel_plan.promote > 0
    alone = choose_gemm(problem_of(4096, 4096, 5000, Float32, b="n"), ALIGNED, H200)
    assert alone.promote == 0
    plan = choose_gemm(problem_of(2049, 2049, 2049, Float32, a="m", b="n"), (4, 4, 4), H200)
    terms = plan.kernel_plan.promote * plan.kernel_plan.tiler_mnk[2]
    assert plan.kernel_name != "residue" or 0 < terms <= 640


def test_alignments_of_parts():
    problem = problem_of(100, 100, 100, Float32)
    first, second = split(problem, 0, 64)
    assert (first.alignments((16, 16, 16)), second.alignments((64, 64, 64))) == ((16, 16, 16), (64, 64, 64))
    assert split(problem, 1, 1)[1].alignments((64, 64, 64)) == (64, 16, 4)
    assert split(problem, 1, 1)[1].shifts == (0, 400, 4, 0)


def test_a_plan_is_a_value():
    plan = choose_gemm(problem_of(4096, 4097, 4096, Float32), ALIGNED, H200)
    assert isinstance(plan, ResidueGemm)
    assert pickle.loads(pickle.dumps(plan)) == plan == plan.replace(begin=4096)
    other = choose_gemm(problem_of(4096, 4098, 4096, Float32), ALIGNED, H200)
    assert plan != other
    assert str(plan).startswith("gemm of 4096 columns, and of those behind them: C (4096,4097)")
    with pytest.raises(AttributeError, match=r"plan.replace\(residue=...\) gives another one"):
        plan.residue = None
    with pytest.raises(TypeError, match="ResidueGemm: residue is None, but it must be a GemmPlan, or a CompositeGemm"):
        plan.replace(residue=None)
    with pytest.raises(ValueError, match="along is 2 and begin 4096, but a residue lies along 0"):
        plan.replace(along=2)
    with pytest.raises(ValueError, match="begins behind the first of 4097 and before the last"):
        plan.replace(begin=4097)
    with pytest.raises(ValueError, match=r"gemm is a plan of .*, but with along 1 and begin 2048 its part is"):
        plan.replace(begin=2048)
    with pytest.raises(ValueError, match=r"residue is a plan of .*; replace the plans, along and begin together"):
        plan.replace(residue=other.residue)


def test_pictures_and_analysis_have_both():
    plan = choose_gemm(problem_of(4096, 4097, 4096, Float32), ALIGNED, H200)
    found = {x.name: x for x in plan.analyze()}
    assert found["load A"].requests == plan.gemm.analyze()["load A"].requests
    assert found["the residue: load A"].requests == plan.residue.analyze()["load A"].requests
    assert any("from 4096 on are a GEMM of their own" in note for note in cute.show(plan).notes)
