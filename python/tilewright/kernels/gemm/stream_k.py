"""Stream-K: workers, which are CTAs or clusters, share tiles of C along K, so that none waits for long at the end.

In rounds of one tile for every worker the last round seldom fills the device. So the first tiles are cut into shares,
one for each worker; the others follow in whole rounds. A share that begins within a tile leaves its sums of that tile
in memory, and the worker that has the tile's first step adds them.

Equal shares have more than one tile and less than two. Sums are left at the beginning of a share and added at the end
of one, so that a worker seldom waits. But nearly every worker is at another step of its tile. Shares in step are of
those tiles alone that whole rounds leave, and a pattern of shares repeats. Then many workers are at the same step: what
they read of A and B at a time lies in the same columns of few rows, which the L2 gives to all of them.
"""

from __future__ import annotations

import functools
import itertools
import struct
from typing import NamedTuple

from tilewright.kernels.common.params import fast_divisor

__all__ = ["MAX_STEPS", "StreamK", "has_long_rows"]

MAX_STEPS = 1 << 31  # that kernels count, of all tiles
MOST_OF_GROUP, MOST_SHARES = 7, 16  # tiles and shares of a pattern
MOST_PARTS = 8  # of a tile
LONG_ROW = 12 << 10  # bytes: of such rows a round of tiles has some 4,500, of which an L2 of 60 MiB holds no more
HARDLY = 50  # a pattern of fewer tiles may take longer by one part in so many of the time of all rounds


def has_long_rows(k: int, bits: int) -> bool:
    """Whether the L2 does not hold the rows of A and B, of k elements, that clusters of gemm_sm90 share at a time.

    >>> [has_long_rows(k, 16) for k in (4096, 8192)]
    [False, True]
    """
    return k * bits // 8 >= LONG_ROW


class StreamK(NamedTuple):
    """The shares of so many `workers` in `tiles` of `steps` along K each.

    >>> shares = StreamK(workers=4, tiles=9, steps=10)
    >>> shares.shared, shares.bounds, shares.parts[:3]
    (5, [0, 13, 26, 38, 50], [(0, 0, 10), (1, 0, 3), (1, 3, 7)])
    >>> shares = StreamK(workers=8, tiles=10, steps=10, in_step=True)
    >>> shares.shared, shares.group, shares.bounds
    (2, (1, 4), [0, 3, 6, 8, 10, 13, 16, 18, 20])
    """

    workers: int
    tiles: int
    steps: int
    in_step: bool = False  # whether few shares begin at different steps of their tiles

    @property
    def shared(self) -> int:
        """The tiles that are shared, which come first: those of less than two rounds, but of more than one.

        In step: those that whole rounds leave.
        """
        whole = self.tiles // self.workers - (not self.in_step)
        return self.tiles - max(whole, 0) * self.workers

    @property
    def group(self) -> tuple[int, int]:
        """(tiles, shares): each run of so many shared tiles is cut into so many shares."""
        return _pattern(self)

    @property
    def is_counted(self) -> bool:
        """Whether the kernel can count the steps of all shared tiles, one after the other.

        >>> StreamK(132, 144, 128).is_counted, StreamK(132, 144, 1 << 24).is_counted
        (True, False)
        """
        tiles, shares = self.group
        return max(self.shared + tiles, (self.workers // max(shares, 1) + 1) * tiles) * self.steps < MAX_STEPS

    @property
    def longest(self) -> int:
        """The steps of the longest share."""
        tiles, shares = self.group
        return -(-tiles * self.steps // shares)

    @property
    def parts_of_one(self) -> int:
        """About how many parts are added to those of a tile's first share; 0 where every share is one tile."""
        tiles, shares = self.group
        if tiles in (0, shares):
            return 0
        return shares - 1 if tiles == 1 else max(-(-shares // tiles), 1)

    def begin(self, share: int) -> int:
        """Where a share begins, in steps of one shared tile after the other; behind the last share: where it ends."""
        tiles, shares = self.group
        group, index = divmod(share, shares)
        least, longer = divmod(tiles * self.steps, shares)
        return min(group * tiles * self.steps + index * least + min(index, longer), self.shared * self.steps)

    @property
    def bounds(self) -> list[int]:
        """Where the shares begin, and the end of the last one."""
        return [self.begin(i) for i in range(self.workers + 1)]

    def first_tile(self, worker: int) -> int:
        """The tile in which a worker begins. Worker 0 has the last share; one without a share takes a whole tile."""
        share = self.workers - 1 - worker
        begin = self.begin(share)
        return begin // self.steps if begin < self.begin(share + 1) else self.shared + worker

    @property
    def parts(self) -> list[tuple[int, int, int]]:
        """What workers have of the shared tiles: the tile, the first step and the steps, in the order of both."""
        steps = self.steps
        cuts = sorted({*self.bounds, *range(0, self.shared * steps + 1, max(steps, 1))})
        return [(a // steps, a % steps, b - a) for a, b in itertools.pairwise(cuts)]

    def packed(self) -> bytes:
        """The device's StreamKShares."""
        tiles, shares = self.group
        least, longer = divmod(tiles * self.steps, shares)
        return struct.pack(
            "<11I", *fast_divisor(max(self.steps, 1)), *fast_divisor(shares), self.workers, self.shared,
            tiles * self.steps, least, longer,
        )  # fmt: skip


@functools.lru_cache(maxsize=64)
def _pattern(shares: StreamK) -> tuple[int, int]:
    """StreamK.group, which each of its bounds asks for."""
    if not shares.in_step or shares.shared == 0:
        return shares.shared, shares.workers
    rounds, found = shares.tiles // shares.workers, []
    for tiles in range(1, min(shares.shared, MOST_OF_GROUP) + 1):
        cuts = shares.workers // -(-shares.shared // tiles)
        if cuts >= tiles:  # a tile at a time always fits
            most = min(tiles * MOST_PARTS, tiles * max(shares.steps, 1), max(MOST_SHARES, tiles))
            found.append((tiles, min(cuts, most)))
    least = min(a / b for a, b in found)
    return next((a, b) for a, b in found if HARDLY * (rounds + a / b) <= (HARDLY + 1) * (rounds + least))
