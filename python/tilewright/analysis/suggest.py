"""Swizzles and paddings of a tile in shared memory, ranked by the wavefronts that its accesses take under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.analysis.access import warp_accesses
from tilewright.analysis.arguments import element_bits, whole
from tilewright.analysis.arrangements import TvChoice, suggest_tv
from tilewright.analysis.sentences import counted, name_of
from tilewright.analysis.tile_access import Access, Ranking, Warps, warps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]

__all__ = [
    "Access",
    "PaddingChoice",
    "Ranking",
    "SwizzleChoice",
    "TvChoice",
    "suggest_padding",
    "suggest_swizzle",
    "suggest_tv",
]

ROW_OF_BANKS = 128  # bytes


class SwizzleChoice(NamedTuple):
    """A swizzle of a tile and what its accesses cost: `wavefronts` in all, `ideal` ones, and those `each` access takes.

    `layout`: the tile under it; `elements`: how many the tile then spans.
    """

    swizzle: _core.Swizzle
    layout: Any
    wavefronts: int
    ideal: int
    each: tuple[int, ...]
    elements: int

    def __str__(self) -> str:
        return f"{name_of(self.swizzle)}: {_cost(self.wavefronts, self.ideal, self.each)}"


class PaddingChoice(NamedTuple):
    """A padded tile and what its accesses cost: as in SwizzleChoice. `pad`: elements behind every `row` of them."""

    layout: _core.Layout
    pad: int
    row: int
    wavefronts: int
    ideal: int
    each: tuple[int, ...]
    elements: int

    def __str__(self) -> str:
        where = f"{self.pad} behind every {self.row}" if self.pad else "no padding"
        return f"{self.layout}, {where}: {_cost(self.wavefronts, self.ideal, self.each)}, {self.elements} elements"


def _cost(wavefronts: int, ideal: int, each: tuple[int, ...]) -> str:
    parts = f" ({' + '.join(map(str, each))})" if len(each) > 1 else ""
    return f"{counted(wavefronts)}{parts}" + ("" if wavefronts == ideal else f", ideal {ideal}")


def _wavefronts(triples: Integers, warps: Warps, bits: int, base: int) -> Integers:
    return _core.analysis.wavefronts_under(
        triples,
        warps.offsets,
        warps.active,
        op=warps.op,
        width=warps.width,
        matrices=warps.matrices,
        element_bits=bits,
        base=base,
    )


def _as_access(access: Any) -> Access:
    return access if isinstance(access, Access) else Access(access)


def _checked(operation: str, layout: Any, accesses: tuple[Any, ...], dtype: Any) -> list[Access]:
    if not accesses:
        raise ValueError(f"{operation}: there are no accesses; give at least one, a layout of threads and values")
    element_bits(operation, dtype)
    if not isinstance(layout, _core.Layout) or _core.has_scaled_basis(layout.stride):
        raise TypeError(f"{operation}: expected the tile to be a Layout of offsets, not {layout}")
    found = [_as_access(access) for access in accesses]
    if any(access.memory != "shared" for access in found):
        raise ValueError(f"{operation}: the tile is one in shared memory, but an access names another: {accesses}")
    return found


def _ideal(warps: Warps) -> int:
    """The wavefronts that the bytes of all requests take at the least."""
    if warps.matrices:
        return warps.matrices * len(warps.offsets)
    lanes = warps.active.sum(axis=1)
    return int((-(-lanes * warps.width // ROW_OF_BANKS)).sum())


def suggest_swizzle(layout: Any, *accesses: Any, dtype: Any, base: int = 0) -> Ranking:
    """Every Swizzle<B,M,S> of a tile in shared memory, ranked by the wavefronts that the accesses take under it.

    wavefronts(S) = sum over accesses of wavefronts of (S o layout o access). Swizzles that take apart what a lane
    accesses at once are left out. Exhaustive: all B, M and S of both signs that stay inside of the tile.

    Args:
        layout: the tile, coordinates -> offsets in elements, without a swizzle.
        accesses: an `Access` each, or a layout of threads and values, which is a load of the widest legal width.
        dtype: of an element; base: byte address of the tile.
    Returns: a Ranking of SwizzleChoice; the tile as it is is among them, as Swizzle<0,4,3>.
    Raises: LayoutError for an access whose values are no neighbours in the tile; TypeError, ValueError.
    Source: tilewright.

    Examples:
        >>> from tilewright import Float16, cute
        >>> tile = cute.make_layout((128, 64), stride=(64, 1))
        >>> store = Access(cute.parse("((8,32),(8,4)):((8@1,1@0),(1@1,32@0))"), "store")  # rows of 128 bytes
        >>> load = Access(cute.parse("(32,8):(1@0,1@1)"), "ldmatrix")  # 16 bytes of each of 32 rows
        >>> found = suggest_swizzle(tile, store, load, dtype=Float16)
        >>> print(found[0])
        Swizzle<3,3,3>: 132 wavefronts (128 + 4)
        >>> print(next(choice for choice in found if choice.swizzle == cute.make_swizzle(3, 3, 4)))  # the wrong rows
        Swizzle<3,3,4>: 136 wavefronts (128 + 8), ideal 132
    """
    return Ranking(ranked_swizzles(layout, *accesses, dtype=dtype, base=base))


def ranked_swizzles(layout: Any, *accesses: Any, dtype: Any, base: int = 0) -> Iterator[SwizzleChoice]:
    """The same one by one, for who wants the first ones alone."""
    import numpy as np

    given, base = _checked("suggest_swizzle", layout, accesses, dtype), whole("suggest_swizzle", "base", base)
    made = [warps_of(layout, access, dtype.bits, base, "suggest_swizzle") for access in given]
    span = int(_core.cosize(layout))
    triples = _core.analysis.all_swizzles(span)  # the simplest first
    each = np.stack([_wavefronts(triples, warps, dtype.bits, base) for warps in made])
    legal = np.flatnonzero((each >= 0).all(axis=0))
    triples, each = triples[legal], each[:, legal]
    totals = each.sum(axis=0)
    periods = np.int64(1) << np.where(triples[:, 0] > 0, triples[:, 0] + triples[:, 1] + abs(triples[:, 2]), 0)
    elements = -(-span // periods) * periods
    ideal = sum(_ideal(warps) for warps in made)
    for i in np.lexsort((elements, totals)).tolist():  # of as many wavefronts and as much memory, the simplest first
        swizzle = _core.Swizzle(*triples[i].tolist())
        choice = _core.composition(swizzle, layout)
        costs = tuple(each[:, i].tolist())
        yield SwizzleChoice(swizzle, choice, int(totals[i]), ideal, costs, int(elements[i]))


def suggest_padding(layout: Any, *accesses: Any, dtype: Any, base: int = 0) -> Ranking:
    """Paddings of a tile in shared memory, ranked by the wavefronts that the accesses take under them, then by
    instructions, then by memory.

    Behind every `row` elements, `pad` are left free: a stride d >= row becomes d / row * (row + pad). Every stride
    of the tile that others are multiples of is a row; the padding goes up to 128 bytes, a row of all banks.

    Args: as in `suggest_swizzle`. Paddings under which a lane would fault are left out.
    Returns: a Ranking of PaddingChoice; the tile as it is is among them.
    Raises: LayoutError for an access whose values are no neighbours in the tile; TypeError, ValueError.
    Source: tilewright.

    Examples:
        >>> from tilewright import Float32, cute
        >>> tile = cute.make_layout((32, 32), stride=(1, 32))
        >>> across = cute.parse("(32,32):(1@1,1@0)")  # a warp along mode 1
        >>> along = Access(cute.parse("(32,32):(1@0,1@1)"), "store", 4)
        >>> print(Ranking(suggest_padding(tile, Access(across, "load", 4), along, dtype=Float32)[:2]))
        1. (32,32):(1,33), 1 behind every 32: 64 wavefronts (32 + 32), 1055 elements
        2. (32,32):(1,35), 3 behind every 32: 64 wavefronts (32 + 32), 1117 elements
    """
    given, base = _checked("suggest_padding", layout, accesses, dtype), whole("suggest_padding", "base", base)
    for access in given:  # one that is wrong without padding is the caller's error
        warps_of(layout, access, dtype.bits, base, "suggest_padding")
    limit = max(1, 8 * ROW_OF_BANKS // dtype.bits)
    ranking, requests = [], {}
    for row, pad in [(0, 0), *((row, pad) for row in _rows(layout) for pad in range(1, limit + 1))]:
        choice = layout if not pad else _padded(layout, row, pad)
        try:
            made = [warps_of(choice, access, dtype.bits, base) for access in given]
        except LayoutError:
            continue
        each = tuple(_evaluated(warps, dtype.bits, base) for warps in made)
        ideal = sum(_ideal(warps) for warps in made)
        ranking.append(PaddingChoice(choice, pad, row, sum(each), ideal, each, int(_core.cosize(choice))))
        requests[row, pad] = sum(len(warps.offsets) for warps in made)
    # A padding may leave narrower accesses only, which are more instructions for the same wavefronts.
    return Ranking(sorted(ranking, key=lambda x: (x.wavefronts, requests[x.row, x.pad], x.elements)))


def _evaluated(warps: Warps, bits: int, base: int) -> int:
    addresses = base + warps.offsets * bits // 8
    active = None if warps.matrices else warps.active
    found = warp_accesses(
        addresses, warps.width, memory="shared", op=warps.op, active=active, matrices=warps.matrices or None
    )
    return int(found.wavefronts.sum())


def _strides(layout: Any) -> list[int]:
    return [int(s) for s in _core.flatten_to_tuple(layout.stride)]


def _rows(layout: Any) -> list[int]:
    """The strides that could be padded: greater than 1, and divisors of all greater ones."""
    strides = sorted({s for s in _strides(layout) if s > 1})
    return [row for row in strides if all(s % row == 0 for s in strides if s > row)]


def _padded(layout: Any, row: int, pad: int) -> Any:
    from tilewright.cute.int_tuple import transform_leaf

    return _core.make_layout(
        layout.shape, stride=transform_leaf(lambda s: s if s < row else s // row * (row + pad), layout.stride)
    )
