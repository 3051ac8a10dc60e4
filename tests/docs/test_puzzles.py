"""docs/notebooks/puzzles.md: each puzzle has an answer that its check takes, and the check refuses others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from places import ROOT
from tilewright import cute
from tilewright.explore.puzzles import CHECKS, check

NOTEBOOK = (ROOT / "docs/notebooks/puzzles.md").read_text(encoding="utf-8")
ANSWERS = (ROOT / "docs/notebooks/puzzle_answers.md").read_text(encoding="utf-8")
CELLS = re.findall(r"```\{code-cell\} ipython3\n(.*?)```", NOTEBOOK, re.DOTALL)
ANSWER = {int(n): eval(text) for n, text in re.findall(r"^\| (\d+) \| `(.*?)` \|", ANSWERS, re.MULTILINE)}
# Answers that a reader may well try first.
WRONG: dict[int, list[Any]] = {
    1: ["(4,8):(1,4)", "(8,4):(1,8)", "32:1"], 2: ["(4,8):(5,1)", "(4,8):(1,4)"], 3: ["(4,4):(8,1)"],
    4: ["(4,8):(1,0)", "8:1"], 5: ["8:8", "9:9"], 6: ["(4,4):(1,4)"], 7: ["((4,2),(4,2)):((4,32),(1,16))"],
    8: ["(4,8):(8,1)", "32:1"], 9: ["(4,4):(1,8)"], 10: ["(2,3):(2,12)", "6:1"], 11: [(4, 4), (2, 4)],
    12: ["4:1", "(2,2):(1,2)"], 13: [(cute.make_layout(4), cute.make_layout(8))], 14: ["(32,4):(1,32)"],
    15: ["((4,8),(2,2)):((2,1),(1,8))"], 16: ["32:16", "(16,2):(16,16)"], 17: ["(32,4):(1,32)", "(32,2):(2,1)"],
    18: ["(32,32):(32,1)", "(32,32):(36,1)"], 19: [cute.make_swizzle(4, 0, 5), cute.make_swizzle(3, 2, 5)],
    20: [cute.make_swizzle(3, 2, 3), cute.make_swizzle(2, 3, 3), cute.make_swizzle(3, 0, 6)],
}  # fmt: skip


def checked(number: int, answer: Any, capsys: pytest.CaptureFixture[str]) -> str:
    check(number, answer)
    return capsys.readouterr().out


def test_there_are_twenty_puzzles() -> None:
    assert CELLS[1:] == [f"check({n}, ...)\n" for n in range(1, 21)]
    assert list(ANSWER) == list(WRONG) == list(CHECKS) == list(range(1, 21))


@pytest.mark.parametrize("number", range(1, 21))
def test_a_puzzle(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert checked(number, ANSWER[number], capsys) == f"puzzle {number}: right\n"
    for wrong in WRONG[number]:
        assert not checked(number, wrong, capsys).endswith(": right\n"), wrong
    assert "puzzle" not in checked(number, ..., capsys)
