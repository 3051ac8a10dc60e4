"""The packed plan of a copy: a tile over so many modes that what is read and what is written lies together.

A source run takes the modes that are nearest in the source, until it has a given length; a destination run likewise.
The tile has both. Of several lengths the model of cost.py says the best. Modes that a source run does not have get a
stride in shared memory at which the lanes of a warp meet in few banks.
"""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any, NamedTuple

from tilewright import _core
from tilewright.kernels.copy.cost import Cost, cost_of_packed
from tilewright.kernels.copy.numbers import PACKED
from tilewright.kernels.copy.packed import MOST, READ, Packed, packed_of, packed_of_plan
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.problem import CopyProblem

SECTOR, WARP, BANKS, WORD = 32, 32, 32, 4
SPAN = 1 << 30  # bytes that tiles of one run may span in the source
GAP = SECTOR  # bytes between elements that are read all the same
COLUMNS = 64  # of a run, whose places take as long as a tile's
STEPS = 8  # distances between runs that are tried


class Packing(NamedTuple):
    """A tile, its strides in shared memory, and its accesses."""

    tile: tuple[int, ...]
    shared: tuple[int, ...]
    packed: Packed
    unit: int
    store: int
    tiles_of_cta: int
    cost: Cost


def packings(problem: CopyProblem, src_align: int, dst_align: int) -> list[Packing]:
    """What is chosen from: one for each tile; none where elements lie apart in the source or in the destination."""
    size = problem.element_bytes
    steps = ((abs(d), d) for d, e in zip(problem.src_strides, problem.extents, strict=True) if e > 1 and d)
    nearest = min(steps, default=(0, -1))
    if problem.dst_strides[0] != 1 or nearest[1] < 0 or nearest[0] * size > GAP or size == READ:
        return []
    unit = _unit(problem, min(src_align, dst_align))
    tiles = {
        tile
        for src, dst in itertools.product(PACKED.runs, repeat=2)
        if (tile := _tile(problem, src // size, dst // size, unit)) is not None
    }
    return [x for tile in sorted(tiles) if (x := _packing(problem, tile, unit)) is not None]


def fastest(problem: CopyProblem, found: list[Packing]) -> list[Packing]:
    """The fastest of those found by the model, with the runs in shared memory apart by what suits it; none of none."""
    best: list[Packing] = []
    for each in sorted(found, key=_clocks):
        if best and best[0].cost.clocks <= each.cost.clocks:
            break
        best = [min((*best, _apart(problem, each)), key=_clocks)]
    return best


def _clocks(packing: Packing) -> float:
    return packing.cost.clocks


def _apart(problem: CopyProblem, packing: Packing) -> Packing:
    """The same tile with runs in shared memory so far from each other that lanes meet in few banks."""
    lanes = _lanes(packing.packed.tile, packing.store // packing.packed.bytes)
    apart: list[Packing] = []
    for put in (READ, max(packing.packed.bytes, WORD)):
        steps = (_packing(problem, packing.tile, packing.unit, put, step, lanes) for step in range(STEPS))
        apart += [x for x in steps if x is not None]
        if any(x.cost.clocks <= packing.cost.clocks for x in apart):
            break
    return min(apart, key=_clocks, default=packing)


def choose_packing(problem: CopyProblem, src_align: int, dst_align: int) -> Packing | None:
    """The fastest one by the model; None where there is none."""
    return next(iter(fastest(problem, packings(problem, src_align, dst_align))), None)


def cost_of_plan(plan: CopyPlan) -> Cost:
    """What a packed plan costs."""
    packed, store = packed_of_plan(plan), plan.store_vector * plan.problem.element_bytes
    conflicts = _conflicts(packed, _lanes(packed.tile, store // packed.bytes))
    return cost_of_packed(packed, store, conflicts, plan.tiles_of_cta, packed.image(store)[1])


def packed_copy(problem: CopyProblem, src_align: int, dst_align: int) -> CopyPlan | None:
    """The packed plan, whether or not another one is faster, for pointers with these alignments in bytes."""
    packing = choose_packing(problem, src_align, dst_align)
    return None if packing is None else packed_plan(problem, packing)


def tiles_in_run(problem: CopyProblem, tile: int, shift: int) -> tuple[int, bool]:
    """The tiles along mode 0 that are read from no more than SPAN bytes, and whether such runs divide the tiles."""
    tiles = -(-(problem.extents[0] + max(shift - 1, 0)) // tile)
    most = max(SPAN // max(tile * abs(problem.src_strides[0]) * problem.element_bytes, 1), 1)
    runs = -(-tiles // most)
    run = -(-tiles // runs)
    return run, run * runs == tiles


def packed_plan(problem: CopyProblem, packing: Packing) -> CopyPlan:
    """The plan of a packing."""
    size, rank = problem.element_bytes, len(problem.extents)
    order = sorted(range(rank), key=lambda i: (problem.src_strides[i] == 0, abs(problem.src_strides[i])))
    return CopyPlan(
        problem=problem, kernel="packed", tile=packing.tile, load_tv=_in_order(packing.tile, order),
        store_tv=_in_order(packing.tile, list(range(rank))), load_vector=max(READ // size, 1),
        store_vector=packing.store // size, smem=_core.make_layout(packing.tile, stride=packing.shared),
        src_mode=order[0], dst_mode=0, src_step=problem.src_strides[order[0]],
        smem_store=packing.packed.put // size, smem_load=packing.unit,
        tiles_in_run=tiles_in_run(problem, packing.tile[0], 0)[0],
        tiles_of_cta=packing.tiles_of_cta,
    )  # fmt: skip


def _in_order(tile: tuple[int, ...], order: list[int]) -> Any:
    """(thread, value) of a tile whose elements go to threads one by one, in the order of modes."""
    modes = [i for i in order if tile[i] > 1] or [0]
    return _core.make_layout(
        (tuple(tile[i] for i in modes), (1,)), stride=(tuple(1 * _core.E(i) for i in modes), (0 * _core.E(0),))
    )


def _unit(problem: CopyProblem, align: int) -> int:
    """The elements that lie together on both sides along mode 0, and are moved as one."""
    size, unit = problem.element_bytes, 1
    if problem.src_strides[0] != 1:
        return 1
    others = [*problem.src_strides[1:], *problem.dst_strides[1:]]
    while unit * size < 8:
        twice = 2 * unit
        if problem.extents[0] % twice or any(d % twice for d in others) or align % (twice * size):
            break
        unit = twice
    return unit


def _take(extent: int, want: int, multiple: int) -> int:
    """So many elements of a mode that its parts are about equal."""
    if want >= extent:
        return extent
    parts = max(extent // max(want, 1), 1)
    share = -(-extent // parts)
    return min(-(-share // multiple) * multiple, extent)


def _tile(problem: CopyProblem, src: int, dst: int, unit: int) -> tuple[int, ...] | None:
    """The tile whose runs have about so many elements; None where it is too large for shared memory."""
    extents, size, rank = problem.extents, problem.element_bytes, len(problem.extents)
    tile = [1] * rank
    tile[0] = unit
    whole = SECTOR // size if size <= SECTOR else 1

    def grow(strides: tuple[int, ...], want: int, gap: int) -> None:
        """Along the modes that lie together, nearest first."""
        length, reach = 1, 1
        for i in sorted((i for i in range(rank) if strides[i] > 0 and extents[i] > 1), key=lambda i: strides[i]):
            if length >= want or (strides[i] - reach) * size >= gap:
                break
            multiple = max(whole if strides[i] == 1 and want // length >= whole else 1, unit if i == 0 else 1)
            take = _take(extents[i], -(-want // length), multiple)
            tile[i] = max(tile[i], take)
            length *= tile[i]
            reach += (tile[i] - 1) * strides[i]
            if tile[i] < extents[i]:
                break

    grow(problem.src_strides, src, GAP)
    grow(problem.dst_strides, dst, 1)
    order = [*range(rank)]
    for i in order:  # what is left of shared memory
        while tile[i] < extents[i] and 2 * math.prod(tile) * size <= PACKED.least:
            tile[i] = min(2 * tile[i], extents[i])
    return tuple(tile) if math.prod(tile) * size <= PACKED.most and math.prod(tile) <= MOST else None


def _packing(
    problem: CopyProblem, tile: tuple[int, ...], unit: int, put: int = READ, step: int = 0,
    lanes: list[tuple[int, ...]] | None = None,
) -> Packing | None:  # fmt: skip
    """A tile whose runs lie in shared memory as in memory modulo `put` bytes, so many times `step` further apart than
    they must, and the wavefronts in which `lanes` take elements from it. None where it is too large for shared
    memory."""
    shared = _strides(problem, tile, put, step * put)
    packed = packed_of(problem, tile, shared, unit)
    store = READ
    while store // packed.bytes > packed.tile[0]:
        store //= 2
    begin, end = packed.image(store)
    if end > PACKED.most or 2 * begin > end:
        return None
    conflicts = PACKED.usual if lanes is None else _conflicts(packed, lanes)
    tiles = math.prod(-(-e // t) for e, t in zip(problem.extents, tile, strict=True))
    tiles_of_cta = min(max(tiles // PACKED.many, 1), PACKED.again if packed.columns > COLUMNS else 1)
    cost = cost_of_packed(packed, store, conflicts, tiles_of_cta, end)
    return Packing(tile, shared, packed, unit, store, tiles_of_cta, cost)


def _strides(problem: CopyProblem, tile: tuple[int, ...], put: int, extra: int) -> tuple[int, ...]:
    """The strides in shared memory: of a run those of the source; else, modulo what is put in at once, the same."""
    size, rank = problem.element_bytes, len(tile)
    shared, reach = [0] * rank, 1
    order = sorted(
        (i for i in range(rank) if tile[i] > 1 and problem.src_strides[i] > 0), key=problem.src_strides.__getitem__
    )
    run: list[int] = []
    for i in order:
        if (problem.src_strides[i] - reach) * size >= GAP or (run and tile[run[-1]] < problem.extents[run[-1]]):
            break
        run.append(i)
        shared[i] = problem.src_strides[i]
        reach += (tile[i] - 1) * shared[i]
    granule, apart = max(put // size, 1), -(-(READ - 1) // size)
    for i in range(rank):
        if i in run or tile[i] == 1:
            continue
        least = reach + apart + extra // size
        shared[i] = least + (problem.src_strides[i] - least) % granule
        reach += (tile[i] - 1) * shared[i]
        extra = 0
    return tuple(d or 1 for d in shared)


def _lanes(tile: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """The coordinates of the elements that a warp takes first, one of each of its words."""
    found = []
    for lane in range(WARP):
        at, c = lane * count + -(lane * count // WARP) % count, []
        for t in tile:
            c.append(at % t)
            at //= t
        found.append(tuple(c))
    return found


def _conflicts(packed: Packed, lanes: list[tuple[int, ...]]) -> int:
    """The wavefronts in which lanes take an element each."""
    addresses = [sum(map(operator.mul, c, packed.shared)) for c in lanes]
    words = {(x + part) // WORD for x in addresses for part in range(0, packed.bytes, WORD)}
    banks = [0] * BANKS
    for word in words:
        banks[word % BANKS] += 1
    return max(banks)
