"""Pictures of GEMM plans, and what they are drawn from: banks, stages, the order of tiles."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, TFloat32, cute
from tilewright.analysis.bank_conflicts import wavefronts
from tilewright.kernels.gemm.banks import SharedAccess, shared_accesses
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.sm80 import build as gemm_sm80
from tilewright.kernels.gemm.sm90 import build as gemm_sm90
from tilewright.show.kernels import gemm_matrix as draw_gemm_matrix
from tilewright.show.kernels import gemm_order as draw_gemm_order
from tilewright.show.kernels import gemm_tile as draw_gemm

ALIGNED = (128, 128, 128)


def plan_of(module, m, n, k, dtype, **options):
    plan = module.choose(problem_of(m, n, k, dtype, **options), ALIGNED)
    assert plan is not None
    return plan


PLANS = {
    "simt": plan_of(gemm_simt, 4096, 4096, 4096, Float32),
    "simt m n": plan_of(gemm_simt, 4096, 4096, 4096, Float32, a="m", b="n", c="m"),
    "simt fp64": plan_of(gemm_simt, 100, 70, 64, Float64),
    "simt int8": plan_of(gemm_simt, 100, 70, 64, Int8),
    "sm80": plan_of(gemm_sm80, 4096, 4096, 4096, BFloat16),
    "sm80 m n": plan_of(gemm_sm80, 4096, 4096, 4096, Float16, a="m", b="n"),
    "sm80 tf32": plan_of(gemm_sm80, 256, 256, 256, TFloat32, b="n"),
    "sm80 fp64": plan_of(gemm_sm80, 256, 256, 256, Float64),
    "sm80 int8": plan_of(gemm_sm80, 256, 256, 256, Int8, a="m"),
    "sm90": plan_of(gemm_sm90, 4096, 4096, 4096, BFloat16),
    "sm90 m n": plan_of(gemm_sm90, 4096, 4096, 4096, Float16, a="m", b="n"),
    "sm90 fp8": plan_of(gemm_sm90, 4096, 4096, 4096, Float8E4M3FN),
    "sm90 thin": plan_of(gemm_sm90, 4096, 8, 4096, BFloat16),
    "sm90 batch": plan_of(gemm_sm90, 512, 512, 64, BFloat16, batch=(4,)),
}
EACH = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


@EACH
@pytest.mark.parametrize("of", ["tile", "stages", "order"])
def test_every_plan_draws_itself(plan, of):
    svg = plan.svg(of)
    assert svg == plan.replace(stages=plan.stages).svg(of)
    assert len(svg) < 200_000
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not re.search(r"href|url\(|<script|<image", svg)
    right, low = float(root.get("width")), float(root.get("height"))
    for x, y in re.findall(r'(?:M|x=")(-?[\d.]+)(?: |" y=")(-?[\d.]+)', svg):
        assert 0 <= float(x) <= right
        assert 0 <= float(y) <= low


def test_all_slices_are_in_the_picture():
    plan = plan_of(gemm_simt, 4096, 64, 1000, Float32)
    assert (plan.slices, plan.threads) == (8, 256)
    svg = plan.svg()
    assert "C by the warps that multiply (W0+7: one for each of 8 slices of K)" in svg
    assert "<title>warps 0, 1, 2, 3, 4, 5, 6, 7</title>" in svg
    assert "<title>threads 0, 32, 64, 96, 128, 160, 192, 224</title>" in svg
    assert {">W0+7<", ">T0+7<", ">T16+7<"} <= set(re.findall(r">[WT]\d+\+\d+<", svg))
    alone = PLANS["simt"].svg()
    assert "C by the warp that multiplies, " in alone
    assert not re.search(r">[WT]\d+\+|<title>(?:warp|thread)s ", alone.split("bank 0")[0])


def test_a_picture_that_there_is_not():
    with pytest.raises(ValueError, match="no picture of 'warp', but of tile, stages, order"):
        PLANS["simt"].svg("warp")


@pytest.mark.parametrize("name", ["simt", "sm80", "sm90"])
def test_an_empty_c_has_no_order(name):
    plan = PLANS[name]
    empty = plan.for_problem(plan.problem._replace(m=0))
    with pytest.raises(ValueError, match="C is 0 x 4096, so that it has no tiles whose order could be drawn"):
        empty.svg("order")


# ---- the tile ----


@EACH
def test_every_element_of_a_tile_has_an_owner(plan):
    parts = draw_gemm._tile_parts(plan, plan.tables())
    m, n, k = plan.tiler_mnk
    for name, shape in (("A", (m, k)), ("B", (k, n)), ("C", (m, n))):
        assert parts[name].owners.shape == shape
        assert (parts[name].owners != draw_gemm_matrix.NOBODY).all()


def test_blocks_cover_a_matrix_and_have_one_owner():
    parts = draw_gemm._tile_parts(PLANS["sm80"], PLANS["sm80"].tables())
    owners, seen = parts["C"].owners, parts["C"].owners * 0
    for row, column, rows, columns in draw_gemm_matrix._blocks(owners):
        block = owners[row : row + rows, column : column + columns]
        assert (block == block[0, 0]).all()
        seen[row : row + rows, column : column + columns] += 1
    assert (seen == 1).all()


def test_an_atom_is_that_of_the_manual():
    """m16n8k16: lane 5 has A (1, 2), (1, 3) as a0, a1, (9, 2) as a2, (1, 10) as a4; B (2, 1) as b0; C (1, 2) as c0."""
    parts, caption = draw_gemm._detail_parts(PLANS["sm80"].tables())
    names = {name: lambda *at, x=x: x.name(int(x.owners[at])) for name, x in parts.items()}
    assert caption[0] == "one mma.sync 16x8x16"
    assert [names["A"](*at) for at in ((1, 2), (1, 3), (9, 2), (1, 10))] == ["T5a0", "T5a1", "T5a2", "T5a4"]
    assert [names["B"](*at) for at in ((2, 1), (3, 1), (10, 1))] == ["T5b0", "T5b1", "T5b2"]
    assert [names["C"](*at) for at in ((1, 2), (9, 3))] == ["T5c0", "T5c3"]


# ---- banks ----


def found(plan):
    return {(x.operand, x.writes): x.wavefronts for x in shared_accesses(plan)}


@EACH
def test_chosen_plans_have_few_bank_conflicts(plan):
    assert max(found(plan).values()) <= 2, plan


@pytest.mark.parametrize("name", ["simt", "simt m n"])
def test_gemm_simt_reads_16_bytes_a_lane(name):
    for access in shared_accesses(PLANS[name]):
        if not access.writes:
            assert {lane: sum(lane in own for own in access.words.values()) for lane in range(8)} == dict.fromkeys(
                range(8), 4
            )


def test_the_fullest_bank_decides():
    access = SharedAccess("A", True, "lane", (0, 128, 256, 4), 4)
    assert (access.wavefronts, access.least) == (3, 1)


@pytest.mark.parametrize("name", [name for name in PLANS if name.startswith("sm80") and "fp64" not in name])
def test_a_matrix_of_ldmatrix_has_eight_rows_of_16_bytes(name):
    for access in shared_accesses(PLANS[name]):
        if name != "sm80 tf32" or access.operand == "A":  # its B, contiguous along N, is read by plain accesses
            assert len(access.words) == 32
            assert all(word - word % 4 + i in access.words for word in access.words for i in range(4))


def test_the_conflict_of_seed_002():
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), Float32, num_bits_per_copy=32)
    t_a = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 8), stride=(8, 1)), cute.make_layout((1, 1)))
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), cute.make_layout((16, 16, 1), stride=(16, 1, 0)))
    plan = gemm_simt.given(problem_of(256, 256, 64, Float32), mma, t_a, None, (128, 128, 8), 1)
    padded = plan.replace(smem_a=cute.make_layout((128, 8, 1), stride=(1, 132, 1056)))
    for each, waves in ((plan, 8), (padded, 1)):
        assert found(each)["A", True] == waves
        assert wavefronts(each.smem_a, each.copy_layout("a")[0], 1, 1, 4) == waves
    access = shared_accesses(plan)[0]
    assert {word % 32 for word in access.words} == {0, 1, 2, 3}
    assert access.words[128] == (1,)  # lane 1 has k = 1, 128 words from k = 0
    svg = plan.svg()
    assert "A in shared memory, written: 8 wavefronts, 1 at least" in svg
    assert "bank 0: lane 7" in svg


def test_a_swizzle_is_a_diagonal():
    plan = gemm_sm80.variants(problem_of(4096, 4096, 4096, BFloat16), ALIGNED)
    plan = next(x for x in plan if x.tiler_mnk == (128, 128, 64))
    (access,) = [x for x in shared_accesses(plan) if (x.operand, x.writes) == ("A", False)]
    assert [sorted(word % 32 for word in access.words if word // 32 == row) for row in range(8)] == [
        list(range(4 * row, 4 * row + 4)) for row in range(8)
    ]
    plain = cute.make_layout((128, 64, plan.stages), stride=(64, 1, 8192))
    assert found(plan.replace(smem_a=plain)) == {**found(plan), ("A", False): 8}
    core = [x for x in shared_accesses(PLANS["sm90"]) if x.operand == "A"]
    assert [(x.by, x.wavefronts, x.words[36]) for x in core] == [("row", 1, (1,))]
    (stored,) = [x for x in shared_accesses(PLANS["sm90"]) if x.operand == "C"]
    assert stored.words == {word: (row,) for row in range(8) for word in range(36 * row, 36 * row + 4)}


# ---- when ----


@EACH
def test_a_stage_holds_one_tile_at_a_time(plan):
    pipe = plan.tables().pipeline
    for step in range(20):
        held = [tile % pipe.stages for tile in range(40) if draw_gemm_order._holds(pipe, tile, step)]
        assert len(held) == len(set(held))
        assert draw_gemm_order._state(pipe, step, step)[0].endswith(f"multiply {step}")


def kernels_order(plan):
    """The tiles (in clusters) in the order of the kernels' code: from the CTA's number to (m, n)."""
    p, (bm, bn, _) = plan.problem, plan.tiler_mnk
    cluster = getattr(plan, "cluster_mn", (1, 1))
    tiles_m, tiles_n = -(-p.m // (bm * cluster[0])), -(-p.n // (bn * cluster[1]))
    if plan.kernel_name == "simt":  # Grid of kernels/tilewright/grid.cuh
        run, runs, columns = plan._raster()
        every = [(i % run + i // run // columns * run, i // run % columns) for i in range(run * runs * columns)]
        return [tile for tile in every if tile[0] < tiles_m]
    group = plan.run_length if plan.kernel_name == "sm80" else max(plan.group // cluster[0], 1)
    found = []
    for i in range(tiles_m * tiles_n):
        first = i // (group * tiles_n) * group
        rows = min(group, tiles_m - first)
        within = i % (group * tiles_n)
        found.append((first + within % rows, within // rows))
    return found


@pytest.mark.parametrize("name", ["simt", "sm80", "sm90"])
@pytest.mark.parametrize("length", [1, 5, 16])
@pytest.mark.parametrize("m", [128, 1900, 2048])
def test_tiles_are_taken_in_the_kernels_order(name, length, m):
    field = {"sm80": "run_length"}.get(name, "group")
    plan = PLANS[name].replace(**{field: length, **({"streams": 0} if name == "simt" else {})})
    plan = plan.for_problem(plan.problem._replace(m=m, n=3000))
    assert draw_gemm_order._order(plan)[0] == kernels_order(plan)


def test_tiles_that_are_done_together():
    plan = PLANS["sm90"].replace(cluster_mn=(2, 1), group=16, workers=132)
    tiles, needed = draw_gemm_order.tiles_at_once(plan)
    assert tiles[:4] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert len(tiles) == len(set(tiles)) == 132
    bm, bn, bk = plan.tiler_mnk
    assert needed == 2 * bk * (bm * len({m for m, _ in tiles}) + bn * len({n for _, n in tiles}))
