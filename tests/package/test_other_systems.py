"""What works without NVIDIA's software works where the functions are missing that only POSIX has."""

from __future__ import annotations

import subprocess
import sys

# What Windows lacks goes before tilewright is imported. The standard library has taken its own before.
PRETEND = """
import concurrent.futures, ctypes, logging, os, random, shutil, subprocess, sys, tempfile
import numpy as np

sys.modules["resource"] = sys.modules["pwd"] = None
sys.modules["fcntl"] = type(sys)("fcntl")  # not imported where sys.platform is win32: it has nothing
for name in (
    "geteuid", "getuid", "statvfs", "register_at_fork", "fork", "fwalk", "sched_getaffinity",
    "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK", "O_CLOEXEC",
):
    if hasattr(os, name):
        delattr(os, name)
"""
WORK = """
from tilewright import Float32, analyze, cute, kernels

assert str(cute.composition("(6,2):(8,2)", "(4,3):(3,1)")) == "((2,2),3):((24,2),8)"
assert "svg" in cute.show(cute.make_layout((4, 8))).svg()
assert "32-way" in str(analyze(cute.make_layout(32, stride=32), Float32, memory="shared"))
a = np.arange(12, dtype=np.float32).reshape(3, 4)
assert np.array_equal(kernels.gemm(a, a), a @ a.T)

from tilewright.__main__ import main

assert main(["cache", "list"]) == 1
assert main(["doctor"]) == 1
"""


def test_without_what_only_posix_has():
    done = subprocess.run([sys.executable, "-c", PRETEND + WORK], text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "works          plans of copies and GEMMs on the CPU" in done.stdout
    assert "cache          not there on Windows" in done.stdout
    assert "cache: the disk cache is not there on Windows" in done.stderr
    assert "Error" not in done.stdout.partition("driver")[0]
