"""`calibrate` at the command line: what it passes on, prints and returns."""

from __future__ import annotations

import pytest

from tilewright import kernels
from tilewright.__main__ import main
from tilewright.devices import H200
from tilewright.explore import calibrate as command
from tilewright.kernels import devices
from tilewright.kernels.common import calibration
from tilewright.kernels.gemm.calibrate.calibrate import Calibrated

ASKED = []


def answer(device=None, *, seconds=110):
    ASKED.append((device, seconds))
    return Calibrated("NVIDIA X1", "/x1.txt", ("the memory's bandwidth: 2 TB/s.",))


@pytest.fixture
def asked(monkeypatch):
    monkeypatch.setattr(kernels.gemm, "calibrate", answer)
    monkeypatch.setattr(command, "facts_and_number", lambda function, device: (H200, device))
    ASKED.clear()
    return ASKED


def test_what_was_found_is_printed(asked, capsys):
    assert main(["calibrate"]) == 0
    assert main(["calibrate", "--device", "1", "--seconds", "30"]) == 0
    assert asked == [(0, 110), (1, 30.0)]
    said = capsys.readouterr().out
    assert said.startswith("NVIDIA X1 is calibrated: the memory's bandwidth: 2 TB/s.\nFrom now on plans are chosen by ")


def test_removing_takes_the_packages_numbers_again(asked, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", str(tmp_path / "devices"))
    calibration.write(H200.name, "")
    assert main(["calibrate", "--remove"]) == 0
    assert main(["calibrate", "--remove"]) == 0
    assert capsys.readouterr().out == ("NVIDIA H200 has the package's numbers again\nNVIDIA H200 was not calibrated\n")
    assert asked == []
    devices.forget()


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ValueError("kernels.gemm.calibrate: no such device"), 1, "calibrate: no such device"),
        (PermissionError(13, "cannot be written", "/x"), 1, "calibrate: [Errno 13] cannot be written: '/x'"),
        (RuntimeError("out of memory"), 1, "calibrate: out of memory"),
        (KeyboardInterrupt(), 130, "calibrate: stopped; the numbers are those that were there before"),
    ],
)
def test_what_goes_wrong_is_one_line(asked, capsys, monkeypatch, error, status, said):
    def fails(device, *, seconds):
        raise error

    monkeypatch.setattr(kernels.gemm, "calibrate", fails)
    assert main(["calibrate"]) == status
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"python -m tilewright {said}\n")


def test_words_that_are_not_understood(asked, capsys):
    assert main(["calibrate", "--secnds", "3"]) == 2
    assert "there is no option --secnds. Did you mean: '--seconds'?" in capsys.readouterr().err
    assert main(["calibrate", "--help"]) == 0
    assert "TILEWRIGHT_DEVICES_DIR" in capsys.readouterr().out
    assert main(["calibrat"]) == 2
    assert "Did you mean: 'calibrate'?" in capsys.readouterr().err
    assert asked == []


def test_without_a_gpu_it_says_so(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("tilewright._core.cuda.driver_path", lambda: None)
    assert main(["calibrate"]) == 1
    assert "device is 0, but there is no GPU here (`tilewright doctor` says why)" in capsys.readouterr().err
