"""The tool that measures a device and writes its file, on a device that is made up: its times are those of a model."""

from __future__ import annotations

import argparse
import doctest
import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

import fit_device
import fit_numbers
from places import ROOT
from tilewright import BFloat16, Float32
from tilewright.devices import H200, DeviceFacts
from tilewright.kernels import devices
from tilewright.kernels.devices import file_of
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.composite.padded import Padded
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt.cost import SimtModel
from tilewright.kernels.gemm.simt.tiles import SimtTiles
from tilewright.kernels.gemm.sm90.cost import Sm90Model

SLOWER = DeviceFacts("NVIDIA Slower", 90, 132, 232448)
BENCHMARKS = ROOT / "benchmarks"
MODEL = {"ingest": 40.0, "latency": 2300, "memory": 2.9e12, "fill": 2100}


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder whose files are found as those of the package are."""
    monkeypatch.setattr(devices, "__path__", [*devices.__path__, str(tmp_path)])
    devices._known.clear()
    yield tmp_path
    devices._known.clear()
    for name in [x for x in sys.modules if x.startswith(f"{devices.__name__}.")]:
        if Path(sys.modules[name].__file__).parent == tmp_path:
            del sys.modules[name]


def written(folder, name, text):
    (folder / f"{name}.py").write_text(text)
    importlib.invalidate_caches()
    devices._known.clear()


def test_the_numbers_of_a_made_up_device_are_found(folder, monkeypatch):
    """A device that differs from the H200 in some numbers of the models: plans take what these expect."""
    sections = {name: dict(fit_device.base(name)) for name in ("SM90_MODEL", "SIMT_TILES", "RATES")}
    sections["SM90_MODEL"].update(MODEL)
    sections["RATES"]["bandwidth"] = 2.9
    tiles = sections["SIMT_TILES"]["tiles"]
    sections["SIMT_TILES"]["tiles"] = tuple((*row[:5], row[5] * 0.9, *row[6:]) for row in tiles)
    written(folder, "slower", "\n".join(f"{name} = {values!r}" for name, values in sections.items()))
    assert file_of(SLOWER.name, 90) == "slower"
    clock = fit_device.expected_clock(SLOWER)
    monkeypatch.setattr(fit_device, "BETTER", -1)  # models are taken in any case

    found = H200._replace(name="NVIDIA Found")
    text = fit_device.text_of(found, clock, "2026-11-23, by nobody", quick=True)
    written(folder, "found", text)
    assert file_of(found.name, 90) == "found"

    model = Sm90Model.of(found)
    for name in MODEL:
        assert getattr(model, name) == pytest.approx(getattr(Sm90Model.of(SLOWER), name), rel=0.1), name
    assert Rates.of(found).bandwidth == pytest.approx(2.9)
    assert Padded.of(found).copies * 2.9 == pytest.approx(Padded.of(H200).copies * 4.2, rel=1e-3)
    rates = [[tile.rate for tile in SimtTiles.of(facts).tiles] for facts in (SLOWER, found)]
    assert rates[1] == pytest.approx(rates[0], rel=0.01)
    assert SimtModel.of(found) is not None  # complete, and of the right types
    problem = problem_of(2048, 4096, 4096, BFloat16)
    plans = [choose_gemm(problem, (256,) * 3, facts) for facts in (SLOWER, found)]
    assert plans[0] == plans[1]
    assert 'DEVICE = "NVIDIA Found"' in text
    assert "2026-11-23, by nobody" in text
    assert "# bytes a clock that come into a multiprocessor" in text


def test_the_h200s_own_times_give_its_numbers(folder, monkeypatch, capsys):
    monkeypatch.setattr(fit_device, "BETTER", -1)
    monkeypatch.setattr(sys, "argv", ["fit_device.py", "--dry", "--quick", "--out", str(folder)])
    assert fit_device.main() == 0
    assert "dry_run.py has the numbers of NVIDIA dry run" in capsys.readouterr().out
    values = {}
    exec((folder / "dry_run.py").read_text(), values)
    for name in ("RATES", "PADDED", "SIMT_TILES", "SIMT_MODEL", "SM90_MODEL"):
        assert values[name] == fit_device.base(name), name


def test_devices_without_wgmma_are_refused(monkeypatch, capsys):
    from tilewright.kernels.common import launch

    monkeypatch.setattr(launch, "facts_of", lambda device: DeviceFacts("NVIDIA A100", 80, 108, 166912))
    monkeypatch.setattr(fit_device, "gpu_clock", lambda options, facts: None)
    monkeypatch.setattr("tilewright._core.cuda.driver_version", lambda: 13000)
    monkeypatch.setattr(sys, "argv", ["fit_device.py"])
    with pytest.raises(SystemExit):
        fit_device.main()
    assert "NVIDIA A100 has no wgmma (sm_80): only devices of sm_90 are fitted so far" in capsys.readouterr().err


@pytest.fixture
def made_up(monkeypatch):
    """A GPU that takes what the H200's models expect of plans, which have to be compiled before; the compiled ones."""
    from tilewright.kernels.common import launch

    facts = H200._replace(name="NVIDIA H100 80GB HBM3")
    expected, compiled = fit_device.expected_clock(facts), set()

    def clock(plan):
        assert (type(plan), plan.name) in compiled
        return expected(plan)

    def compile_all(plans, arch):
        assert arch == "sm_90a"
        compiled.update((type(plan), plan.name) for plan in plans)

    monkeypatch.setattr(launch, "facts_of", lambda device: facts)
    monkeypatch.setattr(fit_device, "gpu_clock", lambda options, facts: clock)
    monkeypatch.setattr(fit_device, "compile_all", compile_all)
    monkeypatch.setattr("tilewright._core.cuda.driver_version", lambda: 13000)
    return compiled


def test_all_plans_are_compiled_before_the_first_one_is_measured(made_up, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["fit_device.py", "--quick", "--name", "h100", "--out", str(tmp_path)])
    assert fit_device.main() == 0
    assert len(made_up) > 100
    text = (tmp_path / "h100.py").read_text()
    assert 'DEVICE = "NVIDIA H100 80GB HBM3"' in text
    assert "CUDA driver 13000" in text


def test_a_name_by_which_the_device_is_not_found_is_refused(made_up, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["fit_device.py", "--name", "h10"])
    with pytest.raises(SystemExit):
        fit_device.main()
    assert "NVIDIA H100 80GB HBM3 would not find a file named h10; it is to be one of" in capsys.readouterr().err


@pytest.mark.parametrize(("saved", "is_better"), [(0.5, True), (0.005, False)])
def test_numbers_are_better_where_plans_chosen_by_them_save_time(saved, is_better):
    """Of three plans of a problem, which numbers that are further off do not know apart."""
    problem = problem_of(64, 64, 64, Float32)
    samples = [fit_device.Sample(i, problem, None, seconds) for i, seconds in enumerate((1.0, 1.0 + saved, 4.0))]

    def predict(values):
        return [values["a"], 1.0 + saved, 4.0]

    values, better, said = fit_device.fit(samples, {"a": 3.0}, ["a"], predict, predict({"a": 3.0}))
    assert values["a"] == pytest.approx(1.0, rel=1e-3)
    assert better == is_better
    assert "Fitted to 3 launches of 1 shapes: off by 0.0%, and what is chosen takes\n0.0% longer" in said
    assert said.endswith(f"The H200's numbers: off by 63.4%, and {saved:.1%} longer.")


def test_where_the_h200s_numbers_choose_as_well_they_hold_and_the_file_says_so(made_up, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["fit_device.py", "--quick", "--out", str(tmp_path)])
    assert fit_device.main() == 0
    text = (tmp_path / "h100_80gb_hbm3.py").read_text()
    values = {}
    exec(text, values)
    assert {x for x in values if isinstance(values[x], dict) and x.isupper()} == {"RATES", "PADDED"}
    assert text.count("# So the H200's numbers hold.") == 2
    assert "off by 0.0%, and what is chosen takes\n# 0.0% longer" in text


def test_examples_of_the_fit():
    result = doctest.testmod(fit_numbers)
    assert result.attempted >= 3
    assert not result.failed


def test_numbers_are_fitted():
    def predict(values):
        return [values["a"] * x + values["b"] for x in range(1, 20)]

    found = fit_numbers.fitted({"a": 1.0, "b": 100, "c": 3}, ["a", "b", "c"], predict, predict({"a": 2.0, "b": 40}))
    assert (found["a"], found["b"]) == pytest.approx((2.0, 40), rel=1e-3)
    assert found["c"] == pytest.approx(3)  # of which nothing is known


def test_the_clock_of_a_gpu_gives_every_plan_the_operands_of_its_problem(monkeypatch):
    """All but the device: tensors on the CPU, and a race that runs each contestant once."""
    import torch

    import gpu

    randn, timed = torch.randn, []
    monkeypatch.setattr(torch, "randn", lambda count, device: randn(count))
    monkeypatch.setattr(gpu, "sets_past_cache", lambda moved, options: 2)

    def race(contestants, sets, moved, options, **rest):
        contestants[0].issue(1)
        timed.append(moved)
        return {"plan": gpu.Timing((1e-3,))}

    monkeypatch.setattr(gpu, "race", race)
    clock = fit_device.gpu_clock(argparse.Namespace(dry=False, quick=True), H200)
    problem = problem_of(64, 48, 32, Float32)
    assert clock(choose_gemm(problem, (16, 16, 16), H200)) == 1e-3
    x = torch.empty(33, 64, dtype=torch.bfloat16)
    assert clock(fit_device.kernels.tiled_copy.plan(x[:, :63], torch.empty(33, 63, dtype=torch.bfloat16))) == 1e-3
    assert timed == [problem.moved_bytes, 2 * 2 * 33 * 63]
