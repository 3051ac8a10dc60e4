"""A producer and a consumer, each with its state; a handle is the stage that one of them has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.lang.carry import register
from tilewright.pipeline.state import PipelineState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.cute.tensors.pointer import Pointer
    from tilewright.numeric import Boolean
    from tilewright.pipeline.asynchronous import Pipeline

__all__ = ["PipelineConsumer", "PipelineProducer"]


class Handle:
    """A stage of a pipeline that a producer or a consumer has: its index, and its number since the first one."""

    def __init__(self, pipeline: Pipeline, state: PipelineState) -> None:
        self._pipeline, self._state = pipeline, state

    def __str__(self) -> str:
        return f"a handle of {self._pipeline}"

    @property
    def index(self) -> Any:
        """The stage."""
        return self._state.index

    @property
    def count(self) -> Any:
        """How many stages came before."""
        return self._state.count


class ProducerHandle(Handle):
    """A stage that a producer fills."""

    @property
    def barrier(self) -> Pointer:
        """The barrier of the full stage, for copies that say there what they bring: `cute.copy(.., tma_bar_ptr=)`."""
        return self._pipeline.producer_get_barrier(self._state)

    def commit(self, *, loc: object = None, ip: object = None) -> None:
        """Say that the stage is filled."""
        self._pipeline.producer_commit(self._state)


class ConsumerHandle(Handle):
    """A stage that a consumer reads."""

    def release(self, *, loc: object = None, ip: object = None) -> None:
        """Say that the stage has been read."""
        self._pipeline.consumer_release(self._state)


class Participant:
    """A pipeline and where someone is in its stages; it changes in place, and goes round loops."""

    _handle: type[Handle]

    def __init__(self, pipeline: Pipeline, state: PipelineState) -> None:
        self._pipeline, self._state = pipeline, state

    def __str__(self) -> str:
        return f"a {type(self).__name__} of {self._pipeline}"

    def advance(self, *, loc: object = None, ip: object = None) -> None:
        """Go to the next stage."""
        self._state.advance()

    def reset(self, *, loc: object = None, ip: object = None) -> None:
        """Count stages from 0 again."""
        self._state.reset_count()

    def clone(self) -> Any:
        """One that is where this one is."""
        return type(self)(self._pipeline, self._state.clone())

    def _current(self) -> Any:
        return self._handle(self._pipeline, self._state.clone())


class PipelineProducer(Participant):
    """A producer; `make_participants` of a pipeline gives it."""

    ImmutableResourceHandle = ProducerHandle
    _handle = ProducerHandle

    def acquire(self, try_acquire_token: Any = None, *, loc: object = None, ip: object = None) -> ProducerHandle:
        """Wait until the stage is empty; its handle."""
        self._pipeline.producer_acquire(self._state, try_acquire_token)
        return self._current()  # type: ignore[no-any-return]

    def acquire_and_advance(
        self, try_acquire_token: Any = None, *, loc: object = None, ip: object = None
    ) -> ProducerHandle:
        """Wait until the stage is empty, and go on to the next; the handle of the one that is empty."""
        handle = self.acquire(try_acquire_token)
        self.advance()
        return handle

    def try_acquire(self, *, loc: object = None, ip: object = None) -> Boolean:
        """Whether the stage is empty."""
        return self._pipeline.producer_try_acquire(self._state)

    def commit(self, handle: ProducerHandle | None = None, *, loc: object = None, ip: object = None) -> None:
        """Say that a handle's stage is filled, or the one where this producer is."""
        (self._current() if handle is None else handle).commit()

    def tail(self, *, loc: object = None, ip: object = None) -> None:
        """Wait until the consumers have read all stages."""
        self._pipeline.producer_tail(self._state)


class PipelineConsumer(Participant):
    """A consumer; `make_participants` of a pipeline gives it."""

    ImmutableResourceHandle = ConsumerHandle
    _handle = ConsumerHandle

    def wait(self, try_wait_token: Any = None, *, loc: object = None, ip: object = None) -> ConsumerHandle:
        """Wait until the stage is full; its handle."""
        self._pipeline.consumer_wait(self._state, try_wait_token)
        return self._current()  # type: ignore[no-any-return]

    def wait_and_advance(self, try_wait_token: Any = None, *, loc: object = None, ip: object = None) -> ConsumerHandle:
        """Wait until the stage is full, and go on to the next; the handle of the one that is full."""
        handle = self.wait(try_wait_token)
        self.advance()
        return handle

    def try_wait(self, *, loc: object = None, ip: object = None) -> Boolean:
        """Whether the stage is full."""
        return self._pipeline.consumer_try_wait(self._state)

    def release(self, handle: ConsumerHandle | None = None, *, loc: object = None, ip: object = None) -> None:
        """Say that a handle's stage has been read, or the one where this consumer is."""
        (self._current() if handle is None else handle).release()


# A participant is its pipeline and the three numbers of its state, which loops carry.


def _split(value: Any) -> tuple[Any, Sequence[Any]]:
    state = value._state
    return (type(value), id(value._pipeline)), (state.count, state.index, state.phase)


def _build(value: Any, parts: Sequence[Any]) -> Any:
    return type(value)(value._pipeline, PipelineState(value._state.stages, *parts))


def _assign(value: Any, parts: Sequence[Any]) -> None:
    value._state = PipelineState(value._state.stages, *parts)


register(Participant, split=_split, build=_build, assign=_assign, describe=str)
register(Handle, split=_split, build=_build, describe=str)
