"""The plan on docs/copy.md is the one that is made."""

from __future__ import annotations

import contextlib
import io
import re

from places import ROOT

PAGE = (ROOT / "docs/copy.md").read_text()


def test_the_plan_prints_what_the_page_says():
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    (text,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.M | re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == text


def test_files_that_it_names_exist():
    names = re.findall(r"`((?:benchmarks|python|kernels)/[\w/.]+)`", PAGE)
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []
