"""docs/AGENTS.md and docs/start.md: their examples print what they say."""

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
