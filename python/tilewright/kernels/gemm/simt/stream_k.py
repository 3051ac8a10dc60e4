"""Stream-K (gemm/stream_k.py) in gemm_simt: how many steps it counts, its order of tiles, and its work as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.gemm.stream_k import MAX_STEPS

if TYPE_CHECKING:
    from tilewright.kernels.gemm.simt.plan import GemmSimt
    from tilewright.kernels.gemm.tables import IntArray

LONGEST_RUN, SHORTEST_RUN = 16, 6


def counts_steps(tiles: int, steps: int, stream_k_ctas: int) -> bool:
    """Whether the kernel can count the steps along K of all tiles, one after the other.

    >>> counts_steps(1024, 512, 264), counts_steps(1 << 20, 1 << 11, 264)
    (True, False)
    """
    return (tiles + stream_k_ctas) * steps < MAX_STEPS


def whole_group(tiles: int) -> int:
    """A run of tiles along M that divides them, for GemmSimt.group.

    >>> [whole_group(n) for n in (32, 33, 37, 5)]
    [16, 11, 37, 5]
    """
    return next((n for n in range(min(LONGEST_RUN, tiles), SHORTEST_RUN - 1, -1) if tiles % n == 0), max(tiles, 1))


def stream_k_work(plan: GemmSimt) -> IntArray:
    """GemmTables.work: the tiles in the order of the kernel's numbers, those that are shared in parts along K."""
    run, runs, columns = plan._raster()
    matrix, within = np.divmod(np.arange(plan.places), run * runs * columns)
    line, row = np.divmod(within, run)
    tiles = np.stack([row + line // columns * run, line % columns, matrix], axis=-1)
    parts = np.array(plan.parts_of_tiles, np.int64).reshape(-1, 3)
    rest = np.arange(plan.stream_k_tiles, plan.places)
    whole = np.stack([rest, np.zeros_like(rest), np.full_like(rest, plan.steps)], axis=-1)
    units = np.concatenate([parts, whole])
    return np.ascontiguousarray(np.concatenate([tiles[units[:, 0]], units[:, 1:]], axis=1), np.int32)
