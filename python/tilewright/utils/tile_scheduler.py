"""Which block computes which tile: persistent blocks take tiles one after another, in an order that shares operands.

A grid has as many clusters as run at a time. Cluster c takes the clusters of tiles c, c + clusters, c + 2 clusters, ..
until there are no more. Source: CuTeDSL `cutlass.utils`, persistent tile schedulers.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

from tilewright._boundary import shown
from tilewright._core import ceil_div, is_integer
from tilewright.cute.vectors.choose import where
from tilewright.lang.carry import register_attributes
from tilewright.lang.functions import min_
from tilewright.numeric import Boolean, Int32

__all__ = ["PersistentTileSchedulerParams", "StaticPersistentTileScheduler", "WorkTileInfo"]


class WorkTileInfo(NamedTuple):
    """A tile of C, (m, n, l) in tiles of a CTA, and whether there is one: a Boolean, the same in all threads."""

    tile_idx: tuple[Any, Any, Any]
    is_valid_tile: Any


@dataclasses.dataclass(frozen=True, eq=False)
class PersistentTileSchedulerParams:
    """The tiles of a problem, and the order in which they are taken; an argument of the kernel.

    problem_shape_ntile_mnl: how many tiles of a CTA there are along M, N and L. cluster_shape_mnk: the CTAs of a
    cluster, (m, n, 1), which take neighbouring tiles. Along M first (raster_along_m) or along N first; with a
    swizzle_size s in bands of s clusters along the other mode, whose tiles share operands in the L2 cache.
    ValueError for a cluster with a third extent, or a swizzle_size below 1.

    >>> params = PersistentTileSchedulerParams((2, 3, 1), (1, 1, 1), swizzle_size=2)
    >>> [tuple(map(int, params.cluster_at(i)[:2])) for i in range(6)]
    [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (1, 2)]
    """

    problem_shape_ntile_mnl: tuple[Any, Any, Any]
    cluster_shape_mnk: Constexpr[tuple[int, int, int]]  # type: ignore[name-defined] # noqa: F821 - read as a text
    swizzle_size: Constexpr[int] = 1  # type: ignore[name-defined] # noqa: F821
    raster_along_m: Constexpr[bool] = True  # type: ignore[name-defined] # noqa: F821

    def __post_init__(self) -> None:
        for name in ("problem_shape_ntile_mnl", "cluster_shape_mnk"):
            value = getattr(self, name)
            least = 1 if name == "cluster_shape_mnk" else 0  # a problem may have no tiles
            if (
                not isinstance(value, (tuple, list))
                or len(value) != 3
                or not all(_is_at_least(least, x) for x in value)
            ):
                raise ValueError(
                    f"PersistentTileSchedulerParams: {name} is {shown(value)}; expected three extents of at least "
                    f"{least}"
                )
            object.__setattr__(self, name, tuple(value))
        if self.cluster_shape_mnk[2] != 1:
            raise ValueError(
                f"PersistentTileSchedulerParams: cluster_shape_mnk is {self.cluster_shape_mnk}; CTAs of a cluster take "
                "different tiles, of which there are none along K: expected (m, n, 1)"
            )
        if not _is_at_least(1, self.swizzle_size):
            raise ValueError(
                f"PersistentTileSchedulerParams: swizzle_size is {self.swizzle_size}; expected an integer of at least 1"
            )

    @property
    def clusters_mnl(self) -> tuple[Any, Any, Any]:
        """How many clusters of tiles there are along M, N and L; the last ones may be less than full."""
        m, n, batches = self.problem_shape_ntile_mnl
        return ceil_div(m, self.cluster_shape_mnk[0]), ceil_div(n, self.cluster_shape_mnk[1]), batches

    def cluster_at(self, index: Any) -> tuple[Any, Any, Any]:
        """The coordinates (m, n, l) of the cluster that is taken as this one; a bijection with 0 .. size - 1."""
        m, n, _ = self.clusters_mnl
        across = n if self.raster_along_m else m  # what bands are cut from
        along = m if self.raster_along_m else n
        inside, batch = index % (m * n), index // (m * n)
        if self.swizzle_size == 1:
            place, band = inside % along, inside // along
        else:
            first = inside // (along * self.swizzle_size) * self.swizzle_size  # of the band
            width = min_(across - first, self.swizzle_size)
            inside -= first * along
            place, band = inside // width, first + inside % width
        return (place, band, batch) if self.raster_along_m else (band, place, batch)

    def get_grid_shape(self, max_active_clusters: Any) -> tuple[Any, Any, Any]:
        """The grid of a launch with so many clusters, or fewer where there are not so many tiles."""
        if not _is_at_least(1, max_active_clusters):
            raise ValueError(
                f"get_grid_shape: max_active_clusters is {max_active_clusters}; expected an integer of at least 1"
            )
        m, n, batches = self.clusters_mnl
        return (*self.cluster_shape_mnk[:2], min_(max_active_clusters, m * n * batches))


def _is_at_least(least: int, x: Any) -> bool:
    """Whether x is an integer, and not known to be less."""
    return is_integer(x) and (getattr(x, "is_traced", False) or int(x) >= least)


class StaticPersistentTileScheduler:
    """The tiles of this CTA, one after another.

        scheduler = StaticPersistentTileScheduler.create(params, cute.arch.block_idx(), cute.arch.grid_dim())
        work = scheduler.initial_work_tile_info()
        while work.is_valid_tile:
            ..work.tile_idx..
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()

    A scheduler changes in place, and goes round loops. All warps of a CTA may have one each: they see the same tiles.

    >>> params = PersistentTileSchedulerParams((3, 2, 1), (1, 1, 1))
    >>> StaticPersistentTileScheduler.get_grid_shape(params, 4)
    (1, 1, 4)
    >>> scheduler = StaticPersistentTileScheduler.create(params, (0, 0, 1), (1, 1, 4))
    >>> work = scheduler.initial_work_tile_info()
    >>> while work.is_valid_tile:
    ...     print(*map(int, work.tile_idx))
    ...     scheduler.advance_to_next_work()
    ...     work = scheduler.get_current_work()
    1 0 0
    2 1 0
    """

    def __init__(self, params: PersistentTileSchedulerParams, clusters: Any, cta_in_cluster: Any, first: Any) -> None:
        self.params = params
        self._clusters = clusters  # of the grid
        self._cta_in_cluster = cta_in_cluster
        self._current: Any = Int32(first)
        self._executed: Any = Int32(0)

    def __str__(self) -> str:
        return type(self).__name__

    @classmethod
    def create(
        cls, params: PersistentTileSchedulerParams, block_idx: Any, grid_dim: Any, *, loc: object = None,
        ip: object = None,
    ) -> StaticPersistentTileScheduler:  # fmt: skip
        """The scheduler of the CTA at block_idx of a grid such as get_grid_shape gives."""
        if not isinstance(params, PersistentTileSchedulerParams):
            raise TypeError(f"{cls.__name__}.create: expected PersistentTileSchedulerParams, but got {shown(params)}")
        m, n, _ = params.cluster_shape_mnk
        x, y, z = block_idx
        # A grid has one cluster along its first two extents.
        inside = (Int32(0) if m == 1 else x % m, Int32(0) if n == 1 else y % n)
        return cls(params, grid_dim[2], inside, z)

    @staticmethod
    def get_grid_shape(
        params: PersistentTileSchedulerParams, max_active_clusters: Any, *, loc: object = None, ip: object = None
    ) -> tuple[Any, Any, Any]:
        """The grid: (CTAs of a cluster along M, along N, clusters), at most max_active_clusters of them."""
        if not isinstance(params, PersistentTileSchedulerParams):
            raise TypeError(
                "StaticPersistentTileScheduler.get_grid_shape: expected PersistentTileSchedulerParams, but got "
                f"{shown(params)}"
            )
        return params.get_grid_shape(max_active_clusters)

    @property
    def num_tiles_executed(self) -> Any:
        """How often this scheduler has advanced."""
        return self._executed

    def get_current_work(self, *, loc: object = None, ip: object = None) -> WorkTileInfo:
        """The tile that is this CTA's turn."""
        m, n, batches = self.params.clusters_mnl
        is_valid = self._current < Int32(m * n * batches)
        # The coordinates of a tile that is none stay inside the problem, so that its addresses do.
        cluster = self.params.cluster_at(where(is_valid, self._current, Int32(0)))
        extents = self.params.cluster_shape_mnk
        tile = [at * extent + own for at, extent, own in zip(cluster, extents, self._cta_in_cluster, strict=False)]
        return WorkTileInfo((Int32(tile[0]), Int32(tile[1]), Int32(cluster[2])), Boolean(is_valid))

    def initial_work_tile_info(self, *, loc: object = None, ip: object = None) -> WorkTileInfo:
        """The first tile of this CTA."""
        return self.get_current_work()

    def advance_to_next_work(self, *, advance_count: int = 1, loc: object = None, ip: object = None) -> None:
        """Go on to the next tile of this CTA, or by several."""
        self._current = self._current + Int32(self._clusters) * advance_count
        self._executed = self._executed + advance_count


register_attributes(StaticPersistentTileScheduler, "_current", "_executed")
