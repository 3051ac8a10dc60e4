"""Threads that produce and threads that consume what lies in stages of shared memory, as `cutlass.pipeline`.

A pipeline has two mbarriers for each stage: full, at which its producers arrive, and empty, at which its consumers do.
Its methods take a state, or are those of a producer and a consumer that have one each:

    producer, consumer = PipelineAsync.create(..).make_participants()
    handle = producer.acquire_and_advance()     pipeline.producer_acquire(state)
    ..fill stage handle.index..                 ..fill stage state.index..
    handle.commit()                             pipeline.producer_commit(state); state.advance()

A CPU finds stages that are read too early or refilled too early, and says of a deadlock who waits for what.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.pipeline.asynchronous import PipelineAsync, PipelineCpAsync
from tilewright.pipeline.groups import Agent, CooperativeGroup, pipeline_init_arrive, pipeline_init_wait
from tilewright.pipeline.named import NamedBarrier, arrive, arrive_and_wait, sync
from tilewright.pipeline.order import PipelineOrder
from tilewright.pipeline.participants import PipelineConsumer, PipelineProducer
from tilewright.pipeline.state import PipelineState, PipelineUserType, make_pipeline_state
from tilewright.pipeline.tma import PipelineTmaAsync, PipelineTmaStore

__all__ = [
    "Agent",
    "CooperativeGroup",
    "NamedBarrier",
    "PipelineAsync",
    "PipelineConsumer",
    "PipelineCpAsync",
    "PipelineOrder",
    "PipelineProducer",
    "PipelineState",
    "PipelineTmaAsync",
    "PipelineTmaStore",
    "PipelineUserType",
    "arrive",
    "arrive_and_wait",
    "make_pipeline_state",
    "pipeline_init_arrive",
    "pipeline_init_wait",
    "sync",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
