"""Copy plans on the CPU; NumPy says what a copy gives."""

from __future__ import annotations

import doctest
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from host_plans import SIZES, L, assert_copies, at, counts, numbers, plan_of, sound_copies
from tilewright import Int32, LayoutError, cute
from tilewright._core import host

# ---- direct and staged, by hand ----

TV = L("((16,4),(4,4)):((4@0,1@1),(1@0,4@1))")  # a tile of 64 x 16, rows of 16 threads with 4 values each
LOAD = L("((4,16),(4,4)):((4@1,1@0),(1@1,16@0))")  # the same tile, 4 threads along mode 1


@pytest.mark.parametrize("dtype", SIZES.values())
@pytest.mark.parametrize("shape", [(16, 64), (32, 128), (1, 1), (17, 65), (5, 200), (0, 7)])
def test_direct(shape, dtype):
    src = numbers(shape, dtype)
    dst = np.zeros_like(src)
    assert_copies(src, dst, tile=(64, 16), load_tv=TV)


def test_composition_of_the_identity():
    """The thread-value layouts as make_tiled_copy_tv makes them."""
    tile = (8, 6)
    tv = cute.composition(cute.make_identity_layout(tile), cute.make_layout((12, (2, 2)), stride=(2, (1, 24))))
    src = numbers((20, 30))
    assert_copies(src, np.empty_like(src), tile=tile, load_tv=tv, load_vector=2, store_vector=2)


def test_plain_strides_are_of_mode_0():
    src = numbers((100,))
    assert_copies(src, np.empty_like(src), tile=(32,), load_tv=L("(8,4):(4,1)"), load_vector=4, store_vector=4)


SMEM = {
    "padded": L("(64,16):(17,1)"),
    "compact": L("(64,16):(1,64)"),
    "swizzled": cute.make_composed_layout(cute.make_swizzle(2, 2, 4), 0, L("(64,16):(16,1)")),
    "nested": L("((8,8),(4,4)):((1,32),(8,256))"),
    "gaps": L("(64,16):(100,3)"),
    "backwards": cute.make_composed_layout(cute.make_swizzle(0, 0, 0), 1023, L("(64,16):(-16,-1)")),
}


@pytest.mark.parametrize("name", SMEM)
@pytest.mark.parametrize("dtype", SIZES.values())
def test_staged_transpose(name, dtype):
    src = numbers((77, 90), dtype).T
    dst = np.empty(src.shape, dtype)
    fields = {"tile": (64, 16), "load_tv": LOAD, "store_tv": TV, "smem": SMEM[name], "src_mode": 1}
    assert_copies(src, dst, **fields)


def test_vectors_of_a_staged_transpose():
    src = numbers((64, 128)).T
    fields = {"load_tv": LOAD, "store_tv": TV, "load_vector": 4, "store_vector": 4, "src_mode": 1}
    assert_copies(src, np.empty(src.shape, "i4"), tile=(64, 16), smem=SMEM["swizzled"], **fields)


def test_a_stride_of_0_and_negative_strides():
    row = numbers((300,))
    assert_copies(np.broadcast_to(row, (20, 300)), np.empty((20, 300), "i4"), tile=(64, 16), load_tv=TV)
    assert_copies(np.broadcast_to(row[:20, None], (20, 300)), np.empty((20, 300), "i4"), tile=(64, 16), load_tv=TV)
    src = numbers((40, 300))
    assert_copies(src[::-1, ::-2], np.zeros((40, 300), "i4")[::-1, ::2], tile=(64, 16), load_tv=TV)
    fields = {"load_tv": LOAD, "store_tv": TV, "smem": SMEM["padded"], "src_mode": 1}
    assert_copies(src.T[::-1, ::-1], np.empty((300, 40), "i4"), tile=(64, 16), **fields)


def test_a_mode_of_extent_1_may_have_any_stride():
    src, dst = numbers((100,)), np.zeros(100, "i4")
    tile = {"tile": (32, 1), "load_tv": L("(8,4):(4@0,1@0)")}
    plan = plan_of(src, dst, **tile) | {"extents": (100, 1), "src_strides": (1, 2**62), "dst_strides": (1, -(2**62))}
    host.run_copy(**plan)
    np.testing.assert_array_equal(dst, src)


def test_rank_8():
    src = np.arange(2 * 3 * 1 * 2 * 3 * 2 * 1 * 5, dtype="i2").reshape(2, 3, 1, 2, 3, 2, 1, 5)
    src = src.transpose(3, 0, 7, 4, 2, 6, 1, 5)
    tv = L("((2,2),(2,2)):((1@0,1@1),(1@4,1@7))")
    smem = L("(2,2,1,1,2,1,1,2):(1,2,0,0,4,0,0,8)")
    assert_copies(src, np.empty(src.shape, "i2"), tile=(2, 2, 1, 1, 2, 1, 1, 2), load_tv=tv)
    assert_copies(src, np.empty(src.shape, "i2"), tile=(2, 2, 1, 1, 2, 1, 1, 2), load_tv=tv, smem=smem)


# ---- shifts ----


@pytest.mark.parametrize("shift", [2, 3, 4, 8])
@pytest.mark.parametrize(("rows", "columns"), [(33, 41), (16, 42), (64, 64), (3, 100), (100, 1), (1, 3)])
@pytest.mark.parametrize("misalignment", [0, 1, 3])
def test_shifted_transpose(shift, rows, columns, misalignment):
    """Odd pitches and bases: every store is aligned all the same."""
    src = at((rows, columns), "i4", misalignment, columns + 1)
    src[...] = numbers((rows, columns))
    dst = at((columns, rows), "i4", 3 - misalignment, rows if rows == 16 else rows + 2)  # packed, with gaps
    wide = 16 + shift
    fields = {
        "tile": (16, 16),
        "load_tv": L(f"(({wide},4),4):((1@0,4@1),1@1)"),
        "store_tv": L("((4,16),4):((4@0,1@1),1@0)"),
        "store_vector": 4 if shift % 4 == 0 else 1,
        "smem": L(f"({wide},16):(17,1)"),
        "src_mode": 1,
        "dst_shift": shift,
    }
    assert_copies(src.T, dst, **fields)


@pytest.mark.parametrize("size", ["i1", "i2", "i4"])
@pytest.mark.parametrize("columns", [1, 5, 32, 63, 64, 200])
def test_shifted_rows_of_a_direct_copy(columns, size):
    gap = 0 if columns == 32 else 2
    src, dst = at((9, columns), size, 3, columns + gap), at((9, columns), size, 5, columns + gap + gap // 2)
    src[...] = numbers((9, columns), size)
    fields = {"load_tv": L("((8,2),(4,4)):((4@0,1@1),(1@0,2@1))"), "store_vector": 4, "dst_shift": 8}
    assert_copies(src, dst, tile=(32, 8), **fields)
    every_other = at((9, 2 * columns), size, 1)[:, ::2]
    every_other[...] = src
    assert_copies(every_other, dst, tile=(32, 8), load_vector=4, **fields)


@pytest.mark.parametrize("shift", [3, 4, 8])
def test_shifted_rows_along_the_mode_of_the_loads(shift):
    src, dst = at((9, 100), "i2", 3, 101), at((9, 100), "i2", 6, 103)
    src[...] = numbers((9, 100))
    wide = 16 + shift
    tvs = {"load_tv": L(f"({wide},4):(1@0,1@1)"), "store_tv": L("((4,4),4):((4@0,1@1),1@0)")}
    fields = {"smem": L(f"({wide},4):(1,{wide})"), "dst_shift": shift, "store_vector": 4 if shift % 4 == 0 else 1}
    assert_copies(src, dst, tile=(16, 4), **tvs, **fields)


@pytest.mark.parametrize("misalignment", [0, 1, 6])
def test_shifted_rows_in_swizzled_shared_memory(misalignment):
    """Rows begin in the middle of what the swizzle leaves together."""
    src, dst = at((9, 100), "i4", misalignment, 101), at((9, 100), "i4", 7 - misalignment, 102)
    src[...] = numbers((9, 100))
    smem = cute.make_composed_layout(cute.make_swizzle(2, 2, 3), 0, L("(32,8):(1,32)"))
    fields = {"load_tv": L("(32,8):(1@0,1@1)"), "store_tv": L("(16,8):(1@0,1@1)"), "smem": smem, "dst_shift": 16}
    assert_copies(src, dst, tile=(16, 8), **fields)


def test_rows_of_one_element_are_shifted():
    src, dst = numbers((7, 1)), at((1, 7), "i4", 3)
    tvs = {"load_tv": L("(8,1):(1@0,0)"), "store_tv": L("(4,1):(1@0,0)"), "smem": L("(8,1):(1,8)")}
    assert_copies(src.T, dst, tile=(4, 1), dst_shift=4, **tvs)
    assert_copies(
        src,
        dst.T,
        tile=(1, 4),
        dst_mode=0,
        dst_shift=4,
        load_tv=L("(5,4):(1@0,1@1)"),
        store_tv=L("(4,1):(1@1,0)"),
        smem=L("(5,4):(1,5)"),
    )


# ---- any plan that is sound ----


@given(sound_copies(), st.sampled_from((0, 1, 3)))
def test_any_sound_plan_copies(copy, threads):
    src, dst, memory, plan = copy
    dst[...] = src
    expected = memory.copy()
    for execute in (lambda: host.run_copy(**plan, threads=threads), lambda: host.check_copy(**plan)):
        memory[...] = 0
        report = execute()
        np.testing.assert_array_equal(memory, expected)
        # The layouts know nothing of the addresses here, so vectors may be misaligned.
        assert report is None or set(counts(report)) <= {"misaligned_load", "misaligned_store"}


# ---- errors ----

BAD = [
    ({"element_bytes": 3}, ValueError, "element_bytes = 3 must be 1, 2, 4, 8 or 16"),
    ({"extents": ()}, ValueError, "extents has 0 modes; a problem has 1 to 8"),
    ({"extents": (1,) * 9}, ValueError, "extents has 9 modes"),
    ({"extents": (8, -1)}, ValueError, r"extents\[1\] = -1 must not be negative"),
    ({"extents": (2**62, 1)}, ValueError, r"extents\[0\] = \d+ is more than|reaches over more"),
    ({"src_strides": (1,)}, ValueError, r"src_strides = \(1\) has 1 entries, but extents has 2"),
    ({"dst_strides": 1}, TypeError, "dst_strides to be a tuple of integers"),
    (
        {"dst_strides": (1, 2**62)},
        ValueError,
        r"dst_strides\[1\] = \d+ with the extent 16 reaches over more than 2\^60",
    ),
    ({"src_strides": (1, -(2**63))}, ValueError, r"src_strides\[1\] = -\d+ with the extent 16 reaches"),
    ({"tile": (8, 0)}, ValueError, r"tile\[1\] = 0 must be positive"),
    ({"tile": (2**40, 2**40)}, ValueError, "tile has more than"),
    ({"load_vector": 0}, ValueError, "load_vector = 0 must be at least 1"),
    ({"load_vector": 3}, ValueError, "load_vector = 3 must divide the 4 values of a thread of load_tv"),
    ({"load_vector": 2}, LayoutError, "load_tv: the 2 values of an access of thread 0 .* not neighbours along mode 0"),
    ({"load_vector": 4, "src_mode": 1}, ValueError, r"src_strides\[1\] = 16 must be 1, because load_vector = 4"),
    (
        {"store_vector": 2, "dst_mode": 2},
        ValueError,
        "dst_mode = 2 is no mode of a problem of rank 2, but store_vector",
    ),
    ({"store_vector": 2, "dst_strides": (16, 1)}, ValueError, r"dst_strides\[0\] = 16 must be 1"),
    ({"dst_shift": 4, "dst_strides": (16, 1)}, ValueError, r"dst_strides\[0\] = 16 must be 1, because dst_shift = 4"),
    ({"dst_shift": -1}, ValueError, "dst_shift = -1 must be between 0 and 1024"),
    ({"src_address": 0}, ValueError, "src_address must not be null"),
    ({"dst_address": -1}, ValueError, "dst_address = -1 must not be negative"),
    ({"threads": -1}, ValueError, "threads = -1 must not be negative"),
    ({"load_tv": None}, TypeError, "expected load_tv to be a Layout, but got None"),
    ({"load_tv": L("8:1")}, LayoutError, r"load_tv = 8:1 must have two modes \(threads, values\), but has 1 mode"),
    ({"load_tv": L("(8,4):(1@0,1@2)")}, LayoutError, "load_tv: the stride 1@2 moves along mode 2, but the tile has 2"),
    ({"load_tv": L("(8,4):(1@0,1@0@1)")}, LayoutError, "load_tv: the stride 1@0@1 is nested"),
    ({"load_tv": L("(8,5):(1@0,1@1)")}, LayoutError, r"load_tv: value 4 of thread 0 has the tile coordinate \(0,4\)"),
    (
        {"store_tv": L("(8,4):(1@0,-1@1)")},
        LayoutError,
        r"store_tv: value 1 of thread 0 .* \(0,-1\), outside of the tile",
    ),
    ({"load_tv": L("(8,(4,2097152)):(1@0,(1@1,0))")}, LayoutError, "load_tv has 8 threads of"),
    ({"load_tv": L("(8,2):(1@0,1099511627776@1)")}, LayoutError, r"load_tv reaches tile coordinates beyond 2\^40"),
    ({"smem": 5}, TypeError, "smem to be a Layout, a ComposedLayout or None"),
    ({"smem": L("8:1")}, LayoutError, "smem has 1 mode, but takes coordinates of a tile of rank 2"),
    ({"smem": L("(8,3):(1,8)")}, LayoutError, r"smem has no place for the tile coordinate \(0,3\) in its 24 elements"),
    ({"smem": L("(8,4):(1@0,1@1)")}, LayoutError, "smem must give offsets, but has basis strides"),
    ({"smem": L("(8,4):(1,1073741824)")}, LayoutError, "smem spans"),
    ({"smem": L("(8,4):(1,-8)")}, LayoutError, "smem has no place for the tile coordinate"),
    ({"smem": None}, LayoutError, r"store_tv = .* must be load_tv = .* where smem is None"),
]


@pytest.mark.parametrize(("change", "kind", "text"), BAD, ids=[str(change) for change, _, _ in BAD])
def test_errors_name_the_field(change, kind, text):
    src, dst = numbers((16, 16)), np.zeros((16, 16), "i4")
    plan = plan_of(src, dst, tile=(8, 4), load_tv=L("(8,4):(1@0,1@1)"), smem=L("(8,4):(1,8)"))
    plan["store_tv"] = L("(4,8):(1@1,1@0)")
    with pytest.raises(kind, match=text) as caught:
        host.run_copy(**{**plan, **change})
    assert isinstance(caught.value, LayoutError) == (kind is LayoutError)
    assert not dst.any()
    try:  # accepts more, and never fails otherwise
        host.check_copy(**{**plan, **change, "src_address": src.ctypes.data, "dst_address": dst.ctypes.data})
    except (ValueError, TypeError):
        assert not dst.any()


def test_layouts_are_static():
    fields = {"load_tv": L("(4,2):(1@0,4@0)"), "store_tv": L("(8,1):(1@0,0)"), "smem": L("8:1")}
    src, dst = numbers((8,)), np.zeros(8, "i4")
    fields = plan_of(src, dst, tile=(8,), **fields)
    for field in ("load_tv", "smem"):
        layout = cute.make_layout((Int32(8), 1)) if field == "load_tv" else cute.make_layout(Int32(8))
        with pytest.raises(LayoutError, match=f"{field} = .* must be static"):
            host.run_copy(**fields | {field: layout})
    function = cute.make_composed_layout(lambda x: x, 0, L("8:1"))
    with pytest.raises(LayoutError, match=r"smem = .* must be a static Layout, or a swizzle of one"):
        host.run_copy(**fields | {"smem": function})


# ---- size ----


def test_offsets_beyond_32_bits():
    """Strides over 2^31 in memory that is never touched in between."""
    pitch = 2**31 + 3
    memory = np.zeros(2 * pitch + 64, "i1")
    src = np.lib.stride_tricks.as_strided(memory, (3, 50), (pitch, 1))
    src[...] = numbers((3, 50), "i1")
    assert_copies(src, np.empty((3, 50), "i1"), tile=(64, 16), load_tv=TV)
    dst = np.empty((50, 3), "i1")
    fields = {"load_tv": LOAD, "store_tv": TV, "smem": SMEM["padded"], "src_mode": 1}
    assert_copies(src.T, dst, tile=(64, 16), **fields)
    host.run_copy(**plan_of(dst.T, src, tile=(64, 16), load_tv=TV))
    np.testing.assert_array_equal(src, dst.T)


def test_more_than_2_to_the_31_elements():
    count = 2**31 + 5
    src, dst = np.zeros(count, "i1"), np.empty(count, "i1")
    marks = [0, 2**30, 2**31 - 1, 2**31, count - 1]
    src[marks] = [1, 2, 3, 4, 5]
    tv = L("(256,16):(16@0,1@0)")
    host.run_copy(**plan_of(src, dst, tile=(4096,), load_tv=tv, load_vector=16, store_vector=16))
    assert dst[marks].tolist() == [1, 2, 3, 4, 5]
    assert np.count_nonzero(dst[:: 2**20]) == 3  # and nothing else but these marks


@pytest.mark.parametrize("threads", [0, 1, 2, 7, 1000])
def test_threads(threads):
    src = np.random.default_rng(0).integers(0, 1000, (1023, 1501), "i4")
    for fields in (
        {"tile": (64, 16), "load_tv": TV},
        {"tile": (64, 16), "load_tv": LOAD, "store_tv": TV, "smem": SMEM["swizzled"]},
    ):
        dst = np.empty_like(src)
        host.run_copy(**plan_of(src, dst, **fields), threads=threads)
        np.testing.assert_array_equal(dst, src)


def test_calls_at_once():
    """The tables of a plan are shared by calls of it; no two calls share their shared memory."""
    src = np.random.default_rng(0).integers(0, 1000, (8, 300, 500), "i4")
    results = np.zeros((8, 500, 300), "i4")
    fields = {"tile": (64, 16), "load_tv": LOAD, "store_tv": TV, "smem": SMEM["padded"], "src_mode": 1}

    def copy(i):
        for _ in range(5):
            host.run_copy(**plan_of(src[i].T, results[i], **fields), threads=2)

    threads = [threading.Thread(target=copy, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(results, src.transpose(0, 2, 1))


def test_many_plans_in_a_row():
    """More than the tables that are kept."""
    for n in [*range(1, 150), *range(1, 150)]:
        src, dst = numbers((n,)), np.zeros(n, "i4")
        host.run_copy(**plan_of(src, dst, tile=(32,), load_tv=L("(8,4):(4,1)")))
        assert (dst == src).all()


VARIANTS = [
    {"dst_shift": 4},
    {"tile": (6, 8)},
    {"extents": (39, 20)},
    {"src_strides": (1, 39)},
    {"dst_strides": (1, 39)},
    {"load_tv": L("(2,8):(3@0,1@1)")},
    {"store_tv": L("(3,8):(2@0,1@1)")},
    {"smem": None},
    {"element_bytes": 2},
]


@pytest.mark.parametrize("change", VARIANTS, ids=str)
def test_no_plan_gets_the_tables_of_another(change):
    """Holes show which plan was run."""
    src, dst, checked = numbers((20, 40)), np.zeros((20, 40), "i4"), np.zeros((20, 40), "i4")
    plan = plan_of(src, dst, tile=(8, 8), load_tv=L("(3,8):(1@0,1@1)"), smem=L("(16,8):(1,16)"))
    host.run_copy(**plan)
    dst[...] = 0
    host.run_copy(**plan | change)
    host.check_copy(**plan | change | {"dst_address": checked.ctypes.data})
    np.testing.assert_array_equal(dst, checked)


@pytest.mark.parametrize("function", [host.run_copy, host.check_copy])
def test_docstring(function):
    test = doctest.DocTestParser().get_doctest(function.__doc__, {"cute": cute}, function.__name__, None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted
    assert not result.failed, "".join(report)
