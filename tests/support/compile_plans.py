"""Compiles plans in processes of their own, many at a time, which leave the programs in the disk cache."""

from __future__ import annotations

import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

from tilewright.runtime.device import arch_of

# The tool's name, set by scripts/gpu_check.sh. Under compute-sanitizer a kernel is compiled where it is launched, as
# the tool looks into processes that are started, too; and cuBLAS is not asked: it makes racecheck stop with an error of
# its own.
SANITIZER = os.environ.get("TILEWRIGHT_SANITIZED")
SANITIZED = SANITIZER is not None


def compile_one(plan, arch):
    plan.compile(arch)


def compile_all(plans):
    """Those of the GPU's architecture; of plans for the same kernel only one."""
    if SANITIZED:
        return
    singles = (one for plan in plans for one in getattr(plan, "single_plans", (plan,)))
    kernels = {(type(one), one.name): one for one in singles}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(os.cpu_count(), len(kernels)), mp_context=context) as pool:
        list(pool.map(compile_one, kernels.values(), [arch_of(0)] * len(kernels)))
