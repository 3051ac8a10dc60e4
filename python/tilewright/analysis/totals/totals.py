"""Totals over a launch without visiting every tile of it.

How many sectors, lines and wavefronts a request takes depends on its lanes' addresses modulo 128 bytes alone. So tiles
that are cut alike and begin at the same residue are counted, not visited, and of a tile's requests those that are one
another's translation are evaluated once for each residue: in C++, cpp/analysis/totals.hpp. Nothing is sampled: the
totals are exact.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.analysis.access import SECTOR, MisalignedError, Request
from tilewright.analysis.instructions import MemoryInstruction
from tilewright.analysis.layouts import sass_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

WARP = 32

Residues = dict[int, int]  # how many tiles begin at each byte of a line


class Mode(NamedTuple):
    """The tiles along one mode: their number and extent, the tensor's extent, and the bytes from tile to tile.

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


class Group(NamedTuple):
    """Tiles that are cut alike: where the tensor begins and ends in them, and their residues.

    `tiles`: the first tile along each mode, the only one where those of the mode are looked at one by one.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    residues: Residues
    tiles: tuple[int, ...]


def groups(modes: Sequence[Mode], base: int = 0, times: int = 1) -> list[Group]:
    """All tiles of a tensor whose first element lies at the address `base`, each of them `times` times.

    >>> [(g.high, g.residues) for g in groups([Mode(5, 64, 300, 64), Mode(3, 1, 3, 4)])]
    [((64, 1), {0: 2, 4: 2, 8: 2, 64: 2, 68: 2, 72: 2}), ((44, 1), {0: 1, 4: 1, 8: 1})]
    """
    return [Group(*group) for group in _core.analysis.groups(modes, base, times)]


class Tally:
    """Adds up the requests of one instruction, by `counts`."""

    def __init__(
        self, name: str, memory: str, op: str, width: int, *, matrices: int = 0, sass: str = "", note: str = ""
    ) -> None:
        self.name, self.memory, self.op, self.width, self.note = name, memory, op, width, note
        self.sass = sass or sass_name(memory, op, width, matrices)
        self.counts = _core.analysis.Tally(memory, op, width, matrices)
        self._found: MemoryInstruction | None = None

    def add(self, addresses: Integers, active: Booleans, residues: Residues) -> None:
        """Count requests: what their lanes address and whether these are active, both (requests, 32), and how many
        tiles begin at each residue; what is not in them, such as the tile's own place, is a multiple of 128 bytes."""
        self.counts.add(addresses, active, residues)

    @property
    def lanes(self) -> tuple[int, ...]:
        """What the active lanes of the first request address; in shared memory from its beginning on."""
        return self.counts.first

    def instruction(self) -> MemoryInstruction | None:
        """The totals; None where there are no requests."""
        if self._found is None:
            self._found = instruction_of(
                self.name, self.sass, self.memory, self.op, self.width, self.counts.totals(), self.note
            )
        return self._found


def instruction_of(
    name: str, sass: str, memory: str, op: str, width: int, totals: Any, note: str = ""
) -> MemoryInstruction | None:
    """The instruction of what the C++ class counted; None where there are no requests."""
    if totals is None:
        return None
    if len(totals) == 2:
        lane, address = totals
        raise MisalignedError((), lane, address, width)
    sums, first, worst, addresses, lane_ids = totals
    requests, lanes, sectors, ideal_sectors, lines, wavefronts, ideal_wavefronts, useful = sums
    return MemoryInstruction(
        name, sass, memory, op, width, requests, lanes / requests, sectors, ideal_sectors, lines, wavefronts,
        ideal_wavefronts, sectors * SECTOR if memory == "global" else lanes * width, useful,
        Request(memory, op, width, *first), Request(memory, op, width, *worst), addresses, note, lane_ids,
    )  # fmt: skip


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
