"""Cells of a notebook are called as IPython calls them: in errors, findings and profiles."""

import re

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tilewright._cells import cell_of, with_cell_names

RACE = """
import numpy
from tilewright import cute, Int32
@cute.kernel
def race(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i + 1] = x[i]
@cute.jit
def run(x: cute.Tensor):
    race(x).launch(grid=[1, 1, 1], block=[32, 1, 1])
"""

TYPES = """
@cute.jit
def changes(n: Int32):
    m = n
    if n > 2:
        m = 0.5
    return m
try:
    changes(3)
except TypeError as error:
    text = str(error)
"""


@pytest.fixture
def shell():
    made = InteractiveShell.instance()
    yield made
    InteractiveShell.clear_instance()


def run(shell, source):
    result = shell.run_cell(source, store_history=True)
    result.raise_error()
    return f"Cell In[{shell.execution_count - 1}]"


def test_what_is_found_names_the_cell(shell):
    cell = run(shell, RACE)
    run(shell, "try:\n    run(numpy.zeros(64, 'f4'))\nexcept cute.KernelError as e:\n    error = e")
    error = shell.user_ns["error"]
    assert f"{cell}, line 6: race" in str(error)
    assert "the other side is" not in str(error) or f"the other side is {cell}, line 6" in str(error)
    assert str(error.findings[0]).startswith(f"{cell}, line 6: ")
    assert "/tmp" not in str(error) + str(error.findings[0])
    assert error.findings[0].line == 6


def test_errors_name_the_cell(shell):
    run(shell, RACE)
    cell = run(shell, TYPES)
    text = shell.user_ns["text"]
    assert text.startswith(f"{cell}, line 4, in changes: ")
    assert "ipython-input" not in text
    assert ".py" not in text


def test_a_profile_names_the_cell(shell):
    cell = run(shell, RACE)
    run(shell, "profile = cute.profile(run, numpy.zeros(64, 'f4'))")
    profile = shell.user_ns["profile"]
    assert re.search(rf" +{re.escape(cell)}$", str(profile), re.MULTILINE)
    assert cell in profile._repr_html_()
    assert profile.line(6, file=cell.removeprefix("Cell ")).text.strip() == "x[i + 1] = x[i]"
    with pytest.raises(KeyError, match="line 5 costs nothing"):
        profile.line(5, file=cell)


def test_other_places_stay(shell):
    text = f"{__file__}:3: race; the other side is /tmp/ipykernel_1/2.py:4"
    assert with_cell_names(text) == text
    assert cell_of(__file__) is None
