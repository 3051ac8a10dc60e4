"""cp.async: one instruction that reads global and writes shared memory; each side can cost the other something.

The rules were read with Nsight Compute on an H200 (benchmarks/results/ncu-2026-11-22.md), from 257 accesses that go
through the L1 cache (.ca) and 119 that go around it (.cg).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.analysis.access import Request

__all__ = ["AsyncAccess", "async_access"]

SECTOR, LINE = 32, 128  # bytes
BANKS = 128  # bytes of a word of each bank
# Tags of L1 are in four banks: each bit of a line's bank is the parity of some bits of address // 128. Of the ninth bit
# and higher ones the readings say nothing.
TAG_BANKS = (0b11011010, 0b10110101)
TAG_BITS = 8


class AsyncAccess(NamedTuple):
    """What a cp.async of one warp costs.

    - `source`: the sectors of global memory; `destination`: the wavefronts of shared memory, with .ca as Nsight Compute
      counts them for the instruction, with .cg those of a store
    - `lookups`, `asked_sectors`: with .cg a line of global memory is looked up once for each line of shared memory that
      gets a part of it, and asked for as many sectors as it fills there: what the hardware's counters of L1 say, unless
      lanes write one address: then which of them counts is not known
    - `wavefronts`: what the hardware's counter says; 0 for .cg; None where the sources lie in different blocks of
      32 KB, for which the rule is not known
    - `counted`: the wavefronts that Nsight Compute says of the instruction

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


def async_access(
    sources: Sequence[int],
    destinations: Sequence[int],
    width: int,
    *,
    cache: str = "cg",
    active: Sequence[bool] | None = None,
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
    halves, parity of g // 32 + s // 32) of the most moves of one sector. No wavefront of the hardware stands for it.

    Args:
        sources, destinations: byte addresses in global and shared memory, one for each of up to 32 lanes.
        width: bytes of a lane: 4, 8 or 16; with "cg" 16.
        cache: "ca" or "cg".
        active: which lanes take part; None: all.
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
    """
    from tilewright.analysis.access import warp_access

    if cache not in ("ca", "cg") or (cache == "cg" and width != 16):
        raise ValueError(f'async_access: cache = "{cache}" with {width} bytes must be "ca", or "cg" with 16 bytes')
    if len(sources) != len(destinations):
        raise ValueError(
            f"async_access: {len(sources)} sources must be as many as the {len(destinations)} destinations"
        )
    lanes = [t for t in range(len(sources)) if active is None or active[t]]
    source = warp_access(sources, width, op="cp.async", active=active, operation="async_access: sources")
    destination = warp_access(
        destinations, width, memory="shared", op="cp.async", active=active, operation="async_access: destinations"
    )
    pairs = [(int(sources[t]), int(destinations[t])) for t in lanes]
    if cache == "cg":
        first, last = ({s: g for g, s in order} for order in (reversed(pairs), pairs))
        moves = _moves(first)
        sectors = len(moves)
        ideal = min(-(-len(first) * width // SECTOR), sectors)
        lookups = len({(g // LINE, s // LINE) for g, s in pairs})
        asked = len({(g // LINE, s // SECTOR) for s, g in last.items()})
        source = source._replace(sectors=sectors, ideal_sectors=ideal)
        return AsyncAccess(source, destination, lookups, asked, wavefronts=0, counted=_counted(moves))
    of_pass = min(BANKS // width, 32)
    wavefronts = alone = 0
    for begin in range(0, 32, of_pass):
        both = Counter(
            (g % BANKS // width, s % BANKS // width)
            for t, (g, s) in zip(lanes, pairs, strict=True)
            if begin <= t < begin + of_pass
        )
        met = (sum(n for other, n in both.items() if other[0] == g or other[1] == s) for g, s in both)
        wavefronts += max(met, default=0)
        sides = ([p[side] for p in both.elements()] for side in (0, 1))
        alone += max(n for side in sides for n in (0, *Counter(side).values()))
    ideal = min(-(-len(lanes) * width // BANKS), wavefronts)
    destination = destination._replace(wavefronts=wavefronts, ideal_wavefronts=ideal, alone=alone)
    taken = _taken(lanes, pairs, width, of_pass)
    return AsyncAccess(source, destination, source.lines, source.sectors, taken, wavefronts)


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


def _taken(lanes: Sequence[int], pairs: Sequence[tuple[int, int]], width: int, of_pass: int) -> int | None:
    """The wavefronts of the hardware, through L1."""
    lines = dict.fromkeys(g // LINE for g, _ in pairs)
    if len({line >> TAG_BITS for line in lines}) > 1:
        return None
    lookup, of_bank = {}, Counter[tuple[int, ...]]()
    for line in lines:
        bank = tuple((line & bits).bit_count() % 2 for bits in TAG_BANKS)
        lookup[line] = of_bank[bank]
        of_bank[bank] += 1
    busy, longest = dict[tuple[tuple[int, int], int, int], int](), Counter[tuple[int, int]]()
    for t, (g, s) in zip(lanes, pairs, strict=True):
        turn = lookup[g // LINE], t // of_pass
        groups = [(turn, side, address % BANKS // width) for side, address in enumerate((g, s))]
        chain = 1 + max(busy.get(group, 0) for group in groups)
        busy.update(dict.fromkeys(groups, chain))
        longest[turn] = max(longest[turn], chain)
    return longest.total()
