"""The programs in examples/ give torch's results on a GPU."""

from __future__ import annotations

import runpy

import pytest

from places import ROOT
from tilewright import _core

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_right(path):
    runpy.run_path(str(path))["check"]("cuda")
