"""Stream-K: workers, which are CTAs or clusters, share tiles of C along K, so that all of them have the same work.

In rounds of one tile for every worker the last round seldom fills the device. So the first tiles, of more than one
round and less than two, are cut into equal shares, one for each worker; the others follow in whole rounds. A share that
begins within a tile leaves its sums of that tile in memory, and the worker that has the tile's first step adds them:
since they are left at the beginning of a share and added at the end of one, it seldom waits.
"""

from __future__ import annotations

import itertools
import struct
from typing import NamedTuple

from tilewright.kernels.common.params import fast_divisor

__all__ = ["MAX_STEPS", "StreamK"]

MAX_STEPS = 1 << 31  # that kernels count, of all tiles


class StreamK(NamedTuple):
    """The shares of so many `workers` in `tiles` of `steps` along K each.

    >>> shares = StreamK(workers=4, tiles=9, steps=10)
    >>> shares.shared, shares.bounds, shares.parts[:3]
    (5, [0, 13, 26, 38, 50], [(0, 0, 10), (1, 0, 3), (1, 3, 7)])
    """

    workers: int
    tiles: int
    steps: int

    @property
    def shared(self) -> int:
        """The tiles that are shared, which come first: those of less than two rounds, but of more than one."""
        return self.tiles - max(self.tiles // self.workers - 1, 0) * self.workers

    @property
    def is_counted(self) -> bool:
        """Whether the kernel can count the steps of all shared tiles, one after the other.

        >>> StreamK(132, 144, 128).is_counted, StreamK(132, 144, 1 << 24).is_counted
        (True, False)
        """
        return self.shared * self.steps < MAX_STEPS

    @property
    def longest(self) -> int:
        """The steps of the longest share."""
        return -(-self.shared * self.steps // self.workers)

    @property
    def parts_of_one(self) -> int:
        """The parts that are added to those of a tile's first share, at most; 0 where every share is one tile."""
        if self.shared == 0 or self.shared == self.workers:
            return 0
        return max(-(-self.workers // self.shared), 1)

    @property
    def bounds(self) -> list[int]:
        """Where the shares begin, in steps along K of one shared tile after the other, and the end of the last one."""
        steps, count = self.shared * self.steps, self.workers
        return [i * (steps // count) + min(i, steps % count) for i in range(count + 1)]

    @property
    def parts(self) -> list[tuple[int, int, int]]:
        """What workers have of the shared tiles: the tile, the first step and the steps, in the order of both."""
        steps = self.steps
        cuts = sorted({*self.bounds, *range(0, self.shared * steps + 1, max(steps, 1))})
        return [(a // steps, a % steps, b - a) for a, b in itertools.pairwise(cuts)]

    def packed(self) -> bytes:
        """The device's StreamKShares."""
        least, longer = divmod(self.shared * self.steps, self.workers)
        return struct.pack("<7I", *fast_divisor(max(self.steps, 1)), self.workers, self.shared, least, longer)
