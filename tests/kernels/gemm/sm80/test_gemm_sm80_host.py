"""The kernel of gemm_sm80 itself, compiled by the C++ compiler of this machine, against float64."""

from __future__ import annotations

import pytest

from cpu_device import COMPILER
from cpu_warp_kernels import WarpKernels
from gemm_sm80_plans import Memory, compare, small_plans

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


@pytest.mark.parametrize("thorough", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_kernel_multiplies(thorough, tmp_path):
    plans = list(small_plans(thorough))
    kernels = WarpKernels([plan for plan, _ in plans], tmp_path)
    for plan, shift in plans:
        memory = Memory(plan.problem, shift=shift)
        kernels.run(plan, *memory.addresses())
        compare(memory, plan)
