"""Totals over a launch beside those of visiting every tile of it, and each request by itself."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from tilewright._core import analysis as counts
from tilewright.analysis import MisalignedError, async_access, warp_access, warp_accesses
from tilewright.analysis.totals.cp_async import AsyncTally
from tilewright.analysis.totals.totals import Mode, Tally, groups

LINE = 128
SUMMED = ("sectors", "ideal_sectors", "lines", "wavefronts", "ideal_wavefronts")


def visited(modes, base):
    """Of every tile where the tensor begins and ends in it, and where it begins itself."""
    for tile in itertools.product(*(range(m.tiles) for m in modes)):
        low = tuple(max(-i * m.tile, -m.back) for i, m in zip(tile, modes, strict=True))
        high = tuple(min(m.extent - i * m.tile, m.tile + m.ahead) for i, m in zip(tile, modes, strict=True))
        yield low, high, base + sum(i * m.step for i, m in zip(tile, modes, strict=True)), tile


# ---- how the tiles are counted ----


@pytest.mark.parametrize("back", [0, 8])
@pytest.mark.parametrize("alone", [0, 2])
@pytest.mark.parametrize(("extent", "ahead"), [(256, 0), (300, 0), (300, 1), (255, 1), (256, 1), (10, 0), (64, 4)])
def test_tiles_of_a_mode(extent, ahead, alone, back):
    mode = Mode(-(-(extent + max(back - 1, 0)) // 64), 64, extent, 20, back, ahead, alone)
    found, seen = groups([mode]), []
    for group in found:
        for i in range(group.tiles[0], group.tiles[0] + sum(group.residues.values())):
            seen.append(i)
            assert group.low == (max(-64 * i, -back),)
            assert group.high == (min(extent - 64 * i, 64 + ahead),)
    assert seen == list(range(mode.tiles))
    single = [g.tiles[0] for g in found if sum(g.residues.values()) == 1]
    assert all(i in single for i in seen if i < alone or i >= mode.tiles - alone)


def test_tiles_of_tensors():
    random = np.random.default_rng(0)
    for _ in range(60):
        modes = []
        for _ in range(random.integers(1, 4)):
            tile, extent = (int(x) for x in random.integers(1, (9, 40)))
            back, ahead, alone = (int(x) for x in random.integers(0, (3, 2, 4)) * (random.random() < 0.4))
            tiles = -(-(extent + max(back - 1, 0)) // tile)
            modes.append(Mode(tiles, tile, extent, int(random.integers(-300, 300)), back, ahead, alone))
        base, times = int(random.integers(-200, 200)), int(random.integers(1, 4))
        expected = Counter()
        for low, high, start, _ in visited(modes, base):
            expected[low, high, start % LINE] += times
        found = Counter()
        for group in groups(modes, base, times):
            for residue, count in group.residues.items():
                found[group.low, group.high, residue] += count
        assert found == expected


def test_many_tiles_are_counted_at_once():
    (group,) = groups([Mode(10**9, 64, 64 * 10**9, 12), Mode(10**6, 1, 10**6, 128)])
    assert sum(group.residues.values()) == 10**15
    assert set(group.residues) == set(range(0, LINE, 4))


# ---- totals ----


def requests_of(random, width, matrices):
    """Requests of which some are one another's translation, and which lanes are active."""
    kinds = random.integers(0, 60, (4, 32)) * width
    kinds[0] = np.arange(32) * width
    kinds[1] = -kinds[0]
    rows = kinds[random.integers(0, 4, 12)] + random.integers(-20, 20, (12, 1)) * width
    active = random.random((12, 32)) < random.choice([0.0, 0.4, 1.1], (12, 1))
    return rows, np.ones_like(active) if matrices else active


@pytest.mark.parametrize(
    ("memory", "op", "width", "matrices"),
    [
        ("global", "load", 4, 0), ("global", "store", 16, 0), ("global", "load", 1, 0), ("shared", "load", 8, 0),
        ("shared", "store", 16, 0), ("shared", "load", 2, 0), ("shared", "ldmatrix", 16, 4),
        ("shared", "stmatrix", 16, 2),
    ],
)  # fmt: skip
def test_a_tally_is_the_sum_of_all_tiles(memory, op, width, matrices):
    random, base = np.random.default_rng(width), 1 << 16 | width * 7  # no tile begins below 0
    for _ in range(8):
        tally, every, lanes_of, first = Tally("x", memory, op, width, matrices=matrices), [], [], None
        for _ in range(3):
            rows, active = requests_of(random, width, matrices)
            modes = [Mode(int(random.integers(0, 9)), 1, 9, width * int(random.integers(-40, 40))) for _ in range(2)]
            for group in groups(modes, base):
                tally.add(rows, active, group.residues)
            for _, _, start, _ in visited(modes, base):
                every.append((rows + start)[active.any(axis=1)])
                lanes_of.append(active[active.any(axis=1)])
                first = (every[-1][:1], lanes_of[-1][:1]) if first is None and len(every[-1]) else first
        found = tally.instruction()
        if first is None:
            assert found is None
            continue
        kind = {"memory": memory, "op": op, "matrices": matrices or None}
        addresses, active = np.concatenate(every), np.concatenate(lanes_of)
        one = warp_accesses(addresses, width, active=None if matrices else active, **kind)
        assert [getattr(found, name) for name in SUMMED] == [int(getattr(one, name).sum()) for name in SUMMED]
        assert (found.requests, found.bytes_useful) == (len(addresses), int(one.useful_bytes.sum()))
        assert round(found.lanes * found.requests) == int(one.lanes.sum())
        waste = one.sectors - one.ideal_sectors + one.wavefronts - one.ideal_wavefronts
        assert found.worst in [one.at(i) for i in np.flatnonzero(waste == waste.max())]
        mask = [lane in found.lane_ids for lane in range(32)]
        places = np.zeros(32, np.int64)
        places[mask] = found.addresses
        assert found.worst == warp_access(places, width, active=None if matrices else mask, **kind)
        assert found.first == warp_accesses(*first[:1], width, active=None if matrices else first[1], **kind).at(0)
        lines = np.array(tally.lanes) - first[0][first[1]]
        assert min(tally.lanes) >= 0
        assert set(lines % LINE) == {0}
        assert len(set(lines)) == 1


def test_the_first_of_equals_is_the_worst():
    tally = Tally("x", "shared", "load", 4)
    column = LINE * np.arange(32)[None]
    for lanes in (np.arange(32) < 16, np.arange(32) >= 16):
        tally.add(column, lanes[None], {0: 1})
    assert tally.instruction().lane_ids == tuple(range(16))


def test_nothing_is_added_by_no_tiles_and_no_lanes():
    tally, everyone = Tally("x", "global", "load", 4), np.ones((1, 32), bool)
    tally.add(np.zeros((1, 32), int), ~everyone, {0: 5})
    tally.add(np.full((1, 32), 64), everyone, {})
    tally.add(np.full((1, 32), 64), everyone, {0: 0})
    assert (tally.instruction(), tally.lanes) == (None, ())
    tally.add(np.full((1, 32), 4), everyone, {0: 0, 96: 2})
    assert tally.lanes == (100,) * 32


def test_a_lane_that_would_fault():
    tally = Tally("x", "global", "load", 8)
    tally.add(8 * np.arange(32)[None] + 4 * (np.arange(32) == 3), np.ones((1, 32), bool), {16: 2})
    with pytest.raises(MisalignedError) as error:
        tally.instruction()
    assert (error.value.lane, error.value.address, error.value.width) == (3, 44, 8)


def test_tables_of_other_shapes():
    tally, lanes = counts.Tally("global", "load", 4), np.zeros((2, 32), int)
    with pytest.raises(ValueError, match="addresses must have the modes"):
        tally.add(lanes[:, :31], lanes[:, :31] == 0, {0: 1})
    with pytest.raises(ValueError, match="active must have the shape"):
        tally.add(lanes, lanes[:1] == 0, {0: 1})
    with pytest.raises(ValueError, match="useful must have the shape"):
        counts.AsyncTally(4).add(lanes, lanes, lanes == 0, lanes == 0, {0: 1}, lanes[:1])
    with pytest.raises(ValueError, match="width = 2 bytes"):
        counts.AsyncTally(2)
    with pytest.raises(ValueError, match="a tile of 0 coordinates"):
        groups([Mode(2, 0, 8, 4)])


# ---- cp.async ----


def asyncs(random, width, rows):
    """Requests of which a third read side by side; no two lanes write one place."""
    source = random.integers(0, 40, (rows, 32)) * width
    source[: rows // 3] = np.arange(32) * width + random.integers(0, 8, (rows // 3, 1)) * width
    destination = np.argsort(random.random((rows, 64)), axis=1)[:, :32] * width
    active = random.random((rows, 32)) < random.choice([0.3, 0.9, 1.1], (rows, 1))
    active[:, 5] = True
    return source, destination, active


def each_async(sources, destinations, active, width):
    """What the rules of one cp.async say."""
    lanes = (sources.tolist(), destinations.tolist())
    return async_access(*lanes, width, cache="cg" if width == 16 else "ca", active=active.tolist())


@pytest.mark.parametrize("width", [4, 8, 16])
def test_a_cp_async_is_as_the_rules_say(width):
    source, destination, active = asyncs(np.random.default_rng(width), width, 200)
    for i in range(len(source)):
        tally, one = AsyncTally("x", width), each_async(source[i], destination[i], active[i], width)
        row = slice(i, i + 1)
        tally.add(source[row], destination[row], active[row], active[row], {0: 1})
        sides = [side.instruction() for side in (tally.source, tally.destination)]
        assert [side.worst for side in sides] == [one.source, one.destination]
        assert (sides[1].counted, sides[1].ideal_counted) == (one.counted, one.ideal_counted)
        assert sides[0].asked_sectors == one.asked_sectors
        assert tally.source.lanes == tuple(source[i][active[i]].tolist())
        assert tally.destination.lanes == tuple(destination[i][active[i]].tolist())


@pytest.mark.parametrize("width", [4, 8, 16])
def test_a_cp_async_is_the_sum_of_all_tiles(width):
    random = np.random.default_rng(width)
    source, destination, active = asyncs(random, width, 10)
    source[1::2], destination[1::2], active[1::2] = source[::2] + 3 * width, destination[::2] + LINE, active[::2]
    modes = [Mode(5, 1, 5, 3 * width), Mode(4, 1, 4, -LINE - width)]
    tally = AsyncTally("x", width)
    for group in groups(modes):
        tally.add(source, destination, active, active, group.residues)
    every = [
        each_async(source[i] + start + 2 * LINE * width, destination[i], active[i], width)
        for _, _, start, _ in visited(modes, 0)
        for i in range(10)
    ]
    for side, name in ((tally.source, "source"), (tally.destination, "destination")):
        found, one = side.instruction(), [getattr(x, name) for x in every]
        assert found.requests == len(every) == 200
        assert [getattr(found, x) for x in SUMMED] == [sum(getattr(y, x) for y in one) for x in SUMMED]
        every_one = (found.worst, *one)
        beyond = [(x.alone or x.wavefronts) - x.ideal_wavefronts + x.sectors - x.ideal_sectors for x in every_one]
        assert beyond[0] == max(beyond[1:])
    written = tally.destination.instruction()
    assert written.counted == sum(x.counted for x in every)
    assert written.ideal_counted == sum(x.ideal_counted for x in every)
    assert tally.source.instruction().asked_sectors == sum(x.asked_sectors for x in every)


def test_the_worst_cp_async_is_the_one_with_the_most_ways():
    """Not the one with the most wavefronts, where lanes conflict on both sides."""
    lanes, everyone = np.arange(32), np.ones((1, 32), bool)
    both = 4 * (lanes % 8) + 128 * (lanes // 8), 128 * (lanes % 8) + 4 * (lanes // 8)
    one = 4 * lanes, np.where(lanes < 9, 128 * lanes, 4 * lanes)
    tally = AsyncTally("x", 4)
    for source, destination in (both, one):
        tally.add(source[None], destination[None], everyone, everyone, {0: 1})
    requests = [async_access(*(x.tolist() for x in pair), 4, cache="ca").destination for pair in (both, one)]
    assert [(x.wavefronts, x.ways) for x in requests] == [(11, 8), (9, 9)]
    assert tally.destination.instruction().worst == requests[1]


def test_lanes_that_only_write():
    row, everyone = 16 * np.arange(32)[None], np.ones((1, 32), bool)
    tally = AsyncTally("x", 16)
    tally.add(row, row, ~everyone, everyone, {0: 2})
    assert tally.source.instruction() is None
    assert tally.destination.instruction().requests == 2
    tally = AsyncTally("x", 16)
    tally.add(row, row, np.arange(32)[None] < 8, everyone, {0: 2}, np.full((1, 32), 6))
    assert (tally.source.instruction().bytes_useful, tally.source.instruction().lanes) == (96, 8)
    assert tally.destination.instruction().lanes == 32


@pytest.mark.parametrize("width", [4, 8, 16])
def test_lanes_that_write_zeros_are_counted_as_the_rules_say(width):
    random = np.random.default_rng(width)
    source, destination, there = asyncs(random, width, 200)
    reads = there & (random.random(there.shape) < random.choice([0.1, 0.5, 1.1], (len(there), 1)))
    for i in range(len(source)):
        lanes = (source[i].tolist(), destination[i].tolist())
        cache = "cg" if width == 16 else "ca"
        one = async_access(*lanes, width, cache=cache, active=there[i].tolist(), reads=reads[i].tolist())
        tally, row = AsyncTally("x", width), slice(i, i + 1)
        tally.add(source[row], destination[row], reads[row], there[row], {0: 1})
        made = tally.destination.instruction()
        assert (made.worst, made.counted, made.ideal_counted) == (one.destination, one.counted, one.ideal_counted)
        assert not reads[i].any() or tally.source.instruction().worst == one.source
