"""GEMMs of fp32 in parts along K: when they are split, and that their sums are right, and short.

The times are compared by the model of gemm_simt's tiles, which knows stream-K.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilewright import Float32, TFloat32, kernels
from tilewright.devices import DEVICES, H200
from tilewright.kernels.gemm.choose.choose import Search, choose_gemm, choose_whole, expected
from tilewright.kernels.gemm.choose.short_sums import has_short_sums, terms_allowed
from tilewright.kernels.gemm.choose.split_k import cost_of, in_parts, seconds_of
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import pad
from tilewright.kernels.gemm.composite.residue import ResidueGemm
from tilewright.kernels.gemm.composite.split_k import SplitKGemm, parts_problem
from tilewright.kernels.gemm.composite.sum_parts import SumParts, takes_accesses
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt import build as simt
from tilewright.kernels.gemm.simt.build import promoted
from tilewright.kernels.gemm.simt.cost import least_seconds, tile_cost
from tilewright.kernels.gemm.simt.tiles import SimtTiles
from tilewright.kernels.kernel import kernel_of

ALIGNED = (16, 16, 16)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize(
    ("m", "n", "k", "b", "parts", "tile"),
    [
        (64, 479, 6304, "n", 8, (64, 64, 16)),  # 27.8 us; 28.9 the fastest of the plans that share K otherwise
        (112, 96, 7296, "n", 32, (32, 32, 32)),  # 12.1 us, and 57 parts 13.2; 19.4
        (552, 64, 6888, "k", 14, (64, 64, 32)),  # 20.6 us, 7 parts 22.7, 21 parts 29.3, 42 parts 23.0; 30.9
        (64, 2584, 1864, "k", 1, (64, 32, 32)),  # 30.0 us; two parts 30.9
        (512, 512, 8192, "n", 16, (128, 128, 8)),  # 94.4 us, 4 parts 101.6; 112.7
    ],
)
def test_products_of_fp32_have_the_parts_that_were_measured_to_be_the_fastest(m, n, k, b, parts, tile):
    """On an H200. The times are compared by the model that knows stream-K: by that of waves the whole is far slower."""
    plan = choose_gemm(problem_of(m, n, k, Float32, b=b), ALIGNED, H200)
    assert (getattr(plan, "parts", 1), plan.tiler_mnk) == (parts, tile)
    whole = choose_whole(problem_of(m, n, k, Float32, b=b), ALIGNED, H200)
    assert whole.kernel_plan.stream_k_ctas > 0
    assert seconds_of(whole.kernel_plan, H200) < 0.9 * expected(whole.kernel_plan, H200)


def test_the_time_of_a_tile_is_that_by_which_it_was_chosen():
    """Whatever tile that is: those of slices, those that come loosely, padded ones, of copies, and with a residue."""
    found = set()
    for (m, n, k), orders, more in itertools.product(
        ((4096, 4096, 4096), (64, 64, 4096), (552, 64, 984), (300, 1000, 640), (129, 300, 2000)), ("kk", "kn", "mn"),
        (0, 1),
    ):  # fmt: skip
        aligned = (4, 4, 4) if more else ALIGNED
        problem = problem_of(m, n, k, Float32, a=orders[0], b=orders[1], pads=(more, more, more))
        plan = simt.choose(problem, aligned, H200)
        seconds = tile_cost(plan, H200).without("launch")
        assert seconds == pytest.approx(least_seconds(problem, aligned, H200)), str(plan)
        found.add((plan.tiler_mnk, plan.sliced_k, plan.stages, plan.stream_k_ctas > 0))
    assert len(found) > 6
    padded = choose_gemm(problem_of(4095, 4201, 4103, Float32), (4, 4, 4), H200)
    assert (padded.gemm.padded_a, padded.gemm.padded_b) == (True, True)
    assert tile_cost(padded.gemm, H200).without("launch") == pytest.approx(
        least_seconds(padded.gemm.problem, (128, 128, 4), H200, (True, True))
    )
    few = choose_gemm(problem_of(1, 4096, 4096, Float32), ALIGNED, H200)
    assert tile_cost(few, H200) == cost_of(few, H200) == kernel_of(few).expected(few, H200)
    ends = choose_gemm(problem_of(4096, 4097, 4096, Float32), ALIGNED, H200)
    alone = [seconds_of(plan, H200) for plan, _ in ends.parts]
    assert max(alone) < seconds_of(ends, H200) < sum(alone)


@pytest.mark.parametrize("b", ["k", "n"])
@pytest.mark.parametrize("alignment", [4, 16])
@pytest.mark.parametrize("k", [2048, 1536, 2049, 330])
def test_all_parts_of_fp32_are_right_and_exact(k, alignment, b):
    """Of operands as they lie and of turned copies; their sums are as short as those of the whole would be."""
    first = alignment % 16 // 4  # element of A
    memory = numbers(24 * k + first)
    a, y = memory[first:].reshape(24, k), numbers(40, k, seed=1)
    y = np.asfortranarray(y) if b == "n" else y
    c = np.zeros((24, 40), np.float32)
    right = a.astype(np.float64) @ y.astype(np.float64).T
    direct = kernels.gemm.plan(a, y, c)
    problem = direct.problem.swapped() if direct.swapped else direct.problem
    found = [plan for plan, _ in in_parts(Search(problem, (alignment, 16, 16), H200), choose_whole)]
    assert found
    for plan in found:
        c[...] = 0
        assert plan.run(a, y, c, check=True)
        assert np.linalg.norm(c - right) < 2e-7 * np.linalg.norm(right), str(plan)


@pytest.mark.parametrize("orders", ["kk", "mk", "kn"])
def test_parts_after_turned_copies(orders):
    """Which gemm_simt reads along M and N, as long as whole tiles: each part has rows of its own."""
    m, n, k = 72, 40, 486
    both = numbers(m, k), numbers(n, k, seed=1)
    a, b = (np.asfortranarray(x) if o in "mn" else x for x, o in zip(both, orders, strict=True))
    c = np.zeros((m, n), np.float32)
    problem = kernels.gemm.plan(a, b, c).problem
    parts = parts_problem(problem, 81)
    sides = tuple(o == "k" for o in orders)
    copied, aligned = pad(parts, (4, 4, 16), sides, is_turned=True)
    gemm = PaddedGemm.of(parts, (4, 4, 16), sides, simt.choose(copied, aligned, H200, sides))
    assert gemm.is_turned
    sums = SumParts(problem=problem, parts=6, wide=False)
    sums = sums.replace(wide=takes_accesses(problem, sums.vector, 16))
    plan = SplitKGemm(problem=problem, gemm=gemm, sum=sums)
    for check in (False, True):
        c[...] = 0
        plan.run(a, b, c, check=check)
        np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=1e-5, atol=1e-4)


def test_sums_of_parts_are_promoted_like_those_of_shares():
    """Also where all parts together have so many tiles that sums of a problem of that size would be long."""
    whole = problem_of(512, 512, 8192, Float32)
    parts = parts_problem(whole, 512)
    assert 300 < terms_allowed(whole, H200) < 500
    tile = next(x for x in SimtTiles.of(H200).tiles if (x.extents(4), x.sliced_k) == ((64, 64), 1))
    plan = simt.plan_of_tile(parts, ALIGNED, tile, H200)
    assert plan.promote == 0  # as a batch, whose K cuBLAS does not share
    assert promoted(plan, H200, whole).promote == 0  # there is no room for totals
    assert not has_short_sums(plan, whole, H200)
    assert has_short_sums(plan.replace(promote=4), whole, H200)
    assert has_short_sums(simt.plan_of_tile(parts_problem(whole, 256), ALIGNED, tile, H200), whole, H200)
    assert has_short_sums(plan, problem_of(4096, 4096, 8192, Float32), H200)
    large = simt.plan_of_tile(parts, ALIGNED, SimtTiles.of(H200).tiles[0], H200)
    terms = promoted(large, H200, whole).promote * large.tiler_mnk[2]
    assert large.promote == 0 < terms < terms_allowed(whole, H200)
    sliced = next(x for x in SimtTiles.of(H200).tiles if x.sliced_k == 2 and x.groups_n == 2)
    for terms, promotes in ((1024, True), (512, False)):
        own = simt.plan_of_tile(parts_problem(whole, terms), ALIGNED, sliced, H200)
        assert (promoted(own, H200, whole).promote > 0) == promotes
    for problem in (whole, problem_of(1033, 49, 27840, Float32), problem_of(397, 399, 5120, Float32, b="n")):
        found = [plan.gemm for plan, _ in in_parts(Search(problem, ALIGNED, H200), choose_whole)]
        assert found
        for gemm in found:
            assert has_short_sums(gemm, problem, H200)
            assert gemm == promoted(gemm, H200, problem)


def test_parts_of_a_residue_are_not_split_again():
    plan = choose_gemm(problem_of(1032, 512, 8192, Float32), ALIGNED, H200)
    assert isinstance(plan, ResidueGemm)
    assert isinstance(choose_gemm(plan.parts[1][1].problem, ALIGNED, H200), SplitKGemm)
    assert not isinstance(plan.residue, SplitKGemm)


def test_tf32_without_tensor_cores_is_split_as_fp32_is():
    plan, other = (choose_gemm(problem_of(64, 64, 32768, x), ALIGNED, DEVICES["sm_75"]) for x in (TFloat32, Float32))
    assert isinstance(plan, SplitKGemm)
    assert plan == other
