"""Pipelines whose producers and consumers are threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.lang import arch
from tilewright.lang.functions import not_
from tilewright.lang.library.generate import if_generate
from tilewright.numeric import Boolean
from tilewright.pipeline.groups import (
    CooperativeGroup,
    init_barriers,
    pipeline_init_arrive,
    pipeline_init_wait,
    require_group,
    require_storage,
)
from tilewright.pipeline.participants import PipelineConsumer, PipelineProducer
from tilewright.pipeline.state import PipelineState, PipelineUserType, make_pipeline_state, require_stages

if TYPE_CHECKING:
    from typing_extensions import Self

    from tilewright.cute.tensors.pointer import Pointer

__all__ = ["Pipeline", "PipelineAsync", "PipelineCpAsync"]


class Pipeline:
    """Stages with two mbarriers each: full, for the producers' arrivals, and empty, for the consumers'."""

    def __init__(
        self, num_stages: int, producer_group: CooperativeGroup, consumer_group: CooperativeGroup, storage: Any,
        cluster: Any = None, defer_sync: bool = False,
    ) -> None:  # fmt: skip
        name = f"{type(self).__name__}.create"
        self.num_stages = require_stages(f"{name}: num_stages", num_stages)
        self.producer_group = require_group(f"{name}: producer_group", producer_group)
        self.consumer_group = require_group(f"{name}: consumer_group", consumer_group)
        self._full = require_storage(name, storage, 2 * num_stages)
        self._empty: Any = self._full + num_stages
        init_barriers(storage, [producer_group.size] * num_stages + [consumer_group.size] * num_stages)
        if not defer_sync:
            pipeline_init_arrive(cluster, is_relaxed=True)
            pipeline_init_wait(cluster)

    def __str__(self) -> str:
        return f"{type(self).__name__} of {self.num_stages} stages"

    # ---- producers ----

    def producer_acquire(
        self, state: PipelineState, try_acquire_token: Any = None, *, loc: object = None, ip: object = None
    ) -> None:
        """Wait until the stage is empty; not where producer_try_acquire has said that it is."""
        _wait(self._empty, state, try_acquire_token)

    def producer_try_acquire(self, state: PipelineState, *, loc: object = None, ip: object = None) -> Boolean:
        """Whether the stage is empty."""
        return arch.mbarrier_try_wait(self._empty + state.index, state.phase)

    def producer_commit(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Say that the stage is filled, as far as this thread does."""
        arch.mbarrier_arrive(self._full + state.index)

    def producer_get_barrier(self, state: PipelineState, *, loc: object = None, ip: object = None) -> Pointer:
        """The barrier of the full stage, for copies that say there what they bring."""
        barrier: Pointer = self._full + state.index
        return barrier

    def producer_tail(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Wait until all stages are empty: what the consumers' arrivals need has to be there until then."""
        for i in range(self.num_stages):
            if i:
                state.advance()
            _wait(self._empty, state)

    # ---- consumers ----

    def consumer_wait(
        self, state: PipelineState, try_wait_token: Any = None, *, loc: object = None, ip: object = None
    ) -> None:
        """Wait until the stage is full; not where consumer_try_wait has said that it is."""
        _wait(self._full, state, try_wait_token)

    def consumer_try_wait(self, state: PipelineState, *, loc: object = None, ip: object = None) -> Boolean:
        """Whether the stage is full."""
        return arch.mbarrier_try_wait(self._full + state.index, state.phase)

    def consumer_release(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Say that this thread has read the stage, which may be filled again."""
        arch.mbarrier_arrive(self._empty + state.index)

    # ---- handles ----

    def make_producer(self, *, loc: object = None, ip: object = None) -> PipelineProducer:
        """A producer with a state of its own."""
        return PipelineProducer(self, make_pipeline_state(PipelineUserType.Producer, self.num_stages))

    def make_consumer(self, *, loc: object = None, ip: object = None) -> PipelineConsumer:
        """A consumer with a state of its own."""
        return PipelineConsumer(self, make_pipeline_state(PipelineUserType.Consumer, self.num_stages))

    def make_participants(self, *, loc: object = None, ip: object = None) -> tuple[PipelineProducer, PipelineConsumer]:
        """A producer and a consumer."""
        return self.make_producer(), self.make_consumer()


def _wait(barriers: Any, state: PipelineState, token: Any = None) -> None:
    """Wait at a stage's barrier, unless a Boolean says that it need not be."""

    def wait() -> None:
        arch.mbarrier_wait(barriers + state.index, state.phase)

    if token is None:
        wait()
    else:
        if_generate(not_(Boolean(token)), wait)


class PipelineAsync(Pipeline):
    """A pipeline in which each thread of a group arrives: producer_group.size of them fill a stage.

    barrier_storage points to 2 num_stages Int64 in shared memory. With defer_sync the barriers can be used after
    pipeline_init_arrive and pipeline_init_wait, else at once. producer_mask and consumer_mask: in which block of the
    cluster the producers arrive, and the consumers; by default in their own. All threads of the block call create.
    Source: CuTeDSL `cutlass.pipeline.PipelineAsync`.

    >>> import numpy
    >>> from tilewright import Int32, Int64, cute, pipeline, utils
    >>> @cute.kernel
    ... def hand_over(x: cute.Tensor, y: cute.Tensor):
    ...     memory = utils.SmemAllocator()
    ...     stages = memory.allocate_tensor(Int32, cute.make_layout((32, 2)), 16)
    ...     warp = pipeline.CooperativeGroup(pipeline.Agent.Thread, 32)
    ...     producer, consumer = pipeline.PipelineAsync.create(
    ...         num_stages=2, producer_group=warp, consumer_group=warp, barrier_storage=memory.allocate_array(Int64, 4)
    ...     ).make_participants()
    ...     lane = cute.arch.lane_idx()
    ...     if cute.arch.warp_idx() == 0:
    ...         for i in range(x.shape[1]):
    ...             handle = producer.acquire_and_advance()
    ...             stages[lane, handle.index] = x[lane, i]
    ...             handle.commit()
    ...     else:
    ...         for i in range(x.shape[1]):
    ...             handle = consumer.wait_and_advance()
    ...             y[lane, i] = stages[31 - lane, handle.index]
    ...             handle.release()
    >>> @cute.jit
    ... def run(x: cute.Tensor, y: cute.Tensor):
    ...     hand_over(x, y).launch(grid=[1, 1, 1], block=[64, 1, 1])
    >>> x = numpy.arange(32 * 5, dtype=numpy.int32).reshape(32, 5)
    >>> y = numpy.zeros_like(x)
    >>> with cute.on_cpu(check=True):
    ...     run(x, y)
    >>> bool((y == x[::-1]).all())
    True
    """

    _producer_mask: Any = None
    _consumer_mask: Any = None

    @classmethod
    def create(
        cls, *, num_stages: int, producer_group: CooperativeGroup, consumer_group: CooperativeGroup,
        barrier_storage: Pointer | None = None, producer_mask: Any = None, consumer_mask: Any = None,
        defer_sync: bool = False, loc: object = None, ip: object = None,
    ) -> Self:  # fmt: skip
        """Make the barriers of a pipeline."""
        made = cls(num_stages, producer_group, consumer_group, barrier_storage, defer_sync=defer_sync)
        made._producer_mask, made._consumer_mask = producer_mask, consumer_mask
        return made

    def producer_commit(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Say that the stage is filled, as far as this thread does."""
        arch.mbarrier_arrive(self._full + state.index, self._producer_mask)

    def consumer_release(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Say that this thread has read the stage, which may be filled again."""
        arch.mbarrier_arrive(self._empty + state.index, self._consumer_mask)


class PipelineCpAsync(PipelineAsync):
    """A pipeline that producers fill by cp.async: this thread's copies arrive when they have landed.

    Committing does not wait, so that copies of several stages are under way at once. What consumers read by wgmma needs
    a fence_proxy("async.shared", space="cta") after their consumer_wait. Threads of the same block fill the stages.
    Source: CuTeDSL `cutlass.pipeline.PipelineCpAsync`.
    """

    def producer_commit(self, state: PipelineState, *, loc: object = None, ip: object = None) -> None:
        """Let the asynchronous copies that this thread has begun say that the stage is filled, when they land."""
        if self._producer_mask is not None:
            raise ValueError("PipelineCpAsync: copies by cp.async arrive in their own block; leave producer_mask out")
        arch.cp_async_mbarrier_arrive_noinc(self._full + state.index)
