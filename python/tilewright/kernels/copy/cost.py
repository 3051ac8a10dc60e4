"""How long a copy takes, by a model of a multiprocessor: the clocks of memory, of instructions and of shared memory.

The numbers are those of PACKED_COPY in a device's file, and of rows.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.devices import H200
from tilewright.kernels.copy import rows
from tilewright.kernels.copy.numbers import PACKED

if TYPE_CHECKING:
    from tilewright.kernels.copy.packed import Packed
    from tilewright.kernels.copy.plan import CopyPlan

SECTOR, WARP, ACCESS, LINE = 32, 32, 16, 128
FAR = 1 << 30  # a multiple of every alignment


class Cost(NamedTuple):
    """Of a whole copy: bytes of sectors, instructions of warps, wavefronts of shared memory; the CTAs, and the
    instructions of a warp's program, if all of them are unrolled."""

    sectors: float
    instructions: float
    wavefronts: float
    ctas: int
    program: float = 0

    @property
    def clocks(self) -> float:
        """The clocks of a device."""
        return self._busy * self._idle / H200.multiprocessors

    @property
    def seconds(self) -> float:
        """The time that it is expected to take, its launch included."""
        return PACKED.launch + self.clocks / PACKED.clock

    @property
    def _busy(self) -> float:
        """The clocks of all multiprocessors together."""
        parts = (
            self.sectors / PACKED.bytes,
            self.instructions / PACKED.instructions * max(self.program / PACKED.program, 1),
            self.wavefronts / PACKED.wavefronts,
        )
        return max(parts) + PACKED.hidden * (sum(parts) - max(parts))

    @property
    def _idle(self) -> float:
        """How much longer it takes since some multiprocessors have a CTA less than others."""
        each = self.ctas / H200.multiprocessors
        return math.ceil(each) / each if each < PACKED.resident else 1

    def without(self, bound: str) -> float:
        """The seconds that it would take if what a name of BOUNDS stands for took no time."""
        if bound == "launch":
            return self.seconds - PACKED.launch
        if bound == "last wave":
            return PACKED.launch + self._busy / H200.multiprocessors / PACKED.clock
        changes: dict[str, Any] = {BOUNDS[bound]: 0.0}
        return self._replace(**changes).seconds

    @property
    def bound(self) -> str:
        """The name in BOUNDS of what would save most of the time if it took none.

        >>> Cost(sectors=1e9, instructions=1e6, wavefronts=0, ctas=10**5).bound
        'memory'
        """
        return min(BOUNDS, key=self.without)


# What bounds a copy, and which of its costs that is: none for a launch and for multiprocessors without a CTA.
BOUNDS = {
    "memory": "sectors", "instructions": "instructions", "shared memory": "wavefronts", "last wave": "", "launch": "",
}  # fmt: skip


def touched(length: int, at: int) -> float:
    """The bytes of the sectors that a piece of memory lies in, on average, if pieces begin at multiples of `at` bytes.

    >>> touched(64, 32), touched(60, 4), touched(1, 1)
    (64, 88, 32)
    """
    return -(-length // SECTOR) * SECTOR if at % SECTOR == 0 else length + SECTOR - math.gcd(at, SECTOR)


def _steps(tile: Packed, strides: tuple[int, ...], inside: tuple[bool, ...]) -> int:
    """The greatest common divisor of the distances between pieces that have the modes `inside`."""
    steps = [FAR]
    for i, together in enumerate(inside):
        if not together and tile.extents[i] > 1:
            steps.append(abs(strides[i]))
        elif tile.tile[i] < tile.extents[i]:
            steps.append(abs(strides[i]) * tile.tile[i])
    return math.gcd(*steps)


def cost_of_packed(tile: Packed, store: int, conflicts: float, tiles_of_cta: int) -> Cost:
    """Of a packed copy with words of `store` bytes, each of whose elements a warp takes in `conflicts` wavefronts."""
    shares = [(e, t) for e, t in zip(tile.extents, tile.tile, strict=True)]
    tiles = math.prod(-(-e // t) for e, t in shares)
    whole = math.prod(e / t for e, t in shares)  # tiles, those that are cut counted in part
    together = tuple(i < tile.dst_run_modes for i in range(len(tile.tile)))
    src_step, dst_step = _steps(tile, tile.src, tile.in_run), _steps(tile, tile.dst, together)
    sectors = tile.src_runs * touched(tile.src_run, src_step)
    sectors += tile.dst_runs * touched(tile.dst_run * tile.bytes, dst_step)
    count, words_of_run = store // tile.bytes, tile.dst_words(store)
    reads, words = tile.src_runs * tile.src_words / WARP, tile.dst_runs * words_of_run / WARP
    word = PACKED.word + count * (PACKED.element + (tile.columns > 1) * PACKED.column) + PACKED.turn[tile.bytes]
    if dst_step % store or tile.dst_run * tile.bytes % store:
        word += PACKED.end * min(1, 2 * WARP / words_of_run)  # in warps that have an end
    entries = (tile.src_runs + tile.dst_runs) / WARP * PACKED.entry + tile.columns / WARP * PACKED.place / tiles_of_cta
    instructions = whole * (reads * PACKED.read + words * word) + tiles * (entries + PACKED.tile)
    moved = ACCESS * WARP // LINE  # wavefronts of an access as a whole
    wavefronts = whole * (2 * moved * reads + words * (count * conflicts + 2 * moved))
    return Cost(whole * sectors, instructions, wavefronts, -(-tiles // tiles_of_cta))


def cost_of_rows(plan: CopyPlan) -> Cost:
    """Of a direct or staged copy, whose accesses lie in rows of one mode; estimated."""
    p, size = plan.problem, plan.problem.element_bytes
    elements = math.prod(p.extents)
    step = p.src_strides[plan.src_mode]
    sectors = _sectors_of_rows(plan, plan.src_mode, p.src_strides, step) if step else 0
    sectors += _sectors_of_rows(plan, plan.dst_mode, p.dst_strides, p.dst_strides[plan.dst_mode])
    v, wide = plan.store_vector, plan.smem_load
    joined = not plan.src_aligned and plan.load_vector > 1
    alone = rows.ALONE * plan.load_vector * (plan.src_step == -1 and plan.load_vector > 1)

    def accesses(mode: int, vector: int, shift: int) -> float:
        return elements / p.extents[mode] * rows.slots(p.extents[mode], rows.Accesses(vector, shift)) / WARP

    loads, stores = accesses(plan.src_mode, plan.load_vector, 0), accesses(plan.dst_mode, v, plan.dst_shift)
    values = [int(_core.size(tv, mode=[1])) for tv in (plan.load_tv, plan.store_tv)]
    if plan.dst_shift:  # the ends of rows are stored element by element
        sectors += elements / p.extents[plan.dst_mode] * (v - 1) * SECTOR
    row = rows.slots(min(p.extents[plan.dst_mode], plan.tile[plan.dst_mode]), rows.Accesses(v, plan.dst_shift))
    ends = min(1, 2 * WARP / row) if plan.dst_shift else 0  # the warps that have an end of a row
    if plan.kernel == "direct":
        each = rows.MOVE + (rows.JOINS if joined or plan.dst_shift else 0) + ends * rows.PLACED_MOVE * v
        return Cost(sectors, stores * (each + alone), 0, plan.ctas, values[1] / v * (each + alone))
    load = rows.JOINED + rows.JOIN * plan.load_vector * size / rows.WORD if joined else rows.LOAD
    load += alone + plan.load_vector / plan.smem_store
    store = rows.STORE + rows.TAKE * v / wide + ends * rows.PLACED * v
    program = values[0] / plan.load_vector * load + values[1] / v * store
    wavefronts = loads * plan.load_vector / plan.smem_store + stores * v / wide
    return Cost(sectors, loads * load + stores * store, 2 * wavefronts, plan.ctas, program)


def _sectors_of_rows(plan: CopyPlan, mode: int, strides: tuple[int, ...], step: int) -> float:
    """The bytes of sectors of all rows along a mode: of single elements, where they lie apart."""
    p, size = plan.problem, plan.problem.element_bytes
    elements, length = math.prod(p.extents), min(p.extents[mode], plan.tile[mode])
    if abs(step) * size >= SECTOR:
        return float(elements * SECTOR)
    others = [abs(d) * size for i, d in enumerate(strides) if i != mode and p.extents[i] > 1]
    at = math.gcd(*others, *([length * abs(step) * size] if length < p.extents[mode] else []), FAR)
    return elements / length * touched(((length - 1) * abs(step) + 1) * size, at)
