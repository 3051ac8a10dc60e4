"""The layouts of gemm_simt's shared memory that would not conflict."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.analysis.suggest.shared_memory import suggest_padding
from tilewright.analysis.suggest.tile_access import Access
from tilewright.kernels.gemm.simt.image_advice import best_image
from tilewright.kernels.gemm.simt.plan import by_cp_async

__all__ = ["image", "padding"]

ROW = 16  # bytes of a row of a matrix


def image(plan: Any, which: str) -> str:
    """The padding of the sums by which gemm_simt writes C; empty where none takes fewer wavefronts."""
    best = best_image(plan)
    if best is None:
        return ""
    return f"pad its rows: smem_{which} = {best.layout} takes {best.wavefronts} wavefronts a tile, not {best.before}"


def padding(plan: Any, which: str) -> str:
    """The padding under which gemm_simt writes and reads an operand without conflicts; it takes no swizzles."""
    tiled_copy, smem, wide, _, _, dtype = plan.side(which)
    tv, vector, _ = plan.copy_layout(which)
    shape, stride = smem.shape, smem.stride
    tile = _core.make_layout(tuple(shape[:2]), stride=tuple(stride[:2]))
    size = int(dtype.bits) // 8
    together = vector if wide and _steps_by_one(tile, tv) else 1
    put = Access(tv, "cp.async" if by_cp_async(tiled_copy) and together * size >= 4 else "store", together * size)
    rows = plan.rows if which == "a" else plan.columns
    steps = _core.make_layout(int(shape[1]), stride=1 * _core.E(1))  # along K, where alignment must hold too
    down = _down(rows)
    fragments = _core.make_layout([down[0], _core.make_layout([down[1], steps])])
    take = Access(fragments, "load", plan.fragment_vector(which) * size)
    padded = suggest_padding(tile, put, take, dtype=dtype)
    best = padded[0].layout
    if best == tile:
        return (
            "no padding helps, for the rows that a request reads lie in the same banks of the first-level cache; let "
            "neighbouring lanes read neighbouring elements"
        )
    row, depth = (int(d) for d in best.stride)
    step = max(int(_core.cosize(best)), row * int(shape[0]), depth * int(shape[1]))
    found = _core.make_layout(shape, stride=(row, depth, -(-step * size // ROW) * ROW // size))
    return f"pad the leading stride to {max(row, depth)}: smem_{which} = {found}"


def _steps_by_one(tile: Any, tv: Any) -> bool:
    """Whether a thread's first two values are neighbours in a tile."""
    first, second = (tv(0, value) for value in (0, 1))
    return int(tile(second)) - int(tile(first)) == 1


def _down(rows: Any) -> Any:
    """(thread, value) -> row as a layout into coordinates (row, k)."""

    def scale(stride: Any) -> Any:
        return tuple(map(scale, stride)) if isinstance(stride, tuple) else int(stride) * _core.E(0)

    return _core.make_layout(rows.shape, stride=scale(rows.stride))
