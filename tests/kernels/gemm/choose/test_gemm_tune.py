"""Tuning without a GPU: times are made up, all else is as it is."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from terminals import Bar, Kernel, Terminal
from tilewright import _core, kernels
from tilewright.devices import H200
from tilewright.kernels.common import ahead, launch
from tilewright.kernels.gemm.choose import planned as gemm_planned
from tilewright.kernels.gemm.choose import tune as gemm_tune
from tilewright.kernels.gemm.choose.short_sums import has_short_sums
from tilewright.runtime.cache import default_cache
from tilewright.runtime.command import cache_command

torch = pytest.importorskip("torch")

WANTED = (64, 64, 16)  # the tile of a candidate that is not chosen, for the tensors below


class Device:
    """CPU tensors count as a GPU's, and a plan takes as long as `time` says."""

    def __init__(self, patch, tmp_path):
        self.samples, self.compiled, self.elapsed = [], [], 0.0
        self.time = lambda plan: 1e-3
        patch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
        for module in (gemm_tune, gemm_planned):
            patch.setattr(module, "CUDA", 1)
        for module in (launch, gemm_planned, gemm_tune):
            patch.setattr(module, "facts_of", lambda device: H200)
        patch.setattr(_core.cuda, "driver_version", lambda: 13000)
        patch.setattr(gemm_tune, "_launch_of", self.launch_of)
        patch.setattr(ahead, "compile_plan", self.compile_plan)
        patch.setattr(gemm_tune, "clock_of", lambda device, stream: self.clock)
        self.new_process()

    def new_process(self):
        gemm_tune._found.clear()
        gemm_tune._environment.cache_clear()
        kernels.gemm.clear()

    def compile_plan(self, plan, arch):
        assert arch == "sm_90a"
        self.compiled.append(plan)
        return SimpleNamespace(from_cache=None)

    def launch_of(self, plan, operands, stream):
        def launch():
            self.elapsed += self.time(plan)
            self.samples.append(plan)

        return launch

    def clock(self, body):
        self.elapsed = 0.0
        body()
        return self.elapsed


@pytest.fixture
def device(monkeypatch, tmp_path):
    device = Device(monkeypatch, tmp_path)
    yield device
    device.new_process()


def tensors(dtype=torch.float32):
    return torch.zeros(200, 64, dtype=dtype), torch.zeros(300, 64, dtype=dtype), torch.zeros(200, 300, dtype=dtype)


def test_the_fastest_plan_is_found(device):
    wanted = WANTED
    device.time = lambda plan: 1e-3 if plan.tiler_mnk == wanted else 2e-3
    plan = kernels.gemm.tune(*tensors())
    assert plan.tiler_mnk == wanted
    assert len({p.tiler_mnk for p in device.samples}) > 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_at_most_twelve_plans_are_compiled_and_measured(device, dtype):
    """Each kernel once, before the first launch; the chosen plan, and the best of every kernel, are among them."""
    a = torch.zeros(512, 512 if dtype is torch.float64 else 1024, dtype=dtype)  # longer sums of fp64 are split
    chosen = kernels.gemm.plan(a, a.clone())
    device.time = lambda plan: 1e-3 if plan == chosen else 2e-3
    assert kernels.gemm.tune(a, a.clone()) == chosen
    assert len(set(device.samples)) == 12
    assert 1 < len(device.compiled) <= 12
    assert len({(type(x), x.name) for x in device.compiled}) == len(device.compiled)
    assert {x.name for x in device.compiled} == {x.name for x in device.samples}
    assert {x.kernel_name for x in device.samples} == {
        torch.float32: {"simt"}, torch.bfloat16: {"sm90", "sm80"}, torch.float64: {"sm80", "simt"}
    }[dtype]  # fmt: skip


def test_plans_with_long_sums_of_fp64_are_not_measured(device):
    a = torch.zeros(512, 4096, dtype=torch.float64)
    chosen = kernels.gemm.tune(a, a.clone())
    assert chosen.problem.k == 4096
    for plan in device.samples:
        assert has_short_sums(plan.kernel_plan, chosen.problem, H200), str(plan)


def test_a_hopeless_kernel_is_not_measured(device):
    a = torch.zeros(4096, 4096, dtype=torch.bfloat16)
    kernels.gemm.tune(a, a.clone())
    assert {x.kernel_name for x in device.samples} == {"sm90", "sm80"}
    assert len(set(device.samples)) == 12


def test_a_plan_that_cannot_be_compiled_is_an_error(device, monkeypatch):
    def refuse(plan, arch):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(ahead, "compile_plan", refuse)
    with pytest.raises(RuntimeError, match="no such instruction"):
        kernels.gemm.tune(*tensors())


def test_the_plan_is_kept_for_other_processes(device, capsys):
    device.time = lambda plan: 1e-3 if plan.tiler_mnk == WANTED else 2e-3
    plan = kernels.gemm.tune(*tensors())
    assert kernels.gemm.plan(*tensors()) == plan
    device.samples.clear()
    assert kernels.gemm.tune(*tensors()) == plan
    device.new_process()
    assert kernels.gemm.plan(*tensors()) == plan
    assert kernels.gemm.tune(*tensors()) == plan
    assert device.samples == []
    assert kernels.gemm.plan(*tensors(), alpha=2).tiler_mnk != plan.tiler_mnk  # another kernel, not measured
    assert cache_command(["list"]) == 0
    assert "tuned GEMM: (64, 64, 16) for C (200,300):(300,1) = A" in capsys.readouterr().out


def test_values_of_alpha_and_beta_make_no_difference(device):
    device.time = lambda plan: 1e-3 if plan.tiler_mnk == WANTED else 2e-3
    plan = kernels.gemm.tune(*tensors(), alpha=2, beta=0.5)
    other = kernels.gemm.plan(*tensors(), alpha=3, beta=-1)
    assert other.tiler_mnk == plan.tiler_mnk == WANTED
    assert (other.problem.epilogue.alpha, other.problem.epilogue.beta) == (3, -1)
    assert other.name == plan.name


@pytest.mark.parametrize("damage", ["other text", "no text", "no entry"])
def test_an_entry_that_says_nothing_is_ignored(device, damage):
    device.time = lambda plan: 1e-3 if plan.tiler_mnk == WANTED else 2e-3
    chosen = kernels.gemm.plan(*tensors())
    kernels.gemm.tune(*tensors())
    cache = default_cache()
    (entry,) = cache.list()
    if damage == "no entry":
        cache.clear()
    else:
        cache.put(entry.key, {"tuned": b"\xff nonsense"} if damage == "other text" else {"log": b""})
    device.new_process()
    assert kernels.gemm.plan(*tensors()) == chosen


@pytest.mark.parametrize("change", ["device", "driver", "kernels"])
def test_a_measurement_belongs_to_a_device_a_driver_and_kernels(device, monkeypatch, change):
    device.time = lambda plan: 1e-3 if plan.tiler_mnk == WANTED else 2e-3
    chosen = kernels.gemm.plan(*tensors())
    assert kernels.gemm.tune(*tensors()) != chosen
    device.new_process()
    if change == "device":
        for module in (launch, gemm_planned, gemm_tune):
            monkeypatch.setattr(module, "facts_of", lambda device: H200._replace(name="NVIDIA H100"))
    elif change == "driver":
        monkeypatch.setattr(_core.cuda, "driver_version", lambda: 13010)
    else:
        monkeypatch.setattr("tilewright.runtime.compiler.kernels_digest", lambda: "other")
    assert kernels.gemm.plan(*tensors()) == chosen


def test_without_a_cache_the_plan_is_kept_in_memory(device, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    device.time = lambda plan: 1e-3 if plan.tiler_mnk == WANTED else 2e-3
    plan = kernels.gemm.tune(*tensors())
    assert kernels.gemm.plan(*tensors()) == plan


def test_plans_that_cannot_be_launched_are_passed_over(device, monkeypatch):
    def launch_of(plan, operands, stream):
        return None if plan.tiler_mnk != (128, 128, 8) else device.launch_of(plan, operands, stream)

    monkeypatch.setattr(gemm_tune, "_launch_of", launch_of)
    assert kernels.gemm.tune(*tensors()).tiler_mnk == (128, 128, 8)


def test_progress_is_shown_on_a_terminal_only(device, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    kernels.gemm.tune(*tensors())
    lines = terminal.getvalue().split("\r")
    assert lines[1].startswith("kernels.gemm.tune: compiling: 1 of ")
    (first,) = [line for line in lines if line.startswith("kernels.gemm.tune: 1 of ")]
    assert "TFLOP/s by" in first
    assert "\n" not in terminal.getvalue()
    assert lines[-2].strip() == lines[-1] == ""
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    kernels.gemm.tune(*tensors(), alpha=2)
    assert quiet.getvalue() == ""


def test_progress_is_a_bar_in_a_notebook(device, monkeypatch):
    quiet = io.StringIO()
    monkeypatch.setattr(sys, "stderr", quiet)
    monkeypatch.setitem(sys.modules, "IPython", Kernel)
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr(Bar, "made", [])
    kernels.gemm.tune(*tensors())
    compiling, measuring = Bar.made
    assert compiling.desc == "kernels.gemm.tune: compiling"
    assert measuring.desc == "kernels.gemm.tune"
    assert compiling.n == compiling.total == measuring.n == measuring.total > 1
    assert all("TFLOP/s by" in text for text in measuring.texts)
    assert compiling.closed
    assert measuring.closed
    assert quiet.getvalue() == ""


def test_progress_is_a_line_in_a_notebook_without_tqdm(device, monkeypatch):
    page = io.StringIO()
    monkeypatch.setattr(sys, "stderr", page)
    monkeypatch.setitem(sys.modules, "IPython", Kernel)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    kernels.gemm.tune(*tensors())
    assert "\rkernels.gemm.tune: compiling: 1 of " in page.getvalue()
    assert "\rkernels.gemm.tune: 1 of " in page.getvalue()


def test_progress_ends_with_an_error(device, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(gemm_tune, "_launch_of", lambda plan, operands, stream: None)
    with pytest.raises(ValueError, match="none of the plans could be launched"):
        kernels.gemm.tune(*tensors())
    assert terminal.getvalue().split("\r")[-2].strip() == terminal.getvalue().split("\r")[-1] == ""
