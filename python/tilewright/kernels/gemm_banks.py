"""What a warp of a GEMM does in shared memory at a time, and in which banks: read off the plan's tables."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.kernels.bank_conflicts import BANKS, WARP, WORD

if TYPE_CHECKING:
    from tilewright.kernels.gemm_plan import GemmPlan
    from tilewright.kernels.gemm_tables import GemmTables, OperandTable

CORE = 16  # bytes of a row of the matrices of 8 rows that ldmatrix and wgmma read

__all__ = ["SharedAccess", "shared_accesses"]


class SharedAccess(NamedTuple):
    """Words of shared memory that are accessed at the same time.

    `words`: the lanes (or rows, where no lane reads) that access each word, in the order of the lanes.
    """

    operand: str  # "A", "B" or "C"
    writes: bool
    by: str  # "lane" or "row"
    words: dict[int, tuple[int, ...]]

    @property
    def wavefronts(self) -> int:
        """The time that it takes: as many as there are different words in the fullest bank."""
        return max(Counter(word % BANKS for word in self.words).values())

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
    >>> from tilewright.kernels.gemm_problem import problem_of
    >>> from tilewright.kernels.gemm_simt import choose
    >>> plan = choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), (16, 16, 16))
    >>> [(x.operand, x.writes, x.wavefronts, x.least) for x in shared_accesses(plan)]
    [('A', True, 1, 1), ('A', False, 1, 1), ('B', True, 1, 1), ('B', False, 1, 1)]
    """
    tables, found = plan.tables(), []
    for name, table, dtype in (("A", tables.a, plan.problem.a_type), ("B", tables.b, plan.problem.b_type)):
        size = dtype.bits // 8
        if table.load.kind != "tma":
            found.append(_written(name, table, size))
        found.append(_read(plan, name, table, size))
    if tables.store.kind == "tma" and plan.problem.c_type.bits == 16:
        found.append(_stored(tables))
    return found


def _access(operand: str, writes: bool, by: str, addresses: list[list[int]], width: int) -> SharedAccess:
    """The words of accesses of `width` bytes at the addresses of each lane."""
    words: dict[int, tuple[int, ...]] = {}
    for lane, own in enumerate(addresses):
        for word in sorted({word for x in own for word in range(x // WORD, (x + width - 1) // WORD + 1)}):
            words[word] = (*words.get(word, ()), lane)
    return SharedAccess(operand, writes, by, words)


def _together(width: int) -> int:
    """The lanes that are served at the same time."""
    return min(WARP, BANKS * WORD // max(width, WORD))


def _written(name: str, table: OperandTable, size: int) -> SharedAccess:
    smem = table.load.smem[:WARP, 0]
    # Neighbours in global memory that are none in shared memory are written one by one.
    count = smem.shape[1] if (smem[0] == smem[0, 0] + range(smem.shape[1])).all() else 1
    lanes = smem[: _together(count * size)]
    return _access(name, True, "lane", [[int(x) * size] for x in lanes[:, 0]], count * size)


def _stored(tables: GemmTables) -> SharedAccess:
    """A matrix of stmatrix: 8 rows of C, 8 elements of each."""
    store, coord = tables.store, tables.mma.c_coord
    assert store.smem_write is not None
    m, n = (coord[..., i].reshape(store.smem_write.shape) for i in (0, 1))
    rows = [sorted(int(x) * 2 for x in store.smem_write[(m == row) & (n < 8)]) for row in range(8)]
    return _access("C", True, "row", rows, 2)


def _read(plan: GemmPlan, name: str, table: OperandTable, size: int) -> SharedAccess:
    if table.matrix is not None:
        core = CORE // size
        block = table.matrix[0, 0, 0]
        rows = block[:8, :core] if table.load.mode == 1 else block[:core, :8].T
        return _access(name, False, "row", [[int(x) * size for x in row] for row in rows], size)
    if plan.KERNEL == "sm80":  # what a lane addresses is not what it gets
        from tilewright.kernels.gemm_sm80_operand import coordinates_of

        sm80: Any = plan
        side = sm80.sides["AB".index(name)]
        width = side.fragment.units * size if side.fragment.kind == "plain" else CORE
        lanes = coordinates_of(side.fragment.thread)[: _together(width)]
        addresses = [[int(side.smem((int(row), int(k), 0))) * size] for row, k in lanes]
        return _access(name, False, "lane", addresses, width)
    assert table.fragment is not None
    simt: Any = plan
    width = simt.fragment_vector(name.lower()) * size
    offsets = table.fragment[: _together(width), 0, 0, 0]
    return _access(name, False, "lane", [[int(x) * size] for x in offsets], width)
