"""Blocks of keys of several sequences as one list, cut into parts of equal length: the work of each CTA in decoding.

Few queries have too few heads to keep all multiprocessors busy, so CTAs share the keys of a sequence. Sources:
"Flash-Decoding for long-context inference" (Dao, Haziza, Massa, Sizov, 2023); equal parts whatever the lengths are:
"Stream-K" (Osama et al., 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tilewright._core import ceil_div
from tilewright.cute.tensors.rmem import make_rmem_tensor
from tilewright.cute.vectors.choose import where
from tilewright.lang import arch
from tilewright.lang.functions import max_, min_
from tilewright.lang.functions import range_ as dynamic
from tilewright.lang.functions import range_constexpr as constexpr
from tilewright.lang.rewrite import rewrite
from tilewright.numeric import Float32, Int32
from tilewright.utils.softmax import merge_states

__all__ = ["KeyBlocks", "KeySegment", "SplitKeys"]

_LANES = 32


class KeySegment(NamedTuple):
    """Blocks begin .. end - 1 of an item, which has `blocks` of them.

    The item is shared by the parts first_part .. last_part, and by no others. slot: where this part leaves its sums of
    the item if it is shared, 0 .. 2 parts - 1.
    """

    item: Any
    begin: Any
    end: Any
    blocks: Any
    first_part: Any
    last_part: Any
    slot: Any

    @property
    def is_whole(self) -> Any:
        """Whether one part has all blocks of the item."""
        return self.end - self.begin == self.blocks


class KeyBlocks(NamedTuple):
    """Blocks begin .. end - 1 of the list, which are a part, and the item that has the first, whose own is `base`."""

    part: Any
    begin: Any
    end: Any
    item: Any
    base: Any


class SplitKeys:
    """The blocks of all items as one list, cut into `parts` of equal length, or into fewer: each has a block at least.

    blocks_of(item): the blocks of item 0 .. items - 1, at least 1, as an Int32. Block b of the list is in part i if
    i n // parts <= b < (i + 1) n // parts, for a list of n. Where all items have the same number of blocks, the parts
    begin and end with items, or an item is cut into a number of parts of its own, if a part is then at most `joining`
    blocks longer than n / parts: that is what sharing an item costs. All lanes of a warp make it together, and read the
    blocks by `measure`: what comes before may be done before they are written.
    """

    def __init__(self, blocks_of: Callable[[Any], Any], items: Any, parts: Any, joining: int = 0) -> None:
        self._blocks_of, self._items, self._joining = blocks_of, Int32(items), joining
        self.parts: Any = Int32(parts)
        # Items of a part, and parts of an item, if none is shared by parts that have others, too; and all such parts.
        self._several, self._share = ceil_div(self._items, self.parts), max_(self.parts // self._items, 1)
        self._aligned = where(self._several > 1, ceil_div(self._items, self._several), self._items * self._share)
        self._total: Any = None
        self._length: Any = None

    def measure(self) -> SplitKeys:
        """Read how many blocks there are; returns self."""
        total, least, most = rewrite(_measure)(self._blocks_of, self._items)  # type: ignore[arg-type]
        equal = total + self._joining * self.parts  # the longest part allowed, times the number of parts
        fits = where(
            self._several > 1, self._several * most * self.parts <= equal, most * self.parts <= equal * self._share
        )
        is_aligned = (least == most) & fits
        # Items that are several to a part may not fill the last one.
        length = where(is_aligned & (self._several > 1), self._aligned * self._several * most, total)
        self.parts = arch.make_warp_uniform(min_(where(is_aligned, self._aligned, self.parts), total))
        self._total, self._length = arch.make_warp_uniform(total), arch.make_warp_uniform(length)
        return self

    def of_part(self, part: Any) -> KeyBlocks:
        """The blocks of a part; none for a part beyond the last."""
        begin, end = (arch.make_warp_uniform(self.begin_of(i)) for i in (part, part + 1))
        return KeyBlocks(part, begin, end, *self.find(begin))

    def for_each(self, blocks: KeyBlocks, visit: Callable[[KeySegment], None]) -> None:
        """visit(segment) for each item of which a part has blocks."""
        rewrite(_walk)(self, *blocks, visit)  # type: ignore[arg-type]

    def merge(
        self, first_part: Any, last_part: Any, read: Callable[[Any], tuple[Any, Any]], at_once: int = 8
    ) -> tuple[Any, Any]:
        """The state (L, o) of a row over all parts that share an item, as merge_states; read(slot) gives that of one.

        The parts' states are added in the order of the keys; so many reads are under way at once.
        """
        logarithm, sums = rewrite(_merge)(self, first_part, last_part, read, at_once)  # type: ignore[arg-type]
        return logarithm, sums

    def begin_of(self, part: Any) -> Any:
        """The block of the list with which a part begins; all of them for a part beyond the last."""
        return min_(part * self._length // self.parts, self._total)

    def find(self, block: Any) -> tuple[Any, Any]:
        """The item that has a block of the list, and which block of the list is its first."""
        item, base = rewrite(_find)(self._blocks_of, self._items, block)  # type: ignore[arg-type]
        return arch.make_warp_uniform(item), arch.make_warp_uniform(base)

    def sharing(self, base: Any, blocks: Any) -> tuple[Any, Any]:
        """The first and the last part that have blocks of an item, which begins at block `base` of the list."""
        first, last = (((block + 1) * self.parts - 1) // self._length for block in (base, base + blocks - 1))
        return first, last

    def slot(self, part: Any, first_part: Any) -> Any:
        """Where a part leaves sums of an item that begins in first_part: it has two at most, and begins one of them."""
        return 2 * part + where(part == first_part, Int32(1), Int32(0))


def _measure(blocks_of, items):  # type: ignore[no-untyped-def]
    """The sum, the least and the most blocks of items 0 .. items - 1."""
    total, least, most = Int32(0), Int32(2**31 - 1), Int32(0)
    for item in dynamic(arch.lane_idx(), items, _LANES, unroll=4):
        blocks = blocks_of(item)
        total += blocks
        least, most = min_(least, blocks), max_(most, blocks)
    return (arch.warp_redux_sync(x, kind) for x, kind in ((total, "add"), (least, "min"), (most, "max")))


def _find(blocks_of, items, block):  # type: ignore[no-untyped-def]
    """The item that has a block of the list, and which block of the list is its first: 32 items at a time."""
    lane = arch.lane_idx()
    base: Any = Int32(0)
    before: Any = Int32(0)
    item = Int32(0)
    for begin in dynamic(0, items, _LANES, unroll=1):
        end = Int32(0)
        if begin + lane < items:
            end = blocks_of(begin + lane)
        for step in constexpr(5):
            other = arch.shuffle_sync_up(end, 1 << step)
            if lane >= 1 << step:
                end += other
        end += before
        passed = arch.popc(arch.vote_ballot_sync(begin + lane < items and end <= block))
        item += passed
        if passed > 0:
            base = arch.shuffle_sync(end, passed - 1)
        before = arch.shuffle_sync(end, _LANES - 1)
    return item, base


def _merge(splits, first_part, last_part, read, at_once):  # type: ignore[no-untyped-def]
    logarithm, values = read(splits.slot(first_part, first_part))
    sums = make_rmem_tensor(values.shape, Float32)
    sums.store(values)
    for begin in dynamic(first_part + 1, last_part + 1, at_once, unroll=1):
        states = [(logarithm, sums.load())]
        for i in constexpr(at_once):
            one, values = read(2 * min_(begin + i, last_part))
            states.append((where(begin + i <= last_part, one, -math.inf), values))
        logarithm, values = merge_states(states)
        sums.store(values)
    return logarithm, sums.load()


def _walk(splits, part, begin, end, item, base, visit):  # type: ignore[no-untyped-def]
    while begin < end:
        blocks = arch.make_warp_uniform(splits._blocks_of(item))
        stop = min_(end, base + blocks)
        first_part, last_part = splits.sharing(base, blocks)
        slot = splits.slot(part, first_part)
        visit(KeySegment(item, begin - base, stop - base, blocks, first_part, last_part, slot))
        base += blocks
        begin, item = stop, item + 1
