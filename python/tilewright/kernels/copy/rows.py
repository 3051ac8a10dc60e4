"""How wide the accesses to the rows of a tensor are.

A row is what lies together in memory along one mode. Where rows begin at any address there is a choice: narrow accesses
that are aligned, or wide ones of which the first and the last of a row reach over its ends. What a warp executes
decides it: the numbers are instructions of an access, counted in the machine code of kernels/tiled_copy.cuh for sm_90a.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ACCESS = 16  # bytes of the widest access
WORD = 4  # bytes of the narrowest one that is realigned

LOAD, JOINED, JOIN = 24, 45, 4  # an aligned access; two that are shifted into each other, and each word of these
STORE, TAKE = 50, 3  # an aligned access of a staged copy; an element of it, from shared memory
REALIGNED, PLACED = 80, 10  # the same where rows begin at any address, ends of rows included
MOVE = 41  # an aligned access of a copy through registers, both sides
REALIGNED_MOVE, PLACED_MOVE = 110, 7
SECTOR = 32  # bytes that memory moves at least
SLOW = 100  # threads execute so many instructions while the L2 takes a part of a sector
OVERLAP = 0.3  # of the shorter of two times that does not overlap with the longer one
CLEARLY = 0.75  # what both take is estimated: so much of the time of the aligned accesses others may take
SHORTEST, FEWEST = 96, 8  # bytes and accesses of a row, so that its two ends do not cost more than all the rest


class Accesses(NamedTuple):
    """Elements of an access, and to the multiple of how many of them the tile's rows are realigned: 0 for none."""

    vector: int
    shift: int


def slots(extent: int, accesses: Accesses) -> int:
    """The accesses that a row needs, wherever it begins."""
    vector, shift = accesses
    return -(-(extent + (shift - 1 if shift else 0)) // vector)


def loads(extent: int, size: int, aligned: int, step: int = 1) -> Accesses:
    """How a row of the source is read whose accesses of `aligned` elements, `step` apart, are aligned.

    >>> loads(40, 1, 8), loads(33, 1, 1), loads(8192, 2, 1)
    (Accesses(vector=8, shift=0), Accesses(vector=16, shift=16), Accesses(vector=8, shift=8))
    """

    def time(each: Accesses) -> float:
        words = each.vector * step * size / WORD
        return -(-extent // each.vector) * ((JOINED + JOIN * words if each.shift else LOAD) + each.vector * size / WORD)

    wide = _widths(extent, size * step) if step == 1 or step * size <= WORD else []
    best = min((Accesses(n, n) for n in wide if n > aligned), key=time, default=Accesses(aligned, 0))
    return best if time(best) < CLEARLY * time(Accesses(aligned, 0)) else Accesses(aligned, 0)


def stores(extent: int, size: int, aligned: int) -> Accesses:
    """The same of the destination, of which nothing but the row may be written.

    >>> stores(40, 1, 8), stores(77, 1, 1), stores(77, 4, 1)
    (Accesses(vector=8, shift=0), Accesses(vector=1, shift=0), Accesses(vector=4, shift=4))
    """

    def instructions(vector: int, shift: int) -> float:
        return REALIGNED + PLACED * vector if shift else STORE + TAKE * vector

    return _better(extent, size, aligned, instructions)


def moves(extent: int, size: int, aligned: int) -> Accesses:
    """The same of a copy through registers, whose accesses of both sides are the same.

    >>> moves(433, 1, 1), moves(22, 1, 2)
    (Accesses(vector=16, shift=16), Accesses(vector=2, shift=0))
    """

    def instructions(vector: int, shift: int) -> float:
        return REALIGNED_MOVE + PLACED_MOVE * vector if shift else MOVE

    return _better(extent, size, aligned, instructions)


def _better(extent: int, size: int, aligned: int, instructions: Callable[[int, int], float]) -> Accesses:
    """Aligned accesses, unless realigned ones are clearly faster."""

    def time(each: Accesses) -> float:
        vector, count = each.vector, slots(extent, each)
        alone = vector - 1 if each.shift else 0  # elements at both ends, on average, each in a sector
        executed = count * instructions(*each)
        written = SLOW * (alone + extent * size / SECTOR + count / SECTOR)  # a warp's accesses end inside of sectors
        return max(executed, written) + OVERLAP * min(executed, written)

    first = Accesses(aligned, 0)
    if extent * size < SHORTEST:
        return first
    wide = [n for n in _widths(extent // FEWEST, size) if n > aligned]
    best = min((Accesses(n, n) for n in wide), key=time, default=first)
    return best if time(best) < CLEARLY * time(first) else first


def _widths(extent: int, size: int) -> list[int]:
    """The elements of accesses that can be realigned, the widest first."""
    return [n for n in (16, 8, 4, 2) if n <= extent and WORD <= n * size <= ACCESS]
