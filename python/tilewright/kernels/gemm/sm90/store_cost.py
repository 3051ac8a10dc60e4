"""How many clocks gemm_sm90 takes to store a tile: by the sectors that are written, and what passes shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.gemm.sm90.build import BY_BOXES
from tilewright.kernels.gemm.sm90.conditions import run_columns

if TYPE_CHECKING:
    from tilewright.kernels.gemm.problem import GemmProblem

SECTOR, LINE, WORD = 32, 128, 16  # bytes
WARP, WARP_ROWS = 32, 16  # lanes, and rows of a block that a warp has
SHARED = 128  # bytes a clock, to or from shared memory


def store_clocks(
    problem: GemmProblem, bM: int, bN: int, split_k: int, consumers: int, store: str, rate: float
) -> float:
    """Clocks of a multiprocessor to store a CTA's part of a tile, where the L2 takes `rate` bytes a clock.

    TMA writes whole sectors. From registers a request of a warp has a piece of each of eight rows, or of C along M of
    each of four columns, which touches a sector, or two where rows begin anywhere. By lines each part of a row touches
    a sector more than its bytes are, and a line more, unless rows begin at lines.

    >>> from tilewright import BFloat16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> odd = problem_of(2416, 4397, 128, BFloat16)
    >>> [store_clocks(odd, 128, 256, 1, 2, store, 64.0) for store in ("boxes", "lines", "singles")]
    [1024.0, 3520.0, 5632.0]
    """
    size, elements = problem.c_type.bits // 8, bM * bN / split_k
    if store in BY_BOXES:
        return elements * size / rate
    if store == "lines":
        return _by_lines(problem, bM, bN, split_k, consumers, rate)
    along_m = problem.c_strides[0] == 1 and problem.c_strides[1] != 1
    pieces, reach = (4, 8 * size) if along_m else (8, 8 * size if store == "pairs" else 7 * size)
    width = 2 * size if store == "pairs" else size
    pitch = problem.c_strides[1 if along_m else 0] * size
    crossing = (reach - width) / SECTOR if pitch % (8 * size) else 0
    sectors = elements * size / width / WARP * pieces * (1 + crossing)
    return sectors * SECTOR / rate


def _by_lines(problem: GemmProblem, bM: int, bN: int, split_k: int, consumers: int, rate: float) -> float:
    """Bytes go into shared memory once, and for every request twice out of it."""
    size, width = problem.c_type.bits // 8, run_columns(bM, bN, split_k, consumers)
    rows, length = bM * bN / width / split_k, width * size
    more = problem.c_strides[0] * size % LINE != 0
    requests = rows / WARP_ROWS * 4 * (-(-length // LINE) + more)
    sectors = rows * (length / SECTOR + more)
    return sectors * SECTOR / rate + (rows * length + 3 * requests * WARP * WORD) / SHARED
