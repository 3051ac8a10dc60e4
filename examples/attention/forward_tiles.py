"""The tiles of attention's forward pass: how a depth is computed, what a tile has, in which order they come."""

from __future__ import annotations

import math
from typing import NamedTuple

import tilewright as cutlass
from tilewright import cute

ROWS = 64  # of Q that a warpgroup has


class Plan(NamedTuple):
    """How a depth is computed."""

    warpgroups: int
    keys: int  # of a block
    stages: int  # of K, and of V
    takes_turns: bool
    overlaps: bool  # tiles: there is shared memory for the next Q beside this one, and for O
    passes: int  # tiles of at most so many blocks: a warpgroup passes over those that its rows do not see


PLANS = {  # by depth and the bits of an element
    (64, 16): Plan(3, 128, 4, True, True, 16),
    (128, 16): Plan(2, 128, 2, True, True, 16),
    (256, 16): Plan(2, 80, 2, False, False, 0),
    (64, 8): Plan(3, 128, 4, True, True, 16),
    (128, 8): Plan(2, 192, 2, False, True, 16),
    (256, 8): Plan(2, 64, 2, True, True, 16),
}


class Problem(NamedTuple):
    """What all threads know: windows, where sequences start, and the order of tiles."""

    left: cutlass.Int32 | None
    right: cutlass.Int32 | None
    starts_q: cute.Tensor | None
    starts_k: cute.Tensor | None
    tiles: cutlass.Int32  # of a head
    heads: cutlass.Int32  # of Q, of a batch
    batches: cutlass.Int32
    together: cutlass.Int32  # heads whose keys and values share the L2 cache
    queries: cutlass.Int32
    keys: cutlass.Int32
    scale: cutlass.Float32
    scales: tuple[cute.Tensor | None, ...]  # of Q, K and V: (batches, heads of K)

    def sequence(self, batch):
        if cutlass.const_expr(self.starts_q is None):
            return Sequence(0, self.queries, 0, self.keys)
        start_q, start_k = self.starts_q[batch], self.starts_k[batch]
        return Sequence(start_q, self.starts_q[batch + 1] - start_q, start_k, self.starts_k[batch + 1] - start_k)

    def batch_of_tensors(self, batch):
        return batch if self.starts_q is None else 0

    def low(self, plan, first):
        """The first block of keys that a tile's rows see."""
        return 0 if self.left is None else cutlass.max(first - self.left, 0) // plan.keys

    @cute.jit
    def high(self, plan, tile, group):
        """Where the blocks end that a warpgroup computes: one at least, as for the tile."""
        if cutlass.const_expr(plan.passes == 0):
            return tile.high
        row, high = group * ROWS, tile.high
        if cutlass.const_expr(self.right is not None):
            high = cutlass.min(high, cute.ceil_div(tile.first + row + ROWS + self.right, plan.keys))
        exists = tile.number * ROWS * plan.warpgroups + row < self.sequence(tile.batch).queries
        high = cutlass.max(cute.where(exists, high, 0), self.low(plan, tile.first) + 1)
        # In a long tile it gains less than products of two tiles at a time do.
        return cute.where(tile.high <= plan.passes, high, tile.high)


class Sequence(NamedTuple):
    """Where a sequence lies in its tensors: its first rows there, and how many."""

    start_q: cutlass.Int32
    queries: cutlass.Int32
    start_k: cutlass.Int32
    keys: cutlass.Int32


class Tile(NamedTuple):
    """Rows of a head, and the blocks of keys that some of them see."""

    number: cutlass.Int32  # within the sequence
    head: cutlass.Int32
    batch: cutlass.Int32
    first: cutlass.Int32  # the key at the first row's place
    high: cutlass.Int32  # the blocks end before this one: at least one, so that no case is special; 0: no tile is left


NO_TILE = Tile(0, 0, 0, 0, 0)


def tile_of(problem, plan, ticket):
    """Of some heads the tiles with the most keys come first, then those of the next heads."""
    rows = ROWS * plan.warpgroups
    band = problem.together * problem.tiles
    begin, within = ticket // band * problem.together, ticket % band
    count = cutlass.min(problem.together, problem.heads * problem.batches - begin)
    number, head = problem.tiles - 1 - within // count, begin + within % count
    batch, head = head // problem.heads, head % problem.heads
    sequence = problem.sequence(batch)
    offset = 0 if problem.starts_q is None else sequence.keys - sequence.queries
    first, high = number * rows + offset, sequence.keys
    if cutlass.const_expr(problem.right is not None):
        high = cutlass.min(high, first + rows + problem.right)
    high = cutlass.max(cute.ceil_div(cutlass.max(high, 0), plan.keys), problem.low(plan, first) + 1)
    return Tile(number, head, batch, first, high)


@cute.jit
def mask(scores, problem, plan, block, tile, group, place):
    """-inf for the scores of keys that a query does not see, where a warpgroup has some in this block.

    scores: of a thread as rows and columns; place: the first one's row and column.
    """
    (row_0, column_0), begin, keys = place, block * plan.keys, problem.sequence(tile.batch).keys
    query = tile.first + group * ROWS
    hides = begin + plan.keys > keys  # some key from some query of this warpgroup
    if cutlass.const_expr(problem.right is not None):
        hides = cutlass.or_(hides, begin + plan.keys - 1 > query + problem.right)
    if cutlass.const_expr(problem.left is not None):
        hides = cutlass.or_(hides, begin < query + ROWS - 1 - problem.left)
    if hides:
        for r in cutlass.range_constexpr(2):
            seen = query + row_0 + 8 * r - begin - column_0  # where the query's own key is
            last = keys - 1 - begin - column_0
            if cutlass.const_expr(problem.right is not None):
                last = cutlass.min(last, seen + problem.right)
            for c in cutlass.range_constexpr(cute.size(scores, mode=[1])):
                column = c % 2 + c // 2 * 8
                scores[r, c] = cute.where(column <= last, scores[r, c], -math.inf)
                if cutlass.const_expr(problem.left is not None):
                    scores[r, c] = cute.where(column >= seen - problem.left, scores[r, c], -math.inf)
