"""The tool that measures a device and writes its file for the package, on a device that is made up."""

from __future__ import annotations

import sys

import pytest

import fit_device
from tilewright.devices import H200
from tilewright.kernels.devices import as_packaged, packaged
from tilewright.kernels.gemm.calibrate import calibrate, models, samples

FACTS = H200._replace(name="NVIDIA H100 80GB HBM3")


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """A GPU that takes what the H200's models expect, and the folder for its file."""
    for name in ("SM90_SHAPES", "SIMT_SHAPES"):
        monkeypatch.setattr(samples, name, getattr(samples, name)[: samples.ENOUGH])

    def measured(facts, clock_of, seconds):
        assert clock_of.func is fit_device.DeviceClock
        timed = [(x, models.expected(x, as_packaged(H200))) for step in samples.steps(facts) for x in step]
        return models.fits(timed, facts, float("inf"))

    monkeypatch.setattr(calibrate, "facts_and_number", lambda function, device: (FACTS, device))
    monkeypatch.setattr(calibrate, "measured", measured)
    monkeypatch.setattr("tilewright._core.cuda.driver_version", lambda: 13000)
    return tmp_path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["fit_device.py", *map(str, arguments)])
    return fit_device.main()


def values_of(path):
    values = {}
    exec(path.read_text(), values)
    return values


def test_the_h200s_own_times_give_its_numbers(made_up, monkeypatch, capsys):
    monkeypatch.setattr(models, "BETTER", -1)
    assert run(monkeypatch, "--dry", "--out", made_up) == 0
    assert "dry_run.py has the numbers of NVIDIA dry run" in capsys.readouterr().out
    values = values_of(made_up / "dry_run.py")
    for name in ("RATES", "SIMT_TILES", "SIMT_MODEL", "SM90_MODEL"):
        assert values[name] == packaged(name, H200), name


def test_the_file_is_one_of_the_packages(made_up, monkeypatch):
    """Of an H100, whose own numbers are another's: it begins from those of its generation."""
    assert run(monkeypatch, "--name", "h100", "--out", made_up) == 0
    text = (made_up / "h100.py").read_text()
    values = values_of(made_up / "h100.py")
    assert values["DEVICE"] == FACTS.name
    assert values["MEASURED"].endswith("CUDA driver 13000")
    assert {x for x in values if isinstance(values[x], dict) and x.isupper()} == {"RATES"}
    assert values["RATES"] == packaged("RATES", H200) != packaged("RATES", FACTS)
    assert text.count("# So the package's numbers hold.") == 2
    assert "off by 0.0%, and what is chosen takes\n# 0.0% longer" in text


def test_a_name_by_which_the_device_is_not_found_is_refused(made_up, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        run(monkeypatch, "--name", "h10")
    assert "NVIDIA H100 80GB HBM3 would not find a file named h10; it is to be one of" in capsys.readouterr().err
