"""`tilewright profile SCRIPT`: the script runs, and the lines of its kernels are listed with what they cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys

import numpy as np

from tilewright import cute


@cute.kernel
def strided_kernel(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = x[i * 2]


@cute.jit
def strided(x: cute.Tensor, y: cute.Tensor):
    strided_kernel(x, y).launch(block=[32, 1, 1])


x, y = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
for _ in range(3):
    strided(x, y)
assert np.array_equal(y, x[::2])
print("own output", sys.argv[1:], __name__)
"""


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "strided.py"
    file.write_text(SCRIPT, encoding="utf-8")
    return file


def profile(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tilewright", "profile", *map(str, words)]
    return subprocess.run(command, text=True, capture_output=True, timeout=120)


def test_the_lines_of_its_kernels_are_listed(script):
    done = profile(script, "--size", "3", "more")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    own, listed = done.stdout.split("\n", 1)
    assert own == "own output ['--size', '3', 'more'] __main__"
    assert "== strided, the first of 3 calls\n" in listed
    (line,) = (x for x in listed.splitlines() if "y[i] = x[i * 2]" in x)
    assert "12/8" in line  # sectors: 8 of x, of which every other element is used, and 4 of y
    assert "let them access neighbouring elements" in " ".join(listed.split())


def test_what_was_counted_before_an_error_is_listed(script):
    with script.open("a", encoding="utf-8") as file:
        file.write("raise ValueError('the end of the script')\n")
    done = profile(script)
    assert done.returncode == 1
    assert "12/8" in done.stdout
    assert done.stderr.startswith("Traceback")
    assert "runpy" not in done.stderr
    assert done.stderr.endswith("ValueError: the end of the script\n")


def test_the_scripts_status_is_kept(script):
    with script.open("a", encoding="utf-8") as file:
        file.write("sys.exit(7)\n")
    assert profile(script).returncode == 7


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["no such file.py"], 1, "cannot read no such file.py: No such file or directory"),
        ([], 2, "required: SCRIPT"),
        (["--html", "x.py"], 2, "there is no option --html"),
    ],
)
def test_what_is_wrong_is_said(words, status, said):
    done = profile(*words)
    assert done.returncode == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_script_without_kernels_is_told(tmp_path):
    empty = tmp_path / "empty.py"
    empty.write_text("print(1)\n", encoding="utf-8")
    done = profile(empty)
    assert (done.returncode, done.stdout) == (1, "1\n")
    assert "called no function decorated with @cute.jit" in done.stderr


def test_help_says_what_to_write():
    done = profile("--help")
    assert done.returncode == 0
    assert "print(cute.profile(function, *args))" in done.stdout
