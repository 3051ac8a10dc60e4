"""The plan on docs/copy.md is the one that is made."""

from __future__ import annotations

import contextlib
import doctest
import io
import re

import pytest

from places import ROOT
from tilewright import kernels

PAGE = (ROOT / "docs/copy.md").read_text()


def test_the_plan_prints_what_the_page_says():
    (code,) = re.findall(r"^```python\n((?!>>>).*?)^```$", PAGE, re.M | re.S)
    (text,) = re.findall(r"^```text\n(.*?)^```$", PAGE, re.M | re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == text


def test_why_prints_what_the_page_says():
    pytest.importorskip("torch")
    (session,) = re.findall(r"^```python\n(>>>.*?)^```$", PAGE, re.M | re.S)
    examples = doctest.DocTestParser().get_doctest(session, {"kernels": kernels}, "copy.md", None, 0)
    assert doctest.DocTestRunner().run(examples).failed == 0


def test_files_that_it_names_exist():
    names = re.findall(r"`((?:benchmarks|python|kernels)/[\w/.]+)`", PAGE)
    assert names
    assert [name for name in names if not (ROOT / name).exists()] == []
