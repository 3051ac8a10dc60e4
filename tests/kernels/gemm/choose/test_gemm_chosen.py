"""A chosen plan is legal, covers the problem, and is predicted to be no slower than others of its kernel."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, TFloat32
from tilewright.devices import DEVICES, H200
from tilewright.kernels.gemm.choose.choose import choose_gemm, choose_whole, expected, ranked
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.plan import GemmPlan
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt.cost import Choice, choice_cost, least_seconds
from tilewright.kernels.gemm.simt.tiles import tiles_for

TYPES = (BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, TFloat32)
ENDS = (1, 2, 3, 4, 5, 16, 63, 64, 65, 100, 127, 128, 129, 160, 200, 512, 641, 777, 1000, 1024, 2047, 4095, 4096, 4097)
# By how much the model of waves may be off that of the kernel by which its tile is chosen.
AGREES = {"sm90": 1.0, "sm80": 1.5}


@st.composite
def problems(draw, most=40000, dtypes=TYPES):
    """A problem and the alignments of its tensors, which may be those of their elements only."""
    extents = st.sampled_from([x for x in ENDS if x <= most]) | st.integers(1, most)
    dtype = draw(st.sampled_from(dtypes))
    pads = draw(st.sampled_from([(0, 0, 0), (1, 0, 0), (8, 8, 8), (0, 0, 4)]))
    orders = {name: draw(st.sampled_from(modes)) for name, modes in (("a", "mk"), ("b", "nk"), ("c", "nm"))}
    problem = problem_of(draw(extents), draw(extents), draw(extents), dtype, pads=pads, **orders)
    elements = tuple(x.bits // 8 for x in (problem.a_type, problem.b_type, problem.c_type))
    return problem, draw(st.sampled_from([(16, 16, 16), (256, 256, 256), elements, (elements[0], 16, 16)]))


def chosen(problem, alignments, facts):
    """The plan; where no kernel of a device takes such elements, there is nothing to say."""
    try:
        return choose_gemm(problem, alignments, facts)
    except ValueError as error:
        assert "no kernel of" in str(error)  # noqa: PT017
        assume(False)


def gemms(plan):
    """The GEMMs that a plan launches."""
    return [one for one in getattr(plan, "single_plans", (plan,)) if isinstance(one, GemmPlan)]


def places(plan):
    """The tiles of C that a launch goes through: each by a CTA, or by some of those that stay."""
    if plan.kernel_name == "sm90":
        return math.prod((*plan.tiles(), *plan.cluster_mn)) * plan.problem.batches
    return plan.places if plan.kernel_name == "simt" else plan.ctas


@given(problems(), st.sampled_from(list(DEVICES)))
@settings(max_examples=200)
def test_it_is_legal(case, arch):
    problem, alignments = case
    facts = DEVICES[arch]
    plan = chosen(problem, alignments, facts)
    plan.require_device(facts)
    plan.require(*(alignments[1::-1] if plan.swapped else alignments[:2]), alignments[2], "test")
    same = (problem, problem._replace(a_type=Float32, b_type=Float32))
    assert plan.problem in (*same, *(x.swapped() for x in same))
    for one in gemms(plan):
        one.require_device(facts)
        assert one.threads <= 1024
        rows, columns = -(-one.problem.m // one.tiler_mnk[0]), -(-one.problem.n // one.tiler_mnk[1])
        assert places(one) >= rows * columns * one.problem.batches, str(one)


@given(problems(most=400))
@settings(max_examples=100)
def test_it_covers_the_problem(case):
    """Each element of C is written exactly once, from all of K."""
    problem, alignments = case
    plan = choose_gemm(problem, alignments, H200)
    parts = gemms(plan)
    for one in parts:
        assert run_on_host(one, 0, 0, 0, check=True, move=False), str(one)
        assert one.problem.k == problem.k
    assert sum(one.problem.m * one.problem.n for one in parts) == problem.m * problem.n


@given(problems(dtypes=[x for x in TYPES if x is not Float32]), st.sampled_from(["sm_80", "sm_90a"]))
@settings(max_examples=50)
def test_no_other_plan_of_its_kernel_is_predicted_to_be_faster(case, arch):
    problem, alignments = case
    facts = DEVICES[arch]
    plan = chosen(problem, alignments, facts)
    assume(plan.kernel_name in AGREES)
    others = [
        x for x in ranked(problem, alignments, facts) if (x.kernel_name, x.swapped) == (plan.kernel_name, plan.swapped)
    ]
    assert others
    assert expected(plan, facts) <= AGREES[plan.kernel_name] * min(expected(x, facts) for x in others)


@given(problems(dtypes=[Float32]), st.sampled_from(list(DEVICES)))
@settings(max_examples=200)
def test_no_tile_of_fma_is_predicted_to_be_faster(case, arch):
    """With sums that are as short; those of long K are promoted, or shared."""
    problem, alignments = case
    problem = problem._replace(k=min(problem.k, 256))
    facts = DEVICES[arch]
    least = least_seconds(problem, alignments, facts)
    for tile in tiles_for(problem, facts):
        assert least <= choice_cost(problem, Choice(tile), facts).without("launch") * (1 + 1e-12)


@pytest.mark.parametrize("dtype", TYPES)
def test_a_larger_problem_is_predicted_to_take_longer(dtype):
    for facts in DEVICES.values():
        times = []
        for n in (256, 1024, 4096, 16384):
            plan = choose_whole(problem_of(n, n, n, dtype), (256, 256, 256), facts)
            times.append(expected(plan, facts))
        assert times == sorted(set(times))
