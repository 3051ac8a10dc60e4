"""What compiling a GEMM costs: run as a program, it compiles for two element types and prints the milliseconds as JSON.

python benchmarks/gemm_compile.py gemm_sm90|gemm_sm80|gemm_simt|together|in-turn [ARCHITECTURE]

The last two are plans of several kernels, which are compiled at the same time, or one after another.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

LIMITS = {"gemm_sm90": 350.0, "gemm_sm80": 250.0, "gemm_simt": 150.0}  # milliseconds
RAGGED = (4095, 4097, 4103)


def compile_twice(stem: str, arch: str | None) -> list[float]:
    """For one element type, the first compilation of the process, and for another."""
    from tilewright import BFloat16, Float16, Float32, Float64
    from tilewright.devices import H200
    from tilewright.kernels.gemm.problem import problem_of
    from tilewright.kernels.kernel import registered
    from tilewright.runtime.device import arch_of

    choose = next(kernel for kernel in registered() if kernel.stem == stem).choose
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


def compile_composites(together: bool, arch: str | None) -> list[float]:
    """The plans of copies and a GEMM, and of a GEMM of the last column, that RAGGED is multiplied by."""
    from tilewright import BFloat16, Float32
    from tilewright.devices import H200
    from tilewright.kernels.gemm.choose.choose import choose_gemm
    from tilewright.kernels.gemm.problem import problem_of
    from tilewright.runtime.device import arch_of

    arch = arch or arch_of(0)
    taken = []
    for element in (Float32, BFloat16):
        plan: Any = choose_gemm(problem_of(*RAGGED, element), (element.bits // 8,) * 3, H200)
        assert all(one.name for one in plan.single_plans)
        begin = time.perf_counter()
        for one in (plan,) if together else plan.single_plans:
            one.compile(arch)
        taken.append((time.perf_counter() - begin) * 1e3)
    return taken


def measured(what: str, arch: str | None, samples: int) -> list[list[float]] | str:
    """What a process of its own, with an empty cache, prints, `samples` times; or why one failed."""
    found: list[list[float]] = []
    for _ in range(samples):
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, __file__, what, *([arch] if arch else [])]
            environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": folder}
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            return (done.stderr.strip() or "no output").splitlines()[-1][:200]
        found.append(json.loads(done.stdout))
    return found


def shown(numbers: Sequence[float]) -> str:
    """Their median and range."""
    return f"{statistics.median(numbers):.0f} ({min(numbers):.0f} to {max(numbers):.0f})"


def table(add: Callable[..., None], arch: str | None, samples: int) -> list[str]:
    """Adds a table of one process a sample, each with an empty cache; returns the names of the limits missed."""
    add("", "## compile", "", "Milliseconds of plan.compile with an empty cache: median (range) over processes.")
    add("'First' also loads NVRTC; 'next' is another element type in the same process.", "")
    add("| kernel | first | next | limit | met |", "| --- | --- | --- | --- | --- |")
    missed = []
    for stem, limit in LIMITS.items():
        found = measured(stem, arch, samples)
        if isinstance(found, str):
            add(f"| {stem} | failed: {found} |")
            missed.append(f"compiling {stem} failed")
            continue
        first, following = zip(*found, strict=True)
        met = statistics.median(first) <= limit
        if not met:
            missed.append(f"compiling {stem}")
        add(f"| {stem} | {shown(first)} | {shown(following)} | {limit:.0f} | {'yes' if met else '**no**'} |")
    size = "x".join(map(str, RAGGED))
    add("", f"All kernels of the plans for {size}: fp32, copies and two of gemm_simt; then, in the same process,")
    add("bf16, copies and gemm_sm90.", "")
    add("| compiled | fp32 | bf16 |", "| --- | --- | --- |")
    for what, name in (("together", "at the same time"), ("in-turn", "one after another")):
        found = measured(what, arch, samples)
        cells = [f"failed: {found}"] if isinstance(found, str) else map(shown, zip(*found, strict=True))
        add(f"| {name} | {' | '.join(cells)} |")
    return missed


if __name__ == "__main__":
    wanted, chosen_arch = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    if wanted in LIMITS:
        print(json.dumps(compile_twice(wanted, chosen_arch)))
    else:
        print(json.dumps(compile_composites(wanted == "together", chosen_arch)))
