"""The notebooks of the articles have each of their code blocks, outputs and figures, and name each of their mistakes.

The articles' text is not in this repository. A block is known by its number of lines and a digest of them; imports and
what a comment marks as not in the article's text are left out.
"""

from __future__ import annotations

import json
import re

import pytest

import cells
from articles import digest, holds, words
from places import ROOT
from tilewright.show import seeds

NOTEBOOKS = {
    "000": "article_000_tv_layouts",
    "001": "article_001_cute_layouts",
    "002": "article_002_tiling",
    "004": "article_004_algebra",
}
# 004's blocks are missing from its text.
CODE = {
    "000": {"kernel and host function": (20, "6bbc84d631adf3dd"), "main": (5, "16b37dc97b79ba96")},
    "001": {
        "row-major and column-major": (2, "ca5a840ab9a5f1f8"),
        "A, B and C": (3, "2f644e0f7ddc76a6"),
        "validating C": (3, "608efffae7c0fb23"),  # its text here has lost the indentation
        "coordinate of an index": (2, "c744784903317f9d"),
        "a layout": (1, "880ea310de46abdd"),
        "a composition": (1, "c0b9d1053eea2c87"),
        "the check by coordinates": (1, "0a352e0c72f18166"),
    },
    "002": {
        "shared memory and copies": (29, "34c1222fe198ddb4"),
        "multiplication": (7, "a20c5b9e26006778"),
        "tiles": (6, "785319d4999067db"),
        "partitions": (15, "b8f84ba8002d323a"),
        "main loop": (9, "f6ec8d72a6154a4b"),
        "epilogue": (9, "e6e35cfa96845409"),
    },
}
OUTPUT = {"000": ["the whole"], "001": ["row-major", "column-major", "A", "B", "C"]}
PRINTED = {
    "000": [(75, "b2edfbf27902f81e")],
    "001": [
        (49, "7218e7f3f79a934e"),
        (49, "c63293fde8627b59"),
        (45, "542bce58de1c24fd"),
        (40, "d38e437d30824672"),
        (41, "9183cb1cb7dcf0b4"),
    ],
}
# Three grids that the article prints, and that a picture of the notebook has together.
TOGETHER = {"a_001", "b_001", "composed_001"}


def text_of(article: str) -> str:
    return (ROOT / "docs/notebooks" / f"{NOTEBOOKS[article]}.md").read_text(encoding="utf-8")


def code_of(text: str) -> str:
    """All code that a notebook shows, also that which it cannot run."""
    shown = re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return "\n".join([*shown, *(cell.source for cell in cells.read(text) if cell.kind == "code")])


@pytest.mark.parametrize(("article", "block"), [(article, block) for article in CODE for block in CODE[article]])
def test_a_block_stands_as_it_is(article: str, block: str) -> None:
    assert holds(code_of(text_of(article)), *CODE[article][block])


def test_one_changed_character_is_seen() -> None:
    code = code_of(text_of("002"))
    count, expected = CODE["002"]["main loop"]
    assert not holds(code.replace("cp_async_wait_group(0)", "cp_async_wait_group(1)"), count, expected)
    assert not holds(code.replace("    # Not in the article's text", "    # New"), count, expected)


@pytest.mark.parametrize("article", PRINTED)
def test_what_the_article_prints_is_printed(article: str) -> None:
    path = ROOT / "docs/notebooks/executed" / f"{NOTEBOOKS[article]}.ipynb"
    outputs = [x for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] for x in cell.get("outputs", ())]
    said = words("\n".join("".join(output.get("text", "")) for output in outputs)).split()
    for name, (count, expected) in zip(OUTPUT[article], PRINTED[article], strict=True):
        assert any(digest(" ".join(said[i : i + count])) == expected for i in range(len(said))), name


@pytest.mark.parametrize("article", NOTEBOOKS)
def test_every_figure_is_there(article: str) -> None:
    text = text_of(article)
    missing = {name for name in seeds.__all__ if name.endswith(article) and f"seeds.{name}()" not in text}
    assert missing <= TOGETHER


@pytest.mark.parametrize("article", NOTEBOOKS)
def test_every_mistake_is_named(article: str) -> None:
    settled = re.findall(rf"^\*\*({article}\.\d+) ", (ROOT / "docs/seeds.md").read_text(encoding="utf-8"), re.MULTILINE)
    text = text_of(article)
    assert settled
    assert [number for number in settled if not re.search(rf"\b{re.escape(number)}\b", text)] == []
