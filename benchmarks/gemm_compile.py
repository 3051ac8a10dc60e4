"""What compiling a GEMM costs: run as a program, it compiles one kernel twice and prints the milliseconds as JSON.

python benchmarks/gemm_compile.py gemm_sm90|gemm_sm80|gemm_simt [ARCHITECTURE]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module

LIMITS = {"gemm_sm90": 350.0, "gemm_sm80": 250.0, "gemm_simt": 150.0}  # milliseconds


def compile_twice(stem: str, arch: str | None) -> list[float]:
    """For one element type, the first compilation of the process, and for another."""
    from tilewright import BFloat16, Float16, Float32, Float64
    from tilewright._runtime.device import arch_of
    from tilewright.kernels.gemm_plan import H200
    from tilewright.kernels.gemm_problem import problem_of

    choose = import_module(f"tilewright.kernels.{stem}").choose
    elements = (Float32, Float64) if stem == "gemm_simt" else (BFloat16, Float16)
    plans = [choose(problem_of(4096, 4096, 4096, element), (16, 16, 16), H200) for element in elements]
    arch = arch or arch_of(0)
    taken = []
    for plan in plans:
        assert plan.name
        begin = time.perf_counter()
        plan.compile(arch)
        taken.append((time.perf_counter() - begin) * 1e3)
    return taken


def table(add: Callable[..., None], arch: str | None, samples: int) -> list[str]:
    """Adds a table of one process a sample, each with an empty cache; returns the names of the limits missed."""
    add("", "## compile", "", "Milliseconds of plan.compile with an empty cache: median (range) over processes.")
    add("'First' also loads NVRTC; 'next' is another element type in the same process.", "")
    add("| kernel | first | next | limit | met |", "| --- | --- | --- | --- | --- |")
    missed = []
    for stem, limit in LIMITS.items():
        found: list[list[float]] = []
        for _ in range(samples):
            with tempfile.TemporaryDirectory() as folder:
                command = [sys.executable, __file__, stem, *([arch] if arch else [])]
                environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": folder}
                done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                reason = (done.stderr.strip() or "no output").splitlines()[-1]
                add(f"| {stem} | failed: {reason[:200]} |")
                missed.append(f"compiling {stem} failed")
                break
            found.append(json.loads(done.stdout))
        else:
            first, following = zip(*found, strict=True)
            met = statistics.median(first) <= limit
            if not met:
                missed.append(f"compiling {stem}")
            shown = [f"{statistics.median(x):.0f} ({min(x):.0f} to {max(x):.0f})" for x in (first, following)]
            add(f"| {stem} | {' | '.join(shown)} | {limit:.0f} | {'yes' if met else '**no**'} |")
    return missed


if __name__ == "__main__":
    print(json.dumps(compile_twice(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)))
