"""What to change about an access: wider, from an aligned base, side by side, or under a swizzle."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tilewright import _core
from tilewright.analysis.access import OF_MATRICES, SECTOR, accesses_of_layout
from tilewright.analysis.advice.sentences import advice

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
    return advice(Facts(x, widest, table, addresses, mask, matrices))


class Facts:
    """What the sentence depends on. What takes a search is found when it is asked for.

    The page has an object of the same names, from the same C++.
    """

    def __init__(
        self,
        x: MemoryInstruction,
        widest: int,
        table: Table,
        addresses: Integers,
        mask: npt.NDArray[np.bool_],
        matrices: int,
    ) -> None:
        self._instruction, self._table = x, table
        self._addresses, self._mask, self._matrices = addresses, mask, matrices
        self.shared, self.of_matrices = x.memory == "shared", x.op in OF_MATRICES
        self.width, self.widest, self.requests = x.width, widest, x.requests
        self.lanes = round(x.lanes * x.requests)
        self.sectors, self.ideal_sectors = x.sectors, x.ideal_sectors
        self.wavefronts, self.ideal_wavefronts = x.wavefronts, x.ideal_wavefronts
        self.ways = x.worst.ways if x.worst is not None else 1
        lowest = min(x.addresses, default=table.base)  # of the worst request
        self.base, self.lowest, self.behind_sector = f"{table.base:#x}", f"{lowest:#x}", lowest % SECTOR
        self.from_base = table.base % SECTOR == self.behind_sector

    @property
    def steps(self) -> list[int]:
        """The different distances between neighbouring active lanes of the worst request, in bytes."""
        at = self._instruction.addresses
        return sorted({b - a for a, b in pairwise(at)})

    def aligned_sectors(self) -> int:
        """The sectors where the lowest address is at the beginning of one."""
        moved = self._addresses - self.behind_sector
        return int(accesses_of_layout(moved, self.width, op=self._instruction.op, active=self._mask).sectors.sum())

    def best_swizzle(self) -> tuple[_core.Swizzle, int] | None:
        """The simplest of the swizzles that take the fewest wavefronts, and their number."""
        table = self._table
        offsets = np.where(self._mask, (self._addresses - table.base) * 8 // table.bits, 0)
        found: tuple[_core.Swizzle, int] | None = _core.analysis.best_swizzle(
            offsets,
            self._mask,
            op=self._instruction.op,
            width=self.width,
            matrices=self._matrices,
            element_bits=table.bits,
            base=table.base,
        )
        return found
