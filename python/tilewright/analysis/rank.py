"""The second method: counts by ranks of matrices over F2, a proof for all warps at once. See cpp/analysis/rank.hpp."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.analysis.access import Request
from tilewright.analysis.arguments import element_bits, named

if TYPE_CHECKING:
    from tilewright._typing import AnyLayout
    from tilewright.numeric import Numeric

__all__ = ["by_rank"]


def by_rank(
    layout: AnyLayout,
    dtype: type[Numeric],
    width: int | None = None,
    *,
    memory: str = "shared",
    op: str = "load",
    base: int = 0,
) -> Request:
    """What every access of every warp costs, by linear algebra instead of looking at lanes.

    For powers of two a layout is a matrix over F2, a column for each bit of the thread and of the value. Of a pass of
    shared memory, wavefronts = 2^(dim ker(bank o L) - dim ker(word o L)), where the second term takes broadcasts off;
    sectors = 2^rank(sector o L), lines = 2^rank(line o L). The other bits, those of the warp and of the value, add
    constants, which change no rank: so all requests cost the same.

    Args:
        layout: (thread, values) -> offset, or thread -> offset, in elements; a swizzle of one, too. 8, 16 or 32 threads
            or more; of ldmatrix and stmatrix, whose threads give the rows, 32 threads or all that there are.
        dtype: of an element; width: bytes of a lane, None: an element, of ldmatrix and stmatrix 16.
        memory, op, base: as in `analyze`.
    Raises: LayoutError where the layout is not linear over F2 or a thread's values are no neighbours; ValueError for a
        base that is not aligned to the bytes that the layout spans.
    Source: the linear layouts of Triton; NVIDIA's bank rules as in cpp/analysis/rules.hpp.

    Examples:
        >>> from tilewright import Float16, cute
        >>> tile = cute.make_layout((32, 8), stride=(64, 1))  # 32 rows, 8 neighbours of each
        >>> by_rank(tile, Float16, 16).wavefronts
        32
        >>> by_rank(cute.composition(cute.make_swizzle(3, 3, 3), tile), Float16, 16).wavefronts
        4
    """
    element_bits("by_rank", dtype)
    memory, op = named("by_rank", "memory", memory), named("by_rank", "op", op)
    if not _core.rank(layout):
        raise LayoutError(f"by_rank: {layout} has no mode of threads; make_layout(1) has one, of one thread")
    width = width or (16 if op in ("ldmatrix", "stmatrix") else dtype.bits // 8)
    if dtype.bits % 8 or width * 8 % dtype.bits:
        raise ValueError(f"by_rank: an access of {width} bytes is no whole number of elements of {dtype.bits} bits")
    columns = _core.analysis.columns(layout) * (dtype.bits // 8)
    threads = int(_core.size(layout, mode=[0])).bit_length() - 1
    inside = (width * 8 // dtype.bits).bit_length() - 1  # bits of the value that are inside of an access
    found = columns[threads : threads + inside].tolist()
    if found != [dtype.bits // 8 << i for i in range(inside)]:
        raise LayoutError(
            f"by_rank: the {2**inside} values of an access of {width} bytes are no neighbours in {layout}"
        )
    constant = int(layout(0)) * (dtype.bits // 8) + base
    if base & (int(np.bitwise_or.reduce(columns)) if len(columns) else 0):
        raise ValueError(f"by_rank: base = {base:#x} is not aligned to what the layout spans, so that additions carry")
    lanes = columns[: min(threads, 5)]
    if (constant | int(np.bitwise_or.reduce(lanes, initial=0))) & (width - 1):
        raise LayoutError(f"by_rank: threads of {layout} are not aligned to the {width} bytes of an access")
    matrices = 2 ** (len(lanes) - 3) if op in ("ldmatrix", "stmatrix") and len(lanes) >= 3 else 0
    counts = _core.analysis.requests_by_rank(lanes[None], memory=memory, op=op, width=width, matrices=matrices)
    return Request(memory, op, width, *map(int, counts[:, 0]))
