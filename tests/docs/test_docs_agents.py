"""docs/AGENTS.md, docs/start.md and docs/index.md: their examples print what they say."""

from __future__ import annotations

import doctest
import re

import pytest

from places import ROOT


@pytest.mark.parametrize("page", ["AGENTS.md", "start.md", "index.md"])
def test_examples(page: str) -> None:
    text = re.sub(r"^```.*$", "", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    report: list[str] = []
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted
    assert not result.failed, "".join(report)


def test_the_program_of_the_start_page_is_the_readmes() -> None:
    """tests/package/test_package.py runs that one, and compares what it prints."""
    first, page = ((ROOT / path).read_text(encoding="utf-8") for path in ("README.md", "docs/index.md"))
    blocks = re.findall(r"^```(?:python|text)\n.*?^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 3
    assert all(block in first for block in blocks)
