"""Boxes of the copy engine: what one costs, and what all of a launch do, each box by itself."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

from probes.box import Box, launch
from tilewright import BFloat16, Float4E2M1FN, Float16, Float32, Int128, TFloat32, cute
from tilewright.analysis import analyze, box_access
from tilewright.analysis.boxes import row_sectors
from tilewright.devices import H200
from tilewright.kernels.gemm.composite.split_k import parts_problem
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.sm90 import build as gemm_sm90
from tilewright.kernels.gemm.sm90.choose import Config, _majors, plan_of
from tilewright.kernels.gemm.sm90.plan import GemmSm90
from tilewright.kernels.kernel import kernel_of

ROW = 128


def L(shape, stride):
    return cute.make_layout(shape, stride=stride)


# ---- one box


def touched(first, last):
    """The sectors of [first, last), one byte after the other."""
    return len({x // 32 for x in range(first, last)})


@pytest.mark.parametrize("start", range(0, 128, 16))
@pytest.mark.parametrize("inside", [0, 1, 16, 17, 48, 100, 112, 127, 128])
def test_a_row_byte_by_byte(start, inside):
    """What lies inside in granules of 16 bytes, then zeros; to several CTAs by lines, each with a least number."""
    granules = [x for x in range(0, ROW, 16) if x < inside]
    end = len(granules) * 16
    zeros = [end + i for i in range(0, ROW - end, 32)]
    assert row_sectors("store", start, inside, ROW) == touched(start, start + inside)
    assert row_sectors("load", start, inside, ROW) == touched(start, start + end) + len(zeros)
    lines = {}
    for x in range(start, start + end):
        lines.setdefault(x // 128, set()).add(x // 32)
    answers = [max(len(found), 2) for found in lines.values()]
    if inside % 16:
        answers[-1] = max(answers[-1], 3)
    assert row_sectors("multicast", start, inside, ROW) == sum(answers) + (max(len(zeros), 3) if zeros else 0)
    assert row_sectors("multicast", start, ROW, ROW, 0, 3) == sum(
        max(len({x // 32 for x in range(start, start + ROW) if x // 128 == line}), 3)
        for line in {x // 128 for x in range(start, start + ROW)}
    )


def test_rows_go_line_by_line_of_shared_memory():
    """Rows of 48 bytes lie one behind the other, so that every third one is cut."""
    parts = [(16, 48), (16, 48), (16, 32), (48, 16), (16, 48), (16, 48), (16, 16), (32, 32)]
    expected = sum(touched(start, start + size) for start, size in parts)
    layout = L((64, 1024), (1024, 1))
    assert box_access(layout, BFloat16, (6, 24), (0, 8)).sectors == expected


def test_modes_in_any_order_cost_the_same():
    rows, columns = L((100, 1000), (1000, 1)), L((1000, 100), (1, 1000))
    for op, receivers in (("load", 1), ("store", 1), ("load", 2)):
        one = box_access(rows, Float16, (16, 64), (90, 960), op=op, receivers=receivers)
        assert one == box_access(columns, Float16, (64, 16), (960, 90), op=op, receivers=receivers)
    batched = L((100, 1000, 3), (1000, 1, 100000))
    second = box_access(rows, Float16, (16, 64), (0, 0), address=200000)
    assert box_access(batched, Float16, (16, 64, 1), (0, 0, 1)) == second
    assert box_access(L(64, 1), Float16, (64,), (0,)).sectors == 4


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"layout": "x"}, TypeError, "expected the tensor's Layout, not str"),
        ({"layout": L(((2, 4), 64), ((64, 128), 1))}, TypeError, "must have 1 to 5 modes, each an integer; flatten it"),
        ({"layout": L((8, 64), (2048, 2))}, ValueError, "no mode of .* has stride 1"),
        ({"layout": L((8, 64), (100, 1))}, ValueError, "mode 0 of .* has 200 bytes from row to row; TMA needs"),
        ({"dtype": 3}, TypeError, "expected dtype to be an element type"),
        ({"layout": L((8, 64), (-64, 1))}, ValueError, "has -128 bytes from row to row"),
        ({"layout": L((8, 64), (1 << 40, 1))}, ValueError, "bytes from row to row; .* up to 2\\^40"),
        ({"dtype": Float4E2M1FN}, ValueError, "have 4 bits, and TMA's have 8, 16, 32 or 64"),
        ({"dtype": Int128}, ValueError, "have 128 bits"),
        ({"box": 8}, TypeError, "expected box to be a tuple of integers, one for each mode, not 8"),
        ({"at": None}, TypeError, "expected at to be a tuple of integers"),
        ({"box": (8, 64.0)}, TypeError, "expected box to be an integer, not 64.0"),
        ({"address": None}, TypeError, "expected address to be an integer"),
        ({"receivers": 2.5}, TypeError, "expected receivers to be an integer"),
        ({"receivers": True}, TypeError, "expected receivers to be an integer"),
        ({"at": (1 << 31, 0)}, ValueError, "must be 1 to 256 from a coordinate of 0 up to 2\\^31"),
        ({"layout": L((8, 64, 8), (512, 1, 64)), "box": (256, 64, 8), "at": (0, 0, 0)}, ValueError, "of 262144 bytes"),
        ({"box": (8,)}, ValueError, "has 2 modes, but box has 1 and at 2"),
        ({"box": (8, 12)}, ValueError, "the box has 12, 24 bytes, no multiple of 16; take a multiple of 8"),
        ({"box": (257, 64)}, ValueError, "mode 0 of the box, 257 from 0 on, must be 1 to 256"),
        ({"at": (0, 4)}, ValueError, "along mode 1 the box begins at 4, 8 bytes, no multiple of 16"),
        ({"at": (-8, 0)}, ValueError, "mode 0 of the box, 8 from -8 on"),
        ({"address": 8}, ValueError, "address = 8 must be a multiple of 16"),
        ({"address": -16}, ValueError, "address = -16 must be a multiple of 16"),
        ({"op": "reduce"}, ValueError, "op = 'reduce' must be"),
        ({"op": "store", "receivers": 2}, ValueError, "a store to 2 receivers must be to 1"),
        ({"receivers": 0}, ValueError, "a load to 0 receivers must be to 1 to 16"),
        ({"receivers": 17}, ValueError, "to 17 receivers"),
    ],
)  # fmt: skip
def test_what_a_box_cannot_be(given, error, message):
    asked = {"layout": L((8, 64), (1024, 1)), "dtype": Float16, "box": (8, 64), "at": (0, 0), **given}
    positional = [asked.pop(x) for x in ("layout", "dtype", "box", "at")]
    with pytest.raises(error, match=f"box_access: .*{message}"):
        box_access(*positional, **asked)


def test_integers_of_any_kind_count_the_same():
    """Sums are those of Python's integers, and no argument changes what a later call says."""
    layout = L((100, 1000), (1000, 1))
    expected = box_access(layout, BFloat16, (8, 64), (0, 960))
    for kind in (np.uint64, np.int16):
        found = box_access(layout, BFloat16, (kind(8), kind(64)), (kind(0), kind(960)), address=kind(0))
        assert found == expected
        assert {type(x) for x in found[:4]} == {int}
    far = box_access(layout, BFloat16, (np.int16(16), np.int16(64)), [np.int16(32760), np.int16(0)])
    assert (far.sectors, far.bytes_inside) == (16 * 4, 0)
    assert box_access(layout, BFloat16, (8, 64), (0, 960)) == expected


def test_the_contiguous_mode_is_one_that_has_elements():
    assert box_access(L((1, 1000), (1, 1)), Float16, (1, 64), (0, 0)).sectors == 4


def test_a_probe_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a box of 131072 bytes does not fit"):
        launch(0, 0, Box("load", 2, (1024, 8), 2048, 0, (256, 256), (0, 0), 0), None)


# ---- all boxes of a launch


def boxes_of(plan, side):
    """(coordinate, extents) of every box of A (0) or B (1) in (rows, k), as the kernel's producers ask for them."""
    p, operand, ragged = plan.problem, plan.operands()[side], plan.ragged[side]
    rows, tile, bk = (p.m, p.n)[side], plan.tiler_mnk[side], plan.tiler_mnk[2]
    clusters = plan.tiles()
    tiles, times = clusters[side] * plan.cluster_mn[side], clusters[1 - side]
    if side == 1 and plan.held_b:  # a CTA brings it once, for all of its tiles
        times = plan.ctas
    depth = bk // operand.parts
    for index, step in itertools.product(range(tiles), range(-(-p.k // bk))):
        first = index * tile
        for i in range(operand.boxes):
            if operand.k_major:
                inside = rows - first
                count = operand.box[1] if inside >= tile or not ragged else operand.last_box(rows)[1]
                if inside > 0 or not ragged:
                    yield (first + i * count, step * bk), (count, bk), times
            elif not ragged or first + i * operand.box[0] < rows:
                for part in range(operand.parts):
                    yield (first + i * operand.box[0], step * bk + part * depth), (operand.box[0], depth), times


def chosen(m, n, k, dtype, orders, **given):
    from tilewright.kernels.gemm.sm90 import build as gemm_sm90

    return gemm_sm90.choose(problem_of(m, n, k, dtype, a=orders[0], b=orders[1], **given), (16, 16, 16), H200)


def stored_box(plan):
    """Rows and columns of C that the copy engine writes at once: 64 rows, or 128 bytes of them where C lies along M."""
    return 64 if plan.store == "boxes" else 1024 // plan.problem.c_type.bits, plan.box_columns


PLANS = [
    (1000, 1000, 1000, BFloat16, "kk"), (1000, 1000, 1000, TFloat32, "kk"), (1000, 1000, 1000, Float16, "mn"),
    (256, 384, 200, BFloat16, "kn"), (257, 512, 320, BFloat16, "kk"), (136, 264, 72, Float16, "mk"),
    (512, 512, 512, TFloat32, "mk"), (2048, 1024, 64, BFloat16, "kk"), (16, 4096, 256, BFloat16, "kk"),
    (1000, 777, 264, BFloat16, "kk", "m"), (136, 100, 72, Float16, "mk", "m"),
]  # fmt: skip
ADDRESSES = [(0, 0, 0), (16, 96, 48)]


@pytest.mark.parametrize("fields", PLANS, ids=str)
@pytest.mark.parametrize("addresses", ADDRESSES)
def test_a_launch_is_its_boxes(fields, addresses):
    *sizes, along = fields if len(fields) > 5 else (*fields, "n")
    plan = chosen(*sizes, c=along)
    assert along == "n" or plan.store == "columns"
    assert_boxes(plan, addresses)


# Fewer boxes of B than the CTAs that share them: each brings a part along K of every box.
IN_PARTS = [
    (Config(64, 64, 1, cluster=(4, 1)), 520, 200, 136, BFloat16, "kn", (1, 4)),
    (Config(64, 64, 1, cluster=(2, 1)), 304, 64, 72, Float16, "mn", (1, 2)),
    (Config(128, 192, cluster=(2, 1)), 300, 328, 200, BFloat16, "kn", (1, 2)),
    (Config(64, 128, 1, cluster=(1, 4)), 136, 600, 136, Float16, "mk", (4, 1)),
    (Config(64, 64, 1, cluster=(1, 4)), 136, 304, 104, TFloat32, "mk", (4, 1)),
]


def planned(config, m, n, k, dtype, orders, **given):
    problem = problem_of(m, n, k, dtype, a=orders[0], b=orders[1], **given)
    return plan_of(config, problem, _majors(problem, (16, 16, 16)), (16, 16, 16), H200)


@pytest.mark.parametrize(("config", "m", "n", "k", "dtype", "orders", "parts"), IN_PARTS, ids=str)
@pytest.mark.parametrize("addresses", ADDRESSES)
def test_parts_of_boxes_are_boxes(config, m, n, k, dtype, orders, parts, addresses):
    plan = planned(config, m, n, k, dtype, orders)
    assert tuple(x.parts for x in plan.operands()) == parts
    assert_boxes(plan, addresses)


@pytest.mark.parametrize("orders", ["kk", "kn", "mn", "mk"])
@pytest.mark.parametrize("config", [Config(64, 64, 1), Config(64, 128, 1), Config(64, 64, ping_pong=True)], ids=str)
@pytest.mark.parametrize("addresses", ADDRESSES)
def test_b_that_stays_comes_once_a_cta(config, orders, addresses):
    plan = planned(config, 64 * 272, 56, 136, BFloat16, orders)
    assert plan.held_b == 3
    assert_boxes(plan, addresses)
    found, whole = analyze(plan), planned(config._replace(cluster=(2, 1)), 64 * 272, 56, 136, BFloat16, orders)
    assert whole.held_b == 0
    assert found["load B"].bytes_useful == plan.ctas * 56 * 136 * 2 < analyze(whole)["load B"].bytes_useful


def assert_boxes(plan, addresses):
    """What is predicted of a launch is the sum of its boxes."""
    assert isinstance(plan, GemmSm90)
    p = plan.problem
    found = analyze(plan, addresses=addresses if not plan.swapped else (addresses[1], addresses[0], addresses[2]))
    for side, (name, strides, rows, of) in enumerate(
        (("load A", p.a_strides, p.m, p.a_type), ("load B", p.b_strides, p.n, p.b_type))
    ):
        sharers = plan.cluster_mn[1 - side]
        sectors = ideal = useful = requests = 0
        for at, extents, times in boxes_of(plan, side):
            one = box_access(
                L((rows, p.k), strides[:2]), of, extents, at, address=addresses[side], receivers=sharers
            )  # fmt: skip
            sectors, ideal = sectors + times * one.sectors, ideal + times * one.ideal_sectors
            useful, requests = useful + times * one.bytes_inside, requests + times
        x = found[name]
        assert (x.requests, x.sectors, x.ideal_sectors, x.bytes_useful) == (requests, sectors, ideal, useful), name
        assert x.bytes_moved == 32 * sectors
    if plan.store in ("boxes", "columns"):
        layout, box = L((p.m, p.n), p.c_strides[:2]), stored_box(plan)
        every = itertools.product(range(0, p.m, box[0]), range(0, p.n, box[1]))
        assert found["store C"].sectors == sum(
            box_access(layout, p.c_type, box, at, address=addresses[2], op="store").sectors for at in every
        )


@pytest.mark.parametrize(
    ("m", "dtype", "along"),
    [
        (200, BFloat16, "n"), (200, Float32, "n"), (4000, BFloat16, "n"), (4000, Float32, "n"), (200, BFloat16, "m"),
        (4000, Float16, "m"),
    ],
)  # fmt: skip
def test_c_is_brought_whole_and_stored_as_far_as_it_exists(m, dtype, along):
    """With beta C comes in boxes, those that reach over its ends with zeros."""
    plan = chosen(m, 264, 64, BFloat16, "kk", out=dtype, c=along, epilogue=Epilogue(beta=1.0))
    assert plan.store == ("boxes" if along == "n" else "columns")
    bm, bn, _ = plan.tiler_mnk
    p, found = plan.problem, analyze(plan)
    tiles = [n * by * beside for n, by, beside in zip(plan.tiles(), (bm, bn), plan.cluster_mn, strict=True)]
    layout, box = L((p.m, p.n), p.c_strides[:2]), stored_box(plan)
    every = list(itertools.product(range(0, tiles[0], box[0]), range(0, tiles[1], box[1])))
    for name, op in (("load C", "load"), ("store C", "store")):
        one = [box_access(layout, p.c_type, box, at, op=op) for at in every]
        x = found[name]
        assert x.requests == len(every), name
        assert (x.sectors, x.bytes_useful) == (sum(b.sectors for b in one), p.m * p.n * p.c_type.bits // 8), name
    assert found["load C"].sectors > found["store C"].sectors


@pytest.mark.parametrize("config", [Config(64, 64, 1), Config(128, 128, cluster=(2, 1))], ids=str)
@pytest.mark.parametrize("orders", ["kk", "mn"])
def test_each_matrix_of_a_batch_counts(orders, config):
    """K = 72 is no multiple of a tile's depth, so that boxes of M- and N-major operands have lines outside."""
    one, five = (planned(config, 256, 256, 72, Float16, orders, **batch) for batch in ({}, {"batch": (5,)}))
    assert (one.tiler_mnk, one.cluster_mn) == (five.tiler_mnk, five.cluster_mn)
    alone, together = analyze(one), analyze(five)
    for name in ("load A", "load B", "store C"):
        for field in ("requests", "sectors", "ideal_sectors", "bytes_moved", "bytes_useful"):
            assert getattr(together[name], field) == 5 * getattr(alone[name], field), (name, field)


@pytest.mark.parametrize("orders", ["kk", "kn", "mn"])
def test_parts_of_k_bring_zeros_behind_its_end(orders):
    """Seven parts of two steps for 13 steps: the last box of each row of tiles lies outside."""
    problem = problem_of(200, 136, 808, Float16, a=orders[0], b=orders[1])
    plan = gemm_sm90.choose(parts_problem(problem, 128), (16, 16, 16), H200)
    assert (plan.problem.whole_k, plan.problem.batch) == (808, (7,))
    found = analyze(plan, addresses=(16, 96, 0))
    whole = plan.replace(problem=problem._replace(k=7 * 128), store="singles")  # as many steps
    sides = ("load A", problem.a_strides, 200), ("load B", problem.b_strides, 136)
    for side, (name, strides, rows) in enumerate(sides):
        sharers, layout = plan.cluster_mn[1 - side], L((rows, 808), strides)
        every = [
            (box_access(layout, Float16, extents, at, address=(16, 96)[side], receivers=sharers), times)
            for at, extents, times in boxes_of(whole, side)
        ]
        x = found[name]
        assert x.requests == sum(times for _, times in every)
        assert x.sectors == sum(one.sectors * times for one, times in every)
        assert x.bytes_useful == sum(one.bytes_inside * times for one, times in every)
    tensors = kernel_of(plan).accesses(plan, (16, 96, 0, 0)).tensors
    assert [x.extents for x in tensors] == [(200, 808), (136, 808), (200, 136, 7)]


def test_batches_begin_where_they_begin():
    """Matrices of 200 x 72 halves are 28800 bytes apart, every other one begins in the middle of a line."""
    plan = chosen(200, 128, 72, Float16, "kk", batch=(3,))
    one = [analyze(chosen(200, 128, 72, Float16, "kk"), addresses=(i * 28800, i * 18432, 0)) for i in range(3)]
    assert isinstance(plan, GemmSm90)
    found = analyze(plan)
    tiles = [x["load A"].requests for x in one]
    assert found["load A"].requests == sum(tiles)
    assert found["load A"].sectors == sum(x["load A"].sectors for x in one)


def test_the_tensor_cores_read_each_byte_once():
    """wgmma m64nNk16: 64 rows of A and N of B, 32 bytes each, out of 128 bytes a wavefront."""
    plan = chosen(512, 512, 256, BFloat16, "kk")
    bn = plan.tiler_mnk[1]
    count = 512 * 512 * 256 // (64 * bn * 16)
    found = analyze(plan)
    reads = [found["read A"], found["read B"]]
    assert [x.wavefronts for x in reads] == [count * 64 * 32 // 128, count * bn * 32 // 128]
    assert [x.requests for x in reads] == [4 * count] * 2  # of a warpgroup each warp
    assert all(x.conflicts == 0 for x in reads)


def test_advice_on_rows_within_sectors():
    found = analyze(chosen(1000, 1000, 1000, BFloat16, "kk"))
    assert found.advice.endswith("of B: its rows are 2000 bytes apart, no multiple of 128; pad them")
    assert analyze(chosen(1024, 1024, 1024, BFloat16, "kk")).advice == ""
    moved = analyze(chosen(1024, 1024, 1024, BFloat16, "kk"), addresses=(16, 0, 0))
    assert (
        "'load A' moves 655360 sectors where 524288 would do; of A: it begins at 0x10, no multiple of 32; move it"
        in moved.advice
    )
    assert "of A: boxes of 128 bytes reach over the end of its rows of 16 bytes" in _advice(256, 256, 8)
    assert "of A: boxes reach over the last of its rows" in _advice(65, 4096, 4096)
    apart = chosen(512, 512, 512, BFloat16, "kk", batch=(8,))
    strides = (*apart.problem.a_strides[:2], apart.problem.a_strides[2] + 8)
    moved = analyze(apart.replace(problem=apart.problem._replace(a_strides=strides)))
    assert "of A: its matrices are 524304 bytes apart, no multiple of" in moved.advice


def _advice(m, n, k):
    plan = chosen(m, n, k, BFloat16, "kk")
    return " ".join(x.remedy and f"of {x.name[-1]}: {x.remedy}" for x in analyze(plan) if x.op == "tma")


def test_tables_show_boxes():
    text = str(analyze(chosen(512, 512, 512, Float16, "kk")))
    line = next(line for line in text.splitlines() if line.startswith("  load A"))
    assert re.fullmatch(r"  load A +UTMALDG\.2D(\.MULTICAST)? +\d+ +\d+ +\d+ +\d+ +\d+", line), line
