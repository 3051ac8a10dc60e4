"""Suggested swizzles, paddings and thread arrangements: they do what they say, and nothing in their space is better."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tilewright import Float16, Float32, Float64, Int8, _core, cute
from tilewright._core import LayoutError
from tilewright._core.analysis import all_swizzles, wavefronts_in
from tilewright.analysis import Access, analyze, suggest_padding, suggest_swizzle, suggest_tv, warp_access
from tilewright.analysis.suggest import shared_memory as suggest
from tilewright.analysis.suggest.tile_access import Ranking, offsets_of, warps_of

L = cute.parse
TILE = L("(128,64):(64,1)")
ROWS = L("(32,8):(1@0,1@1)")  # 32 rows, 8 neighbours of each
LINES = L("((8,32),(8,4)):((8@1,1@0),(1@1,32@0))")  # 8 threads a row


def cost(layout, access, dtype, width):
    """Wavefronts of an access, request by request, by the coordinates alone."""
    size, values = dtype.bits // 8, width * 8 // dtype.bits
    threads, count = (cute.size(access.tv, mode=[i]) for i in (0, 1))
    total = 0
    for first in range(0, threads, 32):
        for value in range(0, count, values):
            addresses = [size * int(layout(access.tv((t, value)))) for t in range(first, min(first + 32, threads))]
            total += warp_access(addresses, width, memory="shared", op=access.op).wavefronts
    return total


# ---- swizzles ----


def test_the_space_is_whole():
    found = {tuple(x) for x in all_swizzles(256).tolist()}
    expected = {
        (b, m, s) for b, m, s in product(range(1, 9), range(9), range(-9, 10)) if abs(s) >= b and b + m + abs(s) <= 8
    }
    assert found == expected | {(0, 4, 3)}
    assert max(b + m + abs(s) for b, m, s in all_swizzles(2**62 + 1).tolist()) == 62  # which a swizzle can reach
    assert len(all_swizzles(1)) == len(all_swizzles(2)) == 1


@pytest.mark.parametrize(
    ("tile", "accesses", "dtype", "widths"),
    [
        (
            "(16,32):(32,1)",
            [("((4,16),8):((8@1,1@0),1@1)", "store"), ("(16,8):(1@0,1@1)", "ldmatrix")],
            Float16,
            (16, 16),
        ),
        ("(16,16):(16,1)", [("(32,8):(1@0,1@1)", "load")], Float32, (4,)),
        ("(32,16):(1,32)", [("((16,2),16):((1@1,1@0),2@0)", "load"), ("(32,16):(1@0,1@1)", "store")], Float64, (8, 8)),
    ],
)
def test_every_swizzle_is_evaluated(tile, accesses, dtype, widths):
    tile = L(tile)
    if dtype is Float32:
        accesses = [("((16,2),8):((1@0,1@1),2@1)", "load")]
    accesses = [Access(L(tv), op, width) for (tv, op), width in zip(accesses, widths, strict=True)]
    found = suggest_swizzle(tile, *accesses, dtype=dtype)
    assert [x.wavefronts for x in found] == sorted(x.wavefronts for x in found)
    assert len({x.swizzle for x in found}) == len(found)
    values = max(a.width * 8 // dtype.bits for a in accesses)
    legal = [x for x in all_swizzles(cute.cosize(tile)).tolist() if not x[0] or 2 ** x[1] >= values]
    assert len(found) == len(legal)
    for choice in found[:: max(1, len(found) // 25)]:
        assert choice.each == tuple(cost(choice.layout, a, dtype, a.width) for a in accesses), choice
        assert choice.elements == cute.cosize(tile)
        assert choice.ideal <= choice.wavefronts == sum(choice.each)


def test_the_tile_of_a_gemm():
    found = suggest_swizzle(TILE, Access(LINES, "store"), Access(ROWS, "ldmatrix"), dtype=Float16)
    assert str(found[0]) == "Swizzle<3,3,3>: 132 wavefronts (128 + 4)"
    plain = next(x for x in found if x.swizzle.num_bits == 0)
    assert (plain.each, plain.layout) == ((128, 32), TILE)


def test_a_transpose():
    """A warp writes rows and reads columns: 5 bits, one for each of a warp's lanes."""
    tile = L("(32,32):(32,1)")
    along, across = L("(32,32):(1@1,1@0)"), L("(32,32):(1@0,1@1)")
    found = suggest_swizzle(tile, Access(along, "store", 4), Access(across, "load", 4), dtype=Float32)
    assert str(found[0]) == "Swizzle<5,0,5>: 64 wavefronts (32 + 32)"


def test_swizzles_that_leave_the_tile_count_what_they_need():
    tile = L("(24,32):(32,1)")  # 768 elements: 3 blocks of 256
    found = suggest_swizzle(tile, L("(24,32):(1@0,1@1)"), dtype=Float32)
    for choice in found:
        period = (
            1
            if not choice.swizzle.num_bits
            else 2 ** (choice.swizzle.num_bits + choice.swizzle.num_base + abs(choice.swizzle.num_shift))
        )
        assert choice.elements == -(-768 // period) * period
        assert int(choice.layout.offsets().max()) < choice.elements
    keys = [(x.wavefronts, x.elements, x.swizzle.num_bits, abs(x.swizzle.num_shift)) for x in found]
    assert keys == sorted(keys)


def test_bases_and_ragged_warps():
    """Where the base is in the middle of a word, or a warp is not full, requests differ by more than a constant."""
    tile, access = L("(40,8):(8,1)"), Access(L("(40,8):(1@0,1@1)"), "load", 2)
    for base in (0, 2, 16, 70):
        for choice in suggest_swizzle(tile, access, dtype=Float16, base=base)[::9]:
            expected = 0
            for value in range(8):
                for lanes in (range(32), range(32, 40)):
                    addresses = [base + 2 * int(choice.layout((t, value))) for t in lanes]
                    expected += warp_access(addresses, 2, memory="shared").wavefronts
            assert choice.wavefronts == expected, (base, choice)


@pytest.mark.parametrize(("base", "wavefronts"), [(0, 2), (2, 3), (16, 2)])
def test_a_base_inside_of_a_word_keeps_requests_apart(base, wavefronts):
    """The second request is the first, XOR 1: the same banks, unless a word ends between them."""
    offsets = np.array([[0, 67], [1, 66]])
    found = _core.analysis.wavefronts_under(
        np.array([[0, 4, 3]]), offsets, op="store", width=2, element_bits=16, base=base
    )
    each = [warp_access(base + 2 * row, 2, memory="shared", op="store").wavefronts for row in offsets]
    assert found.tolist() == [sum(each)] == [wavefronts]


# ---- paddings ----


def test_paddings():
    tile = L("(32,32):(1,32)")
    across, along = Access(L("(32,32):(1@1,1@0)"), "load", 4), Access(L("(32,32):(1@0,1@1)"), "store", 4)
    found = suggest_padding(tile, across, along, dtype=Float32)
    assert str(found[0].layout) == "(32,32):(1,33)"
    assert (found[0].pad, found[0].row, found[0].wavefronts, found[0].elements) == (1, 32, 64, 1055)
    for choice in found:
        assert choice.each == tuple(cost(choice.layout, a, Float32, 4) for a in (across, along))
    assert {x.pad for x in found} == set(range(33))
    keys = [(x.wavefronts, x.elements) for x in found]
    assert keys == sorted(keys)


def test_paddings_keep_accesses_legal():
    found = suggest_padding(TILE, Access(LINES, "store", 16), Access(ROWS, "ldmatrix"), dtype=Float16)
    assert {x.pad % 8 for x in found} == {0}
    assert str(found[0].layout) == "(128,64):(72,1)"
    assert found[0].wavefronts == found[0].ideal


@pytest.mark.parametrize("width", [None, 2, 4])
@pytest.mark.parametrize("at_once", [1 << 20, 3 * 512])
def test_every_padding_is_evaluated(width, at_once, monkeypatch):
    """By the requests of the padded tile; where one has none, an access is illegal there."""
    monkeypatch.setattr(suggest, "AT_ONCE", at_once)
    tile = L("(32,16):(16,1)")
    accesses = [
        Access(L("((4,10),(4,2)):((4@1,1@0),(1@1,10@0))"), "store", width),
        Access(L("((2,16),(2,2)):((2@1,1@0),(1@1,16@0))"), "load", width),
    ]
    found = {(x.row, x.pad): x for x in suggest_padding(tile, *accesses, dtype=Float16, base=8)}
    for row, pad in [(0, 0), *((16, pad) for pad in range(1, 65))]:
        padded = cute.make_layout((32, 16), stride=(16 + pad, 1))
        try:
            made = [warps_of(padded, access, 16, 8) for access in accesses]
        except LayoutError:
            assert (row, pad) not in found
            continue
        each = []
        for w in made:
            lanes = [8 + 2 * row[active] for row, active in zip(w.offsets, w.active, strict=True)]
            each.append(sum(warp_access(x, w.width, memory="shared", op=w.op).wavefronts for x in lanes))
        choice = found.pop((row, pad))
        assert (choice.layout, choice.each, choice.wavefronts) == (padded, tuple(each), sum(each))
        assert choice.ideal == sum(-(-int(on.sum()) * w.width // 128) for w in made for on in w.active)
    assert not found


def test_tables_of_other_shapes():
    images, kind = np.arange(64)[None], {"op": "load", "width": 4, "element_bits": 16}
    for elements in (np.arange(6).reshape(2, 3), np.array([[62, 64]]), np.array([[-1, 0]])):
        with pytest.raises(ValueError, match="elements must be 2 at a time, and below 64"):
            wavefronts_in(images, elements, **kind)
    with pytest.raises(ValueError, match="no whole number of elements of 24 bits"):
        wavefronts_in(images, np.array([[0, 1]]), op="load", width=4, element_bits=24)
    with pytest.raises(ValueError, match="9 threads do not have 1 matrices of 8 rows each"):
        wavefronts_in(images, np.zeros((9, 8), int), op="ldmatrix", width=16, matrices=1, element_bits=16)


def test_paddings_of_more_modes():
    tile = L("(8,(4,2),16):(1,(8,32),64)")
    found = suggest_padding(tile, Access(L("((4,8),8):((1@1,2@2),1@0)"), "load", 4), dtype=Float32)
    assert {x.row for x in found} == {0, 8, 32, 64}
    assert all(x.layout(1) == 1 for x in found)
    padded = next(x for x in found if (x.row, x.pad) == (32, 3))
    assert str(padded.layout) == "(8,(4,2),16):(1,(8,35),70)"


def test_only_rows_that_the_other_strides_are_multiples_of_are_padded():
    found = suggest_padding(L("(4,3,5):(1,4,14)"), Access(L("(5,4):(1@2,1@0)"), "load", 4), dtype=Float32)
    assert {x.row for x in found} == {0, 14}


# ---- threads ----


def test_arrangements_of_threads():
    rows, columns = L("(64,32):(32,1)"), L("(64,32):(1,64)")
    same = suggest_tv(rows, rows, Float32, 128)
    assert str(same[0].tv.shape) == "((8,16),((1,4),(4,1)))"
    assert (same[0].widths, same[0].costs, same[0].cost, same[0].requests) == ((16, 16), (256, 256), 512, 32)
    transposed = suggest_tv(rows, columns, Float32, 128)
    assert transposed[0].cost == 512
    keys = [(x.cost, x.lines, x.requests) for x in transposed]
    assert keys == sorted(keys)
    for choice in transposed[::7]:
        covered = offsets_of(cute.make_layout((64, 32)), choice.tv)
        assert sorted(covered.reshape(-1).tolist()) == list(range(2048))  # each element once
        for layout, width, expected in zip((rows, columns), choice.widths, choice.costs, strict=True):
            table = offsets_of(layout, choice.tv)
            values = width // 4
            found = 0
            for first, value in product(range(0, 128, 32), range(0, table.shape[1], values)):
                found += warp_access(4 * table[first : first + 32, value], width).sectors
            assert found == expected


def test_a_suggested_arrangement_makes_a_tiled_copy():
    rows = L("(64,32):(32,1)")
    best = suggest_tv(rows, rows, Float16, 64)[0]
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
    copy = cute.make_tiled_copy_tv(atom, best.thr_layout, best.val_layout)
    tile = cute.make_tensor(cute.make_ptr(Float16, 0), rows)
    for thread in (0, 5, 63):
        part = copy.get_slice(thread).partition_S(tile)
        assert int(part.iterator.toint()) == 2 * int(offsets_of(rows, best.tv)[thread, 0])


def test_shared_memory_counts_wavefronts():
    smem = cute.composition(cute.make_swizzle(5, 0, 5), L("(32,32):(32,1)"))
    found = suggest_tv(L("(32,32):(1,32)"), smem, Float32, 128, dst_memory="shared")[0]
    assert (found.costs, found.widths) == ((128, 32), (16, 4)) or found.costs[1] == 32


# ---- the threads that users ask about ----


def test_1882_why_is_there_a_bank_conflict_in_this_simple_layout():
    """NVIDIA/cutlass#1882: 128 x 32 halves, column-major in shared memory, written by 256 threads.

    16 x 16 threads down the columns: lanes 0 to 15 take 32 bytes of one column, lanes 16 to 31 those of the next, 256
    bytes further: the same 8 banks. And 8 x 32 threads along the rows: each lane another column, all in one bank.
    """
    smem = L("(128,32):(1,128)")
    square, rows = L("((16,16),(8,2)):((1@0,1@1),(16@0,16@1))"), L("((32,8),16):((1@1,1@0),8@0)")
    found = {}
    for name, tv in (("square", square), ("rows", rows)):
        offsets = offsets_of(smem, tv)
        each = [warp_access(2 * offsets[:32, v], 2, memory="shared", op="store").wavefronts for v in range(16)]
        found[name] = set(each)
    assert found == {"square": {2}, "rows": {32}}
    best = suggest_swizzle(smem, Access(rows, "store", 2), dtype=Float16)[0]
    assert best.wavefronts == best.ideal == 128
    row_major = suggest_swizzle(L("(128,32):(32,1)"), Access(rows, "store", 2), dtype=Float16)
    assert next(x for x in row_major if x.swizzle.num_bits == 0).wavefronts == 128  # the maintainer's answer


def test_3172_swizzle_for_ldmatrix_trans():
    """NVIDIA/cutlass#3172: ldmatrix.x4.trans of a tile of halves, contiguous along M, under Swizzle<3,3,4>.

    The rows of a matrix are 8 neighbours along M, at 8 different k. Where k is 128 elements from the next, the
    swizzle's Y bits are those of k, and there is no conflict. Where it is 64, its lowest Y bit is the second of k:
    2-way. So S goes with the pitch: M + S = log2(pitch).
    """
    trans = L("((8,2,2),8):((1@1,8@0,8@1),1@0)")  # lane -> the first of its row's 8 values
    counts = {}
    for pitch, shift in product((64, 128), (3, 4)):
        tile = cute.composition(cute.make_swizzle(3, 3, shift), cute.make_layout((pitch, 32)))
        rows = 2 * offsets_of(tile, trans)[:, 0]
        counts[pitch, shift] = warp_access(rows, 16, memory="shared", op="ldmatrix").wavefronts
    assert counts == {(64, 3): 4, (64, 4): 8, (128, 3): 8, (128, 4): 4}
    for pitch, best in ((64, "Swizzle<3,3,3>"), (128, "Swizzle<3,3,4>")):
        found = suggest_swizzle(cute.make_layout((pitch, 32)), Access(trans, "ldmatrix"), dtype=Float16)
        assert str(found[0]) == f"{best}: 4 wavefronts"


def test_3172_by_the_partitions_of_a_tiled_copy():
    smem = cute.tile_to_shape(cute.composition(cute.make_swizzle(3, 3, 4), L("(128,8):(1,128)")), (128, 32), (0, 1))
    op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(cute.make_mma_atom(op), cute.make_layout((2, 2, 1)))
    load = cute.nvgpu.warp.LdMatrix8x8x16bOp(transpose=True, num_matrices=4)
    copy = cute.make_tiled_copy_A(cute.make_copy_atom(load, Float16), mma)
    for layout, wavefronts in ((smem, 4), (L("(128,32):(1,128)"), 32)):
        tile = cute.make_tensor(cute.make_ptr(Float16, 0, cute.AddressSpace.smem), layout)
        parts = [copy.get_slice(lane).partition_S(tile) for lane in range(32)]
        rows = [int(part.iterator.toint()) + 2 * int(part.layout(0)) for part in parts]
        assert warp_access(rows, 16, memory="shared", op="ldmatrix").wavefronts == wavefronts


def test_13_of_cuda_hgemm_permuted_or_swizzled():
    """Bruce-Lee-LY/cuda_hgemm#13 asks why a permuted tile has no conflicts and a swizzled one has.

    For rows of 32 halves: two rows share the 128 bytes of all banks, so the Y bits begin with the row's second bit, at
    2 * 32 elements: Swizzle<2,3,3>. From the row's first bit on, as in Swizzle<2,3,2>, two rows still meet.
    """
    tile = L("(64,32):(32,1)")
    found = suggest_swizzle(tile, Access(ROWS, "ldmatrix"), dtype=Float16)
    assert str(found[0]) == "Swizzle<2,3,3>: 4 wavefronts"
    by_name = {str(x.swizzle): x.wavefronts for x in found}
    assert (by_name["S<2,3,2>"], by_name["S<0,4,3>"]) == (8, 16)


# ---- access, ranking, errors ----


def test_offsets_of_an_access():
    swizzled = cute.make_composed_layout(cute.make_swizzle(2, 0, 3), 5, L("(8,8):(8,1)"))
    for layout in (L("(8,8):(8,1)"), L("((2,4),8):((32,1),4)"), swizzled):
        for tv in (L("(4,3):(1@1,2@0)"), L("((2,2),(2,2)):((1@0,4@0),(3@1,1@0))"), L("(4,4):(5,13)")):
            expected = [[int(layout(tv((t, v)))) for v in range(cute.size(tv, mode=[1]))] for t in range(4)]
            assert offsets_of(layout, tv).tolist() == expected
    assert offsets_of(L("12:2"), L("(3,4):(1@0,3@0)")).tolist() == (2 * np.arange(12).reshape(4, 3).T).tolist()


def test_a_ranking_prints_ten():
    text = str(Ranking(range(12)))
    assert text.startswith("1. 0\n2. 1\n")
    assert text.endswith("10. 9\nand 2 more")


def test_accesses_of_threads_alone():
    assert str(suggest_swizzle(L("(32,32):(32,1)"), L("32:1@0"), dtype=Float32)[0]) == "Swizzle<5,0,5>: 1 wavefront"


def test_bad_arguments():
    with pytest.raises(ValueError, match="suggest_swizzle: there are no accesses"):
        suggest_swizzle(TILE, dtype=Float16)
    with pytest.raises(TypeError, match="expected dtype"):
        suggest_swizzle(TILE, ROWS, dtype="f16")
    with pytest.raises(TypeError, match=r"expected the tile to be a Layout of offsets, not S<3,3,3>"):
        suggest_swizzle(cute.composition(cute.make_swizzle(3, 3, 3), TILE), ROWS, dtype=Float16)
    with pytest.raises(TypeError, match="suggest_padding: expected the tile"):
        suggest_padding(L("(4,4):(1@0,1@1)"), ROWS, dtype=Float16)
    with pytest.raises(LayoutError, match="reaches coordinates from 0 to 31 along a mode of 16"):
        suggest_swizzle(L("(16,64):(64,1)"), ROWS, dtype=Float16)
    with pytest.raises(LayoutError, match="16 bytes are 8 neighbours"):
        suggest_swizzle(L("(128,64):(1,128)"), Access(ROWS, "load", 16), dtype=Float16)
    with pytest.raises(LayoutError, match=r"thread 1 .* would fault: 16 bytes at 0x82"):
        suggest_padding(L("(128,64):(65,1)"), Access(ROWS, "load", 16), dtype=Float16)
    with pytest.raises(TypeError, match="Layout of threads and values, not int"):
        suggest_swizzle(TILE, 3, dtype=Float16)
    with pytest.raises(LayoutError, match="leads into a mode of the tile"):
        offsets_of(L("((8,2),8):((1,8),16)"), L("(4,2):(1@0@0,1@1)"))
    with pytest.raises(LayoutError, match=r"the extents of .* differ"):
        suggest_tv(L("(4,4):(4,1)"), L("(4,8):(8,1)"), Float16, 4)
    with pytest.raises(LayoutError, match="48 threads do not divide a tile of 64x32"):
        suggest_tv(L("(64,32):(32,1)"), L("(64,32):(32,1)"), Float16, 48)
    with pytest.raises(LayoutError, match="has 4 modes"):
        suggest_tv(L("(2,2,2,2):(8,4,2,1)"), L("(2,2,2,2):(8,4,2,1)"), Int8, 4)
    assert analyze(L("(32,8):(64,1)"), Float16).widest == 16


def test_padding_of_negative_strides():
    """Rows from the last one up are padded as those from the first one down."""
    column, row = Access(L("32:1@0"), "load", 4), Access(L("32:1@1"), "load", 4)
    found = suggest_padding(L("(32,32):(-32,1)"), column, row, dtype=Float32, base=4096)
    assert str(found[0].layout) == "(32,32):(-33,1)"
    assert (found[0].wavefronts, found[0].ideal, found[0].pad, found[0].row) == (2, 2, 1, 32)
    down = suggest_padding(L("(32,32):(32,1)"), column, row, dtype=Float32, base=4096)
    assert len(found) == len(down)
    assert sorted((x.row, x.pad, x.each) for x in found) == sorted((x.row, x.pad, x.each) for x in down)
    both = suggest_padding(L("(32,32):(-1,-32)"), Access(L("32:1@1"), "load", 4), dtype=Float32)  # from base 0 down
    assert str(both[0].layout) == "(32,32):(-1,-33)"
    deep = suggest_padding(L("(8,(4,8)):(-4,(1,-32))"), Access(L("32:1@1"), "load", 4), dtype=Float32)
    assert {str(x.layout) for x in deep if x.row == 4 and x.pad == 1} == {"(8,(4,8)):(-5,(1,-40))"}
