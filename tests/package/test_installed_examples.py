"""The programs of examples/ are installed with the package: the same text, found as modules, run by their names."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tilewright.examples
from compiling import run_python
from places import ROOT
from tilewright import cute

PROGRAMS = sorted((ROOT / "examples").glob("*.py"))
PARTS = sorted((ROOT / "examples").glob("*/*.py"))
INSTALLED = Path(tilewright.examples.__file__).parent


def test_there_is_one_source_of_each():
    assert len(PROGRAMS) >= 16
    assert {path.name: path.read_bytes() for path in PROGRAMS} == {
        path.name: path.read_bytes() for path in INSTALLED.glob("*.py") if path.name != "__init__.py"
    }
    assert len(PARTS) >= 5
    assert {path.relative_to(ROOT / "examples"): path.read_bytes() for path in PARTS} == {
        path.relative_to(INSTALLED): path.read_bytes() for path in INSTALLED.glob("*/*.py")
    }


def test_all_are_found_without_torch():
    names = [f"tilewright.examples.{path.stem}" for path in PROGRAMS]
    names += [f"tilewright.examples.{path.parent.name}.{path.stem}" for path in PARTS if path.stem != "__init__"]
    assert all(importlib.util.find_spec(name) for name in names)
    run_python("import sys, tilewright.examples\nassert 'torch' not in sys.modules")


def test_one_runs_by_its_name(tmp_path):
    pytest.importorskip("torch")
    command = [sys.executable, "-m", "tilewright.examples.vector_add"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env={**os.environ}, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_its_lines_are_a_users():
    """A profile, and so findings and errors, name the lines of the example, not the line that called it."""
    pytest.importorskip("torch")
    program = importlib.import_module("tilewright.examples.scan")
    function, *arguments = program.problem("cpu")
    profile = cute.profile(function, *arguments)
    assert {line.file for line in profile.lines} == {program.__file__}
    assert os.path.join("wright", "examples", "scan.py") in str(profile)  # a long path is cut at its beginning
    with pytest.raises(TypeError) as info:
        function(*arguments, 1)
    assert info.traceback[-1].path == Path(__file__)
