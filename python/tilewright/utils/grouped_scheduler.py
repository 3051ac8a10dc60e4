"""Tiles of several GEMMs of different extents, as one row of tiles: which GEMM a tile is of, and where in it.

Source: CuTeDSL `cutlass.utils`, grouped tile scheduler.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tilewright._boundary import shown
from tilewright._core import ceil_div
from tilewright.lang.carry import register_attributes
from tilewright.lang.rewrite import rewrite
from tilewright.numeric import Int32
from tilewright.utils.tile_scheduler import PersistentTileSchedulerParams

__all__ = ["GroupSearchResult", "GroupedGemmTileSchedulerHelper", "create_initial_search_state"]


class GroupSearchResult(NamedTuple):
    """A tile of a grouped GEMM: its GEMM, its place there in tiles of a CTA, the GEMM's extents, its tiles along K."""

    group_idx: Any
    cta_tile_idx_m: Any
    cta_tile_idx_n: Any
    problem_shape_m: Any
    problem_shape_n: Any
    problem_shape_k: Any
    cta_tile_count_k: Any


class GroupSearchState(NamedTuple):
    """Where the search for a tile's GEMM goes on: a GEMM, and how many clusters of tiles those before it have."""

    start_group_idx: Any
    tile_count_prev_group: Any


def create_initial_search_state() -> GroupSearchState:
    """The state of a search that begins at the first GEMM.

    >>> [int(x) for x in create_initial_search_state()]
    [0, 0]
    """
    return GroupSearchState(Int32(0), Int32(0))


class GroupedGemmTileSchedulerHelper:
    """Finds the GEMM of a tile, and its place there; tiles are asked for in ascending order.

    The scheduler's params have as many tiles along L as all GEMMs have clusters of tiles, and those of one cluster
    along M and N. cluster_tile_shape_mnk: what a cluster computes of a GEMM at a time. The search goes on where it
    found the tile before, so that all tiles together look at each GEMM once. Inside a GEMM tiles go along M first.

    >>> import numpy
    >>> from tilewright import cute
    >>> sizes = cute.runtime.from_dlpack(numpy.array([[130, 64, 32, 1], [64, 200, 96, 1]], numpy.int32))
    >>> params = PersistentTileSchedulerParams((1, 1, 5), (1, 1, 1))
    >>> helper = GroupedGemmTileSchedulerHelper(2, params, (128, 128, 32), create_initial_search_state())
    >>> for z in range(4):
    ...     found = helper.delinearize_z((0, 0, z), sizes)
    ...     print([int(x) for x in (found.group_idx, found.cta_tile_idx_m, found.cta_tile_idx_n)])
    [0, 0, 0]
    [0, 1, 0]
    [1, 0, 0]
    [1, 0, 1]
    """

    def __init__(
        self, group_count: Any, tile_sched_params: PersistentTileSchedulerParams,
        cluster_tile_shape_mnk: tuple[int, int, int], search_state: GroupSearchState,
    ) -> None:  # fmt: skip
        if not isinstance(tile_sched_params, PersistentTileSchedulerParams):
            raise TypeError(
                "GroupedGemmTileSchedulerHelper: expected PersistentTileSchedulerParams, but got "
                f"{shown(tile_sched_params)}"
            )
        self.group_count = group_count
        self.tile_sched_params = tile_sched_params
        self.cluster_tile_shape_mnk = cluster_tile_shape_mnk
        self.search_state = search_state

    def __str__(self) -> str:
        return type(self).__name__

    def delinearize_z(
        self, cta_tile_coord: tuple[Any, Any, Any], problem_shape_mnkl: Any, *, loc: object = None, ip: object = None
    ) -> GroupSearchResult:
        """The tile at a coordinate that the scheduler gave; problem_shape_mnkl (GEMMs, 4) has their extents m, n, k, l.

        A tile behind the last is looked for in the last GEMM.
        """
        x, y, z = (Int32(extent) for extent in cta_tile_coord)
        cluster_m, _, tile_k = self.cluster_tile_shape_mnk
        group, first = self._find(z, problem_shape_mnkl)
        m, n, k = (problem_shape_mnkl[group, i] for i in range(3))
        clusters_m = ceil_div(m, cluster_m)
        inside = z - first
        ctas_m, ctas_n, _ = self.tile_sched_params.cluster_shape_mnk
        return GroupSearchResult(
            group, inside % clusters_m * ctas_m + x, inside // clusters_m * ctas_n + y, m, n, k, ceil_div(k, tile_k)
        )

    def search_cluster_tile_count_k(
        self, cta_tile_coord: tuple[Any, Any, Any], problem_shape_mnkl: Any, *, loc: object = None, ip: object = None
    ) -> tuple[Any, Any]:
        """How many tiles along K the GEMM of a tile has, and which GEMM that is."""
        group, _ = self._find(Int32(cta_tile_coord[2]), problem_shape_mnkl)
        return ceil_div(problem_shape_mnkl[group, 2], self.cluster_tile_shape_mnk[2]), group

    def _find(self, tile: Any, sizes: Any) -> tuple[Any, Any]:
        """The GEMM of a cluster of tiles, and the clusters of those before it."""
        state = self.search_state
        found = rewrite(_search)(  # type: ignore[arg-type]
            state.start_group_idx, state.tile_count_prev_group, tile, Int32(self.group_count), sizes,
            self.cluster_tile_shape_mnk,
        )  # fmt: skip
        self.search_state = GroupSearchState(*found)
        return found  # type: ignore[no-any-return]


def _search(group, first, tile, group_count, sizes, shape):  # type: ignore[no-untyped-def]
    clusters = ceil_div(sizes[group, 0], shape[0]) * ceil_div(sizes[group, 1], shape[1])
    while tile >= first + clusters and group + 1 < group_count:
        group = group + 1
        first = first + clusters
        clusters = ceil_div(sizes[group, 0], shape[0]) * ceil_div(sizes[group, 1], shape[1])
    return group, first


register_attributes(GroupedGemmTileSchedulerHelper, "search_state")
