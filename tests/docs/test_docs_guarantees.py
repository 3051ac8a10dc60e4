"""docs/guarantees.md: its tests and commands exist, and its figures are those of the newest run."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from places import ROOT

PAGE = (ROOT / "docs/guarantees.md").read_text(encoding="utf-8")
# Name, what holds it, and the figure, which those that are still to be counted lack.
ROWS = re.findall(r"^\| \*\*(.+?)\*\*[^|]*\| ([^|]+) \|(?: ([^|]*) \|)?$", PAGE, re.M)
WAITING = PAGE.partition("## Still to be counted")[2]
RESULT = max((ROOT / "benchmarks/results").glob("guarantees-*.md"))


def held_by():
    return [name for _, cell, _ in ROWS for name in re.findall(r"`([^`]+)`", cell)]


def test_every_row_is_read():
    assert len(ROWS) == PAGE.count("| **") > 15
    listed = subprocess.run([sys.executable, ROOT / "scripts/guarantees.py", "--list"], capture_output=True, text=True)
    assert [line.partition(": ")[0] for line in listed.stdout.splitlines()] == [name for name, *_ in ROWS]
    assert len({name for name, *_ in ROWS}) == len(ROWS)


@pytest.mark.parametrize("name", held_by())
def test_what_holds_a_promise_exists(name):
    if name.startswith("make "):
        target = name.split()[1]
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
        return
    path, _, function = name.partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^def {function}\(", text, re.M) if function else "\ndef test_" in text


def test_the_figures_are_those_of_the_newest_run():
    lines = RESULT.read_text(encoding="utf-8").splitlines()
    seen = {row[0].removeprefix("| "): row for row in (line.split(" | ") for line in lines) if len(row) > 5}
    for name, _, figure in ROWS:
        if not figure:
            assert f"**{name}**" in WAITING
            continue
        assert name in seen, f"{name} has not been run: scripts/guarantees.py"
        _, _, figures, result, *_ = seen[name]
        assert "**" not in result, seen[name]
        numbers = re.findall(r"\d[\d,.]*\d|\d", figure)
        assert numbers, name
        for number in numbers:
            assert number in figures or number in result, (name, number)


def test_files_and_commands_of_the_text_exist():
    text = re.sub(r"^\|.*$", "", PAGE, flags=re.M)
    for path in re.findall(r"`(?:python )?((?:scripts|benchmarks|docs|tests)/[\w./]+)`", text):
        assert (ROOT / path).exists(), path
