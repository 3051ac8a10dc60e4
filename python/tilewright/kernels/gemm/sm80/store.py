"""Sums that leave gemm_sm80 through shared memory: whether a plan's layout of the stores takes each just once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text
from tilewright.kernels.gemm.sm80.layouts import ACCESS
from tilewright.kernels.gemm.sm80.operand import coordinates_of


@lru_cache(maxsize=256)
def store_fits(store_tv: Any, vector: int, round_mn: tuple[int, int], threads: int, bits: int) -> None:
    """LayoutError where (thread, value) to (row, n) does not store each element of a round once, by whole accesses."""
    if vector & (vector - 1) or vector * bits > 8 * ACCESS:
        raise LayoutError(
            f"GemmSm80: store_vector is {vector} elements of {bits} bits, but an access has a power of two of them, at "
            f"most {8 * ACCESS // bits}"
        )
    if _core.rank(store_tv) != 2:
        raise LayoutError(f"GemmSm80: store_tv is {store_tv}, but it must have the two modes (thread, value)")
    thread, value = coordinates_of(store_tv[0]), coordinates_of(store_tv[1])
    if len(thread) > threads:
        raise LayoutError(
            f"GemmSm80: store_tv has {len(thread)} threads, but the TiledMma has {threads}; use at most as many"
        )
    rows, columns = round_mn
    points = (thread[:, None] + value[None]).reshape(-1, 2)
    inside = (points >= 0).all() and (points < round_mn).all()
    if not inside or len(points) != rows * columns or len(np.unique(points @ (columns, 1))) != len(points):
        raise LayoutError(
            f"GemmSm80: store_tv = {store_tv} must have each (row, n) of a round of {text(round_mn)} sums just once; "
            "use None for stores out of registers, or the layout that the plan had"
        )
    groups = points.reshape(-1, vector, 2) if len(value) % vector == 0 else None
    along = np.arange(vector)[:, None] * (0, 1)
    if groups is None or (groups != groups[:, :1] + along).any() or (groups[:, 0, 1] % vector).any():
        raise LayoutError(
            f"GemmSm80: store_vector is {vector}, but in store_tv = {store_tv} the values of a thread are not so many "
            f"neighbours along n, from a multiple of {vector} on"
        )
