"""What to change about an access: wider, from an aligned base, side by side, or under a swizzle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright import _core
from tilewright.analysis.access import OF_MATRICES, accesses_of_layout

if TYPE_CHECKING:
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

    def sectors_lower(by: int) -> int:
        return int(accesses_of_layout(addresses - by, x.width, op=x.op, active=mask).sectors.sum())

    def best_swizzle() -> tuple[_core.Swizzle, int] | None:
        offsets = np.where(mask, (addresses - table.base) * 8 // table.bits, 0)
        found: tuple[_core.Swizzle, int] | None = _core.analysis.best_swizzle(
            offsets, mask, op=x.op, width=x.width, matrices=matrices, element_bits=table.bits, base=table.base
        )
        return found

    return _core.analysis.advice(
        shared=x.memory == "shared",
        of_matrices=x.op in OF_MATRICES,
        width=x.width,
        widest=widest,
        requests=x.requests,
        lanes=round(x.lanes * x.requests),
        sectors=x.sectors,
        ideal_sectors=x.ideal_sectors,
        wavefronts=x.wavefronts,
        ideal_wavefronts=x.ideal_wavefronts,
        ways=x.worst.ways if x.worst is not None else 1,
        base=table.base,
        addresses=x.addresses,
        sectors_lower=sectors_lower,
        best_swizzle=best_swizzle,
    )
