"""Sums that are added to totals after so many steps along K: in which order, how exact that is, and when it is done."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from tilewright import BFloat16, Float16, Float32, Float64, Int8, LayoutError, TFloat32, kernels
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.choose import choose_gemm, choose_whole
from tilewright.kernels.gemm.choose.short_sums import longest_sum, sums_beside, terms_allowed
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.simt.tiles import SimtTiles
from tilewright.kernels.gemm.sm80 import build as gemm_sm80
from tilewright.kernels.gemm.sm90 import build as gemm_sm90

ALIGNED = (16, 16, 16)
KERNELS = {"simt": (gemm_simt, Float32), "sm80": (gemm_sm80, Float16), "sm90": (gemm_sm90, Float16)}


def operands(m, n, k, dtype, seed=0):
    """Random normal numbers, as float32 or float16 arrays."""
    random = np.random.default_rng(seed)
    stored = {Float32: np.float32, Float16: np.float16, Float64: np.float64}[dtype]
    return tuple(random.standard_normal((rows, k)).astype(stored) for rows in (m, n))


def in_order(a, b, steps, promote, units=((0, None),)):
    """A B^T in float32, as a plan adds it up: each unit by itself, `promote` steps of `steps` terms at a time."""
    a, b = (x.astype(np.float32) for x in (a, b))
    of_units = []
    for first, last in units:
        terms = range(a.shape[1])[slice(first * steps, None if last is None else last * steps)]
        total = part = np.zeros((len(a), len(b)), np.float32)
        for i, k in enumerate(terms):
            part = part + a[:, k, None] * b[None, :, k]
            if (i + 1) % (steps * promote) == 0:
                total, part = total + part, np.zeros_like(part)
        of_units.append(total + part)
    result = of_units[0]
    for unit in of_units[1:]:
        result = result + unit
    return result


def plan_of(name, m, n, k, **fields):
    kernel, dtype = KERNELS[name]
    return kernel.choose(problem_of(m, n, k, dtype, out=Float32), ALIGNED).replace(**fields)


@pytest.mark.parametrize("promote", [1, 2, 3])
@pytest.mark.parametrize("k", [16, 128, 200, 456])
@pytest.mark.parametrize("name", KERNELS)
def test_order_of_additions(name, k, promote):
    """Bit by bit, also where the last chunk is cut, or is as long as the others."""
    a, b = operands(20, 12, k, KERNELS[name][1])
    plan = plan_of(name, 20, 12, k, promote=promote, **({"split_k": 1} if name == "sm90" else {}))
    if name == "simt":
        plan = gemm_simt._plan(plan.problem, ALIGNED, gemm_simt.tiles_for(plan.problem, H200)[3]).replace(
            promote=promote
        )
        assert plan.sliced_k == 1
    found = plan.run(a, b)
    np.testing.assert_array_equal(found, in_order(a, b, plan.tiler_mnk[2], promote))
    checked = np.full_like(found, np.nan)
    report = plan.run(a, b, checked, check=True)
    assert report, str(report)
    np.testing.assert_array_equal(checked, found)


def test_each_cta_of_a_split_promotes_its_own():
    a, b = operands(16, 24, 64 * 9, Float16)
    plan = plan_of("sm90", 16, 24, 64 * 9)
    plan = next(x for x in gemm_sm90.variants(plan.problem, ALIGNED) if x.split_k == 4).replace(promote=2)
    begins = [9 * rank // 4 for rank in range(5)]
    expected = in_order(a, b, 64, 2, list(itertools.pairwise(begins)))
    np.testing.assert_array_equal(plan.run(a, b), expected)


@pytest.mark.parametrize("dtype", [Float32, Float64])
def test_sums_are_more_exact(dtype):
    """An error of sqrt(c + n / c) for c terms of n, and not of sqrt(n)."""
    a, b = operands(16, 16, 8192, dtype)
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble).T
    plan = choose_whole(kernels.gemm.plan(a, b).problem, (256,) * 3, H200)
    if dtype is Float32:
        plan = plan.replace(stream_k_ctas=0, promote=2)  # without shares, whose sums are shorter anyhow
    assert plan.promote > 0
    errors = [float(np.linalg.norm(plan.replace(promote=p).run(a, b) - exact)) for p in (plan.promote, 0)]
    assert errors[0] < 0.5 * errors[1]


def test_where_sums_are_promoted():
    """Where a thread has few of them, they are long, and C shows it."""

    def promotes(m, n, k, dtype, **options):
        plan = choose_gemm(problem_of(m, n, k, dtype, **options), (256,) * 3, H200)
        return plan.kernel_plan.promote > 0

    for m, n, k, dtype in ((4096, 8, 4096, Float32), (1024, 1024, 4096, Float32), (64, 64, 1000, Float64)):
        assert promotes(m, n, k, dtype), (m, n, k, dtype)
    for n in (8, 16, 32, 64):
        assert promotes(4096, n, 4096, BFloat16, out=Float32), n
    assert not promotes(4096, 16, 4096, BFloat16)  # C is rounded to 16 bits
    assert not promotes(4096, 16, 4096, TFloat32)  # A and B have been
    assert not promotes(4096, 16, 64, BFloat16, out=Float32)  # a step
    assert not promotes(4096, 4096, 4096, BFloat16, out=Float32)  # no registers for totals
    assert promotes(4096, 4096, 4096, Float32, a="m", b="n")  # totals in shared memory
    assert not promotes(4096, 4096, 4096, Float32)
    assert not promotes(1000, 1000, 1000, Float32)


def test_fma_promotes_after_few_numbers_of_steps():
    """Each is another kernel to compile; none leaves a larger error than sums of cuBLAS, where one can be as small."""
    found, exact = set(), 0
    for m, n, k in itertools.product((64, 200, 512, 1000, 2000), (64, 300, 1500), range(3000, 60000, 4999)):
        problem = problem_of(m, n, k, Float32)
        plan = choose_whole(problem, (256,) * 3, H200)
        if plan.kernel_name != "simt" or not plan.promote:
            continue
        found.add(plan.promote)
        terms, allowed = longest_sum(plan), terms_allowed(problem, H200) - sums_beside(plan, problem)
        c = plan.promote * plan.tiler_mnk[2] // plan.sliced_k
        exact += c + terms / c <= allowed
        assert c + terms / c <= max(allowed, 1.05 * 2 * math.sqrt(terms)), str(plan)
    assert len(found) <= 16 < exact


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_is_told(name):
    """By its last argument, which plans that do not promote leave out; and the reader by the plan's text."""
    plan = plan_of(name, 64, 8, 4096 if name != "simt" else 512, promote=3)
    assert plan.name.endswith(", 3>>")
    assert "sums are added to totals every 3 steps along K" in str(plan)
    assert plan.replace(promote=0).name == plan.name.removesuffix(", 3>>") + ">>"
    assert "totals" not in str(plan.replace(promote=0))


def test_totals_in_shared_memory_need_fragments_that_are_read_ahead():
    plan = gemm_simt.choose(problem_of(512, 512, 4096, Float32, a="m", b="n"), ALIGNED)
    many = gemm_simt.choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), ALIGNED)
    assert (plan.totals, many.totals) == (0, 128)
    assert "every 192 steps along K, in shared memory" in str(many)
    one = gemm_simt._plan(many.problem, ALIGNED, SimtTiles.of(H200).tiles[0], stages=1)
    with pytest.raises(LayoutError, match=r"promote is 2 with 128 sums of a thread, .* with 1 stages and 8 steps .*"):
        one.replace(promote=2)


def test_errors():
    plan = plan_of("simt", 64, 64, 64)
    for wrong in (-1, 2**31, 1.0, True, None):
        with pytest.raises(TypeError, match=r"promote is .*, but it must be an integer from 0 on"):
            plan.replace(promote=wrong)
    integers = gemm_sm90.choose(problem_of(64, 64, 256, Int8), ALIGNED)
    with pytest.raises(ValueError, match=r"GemmSm90: promote is 2, but sums of Int32 are exact .*; use promote=0"):
        integers.replace(promote=2)
