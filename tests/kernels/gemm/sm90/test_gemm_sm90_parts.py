"""Boxes along M or N that CTAs of a cluster bring in parts of K: where they lie, run on the CPU, refused, compiled."""

from __future__ import annotations

import numpy as np
import pytest

from host_gemms import Gemm, decoded
from tilewright import BFloat16, Float16, LayoutError, TFloat32, _core
from tilewright.devices import H200
from tilewright.kernels.gemm.host import run_on_host
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90.choose import Config, _majors, plan_of

ALIGNED = (256, 256, 256)
# Configuration, type, contiguous modes of A and B; the operand that is cut, into how many parts, and its boxes.
CUT = {
    "one box among four": (Config(64, 64, 1, cluster=(4, 1)), BFloat16, "kn", 1, 4, 1),
    "one box among two": (Config(64, 64, 1, cluster=(2, 1)), Float16, "mn", 1, 2, 1),
    "one box among eight": (Config(128, 64, cluster=(8, 1)), Float16, "kn", 1, 8, 1),
    "three boxes among two": (Config(128, 192, cluster=(2, 1)), BFloat16, "kn", 1, 2, 3),
    "two boxes among four": (Config(64, 128, 1, cluster=(4, 1)), BFloat16, "kn", 1, 4, 2),
    "A among four": (Config(64, 128, 1, cluster=(1, 4)), Float16, "mk", 0, 4, 1),
    "A of both": (Config(64, 64, 1, cluster=(2, 2)), BFloat16, "mk", 0, 2, 1),
    "three boxes of A": (Config(192, 64, 3, cluster=(1, 2)), BFloat16, "mk", 0, 2, 3),
    "tf32": (Config(64, 64, 1, cluster=(1, 4)), TFloat32, "mk", 0, 4, 2),
}


def cut(name, m=520, n=520, k=136, **options):
    config, dtype, orders, side, parts, boxes = CUT[name]
    problem = problem_of(m, n, k, dtype, a=orders[0], b=orders[1], **options)
    plan = plan_of(config, problem, _majors(problem, ALIGNED), ALIGNED, H200)
    operand = plan.operands()[side]
    assert (operand.parts, operand.boxes) == (parts, boxes)
    assert plan.operands()[1 - side].parts == (2 if name == "one box among two" and side == 0 else 1)
    return plan, operand


@pytest.mark.parametrize("name", CUT)
def test_parts_of_all_ctas_are_the_stage(name):
    """By what sm90_operand.cuh does with the numbers that it gets: each row of 128 bytes comes once, to its place."""
    plan, operand = cut(name)
    side, parts = CUT[name][3:5]
    load = (plan.tables().a, plan.tables().b)[side].load
    size = 128 // operand.box[0]
    place = {tuple(coord): int(smem[0]) * size // 128 for coord, smem in zip(load.coord[0], load.smem[0], strict=True)}
    depth, box_rows = operand.box[1], operand.rows // operand.boxes
    assert depth * parts == plan.tiler_mnk[2]
    assert operand.box_bytes // parts % 1024 == 0  # the swizzle begins anew
    found = {}
    for share in range(parts):
        for i in range(operand.boxes):
            first = i * box_rows
            start = share * (operand.box_bytes // parts) + first * (operand.box_bytes // box_rows)
            for k in range(depth):
                assert (first, share * depth + k) not in found
                found[first, share * depth + k] = start // 128 + k
    assert found == place
    assert operand.stage_bytes == 128 * len(found)


@pytest.mark.parametrize("name", CUT)
def test_it_computes_what_whole_boxes_compute(name):
    config, dtype, orders, *_ = CUT[name]
    for i, (m, n, k) in enumerate(((264, 328, 136), (136, 72, 264))):
        gemm = Gemm(m, n, k, dtype, a=orders[0], b=orders[1], most=1, batch=(2,) if i else ())
        plan = plan_of(config, gemm.problem, _majors(gemm.problem, ALIGNED), ALIGNED, H200)
        addresses = [0 if x is None else x.ctypes.data for x in (gemm.a, gemm.b, gemm.c, gemm.bias)]
        run_on_host(plan, *addresses)
        np.testing.assert_array_equal(decoded(gemm.c, gemm.problem.c_type), gemm.expected())
        report = run_on_host(plan, *addresses, check=True)
        assert report, f"{plan}\n{report}"


@pytest.mark.parametrize("rows", [512, 520])
@pytest.mark.parametrize("name", CUT)
def test_maps_have_boxes_of_a_part(monkeypatch, name, rows):
    """Those of the last tiles, too, which are fewer or none."""
    found = []

    def encode(address, dtype, shape, strides, boxes, *, swizzle):
        found.append((tuple(shape), tuple(boxes)))
        return bytes(128)

    monkeypatch.setattr(_core.cuda, "encode_tensor_map", encode)
    plan, operand = cut(name, rows, rows, 136)
    side, parts = CUT[name][3:5]
    plan.params()
    inner, depth = operand.box
    assert found.count(((rows, 136), (inner, depth))) == 1 + plan.ragged[side]
    assert depth == plan.tiler_mnk[2] // parts
    numbers = f"{operand.rows}, {operand.boxes}, {operand.box_bytes},"
    assert numbers in plan.name
    assert f"1, {str(plan.ragged[side]).lower()}, {parts}>" in plan.name
    brought = operand.brought(rows, plan.tiles()[side] * plan.cluster_mn[side], plan.ragged[side])
    assert {size for _, size in brought} == {128 * depth}
    whole = -(-rows // operand.rows) * operand.boxes
    last = -(-((rows - 1) % operand.rows + 1) // inner) if plan.ragged[side] else operand.boxes
    if not plan.ragged[side]:
        whole = plan.tiles()[side] * plan.cluster_mn[side] * operand.boxes
    assert sum(count for count, _ in brought) == parts * (whole - operand.boxes + last)


# Configuration, the operand, its boxes along K, and rows of each: they begin at any row, or are more than one.
ALONG_K = {
    "shares of 20 rows": (Config(128, 80, cluster=(4, 1)), 1, 4, 20),
    "shares of 13 rows": (Config(64, 104, 1, cluster=(8, 1)), 1, 8, 13),
    "shares of 52 rows": (Config(128, 104, cluster=(2, 1)), 1, 2, 52),
    "boxes of 192 rows": (Config(384, 80), 0, 2, 192),
    "shares of 96 rows": (Config(384, 80, cluster=(1, 4)), 0, 4, 96),
}


@pytest.mark.parametrize("name", ALONG_K)
def test_boxes_along_k_have_any_number_of_rows(name):
    """The hardware's swizzle is one of addresses, so a box may begin at any row of 128 bytes."""
    config, side, boxes, rows = ALONG_K[name]
    extents = [264, 328]
    for last in (8, 56, 0):
        extents[side] = config[side] + last
        gemm = Gemm(*extents, 136, BFloat16, most=1)
        plan = plan_of(config, gemm.problem, (True, True), ALIGNED, H200)
        operand = plan.operands()[side]
        assert (operand.boxes, operand.box) == (boxes, (64, rows))
        of_last = operand.last_box(extents[side])[1]
        assert of_last <= rows
        assert min(last or operand.rows, operand.rows) <= boxes * of_last
        assert plan.ragged[side] == (of_last < rows or -(-extents[side] // operand.rows) % plan.cluster_mn[side] != 0)
        addresses = [0 if x is None else x.ctypes.data for x in (gemm.a, gemm.b, gemm.c, gemm.bias)]
        run_on_host(plan, *addresses)
        np.testing.assert_array_equal(decoded(gemm.c, gemm.problem.c_type), gemm.expected())


@pytest.mark.parametrize(
    ("config", "dtype", "orders", "words"),
    [
        (
            Config(64, 64, 1, cluster=(3, 1)),
            BFloat16,
            "kn",
            "3 CTAs share boxes of 64 rows along N, of which there",
        ),
        (
            Config(128, 128, cluster=(5, 1)),
            BFloat16,
            "kn",
            "are 2; bN must be a multiple of 320, or 64 steps of K",
        ),
        (Config(64, 64, 1, cluster=(1, 8)), TFloat32, "mk", "8 CTAs share boxes of 32 rows along M, of which there"),
        (Config(64, 64, 1, cluster=(1, 7)), Float16, "mk", "7 CTAs share boxes of 64 rows along M, of which there"),
    ],
    ids=str,
)
def test_boxes_that_cannot_be_cut_are_refused(config, dtype, orders, words):
    """A part has whole groups of eight rows. What chooses passes them over."""
    problem = problem_of(512, 512, 512, dtype, a=orders[0], b=orders[1])
    majors = _majors(problem, ALIGNED)
    assert plan_of(config, problem, majors, ALIGNED, H200) is None
    alone = plan_of(config._replace(cluster=(1, 1)), problem, majors, ALIGNED, H200)
    with pytest.raises(LayoutError, match="gemm_sm90: the tile") as caught:
        alone.replace(cluster_mn=config.cluster)
    assert words in str(caught.value)


@pytest.mark.parametrize("epilogue", [Epilogue(), Epilogue(2.0, 0.5, activation="gelu")], ids=["plain", "beta, gelu"])
@pytest.mark.parametrize("name", CUT)
def test_they_compile_without_spills(compiler, name, epilogue):
    for extents in ((4096, 4096), (4104, 4104)):  # tiles at the end are whole, or have fewer boxes
        plan, _ = cut(name, *extents, 4096, epilogue=epilogue)
        program = plan.compile("sm_90a")
        report = program.report[plan.name]
        assert (report.spill_bytes, report.stack_bytes) == (0, 0)
        assert "C75" not in program.log, "the compiler serialises wgmma or ignores setmaxnreg"
        assert ".multicast::cluster" in program.ptx
