"""GEMMs of fp64 in parts along K: that they are split, into how many parts, and that their sums are right."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import Float64, kernels
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.choose import Search, choose_gemm, choose_whole
from tilewright.kernels.gemm.choose.split_k import in_parts
from tilewright.kernels.gemm.composite.split_k import SplitKGemm
from tilewright.kernels.gemm.problem import problem_of

ALIGNED = (16, 16, 16)


@pytest.mark.parametrize(("m", "n", "k", "b"), [(64, 64, 32768, "k"), (128, 48, 90496, "n"), (176, 64, 8016, "k")])
def test_long_sums_of_fp64_are_split(m, n, k, b):
    """Whole ones were 8 to 20 times slower than cuBLAS on an H200: a few tiles do not fill it."""
    problem = problem_of(m, n, k, Float64, b=b)
    plan = choose_gemm(problem, ALIGNED, H200)
    assert isinstance(plan, SplitKGemm)
    assert plan.kernel_plan.ctas > choose_whole(problem, ALIGNED, H200).ctas
    assert 0 <= plan.parts * plan.kernel_plan.problem.k - k < plan.kernel_plan.problem.k


@pytest.mark.parametrize("b", ["k", "n"])
@pytest.mark.parametrize("along", ["n", "m"])
@pytest.mark.parametrize(("k", "is_uneven"), [(1536, {False}), (2050, {True, False}), (3331, {True})])
def test_all_parts_of_fp64_are_right(k, is_uneven, along, b):
    rng = np.random.default_rng(0)
    a, y = rng.standard_normal((24, k)), rng.standard_normal((40, k))
    y = np.asfortranarray(y) if b == "n" else y
    c = np.zeros((24, 40), order="F" if along == "m" else "C")
    right = a.astype(np.longdouble) @ y.astype(np.longdouble).T
    direct = kernels.gemm.plan(a, y, c)
    problem = direct.problem.swapped() if direct.swapped else direct.problem
    alignments = (16 if k % 2 == 0 else 8,) * 2 + (16,)
    found = [plan for plan, _ in in_parts(Search(problem, alignments, H200), choose_whole)]
    assert {plan.gemm.problem.whole_k > 0 for plan in found} == is_uneven
    for plan in found:
        c[...] = 0
        assert plan.run(a, y, c, check=True)
        assert np.linalg.norm(c - right) < 1e-15 * np.linalg.norm(right), str(plan)
