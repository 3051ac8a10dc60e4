"""Arguments that the predictor refuses: each error names the operation, the argument and what would do."""

from __future__ import annotations

import time

import numpy as np
import pytest

from tilewright import Float6E2M3FN, Float16, Float32, Float64, Int4, LayoutError, cute, kernels
from tilewright.analysis import (
    Access,
    MisalignedError,
    analyze,
    async_access,
    by_rank,
    suggest_padding,
    suggest_swizzle,
    suggest_tv,
    swizzled,
    verify_with_ncu,
    warp_access,
    warp_accesses,
)

L = cute.parse
PLAN = kernels.tiled_copy.plan(np.zeros((8, 128), np.float32), np.zeros((8, 128), np.float32))
LANES = range(0, 128, 4)
ROWS = range(0, 512, 16)
TILE = L("(128,64):(64,1)")
THREADS = L("(32,8):(1@0,1@1)")
VECTOR = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=128)
TILED = cute.make_tiled_copy_tv(VECTOR, L("(8,4):(4,1)"), L("(1,4):(4,1)"))  # of a tile of 8 x 16


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (TypeError, "expected addresses to be integers, not float64", lambda: warp_access([0.0, 4.0], 4)),
        (TypeError, "expected addresses to be integers, not bool", lambda: warp_access([True], 1)),
        (TypeError, "integers beyond 64 bits, or no numbers", lambda: warp_access([2**70], 8)),
        (TypeError, "integers beyond 64 bits, or no numbers", lambda: warp_access(None, 8)),
        (TypeError, "expected addresses to be an array of integers, but", lambda: warp_access([[0, 4], [8]], 4)),
        (ValueError, r"shape \(2, 2\); warp_accesses takes those of many", lambda: warp_access([[0, 4], [8, 12]], 4)),
        (ValueError, "a warp has 32 lanes, but there are 33 addresses", lambda: warp_access(range(0, 132, 4), 4)),
        (TypeError, "expected width to be an integer, not 4.0", lambda: warp_access(LANES, 4.0)),
        (TypeError, "expected width to be an integer, not '4'", lambda: warp_access(LANES, "4")),
        (ValueError, "is beyond 64 bits", lambda: warp_access(LANES, 2**70)),
        (TypeError, "expected memory to be a name", lambda: warp_access(LANES, 4, memory=None)),
        (TypeError, "expected op to be a name", lambda: warp_access(LANES, 4, op=None)),
        (ValueError, r"active has the shape \(31,\), but the addresses \(32,\)", lambda: mask([True] * 31)),
        (ValueError, r"active has the shape \(33,\), but the addresses \(32,\)", lambda: mask([True] * 33)),
        (TypeError, r"not the number 65535; of a mask of bits take \[mask >> lane & 1", lambda: mask(0xFFFF)),
        (TypeError, "expected active to be bools, not <U3", lambda: mask("yes")),
        (TypeError, "expected active to be bools, not float64", lambda: mask([0.5] * 32)),
        (TypeError, "expected active to be bools, not int64", lambda: mask([2] * 32)),
        (ValueError, "ldmatrix takes the addresses of 8, 16 or 32 rows, but there are 24", lambda: rows(ROWS[:24])),
        (ValueError, "matrices = -1 must be 1, 2 or 4", lambda: rows(ROWS, matrices=-1)),
        (TypeError, "expected matrices to be an integer, not 'x'", lambda: rows(ROWS, matrices="x")),
        (ValueError, "worst: there are no requests", lambda: warp_accesses(np.zeros((0, 32), int), 4).worst),
        (
            TypeError,
            r"dtype to be an element type such as Float16, not Float16\(1.0\)",
            lambda: analyze(TILE, Float16(1)),
        ),
        (TypeError, "suggest_tv: expected dtype to be", lambda: suggest_tv(TILE, TILE, Float16(1), 128)),
        (TypeError, "by_rank: expected dtype to be", lambda: by_rank(TILE, Float16(1))),
        (TypeError, "suggest_swizzle: expected dtype to be", lambda: suggest_swizzle(TILE, THREADS, dtype=Float16(1))),
        (TypeError, "swizzled: expected addresses to be integers, not float64", lambda: swizzled([0, 1.5], 128)),
        (TypeError, "swizzled: expected mode to be an integer, not '128'", lambda: swizzled([0], "128")),
        (TypeError, "expected addresses to be integers, not float64", lambda: async_access([0.0], [0], 16)),
    ],
)
def test_of_one_access(error, says, call):
    with pytest.raises(error, match=says):
        call()


def mask(active):
    return warp_access(LANES, 4, active=active)


def rows(addresses, **options):
    return warp_access(addresses, 16, memory="shared", op="ldmatrix", **options)


def test_masks_of_zeros_and_ones_and_of_nothing():
    assert mask([lane % 2 for lane in range(32)]).lanes == 16
    assert mask(np.uint32(0x0000FFFF) >> np.arange(32) & 1).lanes == 16
    assert warp_access([], 4, active=[]).lanes == 0
    assert warp_access(np.array([2**63 - 8], np.uint64), 8).lanes == 1


NO_ADDRESS = "but addresses are bytes, from 0 to 2\\^63 - 1"


@pytest.mark.parametrize(
    ("says", "call"),
    [
        (rf"warp_access: lane 0 has the address {2**63}, {NO_ADDRESS}", lambda: warp_access([2**63], 4)),
        (rf"warp_access: lane 1 has the address -4, {NO_ADDRESS}", lambda: warp_access([0, -4, 4, -8], 4)),
        (
            r"warp_access: lane 2 of request 1 has the address -12",
            lambda: warp_accesses(np.array([[0, 4, 8], [12, 4, -12]]), 4),
        ),
        (
            "warp_access: lane 1 has the address -16",
            lambda: warp_access([0, -16, *range(32, 128, 16)], 16, memory="shared", op="ldmatrix"),
        ),
        (
            "async_access: sources: lane 3 has the address -4",
            lambda: async_access([0, 4, 8, -4], LANES[:4], 4, cache="ca"),
        ),
        ("async_access: destinations: lane 0 has the address -4", lambda: async_access([0], [-4], 4, cache="ca")),
    ],
)
def test_what_is_no_address_is_named_by_its_lane(says, call):
    with pytest.raises(ValueError, match=f"^{says}"):
        call()


def test_addresses_that_nobody_looks_at():
    """Those of inactive lanes; and a layout's are counted from a base that may be unknown."""
    assert warp_access([0, -4], 4, active=[True, False]).lanes == 1
    rows = [*range(0, 128, 16), -16]
    assert warp_access(rows, 16, memory="shared", op="ldmatrix", matrices=1).wavefronts == 1
    down, up = (analyze(L("32:-1"), Float32, base=base)[0] for base in (-4, 1024 - 4))
    assert down == up._replace(first=down.first, worst=down.worst, addresses=down.addresses)
    assert down.addresses[0] == -4


def test_the_side_of_a_copy_that_would_fault():
    with pytest.raises(MisalignedError, match=r"^async_access: sources: lane 1 would fault: address 20 ") as error:
        async_access([0, 20], [0, 16], 16)
    assert (error.value.lane, error.value.address) == (1, 20)
    with pytest.raises(MisalignedError, match=r"^async_access: destinations: lane 0 would fault: address 8 "):
        async_access([0, 16], [8, 24], 16)


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (LayoutError, r"analyze: \(\):\(\) has no mode of threads", lambda: analyze(L("():()"), Float32)),
        (LayoutError, "has no mode of threads", lambda: analyze(np.array(3.0))),
        (ValueError, "width = 3 bytes must be 1, 2, 4, 8, 16", lambda: analyze(L("32:1"), Float32, width=3)),
        (ValueError, "width = -4 bytes must be", lambda: analyze(L("32:1"), Float32, width=-4)),
        (TypeError, "expected width to be an integer, not '4'", lambda: analyze(L("32:1"), Float32, width="4")),
        (TypeError, "expected base to be an integer, not 1.5", lambda: analyze(L("32:1"), Float32, base=1.5)),
        (TypeError, "expected threads to be an integer, not 2.5", lambda: analyze(L("1:0"), Float32, threads=2.5)),
        (TypeError, "expected active to be bools", lambda: analyze(L("32:1"), Float32, active=[0.5] * 32)),
        (ValueError, "no whole number of elements of 6 bits", lambda: analyze(L("(32,2):(2,1)"), Float6E2M3FN, base=1)),
        (MisalignedError, "^analyze: lane 0 of request 0 would fault", lambda: analyze(L("32:1"), Float32, base=2)),
        (TypeError, "expected dtype", lambda: by_rank(L("32:1"), "f32")),
        (LayoutError, "by_rank: .* has no mode of threads", lambda: by_rank(L("():()"), Float32)),
    ],
)
def test_of_a_layout(error, says, call):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("text", ["1000000000:1", "(1000,1000000):(1000000,1)", f"{2**62}:1"])
def test_what_is_too_large_is_refused_at_once(text):
    start = time.perf_counter()
    with pytest.raises(LayoutError, match=r"at most 16777216 are; analyse what one CTA or one warp accesses"):
        analyze(L(text), Float32)
    with pytest.raises(ValueError, match=r"threads = 1000000000 are more than the 16777216"):
        analyze(L("32:1"), Float32, threads=10**9)
    for suggest in (suggest_swizzle, suggest_padding):
        with pytest.raises(LayoutError, match=rf"{suggest.__name__}: .* but at most 16777216 are looked at"):
            suggest(L("(65536,65536):(65536,1)"), THREADS, dtype=Float16)
    with pytest.raises(LayoutError, match=r"1048576 elements is more than the 65536 for which"):
        suggest_tv(L("(1024,1024):(1024,1)"), L("(1024,1024):(1024,1)"), Float32, 128)
    assert time.perf_counter() - start < 0.5


@pytest.mark.parametrize("suggest", [suggest_swizzle, suggest_padding])
@pytest.mark.parametrize(
    ("error", "says", "access", "options"),
    [
        (ValueError, 'op = "read" must be load, store', Access(THREADS, "read"), {}),
        (ValueError, "width = 3 bytes must be 1, 2, 4, 8, 16", Access(THREADS, "load", 3), {}),
        (ValueError, "1 bytes are no whole number of elements of 16 bits", Access(THREADS, "load", 1), {}),
        (ValueError, "width = 8 bytes must be 16: the rows of ldmatrix", Access(THREADS, "ldmatrix", 8), {}),
        (ValueError, "the tile is one in shared memory", Access(THREADS, memory="global"), {}),
        (LayoutError, "whole warps, or 8 or 16 rows, but .* has 12", Access(L("(12,8):(1@0,1@1)"), "ldmatrix"), {}),
        (LayoutError, "whole warps, or 8 or 16 rows, but .* has 48", Access(L("(48,8):(1@0,1@1)"), "ldmatrix"), {}),
        (LayoutError, r"the access \(\):\(\) has no mode of threads", L("():()"), {}),
        (LayoutError, "the access .* reaches coordinates from 0 to 255", L("256:1@0"), {}),
        (TypeError, "expected base to be an integer, not 'x'", THREADS, {"base": "x"}),
        (ValueError, "no whole number of elements of 6 bits", THREADS, {"dtype": Float6E2M3FN}),
        (LayoutError, "cp.async copies 4, 8 or 16 bytes a thread", Access(L("32:1@0"), "cp.async"), {}),
    ],
)
def test_of_suggestions_for_a_tile(suggest, error, says, access, options):
    with pytest.raises(error, match=f"^{suggest.__name__}: .*{says}"):
        suggest(TILE, access, **{"dtype": Float16, **options})


@pytest.mark.parametrize(
    ("error", "says", "call"),
    [
        (TypeError, "expected src and dst to be Layouts, not str", lambda: tv("(64,32):(32,1)", 32)),
        (LayoutError, "has no modes", lambda: tv(L("():()"), 1)),
        (LayoutError, "gives coordinates, not offsets", lambda: tv(L("(4,8):(1@0,1@1)"), 32)),
        (TypeError, "expected threads to be an integer, not '8'", lambda: tv(TILE, "8")),
        (ValueError, "memory = 'l2' must be", lambda: tv(L("(64,32):(32,1)"), 32, src_memory="l2")),
        (LayoutError, "would fault: 4 bytes at 0x1", lambda: tv(L("(64,32):(32,1)"), 32, src_base=1)),
    ],
)
def test_of_suggestions_for_threads(error, says, call):
    with pytest.raises(error, match=f"suggest_tv: .*{says}"):
        call()


def tv(layout, threads, **options):
    return suggest_tv(layout, layout, Float32, threads, **options)


def test_half_bytes_are_copied_whole():
    """Arrangements that would give a thread half a byte are left out."""
    best = suggest_tv(L("(64,32):(32,1)"), L("(64,32):(32,1)"), Int4, 32)[0]
    assert min(best.widths) >= 4
    assert best.costs == (32, 32)  # 1024 bytes a side


def test_a_padding_that_keeps_accesses_wide_comes_first():
    """2 elements more leave rows at multiples of 4 bytes: the same wavefronts, in four times the instructions."""
    assert suggest_padding(TILE, THREADS, dtype=Float16)[0].pad == 8
    narrow = suggest_padding(TILE, Access(THREADS, "cp.async"), dtype=Float16)
    assert narrow[0].pad == 8
    assert not any(choice.pad % 2 for choice in narrow)  # cp.async copies at least 4 bytes


@pytest.mark.parametrize(
    ("error", "says", "src", "dst"),
    [
        (LayoutError, "does not divide mode 0 of src = .*: 4 is no multiple of 8", (4, 4), (4, 4)),
        (LayoutError, "does not divide mode 1 of src = .*: 33 is no multiple of 16", (16, 33), (16, 33)),
        (LayoutError, "at most 16777216 are; analyse the tile of one CTA", L("(65536,65536):(65536,1)"), (8, 16)),
        (LayoutError, r"must have the same extents, but have \(16,32\) and \(32,16\)", (16, 32), (32, 16)),
        (TypeError, "copies elements of 32 bits, but dst has elements of 64", (8, 16), Float64),
        (TypeError, "expected src to be a tensor of memory", "identity", (8, 16)),
        (TypeError, "expected src to be a Tensor or an array", None, (8, 16)),
    ],
)
def test_of_a_tiled_copy(error, says, src, dst):
    def tensor(x):
        if isinstance(x, str):
            return cute.make_identity_tensor((8, 16))
        if isinstance(x, type(THREADS)):
            return cute.make_tensor(cute.make_ptr(Float32, 0, cute.AddressSpace.gmem), x)
        return np.zeros(x, np.float32) if isinstance(x, tuple) else x and np.zeros((8, 16), np.float64)

    with pytest.raises(error, match=f"analyze: .*{says}"):
        analyze(TILED, tensor(src), tensor(dst))


def test_arrays_are_taken_as_their_tensors():
    gmem = cute.make_tensor(cute.make_ptr(Float32, 0, cute.AddressSpace.gmem, assumed_align=16), L("(16,32):(32,1)"))
    buffer = np.zeros(16 * 32 + 32, np.float32)
    first = -buffer.ctypes.data % 128 // 4
    array = buffer[first : first + 16 * 32].reshape(16, 32)
    assert analyze(array)[0].first == analyze(gmem)[0].first
    assert analyze(TILED, array, array).rows() == analyze(TILED, gmem, gmem).rows()


def test_verifying_what_is_not_there():
    with pytest.raises(FileNotFoundError, match="verify_with_ncu: there is no script"):
        verify_with_ncu("no_such_program.py")
    with pytest.raises(TypeError, match="another process cannot import"):
        verify_with_ncu(lambda: None)


@pytest.mark.parametrize(
    "options", [{"memory": "shred"}, {"op": "read"}, {"op": "ldmatrix", "memory": "shared", "width": 8}]
)
def test_analyze_says_errors_in_its_own_name(options):
    with pytest.raises(ValueError, match=r"^analyze: "):
        analyze(L("(32,8):(8,1)"), Float16, **options)


LAYOUTS_TAKE = "there are dtype, width, memory, op, base, threads, active"


@pytest.mark.parametrize(
    ("says", "call"),
    [
        ("of a TiledCopy src and dst are missing", lambda: analyze(TILED)),
        ("of a TiledCopy dst is missing", lambda: analyze(TILED, np.zeros((8, 16), np.float32))),
        (
            "of a TiledCopy there is no argument to, but there are src, dst; dst is missing",
            lambda: analyze(TILED, 1, to=2),
        ),
        (
            "of a TiledCopy at most 3 arguments are taken without a name, but 4 are given",
            lambda: analyze(TILED, 1, 2, 3),
        ),
        (f"of a Layout there is no argument foo, but {LAYOUTS_TAKE}", lambda: analyze(L("32:1"), Float32, foo=1)),
        (
            "of a Layout at most 2 arguments are taken without a name, but 3 are given; give width, memory, op, base, "
            "threads, active by name",
            lambda: analyze(L("32:1"), Float32, 16),
        ),
        ("of a Layout multiple values for argument 'dtype'", lambda: analyze(L("32:1"), Float32, dtype=Float32)),
        (rf"of a \w*Tensor there is no argument foo, but {LAYOUTS_TAKE}", lambda: analyze(np.zeros(32), foo=1)),
        ("of a CopyPlan there is no argument regs, but there are .*device, registers", lambda: analyze(PLAN, regs=1)),
        ("of a CopyPlan there is no argument regs, but there are .*device, registers", lambda: PLAN.analyze(regs=1)),
    ],
)
def test_of_arguments_that_its_kind_does_not_take(says, call):
    """In the name of analyze, not of the function that it calls."""
    with pytest.raises(TypeError, match=f"^analyze: {says}$"):
        call()
