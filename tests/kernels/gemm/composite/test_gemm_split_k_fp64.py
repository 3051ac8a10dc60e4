"""GEMMs of fp64 in parts along K: that they are split, into how many parts, and that their sums are right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright import Float64, kernels
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.choose import Search, choose_gemm, choose_whole
from tilewright.kernels.gemm.choose.short_sums import has_short_sums, parts_of_cublas
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


def extents(least, most):
    """About logarithmic."""
    return st.integers(0, 1000).map(lambda x: round(least * (most / least) ** (x / 1000)))


@given(extents(32, 4096), extents(32, 4096), extents(64, 32768), st.sampled_from("kn"), st.sampled_from("mn"))
@settings(max_examples=300)
def test_sums_of_fp64_are_as_short_as_those_of_cublas(m, n, k, b, c):
    problem = problem_of(m, n, k, Float64, b=b, c=c)
    plan = choose_gemm(problem, (8 if k % 2 else 16, 16 if b == "n" or k % 2 == 0 else 8, 16), H200)
    assert has_short_sums(plan.kernel_plan, problem, H200), str(plan)
    assert plan.kernel_plan.promote == 0 or parts_of_cublas(problem, H200) > 1


@pytest.mark.parametrize(
    ("shape", "parts"),
    [
        ((1000, 3072, 8192), 1),  # measured: 1.0
        ((179, 8192, 8192), 2),  # 2.0
        ((640, 2560, 2560), 3),  # 3.0
        ((384, 896, 8064), 6),  # 5.8
        ((144, 480, 30424), 9),  # 9.1
        ((205, 152, 5472), 7),  # 7.0
        ((464, 88, 5504), 10),  # 10.5
    ],
)
def test_parts_of_fp64_whose_errors_were_measured(shape, parts):
    """cuBLAS had so many on an H200, by its errors; fewer leave larger ones. Many more than that take time."""
    problem = problem_of(*shape, Float64)
    assert parts <= parts_of_cublas(problem, H200) + 0.5 <= max(1.5, 4 * parts)
    plan = choose_gemm(problem, ALIGNED, H200)
    assert (plan.parts if isinstance(plan, SplitKGemm) else 1) >= 0.85 * parts


def test_a_shared_sum_of_fp64_has_a_smaller_error():
    """Eight parts leave about a third of the error of the whole, which is what the rule counts on."""
    rng = np.random.default_rng(1)
    a, b, c = rng.standard_normal((32, 4096)), rng.standard_normal((32, 4096)), np.zeros((32, 32))
    right = a.astype(np.longdouble) @ b.astype(np.longdouble).T
    problem = kernels.gemm.plan(a, b, c).problem
    errors = []
    split = next(
        plan for plan, _ in in_parts(Search(problem, ALIGNED, H200), choose_whole) if not plan.kernel_plan.promote
    )
    for plan in (choose_whole(problem, ALIGNED, H200).replace(promote=0), split):
        c[...] = 0
        assert plan.run(a, b, c, check=True)
        errors.append(float(np.linalg.norm(c - right) / np.linalg.norm(right)))
    length = split.kernel_plan.problem.k
    expected = ((length + split.parts) / 4096) ** 0.5
    assert 0.7 * expected < errors[1] / errors[0] < 1.4 * expected
