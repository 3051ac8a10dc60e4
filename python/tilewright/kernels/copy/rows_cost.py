"""What a direct or staged copy costs, whose accesses lie in rows of one mode.

Each of its threads executes everything once, so that a warp's instructions are those of the program but for what only
happens at the ends of rows. The numbers were fitted to the machine code for sm_90a of 163 instantiations, and to 169
random copies on an H200 (docs/copy.md). Since then whole tiles have a program of their own, which looks for no ends;
staged copies are counted as if they looked, which is nearer to the times of 98 copies, 2026-12-01.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.analysis.bank_conflicts import take_wavefronts, wavefronts
from tilewright.devices import H200
from tilewright.kernels.copy import rows
from tilewright.kernels.copy.cost import ACCESS, FAR, LINE, RESERVED, SECTOR, WARP, Cost, in_turn, lack, touched
from tilewright.kernels.copy.numbers import COST

if TYPE_CHECKING:
    from tilewright.kernels.copy.plan import CopyPlan

# Instructions. Of a CTA: for a mode of the tensor, in whose grid it finds its tile, and for a mode of the tile.
GRID, MODE, DIRECT_SHARE = 20, 18, 0.8  # direct copies need less
# Of an access of the source: always, if it may reach over an end, if two are joined, of an element that is read alone.
LOAD, CHECKED_LOAD, JOINED, ALONE = 9, 21, 16, 6
# Of an access of the destination: always, if it may reach over an end, of an element, and more of one that is packed
# with others into a word, where rows begin anywhere, and of an element at the end of such a row.
STORE, CHECKED_STORE, ELEMENT, PACKED_ELEMENT, REALIGNED, PLACED = 3, 17, 0.5, 1.1, 5, 7.7
# Of an access of a direct copy, both sides; that of one that is joined is by the times of 46 copies, 2026-12-01.
MOVE, CHECKED_MOVE, STRIDED_MOVE, JOINED_MOVE = 1, 7, 3, 50
# What the program has besides for accesses that reach over an end of the tensor or of its memory.
END_LOAD, END_JOINED, END_ELEMENT = 55, 95, 2.6

LANES, REGISTERS, MOST_CTAS = 2048, 65536, 32  # of a multiprocessor
MOST_REGISTERS, SPILLED = 255, 4  # of a thread; how much longer it takes where that is too few


class Work(NamedTuple):
    """Of one side of a CTA: accesses of a thread, warps, elements of an access, and the times that all is done."""

    accesses: int
    warps: int
    vector: int
    times: float

    @property
    def requests(self) -> float:
        """Accesses of warps."""
        return self.times * self.warps * self.accesses

    def lines(self, size: int) -> float:
        """The parts of 128 bytes in which all accesses pass."""
        return self.requests * max(1, self.vector * size * WARP / LINE)


def cost_of_rows(plan: CopyPlan) -> Cost:
    """Of a direct or staged copy."""
    times = math.prod(e / t if e > t else 1 for e, t in zip(_reach(plan), plan.tile, strict=True))
    loads = _work(plan.load_tv, plan.load_vector, times)
    stores = _work(plan.store_tv, plan.store_vector, times)
    load, store = _instructions(plan)
    found = DIRECT_SHARE if plan.kernel == "direct" else 1
    found *= GRID * len(plan.tile) + MODE * sum(t > 1 for t in plan.tile)
    each = found + loads.accesses * load + stores.accesses * store
    instructions = plan.ctas * plan.threads / WARP * found + loads.requests * load + stores.requests * store
    clocks = COST.rows + COST.step * each + COST.element * loads.accesses * _ends(plan)
    registers = _registers(plan, loads.accesses, stores.accesses)
    if registers > MOST_REGISTERS:
        clocks *= SPILLED
    waits = in_turn(plan.ctas, _resident(plan, min(registers, MOST_REGISTERS)), clocks)
    program = each + _unused(plan, loads.accesses, stores.accesses)
    return Cost(_sectors(plan), instructions, _wavefronts(plan, loads, stores), plan.ctas, program, waits)


def _reach(plan: CopyPlan) -> list[int]:
    """How far tiles reach: in the destination's mode they begin earlier where its rows begin anywhere."""
    reach = list(plan.problem.extents)
    if plan.dst_shift:
        reach[plan.dst_mode] += plan.dst_shift - 1
    return reach


def _work(tv: Any, vector: int, times: float) -> Work:
    threads, values = (int(_core.size(tv, mode=[i])) for i in (0, 1))
    return Work(values // vector, -(-threads // WARP), vector, times)


def _is_joined(plan: CopyPlan) -> bool:
    width = plan.load_vector * max(plan.src_step, 1) * plan.problem.element_bytes
    return not plan.src_aligned and plan.load_vector > 1 and width >= rows.WORD


def _instructions(plan: CopyPlan) -> tuple[float, float]:
    """Of an access of either side; a direct copy has all of them in the second."""
    v, size = plan.store_vector, plan.problem.element_bytes
    checked, joined = _checked(plan), _is_joined(plan)
    is_alone = plan.src_step == -1 or not (plan.src_aligned or joined)
    alone = ALONE * plan.load_vector * (is_alone and plan.load_vector > 1)
    ends = 0.0
    if plan.dst_shift:  # in the warps that have an end of a row
        row = min(plan.problem.extents[plan.dst_mode], plan.tile[plan.dst_mode])
        ends = REALIGNED + PLACED * v * min(1, 2 * WARP / rows.slots(row, rows.Accesses(v, plan.dst_shift)))
    if plan.kernel == "direct":
        strided = STRIDED_MOVE * (plan.src_step not in (0, 1))
        return 0, MOVE + CHECKED_MOVE * checked + strided + JOINED_MOVE * joined + alone + ends
    load = LOAD + CHECKED_LOAD * checked + JOINED * joined + alone
    return load, STORE + CHECKED_STORE * checked + v * (ELEMENT + PACKED_ELEMENT * (size < 4)) + ends


def _checked(plan: CopyPlan) -> float:
    """The share of the tiles whose accesses may reach over an end of the tensor: they look where they are."""
    if plan.dst_shift or (plan.kernel == "staged" and plan.predicated):
        return 1.0
    shares = (e // t / -(-e // t) for e, t in zip(plan.problem.extents, plan.tile, strict=True))
    return 1.0 - math.prod(shares) if plan.predicated else 0.0


def _unused(plan: CopyPlan, loads: int, stores: int) -> float:
    """The instructions that are executed at ends, if at all."""
    if not (plan.predicated or plan.dst_shift):
        return 0
    aligned = END_LOAD * (plan.src_aligned and plan.load_vector > 1 and plan.kernel == "staged")
    load = END_JOINED if _is_joined(plan) and plan.kernel == "staged" else aligned
    return loads * load + stores * END_ELEMENT * (plan.store_vector - 1)


def _ends(plan: CopyPlan) -> float:
    """The elements that an access of the source reads one after another, on average: each waits for the one before."""
    extent, vector = plan.problem.extents[plan.src_mode], plan.load_vector
    if plan.kernel == "direct" or not plan.predicated or not plan.src_aligned or plan.src_step < 1 or vector == 1:
        return 0
    return extent % vector * min(1, WARP / -(-extent // vector))


def _registers(plan: CopyPlan, loads: int, stores: int) -> float:
    """Of a thread, which has all that it reads at once."""
    size, checked = plan.problem.element_bytes, plan.predicated or plan.dst_shift > 0
    words = max(plan.load_vector * size / rows.WORD, 1) * (2 if _is_joined(plan) else 1) * max(plan.src_step, 1)
    if plan.kernel == "direct":
        return 8.6 + 1.8 * len(plan.tile) + loads * (0.6 + 1.2 * words + 2.9 * checked)
    word = plan.store_vector * plan.smem_load * size / rows.WORD
    stored = 0.4 * stores + 0.3 * word + 6 * (plan.dst_shift > 0)
    return 10 + 3 * len(plan.tile) + loads * (0.8 + 0.7 * words + 2.2 * checked) + stored


def _resident(plan: CopyPlan, registers: float) -> int:
    """The CTAs that a multiprocessor has at once."""
    by_registers = int(REGISTERS / (plan.threads * max(registers, 16)))
    by_shared = H200.shared_bytes // (plan.shared_bytes + RESERVED)
    return max(min(MOST_CTAS, LANES // plan.threads, by_registers, by_shared), 1)


def _wavefronts(plan: CopyPlan, loads: Work, stores: Work) -> float:
    """Of shared memory, and of the L1, through which everything passes as well: it is the same memory."""
    size = plan.problem.element_bytes
    passed = loads.lines(size) * (2 if _is_joined(plan) else 1) + stores.lines(size)
    if plan.kernel == "direct":
        return passed
    put = wavefronts(plan.smem, plan.load_tv, plan.load_vector, plan.smem_store, size)
    take = take_wavefronts(plan.smem, plan.store_tv, plan.smem_load, size)
    read = plan.load_vector * size * max(plan.src_step, 1) / ACCESS
    return passed + loads.requests * (put + read) + stores.requests * take * plan.store_vector / plan.smem_load


def _sectors(plan: CopyPlan) -> float:
    """The bytes of sectors: the mean of those of all rows, which the L2 is asked for, and of those of all tiles, which
    it does not have, and what short pieces of the destination lack to a line."""
    p = plan.problem
    step = p.src_strides[plan.src_mode]
    asked = _sectors_of_rows(plan, plan.src_mode, p.src_strides, step) if step else 0
    asked += _sectors_of_rows(plan, plan.dst_mode, p.dst_strides, p.dst_strides[plan.dst_mode])
    if plan.dst_shift:  # the ends of rows are stored element by element
        asked += math.prod(p.extents) / p.extents[plan.dst_mode] * (plan.store_vector - 1) * SECTOR
    src, src_at, src_pieces = _pieces(plan, p.src_strides, SECTOR)
    dst, dst_at, dst_pieces = _pieces(plan, p.dst_strides, 1)
    moved = src_pieces * touched(src, src_at) + dst_pieces * touched(dst, dst_at)
    return (asked + moved) / 2 + dst_pieces * lack(dst)


def _pieces(plan: CopyPlan, strides: tuple[int, ...], gap: int) -> tuple[int, int, float]:
    """Of what lies together of a tile, with gaps of less than so many bytes: the bytes, where they begin, how many."""
    p, size = plan.problem, plan.problem.element_bytes
    reach, inside, steps, count = 1, set[int](), [FAR], 1.0
    for i in sorted((i for i, d in enumerate(strides) if d), key=lambda i: abs(strides[i])):
        if (plan.tile[i] == 1 < p.extents[i]) or (abs(strides[i]) - reach) * size >= gap:
            break
        inside.add(i)
        reach += (min(plan.tile[i], p.extents[i]) - 1) * abs(strides[i])
        if plan.tile[i] < p.extents[i]:
            break
    for i, (extent, tile) in enumerate(zip(p.extents, plan.tile, strict=True)):
        if i not in inside:
            count *= extent if strides[i] else 1
            steps.append(abs(strides[i]) * size)
        elif tile < extent:
            count *= extent / tile
            steps.append(abs(strides[i]) * tile * size)
    return reach * size, math.gcd(*steps), count


def _sectors_of_rows(plan: CopyPlan, mode: int, strides: tuple[int, ...], step: int) -> float:
    """The bytes of sectors of all rows along a mode: of single elements, where they lie apart."""
    p, size = plan.problem, plan.problem.element_bytes
    elements, length = math.prod(p.extents), min(p.extents[mode], plan.tile[mode])
    if abs(step) * size >= SECTOR:
        return float(elements * SECTOR)
    others = [abs(d) * size for i, d in enumerate(strides) if i != mode and p.extents[i] > 1]
    at = math.gcd(*others, *([length * abs(step) * size] if length < p.extents[mode] else []), FAR)
    return elements / length * touched(((length - 1) * abs(step) + 1) * size, at)
