"""Files of calibrated devices in a user's folder: what is taken from them, and what is not, with a warning."""

from __future__ import annotations

import os
import stat
import warnings

import pytest

from compiling import run_python
from tilewright import BFloat16
from tilewright.devices import DEVICES, H200, DeviceFacts
from tilewright.kernels import devices
from tilewright.kernels.common import calibration
from tilewright.kernels.devices import as_packaged, calibrated, origin, packaged
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt.tiles import SimtTiles
from tilewright.kernels.gemm.sm90.cost import Sm90Model
from tilewright.runtime import folder as folders

FACTS = DeviceFacts("NVIDIA H300 PCIe", 90, 132, 232448)
PACKAGED = {name: packaged(name, FACTS) for name in devices.SECTIONS}
SLOW = {"RATES": {**PACKAGED["RATES"], "bandwidth": 1.5}, "SM90_MODEL": {**PACKAGED["SM90_MODEL"], "ingest": 31.5}}
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


def text_of(sections, **names):
    names = {"DEVICE": FACTS.name, "MEASURED": "today", "BEGAN_FROM": calibration.fingerprint(PACKAGED), **names}
    lines = [f"{name} = {value!r}" for name, value in {**names, **sections}.items() if value is not ...]
    return "\n".join(['"""A device."""', *lines, ""])


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", str(tmp_path / "devices"))
    devices.forget()
    yield tmp_path / "devices"
    devices.forget()


def refused(said):
    """What is said of the device's calibration, which is not taken at all; once."""
    devices.forget()
    with pytest.warns(RuntimeWarning, match=said) as found:
        assert Rates.of(FACTS).bandwidth == 4.2
    assert len(found) == 1
    assert Sm90Model.of(FACTS).ingest == PACKAGED["SM90_MODEL"]["ingest"]
    text = str(found[0].message)
    assert text.startswith(f"the calibration of NVIDIA H300 PCIe in {calibration.path_of(FACTS.name)} is not used: ")
    assert text.endswith(
        "; kernels.gemm.calibrate() measures again, and without the file the package's numbers are taken"
    )
    return text


def test_the_users_numbers_go_before_the_packages(folder):
    assert calibrated(FACTS) is None
    path = calibration.write(FACTS.name, text_of(SLOW))
    assert path == str(folder / "h300_pcie.txt") == calibration.path_of(FACTS.name)
    devices.forget()
    assert (Rates.of(FACTS).bandwidth, Sm90Model.of(FACTS).ingest) == (1.5, 31.5)
    assert SimtTiles.of(FACTS).tiles == SimtTiles.of(H200).tiles  # what the file lacks
    assert (Rates.of(H200).bandwidth, Rates.of(as_packaged(FACTS)).bandwidth) == (4.2, 4.2)
    assert origin(FACTS) == f"calibrated today ({path})"
    problem = problem_of(1024, 1024, 1024, BFloat16)
    own, others = (choose_gemm(problem, (256,) * 3, facts) for facts in (FACTS, as_packaged(FACTS)))
    assert own != others


def test_a_known_devices_own_file_gives_way_too(folder):
    facts = FACTS._replace(name="NVIDIA H100 80GB HBM3")
    sections = {name: packaged(name, facts) for name in devices.SECTIONS}
    slow = {"RATES": {**sections["RATES"], "bandwidth": 1.5}}
    calibration.write(facts.name, text_of(slow, DEVICE=facts.name, BEGAN_FROM=calibration.fingerprint(sections)))
    devices.forget()
    assert Rates.of(facts).bandwidth == 1.5
    assert Rates.of(facts._replace(name="NVIDIA H100 PCIe")).bandwidth == sections["RATES"]["bandwidth"]


def test_another_process_takes_them_and_the_removed_ones_no_more(folder):
    code = f"""
        from tilewright.devices import DeviceFacts
        from tilewright.kernels.gemm.choose.rates import Rates
        print(Rates.of(DeviceFacts{tuple(FACTS)}).bandwidth)
    """
    calibration.write(FACTS.name, text_of(SLOW))
    assert run_python(code) == "1.5"
    assert run_python(code, TILEWRIGHT_DEVICES_DIR="off") == "4.2"
    assert calibration.remove(FACTS.name)
    assert not calibration.remove(FACTS.name)
    assert run_python(code) == "4.2"


def test_a_file_is_written_for_its_user_alone(folder):
    path = calibration.write(FACTS.name, text_of(SLOW))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert os.listdir(folder) == ["h300_pcie.txt"]


def test_who_stops_it_leaves_the_old_file(folder, monkeypatch):
    calibration.write(FACTS.name, text_of(SLOW))

    def stopped(file):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", stopped)
        with pytest.raises(KeyboardInterrupt):
            calibration.write(FACTS.name, "nothing")
    assert os.listdir(folder) == ["h300_pcie.txt"]
    devices.forget()
    assert Rates.of(FACTS).bandwidth == 1.5


CHANGED = {"BEGAN_FROM": calibration.fingerprint({**PACKAGED, "RATES": {}})}
ODD = {
    "other models": (text_of(SLOW, **CHANGED), "measured by another tilewright, whose models have other numbers"),
    "no models": (text_of(SLOW, BEGAN_FROM=...), "measured by another tilewright"),
    "other device": (text_of(SLOW, DEVICE="NVIDIA H300"), "it is of 'NVIDIA H300'"),
    "no device": ("", "it is of None"),
    "half a file": (text_of(SLOW)[:-200], "it is damaged: .*(was never closed|unterminated)"),
    "null": ("\0", "it is damaged"),
    "deep": ("X = " + "(" * 5000, "it is damaged"),
    "a call": (text_of({}) + "RATES = open('/etc/passwd')", "it is damaged: line 5 is no literal with a name"),
    "a statement": ("import os\n" + text_of(SLOW), "it is damaged: line 1 is no literal with a name"),
    "two names": (text_of(SLOW) + "a, b = 1, 2", "is no literal with a name"),
    "unhashable": (text_of(SLOW) + "X = {[]: 1}", "is no literal with a name"),
    "unknown section": (text_of({**SLOW, "COPY": {}}), "it is damaged: unknown COPY"),
    "no day": (text_of(SLOW, MEASURED=3), "it is damaged: unknown MEASURED"),
}
BAD = {
    "lacks": {"bandwidth": 1.5},
    "more": {**PACKAGED["RATES"], "more": 1.0},
    "text": {**PACKAGED["RATES"], "bandwidth": "1.5"},
    "bool": {**PACKAGED["RATES"], "bandwidth": True},
    "negative": {**PACKAGED["RATES"], "bandwidth": -1.5},
    "zero": {**PACKAGED["RATES"], "bandwidth": 0.0},
    "huge": {**PACKAGED["RATES"], "bandwidth": 1e999},
    "kernels": {**PACKAGED["RATES"], "kernels": {"sm90": 0.5}},
    "no dict": [1],
}


@pytest.mark.parametrize("name", ODD)
def test_what_is_no_calibration_of_this_device_is_not_taken(folder, name):
    text, said = ODD[name]
    calibration.write(FACTS.name, text)
    refused(said)


@pytest.mark.parametrize("name", BAD)
def test_numbers_that_cannot_be_are_not_taken_nor_are_the_others(folder, name):
    rates = repr(BAD[name]).replace("inf", "1e999")
    calibration.write(FACTS.name, text_of({"SM90_MODEL": SLOW["SM90_MODEL"]}) + f"RATES = {rates}\n")
    refused("it is damaged: RATES has not the numbers that it must have")


def test_sizes_and_counts_are_the_packages(folder):
    tiles = PACKAGED["SIMT_TILES"]["tiles"]
    for row in ((2 * tiles[0][0], *tiles[0][1:]), (float(tiles[0][0]), *tiles[0][1:]), tiles[0][:-1]):
        calibration.write(FACTS.name, text_of({"SIMT_TILES": {**PACKAGED["SIMT_TILES"], "tiles": (row, *tiles[1:])}}))
        refused("SIMT_TILES has not the numbers")
    calibration.write(FACTS.name, text_of({"SM90_MODEL": {**PACKAGED["SM90_MODEL"], "few_tiles": 3}}))
    refused("SM90_MODEL has not the numbers")
    row = (*tiles[0][:5], 0.5 * tiles[0][5], *tiles[0][6:])
    calibration.write(FACTS.name, text_of({"SIMT_TILES": {**PACKAGED["SIMT_TILES"], "tiles": (row, *tiles[1:])}}))
    devices.forget()
    assert SimtTiles.of(FACTS).tiles[0].rate == row[5]


def test_whatever_others_could_have_written_is_not_taken(folder):
    path = calibration.write(FACTS.name, text_of(SLOW))
    os.chmod(path, 0o620)
    refused("it belongs to another user, or others may write it")
    os.chmod(path, 0o600)
    os.chmod(folder, 0o770)
    refused("is writable by others")
    os.chmod(folder, 0o700)
    os.rename(path, f"{path}.other")
    os.symlink(f"{path}.other", path)
    refused("symbolic link")
    os.unlink(path)
    os.mkfifo(path, 0o600)
    refused("it is no file of a calibration")
    os.unlink(path)
    os.mkdir(path, 0o700)
    refused("it is no file of a calibration")


@root
def test_the_file_of_another_user_is_not_taken(folder):
    path = calibration.write(FACTS.name, text_of(SLOW))
    os.chown(path, 65534, 65534)
    refused("it belongs to another user")
    os.chown(path, 0, 0)
    os.chown(folder, 65534, 65534)
    refused("belongs to another user")


def test_a_file_larger_than_any_calibration_is_not_read(folder):
    calibration.write(FACTS.name, "#" * (calibration.MOST + 1))
    refused("it is no file of a calibration")


def test_a_warning_that_is_an_error_is_one_once(folder):
    calibration.write(FACTS.name, "1")
    devices.forget()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            Rates.of(FACTS)
        assert Rates.of(FACTS).bandwidth == 4.2


def test_where_the_folder_is(monkeypatch):
    for name in ("TILEWRIGHT_DEVICES_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/me")
    assert folders.devices_place() == "/home/me/.local/share/tilewright/devices"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert folders.devices_place() == "/home/me/.local/share/tilewright/devices"
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert folders.devices_place() == "/data/tilewright/devices"
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", "~/mine")
    assert folders.devices_place() == "/home/me/mine"
    for off in ("", "off"):
        monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", off)
        assert folders.devices_place() is None
    assert not calibration.remove(FACTS.name)
    with pytest.raises(OSError, match="switched off by TILEWRIGHT_DEVICES_DIR"):
        calibration.write(FACTS.name, "")


def test_a_relative_folder_is_refused(monkeypatch):
    """Whoever fills the current directory, say with a cloned repository, would choose the plans."""
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", "devices")
    refused("devices is not an absolute path")


def test_where_the_numbers_of_a_device_come_from():
    assert origin(H200).startswith("measured on an NVIDIA H200, 2026-11-21 and")
    assert origin(FACTS) == "borrowed from NVIDIA H200 (h200.py); `tilewright calibrate` measures"
    assert origin(DEVICES["sm_80"]) == "those of a data sheet (a100.py); `tilewright calibrate` measures"
    assert origin(FACTS._replace(name="NVIDIA H100 PCIe")).startswith("measured on an NVIDIA H100 80GB HBM3, 2026-")
