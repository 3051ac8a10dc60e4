"""scripts/run_notebooks_gpu.py on a machine without a GPU: it executes cells, and keeps what they print."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from places import ROOT

pytest.importorskip("torch")
CELLS = """
import json, sys
sys.path.insert(0, "scripts")
import run_notebooks_gpu as script
names = {}
found = [script.run(source, f"<cell {number}>", names) for number, source in enumerate(json.loads(sys.argv[1]))]
print("said:", json.dumps(found))
"""
KERNEL = """@cute.kernel
def twice_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    x[i] = x[i] * 2.0

twice_kernel(x).launch(grid=1, block=32)
print(x.sum())
"""


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cells_give_what_they_print_and_their_value() -> None:
    sources = [
        "import os\nprint('one')\nos.system('echo two')\nfrom tilewright import cute\ncute.make_layout(4)\n",
        "import numpy as np\nx = np.ones(32, np.float32)\n",
        KERNEL,
    ]
    out = run("-c", CELLS, json.dumps(sources))
    assert out.startswith("said: ")  # and nothing beside it
    (said, value), nothing, of_kernel = json.loads(out.removeprefix("said: "))
    assert said == {"output_type": "stream", "name": "stdout", "text": "one\ntwo\n"}
    assert value["data"]["text/plain"] == "4:1"
    assert "<img " in value["data"]["text/html"]
    assert "<script" not in value["data"]["text/html"]
    assert nothing == []
    assert of_kernel == [{"output_type": "stream", "name": "stdout", "text": "64.0\n"}]


def test_a_dry_run() -> None:
    out = run("scripts/run_notebooks_gpu.py", "--dry", "bring_your_own_kernel", "torch_integration")
    assert "bring_your_own_kernel: 1 cells of a GPU" in out
    assert "torch_integration: 2 cells of a GPU" in out
    assert "padded" in out
