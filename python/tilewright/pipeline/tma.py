"""Pipelines that are filled, or emptied, by the tensor memory accelerator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.tensors.tensor import as_layout
from tilewright.lang import arch
from tilewright.lang.functions import and_, or_
from tilewright.lang.library.generate import if_generate
from tilewright.pipeline.asynchronous import Pipeline
from tilewright.pipeline.groups import CooperativeGroup, in_one_lane, require_group
from tilewright.pipeline.state import PipelineState, require_stages

if TYPE_CHECKING:
    from tilewright.cute.tensors.pointer import Pointer

__all__ = ["PipelineTmaAsync", "PipelineTmaStore"]


class PipelineTmaAsync(Pipeline):
    """A pipeline whose stages are filled by TMA: a stage is full when tx_count bytes have come.

    A whole warp produces, and one of its lanes arrives: producer_group has the size 1. Each warp of the consumers
    arrives once, at the barriers of all blocks that may multicast into its stages: consumer_group has as many as there
    are such warps, (blocks of the same row + blocks of the same column - 1) times those of a block. cta_layout_vmnk
    says where the blocks of a cluster are, (V, M, N, K) -> rank; without it, a block works alone. Source: CuTeDSL
    `cutlass.pipeline.PipelineTmaAsync`.
    """

    tx_count: int
    _cluster: Any = None
    _multicast: tuple[int, int] = (1, 1)

    @classmethod
    def create(
        cls, *, num_stages: int, producer_group: CooperativeGroup, consumer_group: CooperativeGroup, tx_count: int,
        barrier_storage: Pointer | None = None, cta_layout_vmnk: Any = None, tidx: Any = None,
        mcast_mode_mn: tuple[int, int] = (1, 1), defer_sync: bool = False, loc: object = None, ip: object = None,
    ) -> PipelineTmaAsync:  # fmt: skip
        """Make the barriers of a pipeline; all threads of the block call it."""
        if isinstance(tx_count, bool) or not isinstance(tx_count, int) or not 0 < tx_count < 1 << 20:
            raise ValueError(
                f"PipelineTmaAsync.create: tx_count is {tx_count!r}; expected the bytes of a stage, known while "
                "tracing, less than 1048576"
            )
        cluster = None
        if cta_layout_vmnk is not None:
            cluster = as_layout(cta_layout_vmnk)
            if _core.rank(cluster) != 4:
                raise ValueError(
                    f"PipelineTmaAsync.create: cta_layout_vmnk is {cluster}; expected four modes, (V, M, N, K) -> rank"
                )
            if _core.size(cluster) == 1:
                cluster = None
        made = cls(num_stages, producer_group, consumer_group, barrier_storage, cluster, defer_sync)
        made.tx_count, made._cluster, made._multicast = tx_count, cluster, mcast_mode_mn
        return made

    def producer_acquire(
        self, state: PipelineState, try_acquire_token: Any = None, *, loc: object = None, ip: object = None
    ) -> None:
        """Wait until the stage is empty, and expect its bytes; a whole warp calls it."""
        super().producer_acquire(state, try_acquire_token)
        full: Any = self._full + state.index
        in_one_lane(lambda: arch.mbarrier_arrive_and_expect_tx(full, self.tx_count))

    def producer_commit(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Nothing: the copies say themselves what they have brought."""

    def consumer_release(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Say that this warp has read the stage, to all blocks whose copies may fill it; a whole warp calls it."""
        empty: Any = self._empty + state.index
        arch.sync_warp()  # all lanes have read it
        if self._cluster is None:
            in_one_lane(lambda: arch.mbarrier_arrive(empty))
            return
        # Lane i tells block i.
        lane, own = arch.lane_idx(), self._place(arch.block_idx_in_cluster())
        blocks = int(_core.size(self._cluster))
        theirs = self._place(lane % blocks)
        is_same = [own[i] == theirs[i] for i in range(4)]
        by_row, by_column = (is_same[mode] if on else False for mode, on in zip((1, 2), self._multicast, strict=True))
        is_itself = and_(is_same[1], is_same[2])
        shares = or_(or_(by_row, by_column), is_itself)
        is_told = and_(and_(lane < blocks, shares), and_(is_same[0], is_same[3]))
        if_generate(is_told, lambda: arch.mbarrier_arrive(empty, lane))

    def _place(self, rank: Any) -> tuple[Any, Any, Any, Any]:
        """The coordinate (V, M, N, K) of a block of the cluster."""
        found = []
        for mode in range(4):
            part = _core.coalesce(_core.get(self._cluster, mode))
            found.append(0 if _core.size(part) == 1 else rank // part.stride % part.shape)
        return tuple(found)  # type: ignore[return-value]


class PipelineTmaStore:
    """Buffers that TMA stores to global memory: num_stages of them may be under way.

    The storing warp calls producer_commit after each store, then producer_acquire, which waits until the buffer that
    was stored num_stages stores ago may be written again. Source: CuTeDSL `cutlass.pipeline.PipelineTmaStore`.
    """

    def __init__(self, num_stages: int, producer_group: CooperativeGroup) -> None:
        self.num_stages = require_stages("PipelineTmaStore.create: num_stages", num_stages)
        self.producer_group = require_group("PipelineTmaStore.create: producer_group", producer_group)

    @classmethod
    def create(
        cls, *, num_stages: int, producer_group: CooperativeGroup, loc: object = None, ip: object = None
    ) -> PipelineTmaStore:
        """A pipeline; it has no barriers."""
        return cls(num_stages, producer_group)

    def producer_acquire(self, *, loc: object = None, ip: object = None) -> None:
        """Wait until all but the newest num_stages - 1 stores have read their buffers."""
        arch.cp_async_bulk_wait_group(self.num_stages - 1, read=True)

    def producer_commit(self, *, loc: object = None, ip: object = None) -> None:
        """Make a group of the stores that this thread has begun."""
        arch.cp_async_bulk_commit_group()

    def producer_tail(self, *, loc: object = None, ip: object = None) -> None:
        """Wait until all stores have read their buffers: shared memory has to be there until then."""
        arch.cp_async_bulk_wait_group(0, read=True)
