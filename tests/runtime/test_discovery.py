"""Where NVRTC is found, and what of the package is loaded by itself."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from compiling import FOUND, nvrtc, run_python
from tilewright.runtime import discovery
from tilewright.runtime.discovery import find_nvrtc


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A machine without NVRTC."""
    for name in ("TILEWRIGHT_NVRTC", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "path", ["", "relative", str(tmp_path / "site-packages")])
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "prefix"))
    monkeypatch.setattr(discovery, "_loaded", list)
    monkeypatch.setattr(discovery, "_by_loader", list)
    monkeypatch.setattr(discovery.glob, "glob", lambda pattern: [])
    real = discovery._toolkit
    monkeypatch.setattr(discovery, "_toolkit", lambda folder: real(folder) if folder != "/usr/local/cuda" else [])
    return tmp_path


def plant(folder: Path, major: int) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name in (f"libnvrtc.so.{major}", f"libnvrtc.alt.so.{major}", f"libnvrtc-builtins.so.{major}.0"):
        (folder / name).write_text("")
    return str(folder / f"libnvrtc.so.{major}")


def facts(search) -> tuple:
    return search.found.path, search.found.origin, search.found.major


def test_nothing_is_found_where_nothing_is(nowhere, monkeypatch):
    plant(nowhere / "relative/nvidia/cu13/lib", 13)
    monkeypatch.chdir(nowhere)
    search = find_nvrtc()
    assert search.found is None
    assert [line.split(":")[0] for line in search.tried][:4] == [
        "loaded in this process",
        "pip packages nvidia-cuda-nvrtc*",
        "CUDA_HOME",
        "CUDA_PATH",
    ]


def test_the_first_place_that_has_one_is_taken(nowhere, monkeypatch):
    """From the last place to the first: each new one comes before those found until then."""
    monkeypatch.setattr(discovery, "_by_loader", lambda: ["/lib/libnvrtc.so.12"])
    expected = ["/lib/libnvrtc.so.12"]
    assert find_nvrtc().found.path == expected[-1]

    plant(nowhere / "toolkit/lib64", 13)
    (nowhere / "toolkit/bin").mkdir()
    nvcc = nowhere / "toolkit/bin/nvcc"
    nvcc.write_text("")
    nvcc.chmod(0o700)
    (nowhere / "nvcc").symlink_to(nvcc)
    assert facts(find_nvrtc()) == (str(nowhere / "toolkit/lib64/libnvrtc.so.13"), "nvcc on PATH", 13)

    conda = plant(nowhere / "prefix/lib", 12)
    assert find_nvrtc().found.path == conda
    for name in ("CUDA_PATH", "CUDA_HOME"):
        toolkit = plant(nowhere / name / "lib", 13)
        monkeypatch.setenv(name, str(nowhere / name))
        assert facts(find_nvrtc()) == (toolkit, name, 13)
    cuda12 = plant(nowhere / "site-packages/nvidia/cuda_nvrtc/lib", 12)
    assert find_nvrtc().found.path == cuda12
    cuda13 = plant(nowhere / "site-packages/nvidia/cu13/lib", 13)
    assert facts(find_nvrtc()) == (cuda13, "pip packages nvidia-cuda-nvrtc*", 13)
    monkeypatch.setattr(discovery, "_loaded", lambda: ["/opt/libnvrtc.so.12"])
    assert find_nvrtc().found.path == "/opt/libnvrtc.so.12"
    monkeypatch.setenv("TILEWRIGHT_NVRTC", nvcc.as_posix())
    assert facts(find_nvrtc()) == (nvcc.as_posix(), "TILEWRIGHT_NVRTC", None)


def test_one_that_is_newer_than_the_driver_is_the_last_resort(nowhere):
    cuda13 = plant(nowhere / "site-packages/nvidia/cu13/lib", 13)
    search = find_nvrtc(12)
    assert search.found.path == cuda13
    assert any("is of CUDA 13, the driver of CUDA 12" in line for line in search.tried)
    cuda12 = plant(nowhere / "site-packages/nvidia/cuda_nvrtc/lib", 12)
    assert find_nvrtc(12).found.path == cuda12
    assert find_nvrtc(13).found.path == cuda13


def test_the_libraries_of_a_folder(nowhere):
    folder = nowhere / "lib"
    plant(folder, 12)
    (folder / "libnvrtc.so.13.0.88").write_text("")
    (folder / "libnvrtc.so.13").symlink_to("libnvrtc.so.13.0.88")
    (folder / "libnvrtc.so").symlink_to("libnvrtc.so.13")
    found = discovery._libraries(str(folder))
    assert [(os.path.basename(path), discovery._major(path)) for path in found] == [
        ("libnvrtc.so", 13),
        ("libnvrtc.so.12", 12),
    ]


@nvrtc
def test_one_that_is_loaded_already_is_found(monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_NVRTC", raising=False)
    ctypes.CDLL(FOUND.path)
    found = find_nvrtc().found
    assert found.origin == "loaded in this process"
    assert os.path.samefile(found.path, FOUND.path)


def test_searching_imports_neither_torch_nor_numpy():
    code = """
        import sys
        from tilewright.runtime import compiler
        from tilewright.runtime.discovery import find_nvrtc
        find_nvrtc()
        print(sorted({"torch", "numpy"} & set(sys.modules)))
    """
    assert run_python(code) == "[]"


def test_the_package_loads_nothing_of_this_by_itself():
    code = """
        import sys, tilewright, tilewright.cute, tilewright.kernels
        print([name for name in sys.modules if name.startswith("tilewright.runtime.")])
    """
    assert run_python(code) == "['tilewright.runtime.device']"  # which architecture a device has
