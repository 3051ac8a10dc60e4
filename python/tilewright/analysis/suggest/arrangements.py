"""Thread-value layouts for copying a tile, ranked by what both sides cost."""

from __future__ import annotations

from itertools import permutations, product
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.analysis.access import accesses_of_layout
from tilewright.analysis.arguments import element_bits, whole
from tilewright.analysis.layouts import Table, widest_access
from tilewright.analysis.suggest.tile_access import Access, Ranking, offsets_of, warps_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright._typing import AnyLayout
    from tilewright.numeric import Numeric

__all__ = ["TvChoice", "suggest_tv"]

WIDEST = 16  # bytes
MOST = 1 << 16  # elements of a tile


class TvChoice(NamedTuple):
    """How threads can copy a tile: `make_tiled_copy_tv(atom, thr_layout, val_layout)`.

    `tv`: (threads, values) -> coordinate in the tile, with basis strides; `widths`: bytes of an access to source and
    destination; `costs`: sectors of global memory or wavefronts of shared memory of each; `cost`: their sum; `lines`:
    of 128 bytes, and `requests`: instructions of warps, on both sides.
    """

    thr_layout: Any
    val_layout: Any
    tv: Any
    widths: tuple[int, int]
    costs: tuple[int, int]
    cost: int
    lines: int
    requests: int

    def __str__(self) -> str:
        return (
            f"threads {self.thr_layout}, values {self.val_layout}: {self.widths[0]} and {self.widths[1]} bytes, cost "
            f"{self.cost} = {self.costs[0]} + {self.costs[1]}, {self.lines} lines, {self.requests} requests"
        )


def suggest_tv(
    src: AnyLayout,
    dst: AnyLayout,
    dtype: type[Numeric],
    threads: int,
    *,
    src_memory: str = "global",
    dst_memory: str = "global",
    src_base: int = 0,
    dst_base: int = 0,
) -> Ranking:
    """Every arrangement of threads over a tile, with vectors along one mode, ranked by what a copy costs.

    cost = sectors (global memory) or wavefronts (shared memory) of the loads + those of the stores, of the whole tile;
    among equals, fewer lines and then fewer instructions come first. Each side takes the widest accesses that its
    layout and base allow.

    Args:
        src, dst: the tile's layouts in source and destination, of the same extents; 1 to 3 modes.
        dtype: of an element; threads: of the CTA, all of which take part.
        src_memory, dst_memory: "global" or "shared"; src_base, dst_base: byte addresses.
    Returns: a Ranking of TvChoice.
    Raises: LayoutError where the extents differ, the tile has more than 2^16 elements, or the threads do not divide
        it in any arrangement; TypeError, ValueError.
    Source: tilewright.

    Examples:
        >>> from tilewright import Float32, cute
        >>> rows = cute.make_layout((64, 32), stride=(32, 1))
        >>> columns = cute.make_layout((64, 32), stride=(1, 64))
        >>> best = suggest_tv(rows, rows, Float32, 128)[0]
        >>> print(best)
        threads (16,8):(8,1), values (1,4):(0,1): 16 and 16 bytes, cost 512 = 256 + 256, 128 lines, 32 requests
        >>> print(suggest_tv(rows, columns, Float32, 128)[0])
        threads (4,32):(1,4), values (4,1):(1,0): 4 and 16 bytes, cost 512 = 256 + 256, 384 lines, 80 requests
    """
    threads = whole("suggest_tv", "threads", threads)
    src_base, dst_base = whole("suggest_tv", "src_base", src_base), whole("suggest_tv", "dst_base", dst_base)
    for layout in (src, dst):
        _check(layout)
    extents = _extents_of(src)
    if extents != _extents_of(dst):
        raise LayoutError(f"suggest_tv: the extents of {src} and {dst} differ: {extents} and {_extents_of(dst)}")
    element_bits("suggest_tv", dtype)
    if len(extents) > 3:
        raise LayoutError(f"suggest_tv: {src} has {len(extents)} modes; group them to at most 3")
    if _product(extents) > MOST:
        raise LayoutError(
            f"suggest_tv: a tile of {_product(extents)} elements is more than the {MOST} for which every arrangement "
            "is tried; give the tile of one CTA"
        )
    found, refused = [], ""
    for order, shape, vector in _arrangements(extents, threads, dtype.bits):
        thr, val = _layout(shape, order), _core.make_layout(vector)
        tv = _tv(extents, order, shape, vector)
        try:
            loads = _side(src, tv, dtype.bits, src_memory, src_base, "load")
            stores = _side(dst, tv, dtype.bits, dst_memory, dst_base, "store")
        except LayoutError as error:  # parts of bytes along a mode, or elements that are not aligned
            refused = refused or str(error)
            continue
        widths, costs = (loads.width, stores.width), (loads.cost, stores.cost)
        lines, requests = loads.lines + stores.lines, loads.requests + stores.requests
        found.append(TvChoice(thr, val, tv, widths, costs, sum(costs), lines, requests))
    if refused and not found:
        raise LayoutError(refused)
    if not found:
        raise LayoutError(
            f"suggest_tv: {threads} threads do not divide a tile of {'x'.join(map(str, extents))} in any arrangement; "
            "take another number of threads, or another tile"
        )
    return Ranking(sorted(found, key=lambda choice: (choice.cost, choice.lines, choice.requests)))


def _check(layout: Any) -> None:
    if not isinstance(layout, (_core.Layout, _core.ComposedLayout)):
        raise TypeError(f"suggest_tv: expected src and dst to be Layouts, not {type(layout).__name__}")
    if not _core.rank(layout):
        raise LayoutError(f"suggest_tv: {layout} has no modes, so there is nothing to arrange")
    if isinstance(layout, _core.Layout) and _core.has_scaled_basis(layout.stride):
        raise LayoutError(f"suggest_tv: {layout} gives coordinates, not offsets; give the layout of the memory")


def _extents_of(layout: Any) -> tuple[int, ...]:
    return tuple(int(_core.size(layout, mode=[i])) for i in range(max(1, _core.rank(layout))))


def _arrangements(
    extents: tuple[int, ...], threads: int, bits: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]]:
    """Orders of the modes (the fastest first), extents of the threads and of the vector; each only once."""
    seen = set()
    rank = len(extents)
    shapes = [shape for shape in product(*(_divisors(e) for e in extents)) if _product(shape) == threads]
    longest = max(1, 8 * WIDEST // bits)
    for shape, mode, length in product(shapes, range(rank), (2**i for i in range(longest.bit_length()))):
        if length * bits % 8:  # part of a byte
            continue
        vector = tuple(length if i == mode else 1 for i in range(rank))
        if any(extent % (s * v) for extent, s, v in zip(extents, shape, vector, strict=True)):
            continue
        for order in permutations(range(rank)):
            kept = tuple(i for i in order if shape[i] > 1)
            if (kept, shape, vector) not in seen:
                seen.add((kept, shape, vector))
                yield order, shape, vector


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _product(shape: tuple[int, ...]) -> int:
    result = 1
    for extent in shape:
        result *= extent
    return result


def _layout(shape: tuple[int, ...], order: tuple[int, ...]) -> Any:
    """The compact layout whose modes are in this order, the fastest first."""
    strides, step = [0] * len(shape), 1
    for mode in order:
        strides[mode] = step if shape[mode] > 1 else 0
        step *= shape[mode]
    return _core.make_layout(shape, stride=tuple(strides))


def _tv(extents: tuple[int, ...], order: tuple[int, ...], shape: tuple[int, ...], vector: tuple[int, ...]) -> Any:
    """(threads, (vector, rest)) -> coordinate: thread t of mode i begins at t * vector[i]."""
    basis = [_core.E(i) for i in range(len(extents))]
    rest = tuple(e // (s * v) for e, s, v in zip(extents, shape, vector, strict=True))
    return _core.make_layout(
        (tuple(shape[i] for i in order), (vector, rest)),
        stride=(
            tuple(vector[i] * basis[i] for i in order),
            (tuple(basis), tuple(shape[i] * vector[i] * basis[i] for i in range(len(extents)))),
        ),
    )


class _Side(NamedTuple):
    width: int
    cost: int
    lines: int
    requests: int


def _side(layout: Any, tv: Any, bits: int, memory: str, base: int, op: str) -> _Side:
    """What one side of a copy costs."""
    length = int(_core.size(_core.get(tv, mode=[1, 0])))
    vectors = offsets_of(layout, tv, "suggest_tv")
    threads = vectors.shape[0]
    width, _ = widest_access(Table(vectors.reshape(-1, length), bits, base))
    width = width or max(1, bits // 8)
    warps = warps_of(layout, Access(tv, op, width, memory), bits, base, "suggest_tv")
    addresses = base + warps.offsets * bits // 8
    found = accesses_of_layout(addresses, width, memory=memory, op=op, active=warps.active if threads % 32 else None)
    counts = found.sectors if memory == "global" else found.wavefronts
    return _Side(width, int(counts.sum()), int(found.lines.sum()), len(warps.offsets))
