"""Tables of results: of the newest run of a kind, the columns and rows that a page names; the page of all runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cells
import tables
from places import ROOT

OLD = """# Speeds

NVIDIA A100, 108 SMs; driver 1

## fp32

| case | by | speed |
| --- | --- | --- |
| a | x | 1 |
"""
NEW = """# Speeds

- NVIDIA H200, 132 SMs

## fp32, FMA

| case | by | speed |
| --- | --- | --- |
| a | x | 53.61 (53.54 to 53.77) TFLOP/s |
| a | y | 2 (1 to 3) |
| b | x | 3 |

## bf16

| case | by | speed |
| --- | --- | --- |
| a | x | 9 |
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "benchmarks/results"
    folder.mkdir(parents=True)
    (folder / "speed-2026-01-02.md").write_text(OLD)
    (folder / "speed-2026-03-04.md").write_text(NEW)
    (folder / "speed_cpu-2026-05-06.md").write_text(OLD)
    return tmp_path


def test_a_table(root: Path) -> None:
    text = tables.expand("Before.\n\n<!-- results: speed | fp32 | by, speed | case=a -->\n\nBehind.", root)
    assert text == (
        "Before.\n\n| by | speed |\n| --- | --- |\n| x | 53.61 TFLOP/s |\n| y | 2 |\n\n"
        "Measured on NVIDIA H200 on 2026-03-04; [the page of the run](../performance/speed-2026-03-04.md) has the rest."
        "\n\nBehind."
    )


@pytest.mark.parametrize("comment", ["other | fp32 | by", "speed | fp64 | by", "speed | fp32 | by | case=c"])
def test_what_is_not_there_is_an_error(root: Path, comment: str) -> None:
    with pytest.raises(ValueError, match="has no"):
        tables.expand(f"<!-- results: {comment} -->", root)


def test_the_notebooks_tables_exist() -> None:
    named = 0
    for text in cells.notebooks(ROOT / "docs").values():
        named += text.count("<!-- results:")
        assert "<!--" not in tables.expand(text, ROOT)
    assert named >= 6


def test_each_result_says_on_what_it_was_measured() -> None:
    for path in (ROOT / "benchmarks/results").glob("*.md"):
        found = tables.device(path.read_text(encoding="utf-8").partition("\n")[2])
        assert re.fullmatch(r"NVIDIA H\w+( \w+)*|AMD EPYC|\w+ CPU", found), path.name
