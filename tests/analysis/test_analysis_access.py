"""Sectors, lines and wavefronts of one warp's access: known ones, those measured, and a model that looks at bytes."""

from __future__ import annotations

import doctest
import random

import numpy as np
import pytest

from tilewright import _core, analysis, cute
from tilewright.analysis import MisalignedError, swizzled, warp_access, warp_accesses

LANES = np.arange(32)
WIDTHS = (1, 2, 4, 8, 16)


# ---- known counts ----


@pytest.mark.parametrize(
    ("addresses", "width", "wavefronts"),
    [
        (4 * LANES, 4, 1),
        (8 * LANES, 4, 2),
        (132 * LANES, 4, 1),
        (128 * LANES, 4, 32),
        (0 * LANES, 4, 1),
        (8 * LANES, 8, 2),
        (0 * LANES, 8, 1),  # measured on an H200
        (16 * LANES, 16, 4),
        (128 * LANES, 16, 32),
        (0 * LANES, 16, 2),  # measured on an H200
        (LANES, 1, 1),
        (2 * LANES, 2, 1),
        (128 * LANES, 1, 32),
    ],
)
def test_loads_from_shared_memory(addresses, width, wavefronts):
    found = warp_access(addresses, width, memory="shared")
    assert found.wavefronts == wavefronts
    assert found.sectors == found.ideal_sectors == found.lines == 0


@pytest.mark.parametrize(("mode", "wavefronts"), [(0, 8), (32, 4), (64, 2), (128, 1)])
def test_eight_rows_of_a_tile_of_128_bytes_a_row(mode, wavefronts):
    for column in range(0, 128, 16):
        rows = swizzled(128 * np.arange(8) + column, mode)
        for op in ("ldmatrix", "stmatrix"):
            found = warp_access(rows, 16, memory="shared", op=op)
            assert (found.wavefronts, found.ideal_wavefronts) == (wavefronts, 1)


@pytest.mark.parametrize(
    ("addresses", "width", "sectors", "lines"),
    [
        (4 * LANES, 4, 4, 1),
        (4 * LANES + 4, 4, 5, 2),
        (8 * LANES, 4, 8, 2),
        (16 * LANES, 16, 16, 4),
        (16 * LANES + 16, 16, 17, 5),
        (128 * LANES, 4, 32, 32),
        (0 * LANES + 96, 8, 1, 1),
        (LANES, 1, 1, 1),
        (124 - 4 * LANES, 4, 4, 1),
        (2**63 - 512 + 16 * LANES, 16, 16, 4),
    ],
)
def test_accesses_of_global_memory(addresses, width, sectors, lines):
    for op in ("load", "store"):
        found = warp_access(addresses, width, op=op)
        assert (found.sectors, found.lines) == (sectors, lines)
        assert found.wavefronts == found.ideal_wavefronts == 0
        assert found.ideal_sectors == min(width, sectors)


def test_stores_of_one_address_do_not_merge():
    assert warp_access(0 * LANES, 16, memory="shared", op="store").wavefronts == 4
    assert warp_access(0 * LANES, 8, memory="shared", op="store").wavefronts == 2


@pytest.mark.parametrize(
    ("pattern", "wavefronts"),
    [
        (LANES // 2, 1),  # n and n^1 agree
        (LANES // 4 * 2 + LANES % 2, 1),  # n and n^2 agree
        (LANES % 16, 2),  # n and n^16 agree, which does not merge
        (np.where(LANES < 16, LANES // 2, LANES), 2),  # only one half agrees
    ],
)
def test_passes_of_loads_merge(pattern, wavefronts):
    """The sixteen lanes of 8 bytes that are side by side want at most 128 bytes together."""
    assert warp_access(8 * pattern, 8, memory="shared").wavefronts == wavefronts


def test_passes_of_wide_loads_are_joined_all_or_none():
    """As read on an H200: sharing n^1 in one half, n^2 in the other, or everywhere but in one lane, saves nothing."""
    pairs = LANES // 2
    others = (LANES & 1) | (LANES >> 2 << 1)
    for numbers, wavefronts in (
        (np.where(LANES < 16, pairs, LANES), 4),
        (np.where(LANES < 16, pairs, 40 + others), 4),
        (np.where(LANES == 31, 40, pairs), 4),
        (np.where(LANES == 5, 40, pairs), 5),
        (pairs, 2),
        (others, 2),
    ):
        assert warp_access(16 * numbers, 16, memory="shared").wavefronts == wavefronts


# ---- a model ----


def model(addresses, width, memory, op, active):
    """(sectors, lines, wavefronts, useful bytes), byte by byte."""
    lanes = [i for i in range(len(addresses)) if active[i]]
    bytes_of = {i: range(addresses[i], addresses[i] + width) for i in lanes}
    touched = {b for i in lanes for b in bytes_of[i]}
    if memory == "global":
        return len({b // 32 for b in touched}), len({b // 128 for b in touched}), 0, len(touched)
    size = {8: 16, 16: 8}.get(width, 32)
    passes = [[i for i in lanes if i // size == p] for p in range(32 // size)]
    agree = (all(addresses[i] == addresses[i ^ n] for i in lanes if i ^ n in lanes) for n in (1, 2))
    if op == "load" and size < 32 and any(agree):
        passes = [passes[p] + passes[p + 1] for p in range(0, len(passes), 2)]
    wavefronts = 0
    for together in passes:
        words = {b // 4 for i in together for b in bytes_of[i]}
        wavefronts += max((sum(w % 32 == bank for w in words) for bank in range(32)), default=0)
    return 0, 0, wavefronts, len(touched)


def random_case(rng):
    width = rng.choice(WIDTHS)
    memory = rng.choice(("global", "shared"))
    op = rng.choice(("load", "store"))
    count = rng.choice((32, 32, 32, 31, 17, 16, 5, 1))
    span = rng.choice((1, 4, 40, 1000))
    addresses = [width * rng.randrange(span) for _ in range(count)]
    if rng.random() < 0.3:  # pairs that agree
        distance = rng.choice((1, 2))
        addresses = [addresses[i & ~distance] for i in range(count)]
    active = [rng.random() < rng.choice((0.5, 0.9, 1)) for _ in range(count)]
    return addresses, width, memory, op, active


def test_model():
    rng = random.Random(0)
    for _ in range(600):
        addresses, width, memory, op, active = case = random_case(rng)
        found = warp_access(addresses, width, memory=memory, op=op, active=active)
        assert (found.sectors, found.lines, found.wavefronts, found.useful_bytes) == model(*case), case
        assert found.lanes == sum(active)
        assert found.ideal_sectors == min(-(-sum(active) * width // 32), found.sectors)
        if memory == "shared":
            assert found.ideal_wavefronts == min(-(-sum(active) * width // 128), found.wavefronts)
            assert found.conflicts >= 0


def test_matrices_take_a_pass_each():
    rng = random.Random(1)
    for _ in range(100):
        matrices = rng.choice((1, 2, 4))
        rows = [16 * rng.randrange(100) for _ in range(8 * matrices)]
        expected = sum(model(rows[i : i + 8], 16, "shared", "store", [True] * 8)[2] for i in range(0, 8 * matrices, 8))
        for given in (rows, rows + [3] * (32 - len(rows))):  # the other lanes' addresses are not looked at
            found = warp_access(given, 16, memory="shared", op="ldmatrix", matrices=matrices)
            assert (found.wavefronts, found.ideal_wavefronts, found.lanes) == (expected, matrices, 32)
            assert found.useful_bytes == 16 * len(set(rows))


# ---- many warps ----


def test_many_warps_are_the_single_ones():
    rng = np.random.default_rng(2)
    for memory, op, width in (("global", "load", 4), ("shared", "load", 16), ("shared", "store", 2)):
        addresses = width * rng.integers(0, 500, (3, 5, 32))
        active = rng.random((3, 5, 32)) < 0.8
        found = warp_accesses(addresses, width, memory=memory, op=op, active=active)
        assert found.lanes.shape == (3, 5)
        assert len(found) == 15
        for i in np.ndindex(3, 5):
            assert found.at(i) == warp_access(addresses[i], width, memory=memory, op=op, active=active[i])


def test_masks_are_broadcast_and_arrays_of_any_order_are_taken():
    addresses = np.asfortranarray(4 * np.arange(64).reshape(2, 32), dtype=np.int32)
    found = warp_accesses(addresses, 4, active=LANES < 8)
    assert found.sectors.tolist() == [1, 1]
    assert warp_accesses(addresses[:, ::2], 4).sectors.tolist() == [4, 4]


def test_nothing_to_do():
    empty = warp_access([], 4, memory="shared")
    assert (empty.lanes, empty.wavefronts, empty.ways, empty.efficiency) == (0, 0, 1, 1.0)
    off = warp_access(4 * LANES + 1, 4, active=LANES < 0)  # lanes that are off do not fault
    assert (off.lanes, off.sectors, off.efficiency) == (0, 0, 1.0)
    assert len(warp_accesses(np.zeros((0, 32), int), 4)) == 0


def test_what_follows_from_the_counts():
    column = warp_access(128 * LANES, 16, memory="shared")
    assert (column.conflicts, column.ways, column.efficiency) == (28, 8, 0.125)
    assert warp_access(128 * LANES, 4).bytes_moved == 1024
    assert warp_access(0 * LANES, 4).useful_bytes == 4


# ---- the hardware's swizzle ----


@pytest.mark.parametrize(("mode", "bits"), [(0, 0), (32, 1), (64, 2), (128, 3)])
def test_swizzle_modes(mode, bits):
    """Address bits 4.. are XORed with bits 7..; every block of 2^(bits+7) bytes is permuted."""
    addresses = np.arange(4096)
    found = swizzled(addresses, mode)
    assert sorted(found) == addresses.tolist()
    for a, b in zip(addresses.tolist(), found.tolist(), strict=True):
        expected = a
        for bit in range(bits):
            expected ^= (a >> 7 + bit & 1) << 4 + bit
        assert b == expected


# ---- the examples of the C++ functions ----


@pytest.mark.parametrize("name", ["columns", "requests", "requests_by_rank", "swizzled", "wavefronts_under"])
def test_examples(name):
    text = getattr(_core.analysis, name).__doc__
    test = doctest.DocTestParser().get_doctest(text, {"cute": cute}, name, None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted
    assert not result.failed, "".join(report)


# ---- errors ----


def test_the_first_lane_that_would_fault_is_named():
    addresses = 8 * LANES
    addresses[[5, 9]] += 4
    for memory in ("global", "shared"):
        with pytest.raises(
            MisalignedError, match=r"lane 5 would fault: address 44 \(0x2c\).* 8 bytes; access at most 4"
        ):
            warp_access(addresses, 8, memory=memory)
    with pytest.raises(MisalignedError) as caught:
        warp_access(addresses, 8, active=LANES != 5)
    assert (caught.value.warp, caught.value.lane, caught.value.address, caught.value.width) == ((), 9, 76, 8)
    warps = np.stack([8 * LANES, addresses, addresses]).reshape(3, 1, 32)
    with pytest.raises(MisalignedError, match="lane 5 of request 1, 0 would fault"):
        warp_accesses(warps, 8)


def test_a_row_of_ldmatrix_that_would_fault_is_named():
    rows = 16 * np.arange(16)
    rows[11] += 8
    with pytest.raises(MisalignedError, match="lane 11 would fault"):
        warp_access(rows, 16, memory="shared", op="ldmatrix")
    assert warp_access(rows, 16, memory="shared", op="ldmatrix", matrices=1).wavefronts == 1


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((LANES, 3), {}, "width = 3 bytes must be 1, 2, 4, 8 or 16"),
        ((LANES, 32), {}, "width = 32 bytes must be 1, 2, 4, 8 or 16"),
        ((LANES, 0), {}, "width = 0 bytes must be"),
        ((np.arange(33), 1), {}, "a warp has 32 lanes, but there are 33 addresses"),
        ((LANES, 1), {"memory": "local"}, 'memory = "local" must be'),
        ((LANES, 1), {"op": "atomic"}, 'op = "atomic" must be'),
        ((LANES, 1), {"matrices": 2}, "matrices = 2 must be left out"),
        ((2 * LANES, 2), {"op": "cp.async"}, "must be 4, 8 or 16 of cp.async"),
        ((16 * LANES, 16), {"op": "ldmatrix"}, "ldmatrix accesses shared memory, not global"),
        ((16 * LANES, 8), {"op": "ldmatrix", "memory": "shared"}, "must be 16: the rows"),
        ((16 * LANES, 16), {"op": "ldmatrix", "memory": "shared", "matrices": 3}, "matrices = 3 must be 1, 2 or 4"),
        ((16 * LANES[:9], 16), {"op": "ldmatrix", "memory": "shared", "matrices": 2}, "the 16 rows .* there are 9"),
        (
            (16 * LANES, 16),
            {"op": "stmatrix", "memory": "shared", "active": LANES < 8},
            "all lanes of a warp take part",
        ),
    ],
)
def test_bad_arguments(arguments, keywords, message):
    with pytest.raises(ValueError, match=message):
        warp_access(*arguments, **keywords)


def test_bad_kinds():
    with pytest.raises(TypeError, match="expected addresses to be integers, not float64"):
        warp_access([0.5], 4)
    with pytest.raises(ValueError, match="mode of lanes"):
        warp_accesses(4, 4)
    with pytest.raises(ValueError, match=r"mode = 16 must be 0, 32, 64 or 128"):
        swizzled([0], 16)
    with pytest.raises(TypeError, match=r"expected a Layout.* not int"):
        analysis.analyze(3)
