"""The layouts of gemm_sm80's shared memory that would not conflict."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.analysis.suggest.shared_memory import ranked_swizzles
from tilewright.analysis.suggest.tile_access import Access
from tilewright.kernels.gemm.sm80.fragments import contiguous_mode

__all__ = ["swizzle"]

ROW = 16  # bytes of a row of a matrix


def swizzle(plan: Any, which: str) -> str:
    """The swizzle under which gemm_sm80 writes and reads an operand without conflicts."""
    side = plan.sides["ab".index(which)]
    outer = side.smem.outer if isinstance(side.smem, _core.ComposedLayout) else side.smem
    tile = _core.make_layout([outer[0], outer[1]])
    size = side.bits // 8
    put = Access(side.load_tv, "cp.async" if side.is_async else "store", (side.vector if side.is_async else 1) * size)
    accesses = [put]
    if side.fragment.kind == "plain":
        together = contiguous_mode(side.smem, side.tile, side.bits) or 0
        units = _core.make_layout(side.fragment.units, stride=1 * _core.E(together))
        values = _core.make_layout([units, side.fragment.access])
        read = _core.make_layout([side.fragment.thread, values])
        accesses.append(Access(read, "load", side.fragment.units * size))
    else:
        along = _core.E(1) if side.fragment.kind == "ldmatrix" else _core.E(0)
        row = _core.make_layout(ROW // size, stride=1 * along)
        accesses.append(Access(_core.make_layout([side.fragment.thread, row]), "ldmatrix"))
    best = next(ranked_swizzles(tile, *accesses, dtype=side.dtype))
    s = best.swizzle
    return f"use Swizzle<{s.num_bits},{s.num_base},{s.num_shift}> in smem_{which}"
