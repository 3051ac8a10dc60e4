"""Boxes of the copy engine: what one costs, and what all of a launch do, each box by itself."""

from __future__ import annotations

import itertools
import json
import re

import pytest

from tilewright import BFloat16, Float4E2M1FN, Float16, TFloat32, cute
from tilewright.analysis import analyze, box_access
from tilewright.analysis.boxes import row_sectors
from tilewright.kernels.box_probe import Box, launch
from tilewright.kernels.gemm_plan import H200
from tilewright.kernels.gemm_problem import problem_of
from tilewright.kernels.gemm_sm90 import GemmSm90

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
        ({"layout": L((8, 64), (100, 1))}, ValueError, "mode 0 of .* has 200 bytes from row to row, no multiple of 16"),
        ({"dtype": 3}, TypeError, "expected dtype to be an element type"),
        ({"dtype": Float4E2M1FN}, ValueError, "have 4 bits; use a type of whole bytes"),
        ({"box": (8,)}, ValueError, "has 2 modes, but box has 1 and at 2"),
        ({"box": (8, 12)}, ValueError, "box is 24 bytes along mode 1, no multiple of 16"),
        ({"box": (257, 64)}, ValueError, "mode 0 of the box, 257 from 0 on, must be 1 to 256"),
        ({"at": (0, 4)}, ValueError, "at 4 is 8 bytes along mode 1, no multiple of 16"),
        ({"at": (-8, 0)}, ValueError, "mode 0 of the box, 8 from -8 on"),
        ({"address": 8}, ValueError, "address is 8 bytes"),
        ({"op": "reduce"}, ValueError, 'op "reduce" with 1 receivers must be'),
        ({"op": "store", "receivers": 2}, ValueError, "must be"),
        ({"receivers": 0}, ValueError, "must be"),
    ],
)  # fmt: skip
def test_what_a_box_cannot_be(given, error, message):
    asked = {"layout": L((8, 64), (1024, 1)), "dtype": Float16, "box": (8, 64), "at": (0, 0), **given}
    positional = [asked.pop(x) for x in ("layout", "dtype", "box", "at")]
    with pytest.raises(error, match=f"box_access: .*{message}"):
        box_access(*positional, **asked)


def test_a_probe_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a box of 131072 bytes does not fit"):
        launch(0, 0, Box("load", 2, (1024, 8), 2048, 0, (256, 256), (0, 0), 0), None)
    assert json.loads(json.dumps(Box("load", 2, (64, 8), 128, 0, (64, 8), (0, 0))))[2] == [64, 8]


# ---- all boxes of a launch


def boxes_of(plan, side):
    """(coordinate, extents) of every box of A (0) or B (1) in (rows, k), as the kernel's producers ask for them."""
    p, operand, ragged = plan.problem, plan.operands()[side], plan.ragged[side]
    rows, tile, bk = (p.m, p.n)[side], plan.tiler_mnk[side], plan.tiler_mnk[2]
    clusters = plan.tiles()
    tiles, times = clusters[side] * plan.cluster_mn[side], clusters[1 - side]
    for index, step in itertools.product(range(tiles), range(-(-p.k // bk))):
        first = index * tile
        for i in range(operand.boxes):
            if operand.k_major:
                inside = rows - first
                count = operand.box[1] if inside >= tile or not ragged else operand.last_box(rows)[1]
                if inside > 0 or not ragged:
                    yield (first + i * count, step * bk), (count, bk), times
            elif not ragged or first + i * operand.box[0] < rows:
                yield (first + i * operand.box[0], step * bk), (operand.box[0], bk), times


def chosen(m, n, k, dtype, orders, **given):
    from tilewright.kernels import gemm_sm90

    return gemm_sm90.choose(problem_of(m, n, k, dtype, a=orders[0], b=orders[1], **given), (16, 16, 16), H200)


PLANS = [
    (1000, 1000, 1000, BFloat16, "kk"), (1000, 1000, 1000, TFloat32, "kk"), (1000, 1000, 1000, Float16, "mn"),
    (256, 384, 200, BFloat16, "kn"), (257, 512, 320, BFloat16, "kk"), (136, 264, 72, Float16, "mk"),
    (512, 512, 512, TFloat32, "mk"), (2048, 1024, 64, BFloat16, "kk"), (16, 4096, 256, BFloat16, "kk"),
]  # fmt: skip


@pytest.mark.parametrize(("m", "n", "k", "dtype", "orders"), PLANS)
@pytest.mark.parametrize("addresses", [(0, 0, 0), (16, 96, 48)])
def test_a_launch_is_its_boxes(m, n, k, dtype, orders, addresses):
    plan = chosen(m, n, k, dtype, orders)
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
        layout, unit = L((p.m, p.n), p.c_strides[:2]), 0 if plan.store == "columns" else 1
        box = [64, 64]
        box[unit], box[1 - unit] = plan.box_columns, plan.box_columns if plan.store == "columns" else 64
        every = itertools.product(range(0, p.m, box[0]), range(0, p.n, box[1]))
        assert found["store C"].sectors == sum(
            box_access(layout, p.c_type, box, at, address=addresses[2], op="store").sectors for at in every
        )


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
    assert "of B: its rows are 2000 bytes apart, no multiple of 128; pad them" in found.advice
    assert analyze(chosen(1024, 1024, 1024, BFloat16, "kk")).advice == ""
    moved = analyze(chosen(1024, 1024, 1024, BFloat16, "kk"), addresses=(16, 0, 0))
    assert "'load A' moves 655360 sectors where 524288 would do; of A: it begins within a sector" in moved.advice


def test_tables_show_boxes():
    text = str(analyze(chosen(512, 512, 512, Float16, "kk")))
    line = next(line for line in text.splitlines() if line.startswith("  load A"))
    assert re.fullmatch(r"  load A +UTMALDG\.2D(\.MULTICAST)? +\d+ +\d+ +\d+ +\d+ +\d+", line), line
