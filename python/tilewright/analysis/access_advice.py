"""What to change about an access: wider, from an aligned base, side by side, or under a swizzle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.analysis.access import SECTOR, WARP, warp_accesses
from tilewright.analysis.layouts import OF_MATRICES
from tilewright.analysis.suggest import best_swizzle, counted, name_of

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.analysis.layouts import Table

    Integers = npt.NDArray[np.int64]

__all__ = ["advice_on_access"]


def advice_on_access(
    x: MemoryInstruction,
    widest: int,
    table: Table,
    addresses: Integers,
    mask: npt.NDArray[np.bool_],
    matrices: int,
) -> str:
    """What to change; empty where nothing has to be."""
    if x.memory == "shared" and x.conflicts:
        return _against_conflicts(x, table, addresses, mask, matrices)
    if x.memory == "global" and x.sectors > x.ideal_sectors:
        return _against_sectors(x, widest, table, addresses, mask)
    if x.op not in OF_MATRICES and widest > x.width:
        return _wider(x, widest)
    if x.requests and x.lanes < WARP:
        return f"{x.lanes:.4g} of {WARP} lanes are active: give a warp's other lanes work, too"
    return ""


def _against_conflicts(
    x: MemoryInstruction, table: Table, addresses: Integers, mask: npt.NDArray[np.bool_], matrices: int
) -> str:
    import numpy as np

    head = f"{x.worst.ways if x.worst else 1}-way bank conflict"
    offsets = np.where(mask, (addresses - table.base) * 8 // table.bits, 0)
    best = best_swizzle(offsets, mask, table.bits, x.op, x.width, matrices, table.base)
    if best is None or best[1] >= x.wavefronts:
        return f"{head}: lanes want different words of one bank; pad the stride between them"
    swizzle, wavefronts = best
    return f"{head}; composition with {name_of(swizzle)} takes {counted(wavefronts)} instead of {x.wavefronts}"


def _wider(x: MemoryInstruction, widest: int) -> str:
    return f"accesses of {widest} bytes are legal, and take {widest // x.width} times fewer instructions"


def _against_sectors(
    x: MemoryInstruction, widest: int, table: Table, addresses: Integers, mask: npt.NDArray[np.bool_]
) -> str:
    import numpy as np

    moved = addresses - table.base % SECTOR
    aligned = int(warp_accesses(moved, x.width, op=x.op, active=mask).sectors.sum())
    if aligned == x.ideal_sectors:
        return (
            f"the base {table.base:#x} lies {table.base % SECTOR} bytes behind a sector: from an aligned one on the "
            f"accesses take {aligned} sectors instead of {x.sectors}"
        )
    steps = np.unique(np.diff(x.addresses))
    if len(steps) == 1 and x.width < steps[0] <= widest:
        return _wider(x, widest)
    if len(steps) == 1 and steps[0] not in (0, x.width):
        return (
            f"neighbouring lanes are {abs(int(steps[0]))} bytes apart but access {x.width}: let them access "
            "neighbouring elements"
        )
    return (
        f"a request takes {x.sectors / x.requests:.4g} sectors where {x.ideal_sectors / x.requests:.4g} would do: let "
        "neighbouring lanes access neighbouring elements"
    )
