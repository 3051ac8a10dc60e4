"""What is wrong with a memory instruction of a profile, and what mends it, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.analysis.access import OF_MATRICES, warp_access
from tilewright.analysis.advice import advice_on_access
from tilewright.analysis.layouts import Table

if TYPE_CHECKING:
    from tilewright.analysis.instructions import MemoryInstruction

__all__ = ["excess_of", "hint_of", "rule_of"]

WARP, ROWS = 32, 8  # lanes; those that name the rows of a matrix
FEW = 16  # lanes


def excess_of(x: MemoryInstruction) -> int:
    """Sectors or wavefronts beyond the ideal ones."""
    return x.excessive_sectors if x.memory == "global" else x.conflicts


def rule_of(op: str) -> str:
    """The operation whose rules count it: an atomic is counted as a store.

    >>> rule_of("atomic"), rule_of("load")
    ('store', 'load')
    """
    return "store" if op == "atomic" else op


def hint_of(x: MemoryInstruction, element_bits: int) -> str:
    """What is wrong and what mends it, by the instruction's worst request; empty where nothing is.

    >>> from tilewright import Float32, analysis, cute
    >>> column = analysis.analyze(cute.make_layout(32, stride=32), Float32, memory="shared")["load"]
    >>> hint_of(column, 32).split("; ")[0]
    'load: 32-way bank conflict, 32 wavefronts of 1 ideal'
    >>> hint_of(column, 32).split("; ")[1]
    'pad the rows by 1 element, or composition with Swizzle<5,0,5> takes 1 wavefront'
    """
    worst = x.worst
    if worst is None or not x.addresses:
        return ""
    lanes = list(x.lane_ids) or range(len(x.addresses))
    matrices = -(-(max(lanes) + 1) // ROWS) if x.op in OF_MATRICES else 0
    addresses, mask = (np.zeros((1, ROWS * matrices or WARP), kind) for kind in (np.int64, bool))
    addresses[0, lanes], mask[0, lanes] = x.addresses, True
    one = x._replace(
        requests=1, lanes=worst.lanes, sectors=worst.sectors, ideal_sectors=worst.ideal_sectors,
        wavefronts=worst.wavefronts, ideal_wavefronts=worst.ideal_wavefronts,
    )  # fmt: skip
    if one.conflicts > 0:
        said = f"{worst.ways}-way bank conflict, {worst.wavefronts} wavefronts of {worst.ideal_wavefronts} ideal"
        mended = _mended(one, element_bits, addresses, mask, matrices)
        return f"{x.name}: {said}" + (f"; {mended}" if mended else "")
    if one.excessive_sectors > 0 or worst.lanes <= FEW:
        table = Table(addresses, element_bits, 0)
        counted = one._replace(op=rule_of(x.op))
        return f"{x.name}: {advice_on_access(counted, one.width, table, addresses, mask, matrices)}"
    return ""


def _mended(x: MemoryInstruction, bits: int, addresses: np.ndarray, mask: np.ndarray, matrices: int) -> str:
    """What takes fewer wavefronts: rows that are longer by an access, or a swizzle; of atomics data decide."""
    if x.op == "atomic":
        return ""
    ways = []
    padded = _padded(x)
    if padded < x.wavefronts:
        count = max(x.width * 8 // bits, 1)
        ways.append(f"pad the rows by {count} element{'s' * (count != 1)}")
        if padded > x.ideal_wavefronts:
            ways[-1] += f" ({padded} wavefronts)"
    text = advice_on_access(x, x.width, Table(addresses, bits, 0), addresses, mask, matrices).partition("; ")[2]
    if "Swizzle" in text:
        alone = x.worst is not None and x.worst.alone  # by the banks of the cache, which no layout changes
        ways.append(text.partition(" takes ")[0] if alone else text.replace(f" instead of {x.wavefronts}", ""))
    return ", or ".join(ways)


def _padded(x: MemoryInstruction) -> int:
    """The wavefronts where lanes that now lie at one distance lie an access farther apart; as now where they do not."""
    places = np.array(x.addresses)
    steps = np.diff(places)
    if len(steps) == 0 or (steps != steps[0]).any() or abs(steps[0]) <= x.width:
        return x.wavefronts
    moved = places - places.min() + np.argsort(np.argsort(places)) * x.width
    return warp_access(moved, x.width, memory="shared", op=x.op).wavefronts
