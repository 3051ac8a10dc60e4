"""The sentence that says what to change about an access, from what it costs.

The interactive page has these functions translated into JavaScript, so they use no more than translate.py knows.
"""

from __future__ import annotations

from typing import Any

__all__ = ["advice", "counted", "name_of"]

WARP = 32  # lanes


def advice(x: Any) -> str:
    """What to change; empty where nothing has to be. `x` is a `Facts` of access_advice.py."""
    if x.shared and x.wavefronts > x.ideal_wavefronts:
        return against_conflicts(x)
    if not x.shared and x.sectors > x.ideal_sectors:
        return against_sectors(x)
    if not x.of_matrices and x.widest > x.width:
        return wider(x)
    if x.lanes < WARP * x.requests:
        return f"{mean(x.lanes, x.requests)} of {WARP} lanes are active: give a warp's other lanes work, too"
    return ""


def against_conflicts(x: Any) -> str:
    best = x.best_swizzle()
    if best is None or best[1] >= x.wavefronts:
        return f"{x.ways}-way bank conflict: lanes want different words of one bank; pad the stride between them"
    taken = f"takes {counted(best[1])} instead of {x.wavefronts}"
    return f"{x.ways}-way bank conflict; composition with {name_of(best[0])} {taken}"


def against_sectors(x: Any) -> str:
    if x.aligned_sectors() == x.ideal_sectors:
        moved = f"from an aligned one on the accesses take {x.ideal_sectors} sectors instead of {x.sectors}"
        start = f"the base {x.base}" if x.from_base else f"a request's lowest address {x.lowest}"
        return f"{start} lies {x.behind_sector} bytes behind a sector: {moved}"
    steps = x.steps
    apart = abs(steps[0]) if len(steps) == 1 else 0  # lanes may come in reversed order
    if apart > x.width and apart <= x.widest:
        return wider(x)
    mend = "let them access neighbouring elements"
    if apart != 0 and apart != x.width:
        return f"neighbouring lanes are {apart} bytes apart but access {x.width}: {mend}"
    taken, ideal = mean(x.sectors, x.requests), mean(x.ideal_sectors, x.requests)
    neighbours = "let neighbouring lanes access neighbouring elements"
    return f"a request takes {taken} sectors where {ideal} would do: {neighbours}"


def wider(x: Any) -> str:
    return f"accesses of {x.widest} bytes are legal, and take {x.widest // x.width} times fewer instructions"


def mean(total: int, count: int) -> str:
    """With up to two digits behind the point, rounded up from the middle.

    >>> mean(133, 8), mean(41, 2), mean(64, 2)
    ('16.63', '20.5', '32')
    """
    hundredths = (200 * total + count) // (2 * count)
    whole, rest = hundredths // 100, hundredths % 100
    if rest == 0:
        return f"{whole}"
    return f"{whole}.{rest // 10}" if rest % 10 == 0 else f"{whole}.{rest // 10}{rest % 10}"


def name_of(swizzle: Any) -> str:
    """Swizzle<B,M,S>."""
    return f"Swizzle<{swizzle.num_bits},{swizzle.num_base},{swizzle.num_shift}>"


def counted(wavefronts: int) -> str:
    """`1 wavefront`, `2 wavefronts`.

    >>> counted(1), counted(2)
    ('1 wavefront', '2 wavefronts')
    """
    return f"{wavefronts} wavefront" + ("s" if wavefronts != 1 else "")
