"""scripts/run_cutedsl_examples.py: programs for a GPU run on the CPU, and the page says how."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts/run_cutedsl_examples.py"
pytest.importorskip("torch")

RIGHT = """
import torch, cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack

@cute.kernel
def doubled(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = x[i] + x[i]

@cute.jit
def run(x: cute.Tensor, y: cute.Tensor):
    doubled(x, y).launch(grid=[1, 1, 1], block=[64, 1, 1])

assert torch.cuda.is_available()
before = torch.arange(64, dtype=torch.float32)
x, y = before.cuda(), torch.empty(64, device="cuda")
assert x.data_ptr() != before.data_ptr() and before.to("cuda").data_ptr() != before.data_ptr()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
run(from_dlpack(x), from_dlpack(y))
end.record()
torch.cuda.synchronize()
assert start.elapsed_time(end) >= 0
torch.testing.assert_close(y.cpu(), before * 2)
a, b = (torch.randn(2, 8, 8, device="cuda", dtype=torch.float16) for _ in range(2))
sums = torch.zeros(2, 8, 8)
for k in range(8):
    sums += a[:, :, k : k + 1].float() * b[:, k : k + 1, :].float()
assert torch.equal(torch.bmm(a, b), sums.half()) and torch.equal(torch.einsum("lmk,lkn->lmn", a, b), sums.half())
"""
# All threads write one value: the result is right, and the checks tell.
RACY = RIGHT.replace("y[i] = x[i] + x[i]", "y[i] = x[i] + x[i]\n    y[0] = cutlass.Float32(0)")
WRONG = RIGHT.replace("x[i] + x[i]", "x[i] * x[i]")
FILES = {"cute/right.py": RIGHT, "cute/racy.py": RACY, "cute/wrong.py": WRONG}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of three programs, which had a part of another run before."""
    folder = tmp_path_factory.mktemp("examples")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    out = folder / "page.md"
    out.write_text("# Title\n\n## On a GPU: T1\n\nkept\n\n## On the CPU: T1\n\nreplaced\n")
    command = [sys.executable, SCRIPT, folder, "--device", "cpu", "--tiers", "T1", "--out", out]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return out.read_text()


def test_outcomes(page):
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| `")}
    assert "| right |" in rows["`cute/right.py`"]
    assert "| right; the checks find: racy.py:" in rows["`cute/racy.py`"]
    assert "race: the thread writes what another one writes" in rows["`cute/racy.py`"]
    assert "AssertionError" in rows["`cute/wrong.py`"]
    assert all("registers |" in row for row in rows.values())
    assert "| 2 | 3 |" in page


def test_the_other_parts_of_the_page_stay(page):
    assert page.count("## On a GPU: T1\n\nkept") == page.count("## On the CPU: T1") == 1
    assert "replaced" not in page
