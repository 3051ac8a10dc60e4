"""The rule by which a copy gets its plan.

Where both sides are contiguous in the same mode, or one of them in none, threads go through registers ("direct"): the
widest access that alignment allows, neighbouring threads on neighbouring addresses of the destination. Where the two
sides are contiguous in different modes, a tile that is long in both goes through shared memory ("staged"): it is read
along the source's mode and written along the destination's, both by wide accesses, and swizzled so that neither meets
bank conflicts. So does a source that has small steps along another mode than the destination's. Rows that begin at any
address are realigned on the way, where that takes fewer instructions (rows.py); short ones are in one tile as a whole.
Where not all accesses are as wide as they can be, a tile over several modes may be faster ("packed", packing.py): the
model of cost.py says how long either takes.
"""

from __future__ import annotations

import math
from typing import Any

from tilewright import _core
from tilewright.analysis.bank_conflicts import take_wavefronts, wavefronts
from tilewright.devices import H200
from tilewright.kernels.copy.numbers import COST, NUMBERS
from tilewright.kernels.copy.packing import choose_packing, packed_plan, tiles_in_run
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.problem import CopyProblem
from tilewright.kernels.copy.rows import WORD, Accesses, loads, moves, stores
from tilewright.kernels.copy.rows_cost import cost_of_rows

ACCESS = 16  # bytes of the widest access
SECTOR = 32  # bytes that the memory moves at least
LINE, WARP = 128, 32  # bytes that it moves in the same time where they are together; threads
PHASE = 128  # bytes that shared memory serves at once
STEPS = (1, 2, 4, 8)  # strides of the source with which accesses are read at once


def choose_copy(problem: CopyProblem, src_align: int, dst_align: int) -> CopyPlan:
    """The plan for a problem whose pointers (of coordinate 0) have these alignments in bytes."""
    plan = copy_by_rows(problem, src_align, dst_align)
    if math.prod(problem.extents) * problem.element_bytes < NUMBERS.large or _is_wide(plan):
        return plan
    packing = choose_packing(problem, src_align, dst_align)
    if packing is None or packing.cost.seconds >= COST.clearly * cost_of_rows(plan).seconds:
        return plan
    return packed_plan(problem, packing)


def copy_by_rows(problem: CopyProblem, src_align: int, dst_align: int) -> CopyPlan:
    """The direct or staged plan, whether or not a packed one is faster."""
    src_unit = _unit_mode(problem.extents, problem.src_strides)
    dst_unit = _unit_mode(problem.extents, problem.dst_strides)
    along = src_unit if src_unit is not None else _stepped_mode(problem)
    if along is not None and dst_unit is not None and along != dst_unit:
        return _staged(problem, along, dst_unit, src_align, dst_align)
    return _direct(problem, src_unit, dst_unit, src_align, dst_align)


def _is_wide(plan: CopyPlan) -> bool:
    """Whether all accesses have 16 bytes, and nothing is done but to move them: nothing is faster than that."""
    wide = min(plan.load_vector, plan.store_vector) * plan.problem.element_bytes == ACCESS
    moves = plan.kernel == "direct" and plan.src_step == 1
    return wide and (moves or (plan.src_aligned and not plan.dst_shift))


def _unit_mode(extents: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    return next((i for i, (e, d) in enumerate(zip(extents, strides, strict=True)) if d == 1 and e > 1), None)


def _stepped_mode(problem: CopyProblem) -> int | None:
    """The mode with the source's smallest step, where several elements lie in a sector and it is not short."""
    size = problem.element_bytes
    steps = [(abs(d), i) for i, d in enumerate(problem.src_strides) if d and problem.extents[i] > 1]
    step, mode = min(steps, default=(SECTOR, 0))
    return mode if 2 * step * size <= SECTOR and step * problem.extents[mode] >= ACCESS * size else None


def _vector(problem: CopyProblem, strides: tuple[int, ...], mode: int, align: int, step: int = 1) -> int:
    """The elements of the widest access along a mode: 16 bytes, less where an address or another stride is odd."""
    size = problem.element_bytes
    vector = ACCESS // (size * step)
    while vector > 1:
        width = vector * step * size
        others = (d for i, d in enumerate(strides) if i != mode and problem.extents[i] > 1)
        if align % width == 0 and all(d * size % width == 0 for d in others):
            break
        vector //= 2
    return max(vector, 1)


def _below(vector: int, extent: int) -> int:
    """No wider than the mode is long."""
    while vector > extent:
        vector //= 2
    return vector


def deal(
    rank: int,
    extents: tuple[int, ...],
    order: list[int],
    vector: int,
    threads: int,
    lanes: dict[int, int],
    width: int = 1,
) -> Any:
    """The thread-value layout that deals a tile out to threads: (thread, value) -> coordinate.

    The first mode of `order` is cut into accesses of `vector` elements; then the modes in that order get as many
    threads as there are left and they divide into, at most `lanes[mode]` of them in a first round. What is left of a
    mode becomes values. With a width, a thread has that many neighbours along the second mode of the order as well.
    """
    left = list(extents)
    unit = [1] * rank
    first, second = order[0], order[1] if len(order) > 1 else order[0]
    left[first] //= vector
    unit[first] = vector
    if width > 1:
        left[second] //= width
        unit[second] = width
    threads_shape: list[int] = []
    threads_stride: list[Any] = []
    budget = threads
    for limit in (lanes, {}):
        for mode in order:
            most = min(budget, limit.get(mode, budget), left[mode])
            count = next(n for n in range(most, 0, -1) if left[mode] % n == 0)
            if count > 1:
                threads_shape.append(count)
                threads_stride.append(unit[mode] * _core.E(mode))
                left[mode] //= count
                unit[mode] *= count
                budget //= count
    values_shape, values_stride = [vector], [1 * _core.E(first)]
    if width > 1:
        values_shape.append(width)
        values_stride.append(1 * _core.E(second))
    for mode in order:
        if left[mode] > 1:
            values_shape.append(left[mode])
            values_stride.append(unit[mode] * _core.E(mode))
    return _core.make_layout(
        (tuple(threads_shape) or (1,), tuple(values_shape)),
        stride=(tuple(threads_stride) or (0 * _core.E(first),), tuple(values_stride)),
    )


def _fit(extent: int, target: int, multiple: int) -> int:
    """The extent of a tile along a mode: near the target, so that the last tile wastes little."""
    if extent >= 8 * target or extent % target == 0:
        return target
    count = -(-extent // target)
    share = -(-extent // count)
    return -(-share // multiple) * multiple


def _evenly(count: int, threads: int) -> int:
    """So many accesses, or a few more: those of a tile, so that most of the threads have some of them.

    >>> _evenly(307, 128), _evenly(304, 128), _evenly(97, 128), _evenly(53, 11)
    (309, 304, 97, 55)
    """
    if count <= threads or any(count % n == 0 for n in range(threads, threads // 2, -1)):
        return count
    each = -(-count // threads)
    return -(-count // each) * each


def _predicated(problem: CopyProblem, tile: list[int]) -> bool:
    return any(e % t for e, t in zip(problem.extents, tile, strict=True))


def _direct(
    problem: CopyProblem, src_unit: int | None, dst_unit: int | None, src_align: int, dst_align: int
) -> CopyPlan:
    """The direct plan; of long rows that begin anywhere a realigned one, or one of narrower accesses."""
    plan = _direct_plan(problem, src_unit, dst_unit, src_align, dst_align, is_realigned=True)
    if not plan.dst_shift or plan.problem.extents[plan.dst_mode] * problem.element_bytes < NUMBERS.long:
        return plan
    other = _direct_plan(problem, src_unit, dst_unit, src_align, dst_align, is_realigned=False)
    if other.store_vector * problem.element_bytes < NUMBERS.narrowest:
        return plan
    return min((plan, other), key=lambda x: cost_of_rows(x).seconds)


def _direct_plan(
    problem: CopyProblem,
    src_unit: int | None,
    dst_unit: int | None,
    src_align: int,
    dst_align: int,
    *,
    is_realigned: bool,
) -> CopyPlan:
    extents, size = problem.extents, problem.element_bytes
    rank = len(extents)
    # The mode along which neighbouring threads go: contiguous in the destination, else in the source.
    mode = dst_unit if dst_unit is not None else src_unit if src_unit is not None else 0
    step = problem.src_strides[mode]
    vector, shift, src_aligned = 1, 0, True
    if dst_unit is not None:
        vector = _below(_vector(problem, problem.dst_strides, mode, dst_align), extents[mode])
        if vector * size < ACCESS and is_realigned:
            if extents[mode] * size >= NUMBERS.long:
                vector, shift = ACCESS // size, SECTOR // size
            elif step == 1:
                vector, shift = moves(extents[mode], size, vector)
    if step in (2, 4, 8):
        wide = 1 if shift else _vector(problem, problem.src_strides, mode, src_align, step)
        src_aligned = wide > 1
        if src_aligned or step * size <= WORD:
            vector = min(vector, wide if src_aligned else ACCESS // (step * size))
        else:  # neighbouring threads read neighbouring elements
            vector, shift, step, src_aligned = 1, 0, -1, True
    elif step not in (0, 1):
        if abs(step) * size < SECTOR:  # the fewer elements a thread has, the closer together threads read
            vector = min(vector, max(WORD // size, 1))
            shift = vector if shift and vector > 1 else 0
        step = -1
    if step == 1:
        src_aligned = not shift and _vector(problem, problem.src_strides, mode, src_align) >= vector
    if step > 1 and vector == 1:
        step, src_aligned = -1, True
    order = [mode, *(i for i in range(rank) if i != mode)]
    tile = _direct_tile(problem, order, vector, shift)
    tv = deal(rank, tuple(tile), order, vector, NUMBERS.direct_threads, {})
    return CopyPlan(
        problem=problem, kernel="direct", tile=tuple(tile), load_tv=tv, store_tv=tv, load_vector=vector,
        store_vector=vector, src_mode=mode, dst_mode=mode, src_step=step, src_aligned=src_aligned, dst_shift=shift,
        predicated=_predicated(problem, tile),
    )  # fmt: skip


def _direct_tile(problem: CopyProblem, order: list[int], vector: int, shift: int) -> list[int]:
    """The tile of so many bytes a thread, along the modes in this order; accesses are along the first one.

    A part of a row is of whole lines and warps. Of other modes there are as many rows as threads are left, or all.
    """
    extents, size = problem.extents, problem.element_bytes
    tile = [1] * len(extents)
    threads = NUMBERS.direct_threads
    budget = threads * NUMBERS.direct_bytes[vector * size] // size
    for i in order:
        if budget <= 1:
            break
        is_first = i == order[0]
        unit, grain = (vector, max(vector, shift)) if is_first else (1, 1)
        reach = extents[i] + shift - 1 if is_first and shift else extents[i]  # of a row, wherever it begins
        if reach > budget:
            multiple = max(grain, LINE // size, WARP * vector) if is_first else min(threads, budget)
            tile[i] = _fit(extents[i], max(budget // multiple, 1) * multiple, multiple)
        else:
            tile[i] = -(-reach // grain) * grain
        tile[i] = -(-_evenly(tile[i] // unit, threads) * unit // grain) * grain
        budget //= tile[i]
        threads //= max(n for n in range(1, threads + 1) if tile[i] // unit % n == 0)
    return tile


def _staged_tile(
    problem: CopyProblem, src_unit: int, dst_unit: int, run: tuple[int, int], *, is_short: bool
) -> list[int]:
    """A tile that is run[0] elements long in the order of the source's memory and run[1] in the destination's.

    With short rows that begin anywhere, whose ends cost more than the rest of a tile, it has whole ones up to twice the
    length.
    """
    tile = [1] * len(problem.extents)
    for strides, unit, target in (
        (problem.src_strides, src_unit, run[0]),
        (problem.dst_strides, dst_unit, run[1]),
    ):
        order = sorted((i for i, d in enumerate(strides) if d > 0 or i == unit), key=lambda i: (i != unit, strides[i]))
        length = 1
        for i in order:
            if length >= target:
                break
            want = -(-target // length)
            most = 2 * want if is_short and i == unit else want
            take = problem.extents[i] if problem.extents[i] <= most else _fit(problem.extents[i], want, 1)
            if i != unit and take < problem.extents[i]:
                take = 1 << (take.bit_length() - 1)
            tile[i] = max(tile[i], take)
            length *= tile[i]
            if tile[i] < problem.extents[i]:
                break
    volume = NUMBERS.tile_bytes // problem.element_bytes
    for i in (src_unit, dst_unit, *range(len(tile))):  # modes that are short on one side leave room for others
        others = math.prod(tile) // tile[i]
        while tile[i] < problem.extents[i] and 2 * tile[i] * others <= volume:
            tile[i] *= 2
    return tile


def _cut(problem: CopyProblem, tile: list[int], a: int, d: int, *, is_short: bool) -> None:
    """Halve a tile along its longest modes: one with short rows that is too large, and where most SMs have none."""
    size = problem.element_bytes
    while is_short and math.prod(tile) * size > NUMBERS.largest:
        others = [i for i in range(len(tile)) if i not in (a, d) and tile[i] > 1]
        i = max(others or (a, d), key=tile.__getitem__)
        tile[i] = -(-tile[i] // 2)
    while math.prod(problem.extents) * size >= NUMBERS.large and math.prod(tile) * size > NUMBERS.smallest:
        i = max(a, d, key=tile.__getitem__)
        tiles = math.prod(-(-e // t) for e, t in zip(problem.extents, tile, strict=True))
        if 2 * tiles >= H200.multiprocessors or tile[i] * size < 2 * NUMBERS.shortest:
            break
        tile[i] = -(-tile[i] // 2)


def _staged(problem: CopyProblem, a: int, d: int, src_align: int, dst_align: int) -> CopyPlan:
    """a and d: the modes in which source, but for a step, and destination are contiguous."""
    size, rank = problem.element_bytes, len(problem.extents)
    widest = ACCESS // size
    step = problem.src_strides[a] if problem.src_strides[a] in STEPS else -1
    load = Accesses(1, 0)
    if step > 0:
        load_vector = _below(_vector(problem, problem.src_strides, a, src_align, step), problem.extents[a])
        load = loads(problem.extents[a], size, load_vector, step)
        if step == load_vector == 1 < widest and problem.extents[a] * size >= NUMBERS.long:
            load = Accesses(widest, widest)
        step = step if step == 1 or load.vector > 1 else -1
    load_vector, src_aligned = load.vector, load.shift == 0
    store_vector = _below(_vector(problem, problem.dst_strides, d, dst_align), problem.extents[d])
    if store_vector < widest and problem.extents[d] * size >= NUMBERS.long:
        store_vector, shift = widest, SECTOR // size
    else:
        store_vector, shift = stores(problem.extents[d], size, store_vector)
    runs = NUMBERS.realigned_run if shift else NUMBERS.run if src_aligned else NUMBERS.src_realigned_run
    is_short = bool(shift) and problem.extents[d] < 8 * runs[size][1]
    is_short = is_short or (not src_aligned and problem.extents[a] < 8 * runs[size][0])
    tile = _staged_tile(problem, a, d, runs[size], is_short=is_short)
    _cut(problem, tile, a, d, is_short=is_short)
    tile[a] = -(-tile[a] // load_vector) * load_vector
    if shift and problem.extents[d] <= tile[d]:  # a row is in one tile, wherever it begins
        tile[d] = problem.extents[d] + shift - 1
    tile[d] = -(-tile[d] // max(store_vector, shift)) * max(store_vector, shift)
    in_shared = list(tile)
    in_shared[d] += shift
    src_order = sorted(range(rank), key=lambda i: (i != a, problem.src_strides[i] == 0, abs(problem.src_strides[i])))
    dst_order = sorted(range(rank), key=lambda i: (i != d, problem.dst_strides[i]))
    load_tv = deal(rank, tuple(in_shared), src_order, load_vector, NUMBERS.threads, {})
    # Neighbours along the source's mode that lie in one word of shared memory go to one thread: it takes them out
    # together, or, where the rows of the destination begin differently, the lanes at least meet no bank twice.
    word = 4 // size if size < 4 and store_vector > 1 and tile[a] % (4 // size) == 0 and load_vector * size >= 4 else 1
    width = 1 if shift else word
    lanes = {d: max(PHASE // (store_vector * size), 1), a: 4}
    order = [d, a, *(i for i in dst_order if i not in (a, d))]
    store_tv = deal(rank, tuple(tile), order, store_vector, NUMBERS.threads, lanes, word)
    smem, smem_store = _shared_layout(
        in_shared,
        a,
        [i for i in dst_order if i != a],
        size,
        load_tv,
        load_vector,
        store_tv,
        store_vector,
        width,
        is_short=is_short,
    )
    run, even = tiles_in_run(problem, tile[0], shift)
    return CopyPlan(
        problem=problem, kernel="staged", tile=tuple(tile), load_tv=load_tv, store_tv=store_tv, load_vector=load_vector,
        store_vector=store_vector, smem=smem, src_mode=a, dst_mode=d, src_step=step, src_aligned=src_aligned,
        dst_shift=shift, smem_store=smem_store, smem_load=width, tiles_in_run=run,
        predicated=_predicated(problem, tile) or not even,
    )  # fmt: skip


def _compact(extents: list[int], order: list[int], pad: int) -> Any:
    """Compact in the given order of modes, with padding behind each row of the first mode."""
    strides = [0] * len(extents)
    step = 1
    for i in order:
        strides[i] = step
        step *= extents[i]
        if i == order[0]:
            step += pad
    return _core.make_layout(tuple(extents), stride=tuple(strides))


def _shared_layout(
    extents: list[int], a: int, others: list[int], size: int, load_tv: Any, load_vector: int, store_tv: Any,
    store_vector: int, width: int, *, is_short: bool,
) -> tuple[Any, int]:  # fmt: skip
    """The layout of the tile in shared memory with the fewest wavefronts, and the elements put in at once."""
    order = [a, *others]
    chunk = ACCESS // size
    candidates: list[tuple[Any, int]] = []
    row, swizzled = extents[a], []
    if row & (row - 1) == 0 and row >= 4 * chunk:
        bits = min((row // chunk).bit_length() - 1, 3)
        base = chunk.bit_length() - 1
        shift = row.bit_length() - 1 + store_vector.bit_length() - 1 - base
        if shift >= bits:
            swizzle = _core.make_swizzle(bits, base, shift)
            swizzled.append((_core.make_composed_layout(swizzle, 0, _compact(extents, order, 0)), load_vector))
    # The swizzle of a row of four pieces leaves conflicts. Padding has fewer, but where each thread stores 16 bytes
    # of as many rows.
    if not swizzled or row < 8 * chunk:
        for pad in (0, *(n for n in NUMBERS.pads[is_short] if n * size <= PHASE)):
            pitch = row + pad
            vector = load_vector
            while pitch % vector:
                vector //= 2
            if pitch % width == 0:
                candidates.append((_compact(extents, order, pad), vector))
    candidates.extend(swizzled)

    def cost(candidate: tuple[Any, int]) -> float:
        layout, vector = candidate
        put, take = (
            wavefronts(layout, load_tv, load_vector, vector, size),
            take_wavefronts(layout, store_tv, width, size),
        )
        if is_short:
            return put / load_vector + take / width + 1 / vector  # of an element, with what it takes to put it in
        return put * store_vector + take * load_vector  # per element moved

    return min(candidates, key=cost) if len(candidates) > 1 else candidates[0]
