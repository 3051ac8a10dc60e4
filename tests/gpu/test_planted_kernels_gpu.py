"""What the CPU finds in kernels with a planted defect, compute-sanitizer finds on a GPU, at the same lines."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

import planted_kernels
from tilewright import _core

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    pytest.mark.skipif(shutil.which("compute-sanitizer") is None, reason="no compute-sanitizer"),
]


@pytest.mark.parametrize("planted", [x for x in planted_kernels.KERNELS if x.tool], ids=lambda x: x.name)
def test_compute_sanitizer_finds_it_at_the_same_lines(planted):
    command = ["compute-sanitizer", "--tool", planted.tool, "--kernel-name", f"kns={planted.name}"]
    if planted.tool == "racecheck":
        command += ["--racecheck-report", "all"]
    run = subprocess.run(
        [*command, sys.executable, planted_kernels.__file__, planted.name],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    text = run.stdout + run.stderr
    assert planted.says in text, text
    lines = {int(line) for line in re.findall(r"planted_kernels\.py:(\d+)", text)}
    assert lines & planted.lines, text
