"""The console command `tilewright` is `python -m tilewright` under its own name."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

MODULE = "python -m tilewright"
COMMAND = Path(sysconfig.get_path("scripts")) / "tilewright"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, text=True, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["explain", "composition", "(6,2):(8,2)", "(4,3):(3,1)"], 0),
        (["show", "--help"], 0),
        ([], 2),
        (["dmeo"], 2),
        (["cache", "lst"], 2),
        (["explain", "composition", "(3,4):(4,1)", "4:2"], 2),
        (["cache", "show", "no such key"], 1),
        (["demo", "--svg", "/no such folder/tv.svg"], 1),
    ],
)
def test_it_does_what_the_module_does_and_says_what_was_typed(arguments, status):
    typed, module = run(str(COMMAND), *arguments), run(sys.executable, "-m", "tilewright", *arguments)
    assert (typed.returncode, module.returncode) == (status, status)
    assert MODULE not in typed.stdout + typed.stderr
    if arguments[:1] != ["demo"] and arguments != ["show", "--help"]:  # addresses differ, and where lines break
        assert typed.stdout == module.stdout.replace(MODULE, "tilewright")
        assert typed.stderr == module.stderr.replace(MODULE, "tilewright")


def test_it_ends_quietly_where_nobody_reads_on():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run([COMMAND, "--help"], stdout=writing, stderr=subprocess.PIPE, timeout=60)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")
