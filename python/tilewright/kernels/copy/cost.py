"""How long a copy takes, by a model of a multiprocessor: the clocks of memory, of instructions, of shared memory, and
those in which CTAs wait.

The rates are those of COPY_COST in a device's file. What a packed copy executes is counted here, what others do in
rows_cost.py.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.devices import H200
from tilewright.kernels.copy.numbers import COST, PACKED

if TYPE_CHECKING:
    from tilewright.kernels.copy.packed import Packed

SECTOR, WARP, ACCESS, LINE = 32, 32, 16, 128
FAR = 1 << 30  # a multiple of every alignment
RESERVED = 1024  # bytes of shared memory that the system takes for a CTA
PROGRAM, WARPS, RESIDENT = 1250, 8, 4  # of a packed copy: instructions, warps of a CTA, CTAs that registers suffice for


class Cost(NamedTuple):
    """Of a whole copy: bytes of sectors, instructions of warps, wavefronts of shared memory; the CTAs, the instructions
    of a program, and the clocks in which the CTAs of a multiprocessor wait, one after another."""

    sectors: float
    instructions: float
    wavefronts: float
    ctas: int
    program: float = 0
    waits: float = 0

    @property
    def clocks(self) -> float:
        """The clocks of a device."""
        return self._busy * self._idle / H200.multiprocessors + self.waits + COST.fetch * self.program

    @property
    def seconds(self) -> float:
        """The time that it is expected to take, its launch included."""
        return COST.launch + self.clocks / COST.clock

    @property
    def _busy(self) -> float:
        """The clocks of all multiprocessors together."""
        parts = self.sectors / COST.bytes, self.instructions / COST.instructions, self.wavefronts / COST.wavefronts
        return max(parts) + COST.hidden * (sum(parts) - max(parts))

    @property
    def _idle(self) -> float:
        """How much longer it takes since some multiprocessors have a CTA less than others."""
        each = self.ctas / H200.multiprocessors
        return math.ceil(each) / each if each < COST.resident else 1

    def without(self, bound: str) -> float:
        """The seconds that it would take if what a name of BOUNDS stands for took no time."""
        if bound == "launch":
            return self.seconds - COST.launch
        if bound == "last wave":
            return self.seconds - self._busy * (self._idle - 1) / H200.multiprocessors / COST.clock
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
    "memory": "sectors", "instructions": "instructions", "shared memory": "wavefronts", "waiting": "waits",
    "last wave": "", "launch": "", "first instructions": "program",
}  # fmt: skip


def in_turn(ctas: int, resident: int, clocks: float) -> float:
    """The clocks in which the CTAs of a multiprocessor wait, if one takes so many clocks when nothing is in its way.

    >>> in_turn(132 * 8, 2, 1000), in_turn(132, 2, 1000), in_turn(132 * 2 + 1, 2, 1000)
    (4000.0, 1000, 2000)
    """
    rounds = ctas / H200.multiprocessors / max(resident, 1)
    return clocks * (rounds if rounds >= COST.resident else math.ceil(rounds))


def touched(length: int, at: int) -> float:
    """The bytes of the sectors that a piece of memory lies in, on average, if pieces begin at multiples of `at` bytes.

    >>> touched(64, 32), touched(60, 4), touched(1, 1)
    (64, 88, 32)
    """
    return -(-length // SECTOR) * SECTOR if at % SECTOR == 0 else length + SECTOR - math.gcd(at, SECTOR)


def lack(length: int) -> int:
    """What a piece of the destination lacks to a line: the memory takes as long as for all of it.

    >>> lack(64), lack(200)
    (64, 0)
    """
    return max(LINE - length, 0)


def _steps(tile: Packed, strides: tuple[int, ...], inside: tuple[bool, ...]) -> int:
    """The greatest common divisor of the distances between pieces that have the modes `inside`."""
    steps = [FAR]
    for i, together in enumerate(inside):
        if not together and tile.extents[i] > 1:
            steps.append(abs(strides[i]))
        elif tile.tile[i] < tile.extents[i]:
            steps.append(abs(strides[i]) * tile.tile[i])
    return math.gcd(*steps)


def cost_of_packed(tile: Packed, store: int, conflicts: float, tiles_of_cta: int, shared_bytes: int) -> Cost:
    """Of a packed copy with words of `store` bytes, each of whose elements a warp takes in `conflicts` wavefronts."""
    shares = [(e, t) for e, t in zip(tile.extents, tile.tile, strict=True)]
    tiles = math.prod(-(-e // t) for e, t in shares)
    whole = math.prod(e / t for e, t in shares)  # tiles, those that are cut counted in part
    together = tuple(i < tile.dst_run_modes for i in range(len(tile.tile)))
    src_step, dst_step = _steps(tile, tile.src, tile.in_run), _steps(tile, tile.dst, together)
    sectors = tile.src_runs * touched(tile.src_run, src_step)
    sectors += tile.dst_runs * (touched(tile.dst_run * tile.bytes, dst_step) + lack(tile.dst_run * tile.bytes))
    count, words_of_run = store // tile.bytes, tile.dst_words(store)
    reads, words = tile.src_runs * tile.src_words / WARP, tile.dst_runs * words_of_run / WARP
    word = PACKED.word + count * (PACKED.element + (tile.columns > 1) * PACKED.column) + PACKED.turn[tile.bytes]
    if dst_step % store or tile.dst_run * tile.bytes % store:
        word += PACKED.end * min(1, 2 * WARP / words_of_run)  # in warps that have an end
    entries = (tile.src_runs + tile.dst_runs) / WARP * PACKED.entry + tile.columns / WARP * PACKED.place / tiles_of_cta
    read = PACKED.read if tile.put == ACCESS else PACKED.read_apart
    instructions = whole * (reads * read + words * word) + tiles * (entries + PACKED.tile)
    moved = ACCESS * WARP // LINE  # wavefronts of an access as a whole
    wavefronts = whole * (2 * moved * reads + words * (count * conflicts + 2 * moved))
    ctas, most = -(-tiles // tiles_of_cta), min(tiles_of_cta, tiles)
    clocks = most * (COST.tile + COST.step * instructions / (tiles * WARPS))
    resident = min(RESIDENT, H200.shared_bytes // (shared_bytes + RESERVED))
    return Cost(whole * sectors, instructions, wavefronts, ctas, PROGRAM, in_turn(ctas, resident, clocks))
