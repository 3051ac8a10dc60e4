"""Swizzles and paddings of a tile in shared memory, ranked by the wavefronts that its accesses take under them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tilewright import _core
from tilewright.analysis.access import WARP
from tilewright.analysis.arguments import element_bits, whole
from tilewright.analysis.layouts import WIDTHS
from tilewright.analysis.suggest.arrangements import TvChoice, suggest_tv
from tilewright.analysis.suggest.tile_access import Access, Ranking, Warps, elements_of, matrices_of, warps_of
from tilewright.cute.int_tuple import transform_leaf

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from tilewright._core import Layout
    from tilewright.numeric import Numeric

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

ROW_OF_BANKS, ROW, WORD = 128, 16, 4  # bytes: of all banks, of a row of matrices, of the least cp.async
AT_ONCE = 1 << 20  # offsets of padded tiles that are looked at together


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
        x = self.swizzle
        cost = _cost(self.wavefronts, self.ideal, self.each)
        return f"Swizzle<{x.num_bits},{x.num_base},{x.num_shift}>: {cost}"


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
    count = f"{wavefronts} wavefront" + ("s" if wavefronts != 1 else "")
    return f"{count}{parts}" + ("" if wavefronts == ideal else f", ideal {ideal}")


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


def suggest_swizzle(layout: Layout, *accesses: Layout | Access, dtype: type[Numeric], base: int = 0) -> Ranking:
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


def suggest_padding(layout: Layout, *accesses: Layout | Access, dtype: type[Numeric], base: int = 0) -> Ranking:
    """Paddings of a tile in shared memory, ranked by the wavefronts that the accesses take under them, then by
    instructions, then by memory.

    Behind every `row` elements, `pad` are left free: a stride d, |d| >= row, becomes d / row * (row + pad). Every
    stride of the tile that others are multiples of is a row; the padding goes up to 128 bytes, a row of all banks.

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
    elements = []
    for access in given:  # one that is wrong without padding is the caller's error
        elements.append(elements_of(layout, access.tv, "suggest_padding"))
        warps_of(layout, access, dtype.bits, base, "suggest_padding", elements[-1])
    limit = max(1, 8 * ROW_OF_BANKS // dtype.bits)
    pads = [(0, 0), *((row, pad) for row in _rows(layout) for pad in range(1, limit + 1))]
    choices = [layout if not pad else _padded(layout, row, pad) for row, pad in pads]
    at_once, parts = max(1, AT_ONCE // int(_core.size(layout))), []
    for first in range(0, len(choices), at_once):
        images = np.stack([choice.offsets() for choice in choices[first : first + at_once]])
        each_access = zip(given, elements, strict=True)
        parts.append(np.stack([_costs(images, at, access, dtype.bits, base) for access, at in each_access]))
    costs = np.concatenate(parts, axis=2)  # (accesses, 3, choices)
    ranking, requests = [], {}
    for i in np.flatnonzero((costs[:, 0] >= 0).all(axis=0)).tolist():
        (row, pad), choice = pads[i], choices[i]
        each, (total, made, ideal) = tuple(costs[:, 0, i].tolist()), costs[:, :, i].sum(axis=0).tolist()
        ranking.append(PaddingChoice(choice, pad, row, total, ideal, each, int(_core.cosize(choice))))
        requests[row, pad] = made
    # A padding may leave narrower accesses only, which are more instructions for the same wavefronts.
    return Ranking(sorted(ranking, key=lambda x: (x.wavefronts, requests[x.row, x.pad], x.elements)))


def _costs(images: Integers, elements: Integers, access: Access, bits: int, base: int) -> Integers:
    """(3, images): the wavefronts of an access, -1 where it is not legal, its requests, and their ideal wavefronts."""
    threads, count = elements.shape
    matrices = matrices_of(access.op, threads)
    costs = np.full((3, len(images)), -1, np.int64)
    legal = np.ones(len(images), bool)
    # Without a width it is the widest one, if all narrower ones are legal too.
    for width in [access.width] if access.width else [ROW] if matrices else WIDTHS:
        values, rest = divmod(8 * width, bits)
        if rest or not values:
            continue
        if count % values:
            break
        op = "store" if access.op == "cp.async" else access.op  # they differ in global memory alone
        found = _core.analysis.wavefronts_in(
            images, elements, op=op, width=width, matrices=matrices, element_bits=bits, base=base
        )
        legal &= found >= 0
        whole_warps, others = divmod(threads, WARP)
        least = matrices or whole_warps * _rows_of_banks(WARP * width) + _rows_of_banks(others * width)
        turns = count // values
        if access.op != "cp.async" or width >= WORD:
            costs[:, legal] = np.stack(np.broadcast_arrays(found, turns * -(-threads // WARP), turns * least))[:, legal]
    return costs


def _rows_of_banks(count: int) -> int:
    """How many wavefronts so many bytes take at the least."""
    return -(-count // ROW_OF_BANKS)


def _strides(layout: Any) -> list[int]:
    return [int(s) for s in _core.flatten_to_tuple(layout.stride)]


def _rows(layout: Any) -> list[int]:
    """The strides, without their signs, that could be padded: greater than 1, and divisors of all greater ones."""
    strides = sorted({abs(s) for s in _strides(layout) if abs(s) > 1})
    return [row for row in strides if all(s % row == 0 for s in strides if s > row)]


def _padded(layout: Any, row: int, pad: int) -> Any:
    # A row is a divisor of all strides that are as great, so that negative ones are divided exactly, too.
    return _core.make_layout(
        layout.shape, stride=transform_leaf(lambda s: s if abs(s) < row else s // row * (row + pad), layout.stride)
    )
