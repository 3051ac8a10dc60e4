"""Compiles plans in processes of their own, many at a time, which leave the programs in the disk cache."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

from tilewright._runtime.device import arch_of

# Set by scripts/gpu_check.sh. Under compute-sanitizer a kernel is compiled where it is launched, as the tool looks into
# processes that are started, too; and cuBLAS is not asked: it makes racecheck stop with an error of its own.
SANITIZED = "TILEWRIGHT_SANITIZED" in os.environ


def compile_one(plan, arch):
    plan.compile(arch)


def kernels_of(plan):
    """The plans of one launch that a plan of a GEMM consists of, but for copies."""
    parts = [getattr(plan, name) for name in ("gemm", "edge") if hasattr(plan, name)]
    return [one for part in parts for one in kernels_of(part)] or [plan]


def compile_all(plans):
    """Those of the GPU's architecture; of plans for the same kernel only one."""
    if SANITIZED:
        return
    kernels = {(one.STEM, one.name): one for plan in plans for one in kernels_of(plan)}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count(), len(kernels)), mp_context=context) as pool:
        list(pool.map(compile_one, kernels.values(), [arch_of(0)] * len(kernels)))
