"""`python -m tilewright doctor` and `cache`: what they print, their exit status, and that nothing makes them fail."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tilewright import cute, kernels
from tilewright.__main__ import main
from tilewright._core import cuda
from tilewright.devices import H200
from tilewright.explore import doctor as doctor_module
from tilewright.explore.doctor import doctor
from tilewright.kernels import devices
from tilewright.kernels.common import calibration
from tilewright.kernels.devices import origin
from tilewright.runtime import compiler, discovery, nvrtc
from tilewright.runtime.device import properties
from tilewright.runtime.discovery import Library, Search

DEVICE = {
    "name": "NVIDIA H200",
    "compute_capability": (9, 0),
    "multiprocessors": 132,
    "total_memory": 141 * 2**30,
}


class FakeNvrtc:
    version = (13, 0)

    def compile(self, source, name, headers, options, names):
        ptx = "// Cuda compilation tools, release 13.0, V13.0.88\n"
        lowered = dict.fromkeys(names, "_probe")
        return SimpleNamespace(ok=True, log="", cubin=b"cubin", ptx=ptx, lowered=lowered)


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine on which all is well, whose parts a test can break; it counts launches."""
    launched = []
    function = SimpleNamespace(launch=lambda *arguments: launched.append(arguments))
    module = SimpleNamespace(function=lambda symbol: function)
    parts = {
        "driver_path": lambda: "/lib/libcuda.so.1",
        "driver_version": lambda: 13010,
        "device_count": lambda: 2,
        "device": lambda index: DEVICE,
        "load": lambda device, cubin: module,
        "synchronize": lambda device: None,
    }
    for name, part in parts.items():
        monkeypatch.setattr(cuda, name, part)
    library = tmp_path / "lib/libnvrtc.so.13"
    library.parent.mkdir()
    library.write_text("")
    found = Search(Library(str(library), "CUDA_HOME", 13), ())
    monkeypatch.setattr(discovery, "find_nvrtc", lambda driver=None: found)
    monkeypatch.setattr(compiler, "find_nvrtc", lambda driver=None: found)
    opened = FakeNvrtc()

    def open_nvrtc(path):
        return opened

    open_nvrtc.cache_clear = lambda: None
    monkeypatch.setattr(nvrtc, "open_nvrtc", open_nvrtc)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_CACHE_SIZE", raising=False)
    monkeypatch.delenv("TILEWRIGHT_NVRTC", raising=False)
    properties.cache_clear()
    compiler.forget()
    yield SimpleNamespace(launched=launched, nvrtc=opened, tmp=tmp_path)
    properties.cache_clear()
    compiler.forget()


def examined(expected: int) -> str:
    lines: list[str] = []
    assert doctor(lines.append) == expected
    assert not any("Traceback" in line for line in lines)
    return re.sub(r"\d+ ms$", "0 ms", "\n".join(lines), flags=re.MULTILINE)  # however busy the machine is


def mending(text: str) -> list[tuple[str, str]]:
    """Each "to mend" with the line after it."""
    lines = text.splitlines()
    return [(line, lines[at + 1].strip()) for at, line in enumerate(lines) if line.startswith("to mend")]


def test_all_is_well(machine):
    text = examined(0)
    assert mending(text) == []
    assert text.endswith("\nkernels can be compiled and launched")
    for line in (
        "driver         CUDA 13.1 (/lib/libcuda.so.1)",
        "device 1       NVIDIA H200, compute capability 9.0 (sm_90a), 132 multiprocessors, 141 GiB",
        f"{'':14} numbers: {origin(H200)}",
        f"NVRTC          13.0 ({machine.tmp}/lib/libnvrtc.so.13; CUDA_HOME)",
        f"cache          {machine.tmp}/cache (not made yet)",
        "compiling      an empty kernel for sm_90a: 0 ms",
        "launching      device 1: loaded, launched and ended in 0 ms",
    ):
        assert line in text.splitlines()
    assert len(machine.launched) == 2
    assert not (machine.tmp / "cache").exists()


@pytest.fixture
def calibrated(machine, monkeypatch):
    """A folder for calibrations; a device without a file of its own."""
    monkeypatch.setenv("TILEWRIGHT_DEVICES_DIR", str(machine.tmp / "devices"))
    monkeypatch.setitem(DEVICE, "name", "NVIDIA GH200 480GB")
    devices.forget()
    yield machine.tmp / "devices"
    devices.forget()


def test_where_the_numbers_of_a_device_come_from(calibrated):
    assert (
        "\n               numbers: borrowed from NVIDIA H200 (h200.py); `tilewright calibrate` measures\n"
        in examined(0)
    )
    facts = H200._replace(name=DEVICE["name"])
    began = calibration.fingerprint({name: devices.packaged(name, facts) for name in devices.SECTIONS})
    path = calibration.write(facts.name, f"DEVICE = {facts.name!r}\nMEASURED = 'on a day'\nBEGAN_FROM = {began!r}\n")
    devices.forget()
    assert f"\n{'':14} numbers: calibrated on a day ({path})\n" in examined(0)
    calibrated.chmod(0o777)
    devices.forget()
    text = examined(0)
    assert "numbers: borrowed from NVIDIA H200" in text
    assert (
        f"to know: device 0: the calibration of NVIDIA GH200 480GB in {path} is not used: {calibrated} is writ" in text
    )
    assert "`tilewright calibrate` measures it again" in text


WORKS = "works          layouts and their algebra, pictures, analyses\n"
WORKS += "works          plans of copies and GEMMs on the CPU\n"
WORKS += "works          kernels written in Python on the CPU, every access checked\n"


def test_what_works_is_said_first(machine, monkeypatch):
    assert examined(0).startswith(
        f"{WORKS}works          compiling kernels, for sm_90a\nworks          launching kernels, on device 0, 1\n\n"
    )
    monkeypatch.setattr(cuda, "driver_path", lambda: None)
    missing = "missing        launching kernels: how to get that is said below\n\ntilewright "
    assert examined(1).startswith(f"{WORKS}works          compiling kernels, for sm_90a and other GPUs\n{missing}")
    monkeypatch.setattr(discovery, "find_nvrtc", lambda driver=None: Search(None, ()))
    no_compiler = "missing        compiling kernels: how to get that is said below\n"
    assert examined(1).startswith(f"{WORKS}{no_compiler}{missing}")


def test_a_machine_on_which_plans_are_wrong(machine, monkeypatch):
    monkeypatch.setattr(kernels, "tiled_copy", lambda src, dst: dst)
    text = examined(1)
    assert "\nmissing        plans of copies and GEMMs on the CPU: " in text
    assert mending(text)[0][0] == "to mend: on the CPU: a copy by its plan is wrong"


def test_a_machine_on_which_kernels_are_not_checked(machine, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CHECK", "0")
    assert examined(0)  # the user's own wish
    monkeypatch.setattr(cute, "on_cpu", lambda check: contextlib.nullcontext())
    text = examined(1)
    assert "\nmissing        kernels written in Python on the CPU, every access checked: " in text
    assert mending(text)[0][0] == "to mend: on the CPU: a read beyond a tensor was not found"
    assert text.endswith("\nkernels can be compiled and launched, but not all is well")


def test_a_machine_without_numpy(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "numpy", None)
    (what, command), *_ = mending(examined(1))
    assert what.startswith("to mend: on the CPU: import of numpy halted")
    assert command == f"{sys.executable} -m pip install numpy"


def test_what_was_found_is_said_where_the_user_gives_up(machine, monkeypatch):
    def wait():
        raise KeyboardInterrupt

    monkeypatch.setattr(cuda, "device_count", wait)
    lines: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        doctor(lines.append)
    assert lines[0].startswith("works ")
    assert lines[-1].startswith("driver ")


def test_no_driver(machine, monkeypatch):
    monkeypatch.setattr(cuda, "driver_path", lambda: None)
    for there, mend in ((False, "install NVIDIA's driver"), (True, "put the folder of libcuda.so.1")):
        monkeypatch.setattr(doctor_module.os.path, "exists", lambda path, there=there: there)
        text = examined(1)
        ((what, command),) = mending(text)
        assert what == "to mend: driver: none: libcuda.so.1 cannot be loaded"
        assert mend in command
        assert "docker run --gpus all" in command
        assert "compiling      an empty kernel for sm_90a: 0 ms" in text
        assert text.endswith("\nall that needs no GPU works; kernels can be compiled for a GPU but not launched")
    assert machine.launched == []


def test_no_device(machine, monkeypatch):
    monkeypatch.setattr(cuda, "device_count", lambda: 0)
    ((what, command),) = mending(examined(1))
    assert what == "to mend: devices: none"
    assert "nvidia-smi" in command

    def fail():
        raise cuda.DriverError("cuInit failed: CUDA_ERROR_UNKNOWN (999)")

    monkeypatch.setattr(cuda, "device_count", fail)
    assert mending(examined(1))[0][0] == "to mend: devices: cuInit failed: CUDA_ERROR_UNKNOWN (999)"


@pytest.mark.parametrize(
    ("driver", "package"), [(13010, '"nvidia-cuda-nvrtc==13.*"'), (12080, '"nvidia-cuda-nvrtc-cu12==12.*"')]
)
def test_no_nvrtc(machine, monkeypatch, driver, package):
    monkeypatch.setattr(cuda, "driver_version", lambda: driver)
    monkeypatch.setattr(discovery, "find_nvrtc", lambda cuda=None: Search(None, ("CUDA_HOME: none", "x: none")))
    text = examined(1)
    assert mending(text) == [("to mend: NVRTC: none", f"{sys.executable} -m pip install {package}")]
    assert "               CUDA_HOME: none\n               x: none" in text
    assert text.endswith("\nall that needs no GPU works; kernels cannot be compiled")


def test_an_nvrtc_that_is_newer_than_the_driver(machine, monkeypatch):
    monkeypatch.setattr(cuda, "driver_version", lambda: 12080)
    ((what, command),) = mending(examined(1))
    assert what == "to mend: NVRTC: of CUDA 13, newer than the driver's CUDA 12"
    assert command.endswith('"nvidia-cuda-nvrtc-cu12==12.*"')


def test_an_nvrtc_that_cannot_be_loaded(machine, monkeypatch, tmp_path):
    monkeypatch.undo()
    monkeypatch.setenv("TILEWRIGHT_NVRTC", str(tmp_path / "lib/libnvrtc.so.13"))
    text = examined(1)
    assert any("NVRTC cannot be loaded" in what and "pip install" in command for what, command in mending(text))


def test_compiling_fails(machine):
    answer = SimpleNamespace(ok=False, log="nvrtc: error: invalid value\nfor --gpu-architecture", cubin=None)
    machine.nvrtc.compile = lambda *arguments: answer
    text = examined(1)
    assert mending(text)[0][0].endswith("fails for sm_90a: nvrtc: error: invalid value for --gpu-architecture")
    assert machine.launched == []


def test_launching_fails(machine, monkeypatch):
    def fail(device):
        raise cuda.DriverError("cuCtxSynchronize failed: CUDA_ERROR_ECC_UNCORRECTABLE (214)")

    monkeypatch.setattr(cuda, "synchronize", fail)
    text = examined(1)
    assert len(mending(text)) == 2
    assert "launching: device 1: cuCtxSynchronize failed" in mending(text)[1][0]
    assert text.endswith("\nall that needs no GPU works; kernels can be compiled for a GPU but not launched")


def test_the_cache_is_off(machine, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    assert "cache          switched off by TILEWRIGHT_CACHE_DIR" in examined(0)


def test_the_cache_is_not_used(machine):
    """Kernels run all the same: no reason for an exit status of 1."""
    folder = machine.tmp / "cache"
    folder.mkdir(0o777)
    folder.chmod(0o777)
    text = examined(0)
    assert f"cache          not used: {folder} is writable by others (mode 0777); `chmod go-w {folder}`" in text
    assert "to know: cache: " in text
    folder.rmdir()
    folder.write_text("a file")
    assert f"cache          not used: {folder}: Not a directory" in examined(0)


def test_the_cache_cannot_grow(machine, monkeypatch):
    (machine.tmp / "cache").mkdir(0o700)
    assert "to know" not in examined(0)
    monkeypatch.setattr(doctor_module.os, "statvfs", lambda folder: SimpleNamespace(f_bavail=1, f_frsize=4096))
    assert "cache: the disk of" in examined(0)
    monkeypatch.setattr(doctor_module.os, "access", lambda *arguments, **named: False)
    assert "cannot be written" in examined(0)


def test_no_kernels(machine, monkeypatch):
    monkeypatch.setattr(discovery, "kernels_folder", lambda: machine.tmp)
    ((what, command),) = mending(examined(1))
    assert what == f"to mend: kernels: no sources in {machine.tmp}"
    assert command.endswith(" -m pip install --force-reinstall --no-deps .  # in tilewright's source")  # of no index


PARTS = [(cuda, name) for name in ("driver_path", "driver_version", "device_count", "device", "load", "synchronize")]
PARTS += [(discovery, "find_nvrtc"), (discovery, "kernels_folder"), (nvrtc, "open_nvrtc")]
PARTS += [(doctor_module, "_version"), (doctor_module.os, "statvfs"), (doctor_module.os, "walk")]


@pytest.mark.parametrize(("owner", "name"), PARTS, ids=lambda part: part if isinstance(part, str) else "")
def test_whatever_fails_is_said(machine, monkeypatch, owner, name):
    (machine.tmp / "cache").mkdir(0o700)

    def fail(*arguments, **named):
        raise ZeroDivisionError("unheard of")

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        text = examined(1)
    assert "ZeroDivisionError: unheard of" in text
    assert any("report this" in command for _, command in mending(text))


def test_on_this_machine(tmp_path):
    """Whatever is here: an exit status, no traceback, and torch, which takes seconds, is not imported."""
    code = "import sys; from tilewright.explore.doctor import doctor; status = doctor()\n"
    code += "assert 'torch' not in sys.modules; sys.exit(status)"
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=60, env=environment)
    assert done.stderr == ""
    last = done.stdout.splitlines()[-1]
    assert done.returncode == (0 if last == "kernels can be compiled and launched" else 1)
    for subject in ("tilewright", "Python", "numpy", "torch", "driver", "NVRTC", "kernels", "cache"):
        assert f"\n{subject:14} " in "\n" + done.stdout
    command = [sys.executable, "-m", "tilewright", "doctor"]
    assert subprocess.run(command, capture_output=True, timeout=60, env=environment).returncode == done.returncode


# The cache at the command line


@pytest.fixture
def program(machine):
    return compiler.compile_program("probe", ["k<1>", "k<2>"], "sm_90a", source="int x;\n")


def command(capsys, *arguments: str) -> tuple[int, str, str]:
    status = main(["cache", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_cache_list(capsys, program, machine):
    status, out, err = command(capsys, "list")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert any(line.startswith(program.key[:16]) and line.endswith("  probe sm_90a: k<1> and 1 more") for line in lines)
    assert any(line.endswith("  NVRTC: Cuda compilation tools, release 13.0, V13.0.88") for line in lines)
    assert lines[-1] == f"2 entries, 0.0 of 512 MiB, in {machine.tmp}/cache"


def test_cache_list_cuts_the_long_names_of_templates(capsys, program, machine, monkeypatch):
    from tilewright.runtime import command as listing

    monkeypatch.setattr(listing, "TITLE", 20)
    lines = command(capsys, "list")[1].splitlines()
    assert any(line.endswith("  probe sm_90a: k<1...") for line in lines)


def test_cache_list_of_a_damaged_entry(capsys, program, machine):
    entry = machine.tmp / "cache" / f"{program.key}.entry"
    entry.write_bytes(entry.read_bytes()[:-1])
    assert "damaged: removed" in command(capsys, "list")[1]
    assert command(capsys, "list")[1].startswith("1 entries") or not entry.exists()


def test_cache_show(capsys, program, tmp_path):
    status, out, err = command(capsys, "show", program.key[:6])
    assert (status, err) == (0, "")
    assert out.splitlines()[:4] == [
        "probe for sm_90a",
        f"options: {' '.join(program.options)}",
        "k<1>",
        "  symbol _probe",
    ]
    assert command(capsys, "show", program.key, "--source") == (0, "int x;\n", "")
    assert command(capsys, "show", program.key, "--ptx")[1] == program.ptx
    assert command(capsys, "show", program.key, "--cubin", str(tmp_path / "cubin"))[0] == 0
    assert (tmp_path / "cubin").read_bytes() == program.cubin


def test_cache_show_of_what_is_not_there(capsys, program, tmp_path, machine):
    status, out, err = command(capsys, "show", "xyz")
    assert (status, out) == (1, "")
    assert err == "python -m tilewright cache: 0 entries have a key that begins with 'xyz'; `cache list` lists them\n"
    assert "2 entries have a key that begins with ''" in command(capsys, "show", "")[2]
    other = next(path.stem for path in (machine.tmp / "cache").iterdir() if path.stem != program.key)
    assert command(capsys, "show", other)[2].endswith("is no program\n")
    status, _, err = command(capsys, "show", program.key, "--cubin", str(tmp_path / "no/cubin"))
    assert status == 1
    assert "No such file or directory" in err


def test_cache_clear(capsys, program, machine):
    assert command(capsys, "clear") == (0, f"removed 2 entries from {machine.tmp}/cache\n", "")
    assert list((machine.tmp / "cache").iterdir()) == []
    assert command(capsys, "clear") == (0, f"removed 0 entries from {machine.tmp}/cache\n", "")
    (machine.tmp / "cache").chmod(0o777)
    status, out, err = command(capsys, "clear")
    assert (status, out) == (1, "")
    assert "writable by others" in err


def test_cache_that_is_off(capsys, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "")
    for arguments in (["list"], ["clear"], ["show", "x"]):
        status, out, err = command(capsys, *arguments)
        assert (status, out) == (1, "")
        assert "switched off by TILEWRIGHT_CACHE_DIR" in err


@pytest.mark.parametrize("arguments", [[], ["lst"], ["show"], ["show", "x", "--all"], ["clear", "x"]])
def test_cache_arguments_that_are_not_understood(capsys, arguments):
    status, out, err = command(capsys, *arguments)
    assert (status, out) == (2, "")
    meant = ". Did you mean: 'list'?" if arguments == ["lst"] else ""
    said = "not understood" if arguments else "an argument is missing"
    first = f"python -m tilewright: {said}: {' '.join(['cache', *arguments])}{meant}\n"
    assert err.startswith(f"{first}usage: python -m tilewright cache list\n")
