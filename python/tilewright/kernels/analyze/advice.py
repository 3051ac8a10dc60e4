"""Which access of a launch loses the most, and the words for it; what mends it is each kernel's to say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.analysis.instructions import MemoryInstruction

__all__ = ["Loss", "conflict", "in_global", "joined"]

WORTH = 0.05  # the part of all wavefronts or sectors from which on their loss is worth a sentence


class Loss(NamedTuple):
    """The instruction that loses the most, and which part of all wavefronts or sectors that is."""

    instruction: MemoryInstruction
    part: float


def losses(found: Sequence[MemoryInstruction]) -> list[Loss]:
    """What each instruction loses, the most first; what is hardly worth a word is left out."""
    wavefronts = sum(x.wavefronts for x in found) or 1
    sectors = sum(x.sectors for x in found) or 1
    every = [
        Loss(x, x.conflicts / wavefronts if x.memory == "shared" else x.excessive_sectors / sectors)
        for x in found
        if x.by_lanes or x.op == "tma"
    ]
    return sorted((loss for loss in every if loss.part >= WORTH), key=lambda loss: -loss.part)


def in_global(x: MemoryInstruction, limit: str) -> str:
    """Sectors that are moved for a part of their bytes; `limit`: what limits accesses of the same tensor."""
    per, ideal = x.sectors / x.requests, x.ideal_sectors / x.requests
    reason = f"; what limits accesses is {limit}" if limit else "; let neighbouring lanes access neighbouring elements"
    return f"'{x.name}': a request takes {per:.4g} sectors where {ideal:.4g} would do{reason}"


def conflict(x: MemoryInstruction) -> str:
    ways = x.worst.ways if x.worst is not None else 1
    return f"'{x.name}' conflicts {ways} ways, {x.wavefronts} wavefronts instead of {x.ideal_wavefronts}"


def joined(
    found: Sequence[MemoryInstruction],
    on_sectors: Callable[[MemoryInstruction], str],
    on_conflict: Callable[[Loss], str],
) -> str:
    """What to do about the greatest loss in shared memory, and about that in global memory."""
    most = losses(found)
    shared = next((on_conflict(x) for x in most if x.instruction.memory == "shared"), "")
    outside = next((on_sectors(x.instruction) for x in most if x.instruction.memory == "global"), "")
    return "; ".join(x for x in (shared, outside) if x)
