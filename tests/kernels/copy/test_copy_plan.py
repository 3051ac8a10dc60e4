"""Plans of copies as objects: text, parameters, other sizes."""

from __future__ import annotations

import copy
import math
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copy_plans import aligned, contiguous, instantiations, numbers, plan_of_layouts, row_major, transposing
from tilewright import cute, kernels
from tilewright.analysis.bank_conflicts import coordinate
from tilewright.kernels.common.device_types import device_type
from tilewright.kernels.common.params import fast_divisor
from tilewright.kernels.common.plan_value import kinds_of
from tilewright.kernels.copy.choose import copy_by_rows
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.runtime.discovery import kernels_folder

L = cute.parse
NARROW = {"load_vector": 1, "store_vector": 1}
PLANS = dict(instantiations())


def test_fields_are_documented():
    for name in kinds_of(CopyPlan):
        assert f"`{name}`" in CopyPlan.__doc__, name


# ---- text ----


def test_text():
    assert str(contiguous()) == (
        "direct copy of Float32 (16): src strides (1), dst strides (1)\n"
        "  tile       (16), (1) tiles, 32 threads\n"
        "  load       128 bits along mode 0: ((4),(4)):((4@0),(1@0))\n"
        "  store      128 bits along mode 0: ((4),(4)):((4@0),(1@0))"
    )
    assert str(transposing()) == (
        "staged copy of Int16 (8,12): src strides (12,1), dst strides (1,8)\n"
        "  tile       (8,12), (1,1) tiles, 32 threads\n"
        "  load       64 bits along mode 1: ((3,8),(4)):((4@1,1@0),(1@1))\n"
        "  store      128 bits along mode 0: ((3,2),(8,2)):((2@1,6@1),(1@0,1@1))\n"
        "  shared     192 bytes: (8,12):(12,1)"
    )
    assert repr(transposing()) == str(transposing())


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("every 2. element, 16-bit", ["  load       64 bits along mode 0 with step 2: "]),
        ("broadcast elements, 16-bit", ["  load       16 bits, one element for 8: "]),
        ("transpose between odd rows, 32-bit", ["  realigned  src, dst to 8 elements"]),
        ("contiguous from an odd address, 8-bit", ["  realigned  src"]),
        ("contiguous and ragged, 64-bit", ["  tile       (512), (25) tiles, 128 threads, predicated"]),
        ("contiguous, 128-bit", ["  load       128 bits: "]),
        (
            "packed, 5 modes, 8-bit",
            [
                "packed copy of Int8 (75,88,5,288): src strides (126720,1,25344,88), dst strides (1,75,6600,33000)",
                "  load       128 bits in 75 runs of ",
                "  store      128 bits in ",
                "  shared     ",
            ],
        ),
    ],
)
def test_text_of_other_plans(name, lines):
    text = str(PLANS[name]).splitlines()
    for line in lines:
        assert any(found.startswith(line) for found in text), text


def test_the_tile_depends_on_which_rows_begin_anywhere():
    def tile(pitch, columns, dtype="f4"):
        size = np.dtype(dtype).itemsize
        return plan_of_layouts(size, (1000, columns), (columns, 1), (1, pitch), rule=copy_by_rows).tile

    aligned, src, dst, both = tile(1000, 1004), tile(1000, 1003), tile(1001, 1004), tile(1001, 1003)
    assert math.prod(src) < math.prod(aligned) < math.prod(dst)
    assert dst == both
    assert tile(1000, 1003, "f8") == tile(1001, 1003, "f8")  # not measured


def permuted_plan(size, shape, axes):
    """Of a compact tensor whose modes are put into the order of `axes`."""
    strides = row_major(shape)
    extents, steps = (tuple(x[i] for i in axes) for x in (shape, strides))
    return plan_of_layouts(size, extents, steps, rule=copy_by_rows)


@pytest.mark.parametrize("size", [2, 4])
def test_a_short_row_is_in_one_tile(size):
    """Wherever it begins: each tile more has two ends more."""
    plan = permuted_plan(size, (8, 77, 33, 65, 40), (4, 2, 0, 3, 1))
    assert (plan.kernel, plan.problem.extents[plan.dst_mode], plan.tiles[plan.dst_mode]) == ("staged", 77, 1)
    assert 77 + plan.dst_shift - 1 <= plan.tile[plan.dst_mode] < 77 + 2 * plan.dst_shift
    assert plan.dst_shift * size <= 16
    assert plan.shared_bytes <= 36 * 1024


def test_rows_that_are_too_short_are_not_realigned():
    for size, extent in ((1, 77), (2, 45), (4, 21)):
        assert permuted_plan(size, (8, extent, 33, 65, 40), (4, 2, 0, 3, 1)).dst_shift == 0


@pytest.mark.parametrize(("size", "step", "joins"), [(1, 2, True), (2, 2, True), (1, 4, True), (4, 2, False)])
def test_steps_of_the_source_go_through_shared_memory(size, step, joins):
    """Where they lie along another mode than the destination's: read along it, several elements lie in a sector."""
    plan = plan_of_layouts(size, (500, 700), (step, 500 * step + 1), src_start=1, rule=copy_by_rows)
    assert (plan.kernel, plan.problem.src_strides[plan.src_mode]) == ("staged", step)
    assert plan.src_step == (step if joins else -1)
    assert plan.src_aligned == (not joins)
    along = plan_of_layouts(size, (500, 700), (700 * step + 1, step), src_start=1, rule=copy_by_rows)
    assert (along.kernel, along.src_step, along.load_vector > 1) == ("direct", plan.src_step, joins)


def test_few_tiles_are_cut():
    """Until half of the multiprocessors have one, or a tile is small; nothing is gained in tiny copies."""
    for size in (1, 2, 4):
        plan = plan_of_layouts(size, (512, 512), (1, 512))
        assert 64 <= plan.ctas <= 132
        assert math.prod(plan.tile) * size >= 4096
        assert plan_of_layouts(size, (4096, 4096), (1, 4096)).tile != plan.tile
    assert plan_of_layouts(4, (64, 48), (1, 64)).ctas == 1


# ---- equality, pickling, replacing ----


@pytest.mark.parametrize("name", PLANS)
def test_pickle_and_copy(name):
    plan = PLANS[name]
    for other in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan), plan.replace()):
        assert str(other) == str(plan)
        assert (other.name, other.params(1, 2)) == (plan.name, plan.params(1, 2))
        if plan.tiled_copy is None:
            assert other == plan


def test_equality():
    plan = contiguous()
    assert plan == contiguous()
    assert plan != transposing()
    assert plan != str(plan)
    assert plan != plan.replace(load_vector=2)
    assert plan != kernels.tiled_copy.plan(aligned(32), aligned(32))
    assert hash(plan) == hash(contiguous())
    assert len({plan, contiguous(), transposing()}) == 2


def test_replace():
    plan = transposing()
    padded = plan.replace(smem=L("(8,12):(14,1)"), smem_store=2)
    assert (padded.smem, padded.smem_store, padded.tile) == (L("(8,12):(14,1)"), 2, plan.tile)
    assert plan.smem == L("(8,12):(12,1)")
    src, dst = numbers((8, 12), "i2"), aligned((12, 8), "i2").T
    assert padded.run(src, dst, check=True)
    np.testing.assert_array_equal(dst, src)
    dst[...] = 0
    assert padded.run(src, dst) is dst
    np.testing.assert_array_equal(dst, src)
    assert padded.shared_bytes == (7 * 14 + 12) * 2
    with pytest.raises(TypeError, match=r"CopyPlan: no field named shared, colour; the fields are problem, kernel"):
        plan.replace(shared=3, colour=4)
    with pytest.raises(TypeError, match=r"CopyPlan.* missing 8 required keyword-only arguments: 'problem', 'tile'"):
        CopyPlan(kernel="direct")


# ---- what follows from the fields ----


def test_layouts():
    assert list(contiguous().layouts) == ["src", "dst", "tile", "load_tv", "store_tv"]
    plan = transposing()
    layouts = plan.layouts
    assert list(layouts) == ["src", "dst", "tile", "load_tv", "store_tv", "smem"]
    assert (layouts["src"], layouts["dst"], layouts["tile"]) == (
        L("(8,12):(12,1)"),
        L("(8,12):(1,8)"),
        L("(8,12):(1,8)"),
    )
    assert (layouts["load_tv"], layouts["smem"]) == (plan.load_tv, plan.smem)


@pytest.mark.parametrize("name", PLANS)
def test_thread_value_layouts_cover_the_tile(name):
    """Each coordinate of the tile, and of what lies before it, belongs to one thread's one value; shared memory has a
    place for each of its own."""
    plan = PLANS[name]
    box = list(plan.tile)
    if plan.smem is not None:
        box[plan.dst_mode] += plan.dst_shift
    for tv, extents in ((plan.load_tv, box), (plan.store_tv, plan.tile)):
        index = cute.composition(cute.make_layout(tuple(extents)), tv)
        offsets = np.sort(index.offsets())
        np.testing.assert_array_equal(offsets, np.arange(np.prod(extents)))
    if plan.smem is not None:
        places = plan.smem.offsets()
        assert len(np.unique(places)) == len(places) == np.prod(box)
        assert places.min() == 0
        assert (places.max() + 1) * plan.problem.element_bytes <= plan.shared_bytes


def test_tiles_and_threads():
    """As many tiles as cover the extents; one more where rows begin before them."""
    plan = plan_of_layouts(4, (1000, 1040), (1, 1008))
    packed = PLANS["packed, 5 modes, 8-bit"].replace(tiles_of_cta=7)
    assert packed.ctas == -(-math.prod(packed.tiles) // 7)
    assert plan.tiles == tuple(-(-n // t) for n, t in zip(plan.problem.extents, plan.tile, strict=True))
    assert (plan.threads, plan.ctas) == (cute.size(plan.load_tv, mode=[0]), math.prod(plan.tiles))
    shifted = plan_of_layouts(4, (1024, 1024), (1, 1024), (1025, 1), rule=copy_by_rows)
    assert shifted.tiles[0] == 1024 // shifted.tile[0] + 1
    far = plan_of_layouts(4, (1 << 17, 1 << 17), (1, 1 << 17))
    assert far.tiles == tuple((1 << 17) // t for t in far.tile)
    assert far.tiles_in_run > 1
    assert far.ctas == math.prod(far.tiles)


@pytest.mark.parametrize("name", PLANS)
def test_parameters(name):
    """Addresses, extents, the strides of both sides, and a divisor for the run and for each mode of the grid."""
    plan = PLANS[name]
    if plan.kernel == "packed":
        return
    p = plan.problem
    raw = plan.params(0x1000, 0x2000, (0x1000, 0x3000))
    assert struct.unpack_from("<4Q", raw) == (0x1000, 0x2000, 0x1000, 0x3000)
    rank = len(p.extents)
    assert struct.unpack_from(f"<{3 * rank}q", raw, 32) == (*p.extents, *p.src_strides, *p.dst_strides)
    begin = 32 + 24 * rank
    grid = struct.unpack_from(f"<{3 * (rank + 1)}I", raw, begin)
    divisors = grid[::3]
    assert math.prod(divisors) == plan.ctas
    assert divisors[0] * divisors[1] >= plan.tiles[0]
    assert divisors[2:] == plan.tiles[1:]
    assert [grid[3 * i : 3 * i + 3] for i in range(rank + 1)] == [fast_divisor(n) for n in divisors]
    end = begin + 4 * len(grid)
    assert raw[end:] == bytes(-end % 8)


def test_the_name_has_all_that_is_static():
    plan = PLANS["transpose, 32-bit"]
    assert plan.name.startswith("copy_staged<StagedCopy<4, Tile<64, 64>, ")
    assert plan.name.isascii()
    for layout in (plan.load_tv, plan.store_tv, plan.smem):
        assert device_type(layout) in plan.name
    for change in (
        {"load_vector": 2}, {"smem_store": 2}, {"predicated": True}, {"src_aligned": False}, {"is_async": True},
        {"dst_shift": 8}, {"smem": L("(64,64):(65,1)")}, {"store_vector": 2}, {"tile": (64, 32)}, {"smem_load": 2},
    ):  # fmt: skip
        assert plan.replace(**change).name != plan.name, change
    changed = plan.problem._replace(extents=(77, 99), src_strides=(12345, 1), src_offset=3)
    assert plan.replace(problem=changed, tiles_in_run=3).name == plan.name
    assert plan.replace(problem=changed).params() != plan.params()


def test_the_name_of_any_shared_memory():
    for smem in ("((2,4),12):((12,24),1)", "(8,(3,4)):(12,(4,1))", "(8,12):(1,8)"):
        assert device_type(L(smem)) in transposing().replace(smem=L(smem)).name
    tv, line = L("(4,4):(4@0,1@0)"), cute.make_composed_layout(cute.make_swizzle(1, 0, 2), 0, L("16:1"))
    for smem in (L("16:1"), line):
        plan = contiguous().replace(kernel="staged", load_tv=tv, store_tv=tv, smem=smem)
        assert device_type(smem) in plan.name
        assert plan.run(numbers(16), aligned(16), check=True)


STAGED = {name: plan for name, plan in PLANS.items() if plan.kernel == "staged"}
SWIZZLES = {
    f"S<{bits},{base},{shift}> o 0 o {smem}": PLANS["transpose, 32-bit"].replace(
        smem=cute.make_composed_layout(cute.make_swizzle(bits, base, shift), 0, L(smem))
    )
    for bits, base, shift in ((3, 2, 6), (3, 2, 4), (2, 5, 3), (3, 4, 3), (3, 2, -6), (4, 6, 4), (0, 3, 3))
    for smem in ("(64,64):(64,1)", "(64,64):(1,64)", "(64,64):(4,256)")
}


@pytest.mark.parametrize("name", [*STAGED, *SWIZZLES])
def test_steps_in_shared_memory(name):
    """Where the kernel is told that the elements of a store lie at equal distances, they do."""
    plan = {**STAGED, **SWIZZLES}[name]
    step = plan._smem_step()
    if step == 0:
        return
    threads, values = (cute.size(plan.store_tv, mode=[i]) for i in (0, 1))
    for thread in range(threads):
        for value in range(0, values, plan.store_vector):
            first = coordinate(plan.store_tv, thread, value, plan.smem)
            for j in range(plan.store_vector):
                c = tuple(x + j * (i == plan.dst_mode) for i, x in enumerate(first))
                assert plan.smem(c) == plan.smem(first) + j * step


def test_source():
    plan = transposing()
    first, _, rest = plan.source.partition("\n")
    assert first == f"// {plan.name}"
    assert rest == (kernels_folder() / "tiled_copy.cuh").read_text(encoding="utf-8")


# ---- division ----


@given(st.integers(1, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_division(divisor, n):
    d, multiplier, shift = fast_divisor(divisor)
    assert d == divisor
    assert 0 <= multiplier < 2**32
    assert 0 <= shift < 32
    for m in {n, n // divisor * divisor, max(n // divisor * divisor - 1, 0), 2**31 - 1, divisor - 1, divisor}:
        quotient = m if multiplier == 0 else (m * multiplier >> 32) >> shift  # as kernels/tilewright/grid.cuh does
        assert quotient == m // divisor, (m, divisor)


# ---- other sizes ----


def test_a_plan_for_other_sizes():
    src, dst = aligned((64, 48)), aligned((48, 64)).T
    plan = kernels.tiled_copy.plan(src, dst).replace(predicated=True)
    for shape in ((64, 48), (128, 96), (4, 8), (100, 52), (64, 1000)):
        src = numbers(shape)
        dst = aligned(shape[::-1]).T
        fitted, a, b = plan.fit(src, dst)
        assert (a.address, b.address) == (src.ctypes.data, dst.ctypes.data)
        assert fitted.name == plan.name
        assert sorted(fitted.problem.extents) == sorted(shape)
        assert plan.run(src, dst, check=True), shape
        np.testing.assert_array_equal(dst, src)
        dst[...] = 0
        assert plan.run(src, dst) is dst
        np.testing.assert_array_equal(dst, src)
        dst[...] = 0
        assert kernels.tiled_copy(src, dst, plan=plan) is dst
        np.testing.assert_array_equal(dst, src)
    assert sorted(plan.problem.extents) == [48, 64]


def test_a_plan_for_its_own_sizes_is_the_plan_itself():
    """So that a call by it does not make the kernel's name once more."""
    plan = kernels.tiled_copy.plan(aligned((64, 48)), aligned((48, 64)).T)
    assert plan.fit(aligned((64, 48)), aligned((48, 64)).T)[0] is plan


def matrix():
    return aligned((64, 48))


def target():
    return aligned((48, 64)).T


REFUSED = [
    # rank, after merging what is one mode on both sides
    (lambda: (aligned(48), aligned(48)), r"is for tensors of 2 modes \(tile \(64,48\)\), but these have 1: Float32 "),
    # the strides of accesses
    (
        lambda: (aligned((64, 96))[:, ::2], target()),
        "relies on stride 1 of src along mode 1, but this is Float32 ",
    ),
    (lambda: (matrix()[:, ::-1], target()), "relies on stride 1 of src along mode 1, but this is Float32 "),
    # their alignment
    (lambda: (aligned(3073)[1:].reshape(64, 48), target()), "src begins at 0x.* need a multiple of 16"),
    (lambda: (matrix(), aligned(3074)[2:].reshape(48, 64).T), "dst begins at 0x.* need a multiple of 16"),
    (lambda: (aligned((64, 50))[:, :48], target()), "stride 50 of mode 0 of src is 200 bytes, no multiple of"),
    (lambda: (matrix(), aligned((48, 66))[:, :64].T), "stride 66 of mode 1 of dst is 264 bytes, no multiple of"),
    # tiles
    (lambda: (aligned((60, 48)), aligned((48, 60)).T), r"no predicates, so its tile \(.*\) must divide the extents"),
]


@pytest.mark.parametrize(("tensors", "message"), REFUSED)
def test_what_a_plan_does_not_fit(tensors, message):
    plan = kernels.tiled_copy.plan(matrix(), target())
    assert (plan.load_vector, plan.store_vector, plan.predicated) == (4, 4, False)
    src, dst = tensors()
    for call in (lambda: plan.run(src, dst), lambda: plan.fit(src, dst), lambda: plan.run(src, dst, check=True)):
        with pytest.raises(ValueError, match=rf"^plan\.run: .*{message}"):
            call()


def test_strides_that_are_built_in_without_vectors():
    """Of elements of 16 bytes each is an access, and the kernel knows the source's stride all the same."""
    plan = kernels.tiled_copy.plan(numbers(64, "c16"), aligned(64, "c16"))
    assert (plan.load_vector, plan.src_step) == (1, 1)
    with pytest.raises(ValueError, match=r"relies on stride 1 of src along mode 0, but this is .*src strides \(2\)"):
        plan.run(numbers(128, "c16")[::2], aligned(64, "c16"))


def test_runs_of_tiles_in_other_sizes():
    """Runs that do not divide the tiles have CTAs with no tile, which must know that they have none."""
    plan = plan_of_layouts(4, (1 << 17, 1 << 17), (1, 1 << 17))
    tile, run = plan.tile[0], plan.tiles_in_run
    assert (plan.tile[1], plan.predicated) == (tile, False)
    assert run > 1
    for tiles, fits in ((run, True), (2 * run, True), (run + 1, False)):
        other = plan.replace(problem=plan_of_layouts(4, (tile, tile * tiles), (1, tile)).problem)
        assert (other.ctas == tiles) == fits
        if fits:
            other.require(0, 0)
            continue
        with pytest.raises(
            ValueError, match=f"runs of {run} tiles must divide the {run + 1} tiles along mode 0 evenly"
        ):
            other.require(0, 0)
        other.replace(predicated=True).require(0, 0)


def test_too_many_tiles():
    plan = plan_of_layouts(1, (1 << 40,), (1,))
    assert plan.ctas == 1 << 28
    small = plan.replace(tile=(1,), load_tv=L("(1,1):(0,0)"), store_tv=L("(1,1):(0,0)"), **NARROW, predicated=True)
    with pytest.raises(ValueError, match="1099511628273 tiles are more than a grid has"):
        small.require(0, 0)


def test_nothing_to_copy():
    plan = transposing()
    for shape in ((0, 12), (8, 0), (0,)):
        report = plan.run(aligned(shape, "i2"), aligned(shape, "i2"), check=True)
        assert report
        assert str(report) == "there are no elements"
