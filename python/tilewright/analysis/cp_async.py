"""cp.async: one instruction that reads global and writes shared memory; each side can cost the other something.

The rules were read with Nsight Compute on an H200 (benchmarks/results/ncu-2026-11-22.md), from 257 accesses that go
through the L1 cache (.ca) and 119 that go around it (.cg).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tilewright._notebook import drawn
from tilewright.analysis.access import warp_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.analysis.access import Request

__all__ = ["AsyncAccess", "async_access"]

SECTOR, LINE = 32, 128  # bytes
WIDEST = 16  # bytes of a lane
BANKS = 128  # bytes of a word of each bank
# Tags of L1 are in four banks: each bit of a line's bank is the parity of some bits of address // 128. Of the ninth bit
# and higher ones the readings say nothing.
TAG_BANKS = (0b11011010, 0b10110101)
TAG_BITS = 8


@drawn
class AsyncAccess(NamedTuple):
    """What a cp.async of one warp costs.

    - `source`: the sectors of global memory; `destination`: the wavefronts of shared memory, with .ca as Nsight Compute
      counts them for the instruction, with .cg those of a store
    - `lookups`, `asked_sectors`: with .cg a line of global memory is looked up once for each line of shared memory that
      gets a part of it, and asked for as many sectors as it fills there: what the hardware's counters of L1 say, unless
      lanes write one address: then which of them counts is not known
    - `wavefronts`: what the hardware's counter says; with .cg those of a store by the lanes that write zeros; None
      where the sources lie in different blocks of 32 KB or lanes write zeros with .ca, for which the rule is not known
    - `counted`, `ideal_counted`: the wavefronts that Nsight Compute says of the instruction, and how many of them there
      would be at best

    >>> row = range(0, 512, 16)
    >>> async_access(row, row, 16).source.sectors
    16
    """

    source: Request
    destination: Request
    lookups: int
    asked_sectors: int
    wavefronts: int | None
    counted: int
    ideal_counted: int


class _Lanes(NamedTuple):
    """The lanes that take part, and where each of them reads, None for one that writes zeros, and writes."""

    number: list[int]
    source: list[int | None]
    destination: list[int]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The two addresses of those that read."""
        return [(g, s) for g, s in zip(self.source, self.destination, strict=True) if g is not None]

    @property
    def fills(self) -> bool:
        """Whether some write zeros."""
        return None in self.source


def async_access(
    sources: Sequence[int],
    destinations: Sequence[int],
    width: int,
    *,
    cache: str = "cg",
    active: Sequence[bool] | None = None,
    reads: Sequence[bool] | None = None,
) -> AsyncAccess:
    """What one cp.async of a warp costs, by the addresses on both sides.

    Through L1 (.ca) a wavefront takes one access of each group of banks out of the cache, and one of each group into
    shared memory. Nsight Compute counts for the lane that meets the most others: destination.wavefronts = sum over the
    passes of max over lanes l of |{ m : group(g_m) = group(g_l) or group(s_m) = group(s_l) }|. Lanes with one address
    are not merged. The hardware goes by lookups: a lookup finds one line in each of four banks of tags, and each of its
    lanes waits for those before it that use one of its two groups: `wavefronts` = sum over the lookups and passes of
    the longest chain of lanes that wait for each other.

    Around L1 (.cg) 32 bytes of L2 go to 32 bytes of shared memory: sectors = |{ (g // 32, s // 32, (g - s) mod 32) }|
    over the lanes, of those that write one address the first. So a copy whose two sides lie differently in their
    sectors moves each sector twice. Nsight Compute counts these moves together as one wavefront where they go from one
    line to one line, fill the same halves of sectors from the same, and all or none of them go from an even sector to
    an odd one or back, but each sector of the source once: `counted` = sum over the classes (g // 128, s // 128,
    halves, parity of g // 32 + s // 32) of the most moves of one sector. Where some lanes write zeros, it adds what it
    counts through L1: of all lanes, where those that write zeros meet others in shared memory alone. No wavefront of
    the hardware stands for these, but one of a store for the zeros.

    Args:
        sources, destinations: byte addresses in global and shared memory, one for each of up to 32 lanes.
        width: bytes of a lane: 4, 8 or 16; with "cg" 16.
        cache: "ca" or "cg".
        active: which lanes take part; None: all.
        reads: which of these read, while the others write zeros (src-size 0); None: all.
    Raises: MisalignedError for a lane that would fault, and on which side; ValueError for another argument out of its
        range.
    Source: tilewright; rules read with Nsight Compute.

    Examples:
        >>> rows = range(0, 512, 16)
        >>> async_access([16 + x for x in rows], rows, 16).source.sectors  # 17 would a load take
        32
        >>> async_access([128 * t for t in range(32)], range(0, 128, 4), 4, cache="ca").destination.wavefronts
        32
        >>> found = async_access([132 * t for t in range(31)], range(0, 124, 4), 4, cache="ca")  # 31 lines, no conflict
        >>> found.destination.wavefronts, found.wavefronts
        (1, 8)
        >>> [async_access([x + shift for x in rows], rows, 16).counted for shift in (0, 16, 32, 48)]
        [4, 12, 8, 16]
        >>> some = async_access(rows, rows, 16, reads=[t < 12 for t in range(32)])  # two moves, and a store's four
        >>> some.source.sectors, some.wavefronts, some.counted
        (6, 3, 6)
    """
    if cache not in ("ca", "cg") or (cache == "cg" and width != WIDEST):
        raise ValueError(f'async_access: cache = "{cache}" with {width} bytes must be "ca", or "cg" with 16 bytes')
    for name, other in (("sources", sources), ("reads", reads)):
        if other is not None and len(other) != len(destinations):
            raise ValueError(
                f"async_access: {len(other)} {name} must be as many as the {len(destinations)} destinations"
            )
    taken = [True] * len(destinations) if active is None else [bool(x) for x in active]
    read = taken if reads is None else [a and bool(b) for a, b in zip(taken, reads, strict=True)]
    source = warp_access(sources, width, op="cp.async", active=read, operation="async_access: sources")
    destination = warp_access(
        destinations, width, memory="shared", op="cp.async", active=active, operation="async_access: destinations"
    )
    number = [t for t, x in enumerate(taken) if x]
    lanes = _Lanes(
        number, [int(sources[t]) if read[t] else None for t in number], [int(destinations[t]) for t in number]
    )
    if cache == "cg":
        filled = [a and not b for a, b in zip(taken, read, strict=True)]
        zeros = warp_access(destinations, width, memory="shared", op="store", active=filled)
        return _around(lanes, source, destination, zeros.wavefronts)
    met, alone = _met(lanes, width)
    ideal = min(-(-len(number) * width // BANKS), met)
    destination = destination._replace(wavefronts=met, ideal_wavefronts=ideal, alone=alone)
    return AsyncAccess(source, destination, source.lines, source.sectors, _taken(lanes, width), met, ideal)


def _around(lanes: _Lanes, source: Request, destination: Request, zeros: int) -> AsyncAccess:
    """Around L1, where lanes that write zeros take so many wavefronts; the requests are those of each side alone."""
    pairs = lanes.pairs
    first, last = ({s: g for g, s in order} for order in (reversed(pairs), pairs))
    sectors = len(_moves(first))
    source = source._replace(sectors=sectors, ideal_sectors=min(-(-len(first) * WIDEST // SECTOR), sectors))
    lookups = len({(g // LINE, s // LINE) for g, s in pairs})
    asked = len({(g // LINE, s // SECTOR) for s, g in last.items()})
    # Of lanes that write one address Nsight Compute counts the first one, here also of those that write zeros.
    written = dict(zip(reversed(lanes.destination), reversed(lanes.source), strict=True))
    copied = {s: g for s, g in written.items() if g is not None}
    counted = _counted(_moves(copied))
    ideal = min(-(-len(copied) * WIDEST // BANKS), counted)
    if lanes.fills:
        met, _ = _met(lanes, WIDEST)
        counted += met
        ideal += min(-(-len(lanes.number) * WIDEST // BANKS), met)
    return AsyncAccess(source, destination, lookups, asked, zeros, counted, ideal)


def _met(lanes: _Lanes, width: int) -> tuple[int, int]:
    """The most lanes that one meets, itself among them, and the most in one group of banks, pass by pass."""
    met = alone = 0
    of_pass = BANKS // width
    for begin in range(0, 32, of_pass):
        both = Counter(
            (None if g is None else g % BANKS // width, s % BANKS // width)
            for t, g, s in zip(*lanes, strict=True)
            if begin <= t < begin + of_pass
        )
        found = (
            sum(n for other, n in both.items() if other[1] == s or (other[0] == g and g is not None)) for g, s in both
        )
        met += max(found, default=0)
        sides = ([p[side] for p in both.elements() if p[side] is not None] for side in (0, 1))
        alone += max(n for side in sides for n in (0, *Counter(side).values()))
    return met, alone


def _moves(sources: dict[int, int]) -> dict[tuple[int, int, int], set[tuple[int, int]]]:
    """(sector of the source, sector of the destination, shift) to the halves that go where, by each one's source."""
    halves: dict[tuple[int, int, int], set[tuple[int, int]]] = {}
    for s, g in sources.items():
        move = g // SECTOR, s // SECTOR, (g - s) % SECTOR
        halves.setdefault(move, set()).add((g % SECTOR, s % SECTOR))
    return halves


def _counted(moves: dict[tuple[int, int, int], set[tuple[int, int]]]) -> int:
    """What Nsight Compute calls wavefronts, around L1."""
    classes: dict[tuple[int, int, frozenset[tuple[int, int]], int], Counter[int]] = {}
    for (g, s, _), filled in moves.items():
        key = g // (LINE // SECTOR), s // (LINE // SECTOR), frozenset(filled), (g + s) % 2
        classes.setdefault(key, Counter())[g] += 1
    return sum(max(of_sector.values()) for of_sector in classes.values())


def _taken(lanes: _Lanes, width: int) -> int | None:
    """The wavefronts of the hardware, through L1."""
    pairs, of_pass = lanes.pairs, BANKS // width
    lines = dict.fromkeys(g // LINE for g, _ in pairs)
    if lanes.fills or len({line >> TAG_BITS for line in lines}) > 1:
        return None
    lookup, of_bank = {}, Counter[tuple[int, ...]]()
    for line in lines:
        bank = tuple((line & bits).bit_count() % 2 for bits in TAG_BANKS)
        lookup[line] = of_bank[bank]
        of_bank[bank] += 1
    busy, longest = dict[tuple[tuple[int, int], int, int], int](), Counter[tuple[int, int]]()
    for t, (g, s) in zip(lanes.number, pairs, strict=True):
        turn = lookup[g // LINE], t // of_pass
        groups = [(turn, side, address % BANKS // width) for side, address in enumerate((g, s))]
        chain = 1 + max(busy.get(group, 0) for group in groups)
        busy.update(dict.fromkeys(groups, chain))
        longest[turn] = max(longest[turn], chain)
    return longest.total()
