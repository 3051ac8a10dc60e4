"""Totals of cp.async, whose two sides cost each other something: the rules of `async_access` for many warps at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.analysis.access import warp_accesses
from tilewright.analysis.layouts import instruction_of, sass_name
from tilewright.analysis.totals import LINE, WARP, Residues, fingerprints, placements

if TYPE_CHECKING:
    from tilewright.analysis.access import Requests
    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals import Booleans, Integers

__all__ = ["AsyncTally"]

SECTOR = 32  # bytes
AROUND = 16  # bytes of an access that goes around L1


class AsyncTally:
    """Adds up the requests of one cp.async: `source` and `destination` are what has the totals of its two sides."""

    def __init__(self, name: str, width: int) -> None:
        self.name, self.width = name, width
        self._parts: list[tuple[Integers, Integers, Booleans, Booleans, Integers, Integers]] = []
        self._first: tuple[Integers, Integers, Booleans, Booleans] | None = None
        self._found: tuple[MemoryInstruction | None, MemoryInstruction | None] | None = None
        self.source, self.destination = _Side(self, 0), _Side(self, 1)

    def add(
        self, source: Integers, destination: Integers, reads: Booleans, writes: Booleans, residues: Residues,
        useful: Integers | None = None,
    ) -> None:  # fmt: skip
        """Count requests (requests, 32): where lanes read, as in `Tally.add`, and where they write in shared memory.

        Lanes that write without reading write zeros. `useful`: the bytes that each lane reads, if not all of the width.
        """
        made = writes.any(axis=1)
        residues = {residue: count for residue, count in residues.items() if count}
        if not residues or not made.any():
            return
        source, destination = source[made], destination[made]
        reads, writes = reads[made], writes[made]
        bytes_of = np.where(reads, self.width, 0) if useful is None else np.where(reads, useful[made], 0)
        rows = np.arange(len(source))
        shift = source[rows, np.where(reads.any(axis=1), reads.argmax(axis=1), 0)]
        relative = np.where(reads, source - shift[:, None], 0)
        place = destination[rows, writes.argmax(axis=1)] // LINE * LINE
        there = np.where(writes, destination - place[:, None], 0)
        if self._first is None:
            self._first = source[0], destination[0], reads[0], writes[0]
        chosen, which = fingerprints(relative, there, reads, writes, bytes_of)
        pattern, times, placed = placements(relative, chosen, which, shift, residues)
        rest = (there[chosen][pattern], reads[chosen][pattern], writes[chosen][pattern])
        self._parts.append((placed, *rest, times, bytes_of[chosen][pattern].sum(axis=1)))

    def instructions(self) -> tuple[MemoryInstruction | None, MemoryInstruction | None]:
        """The two sides; None where there are no requests."""
        if self._found is None and self._parts:
            parts = [np.concatenate(x) for x in zip(*self._parts, strict=True)]
            source, destination, reads, writes, times, useful = parts
            both = asynchronous(source, destination, reads, writes, self.width)
            counts = zip(
                ("", ", into shared"), both, (source, destination), (reads, writes), (useful, None), strict=True
            )
            self._found = tuple(  # type: ignore[assignment]
                _instruction(self.name + what, found, at, mask, times, known) for what, found, at, mask, known in counts
            )
        return self._found or (None, None)


class _Side:
    """One side of a cp.async, with what a Tally has."""

    op = "cp.async"

    def __init__(self, tally: AsyncTally, which: int) -> None:
        self.tally, self.which, self.width = tally, which, tally.width
        self.name = tally.name + ", into shared" * which
        self.memory = ("global", "shared")[which]

    @property
    def lanes(self) -> tuple[int, ...]:
        """As of a Tally."""
        first = self.tally._first
        return () if first is None else tuple(first[self.which][first[2 + self.which]].tolist())

    def instruction(self) -> MemoryInstruction | None:
        """As of a Tally."""
        return self.tally.instructions()[self.which]


def asynchronous(
    source: Integers, destination: Integers, reads: Booleans, writes: Booleans, width: int
) -> tuple[Requests, Requests]:
    """What `async_access` says of each request, for arrays (requests, 32); lanes that only write are zeros.

    No two lanes write one place. The wavefronts are those of `destination`: what the lanes' conflicts cost at least.

    >>> rows = np.arange(0, 512, 16)[None]
    >>> everyone = np.ones((1, 32), bool)
    >>> [int(asynchronous(rows + at, rows, everyone, everyone, 16)[0].sectors[0]) for at in (0, 16)]
    [16, 32]
    """
    found = warp_accesses(source, width, op="cp.async", active=reads)
    put = warp_accesses(destination, width, memory="shared", op="cp.async", active=writes)
    if width == AROUND:
        keys = (source // SECTOR << 18 | destination // SECTOR << 5 | (source - destination) % SECTOR) + 1
        sectors = _different(np.where(reads, keys, 0))
        ideal = np.minimum(-(-found.lanes * width // SECTOR), sectors)
        return _with(found, sectors=sectors, ideal_sectors=ideal), put
    of_pass = min(LINE // width, WARP)
    wavefronts = np.zeros(len(source), np.int64)
    for begin in range(0, WARP, of_pass):
        lanes = slice(begin, begin + of_pass)
        wavefronts += np.maximum(
            _fullest(source[:, lanes], reads[:, lanes], width), _fullest(destination[:, lanes], writes[:, lanes], width)
        )
    ideal = np.minimum(-(-put.lanes * width // LINE), wavefronts)
    return found, _with(put, wavefronts=wavefronts, ideal_wavefronts=ideal)


def _with(found: Requests, **counts: Integers) -> Requests:
    """The same with other counts."""
    fields: dict[str, Any] = {name: getattr(found, name) for name in found._fields}
    return type(found)(**{**fields, **counts})


def _different(keys: Integers) -> Integers:
    """How many different keys each row has, 0 aside."""
    ordered = np.sort(keys, axis=1)
    new = (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    found: Integers = new + (ordered[:, 0] != 0)
    return found


def _fullest(addresses: Integers, active: Booleans, width: int) -> Integers:
    """How many lanes of each row are in its fullest group of banks."""
    groups = LINE // width
    row = np.arange(len(addresses))[:, None] * groups
    counts = np.bincount((row + addresses % LINE // width)[active], minlength=len(addresses) * groups)
    found: Integers = counts.reshape(-1, groups).max(axis=1)
    return found


def _instruction(
    name: str, found: Requests, addresses: Integers, mask: Booleans, times: Integers, useful: Integers | None
) -> MemoryInstruction | None:
    """The totals of requests that are made so often."""
    made = times * (found.lanes > 0)
    if not made.any():
        return None
    one = instruction_of(name, sass_name(found.memory, found.op, found.width), found, addresses, mask)

    def total(values: Any) -> int:
        return int(np.asarray(values, np.int64) @ made)

    requests, lanes, sectors = int(made.sum()), total(found.lanes), total(found.sectors)
    return one._replace(
        requests=requests, lanes=lanes / requests, sectors=sectors, ideal_sectors=total(found.ideal_sectors),
        lines=total(found.lines), wavefronts=total(found.wavefronts), ideal_wavefronts=total(found.ideal_wavefronts),
        bytes_moved=SECTOR * sectors if found.memory == "global" else found.width * lanes,
        bytes_useful=total(found.useful_bytes if useful is None else useful),
    )  # fmt: skip
