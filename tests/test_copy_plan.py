"""Plans of copies as objects: text, parameters, other sizes, pictures, and what is found in plans that are wrong."""

from __future__ import annotations

import copy
import math
import pickle
import struct
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright import Float32, cute, kernels
from tilewright._runtime.discovery import kernels_folder
from tilewright.cute.nvgpu import CopyUniversalOp
from tilewright.kernels.bank_conflicts import coordinate
from tilewright.kernels.copy_plan import FIELDS, CopyPlan, fast_divisor
from tilewright.kernels.registry import instantiations, plan_of_layouts
from tilewright.kernels.render import device_type
from tilewright.kernels.report import CopyReport

L = cute.parse
NARROW = {"load_vector": 1, "store_vector": 1}
PLANS = dict(instantiations())
PICTURE = Path(__file__).parents[1] / "docs" / "img" / "copy.svg"


def aligned(shape, dtype="f4"):
    """Zeros that begin at a multiple of 64 bytes."""
    count = int(np.prod(shape))
    memory = np.zeros(count + 64, dtype)
    start = -memory.ctypes.data % 64 // memory.itemsize
    return memory[start : start + count].reshape(shape)


def numbers(shape, dtype="f4"):
    array = aligned(shape, dtype)
    array[...] = np.arange(1, array.size + 1).reshape(shape)
    return array


def contiguous():
    """A plan for rows of 16, by 4 threads."""
    return kernels.tiled_copy.plan(aligned(16), aligned(16))


def transposing():
    """A staged plan for 8 x 12 elements."""
    return kernels.tiled_copy.plan(aligned((8, 12), "i2"), aligned((12, 8), "i2").T)


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
        ("contiguous and ragged, 64-bit", ["  tile       (256), (49) tiles, 128 threads, predicated"]),
        ("contiguous, 128-bit", ["  load       128 bits: "]),
    ],
)
def test_text_of_other_plans(name, lines):
    text = str(PLANS[name]).splitlines()
    for line in lines:
        assert any(found.startswith(line) for found in text), text


def test_the_tile_depends_on_which_rows_begin_anywhere():
    def tile(pitch, columns, dtype="f4"):
        src, dst = np.zeros((1000, columns), dtype), np.zeros((columns, pitch), dtype)[:, :1000].T
        return kernels.tiled_copy.plan(src, dst).tile

    assert (tile(1000, 1004), tile(1000, 1003), tile(1001, 1004), tile(1001, 1003)) == (
        (64, 64), (32, 64), (64, 128), (64, 128)
    )  # fmt: skip
    assert tile(1000, 1003, "f8") == tile(1001, 1003, "f8")  # not measured


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
    with pytest.raises(TypeError, match=r"CopyPlan: no value for problem, tile, load_tv"):
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
    plan = plan_of_layouts(4, (1000, 1040), (1, 1008))
    assert (plan.tiles, plan.threads, plan.ctas) == ((17, 16), 256, 17 * 16)
    shifted = plan_of_layouts(4, (1024, 1024), (1, 1024), (1025, 1))
    assert (shifted.tile[0], shifted.tiles[0]) == (64, 17)
    far = plan_of_layouts(4, (1 << 17, 1 << 17), (1, 1 << 17))
    assert far.tiles == (2048, 2048)
    assert far.tiles_in_run == 32
    assert far.ctas == 2048 * 2048


@pytest.mark.parametrize("name", PLANS)
def test_parameters(name):
    """Addresses, extents, the strides of both sides, and a divisor for the run and for each mode of the grid."""
    plan = PLANS[name]
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


STAGED = {name: plan for name, plan in PLANS.items() if plan.smem is not None}
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
    assert (plan.tile, plan.tiles_in_run, plan.predicated) == ((64, 64), 32, False)
    for rows, fits in ((64 * 32, True), (64 * 64, True), (64 * 33, False)):
        other = plan.replace(problem=plan_of_layouts(4, (64, rows), (1, 64)).problem)
        assert (other.ctas == rows // 64) == fits
        if fits:
            other.require(0, 0)
            continue
        with pytest.raises(ValueError, match="runs of 32 tiles must divide the 33 tiles along mode 0 evenly"):
            other.require(0, 0)
        other.replace(predicated=True).require(0, 0)


def test_too_many_tiles():
    plan = plan_of_layouts(1, (1 << 40,), (1,))
    assert plan.ctas == 1 << 29
    small = plan.replace(tile=(1,), load_tv=L("(1,1):(0,0)"), store_tv=L("(1,1):(0,0)"), **NARROW, predicated=True)
    with pytest.raises(ValueError, match="1099511628273 tiles are more than a grid has"):
        small.require(0, 0)


def test_nothing_to_copy():
    plan = transposing()
    for shape in ((0, 12), (8, 0), (0,)):
        report = plan.run(aligned(shape, "i2"), aligned(shape, "i2"), check=True)
        assert report
        assert str(report) == "there are no elements"


# ---- reports ----


def test_a_sound_plan():
    report = transposing().run(numbers((8, 12), "i2"), aligned((12, 8), "i2").T, check=True)
    assert report
    assert (report.size, report.findings, report.never_written.count) == (96, {}, 0)
    assert str(report) == repr(report) == "each of 96 elements is written exactly once"


def checked(plan, **changes):
    src = numbers((8, 12), "i2") if len(plan.tile) == 2 else numbers(16)
    dst = aligned((12, 8), "i2").T if len(plan.tile) == 2 else aligned(16)
    report = plan.replace(**changes).run(src, dst, check=True)
    assert not report
    assert set(report.findings) == {name for name in report.__slots__ if name != "size" and getattr(report, name).count}
    return report


BROKEN = [
    (
        contiguous,
        {"load_tv": L("(3,4):(4@0,1@0)"), "store_tv": L("(3,4):(4@0,1@0)")},
        "of 16 elements: 4 elements are never written: (12), (13), (14), (15)",
    ),
    (
        contiguous,
        {"load_tv": L("(5,3):(3@0,1@0)"), "store_tv": L("(5,3):(3@0,1@0)"), **NARROW},
        "of 16 elements: 1 element is never written: (15)",
    ),
    (
        contiguous,
        {"load_tv": L("((4,2),4):((4@0,0),1@0)"), "store_tv": L("((4,2),4):((4@0,0),1@0)")},
        "of 16 elements: 16 elements are written more than once: (0), (1), (2), (3), (4), (5), (6), (7), ...",
    ),
    (
        contiguous,
        {"load_tv": L("(5,4):(4@0,1@0)"), "store_tv": L("(5,4):(4@0,1@0)"), "predicated": True},
        "of 16 elements: 4 values of threads lie outside of the tile: (16), (17), (18), (19)",
    ),
    (
        contiguous,
        {"load_tv": L("(4,4):(1@0,4@0)"), "store_tv": L("(4,4):(1@0,4@0)")},
        "of 16 elements: 8 accesses have values that do not lie next to each other: "
        "(0), (1), (2), (3), (0), (1), (2), (3)",
    ),
    (
        transposing,
        {"load_tv": L("((3,7),4):((4@1,1@0),1@1)")},
        "of 96 elements: 12 elements are read from shared memory before they are written there: "
        "(7,0), (7,1), (7,2), (7,3), (7,4), (7,5), (7,6), (7,7), ...",
    ),
    (
        transposing,
        {"store_tv": L("(5,(8,2)):(2@1,(1@0,1@1))")},
        "of 96 elements: 16 elements are never written: "
        "(0,10), (1,10), (2,10), (3,10), (4,10), (5,10), (6,10), (7,10), ...",
    ),
    (
        transposing,
        {"smem": L("(7,12):(12,1)")},
        "of 96 elements: 24 accesses lie outside of shared memory: "
        "(7,0), (7,1), (7,2), (7,3), (7,4), (7,5), (7,6), (7,7), ...",
    ),
    (
        transposing,
        {"smem": L("(8,12):(12,0)")},
        "of 96 elements: \n"
        "  88 writes bring the element of another coordinate: "
        "(0,0), (1,0), (2,0), (3,0), (4,0), (5,0), (6,0), (7,0), ...\n"
        "  88 writes to shared memory overwrite another one: "
        "(0,1), (0,2), (0,3), (0,4), (0,5), (0,6), (0,7), (0,8), ...",
    ),
]


@pytest.mark.parametrize(("plan", "changes", "text"), BROKEN)
def test_broken_plans(plan, changes, text):
    assert str(checked(plan(), **changes)) == text


def test_findings():
    report = checked(contiguous(), load_tv=L("(3,4):(4@0,1@0)"), store_tv=L("(3,4):(4@0,1@0)"))
    assert list(report.findings) == ["never_written"]
    assert (report.never_written.count, report.never_written.first) == (4, ((12,), (13,), (14,), (15,)))
    assert report.written_twice.count == 0


def test_one_and_several():
    one, two = ({"count": n, "first": [(i,) for i in range(n)]} for n in (1, 2))
    assert str(CopyReport(9, {"never_written": one})) == "of 9 elements: 1 element is never written: (0)"
    assert str(CopyReport(9, {"misaligned_store": two})) == "of 9 elements: 2 stores are misaligned: (0), (1)"


def test_misaligned_accesses():
    plan, memory = contiguous(), aligned(32)
    assert plan.replace(src_aligned=False).run(memory[1:17], aligned(16), check=True)
    report = run_checked(plan, memory[1:17], aligned(16))
    assert str(report) == "of 16 elements: 4 loads are misaligned: (0), (4), (8), (12)"
    report = run_checked(plan, aligned(16), memory[2:18])
    assert str(report) == "of 16 elements: 4 stores are misaligned: (0), (4), (8), (12)"
    assert run_checked(plan.replace(dst_shift=4), aligned(16), memory[4:20])


def run_checked(plan, src, dst):
    """Past `fit`, which refuses what is misaligned."""
    from tilewright.kernels.host import run_on_host

    return run_on_host(plan, src.ctypes.data, dst.ctypes.data, check=True)


# ---- pictures ----

SVG = {"svg": "http://www.w3.org/2000/svg"}


def test_picture_in_the_documentation():
    assert transposing().svg() == PICTURE.read_text()


def test_pictures_are_small_and_always_the_same():
    for name in ("transpose, 32-bit", "transpose between odd rows, 64-bit", "8 modes, 32-bit", "contiguous, 8-bit"):
        svg = PLANS[name].svg()
        assert len(svg.encode()) < 200_000
        assert svg == PLANS[name].replace()._repr_svg_()
        ET.fromstring(svg)


def pictured(plan):
    """The tables of a picture: names of columns, rows of labels, the cells of each colour; and all other text."""
    root = ET.fromstring(plan.svg())
    groups = root.findall("svg:g", SVG)
    tables = []
    for cells, lines in zip(groups[::2], groups[1::2], strict=True):
        rows = [text.text.split() for text in lines.findall("svg:text", SVG)]
        tables.append((rows[0], rows[2::2], {path.find("svg:title", SVG).text: path.get("d") for path in cells}))
    return tables, [text.text for text in root.findall("svg:text", SVG)]


def test_cells_of_a_picture():
    (loaded, stored, shared), text = pictured(transposing())
    assert loaded[0] == stored[0] == shared[0] == [str(n) for n in range(12)]
    assert loaded[1][1] == [
        "T3V0",
        "T3V1",
        "T3V2",
        "T3V3",
        "T4V0",
        "T4V1",
        "T4V2",
        "T4V3",
        "T5V0",
        "T5V1",
        "T5V2",
        "T5V3",
    ]
    assert stored[1][7][:4] == ["T0V7", "T0V15", "T1V7", "T1V15"]
    assert shared[1] == [[str(12 * row + column) for column in range(12)] for row in range(8)]
    assert loaded[2]["thread 4"] == "M4 1h4"
    assert stored[2]["thread 1"] == "M2 0v8M3 0v8"
    assert shared[2]["bank 6"] == "M0 1h2M4 6h2"  # elements 12 and 13 of 2 bytes, and 76 and 77
    assert text[:2] == [
        "as loaded: ((3,8),(4)):((4@1,1@0),(1@1))",
        "thread and value, 64 bits at once; mode 0 down and mode 1 across",
    ]


def test_every_cell_is_coloured_once():
    for name in (
        "transpose, 64-bit",
        "transpose to odd rows, 32-bit",
        "BSHD to BHSD, 16-bit",
        "NHWC to NCHW, 3 channels, 32-bit",
    ):
        for _, rows, colours in pictured(PLANS[name])[0]:
            counts = np.zeros((len(rows), len(rows[0])), int)
            for path in colours.values():
                for run in path.split("M")[1:]:
                    column, rest = run.split()
                    row, length = rest.split("h") if "h" in rest else rest.split("v")
                    down, across = (1, int(length)) if "h" in rest else (int(length), 1)
                    counts[int(row) : int(row) + down, int(column) : int(column) + across] += 1
            assert (counts == 1).all(), name


def test_what_a_picture_leaves_out():
    texts = {name: pictured(PLANS[name])[1] for name in PLANS if "-bit" in name}
    assert any("; 64 x 64 of 128 x 128 shown" in line for line in texts["transpose, 16-bit"])
    assert any(line.endswith("mode 0, line by line") for line in texts["contiguous, 8-bit"])
    assert any("modes 2, 4, 6 at 0" in line for line in texts["8 modes, 32-bit"])
    plan = PLANS["transpose to odd rows, 64-bit"]
    names = [text.text for text in ET.fromstring(plan.svg()).findall(".//svg:text[@class='g']", SVG)]
    assert [names.count(str(n)) for n in (-4, -1, 0, 31)] == [2, 2, 3, 3]  # rows of what is loaded, stored and shared
    (_, _, shared), _ = pictured(plan)
    assert shared[1][0][:2] == ["0", "1"]
    assert set(shared[2]) == {f"banks {2 * i} to {2 * i + 1}" for i in range(16)}


def test_picture_of_a_broken_plan():
    tv = L("((4,2),3):((4@0,0),1@0)")
    (loaded, _), _ = pictured(contiguous().replace(load_tv=tv, store_tv=tv))
    assert loaded[1] == [["T0V0+1", "T0V1+1", "T0V2+1", "-", "T1V0+1", "T1V1+1", "T1V2+1", "-", *loaded[1][0][8:]]]
    assert loaded[1][0][15] == "-"


def test_picture_of_a_given_tiled_copy():
    atom = cute.make_copy_atom(CopyUniversalOp(), Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, L("(2,2):(2,1)"), L("(1,1):(1,1)"))
    plan = kernels.tiled_copy.plan(aligned((8, 8)), aligned((8, 8)), tiled)
    (loaded, _), _ = pictured(plan)
    assert loaded[1] == [["T0V0", "T1V0"], ["T2V0", "T3V0"]]


def test_fields_are_documented():
    for name in FIELDS:
        assert f"`{name}`" in CopyPlan.__doc__, name


# What shared memory has to be like for the kernel's accesses


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"smem": L("(8,12):(1,8)")},
            r"move 4 elements along mode 1 at once, but in smem \(8,12\):\(1,8\) they do not",
        ),
        ({"smem": L("(8,12):(13,1)")}, r"do not lie together at a multiple of 4; use plan\.replace\(smem_store=1"),
        ({"smem": L("((2,4),12):((12,24),1)")}, r"needs one plain mode for each mode of the tile \(8,12\)"),
        ({"smem": L("(4,12):(12,1)")}, r"it must hold the tile \(8,12\) from offset 0 on"),
        (
            {"smem": cute.make_composed_layout(cute.make_swizzle(1, 0, 3), 0, L("(8,12):(12,1)"))},
            r"do not lie together at a multiple of 4",
        ),
    ],
)
def test_shared_memory_that_the_kernel_cannot_use(changes, message):
    src, dst = aligned((8, 12), "i2"), aligned((12, 8), "i2").T
    with pytest.raises(ValueError, match=message):
        transposing().replace(**changes).run(src, dst)


@pytest.mark.parametrize(
    ("smem", "store_vector", "step"),
    [
        ("(64,64):(64,1)", 4, 64),
        ("S<3,2,6> o 0 o (64,64):(64,1)", 4, 64),
        ("S<3,2,5> o 0 o (64,64):(64,1)", 4, 0),  # the step changes bits that are read
        ("S<3,2,7> o 0 o (64,96):(96,1)", 4, 0),  # so does a carry
        ("S<3,2,6> o 4096 o (64,64):(64,1)", 4, 0),
        ("S<3,2,6> o 0 o (64,64):(64,2)", 4, 0),  # the other mode reaches beyond the step
    ],
)
def test_a_step_is_constant_only_where_no_swizzle_comes_between(smem, store_vector, step):
    """Checked by evaluation: from every multiple of store_vector on, in every row."""
    layout = cute.parse(smem)
    plan = transposing().replace(smem=layout, store_vector=store_vector, src_mode=1, dst_mode=0)
    assert plan._smem_step() == step
    constant = all(
        layout((d + j, a)) == layout((d, a)) + j * 64
        for d in range(0, 64, store_vector)
        for a in range(64)
        for j in range(store_vector)
    )
    assert constant or step == 0


def test_shared_bytes_reach_beyond_the_offset():
    smem = cute.make_composed_layout(cute.make_swizzle(3, 2, 4), 4096, L("(8,12):(12,1)"))
    plan = transposing().replace(smem=smem)
    assert plan.shared_bytes >= 2 * max(smem(i) + 1 for i in range(96))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dst_shift": 3}, r"dst_shift is 3, but it must be a power of two"),
        ({"load_vector": 8}, r"accesses of src have 32 bytes, but 16 are the most"),
    ],
)
def test_plans_that_no_kernel_carries_out(changes, message):
    with pytest.raises(ValueError, match=message):
        contiguous().replace(**changes).run(aligned(64), aligned(64))


def test_a_plan_for_elements_of_another_size():
    with pytest.raises(ValueError, match=r"moves elements of 4 bytes, but src has elements of 8 \(Float64\)"):
        contiguous().run(np.zeros(64), np.zeros(64))


def test_steps_need_predicates():
    src, dst = aligned(2048), aligned(1024)
    plan = kernels.tiled_copy.plan(src[::2], dst)
    assert plan.src_step == 2
    with pytest.raises(ValueError, match=r"with step 2 the last access would read behind the source"):
        plan.replace(predicated=False).run(src[::2], dst)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "bogus"}, r'kernel is \'bogus\', but it must be "staged" where there is smem, else "direct"'),
        ({"smem": L("64:1")}, r"kernel is 'direct', but"),
        ({"tile": (0,)}, r"tile is \(0,\), but it must be a tuple of extents"),
        ({"tile": ()}, r"tile is \(\), but"),
        ({"load_vector": 0}, r"load_vector is 0, but it must be from 1 to"),
        ({"src_mode": 1}, r"src_mode is 1, but it must be from 0 to 0"),
        ({"dst_shift": None}, r"dst_shift is None, but it must be an integer"),
        ({"predicated": 1}, r"predicated is 1, but it must be True or False"),
        ({"load_tv": L("8:1")}, r"load_tv is 8:1, but it must be a static Layout of two modes"),
        ({"store_tv": L("(1048576,1048576):(1,1)")}, r"store_tv is .*, but it must be of at most 4194304"),
    ],
)
def test_fields_that_are_no_values_of_their_kind(changes, message):
    with pytest.raises((TypeError, ValueError), match=message):
        contiguous().replace(**changes)


def test_a_plan_does_not_change():
    plan = contiguous()
    with pytest.raises(AttributeError, match=r"plan\.replace\(tile=\.\.\.\) gives another one"):
        plan.tile = (1,)
    with pytest.raises(AttributeError, match="tile stays"):
        del plan.tile
