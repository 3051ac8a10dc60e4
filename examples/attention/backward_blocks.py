"""The blocks of attention's backward pass: which keys a block has, which queries see them, and when it is begun."""

from __future__ import annotations

from typing import NamedTuple

import tilewright as cutlass
from tilewright import cute

KEYS = 128  # of a block of threads, where it does not say another number
QUERIES = 64  # of a round of a block's loop: with 128, D 64 would want more registers than there are
ROUNDS_TOGETHER = 256  # of heads whose blocks begin together: 132 multiprocessors begin a head's 2 rounds apart


class Order(NamedTuple):
    """Which block is begun when: one of each of some heads, then another of each, then those of other heads."""

    blocks: cutlass.Int32  # of a head
    heads: cutlass.Int32  # of keys, of a batch
    all_heads: cutlass.Int32
    together: cutlass.Int32  # heads

    def of(self, number, is_ordered):
        """Block, head and batch. The last blocks have the first turns; without turns, the longest are begun first."""
        band = self.together * self.blocks
        begin, within = number // band * self.together, number % band
        count = cutlass.min(self.together, self.all_heads - begin)
        head = begin + within % count
        block = self.blocks - 1 - within // count if is_ordered else within // count
        return block, head % self.heads, head // self.heads


def order_of(mQ, mK, queries, batches, blocks, is_ordered, ctas=1):
    """The order of so many blocks of each head, or clusters of so many blocks."""
    heads, together = mK.shape[1], cutlass.Int32(1)
    if cutlass.const_expr(is_ordered):
        # The longer a block's loop, the later the next one begins. More heads would need more of the L2 cache.
        rounds = cute.ceil_div(queries, QUERIES) * (mQ.shape[1] // heads)
        together = cute.ceil_div(ROUNDS_TOGETHER // ctas, cutlass.max(rounds, 1))
    return Order(blocks, heads, heads * batches, together)


class Blocks:
    """Which keys are seen by which queries of a sequence, and where the sequence begins.

    Query i sees the keys j with i + shift - left <= j <= i + shift + right, where left and right are known.
    """

    def __init__(self, mQ, mK, left, right, starts_q, starts_k, batch, of_keys=KEYS):
        self.left, self.right, self.of_keys = left, right, of_keys
        if cutlass.const_expr(starts_q is None):
            self.first_q = self.first_k = self.shift = cutlass.Int32(0)
            self.queries, self.keys = mQ.shape[2], mK.shape[2]
            tiles = cute.ceil_div(self.queries, QUERIES)
            self.first_tile, self.tiles_of_head, self.batch = batch * tiles, mQ.shape[0] * tiles, batch
        else:
            self.first_q, self.first_k = starts_q[batch], starts_k[batch]
            self.queries, self.keys = starts_q[batch + 1] - self.first_q, starts_k[batch + 1] - self.first_k
            self.shift = self.keys - self.queries
            self.batch = 0
            # Each sequence has whole tiles of its own in the workspace.
            self.first_tile = self.first_q // QUERIES + batch
            self.tiles_of_head = mQ.shape[2] // QUERIES + cute.size(starts_q) - 1
        self.tiles_q, self.tiles_k = cute.ceil_div(self.queries, QUERIES), cute.ceil_div(self.keys, self.of_keys)

    def workspace_tile(self, head, tile):
        return head * self.tiles_of_head + self.first_tile + tile

    def hides(self, first_key, first_query, keys):
        """Whether a key of so many is not seen by a query of a tile; queries count from the key at their place."""
        hides = first_key + keys > self.keys
        if cutlass.const_expr(self.right is not None):
            hides = cutlass.or_(hides, first_key + keys - 1 > first_query + self.right)
        if cutlass.const_expr(self.left is not None):
            hides = cutlass.or_(hides, first_key < first_query + QUERIES - 1 - self.left)
        return hides

    def sees(self, query, key):
        """Whether a query sees a key."""
        sees = key < self.keys
        if cutlass.const_expr(self.right is not None):
            sees = cutlass.and_(sees, key <= query + self.right)
        if cutlass.const_expr(self.left is not None):
            sees = cutlass.and_(sees, key >= query - self.left)
        return sees

    def tiles_that_see(self, block, count=1):
        """The first and the last tile of queries of which one sees a key of so many blocks."""
        first, last = cutlass.Int32(0), self.tiles_q - 1
        if cutlass.const_expr(self.right is not None):
            first = cutlass.max(0, block * self.of_keys - self.shift - self.right) // QUERIES
        if cutlass.const_expr(self.left is not None):
            end = (block + count) * self.of_keys - 1 - self.shift + self.left
            last = cutlass.min(last, end // QUERIES)
        return first, last

    def blocks_seen_by(self, tile):
        """The first and the last block of keys of which a query of the tile sees one."""
        first, last = cutlass.Int32(0), self.tiles_k - 1
        if cutlass.const_expr(self.left is not None):
            first = cutlass.max(0, tile * QUERIES + self.shift - self.left) // self.of_keys
        if cutlass.const_expr(self.right is not None):
            end = (tile + 1) * QUERIES - 1 + self.shift + self.right
            last = cutlass.min(last, end // self.of_keys)
        return first, last


class Work(NamedTuple):
    """What a block of threads does: its keys, of a head, and the tiles of queries that see them, in rounds.

    group: heads of queries that share one of keys, whose dK and dV are summed here.
    """

    blocks: Blocks
    block: cutlass.Int32
    key_head: cutlass.Int32
    group: cutlass.Int32
    first: cutlass.Int32  # tile
    last: cutlass.Int32
    rounds: cutlass.Int32  # of each head
    is_ordered: bool

    @property
    def total(self):
        """Rounds, of all heads."""
        return self.group * self.rounds
