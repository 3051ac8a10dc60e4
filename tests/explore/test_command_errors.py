"""Commands that fail: one error, once, without a traceback, and what was meant."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewright.__main__ import main

NO_FOLDER = "/no such folder/file"
# The words, the exit status, the one line about the error (or how it begins and ends), whether usage lines follow it.
FAILING = [
    ("shw", 2, ": not understood: shw. Did you mean: 'show'?", True),
    ("doctor now", 2, ": not understood: doctor now", True),
    ("demo --sgv x", 2, ": not understood: demo --sgv x. Did you mean: '--svg'?", True),
    ("cache path", 2, ": not understood: cache path", True),
    ("cache", 2, ": an argument is missing: cache", True),
    ("profile", 2, " profile: the following arguments are required: SCRIPT; ...", False),
    ("cache lst", 2, ": not understood: cache lst. Did you mean: 'list'?", True),
    ("cache show zz --pxt", 2, ": not understood: cache show zz --pxt. Did you mean: '--ptx'?", True),
    ("cache show zz", 1, " cache: 0 entries ...", False),
    ("show", 2, " show: the following arguments are required: WHAT; ... --help` says more", False),
    ("show (4,8", 2, " show: parse('(4,8'): ...", False),
    ("show compositon 4:1 4:1", 2, " show: there is no operation ... Did you mean: 'composition'?", False),
    ("show righ_inverse 4:1", 2, " show: there is no operation ... Did you mean: 'right_inverse'?", False),
    ("show 4:1 --svgg x", 2, " show: there is no option --svgg. Did you mean: '--svg'?", False),
    ("show 4:1 --color bnk", 2, " show: color is ...", False),
    ("show 4:1 --at (9,9)", 2, " show: crd2idx(...", False),
    ("show 4:1 --dtype f31 --color bank", 2, " show: there is no element type 'f31'; ... Did you mean: 'f32'?", False),
    ("show composition (3,4):(4,1) 4:2", 2, " show: composition((3,4):(4,1), 4:2): ...", False),
    (f"show 4:1 --svg={NO_FOLDER}", 1, f" show: cannot write {NO_FOLDER}: No such file or directory", False),
    ("explain", 2, " explain: the following arguments are required: WHAT; ...", False),
    ("explain compositio 4:1 4:1", 2, " explain: there is no derivation ... Did you mean: 'composition'?", False),
    ("explain composition (3,4):(4,1) 4:2", 2, " explain: composition((3,4):(4,1), 4:2): ...", False),
    ("explain (4,8):(8,1) (1,2,3)", 2, " explain: crd2idx(...", False),
    ("analyze 32:1", 2, " analyze: the following arguments are required: --dtype; ...", False),
    ("analyze 32:1 --dtyp f32", 2, " analyze: there is no option --dtyp. Did you mean: '--dtype'?", False),
    (
        *("analyze 32:1 --dtype f32 --memory shred", 2),
        *(" analyze: argument --memory: expected global or shared, not 'shred'. Did you mean: 'shared'?", False),
    ),
    ("analyze 32:1 --dtype f32 --op stroe", 2, " analyze: argument --op: ... Did you mean: 'store'?", False),
    ("analyze 32:1 --dtype f32 --width x", 2, " analyze: argument --width: ...", False),
    (f"analyze 32:1 --dtype f32 --svg={NO_FOLDER}", 1, f" analyze: cannot write {NO_FOLDER}: ...", False),
    ("explore --prt 3", 2, " explore: there is no option --prt. Did you mean: '--port'?", False),
    ("explore --port 70000", 2, " explore: --port 70000 is no port...", False),
    (f"explore --html={NO_FOLDER}", 1, f" explore: cannot write {NO_FOLDER}: No such file or directory", False),
]  # fmt: skip


@pytest.mark.parametrize(("words", "status", "line", "usage"), FAILING, ids=[case[0] for case in FAILING])
def test_a_command_that_fails_says_so_once(capsys, words, status, line, usage):
    split = words.split() if NO_FOLDER not in words else [*words.split(" --")[0].split(), *_options(words)]
    assert main(split) == status
    out, err = capsys.readouterr()
    first, *rest = err.splitlines()
    begin, _, end = line.partition("...")
    assert first.startswith(f"python -m tilewright{begin}")
    assert first.endswith(end)
    if "..." not in line:
        assert first == f"python -m tilewright{line}"
    assert all(each.startswith(("usage: python -m", "       python -m")) for each in rest)
    assert bool(rest) == usage
    assert first.count("id you mean") == line.count("id you mean")
    reason = first.partition(": ")[2]
    assert reason not in " ".join(out.split())
    assert "Error" not in out


def _options(words: str) -> list[str]:
    """Where a value has a space in it."""
    options = []
    for option in words.split(" --")[1:]:
        options += [f"--{option}"] if "=" in option else f"--{option}".split()
    return options


@pytest.mark.parametrize("words", [["shw"], ["show", "composition", "(3,4):(4,1)", "4:2"], ["explore", "--prt", "3"]])
def test_as_a_program(words):
    run = subprocess.run([sys.executable, "-m", "tilewright", *words], text=True, capture_output=True)
    assert run.returncode == 2
    assert run.stderr.count("python -m tilewright ") + run.stderr.count("python -m tilewright:") == 1 + (
        words == ["shw"]
    )
    assert "Traceback" not in run.stderr + run.stdout


def test_what_leads_to_an_error_comes_before_it():
    command = f"{sys.executable} -m tilewright explain composition '(3,4):(4,1)' 4:2 2>&1"
    lines = subprocess.run(command, shell=True, text=True, capture_output=True).stdout.splitlines()
    assert lines[0] == "composition((3,4):(4,1), 4:2)"
    assert lines[-1].startswith("python -m tilewright explain: composition((3,4):(4,1), 4:2): stride 2")
    assert len(lines) == 3
