"""GEMMs on the CPU by the plans of the three kernels: what it costs to run a plan where there is no GPU.

python benchmarks/host_gemm.py
"""

from __future__ import annotations

import os
import statistics
import time

import torch

import table
from tilewright import BFloat16, Float16, Float32
from tilewright.devices import H200
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.kernel import registered

LIMIT = 1.0  # seconds
EXTENT = 256
REPEATS = 5
KERNELS = {
    "gemm_simt": (Float32, torch.float32),
    "gemm_sm80": (Float16, torch.float16),
    "gemm_sm90": (BFloat16, torch.bfloat16),
}


def main() -> None:
    cores = len(os.sched_getaffinity(0))
    lines = [
        "# GEMM on the CPU",
        "",
        f"{table.machine()}, {cores} cores, torch {torch.__version__}.",
        f"{EXTENT}^3, random normal data, each result compared with float64. Seconds: median (range) of {REPEATS}",
        "runs, and of one run with check=True, which looks for races and for elements never or twice written.",
        "",
        "| kernel | type | seconds | limit | met | checked |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    torch.manual_seed(0)
    for stem, (element, dtype) in KERNELS.items():
        problem = problem_of(EXTENT, EXTENT, EXTENT, element)
        kernel = next(kernel for kernel in registered() if kernel.stem == stem)
        plan = kernel.choose(problem, (16, 16, 16), H200)
        a, b = (torch.randn(EXTENT, EXTENT).to(dtype) for _ in range(2))
        c = torch.full((EXTENT, EXTENT), float("nan"), dtype=dtype)
        taken = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            plan.run(a, b, c)
            taken.append(time.perf_counter() - begin)
        torch.testing.assert_close(c.double(), a.double() @ b.double().t(), rtol=0.02, atol=0.1)
        begin = time.perf_counter()
        plan.run(a, b, c, check=True)
        checked = time.perf_counter() - begin
        median = statistics.median(taken)
        shown = f"{median:.3g} ({min(taken):.3g} to {max(taken):.3g})"
        met = "yes" if median <= LIMIT else "**no**"
        lines.append(f"| {stem} | {element} | {shown} | {LIMIT:g} | {met} | {checked:.3g} |")
    table.write("host_gemm", lines)


if __name__ == "__main__":
    main()
