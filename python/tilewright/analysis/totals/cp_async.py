"""Totals of cp.async, whose two sides cost each other something: the rules of `async_access` for many warps at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import _core
from tilewright._cached import cached_property
from tilewright.analysis.layouts import sass_name
from tilewright.analysis.totals.totals import instruction_of

if TYPE_CHECKING:
    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.totals.totals import Booleans, Integers, Residues

__all__ = ["AsyncTally"]


class AsyncTally:
    """Adds up the requests of one cp.async by `counts`: `source` and `destination` have the totals of its two sides."""

    def __init__(self, name: str, width: int) -> None:
        self.name, self.width = name, width
        self.counts = _core.analysis.AsyncTally(width)
        self.source, self.destination = _Side(self, 0), _Side(self, 1)

    def add(
        self, source: Integers, destination: Integers, reads: Booleans, writes: Booleans, residues: Residues,
        useful: Integers | None = None,
    ) -> None:  # fmt: skip
        """Count requests (requests, 32): where lanes read, as in `Tally.add`, and where they write in shared memory.

        Lanes that write without reading write zeros. `useful`: the bytes that each lane reads, if not all of the width.
        """
        self.counts.add(source, destination, reads, writes, residues, useful)

    @cached_property
    def instructions(self) -> tuple[MemoryInstruction | None, MemoryInstruction | None]:
        """The two sides; None where there are no requests."""
        *sides, counted, asked = self.counts.totals()
        source, destination = (
            instruction_of(
                side.name, sass_name(side.memory, side.op, self.width), side.memory, side.op, self.width, totals
            )
            for side, totals in zip((self.source, self.destination), sides, strict=True)
        )
        if source is not None:
            source = source._replace(asked_sectors=asked)
        if destination is not None:
            destination = destination.counted_as(*counted)
        return source, destination


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
        return self.tally.counts.first[self.which]

    def instruction(self) -> MemoryInstruction | None:
        """As of a Tally."""
        return self.tally.instructions[self.which]
