"""The lines on docs/prediction.md print what the page says."""

from __future__ import annotations

import contextlib
import io
import re

import pytest

from places import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "prediction.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$(?:\n\n```text\n(.*?)^```$)?", PAGE, re.M | re.S)


@pytest.fixture(scope="module")
def printed():
    """What each block prints, run one after another."""
    names, found = {}, []
    for code, _ in BLOCKS:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(code, names)
        found.append(out.getvalue())
    return found


def test_all_blocks_are_read():
    assert len(BLOCKS) == PAGE.count("```python") == PAGE.count("```text") + 1  # the first one only imports


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_prints_what_the_page_says(printed, number):
    assert printed[number] == BLOCKS[number][1]


def test_pages_that_it_links_exist():
    names = re.findall(r"\]\((\w+\.md)\)", PAGE)
    assert names
    assert [name for name in names if not (DOCS / name).exists()] == []
