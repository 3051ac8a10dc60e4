"""How many clocks gemm_sm90 takes to store a tile: by the sectors that are written, and what passes shared memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.kernels.gemm.sm90.cases import SECTOR, stored_by
from tilewright.kernels.gemm.sm90.stores import BY_BOXES, STORES

if TYPE_CHECKING:
    from tilewright.kernels.gemm.sm90.cases import Cases

LINE, WORD = 128, 16  # bytes
WARP, WARP_ROWS = 32, 16  # lanes, and rows of a block that a warp has
SHARED = 128  # bytes a clock, to or from shared memory


def store_clocks(cases: Cases, rate: float, broken: float, across: float) -> Any:
    """Clocks of a multiprocessor to store a CTA's part of a tile, where the L2 takes `rate` bytes a clock.

    Of lines that rows share it takes `broken` times as many. Along M registers take `across` times as long.

    TMA writes whole sectors. From registers a request of a warp has a piece of each of eight rows, or of C along M of
    each of four columns, which touches a sector, or two where rows begin anywhere. By lines each part of a row touches
    a line more than its bytes are, unless rows begin at lines.

    >>> from tilewright import BFloat16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.sm90.cases import Config, cases_of
    >>> odd = cases_of((Config(128, 256),), problem_of(2416, 4397, 128, BFloat16), H200)
    >>> for store in ("boxes", "lines", "singles"):
    ...     print(store, round(float(store_clocks(odd._replace(store=STORES.index(store)), 64.0, 1.2, 1.0)[0])))
    boxes 1024
    lines 3499
    singles 5632
    """
    x, size = cases, cases.out
    elements = np.minimum(x.bM, x.m) * np.minimum(x.bN, x.n) / x.split_k  # what lies outside of C is not stored
    in_pairs = x.store == STORES.index("pairs")
    width = np.where(in_pairs, 2 * size, size)
    pieces = np.where(x.along_m, 4, 8)
    reach = np.where(x.along_m | in_pairs, 8 * size, 7 * size)
    crossing = np.where(x.pitch % (8 * size) != 0, (reach - width) / SECTOR, 0)
    directly = elements * size / width / WARP * pieces * (1 + crossing) * SECTOR / rate * np.where(x.along_m, across, 1)
    by_boxes = stored_by(x.store, BY_BOXES)
    by_lines = np.where(x.store == STORES.index("lines"), _by_lines(x, rate, broken), directly)
    return np.where(by_boxes, elements * size / rate, by_lines)


def _by_lines(cases: Cases, rate: float, broken: float) -> Any:
    """Bytes go into shared memory once, and for every request twice out of it."""
    x = cases
    width = np.maximum(x.run, 1)
    rows, length = np.minimum(x.bM, x.m) * x.bN / width / x.split_k, width * x.out
    more = x.pitch % LINE != 0
    requests = rows / WARP_ROWS * 4 * (-(-length // LINE) + more)
    written = rows * np.where(more, np.maximum((length + LINE) / broken, length), length)
    return written / rate + (rows * length + 3 * requests * WARP * WORD) / SHARED
