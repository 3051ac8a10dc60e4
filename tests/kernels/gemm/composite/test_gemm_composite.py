"""Plans of several launches: which kernels they consist of, and that these are compiled at the same time."""

from __future__ import annotations

import threading

import pytest

from compiling import nvrtc
from tilewright import BFloat16, Float32
from tilewright.devices import H200
from tilewright.kernels.common import launch
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import Padded, padding_seconds
from tilewright.kernels.gemm.composite.residue import ResidueGemm
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.kernel import kernel_of
from tilewright.runtime import compiler
from tilewright.runtime.errors import CompileError

RAGGED = (4095, 4097, 4103)


def plan_of(dtype):
    alignments = (dtype.bits // 8,) * 3
    return choose_gemm(problem_of(*RAGGED, dtype), alignments, H200)


def test_the_plans_of_single_launches():
    residue, padded = plan_of(Float32), plan_of(BFloat16)
    assert isinstance(residue, ResidueGemm)
    assert isinstance(residue.gemm, PaddedGemm)
    inner = residue.gemm
    assert residue.single_plans == (inner.copy_a, inner.copy_b, inner.gemm, residue.residue)
    assert isinstance(padded, PaddedGemm)
    assert padded.single_plans == (padded.copy_a, padded.copy_b, padded.gemm)
    with pytest.raises(ValueError, match=r"PaddedGemm: gemm is a plan of .* but with the copies it has to be one of"):
        padded.replace(copy_b=None)
    one = choose_gemm(problem_of(4096, 4096, 4096, BFloat16, pads=(1, 0, 0)), (16, 16, 16), H200)
    assert one.single_plans == (one.copy_a, one.gemm)


class Compiler:
    """In place of the real one. Compilations wait for each other: they end only if all of them are under way."""

    def __init__(self, monkeypatch, together, failing=None):
        self.barrier = threading.Barrier(together)
        self.failing = failing
        self.programs = {}
        monkeypatch.setattr(compiler, "compile_program", self.compile_program)
        monkeypatch.setattr(compiler, "compiled_program", self.compiled_program)

    def compiled_program(self, stem, names, arch, source=None):
        return self.programs.get((*names, arch))

    def compile_program(self, stem, names, arch, source=None):
        key = (*names, arch)
        if key not in self.programs:
            self.barrier.wait(20)
            if stem == self.failing:
                raise CompileError("no", "", (), names, {}, "NVRTC")
            self.programs[key] = f"program of {stem}"
        return self.programs[key]


@pytest.mark.parametrize("dtype", [Float32, BFloat16], ids=str)
def test_all_kernels_are_compiled_at_the_same_time(dtype, monkeypatch):
    plan = plan_of(dtype)
    kernels = {one.name for one in plan.single_plans}
    fake = Compiler(monkeypatch, len(kernels))
    assert len(kernels) > 1
    assert plan.compile("sm_90a") == f"program of {kernel_of(plan.kernel_plan).stem}"
    assert fake.programs.keys() == {(name, "sm_90a") for name in kernels}
    threads = threading.active_count()
    fake.barrier.abort()  # whoever compiled now would fail
    assert plan.compile("sm_90a") == plan.compiled("sm_90a")
    assert threading.active_count() == threads


def test_an_error_of_the_compiler_is_raised_after_the_others_have_ended(monkeypatch):
    plan = plan_of(BFloat16)
    fake = Compiler(monkeypatch, 2, failing="tiled_copy")
    with pytest.raises(CompileError):
        plan.compile("sm_90a")
    assert [*fake.programs] == [(plan.gemm.name, "sm_90a")]


def test_a_bad_architecture_is_told_as_by_other_plans():
    with pytest.raises(TypeError, match="expected arch to be a string such as sm_90a, but got 90"):
        plan_of(BFloat16).compile(90)


def test_kernels_are_loaded_once_and_compiled_at_the_same_time_before(monkeypatch):
    plan = choose_gemm(problem_of(4096, 4100, 4096, Float32), (16,) * 3, H200)
    fake, loaded = Compiler(monkeypatch, 2), []
    monkeypatch.setattr(launch, "facts_of", lambda device: H200)
    monkeypatch.setattr(launch, "_functions", {})

    class Function:
        def __init__(self, program, name, device):
            loaded.append((program, name, device))

    monkeypatch.setattr(compiler, "kernel", Function)
    plans = [*plan.single_plans, plan.gemm]
    functions = launch.functions_of(plans, 0)
    assert functions[0] is functions[2] is not functions[1]
    assert len(fake.programs) == 2
    assert loaded == [(f"program of {kernel_of(one).stem}", one.name, 0) for one in plan.single_plans]
    fake.barrier.abort()
    assert launch.functions_of(plans, 0) == functions
    assert launch.functions_of(plans[:1], 1) != functions[:1]
    assert [device for _, _, device in loaded] == [0, 0, 1]
    small = H200._replace(name="small", shared_bytes=1000)
    monkeypatch.setattr(launch, "facts_of", lambda device: small)
    with pytest.raises(ValueError, match="but a CTA of small has at most 1000"):
        launch.functions_of(plans, 2)


@nvrtc
def test_a_plan_of_several_launches_is_compiled_ahead_as_a_whole():
    plan = plan_of(BFloat16)
    assert plan.compile("sm_90a").stem == "gemm_sm90"
    assert all(one.compiled("sm_90a").lowered for one in plan.single_plans)


def test_copies_of_short_rows_take_as_long_as_their_number_says():
    launch, row = Padded.of(H200).launch, Padded.of(H200).row
    short, long = (padding_seconds(problem_of(10**6, 64, k, BFloat16), (True, False), H200) for k in (63, 1143))
    assert short - launch == pytest.approx(10**6 * row)
    assert long - launch == pytest.approx(
        2 * 2 * 10**6 * 1152 / (Padded.of(H200).copies * Rates.of(H200).bandwidth * 1e12)
    )
