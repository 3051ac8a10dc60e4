"""docs/kernels.md: its examples print what it says, and its links lead somewhere."""

from __future__ import annotations

import doctest
import re

from places import ROOT

FILE = ROOT / "docs/kernels.md"


def test_the_lines_print_what_the_page_says():
    found = doctest.testfile(str(FILE), module_relative=False)
    assert found.failed == 0
    assert found.attempted > 10


def test_links_lead_somewhere():
    links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", FILE.read_text())
    assert links
    assert [link for link in links if not (FILE.parent / link).exists()] == []
