"""Calibrating a device that is made up: its plans take what models expect, all else is as it is."""

from __future__ import annotations

import importlib
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from compiling import run_python
from terminals import Bar, Kernel, Terminal
from tilewright import BFloat16, Float32, _core, kernels
from tilewright.devices import DEVICES, H200, DeviceFacts
from tilewright.kernels import devices
from tilewright.kernels.common import ahead, calibration
from tilewright.kernels.devices import as_packaged, packaged
from tilewright.kernels.gemm.calibrate import fit, models, samples
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt.cost import SimtModel
from tilewright.kernels.gemm.simt.tiles import SimtTiles
from tilewright.kernels.gemm.sm90.cost import Sm90Model

calibrate = importlib.import_module("tilewright.kernels.gemm.calibrate.calibrate")

FACTS = DeviceFacts("NVIDIA H300", 90, 132, 232448)
SLOWER = FACTS._replace(name="NVIDIA Slower")
MODEL = {"ingest": 40.0, "latency": 2300, "memory": 2.9e12, "fill": 2100}
PACKAGED = {name: packaged(name, FACTS) for name in devices.SECTIONS}


class Device:
    """A GPU whose plans take what the models expect of `like`; of its time, too, each of its steps takes some."""

    def __init__(self, patch, tmp_path):
        self.facts, self.like, self.now, self.compiled, self.timed = FACTS, as_packaged(H200), 0.0, [], []
        self.compiling = self.measuring = 0.0  # seconds of each plan
        patch.setenv("TILEWRIGHT_DEVICES_DIR", str(tmp_path / "devices"))
        patch.setattr(calibrate, "facts_of", lambda device: self.facts)
        patch.setattr(calibrate, "current_device", lambda: -1)
        patch.setattr(calibrate, "DeviceClock", self.clock_of)
        patch.setattr(ahead, "compile_plan", self.compile_plan)
        patch.setattr(ahead, "cores", lambda: 1)
        for module in (ahead, calibrate, models, fit):
            patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        for name, value in (("driver_path", "libcuda.so.1"), ("device_count", 2), ("driver_version", 13000)):
            patch.setattr(_core.cuda, name, lambda value=value: value)
        devices.forget()

    def compile_plan(self, plan, arch):
        assert arch == self.facts.arch
        self.now += self.compiling
        self.compiled.append((type(plan), plan.name))
        return SimpleNamespace(from_cache=None)

    def clock_of(self, number, wanted):
        assert all((type(x.plan), x.plan.name) in self.compiled for x in wanted)
        self.number = number
        return self.clock

    def clock(self, sample):
        self.now += self.measuring
        self.timed.append(sample)
        return models.expected(sample, self.like)


@pytest.fixture
def forgotten():
    """What was read of devices is forgotten, when all is as before."""
    yield
    devices.forget()


@pytest.fixture
def device(forgotten, monkeypatch, tmp_path):
    """Patched by what a test patches with, so that all is undone in the reverse order."""
    return Device(monkeypatch, tmp_path)


@pytest.fixture
def few(monkeypatch):
    """Shapes that are just enough."""
    for name in ("SM90_SHAPES", "SIMT_SHAPES"):
        monkeypatch.setattr(samples, name, getattr(samples, name)[: samples.ENOUGH])


@pytest.fixture
def least(monkeypatch):
    """No shape: the memory and the rates of tiles."""
    for name in ("SM90_SHAPES", "SIMT_SHAPES"):
        monkeypatch.setattr(samples, name, ())


def is_slower(device):
    """The device takes what models with other numbers than the package's expect."""
    sections = {name: dict(PACKAGED[name]) for name in ("SM90_MODEL", "SIMT_TILES", "RATES")}
    sections["SM90_MODEL"].update(MODEL)
    sections["RATES"]["bandwidth"] = 2.9
    tiles = sections["SIMT_TILES"]["tiles"]
    sections["SIMT_TILES"]["tiles"] = tuple((*row[:5], row[5] * 0.9, *row[6:]) for row in tiles)
    names = {"DEVICE": SLOWER.name, "MEASURED": "never", "BEGAN_FROM": calibration.fingerprint(PACKAGED), **sections}
    calibration.write(SLOWER.name, "\n".join(f"{name} = {value!r}" for name, value in names.items()))
    devices.forget()
    assert Rates.of(SLOWER).bandwidth == 2.9
    device.like = SLOWER


def test_the_numbers_of_a_device_are_found_and_other_processes_take_them(device, few, monkeypatch):
    is_slower(device)
    monkeypatch.setattr(models, "BETTER", -1)  # models are taken in any case
    found = kernels.gemm.calibrate()
    assert found.device == FACTS.name
    assert found.file == calibration.path_of(FACTS.name)
    assert [line.partition(":")[0] for line in found.findings] == ["the memory's bandwidth", "gemm_simt", "gemm_sm90"]
    assert str(found).startswith("NVIDIA H300 is calibrated: the memory's bandwidth: 2.9 TB/s.")

    model = Sm90Model.of(FACTS)
    for name in MODEL:
        assert getattr(model, name) == pytest.approx(getattr(Sm90Model.of(SLOWER), name), rel=0.1), name
    assert Rates.of(FACTS).bandwidth == pytest.approx(2.9)
    rates = [[tile.rate for tile in SimtTiles.of(facts).tiles] for facts in (SLOWER, FACTS)]
    assert rates[1] == pytest.approx(rates[0], rel=0.01)
    assert SimtModel.of(FACTS) is not None  # complete, and of the right types
    problem = problem_of(8000, 8000, 8000, BFloat16)
    plans = [choose_gemm(problem, (256,) * 3, facts) for facts in (SLOWER, FACTS, as_packaged(FACTS))]
    assert plans[0] == plans[1] != plans[2]

    text = Path(found.file).read_text()
    assert "# bytes a clock that come into a multiprocessor" in text
    assert 'MEASURED = "' in text
    assert "CUDA driver 13000" in text
    code = f"""
        from tilewright import BFloat16
        from tilewright.devices import DeviceFacts
        from tilewright.kernels.gemm.choose.choose import choose_gemm
        from tilewright.kernels.gemm.problem import problem_of
        facts = DeviceFacts{tuple(FACTS)}
        print(choose_gemm(problem_of(8000, 8000, 8000, BFloat16), (256,) * 3, facts))
    """
    assert run_python(code) == str(plans[1])
    assert run_python(code, TILEWRIGHT_DEVICES_DIR="off") == str(plans[2])


def test_where_the_packages_numbers_choose_as_well_they_hold(device, few):
    found = kernels.gemm.calibrate()
    for said in found.findings[1:]:
        assert "off by 0.0%, and what is chosen takes 0.0% longer than the best of all." in said
        assert said.endswith("The package's numbers hold.")
    names = calibration.parsed(Path(found.file).read_text()).keys()
    assert names == {"DEVICE", "MEASURED", "BEGAN_FROM", "RATES"}
    assert Rates.of(FACTS).bandwidth == pytest.approx(4.2)


def test_a_second_calibration_begins_from_the_packages_numbers(device, few, monkeypatch):
    monkeypatch.setattr(models, "BETTER", -1)
    monkeypatch.setattr(samples, "SM90_SHAPES", ())
    is_slower(device)
    first = kernels.gemm.calibrate()
    assert SimtTiles.of(FACTS).tiles[0].rate == pytest.approx(0.9 * SimtTiles.of(H200).tiles[0].rate, rel=0.01)
    for _ in range(2):
        assert kernels.gemm.calibrate() == first
        assert Rates.of(FACTS).bandwidth == pytest.approx(2.9)
    device.facts = SLOWER  # a known one, by other times
    device.like = as_packaged(H200)
    kernels.gemm.calibrate()
    assert Rates.of(SLOWER).bandwidth == pytest.approx(4.2)


@pytest.mark.parametrize("arch", DEVICES)
def test_devices_of_every_generation_are_measured(device, few, monkeypatch, arch):
    device.facts = DEVICES[arch]._replace(name="NVIDIA Other")
    device.like = as_packaged(DEVICES[arch])
    monkeypatch.setattr(models, "BETTER", -1)
    kernels.gemm.calibrate()
    sections = devices.calibrated(device.facts).sections
    assert ("SM90_MODEL" in sections) == (arch == "sm_90a") == any(x.section == "SM90_MODEL" for x in device.timed)
    assert {"RATES", "SIMT_TILES", "SIMT_MODEL"} <= sections.keys()
    for name, values in sections.items():
        assert same(values, packaged(name, device.facts)), name


def same(values, others):
    if isinstance(values, dict):
        return values.keys() == others.keys() and all(same(x, others[name]) for name, x in values.items())
    if isinstance(values, tuple):
        return all(same(x, y) for x, y in zip(values, others, strict=True))
    return values == others if type(values) is str else values == pytest.approx(others, rel=0.01)


# ---- time ----


def test_all_is_measured_where_there_is_time(device, few):
    """Of a usual machine: a second for a kernel, of which 16 are compiled at a time; 15 ms for a plan."""
    device.compiling, device.measuring = 1 / 16, 0.015
    kernels.gemm.calibrate()
    assert device.now < 110 / 2
    assert device.timed == [x for step in samples.steps(as_packaged(FACTS)) for x in step]


@pytest.mark.parametrize(("compiling", "measuring"), [(3.0, 0.01), (0.001, 1.0), (0.5, 0.5), (40.0, 0.01)])
def test_a_slow_device_is_measured_in_the_time_that_there_is(device, monkeypatch, compiling, measuring):
    """What tells most goes first, and of what is not measured to its end nothing is taken."""
    monkeypatch.setattr(models, "BETTER", -1)
    device.compiling, device.measuring = compiling, measuring
    found = kernels.gemm.calibrate()
    assert device.now <= 110 + max(compiling, measuring)
    assert device.timed[0].section == "RATES"
    assert any("Not fitted: in the time there was, " in line for line in found.findings)
    assert Rates.of(FACTS).bandwidth == pytest.approx(4.2)
    if compiling == 3.0:  # 18 kernels by half of the time
        assert {x.section for x in device.timed} == {"RATES", "SIMT_TILES"}
    if compiling == 40.0:
        assert {x.section for x in device.timed} == {"RATES"}


@pytest.mark.parametrize(("until", "measured"), [(10.0, [0, 1, 2, 3]), (3.0, [0, 1]), (0.5, [0, 1])])
def test_a_shape_that_is_not_measured_to_its_end_is_not_counted(device, until, measured):
    """The first step is measured in any case."""
    first = next(samples.steps(FACTS))[0]
    wanted = [[first._replace(what=i) for i in step] for step in ((0, 1), (2, 3))]

    def clock(sample):
        device.now += 1
        return 1.0

    assert [sample.what for sample, _ in calibrate._timed(wanted, clock, until)] == measured


def test_fitting_ends_in_time():
    calls = []

    def predict(values):
        calls.append(values)
        return [values["a"] + x for x in range(1, 9)]

    measured = [5.0 + x for x in range(1, 9)]
    assert fit.fitted({"a": 1.0}, ["a"], predict, measured, until=0.0) == {"a": 1.0}
    assert len(calls) == 1
    assert fit.fitted({"a": 1.0}, ["a"], predict, measured)["a"] == pytest.approx(5.0, rel=1e-3)


def test_a_plan_that_the_device_does_not_take_is_left_out(device, few, monkeypatch):
    monkeypatch.setattr(samples, "SM90_SHAPES", ())
    monkeypatch.setattr(models, "BETTER", -1)
    last = SimtTiles.of(H200).tiles[-1]

    def clock(x):
        return None if x.section != "RATES" and x.what.tile == last else 2 * models.expected(x, device.like)

    monkeypatch.setattr(device, "clock", clock)
    found = kernels.gemm.calibrate()
    assert "of 4 shapes: off by 0.0%" in found.findings[1]
    rates = [[tile.rate for tile in SimtTiles.of(facts).tiles] for facts in (FACTS, H200)]
    assert rates[0][0] == pytest.approx(rates[1][0] / 2, rel=0.01)
    assert rates[0][-1] == rates[1][-1]


# ---- progress ----


def test_progress_on_a_terminal(device, least, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    kernels.gemm.calibrate()
    shown = [line.strip() for line in terminal.getvalue().split("\r")]
    count = len(device.timed)
    assert f"kernels.gemm.calibrate: compiling: {count} of {count}, 0 were there" in shown
    assert f"kernels.gemm.calibrate: measuring: 1 of {count}, tiled_copy 150994944" in shown
    assert f"kernels.gemm.calibrate: measuring: {count} of {count}, simt 4096x4096x4096" in shown
    assert "kernels.gemm.calibrate: fitting" in shown
    assert shown[-2:] == ["", ""]


def test_progress_in_a_notebook(device, least, monkeypatch):
    monkeypatch.setattr(Bar, "made", [])
    monkeypatch.setitem(sys.modules, "IPython", Kernel)
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=Bar))
    kernels.gemm.calibrate()
    assert [bar.desc for bar in Bar.made] == [
        f"kernels.gemm.calibrate: {x}" for x in ("compiling", "measuring", "fitting")
    ]
    assert all(bar.closed for bar in Bar.made)


def test_nothing_is_shown_elsewhere(device, least, monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    kernels.gemm.calibrate()
    assert file.getvalue() == ""


# ---- what can go wrong ----


@pytest.mark.parametrize("at", [0, 5])
def test_who_stops_it_keeps_what_was_there(device, least, monkeypatch, at):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    path = kernels.gemm.calibrate().file
    before = Path(path).read_text()

    def stopped(sample):
        if len(device.timed) - count >= at:
            raise KeyboardInterrupt
        return 1e3 * Device.clock(device, sample)

    count = len(device.timed)
    monkeypatch.setattr(device, "clock", stopped)
    with pytest.raises(KeyboardInterrupt):
        kernels.gemm.calibrate()
    assert Path(path).read_text() == before
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]
    assert terminal.getvalue().split("\r")[-1] == ""
    assert Rates.of(FACTS).bandwidth == pytest.approx(4.2)


def test_who_stops_it_at_the_end_keeps_what_was_there(device, least, monkeypatch):
    path = kernels.gemm.calibrate().file
    before = Path(path).read_text()

    def stopped(file):
        raise KeyboardInterrupt

    device.like = SLOWER
    monkeypatch.setattr(os, "fsync", stopped)
    with pytest.raises(KeyboardInterrupt):
        kernels.gemm.calibrate()
    assert Path(path).read_text() == before
    assert os.listdir(os.path.dirname(path)) == [os.path.basename(path)]


def test_a_kernel_that_cannot_be_compiled_is_an_error(device, least, monkeypatch):
    def refuse(plan, arch):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(ahead, "compile_plan", refuse)
    with pytest.raises(RuntimeError, match="no such instruction"):
        kernels.gemm.calibrate()
    assert not os.path.exists(calibration.path_of(FACTS.name))


@pytest.mark.parametrize("seconds", [0, -1.0, float("nan"), float("inf"), "60", None, True])
def test_seconds_are_a_number_of_seconds(device, seconds):
    with pytest.raises(ValueError, match=r"^kernels.gemm.calibrate: seconds is .*, but it must be a positive number"):
        kernels.gemm.calibrate(seconds=seconds)


def test_a_device_that_is_not_there(device, monkeypatch):
    for number in (2, -1, True, "0"):
        with pytest.raises(ValueError, match=r"kernels.gemm.calibrate: device is .*, but the devices are 0 to 1"):
            kernels.gemm.calibrate(number)
    monkeypatch.setattr(_core.cuda, "driver_path", lambda: None)
    with pytest.raises(ValueError, match=r"device is 0, but there is no GPU here \(`tilewright doctor` says why\)"):
        kernels.gemm.calibrate()


def test_the_device_is_the_current_one_or_the_given_one(device, least, monkeypatch):
    for current, given, number in ((-1, None, 0), (1, None, 1), (1, 0, 0)):
        monkeypatch.setattr(calibrate, "current_device", lambda current=current: current)
        kernels.gemm.calibrate(given)
        assert device.number == number


def test_what_could_not_be_kept_is_not_measured(device, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", "off")
    with pytest.raises(ValueError, match="calibrations are switched off by TILEWRIGHT_DEVICES_DIR; unset it"):
        kernels.gemm.calibrate()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", str(tmp_path / "file"))
    with pytest.raises(OSError, match="Not a directory"):
        kernels.gemm.calibrate()
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", str(folder))
    with pytest.raises(OSError, match="is writable by others"):
        kernels.gemm.calibrate()
    folder.chmod(0o700)
    monkeypatch.setattr(os, "access", lambda *rest, **names: False)
    with pytest.raises(OSError, match="cannot be written"):
        kernels.gemm.calibrate()
    assert device.compiled == []


def test_launches_that_are_remembered_are_forgotten(device, least, monkeypatch):
    cleared = []
    monkeypatch.setattr(calibrate, "gemm", SimpleNamespace(clear=lambda: cleared.append(1)))
    kernels.gemm.calibrate()
    assert cleared == [1]


# ---- the fit ----


@pytest.mark.parametrize(("saved", "is_better"), [(0.5, True), (0.005, False)])
def test_numbers_are_better_where_plans_chosen_by_them_save_time(saved, is_better):
    """Of three plans of a problem, which numbers that are further off do not know apart."""
    problem = problem_of(64, 64, 64, Float32)
    timed = [(samples.Sample("", i, problem, None), seconds) for i, seconds in enumerate((1.0, 1.0 + saved, 4.0))]

    def predict(values):
        return [values["a"], 1.0 + saved, 4.0]

    values, better, said = models._fit(timed, {"a": 3.0}, predict, predict({"a": 3.0}), float("inf"))
    assert values["a"] == pytest.approx(1.0, rel=1e-3)
    assert better == is_better
    assert "Fitted to 3 launches of 1 shapes: off by 0.0%, and what is chosen takes\n0.0% longer" in said
    assert said.endswith(f"The package's numbers: off by 63.4%, and {saved:.1%} longer.")


def test_numbers_are_fitted():
    def predict(values):
        return [values["a"] * x + values["b"] for x in range(1, 20)]

    found = fit.fitted({"a": 1.0, "b": 100, "c": 3}, ["a", "b", "c"], predict, predict({"a": 2.0, "b": 40}))
    assert (found["a"], found["b"]) == pytest.approx((2.0, 40), rel=1e-3)
    assert found["c"] == pytest.approx(3)  # of which nothing is known
