"""The blocks of keys of all queries as one list, of which each cluster has a part."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute
from tilewright.utils.split_keys import SplitKeys

HEADS, CTAS = 128, 2  # of a query; of a cluster, which has all heads
KEYS = 64  # of a page, and of a block
LATENT, ROPE = 512, 64  # numbers of a key: those that are its value, too, and those that rotate with its position
JOINING = 8  # blocks: what it costs to share a query


def keys_of(length, queries, query):
    """The keys that one of a sequence's queries sees."""
    return cutlass.max(0, length - queries + 1 + query)


def blocks_of(keys):
    """The blocks of a query; one without keys has a block, too, which writes zeros."""
    return cutlass.max(1, cute.ceil_div(keys, KEYS))


def split(mLengths, queries, parts):
    """The blocks of all queries in parts for as many clusters."""
    items = mLengths.shape[0] * queries

    def blocks(item):
        return blocks_of(keys_of(mLengths[item // queries], queries, item % queries))

    return SplitKeys(blocks, items, parts, JOINING)


def query_of(mLengths, queries, item):
    """The sequence, which of its queries, and the keys that it sees."""
    sequence = item // queries
    query = item - sequence * queries
    return sequence, query, cute.arch.make_warp_uniform(keys_of(mLengths[sequence], queries, query))
