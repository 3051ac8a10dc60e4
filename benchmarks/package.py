"""What the package costs before it does anything: import time, of a first call, too, and the size of the wheel.

python benchmarks/package.py
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import table


def starts(statement: str, count: int = 30) -> list[float]:
    """Milliseconds that fresh interpreters need for a statement, written bytecode at hand."""
    samples = []
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(count):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True, env=environment)
        samples.append((time.perf_counter() - begin) * 1e3)
    return samples[1:]


# What programs that have a GPU's tensors have loaded in any case: torch does.
AT_HAND = "import contextlib, errno, fcntl, glob, hashlib, inspect, json, re, threading, zlib, numpy as np"
FIRST = """
import sys, time
from tilewright import kernels
x, y = np.zeros((1024, 1024), np.float32), np.empty((1024, 1024), np.float32)
before = set(sys.modules)
"""
CALLS = {
    "transpose on the CPU": "kernels.transpose(x, y)",
    "transpose's kernel from disk": "kernels.tiled_copy.plan(x.T, y).compile('sm_90a')",
}


def first_call(call: str, count: int = 30) -> tuple[int, list[float]]:
    """How many modules of ours a first call loads, and the milliseconds that this takes in fresh interpreters."""
    prelude = f"{AT_HAND}\n{FIRST}"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": folder}

        def run(code: str) -> str:
            command = [sys.executable, "-c", prelude + code]
            return subprocess.run(command, check=True, env=environment, capture_output=True, text=True).stdout

        listing = "\nprint(*(name for name in sys.modules if name not in before and name.startswith('tilewright')))"
        for _ in range(2):  # the second time it is on disk
            loaded = run(call + listing).split()
        timing = "begin = time.perf_counter()\n%s\nprint((time.perf_counter() - begin) * 1e3)"
        imports = timing % "\n".join(f"import {name}" for name in loaded)
        return len(loaded), [float(run(imports)) for _ in range(count)]


def wheel_size() -> int:
    root = Path(__file__).parent.parent
    with tempfile.TemporaryDirectory() as folder:
        options = ["-q", "--no-deps", "--no-build-isolation", "-w", folder]
        command = [sys.executable, "-m", "pip", "wheel", *options, str(root)]
        subprocess.run(command, check=True, env={**os.environ, "SKBUILD_BUILD_DIR": str(root / "build/release")})
        (wheel,) = Path(folder).glob("*.whl")
        return wheel.stat().st_size


def first_calls() -> list[str]:
    lines = []
    for name, call in CALLS.items():
        modules, samples = first_call(call)
        cost, low, high = statistics.median(samples), min(samples), max(samples)
        lines.append(
            f"| imports of a first {name}, {modules} modules, median of {len(samples)} (range) "
            f"| {cost:.2f} ms ({low:.2f} to {high:.2f}) | 2 ms |"
        )
    return lines


def main() -> None:
    bare, whole = starts("pass"), starts("import tilewright, tilewright.cute")
    cost = statistics.median(whole) - statistics.median(bare)
    low, high = min(whole) - min(bare), max(whole) - min(bare)
    lines = [
        "# The package",
        "",
        f"{table.machine()}.",
        "",
        "| what | figure | limit |",
        "| --- | --- | --- |",
        "| `import tilewright`, median of 29 starts less the bare interpreter (range) "
        f"| {cost:.1f} ms ({low:.1f} to {high:.1f}) | 50 ms |",
        *first_calls(),
        f"| wheel | {wheel_size() / 1e6:.2f} MB | 4 MB |",
    ]
    table.write("package", lines)


if __name__ == "__main__":
    main()
