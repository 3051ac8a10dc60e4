"""What a warp of a GEMM does in shared memory at a time, and in which banks, as `tilewright.analysis` finds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright._cached import cached_property
from tilewright.analysis.bank_conflicts import BANKS, WARP, WORD
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.analysis.access import Request
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.tables import OperandTable

CORE = 16  # bytes of a row of the matrices of 8 rows that ldmatrix and wgmma read
ROWS = 8

__all__ = ["SharedAccess", "shared_accesses"]


@dataclass(frozen=True)
class SharedAccess:
    """Accesses of shared memory that are made at the same time.

    `addresses`: in bytes, of each lane, or of each row where no lane reads; `width`: the bytes of each.
    """

    operand: str  # "A", "B" or "C"
    writes: bool
    by: str  # "lane" or "row"
    addresses: tuple[int, ...]
    width: int

    @cached_property
    def words(self) -> dict[int, tuple[int, ...]]:
        """The lanes (or rows) that access each word, in their order."""
        found: dict[int, tuple[int, ...]] = {}
        for lane, address in enumerate(self.addresses):
            for word in range(address // WORD, (address + self.width - 1) // WORD + 1):
                found[word] = (*found.get(word, ()), lane)
        return found

    @cached_property
    def request(self) -> Request:
        """What it costs."""
        from tilewright.analysis.access import warp_access

        op = "store" if self.writes else "load"
        return warp_access(self.addresses, self.width, memory="shared", op=op)

    @property
    def wavefronts(self) -> int:
        """The time that it takes: as many as there are different words in the fullest bank."""
        return self.request.wavefronts

    @property
    def least(self) -> int:
        """What would be the least: 32 words at a time."""
        return -(-len(self.words) // BANKS)


def shared_accesses(plan: GemmPlan) -> list[SharedAccess]:
    """The first access of a plan's first warp of each kind: writing A, reading A, writing B, reading B.

    Where C goes through shared memory by stmatrix, writing C too.

    An access is served 128 bytes at a time, so these are all lanes for accesses of up to 4 bytes, half a warp for 8, a
    quarter for 16. What TMA writes has no lanes; what wgmma reads is a matrix of 8 rows of 16 bytes.
    Source: CUDA C++ Programming Guide, "Shared Memory".

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> plan = choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), (16, 16, 16))
    >>> [(x.operand, x.writes, x.wavefronts, x.least) for x in shared_accesses(plan)]
    [('A', True, 1, 1), ('A', False, 1, 1), ('B', True, 1, 1), ('B', False, 1, 1)]
    """
    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.kernels.gemm.accesses import tables_of

    requests = kernel_of(plan).accesses(plan, (0, 0, 0, 0)).requests
    tallies = {x.name: x for x in requests if not isinstance(x, MemoryInstruction) and x.memory == "shared"}
    tables = tables_of(plan)
    found = []
    for name, table, dtype in (("A", tables.a, plan.problem.a_type), ("B", tables.b, plan.problem.b_type)):
        for what, writes in (
            (f"load {name}, into shared", True),
            (f"write {name} to shared", True),
            (f"read {name}", False),
        ):
            if what in tallies:
                found.append(_at_a_time(name, writes, "lane", tallies[what].lanes, tallies[what].width))
        if table.matrix is not None:
            found.append(_matrix(name, table, int(dtype.bits) // 8))
    stored = tallies.get("write C to shared")
    if stored is not None and stored.op == "stmatrix":
        found.append(_at_a_time("C", True, "row", stored.lanes, CORE))
    return found


def _at_a_time(operand: str, writes: bool, by: str, lanes: Sequence[int], width: int) -> SharedAccess:
    """Those lanes of a request that are served together."""
    together = min(WARP, BANKS * WORD // max(width, WORD))
    return SharedAccess(operand, writes, by, tuple(lanes[:together]), width)


def _matrix(name: str, table: OperandTable, size: int) -> SharedAccess:
    """The first 8 rows that wgmma reads of an operand, as its descriptor addresses them."""
    assert table.matrix is not None
    block = table.matrix[0, 0, 0]
    rows = block[:ROWS, 0] if table.load.mode == 1 else block[0, :ROWS]
    return SharedAccess(name, False, "row", tuple(int(x) * size for x in rows), CORE)
