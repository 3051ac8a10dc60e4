"""What has torch's name is not always torch."""

from __future__ import annotations

import subprocess
import sys
from importlib.machinery import PathFinder

USE = """
import numpy as np
import torch
from tilewright import cute, kernels, testing

assert not hasattr(torch, "Tensor")
a = np.ones((4, 4), np.float32)
assert cute.from_dlpack(a).shape == (4, 4)
assert kernels.gemm(a, a)[0, 0] == 4
assert testing.benchmark(lambda: None, warmup_iterations=1, iterations=2) >= 0
print("used")
"""


def test_a_file_called_torch(tmp_path):
    (tmp_path / "torch.py").write_text("", encoding="utf-8")
    (tmp_path / "use.py").write_text(USE, encoding="utf-8")
    done = subprocess.run([sys.executable, "use.py"], cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.stdout == "used\n", done.stderr


def test_the_tests_of_torch_are_not_torch():
    """Else a Python without torch, as 3.14 is, would fail tests that it has to skip."""
    found = PathFinder.find_spec("torch")
    assert found is None or (found.loader is not None and found.origin is not None)
    assert not [place for place in sys.path if place.endswith("/tests")]
