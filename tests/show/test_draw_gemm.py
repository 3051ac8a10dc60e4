"""Pictures of GEMM plans, and what they are drawn from: banks, stages, the order of tiles."""

from __future__ import annotations

import pytest

from show_cells import by_place, panel
from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, TFloat32, cute
from tilewright.analysis.bank_conflicts import wavefronts
from tilewright.kernels.gemm.banks import SharedAccess, shared_accesses
from tilewright.kernels.gemm.problem import problem_of
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.gemm.sm80 import build as gemm_sm80
from tilewright.kernels.gemm.sm90 import build as gemm_sm90
from tilewright.show.drawing.measure import measure
from tilewright.show.kernels import gemm_order, gemm_owners

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
    "sm90 gemv": plan_of(gemm_sm90, 4096, 8, 4096, BFloat16),
    "sm90 batch": plan_of(gemm_sm90, 512, 512, 64, BFloat16, batch=(4,)),
}
EACH = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def shown(picture, start):
    """The cells of the panel whose title begins so, by place; the labels of its rows and columns."""
    number = panel(picture, start)
    found = picture.panels[number].panel
    axes = ([label.text for label in axis[0]] for axis in (found.row_axis, found.column_axis))
    return by_place(picture, number), *axes


@EACH
@pytest.mark.parametrize("of", SIMT.pictures)
def test_every_plan_draws_itself(plan, of):
    picture = cute.show(plan, of=of)
    assert plan.svg(of) == picture.svg() == plan.replace(stages=plan.stages).svg(of)
    for text in (picture.svg(), picture.html(), picture.text(color=False)):
        assert 200 < len(text) < 200_000
    assert picture.tikz().count("rectangle") == sum(len(placed.panel.cells) for placed in picture.panels)
    sheet = measure(picture)
    for box in sheet.boxes:
        width, height = box.panel.columns * box.cell[0], box.panel.rows * box.cell[1]
        assert 0 <= box.x <= box.left <= sheet.width - width
        assert 0 <= box.y <= box.top <= sheet.height - height


def test_all_slices_are_in_the_picture():
    plan = plan_of(gemm_simt, 4096, 16, 4096, Float32)
    assert (plan.sliced_k, plan.threads) == (8, 256)
    picture = cute.show(plan, of="tile")
    (c,) = [placed.panel for placed in picture.panels if placed.panel.title == "C (M,N)"]
    assert c.subtitle.startswith("by the warps that multiply (W0+7: one for each of 8 slices of K)")
    assert {(cell.lines, cell.hover) for cell in c.cells} == {(("W0+7",), (("warp", "0, 1, 2, 3, 4, 5, 6, 7"),))}
    corner = shown(picture, "the first 16 x 16 of C")[0].values()
    who = {cell.lines[0]: dict(cell.hover)["thread"] for cell in corner}
    assert who["T0+7"] == "0, 32, 64, 96, 128, 160, 192, 224"
    assert all(name.endswith("+7") for name in who)
    alone = cute.show(PLANS["simt"], of="tile")
    for start, subtitle in (("C (M,N)", "by the warp that multiplies; "), ("the first 16 x 16 of C", "by the thread ")):
        assert alone.panels[panel(alone, start)].panel.subtitle.startswith(subtitle)
        assert not any("+" in cell.lines[0] for cell in shown(alone, start)[0].values())


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
    parts = gemm_owners.tile_owners(plan, plan.tables())
    m, n, k = plan.tiler_mnk
    for name, shape in (("A", (m, k)), ("B", (k, n)), ("C", (m, n))):
        assert parts[name].owners.shape == shape
        assert (parts[name].owners != gemm_owners.NOBODY).all()


@pytest.mark.parametrize("name", ["simt", "sm80", "sm80 m n", "sm90"])
def test_blocks_have_one_owner(name):
    plan = PLANS[name]
    parts = gemm_owners.tile_owners(plan, plan.tables())
    picture = cute.show(plan, of="tile")
    for operand, title in (("A", "A (M,K)"), ("B", "B (N,K)"), ("C", "C (M,N)")):
        owners = parts[operand].owners
        cells, rows, columns = shown(picture, title)
        for (row, column), cell in cells.items():
            starts = int(rows[row]), int(columns[column])
            ends = [
                int(labels[i + 1]) if i + 1 < len(labels) and labels[i + 1] != "…" else start + 1
                for labels, i, start in zip((rows, columns), (row, column), starts, strict=True)
            ]
            assert (owners[starts[0] : ends[0], starts[1] : ends[1]] == cell.owner).all()
            assert cell.lines == (parts[operand].name(cell.owner),)


def test_an_atom_is_that_of_the_manual():
    """m16n8k16: lane 5 has A (1, 2), (1, 3) as a0, a1, (9, 2) as a2, (1, 10) as a4; B (2, 1) as b0; C (1, 2) as c0."""
    picture = cute.show(PLANS["sm80"], of="tile")

    def names(operand, *places):
        cells = shown(picture, f"{operand} of one mma.sync 16x8x16")[0]
        return [cells[place].lines[0] for place in places]

    assert names("A", (1, 2), (1, 3), (9, 2), (1, 10)) == ["T5a0", "T5a1", "T5a2", "T5a4"]
    assert names("B", (2, 1), (3, 1), (10, 1)) == ["T5b0", "T5b1", "T5b2"]
    assert names("C", (1, 2), (9, 3)) == ["T5c0", "T5c3"]


@pytest.mark.parametrize("name", ["simt", "simt m n", "simt fp64"])
def test_a_corner_is_named_by_thread(name):
    tables = PLANS[name].tables()
    picture = cute.show(PLANS[name], of="tile")
    m, n, k = (min(extent, 16) for extent in tables.tile)
    where = tables.mma.c_coord
    of_c = {tuple(map(int, at)): t for t in reversed(range(len(where))) for at in where[t].reshape(-1, 2)}
    loaders = [
        gemm_owners.loaded(x, (extent, tables.tile[2]))
        for x, extent in ((tables.a, tables.tile[0]), (tables.b, tables.tile[1]))
    ]
    for (i, j), cell in shown(picture, f"the first {m} x {n} of C")[0].items():
        assert cell.owner == of_c[i, j]
    for (i, j), cell in shown(picture, f"the first {m} x {k} of A")[0].items():
        assert cell.lines == (f"T{loaders[0][i, j]}",)
    for (j, i), cell in shown(picture, f"the first {n} x {k} of B")[0].items():
        assert cell.lines == (f"T{loaders[1][i, j]}",)


def test_the_sums_of_wgmma_have_threads():
    plan = PLANS["sm90"]
    picture = cute.show(plan, of="tile")
    cells = shown(picture, "the first 16 x 16 of C: who has the sums")[0]
    assert [cells[place].lines[0] for place in ((0, 0), (0, 1), (0, 2), (1, 0), (8, 0), (0, 8))] == [
        "T0", "T0", "T1", "T4", "T0", "T0",
    ]  # fmt: skip
    (said,) = [placed.panel.subtitle for placed in picture.panels if "who has the sums" in placed.panel.title]
    assert said.endswith("which reads A and B from shared memory by itself")
    assert {cell.lines[0][:4] for cell in shown(picture, "A (M,K)")[0].values()} == {"box "}


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
    cells, lines, banks = shown(cute.show(plan, of="tile"), "A in shared memory, written: 8 wavefronts, 1 at least")
    assert banks == [str(bank) for bank in range(32)]
    drawn = {(lines[i], banks[j]): cell.lines[0] for (i, j), cell in cells.items() if cell.owner is not None}
    assert drawn == {(str(512 * (t % 8)), str(t // 8)): str(t) for t in range(32)}  # lane t has (t / 8, t mod 8)
    assert dict(cells[7, 0].hover) == {"bank": "0", "address": "3584", "lanes": "7", "first element": "0,7"}
    assert cells[7, 4].lines == ("", "4,7")
    assert dict(cells[7, 5].hover)["lanes"] == "none"


def test_a_swizzle_is_a_diagonal():
    plan = gemm_sm80.variants(problem_of(4096, 4096, 4096, BFloat16), ALIGNED)
    plan = next(x for x in plan if x.tiler_mnk == (128, 128, 64))
    (access,) = [x for x in shared_accesses(plan) if (x.operand, x.writes) == ("A", False)]
    assert [sorted(word % 32 for word in access.words if word // 32 == row) for row in range(8)] == [
        list(range(4 * row, 4 * row + 4)) for row in range(8)
    ]
    plain = cute.make_layout((128, 64, plan.stages), stride=(64, 1, 8192))
    assert found(plan.replace(smem_a=plain)) == {**found(plan), ("A", False): 8}
    for drawn, places in ((plan, {(i, i) for i in range(8)}), (plan.replace(smem_a=plain), {(i, 0) for i in range(8)})):
        cells, _, banks = shown(cute.show(drawn, of="tile"), "A in shared memory, read")
        assert banks == ["0", "4", "8", "12", "16", "20", "24", "28"]  # lanes have 16 bytes
        assert {place for place, cell in cells.items() if cell.owner is not None} == places
        assert all(cells[place].lines == (str(place[0]), f"{place[0]},0") for place in places)
    core = [x for x in shared_accesses(PLANS["sm90"]) if x.operand == "A"]
    assert [(x.by, x.wavefronts, x.words[36]) for x in core] == [("row", 1, (1,))]
    (stored,) = [x for x in shared_accesses(PLANS["sm90"]) if x.operand == "C"]
    assert stored.words == {word: (row,) for row in range(8) for word in range(36 * row, 36 * row + 4)}


# ---- when ----


@EACH
def test_a_stage_holds_one_tile_at_a_time(plan):
    pipe = plan.tables().pipeline
    for step in range(20):
        held = [tile % pipe.stages for tile in range(40) if gemm_order._holds(pipe, tile, step)]
        assert len(held) == len(set(held))
    picture = cute.show(plan, of="stages")
    cells, stages, steps = shown(picture, "")
    assert stages == [f"stage {i}" for i in range(pipe.stages)]
    assert steps.count("before") == pipe.ahead
    for (stage, column), cell in cells.items():
        step, tile = column - pipe.ahead, cell.lines[0].rpartition(" ")[2]
        assert tile == "" or int(tile) % pipe.stages == stage
        assert cell.faded == tile.isdigit() * ("multiply" not in cell.lines[0])
        if step >= 0 and step % pipe.stages == stage:
            assert cell.lines[0].endswith(f"multiply {step}")
            assert not cell.faded


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
    plan = PLANS[name].replace(**{field: length, **({"stream_k_ctas": 0} if name == "simt" else {})})
    plan = plan.for_problem(plan.problem._replace(m=m, n=3000))
    assert gemm_order._order(plan)[0] == kernels_order(plan)


def test_tiles_that_are_done_together():
    plan = PLANS["sm90"].replace(cluster_mn=(2, 1), group=16, workers=132)
    tiles, needed = gemm_order.tiles_at_once(plan)
    assert tiles[:4] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    assert len(tiles) == len(set(tiles)) == 132
    bm, bn, bk = plan.tiler_mnk
    assert needed == 2 * bk * (bm * len({m for m, _ in tiles}) + bn * len({n for _, n in tiles}))


@pytest.mark.parametrize("name", ["simt", "sm80", "sm90"])
def test_tiles_are_numbered_in_their_order(name):
    plan = PLANS[name]
    tiles, needed = gemm_order.tiles_at_once(plan)
    picture = cute.show(plan, of="order")
    assert f": {len(tiles)} of " in picture.title
    assert picture.panels[0].panel.subtitle.endswith(f"a step along K needs {needed // 1024} KiB of A and B")
    cells = shown(picture, "")[0]
    numbered = {place: int(cell.lines[0]) for place, cell in cells.items() if cell.owner is not None}
    assert numbered == {tile: i for i, tile in enumerate(tiles)}
    assert all(cell.owner in (None, m) for (m, _), cell in cells.items())
    assert len(cells) == -(-4096 // plan.tiler_mnk[0]) * -(-4096 // plan.tiler_mnk[1])


def test_the_order_of_many_tiles_is_cut_and_said_so():
    plan = PLANS["simt"].for_problem(PLANS["simt"].problem._replace(m=128 * 70))
    picture = cute.show(plan, of="order")
    assert picture.panels[0].panel.rows == 64
    assert picture.notes == (
        "C in tiles has 70 x 32 elements, of which 63 x 32 are drawn: the first ones and the last",
    )
