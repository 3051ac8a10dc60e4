"""Packed plans: which tiles are chosen, what the kernel gets, and what it relies on."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from copy_plans import aligned, instantiations, permuted, plan_of_layouts, row_major
from tilewright import cute, kernels
from tilewright.kernels.common.params import fast_divisor
from tilewright.kernels.copy.choose import copy_by_rows
from tilewright.kernels.copy.cost import Cost, cost_of_packed
from tilewright.kernels.copy.numbers import PACKED
from tilewright.kernels.copy.packed import MAX_MODES, MOST, packed_of_plan, small_divisor
from tilewright.kernels.copy.packing import choose_packing, packed_copy
from tilewright.kernels.copy.rows_cost import cost_of_rows

L = cute.parse
PLANS = {name: plan for name, plan in instantiations() if plan.kernel == "packed"}


def reordered(size, shape, axes, rule=None):
    """The plan of a compact tensor whose modes are put into the order of `axes`."""
    strides = row_major(shape)
    return plan_of_layouts(size, tuple(shape[i] for i in axes), tuple(strides[i] for i in axes), rule=rule)


# ---- which plan ----


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((75, 5, 24, 24, 88), (2, 3, 1, 4, 0)),
        ((93, 32, 40, 35), (1, 3, 2, 0)),
        ((88, 16, 97, 56, 6), (0, 2, 3, 1, 4)),
        ((4, 12, 48, 38, 6, 37), (4, 2, 1, 3, 0, 5)),
        ((8, 77, 33, 65, 40), (4, 2, 0, 3, 1)),
    ],
)
def test_what_lies_together_over_several_modes_is_packed(shape, axes):
    """Bytes whose rows are short and odd: tiles have runs of 64 bytes and more on both sides."""
    plan = reordered(1, shape, axes)
    assert plan.kernel == "packed"
    tile = packed_of_plan(plan)
    assert tile.src_run >= 64
    assert tile.dst_run * tile.bytes >= 64
    assert (
        cost_of_rows(reordered(1, shape, axes, copy_by_rows)).clocks
        > choose_packing(plan.problem, 256, 256).cost.clocks
    )


def test_what_is_wide_already_is_not():
    for size in (1, 2, 4, 8, 16):
        for plan in (
            plan_of_layouts(size, (1 << 22,), (1,)),
            plan_of_layouts(size, (1 << 22,), (1,), src_start=1),
            plan_of_layouts(size, (2048, 2048), (1, 2048)),
            plan_of_layouts(size, (64, 2048, 64), (2048 * 64, 64, 1), permuted((64, 2048, 64), (1, 0, 2))),
        ):
            assert plan.kernel in ("direct", "staged")


def test_there_is_none_where_elements_lie_apart():
    far, back = (100 * 900, 900), (-900, -1)
    for strides, start in ((far, 0), (back, 300 * 900), ((0, 0), 0)):
        plan = plan_of_layouts(4, (300, 900), strides, src_start=start)
        assert packed_copy(plan.problem, 4, 4) is None
    strided = plan_of_layouts(4, (300, 900), (1, 300), (1800, 2))
    assert packed_copy(strided.problem, 4, 4) is None
    assert packed_copy(plan_of_layouts(16, (300, 900), (1, 301)).problem, 16, 16) is None  # elements are accesses


def test_small_copies_are_not_looked_at():
    assert reordered(1, (9, 31, 2, 37), (1, 3, 2, 0)).kernel != "packed"


def test_elements_that_lie_together_on_both_sides_are_moved_as_one():
    for size, unit in ((1, 2), (2, 2), (4, 2)):  # six along mode 0, the others whatever they are
        plan = reordered(size, (8, 16, 9, 56, 6), (0, 2, 3, 1, 4), packed_copy)
        assert (plan.smem_load, packed_of_plan(plan).bytes) == (unit, unit * size)
    plan = plan_of_layouts(1, (8, 9, 56, 16, 6), (48384, 336, 6, 3024, 1), src_start=1, rule=packed_copy)
    assert plan.smem_load == 1


@pytest.mark.parametrize("name", PLANS)
def test_tiles_are_within_their_limits(name):
    plan = PLANS[name]
    tile = packed_of_plan(plan)
    assert plan.shared_bytes <= PACKED.most
    assert math.prod(plan.tile) <= MOST
    assert plan.store_vector * plan.problem.element_bytes // tile.bytes <= tile.tile[0]
    reach = sum((t - 1) * d for t, d in zip(tile.tile, tile.shared, strict=True)) + tile.bytes
    begin, end = tile.image(plan.store_vector * plan.problem.element_bytes)
    assert max(tile.tables) < begin
    assert begin + reach <= end == plan.shared_bytes


def test_runs_with_gaps_are_read_as_they_are():
    """Six of ten elements, and every other row of 20: a run has what lies between, but for whole sectors."""
    plan = plan_of_layouts(1, (48, 6, 16, 90), (100_000, 1, 1800, 20), rule=packed_copy)
    tile = packed_of_plan(plan)
    sixes, nineties = plan.problem.src_strides.index(1), plan.problem.src_strides.index(20)
    assert tile.in_run[sixes]
    assert tile.in_run[nineties]
    apart = plan_of_layouts(1, (48, 6, 16, 90), (100_000, 1, 1800 * 20, 200))  # whole sectors: no runs on that side
    assert apart.kernel != "packed"


def test_the_model():
    """What is narrow, conflicts, waits, has few tiles or a long program takes longer."""
    tile = packed_of_plan(PLANS["packed, 5 modes, 8-bit"])
    times = [cost_of_packed(tile, store, conflicts, 1, 32768).clocks for store, conflicts in ((16, 1), (16, 4), (4, 4))]
    assert times == sorted(times)
    base = Cost(1e8, 1e6, 1e6, 1000)
    for worse in (
        base._replace(ctas=100),
        base._replace(program=20_000),
        base._replace(waits=1e4),
        base._replace(sectors=2e8),
    ):
        assert worse.clocks > base.clocks
    assert base._replace(ctas=133).clocks > 1.9 * base._replace(ctas=132).clocks  # one has two


# ---- what the kernel gets ----


def test_division_of_small_numbers():
    for divisor in (1, 2, 3, 5, 7, 9, 75, 88, 255, 256, 1000, 6600, 32767, 32768):
        d, reciprocal = small_divisor(divisor)
        assert (d, reciprocal < 2**32) == (divisor, True)
        for n in {0, 1, divisor - 1, divisor, divisor + 1, *range(0, 2**31 // divisor % 65536, 997), 65535 // divisor}:
            if n * divisor < 2**31:
                assert 2 * n * reciprocal >> 32 == n // divisor, (n, divisor)


@pytest.mark.parametrize("name", PLANS)
def test_parameters(name):
    """PackedParams of kernels/tilewright/packed_copy.cuh, field by field."""
    plan = PLANS[name]
    tile, store = packed_of_plan(plan), plan.store_vector * plan.problem.element_bytes
    raw = plan.params(0x1000, 0x2000, (0x1000, 0x3000))
    assert len(raw) == 592
    assert struct.unpack_from("<4Q", raw) == (0x1000, 0x2000, 0x1000, 0x3000)
    run, runs, *others = plan._grid()
    for i in range(MAX_MODES):
        found = struct.unpack_from("<3q3IiIiiI", raw, 32 + 56 * i)
        if i >= len(plan.tile):
            assert not any(found)
            continue
        tiles = fast_divisor((runs, *others)[i])
        assert found == (
            tile.extents[i], tile.src[i], tile.dst[i], *tiles, *small_divisor(tile.tile[i]), tile.shared[i],
            tile.in_run[i], 0,
        )  # fmt: skip
    rest = struct.unpack_from("<3IiIiI11i8i2i", raw, 32 + 56 * MAX_MODES)
    assert rest[:3] == fast_divisor(run)
    assert rest[3::2][:2] == (tile.src_words, tile.dst_words(store))
    assert rest[7:11] == (run * runs * math.prod(others), plan.tiles_of_cta, len(plan.tile), tile.dst_run_modes)
    assert rest[11:14] == (tile.src_runs, tile.dst_runs, tile.columns)
    assert rest[14:18] == (*tile.tables, tile.image(store)[0])
    assert rest[18 : 18 + len(tile.run_modes)] == tile.run_modes
    assert rest[26:28] == (len(tile.run_modes), tile.put)


def test_sizes_share_a_kernel():
    """All that depends on the tile is passed at the launch."""
    assert len({plan.name for plan in PLANS.values()}) == 8


# ---- what it relies on ----


def plan():
    return reordered(2, (70, 6, 50), (2, 1, 0), packed_copy)


def views(shape=(70, 6, 50), dtype="i2"):
    src = aligned(shape, dtype)
    return src.transpose(2, 1, 0), aligned(shape[::-1], dtype)


def test_a_sound_plan():
    src, dst = views()
    src[...] = np.arange(src.size).reshape(src.shape)
    assert plan().run(src, dst, check=True)
    np.testing.assert_array_equal(dst, src)


CHANGES = [
    (lambda p: p.replace(smem_load=3), r"smem_load is 3, 6 bytes, but a packed copy moves a power of two from 1 to 16"),
    (lambda p: p.replace(store_vector=16), "store_vector is 16, 32 bytes, but"),
    (lambda p: p.replace(smem_load=2), "moves 2 elements along mode 0 as one, but this is Int16"),
    (lambda p: p.replace(is_async=True), "has neither is_async nor dst_shift, and its dst_mode is 0"),
    (lambda p: p.replace(dst_shift=8), "has neither is_async nor dst_shift, and its dst_mode is 0"),
    (lambda p: p.replace(dst_mode=1), "has neither is_async nor dst_shift, and its dst_mode is 0"),
    (
        lambda p: p.replace(tile=(70, 10, 50), smem=L("(70,10,50):(510,50,1)")),
        r"the tile \(70,10,50\) has more than 32768 elements or 8 modes",
    ),
    (lambda p: p.replace(tile=(70, 2, 50)), r"which has not the shape of the tile \(70,2,50\)"),
    (lambda p: p.replace(smem=L("((8,6),2,50):((110,880),50,1)")), "needs one plain mode for each mode of the tile"),
    (lambda p: p.replace(smem=L("(48,2):(110,50)")), "needs one plain mode for each mode of the tile"),
    (
        lambda p: p.replace(tile=(48, 2, 50), smem=L("(48,2,50):(104,50,1)")),
        "begin 208 bytes apart, but each needs 200 and 15 more",
    ),
    (
        lambda p: p.replace(tile=(48, 2, 50), smem=L("(48,2,50):(111,50,1)")),
        "differs from that of src, .* by no multiple of the 4 bytes",
    ),
    (
        lambda p: p.replace(tile=(4, 2, 50), smem=L("(4,2,50):(110,50,1)")),
        r"a word of dst has 8 elements, but the tile \(4,2,50\) has only 4",
    ),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_plans_that_the_kernel_cannot_run(change, message):
    with pytest.raises(ValueError, match=message):
        change(plan()).run(*views())


def test_other_tensors():
    src, dst = views()
    with pytest.raises(ValueError, match="the plan relies on stride 1 of dst along mode 0, but this is Int16"):
        plan().run(src, aligned((50, 6, 140), "i2")[..., ::2])
    wide = plan_of_layouts(1, (8, 9, 56, 16, 6), (48384, 336, 6, 3024, 1), rule=packed_copy)
    assert wide.smem_load == 2
    bytes_of = aligned(8 * 16 * 9 * 56 * 6 + 1, "i1")[1:].reshape(8, 16, 9, 56, 6).transpose(0, 2, 3, 1, 4)
    with pytest.raises(
        ValueError, match=r"src begins at 0x.*, but the plan moves 2 bytes as one, and needs a multiple"
    ):
        wide.run(bytes_of, aligned(bytes_of.shape, "i1"))
    larger = plan()
    src, dst = views((70, 13, 50))
    src[...] = np.arange(src.size).reshape(src.shape)
    assert larger.run(src, dst, check=True)
    np.testing.assert_array_equal(dst, src)


def test_too_many_tiles():
    far = plan_of_layouts(2, (1 << 20, 1 << 20), (1, (1 << 20) + 1), rule=packed_copy)
    far = far.replace(tile=(8, 8), smem=L("(8,8):(17,1)"))
    with pytest.raises(ValueError, match="tiles are more than a grid has"):
        far.require(1 << 60, 1 << 61)


def test_the_report_of_a_plan():
    found = kernels.tiled_copy.plan(*views((75, 96, 88), "i1"))
    assert found.kernel == "packed"
    names = {x.name for x in found.analyze().instructions}
    assert names >= {"load", "put into shared", "take from shared", "store", "store, edges", "look up runs"}
