"""`analyze` of layouts and tensors: widths, counts, masks, advice, and errors."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tilewright
from tilewright import Float4E2M1FN, Float16, Float32, Float64, Int8, analysis, cute
from tilewright._core import LayoutError
from tilewright.analysis import MisalignedError, analyze, by_rank, warp_access
from tilewright.analysis.layouts import sass_name

L = cute.parse


def only(found):
    (instruction,) = found
    return instruction


def test_it_is_one_function():
    assert tilewright.analyze is cute.analyze is analysis.analyze


# ---- the widest legal access ----


@pytest.mark.parametrize(
    ("layout", "dtype", "base", "widest", "limit"),
    [
        ("(32,8):(8,1)", Float16, 0, 16, ""),
        ("(32,16):(16,1)", Float16, 0, 16, ""),
        ("(32,4):(8,1)", Float16, 0, 8, "4 values a thread"),
        ("32:1", Float16, 0, 2, "1 value a thread"),
        ("(32,8):(8,1)", Float16, 8, 8, "the base 0x8, a multiple of 8"),
        ("(32,8):(8,1)", Float16, 0x1004, 4, "the base 0x1004, a multiple of 4"),
        ("(32,8):(12,1)", Float16, 0, 8, "thread 1, which begins at 0x18, a multiple of 8"),
        ("(32,8):(9,1)", Float16, 0, 2, "thread 1, which begins at 0x12, a multiple of 2"),
        ("(32,8):(1,32)", Float16, 0, 2, "values 0 and 1 of thread 0, 32 elements apart"),
        ("(32,(4,2)):(8,(1,256))", Float16, 0, 8, "values 3 and 4 of thread 0, 253 elements apart"),
        ("(32,8):(8,-1)", Float16, 0, 2, "values 0 and 1 of thread 0, -1 elements apart"),
        ("(32,8):(8,0)", Float16, 0, 2, "values 0 and 1 of thread 0, 0 elements apart"),
        ("(32,6):(6,1)", Float16, 0, 4, "6 values a thread"),
        ("(32,2):(2,1)", Float64, 0, 16, ""),
        ("(32,32):(32,1)", Int8, 0, 16, ""),
        ("(32,32):(32,1)", Float4E2M1FN, 0, 16, ""),
        ("(32,2):(2,1)", Float4E2M1FN, 0, 1, "2 values a thread"),
    ],
)
def test_widest_access(layout, dtype, base, widest, limit):
    found = analyze(L(layout), dtype, base=base)
    assert (found.widest, found.limit) == (widest, limit)
    assert only(found).width == widest


def test_swizzles_limit_the_width():
    plain = L("(32,8):(8,1)")
    for base, widest in ((3, 16), (2, 8), (1, 4), (0, 2)):
        swizzled = cute.composition(cute.make_swizzle(2, base, 4), plain)
        assert analyze(swizzled, Float16, memory="shared").widest == widest


# ---- counts ----


def test_a_warp_of_a_layout():
    found = analyze(L("32:2"), Float32)
    x = only(found)
    assert (found.scope, x.name, x.sass, x.requests, x.lanes) == ("one warp", "load", "LDG.E", 1, 32)
    assert (x.sectors, x.ideal_sectors, x.lines, x.bytes_moved, x.bytes_useful) == (8, 4, 2, 256, 128)
    assert x.addresses == tuple(range(0, 256, 8))
    assert x.first == x.worst


def test_all_warps_and_values_are_counted():
    found = analyze(L("(128,(8,4)):(8,(1,1024))"), Float16, op="store")
    x = only(found)
    assert (found.scope, x.sass, x.requests, x.sectors, x.bytes_moved) == ("one tile", "STG.E.128", 16, 256, 8192)
    by_two = only(analyze(L("(128,(8,4)):(8,(1,1024))"), Float16, op="store", width=4))
    assert (by_two.requests, by_two.sectors, by_two.ideal_sectors) == (64, 1024, 256)


def test_more_modes_of_values():
    assert only(analyze(L("(32,2,4):(8,1,2)"), Float16)).width == 16


@pytest.mark.parametrize("width", [2, 4, 8, 16])
def test_every_request_is_evaluated(width):
    """Against by_rank, which proves that all of them are the same."""
    rows = L("((8,4,4),(8,2)):((64,8,512),(1,2048))")
    for layout in (rows, cute.composition(cute.make_swizzle(3, 3, 3), rows)):
        x = only(analyze(layout, Float16, width=width, memory="shared"))
        assert x.requests == 4 * 16 * 2 // width
        proved = by_rank(layout, Float16, width)
        assert x.first == x.worst == proved
        assert x.wavefronts == x.requests * proved.wavefronts


def test_totals_are_the_sum_of_single_warps():
    """Random threads, strides, masks, bases and swizzles, by the coordinates alone."""
    rng = random.Random(5)
    for _ in range(80):
        dtype = rng.choice((Int8, Float16, Float32, Float64))
        size, threads, values = dtype.bits // 8, rng.choice((1, 7, 32, 40, 96)), rng.choice((1, 2, 4, 6))
        run = rng.random() < 0.6
        layout = cute.make_layout(
            (threads, values),
            stride=(rng.choice((0, 1, values, 8, 33, 64)), 1 if run else rng.choice((0, 3, threads))),
        )
        if rng.random() < 0.3:
            layout = cute.composition(
                cute.make_swizzle(rng.randint(1, 2), rng.randint(0, 3), rng.randint(2, 4)), layout
            )
        base, memory = 16 * rng.randrange(20), rng.choice(("global", "shared"))
        op, extra = rng.choice(("load", "store")), rng.choice((0, 0, 50))
        mask = np.array([[rng.random() < 0.8 for _ in range(values)] for _ in range(threads)])
        found = analyze(layout, dtype, memory=memory, op=op, base=base, active=mask, threads=threads + extra)
        x, step = only(found), only(found).width // size
        singles = []
        for value in range(0, values, step):
            for warp in range(0, threads, 32):
                lanes = range(warp, min(warp + 32, threads))
                addresses = [base + size * int(layout((t, value))) for t in lanes]
                flags = [bool(mask[t, value]) for t in lanes]
                singles.append(warp_access(addresses, x.width, memory=memory, op=op, active=flags))
        singles = [s for s in singles if s.lanes]
        assert x.requests == len(singles), (layout, dtype)
        assert x.lanes == pytest.approx(sum(s.lanes for s in singles) / max(len(singles), 1))
        for field in ("sectors", "ideal_sectors", "lines", "wavefronts", "ideal_wavefronts"):
            assert getattr(x, field) == sum(getattr(s, field) for s in singles), (layout, dtype, field)
        assert x.bytes_useful == sum(s.useful_bytes for s in singles)
        if singles:
            assert x.worst in singles
            assert x.first in singles
            assert len(x.addresses) == x.worst.lanes


def test_the_worst_request_is_kept():
    found = only(analyze(L("(32,2):(1,36)"), Float32))  # the second begins in the middle of a sector
    assert (found.requests, found.first.sectors, found.worst.sectors, found.addresses[0]) == (2, 4, 5, 144)


def test_matrices():
    rows = L("(32,8):(64,1)")
    x = only(analyze(rows, Float16, memory="shared", op="ldmatrix"))
    assert (x.sass, x.requests, x.wavefronts, x.ideal_wavefronts, x.lanes) == ("LDSM.16.M88.4", 1, 32, 4, 32)
    swizzled = cute.composition(cute.make_swizzle(3, 3, 3), rows)
    assert only(analyze(swizzled, Float16, memory="shared", op="ldmatrix")).conflicts == 0
    two = only(analyze(L("(16,8):(8,1)"), Float16, memory="shared", op="stmatrix"))
    assert (two.sass, two.wavefronts, two.bytes_moved) == ("STSM.16.M88.2", 2, 256)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("global", "load", 1), "LDG.E.U8"),
        (("global", "store", 4), "STG.E"),
        (("shared", "load", 8), "LDS.64"),
        (("shared", "store", 2), "STS.U16"),
        (("global", "cp.async", 16), "LDGSTS.E.BYPASS.128"),
        (("shared", "cp.async", 4), "LDGSTS.E"),
        (("shared", "ldmatrix", 16, 1), "LDSM.16.M88"),
    ],
)
def test_names_of_instructions(arguments, name):
    assert sass_name(*arguments) == name


# ---- active lanes ----


def test_fewer_threads_than_a_warp():
    twelve = analyze(L("12:1"), Float32)
    assert only(twelve).lanes == 12
    assert "12 of 32 lanes are active" in twelve.advice
    assert only(analyze(L("12:1"), Float32, threads=64)).requests == 1  # the second warp does nothing
    assert only(analyze(L("48:1"), Float32)).lanes == 24


def test_masks():
    rows = L("(32,4):(4,1)")
    ragged = only(analyze(rows, Float32, active=np.arange(32) < 20))
    assert (ragged.lanes, ragged.sectors, len(ragged.addresses)) == (20, 10, 20)
    of_values = (np.arange(32)[:, None] + np.arange(4)) % 2 == 0
    x = only(analyze(rows, Float32, width=4, active=of_values))
    assert (x.requests, x.lanes) == (4, 16)
    first = np.zeros((32, 4), bool)
    first[:, 0] = True
    assert only(analyze(rows, Float32, active=first)).lanes == 32  # one access of four values: the first decides
    nothing = analyze(rows, Float32, active=[False] * 32)
    assert (only(nothing).requests, only(nothing).lanes, only(nothing).first, nothing.advice) == (0, 0.0, None, "")


def test_lanes_that_are_off_do_not_fault():
    odd = np.arange(32) % 2 == 1
    assert only(analyze(L("(32,2):(2,1)"), Float32, base=4, width=4, active=odd)).lanes == 16
    with pytest.raises(MisalignedError, match="lane 1"):
        analyze(L("(32,2):(2,1)"), Float32, base=4, width=8, active=odd)


# ---- tensors ----


def test_a_tensor_has_a_real_address():
    array = np.zeros(1024, np.float32)
    tensor = cute.composition(cute.from_dlpack(array[1:257]), L("(32,4):(4,1)"))
    found = analyze(tensor)
    base = array.ctypes.data + 4
    assert (found.widest, only(found).memory, only(found).bytes_useful) == (4, "global", 512)
    assert [a - only(found).addresses[0] for a in only(found).addresses] == list(range(0, 512, 16))
    assert only(found).addresses[0] - base in (0, 4, 8, 12)  # of the worst of four
    assert f"the base {base:#x}" in found.limit


def test_the_memory_of_a_tensor():
    shared = cute.make_tensor(
        cute.make_ptr(Float16, 1024, cute.AddressSpace.smem, assumed_align=16), L("(32,8):(64,1)")
    )
    assert only(analyze(shared)).sass == "LDS.128"
    assert only(analyze(shared, op="store")).addresses[1] == 1024 + 128


# ---- advice ----


def test_advice():
    def advice(layout, dtype=Float32, **keywords):
        return analyze(L(layout), dtype, **keywords).advice

    assert advice("32:1") == ""
    assert advice("32:2") == (
        "neighbouring lanes are 8 bytes apart but access 4: let them access neighbouring elements"
    )
    assert advice("(32,4):(4,1)", base=16).startswith("the base 0x10 lies 16 bytes behind a sector")
    # From the beginning of a sector on, these lanes would fault, so that is no advice.
    assert advice("S<0,4,3> o 1 o (32,2):(4,1)", base=4, width=8).startswith("neighbouring lanes are 16 bytes apart")
    assert advice("(32,4):(4,1)", width=4) == ("accesses of 16 bytes are legal, and take 4 times fewer instructions")
    assert advice("((4,8),1):((8,1),0)") == ""
    assert "a request takes 16 sectors where 4 would do" in advice("((2,16),1):((1,100),0)")
    assert advice("(32,2):(2,1)", width=4, memory="shared").startswith("2-way bank conflict; composition with Swizzle")
    assert advice("32:0", memory="shared") == ""
    assert advice("(32,4):(32,1)", memory="shared", width=16) == (
        "8-way bank conflict; composition with Swizzle<3,2,3> takes 4 wavefronts instead of 32"
    )
    assert advice("(32,2):(1,32)", memory="shared", width=4) == ""
    assert advice("((16,2),2):((2,0),1)", memory="shared", width=4).startswith("accesses of 8 bytes are legal")


def test_the_advised_swizzle_does_what_is_said():
    for layout in (L("(32,8):(64,1)"), L("(32,1):(32,1)"), L("((8,4),8):((128,8),1)")):
        found = analyze(layout, Float16, memory="shared")
        bits, base, shift = (int(x) for x in found.advice.split("Swizzle<")[1].split(">")[0].split(","))
        promised = int(found.advice.split("takes ")[1].split()[0])
        better = analyze(cute.composition(cute.make_swizzle(bits, base, shift), layout), Float16, memory="shared")
        assert only(better).wavefronts == promised < only(found).wavefronts
        assert only(better).width == only(found).width


def test_advice_where_lanes_are_off():
    found = analyze(L("32:32"), Float32, memory="shared", base=2048, active=np.arange(32) % 2 == 1)
    ragged = analyze(L("12:32"), Float32, memory="shared", base=2048)  # the other lanes have no address at all
    assert ragged.advice == "12-way bank conflict; composition with Swizzle<4,1,4> takes 1 wavefront instead of 12"
    assert found.advice == "16-way bank conflict; composition with Swizzle<4,1,5> takes 1 wavefront instead of 16"


# ---- errors ----


def test_an_access_that_would_fault_is_not_analysed():
    with pytest.raises(MisalignedError, match="lane 0 of request 0 would fault: address 2 "):
        analyze(L("32:1"), Float32, base=2)
    with pytest.raises(MisalignedError, match="lane 1 of request 0 would fault: address 24 "):
        analyze(L("(32,4):(6,1)"), Float32, width=16)


@pytest.mark.parametrize(
    ("layout", "keywords", "message"),
    [
        ("(32,4):(1,32)", {"width": 16}, r"values 0 and 1 of thread 0 .* are 32 elements apart"),
        ("(32,6):(6,1)", {"width": 16}, "4 values, which do not divide the 6 of a thread"),
        ("(32,4):(1@0,1@1)", {}, "gives coordinates, not offsets"),
        ("2:1152921504606846976", {}, r"reaches 0x4000000000000000, which is no address"),
        ("32:1", {"base": 2**62}, r"from the base 0x4000000000000000 on reaches"),
    ],
)
def test_bad_layouts(layout, keywords, message):
    with pytest.raises(LayoutError, match=message):
        analyze(L(layout), Float32, **keywords)


def test_bad_arguments():
    rows = L("(32,4):(4,1)")
    with pytest.raises(TypeError, match="expected dtype to be an element type"):
        analyze(rows)
    with pytest.raises(ValueError, match="width = 2 bytes is no whole number of elements of 32 bits"):
        analyze(rows, Float32, width=2)
    with pytest.raises(ValueError, match=r"threads = 16 must be at least the 32 threads"):
        analyze(rows, Float32, threads=16)
    with pytest.raises(ValueError, match=r"active has the shape \(31,\), but must have \(32,\) or \(32, 4\)"):
        analyze(rows, Float32, active=[True] * 31)
    with pytest.raises(TypeError, match="whose elements have no addresses"):
        analyze(cute.make_identity_tensor((32, 4)))
    registers = cute.make_rmem_tensor((4,), Float32)
    with pytest.raises(TypeError, match="lies in rmem"):
        analyze(registers)
    tensor = cute.make_tensor(cute.make_ptr(Float32, 0), rows)
    with pytest.raises(ValueError, match="must be left out: a tensor has its own"):
        analyze(tensor, Float16)
    with pytest.raises(ValueError, match=r"ldmatrix takes whole warps.* 40 threads"):
        analyze(L("(40,8):(8,1)"), Float16, memory="shared", op="ldmatrix")
    with pytest.raises(ValueError, match="ldmatrix accesses shared memory"):
        analyze(L("(32,8):(8,1)"), Float16, op="ldmatrix")


@pytest.mark.parametrize(
    ("text", "base", "advice"),
    [
        (
            "32:-1",
            1024,
            "a request's lowest address 0x384 lies 4 bytes behind a sector: from an aligned one on the accesses take 4 "
            "sectors instead of 5",
        ),
        ("32:-1", 1024 - 4, ""),  # down to a multiple of 128
        (
            "(32,2):(-1,-32)",
            1024 + 4,
            "a request's lowest address 0x388 lies 8 bytes behind a sector: from an aligned one on the accesses take 8 "
            "sectors instead of 10",
        ),
        ("32:-2", 1024, "neighbouring lanes are 8 bytes apart but access 4: let them access neighbouring elements"),
        ("(32,4):(-4,1)", 1024, "accesses of 16 bytes are legal, and take 4 times fewer instructions"),
        (
            "S<0,4,3> o 8 o 32:1",  # a sector further, where the base lies as the lowest address does
            4,
            "the base 0x4 lies 4 bytes behind a sector: from an aligned one on the accesses take 4 sectors "
            "instead of 5",
        ),
    ],
)
def test_advice_on_lanes_in_reversed_order(text, base, advice):
    assert analyze(L(text), Float32, base=base, width=4).advice == advice
