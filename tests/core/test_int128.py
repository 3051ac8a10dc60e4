"""The integer of 128 bits for compilers without one, beside the compiler's own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CPP = HERE.parents[1] / "cpp"


def test_int128_is_the_compilers(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    program = tmp_path / "int128_check"
    options = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{CPP}"]
    subprocess.run([compiler, *options, HERE / "int128_check.cpp", "-o", program], check=True)
    done = subprocess.run([program], text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, f"operation {done.returncode} differs"
    assert done.stdout == "156025 pairs\n"
