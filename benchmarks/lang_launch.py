"""What a launch of a function written in Python costs the host, beside a bare cuLaunchKernel of the same kernel.

A section of benchmarks/lang.py.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import torch

import gpu
import launch
from lang_problems import example
from launch import BARE, Loop
from tilewright import cute

COUNT = 1024
LIMITS = {"compiled(a, b, c)": 1.4, "f(a, b, c)": 2.0}


def ours(operands: list[torch.Tensor]) -> dict[str, Callable[[int], float]]:
    add = example("vector_add").add
    compiled = cute.compile(add, *operands)
    names = dict(zip("abc", operands, strict=True))
    return {
        "compiled(a, b, c)": Loop("f(a, b, c)", f=compiled, **names),
        "f(a, b, c)": Loop("f(a, b, c)", f=add, **names),
        "f(a, b, c), a new size each time": NewSizes(add, operands),
    }


class NewSizes:
    """Calls whose tensors are one element longer than those of the call before; making them is not counted."""

    def __init__(self, function: Callable[..., object], operands: list[torch.Tensor]) -> None:
        self.function = function
        self.sizes = itertools.count(COUNT)
        self.most = [torch.empty(1 << 20, device=x.device) for x in operands]

    def __call__(self, count: int) -> float:
        calls = [[x[:size] for x in self.most] for size in itertools.islice(self.sizes, count)]
        begin = time.perf_counter()
        for call in calls:
            self.function(*call)
        return (time.perf_counter() - begin) / count


def rivals(operands: list[torch.Tensor]) -> dict[str, Callable[[int], float]]:
    a, b, c = operands
    names = {"a": a, "b": b, "c": c}
    loops: dict[str, Callable[[int], float]] = {"torch.add(a, b, out=c)": Loop("f(a, b, out=c)", f=torch.add, **names)}
    if not a.is_cuda:
        return loops

    @torch.compile(dynamic=False)
    def into(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        torch.add(a, b, out=c)

    loops["torch.compile"] = Loop("f(a, b, c)", f=into, **names)
    if gpu.version("triton") != "none":
        import triton_lang

        statement = "f[grid](a, b, c, n, BLOCK=1024)"
        loops["Triton"] = Loop(statement, f=triton_lang.add_kernel, grid=(1,), n=a.numel(), **names)
    return loops


def bare(operands: list[torch.Tensor]) -> dict[str, Callable[[int], float]]:
    """The compiled function's own launch, read from a graph that captured it, made by C++."""
    if not operands[0].is_cuda:
        return {}
    library = gpu.Bare()
    library.open()
    compiled = cute.compile(example("vector_add").add, *operands)
    compiled(*operands)
    loop = library.launcher(lambda: compiled(*operands))
    a, b, c = operands
    c.fill_(float("nan"))
    loop(1)
    torch.testing.assert_close(c, a + b, rtol=0, atol=0)
    return {BARE: loop}


def section(options: argparse.Namespace, report: gpu.Report) -> list[str]:
    """Measure and report; the limits missed."""
    device = "cpu" if options.dry else "cuda"
    operands = [torch.rand(COUNT, device=device) for _ in range(3)]
    loops = bare(operands) | ours(operands) | rivals(operands)
    timings = launch.measure(loops, options)
    empty = Loop("pass")
    nothing = min(empty(1000) for _ in range(5))
    report.add("", "## Launch", "", f"Microseconds of the host a call, {COUNT} floats each.", "")
    report.add("| launch | us a call | ratio to bare | limit | met |", "|" + " --- |" * 5)
    missed = []
    for name, timing in timings.items():
        net = timing if name == BARE else gpu.Timing(tuple(s - nothing for s in timing.samples))
        cells = [name, gpu.text(gpu.spread([s * 1e6 for s in net.samples]), ".2f"), "", "", ""]
        if BARE in timings:
            ratio = timings[BARE].over(net)[0]
            inverse = gpu.spread([b / a for a, b in zip(timings[BARE].samples, net.samples, strict=True)])
            cells[2] = gpu.text(inverse, ".2f")
            if limit := LIMITS.get(name):
                cells[3:] = [f"{limit:g}", "yes" if 1 / ratio <= limit else "**no**"]
                if 1 / ratio > limit:
                    missed.append(f"{name}: {1 / ratio:.2f} of a bare launch, asked {limit:g}")
        report.add(f"| {' | '.join(cells)} |")
    return missed
