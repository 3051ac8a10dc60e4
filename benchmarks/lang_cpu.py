"""What the CPU takes for kernels written in Python: run without checks, checked, and profiled.

A section of benchmarks/lang.py; it needs no GPU.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import time
from collections.abc import Callable

import torch

import gpu
import table
from lang_problems import example, marked
from tilewright import cute

LIMITS = {"2^20 elements added": 0.05, "GEMM 256^3": 0.5}  # seconds without checks
FACTOR = 4.0  # what checks may take of that, and a profile of what checks may take


def machine() -> list[str]:
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return [f"{table.machine()}, {cores} cores, load {load:.1f} before; torch {torch.__version__}."]


def problems(dry: bool) -> dict[str, tuple[Callable[..., object], list[object], Callable[[], object]]]:
    """By name: a @cute.jit function, its arguments, and what compares its result."""
    count, extent = (1 << 12, 64) if dry else (1 << 20, 256)
    a, b, c = (torch.rand(count) for _ in range(3))
    m = [torch.randn(extent, extent) for _ in range(3)]
    gemm = [m[0], m[1].t(), m[2]]
    return {
        "2^20 elements added": (
            example("vector_add").add,
            [a, b, c],
            lambda: torch.testing.assert_close(c, a + b, rtol=0, atol=0),
        ),
        "GEMM 256^3": (
            example("article_gemm").gemm,
            list(map(marked, gemm)),
            lambda: torch.testing.assert_close(gemm[2], gemm[0] @ m[1], rtol=1e-3, atol=1e-3),
        ),
    }


def run(function: Callable[..., object], arguments: list[object], check: bool) -> None:
    with cute.on_cpu(check=check):
        function(*arguments)


def seconds(call: Callable[[], object], repeats: int) -> list[float]:
    call()  # traces
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return sorted(taken)


def section(options: argparse.Namespace, report: gpu.Report) -> list[str]:
    """Measure and report; the limits missed."""
    repeats = 2 if options.dry else 9
    report.add("", "## On the CPU", "", *machine(), "", "| what | how | s: median (range) | limit | met |")
    report.add("|" + " --- |" * 5)
    missed = []
    for name, (function, arguments, compare) in problems(options.dry).items():
        ways: dict[str, Callable[[], object]] = {
            "without checks": functools.partial(run, function, arguments, False),
            "checked": functools.partial(run, function, arguments, True),
            "profiled": functools.partial(cute.profile, function, *arguments),
        }
        limit = LIMITS[name]
        for how, call in ways.items():
            taken = seconds(call, repeats)
            compare()
            median = statistics.median(taken)
            met = "" if options.dry else "yes" if median <= limit else "**no**"
            if met == "**no**":
                missed.append(f"{name}, {how}: {median:.3g} s, asked {limit:.3g}")
            figures = f"{median:.3g} ({taken[0]:.3g} to {taken[-1]:.3g})"
            report.add(f"| {name} | {how} | {figures} | {limit:.3g} | {met} |")
            limit *= FACTOR
    return missed
