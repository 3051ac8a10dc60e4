"""The programs in examples/ give torch's results on the CPU, with every access checked."""

from __future__ import annotations

import runpy

import pytest

from places import ROOT
from tilewright import cute

pytest.importorskip("torch")

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def test_there_are_some():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_right(path):
    with cute.on_cpu(check=True):
        runpy.run_path(str(path))["check"]("cpu")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_to_learn_and_has_a_picture(path):
    program = runpy.run_path(str(path))
    assert "What to learn: " in program["__doc__"]
    assert "<svg" in cute.show(cute.parse(program["PICTURE"])).svg()
