"""The memory instructions of a packed copy: what kernels/tilewright/packed_copy.cuh executes, and how often.

Tiles that are cut alike and begin at the same byte of an access make the same requests: they are counted, and one of
them is looked at. Tiles at the ends of the source's memory, which are read by elements there, are looked at alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.analysis.totals.totals import Tally
from tilewright.kernels.copy.packed import COLUMN, READ, RUN, THREADS, Packed, packed_of_plan

if TYPE_CHECKING:
    from tilewright.analysis.totals.totals import Booleans, Integers, Residues
    from tilewright.kernels.copy.plan import CopyPlan

__all__ = ["packed_tallies"]

LINE, WARP = 128, 32
READS = 4  # accesses of a thread that are under way before it waits for the first


class Tiles(NamedTuple):
    """All tiles: where the tensor ends in each (tiles, modes), and the addresses of their first elements."""

    end: Integers
    src: Integers
    dst: Integers


def packed_tallies(
    plan: CopyPlan, grid: tuple[int, ...], src_address: int, dst_address: int, memory: tuple[int, int]
) -> list[Tally]:
    """The requests of a launch; addresses and the source's memory count from a line of 128 bytes."""
    p, size = plan.problem, plan.problem.element_bytes
    tile, store = packed_of_plan(plan), size * plan.store_vector
    tiles = _tiles(tile, grid, src_address + size * p.src_offset, dst_address + size * p.dst_offset)
    counted = _Counted(tile, store)
    alone = _reaches_over(tile, tiles, memory)
    for chosen, exact in ((~alone, False), (alone, True)):
        whole = np.where(exact, tiles.src, tiles.src % READ)
        for end, at, starts in _classes(tiles, chosen, whole, tiles.src):
            counted.loads(end, at, starts, memory if exact else None)
    for end, at, starts in _classes(
        tiles, np.ones(len(tiles.src), bool), tiles.dst % store, tiles.dst, tiles.src % tile.put
    ):
        counted.stores(end, at[0], at[1], starts)
    counted.columns(plan.ctas)
    return counted.tallies


def _tiles(tile: Packed, grid: tuple[int, ...], src: int, dst: int) -> Tiles:
    run, runs, *others = grid
    index = np.indices((run * runs, *others)).reshape(len(tile.tile), -1).T
    origin = index * np.array(tile.tile)
    end = np.clip(np.array(tile.extents) - origin, 0, np.array(tile.tile))
    return Tiles(end, src + origin @ np.array(tile.src), dst + origin @ np.array(tile.dst))


def _reaches_over(tile: Packed, tiles: Tiles, memory: tuple[int, int]) -> Booleans:
    """The tiles with accesses that would reach over an end of the source's memory."""
    reach = (np.maximum(tiles.end, 1) - 1) * np.array(
        [0 if x else d for d, x in zip(tile.src, tile.in_run, strict=True)]
    )
    length = tile.bytes + (np.maximum(tiles.end, 1) - 1) @ np.array(
        [d if x else 0 for d, x in zip(tile.shared, tile.in_run, strict=True)]
    )
    first = tiles.src + np.minimum(reach, 0).sum(1)
    last = tiles.src + np.maximum(reach, 0).sum(1) + length
    over: Booleans = (first & -READ) < memory[0]
    over |= ((last + READ - 1) & -READ) > memory[1]
    return over & (tile.bytes < READ)


def _classes(
    tiles: Tiles, chosen: Booleans, at: Integers, address: Integers, other: Integers | None = None
) -> list[tuple[tuple[int, ...], Any, Residues]]:
    """(ends, what tiles of a class have in common of `at` and of `other`, how many begin at each byte of a line)."""
    if not chosen.any():
        return []
    key = [*tiles.end[chosen].T, at[chosen], *([] if other is None else [other[chosen]])]
    starts = (address[chosen] - at[chosen]) % LINE
    found, counts = np.unique(np.stack([*key, starts], 1), axis=0, return_counts=True)
    rank = tiles.end.shape[1]
    classes: dict[Any, dict[int, int]] = {}
    for row, count in zip(found.tolist(), counts.tolist(), strict=True):
        common = (*row[:rank],), (row[rank] if other is None else (row[rank], row[rank + 1]))
        classes.setdefault(common, {})[row[-1]] = count
    return [(*common, starts) for common, starts in classes.items()]


class _Counted:
    """Tallies of every instruction, and the requests of one tile for each."""

    def __init__(self, tile: Packed, store: int) -> None:
        self.tile, self.store, self.count = tile, store, store // tile.bytes
        size = tile.bytes
        self.load = Tally("load", "global", "load", READ)
        self.put = Tally("put into shared", "shared", "store", tile.put)
        self.load_edges = Tally("load, edges", "global", "load", size)
        self.put_edges = Tally("put into shared, edges", "shared", "store", size)
        self.take = Tally("take from shared", "shared", "load", size)
        self.whole = Tally("store", "global", "store", store)
        widths = [w for w in (8, 4, 2, 1) if size <= w < store]
        self.ends = {w: Tally("store, edges", "global", "store", w) for w in widths}
        self.place = Tally("place runs", "shared", "store", RUN)
        self.look = Tally("look up runs", "shared", "load", RUN)
        self.place_column = Tally("place columns", "shared", "store", COLUMN)
        self.look_column = Tally("look up columns", "shared", "load", COLUMN)

    @property
    def tallies(self) -> list[Tally]:
        return [
            self.load, self.put, self.load_edges, self.put_edges, self.take, self.whole, *self.ends.values(),
            self.place, self.look, self.place_column, self.look_column,
        ]  # fmt: skip

    def columns(self, ctas: int) -> None:
        """The table of columns, which a CTA makes once."""
        index = np.arange(self.tile.columns + 2)
        _add(self.place_column, self.tile.tables[2] + COLUMN * index, np.ones(len(index), bool), {0: ctas})

    def _runs(
        self, modes: tuple[int, ...], strides: tuple[int, ...], end: tuple[int, ...], table: int, tiles: int
    ) -> Any:
        """Offsets of runs in memory and in shared memory, and which are inside; their table is made."""
        extents = [self.tile.tile[i] for i in modes]
        index = np.arange(math.prod(extents))
        _add(self.place, self.tile.tables[table] + RUN * index, np.ones(len(index), bool), {0: tiles})
        coordinates = np.array(np.unravel_index(index, extents, order="F") if modes else np.zeros((0, 1)), np.int64)

        def offsets(steps: tuple[int, ...]) -> Integers:
            found: Integers = np.array([steps[i] for i in modes], np.int64) @ coordinates
            return found

        inside = (coordinates < np.array([[end[i]] for i in modes], np.int64).reshape(-1, 1)).all(0)
        return offsets(strides), offsets(self.tile.shared), inside & (min(end) > 0)

    def loads(self, end: tuple[int, ...], src: int, starts: Residues, memory: tuple[int, int] | None) -> None:
        tile, tiles = self.tile, sum(starts.values())
        address, shared, inside = self._runs(tile.run_modes, tile.src, end, 0, tiles)
        address = address + src
        begin = tile.image(self.store)[0]
        shared = shared + begin + READ + src % tile.put
        length = tile.bytes + sum((e - 1) * d for e, d, x in zip(end, tile.shared, tile.in_run, strict=True) if x)
        slot = np.arange(tile.src_runs * tile.src_words)
        run = slot // tile.src_words
        # A thread looks up READS of them together, beyond the last one this one; at the ends of the memory each alone.
        reads = READS if memory is None else 1
        together = np.arange(-(-len(slot) // (reads * THREADS)) * reads * THREADS).reshape(-1, reads, THREADS)
        asked, active = np.broadcast_arrays(np.minimum(together, len(slot) - 1), together[:, :1] < len(slot))
        _add(self.look, tile.tables[0] + RUN * (asked // tile.src_words).ravel(), active.ravel(), {0: tiles})
        first = slot % tile.src_words * READ - address[run] % READ
        active = inside[run] & (first < length)
        alone = np.zeros(len(slot), bool)
        if memory is not None:
            over = ((address & -READ) < memory[0]) | (((address + length + READ - 1) & -READ) > memory[1])
            alone = active & over[run]
        _add(self.load, address[run] + first, active & ~alone, starts)
        for j in range(READ // tile.put):
            turned = (j + slot % WARP // 8) % (READ // tile.put) * tile.put
            _add(self.put, shared[run] + first + turned, active & ~alone, {0: tiles})
        element = np.maximum(first, 0)
        for j in range(0, READ, tile.bytes) if alone.any() else ():
            there = alone & (element + j < np.minimum(first + READ, length))
            _add(self.load_edges, address[run] + element + j, there, starts)
            _add(self.put_edges, shared[run] + element + j, there, {0: tiles})

    def stores(self, end: tuple[int, ...], dst: int, src: int, starts: Residues) -> None:
        tile, tiles, count = self.tile, sum(starts.values()), self.count
        modes = tuple(range(tile.dst_run_modes, len(tile.tile)))
        address, shared, inside = self._runs(modes, tile.dst, end, 1, tiles)
        address = address + dst
        shared = shared + tile.image(self.store)[0] + READ + src
        elements = math.prod(end[: tile.dst_run_modes])
        words = tile.dst_words(self.store)
        slot = np.arange(tile.dst_runs * words)
        run = slot // words
        _add(self.look, tile.tables[1] + RUN * run, np.ones(len(slot), bool), {0: tiles})
        first = slot % words * count - address[run] % self.store // tile.bytes
        active = inside[run] & (first < elements)
        self._take(shared[run], first, slot % WARP, active, tiles)
        to, left = address[run] + first * tile.bytes, elements - first
        whole = active & (first >= 0) & (left >= count)
        _add(self.whole, to, whole, starts)
        part = active & ~whole
        ends = part & ((first >= 0) | (left >= count))
        moved = np.where(first >= 0, left, count + first) * tile.bytes
        for width, tally in self.ends.items() if self.store >= 4 else ():
            at = np.where(first >= 0, moved & (-2 * width), self.store - (moved & -width))
            _add(tally, to + at, ends & (moved & width > 0), starts)
        if self.store < 4:  # every element alone
            for j in range(count):
                _add(
                    self.ends.get(tile.bytes, self.whole),
                    to + j * tile.bytes,
                    part & (first + j >= 0) & (j < left),
                    starts,
                )
            return
        for j in range(count) if (part & ~ends).any() else ():  # both ends in one word: counted from its first element
            at = np.maximum(-first, 0) + j
            _add(self.ends[tile.bytes], to + at * tile.bytes, part & ~ends & (at < left), starts)

    def _take(self, shared: Integers, first: Integers, lane: Integers, active: Booleans, tiles: int) -> None:
        """The elements of words, and the columns that they are in."""
        tile, count, along, period = self.tile, self.count, self.tile.shared[0], self.tile.tile[0]
        column, row = (first + period) // period, (first + period) % period
        if tile.columns > 1:
            for j in (0, 1):
                _add(self.look_column, tile.tables[2] + COLUMN * (column + j), active, {0: tiles})
        index = np.clip(np.arange(tile.columns + 2) - 1, 0, tile.columns - 1)
        at = np.zeros(len(index), np.int64)
        for i in range(1, tile.dst_run_modes):
            at += index % tile.tile[i] * tile.shared[i]
            index = index // tile.tile[i]
        turn = lane * count // WARP if self.store >= 4 else np.zeros_like(lane)
        for k in range(count):
            step = (k - turn) % count
            if tile.columns == 1:
                offset = (first + step) * along
            else:
                beyond = row + step >= period
                reached = np.minimum(column + beyond, tile.columns + 1)  # of lanes that do not take part: anything
                offset = at[reached] + (row + step - beyond * period) * along
            _add(self.take, shared + offset, active, {0: tiles})


def _add(tally: Tally, addresses: Integers, active: Booleans, starts: Residues) -> None:
    """Count what the threads of a CTA access in turn, the first ones first, by warps of which some lane does."""
    pad = -len(addresses) % WARP
    lanes = np.pad(addresses, (0, pad)).reshape(-1, WARP)
    takes = np.pad(active, (0, pad)).reshape(-1, WARP)
    made = takes.any(1)
    if made.any():
        tally.add(np.ascontiguousarray(lanes[made]), np.ascontiguousarray(takes[made]), starts)
