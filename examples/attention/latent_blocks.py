"""The blocks of keys of all queries as one list, of which each cluster has a part."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute

HEADS, CTAS = 128, 2  # of a query; of a cluster, which has all heads
KEYS = 64  # of a page, and of a block
LATENT, ROPE = 512, 64  # numbers of a key: those that are its value, too, and those that rotate with its position


def keys_of(length, queries, query):
    """The keys that one of a sequence's queries sees."""
    return cutlass.max(0, length - queries + 1 + query)


def blocks_of(keys):
    """The blocks of a query; one without keys has a block, too, which writes zeros."""
    return cutlass.max(1, cute.ceil_div(keys, KEYS))


@cute.jit
def count_blocks(mLengths: cute.Tensor, queries: cutlass.Int32, items: cutlass.Int32, lane: cutlass.Int32):
    """The blocks of the first items."""
    count = cutlass.Int32(0)
    for item in cutlass.range(lane, items, 32, unroll=1):
        count += blocks_of(keys_of(mLengths[item // queries], queries, item % queries))
    return cute.arch.warp_reduction_sum(count)


@cute.jit
def find_item(
    mLengths: cute.Tensor, queries: cutlass.Int32, items: cutlass.Int32, block: cutlass.Int32, lane: cutlass.Int32
):
    """The item that has a block of the list, and which block of the list is its first: 32 items at a time."""
    item, base, before = cutlass.Int32(0), cutlass.Int32(0), cutlass.Int32(0)
    for begin in cutlass.range(0, items, 32, unroll=1):
        end = cutlass.Int32(0)
        if begin + lane < items:
            end = blocks_of(keys_of(mLengths[(begin + lane) // queries], queries, (begin + lane) % queries))
        for step in cutlass.range_constexpr(5):
            other = cute.arch.shuffle_sync_up(end, 1 << step)
            if lane >= 1 << step:
                end += other
        end += before
        passed = cute.arch.popc(cute.arch.vote_ballot_sync(begin + lane < items and end <= block))
        item += passed
        if passed > 0:
            base = cute.arch.shuffle_sync(end, passed - 1)
        before = cute.arch.shuffle_sync(end, 31)
    return item, base


@cute.jit
def part_of(mLengths, queries, part, parts, lane):
    """Where a part of the list stops and begins, the query in which it begins, and where the blocks of that begin."""
    items = mLengths.shape[0] * queries
    total = count_blocks(mLengths, queries, items, lane)
    parts = cutlass.min(parts, total)  # each has a block at least
    first, stop = (cutlass.min(i * total // parts, total) for i in (part, part + 1))
    item, base = find_item(mLengths, queries, items, first, lane)
    first, stop, item, base = (cute.arch.make_warp_uniform(x) for x in (first, stop, item, base))
    return stop, first, item, base


@cute.jit
def for_each_segment(mLengths, queries, stop, first, item, base, visit):
    """visit(sequence, query, from, to, blocks, keys) for the blocks of each query that the list has from first to stop.

    item: the query that has the first block, whose own blocks begin at `base` of the list.
    """
    while first < stop:
        sequence = item // queries
        query = item - sequence * queries
        keys = cute.arch.make_warp_uniform(keys_of(mLengths[sequence], queries, query))
        blocks = blocks_of(keys)
        end = cutlass.min(stop, base + blocks)
        visit(sequence, query, first - base, end - base, blocks, keys)
        base += blocks
        first, item = end, item + 1
