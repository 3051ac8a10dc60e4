"""Totals over a launch without visiting every tile of it.

How many sectors, lines and wavefronts a request takes depends on its lanes' addresses modulo 128 bytes alone. So tiles
that are cut alike and begin at the same residue are counted, not visited, and of a tile's requests those that are one
another's translation are evaluated once for each residue. Nothing is sampled: the totals are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright.analysis.access import SECTOR, warp_accesses
from tilewright.analysis.instructions import MemoryInstruction
from tilewright.analysis.layouts import sass_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

WARP = 32
LINE = 128  # bytes, after which every count repeats
BOTH = LINE - 1 | (LINE - 1) << 16
# Odd numbers without a pattern: requests are compared by a sum of their addresses with these, and then one by one.
_WEIGHTS = np.array(
    [[(2 * i + 1) * 0x9E3779B97F4A7C15 % 2**63 | 1 for i in range(j, j + WARP)] for j in range(5)], np.int64
)

Residues = dict[int, int]  # how many tiles begin at each pair of residues, as `pair` writes it


def pair(first: int, second: int = 0) -> int:
    """Two residues as one number: those of source and destination, where both matter.

    >>> pair(130, -4) == 2 | 124 << 16
    True
    """
    return first % LINE | second % LINE << 16


def split(residue: int) -> tuple[int, int]:
    """The two residues of such a number."""
    return residue & 0xFFFF, residue >> 16


def sums(a: Residues, b: Residues) -> Residues:
    """The residues of all sums of one of `a` and one of `b`.

    >>> sums({0: 2, 64: 1}, {64: 3})
    {64: 6, 0: 3}
    """
    found: Residues = {}
    for x, m in a.items():
        for y, n in b.items():
            key = x + y & BOTH
            found[key] = found.get(key, 0) + m * n
    return found


def of_first(residues: Residues, which: int = 0) -> Residues:
    """The residues of one of the two alone."""
    found: Residues = {}
    for residue, count in residues.items():
        key = split(residue)[which]
        found[key] = found.get(key, 0) + count
    return found


def multiples(step: int, begin: int, count: int) -> Residues:
    """The residues of `count` multiples of `step`, a pair, from the number `begin` on.

    >>> multiples(pair(48), 0, 16)
    {0: 2, 48: 2, 96: 2, 16: 2, 64: 2, 112: 2, 32: 2, 80: 2}
    """
    found: Residues = {}
    key = pair(*(begin * x for x in split(step)))
    for _ in range(min(count, LINE)):
        if key in found:
            period = len(found)
            return {k: count // period + (j < count % period) for j, k in enumerate(found)}
        found[key] = 1
        key = key + step & BOTH
    if count > LINE:
        return {k: count // LINE + (j < count % LINE) for j, k in enumerate(found)}
    return found


class Mode(NamedTuple):
    """The tiles along one mode: their number and extent, the tensor's extent, and the bytes (a pair) between tiles.

    Accesses of a tile lie from `back` coordinates before it to `ahead` behind it. `alone`: so many of the first and of
    the last tiles are looked at one by one.
    """

    tiles: int
    tile: int
    extent: int
    step: int
    back: int = 0
    ahead: int = 0
    alone: int = 0

    def parts(self) -> list[tuple[int, int, int, int]]:
        """Tiles that are cut alike: (where the tensor begins and ends in them, the first tile, how many).

        >>> Mode(5, 64, 300, 0).parts()
        [(0, 64, 0, 4), (0, 44, 4, 1)]
        """
        begin = min(self.tiles, max(self.alone, -(-self.back // self.tile)))
        end = max(begin, min(self.tiles - self.alone, (self.extent - self.ahead) // self.tile))

        def single(i: int) -> tuple[int, int, int, int]:
            left = self.extent - i * self.tile
            return max(-i * self.tile, -self.back), min(left, self.tile + self.ahead), i, 1

        whole = [(-self.back, self.tile + self.ahead, begin, end - begin)] if end > begin else []
        return [*map(single, range(begin)), *whole, *map(single, range(end, self.tiles))]


class Group(NamedTuple):
    """Tiles that are cut alike: where the tensor begins and ends in them, and their residues.

    `tiles`: the first tile along each mode, the only one where those of the mode are looked at one by one.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    residues: Residues
    tiles: tuple[int, ...]


def groups(modes: Sequence[Mode], base: int = 0, times: int = 1) -> list[Group]:
    """All tiles of a tensor whose first element lies at the residues `base`, each of them `times` times.

    >>> [(g.high, g.residues) for g in groups([Mode(5, 64, 300, pair(64)), Mode(3, 1, 3, pair(4))])]
    [((64, 1), {0: 2, 4: 2, 8: 2, 64: 2, 68: 2, 72: 2}), ((44, 1), {0: 1, 4: 1, 8: 1})]
    """
    found = [Group((), (), {base & BOTH: times}, ())]
    for mode in modes:
        parts = [(part, multiples(mode.step, part[2], part[3])) for part in mode.parts()]
        found = [
            Group((*g.low, low), (*g.high, high), sums(g.residues, residues), (*g.tiles, first))
            for g in found
            for (low, high, first, _), residues in parts
        ]
    return found


def fingerprints(*tables: Any) -> tuple[Integers, Integers]:
    """Rows that are equal in all tables (rows, 32): one of each kind, and which kind every row is.

    >>> chosen, which = fingerprints(np.arange(4)[:, None] // 2 * np.ones((1, 32), np.int64))
    >>> len(chosen), bool(which[0] == which[1] != which[2] == which[3])
    (2, True)
    """
    key = np.zeros(len(tables[0]), np.int64)
    for table, weights in zip(tables, _WEIGHTS[: len(tables)], strict=True):
        key += table @ weights
    _, chosen, which = np.unique(key, return_index=True, return_inverse=True)
    if any((table != table[chosen][which]).any() for table in tables):  # two sums happened to be equal
        chosen = which = np.arange(len(key))
    return chosen, which


def placements(
    relative: Integers, chosen: Integers, which: Integers, shift: Integers, residues: Residues
) -> tuple[Integers, Integers, Integers]:
    """Where in a line requests begin, over all tiles: (kind, how often, addresses (.., 32), none negative) of each that
    differs.

    `relative`: addresses from `shift` on, of each request; `chosen`, `which`: its kinds, as `fingerprints` gives them.

    >>> row = 4 * np.arange(32)[None]
    >>> kind, times, placed = placements(row, np.array([0]), np.array([0]), np.array([64]), {0: 3, 64: 1})
    >>> kind.tolist(), times.tolist(), placed[:, 0].tolist()
    ([0, 0], [1, 3], [0, 64])
    """
    begins = np.bincount(which * LINE + shift % LINE, minlength=len(chosen) * LINE)
    made = np.flatnonzero(begins)  # of so many requests, a kind and a place in a line each
    starts, counts = np.array(list(residues)), np.array(list(residues.values()))
    places = made[:, None] // LINE * LINE + (made[:, None] + starts) % LINE
    times = np.zeros_like(begins)
    np.add.at(times, places.ravel(), (begins[made][:, None] * counts).ravel())
    found = np.flatnonzero(times)
    kind, residue_of = np.divmod(found, LINE)
    placed = relative[chosen[kind]] + residue_of[:, None]
    placed -= np.minimum(placed.min(axis=1) // LINE * LINE, 0)[:, None]
    return kind, times[found], placed


class Tally:
    """Adds up the requests of one instruction.

    `add` takes what the lanes of each request address and whether they are active, both (requests, 32), and how many
    tiles begin at each residue; what is not in them, such as the tile's own place, has to be a multiple of 128 bytes.
    """

    def __init__(
        self, name: str, memory: str, op: str, width: int, *, matrices: int = 0, sass: str = "", note: str = ""
    ) -> None:
        self.name, self.memory, self.op, self.width = name, memory, op, width
        self.matrices, self.note = matrices, note
        self.sass = sass or sass_name(memory, op, width, matrices)
        self._addresses: list[Integers] = []  # of requests that differ
        self._active: list[Booleans] = []
        self._times: list[Integers] = []
        self._useful: list[Integers] = []
        self._first: tuple[Integers, Booleans] | None = None
        self._found: MemoryInstruction | None = None

    def add(self, addresses: Integers, active: Booleans, residues: Residues, useful: Integers | None = None) -> None:
        """Count requests; `useful`: the bytes that each lane asks for, where that is not the width."""
        made = active.any(axis=1)
        residues = {residue: count for residue, count in residues.items() if count}
        if not residues or not made.any():
            return
        if not made.all():
            addresses, active = addresses[made], active[made]
            useful = None if useful is None else useful[made]
        rows = np.arange(len(addresses))
        shift = addresses[rows, active.argmax(axis=1)]
        relative = np.where(active, addresses - shift[:, None], 0)
        chosen, which = fingerprints(relative, active, *(() if useful is None else (useful,)))
        pattern, times, placed = placements(relative, chosen, which, shift, residues)
        self._addresses.append(np.where(active[chosen][pattern], placed, 0))
        self._active.append(active[chosen][pattern])
        self._times.append(times)
        if useful is None:
            self._useful.append(np.full(len(pattern), -1, np.int64))
        else:
            self._useful.append(np.where(active, useful, 0)[chosen][pattern].sum(axis=1))
        if self._first is None:
            first = addresses[0] + next(iter(residues))
            first = first - min(int(first[active[0]].min()) // LINE * LINE, 0)
            self._first = np.where(active[0], first, 0), active[0]

    @property
    def lanes(self) -> tuple[int, ...]:
        """What the active lanes of the first request address; in shared memory from its beginning on."""
        if self._first is None:
            return ()
        addresses, active = self._first
        return tuple(addresses[active].tolist())

    def instruction(self) -> MemoryInstruction | None:
        """The totals; None where there are no requests."""
        if self._first is None or self._found is not None:
            return self._found
        addresses = np.concatenate([self._first[0][None], *self._addresses])
        active = np.concatenate([self._first[1][None], *self._active])
        found = warp_accesses(
            addresses, self.width, memory=self.memory, op=self.op, matrices=self.matrices or None,
            active=None if self.op.endswith("matrix") else active,
        )  # fmt: skip
        times = np.concatenate([[0], *self._times])
        given = np.concatenate([[-1], *self._useful])

        def total(values: Any) -> int:
            return int(np.asarray(values, np.int64) @ times)

        waste = np.asarray(
            found.sectors - found.ideal_sectors
            if self.memory == "global"
            else found.wavefronts - found.ideal_wavefronts
        )
        worst = int(waste[1:].argmax()) + 1
        requests, lanes = int(times.sum()), total(found.lanes)
        sectors, wavefronts = total(found.sectors), total(found.wavefronts)
        self._found = MemoryInstruction(
            self.name, self.sass, self.memory, self.op, self.width, requests, lanes / requests, sectors,
            total(found.ideal_sectors), total(found.lines), wavefronts, total(found.ideal_wavefronts),
            sectors * SECTOR if self.memory == "global" else lanes * self.width,
            total(np.where(given < 0, found.useful_bytes, given)),
            found.at(0), found.at(worst), tuple(addresses[worst][active[worst]].tolist()), self.note,
            tuple(np.flatnonzero(active[worst]).tolist()),
        )  # fmt: skip
        return self._found


class Repeated:
    """Tallies of a part of a tile, each so many times: what does not depend on the tensors is evaluated once."""

    def __init__(self, units: Sequence[Tally], times: Sequence[int]) -> None:
        self.units, self.times = units, times
        self.name, self.memory, self.op, self.width = units[0].name, units[0].memory, units[0].op, units[0].width

    @property
    def lanes(self) -> tuple[int, ...]:
        """As of a Tally."""
        return self.units[0].lanes

    def instruction(self) -> MemoryInstruction | None:
        """The totals; None where there are no requests."""
        parts = [(unit.instruction(), count) for unit, count in zip(self.units, self.times, strict=True) if count]
        made = [(x, count) for x, count in parts if x is not None]
        if not made:
            return None

        def total(field: str) -> int:
            return sum(count * int(getattr(x, field)) for x, count in made)

        requests = total("requests")
        lanes = sum(count * round(x.lanes * x.requests) for x, count in made)
        worst = max((x for x, _ in made), key=_waste)
        sums: dict[str, Any] = {field: total(field) for field in SUMMED}
        return worst._replace(**sums, lanes=lanes / requests, first=made[0][0].first)


SUMMED = (
    "requests", "sectors", "ideal_sectors", "lines", "wavefronts", "ideal_wavefronts", "bytes_moved", "bytes_useful",
)  # fmt: skip


def _waste(x: MemoryInstruction) -> int:
    """What the worst request takes beyond its ideal."""
    worst = x.worst
    return 0 if worst is None else worst.conflicts + worst.sectors - worst.ideal_sectors
