"""Stages of shared memory: what TMA fills and warps empty, what warps hand to each other."""

from __future__ import annotations

from tilewright import cute, pipeline

PRODUCER, CONSUMER = 1, 0  # parities of the first visit to a stage


def filled(count, bytes_, warps, barriers, cluster=None, defer_sync=False):
    """Stages that TMA fills with so many bytes each, and so many warps empty."""
    group = pipeline.CooperativeGroup
    return pipeline.PipelineTmaAsync.create(
        num_stages=count, producer_group=group(pipeline.Agent.Thread), tx_count=bytes_,
        consumer_group=group(pipeline.Agent.Thread, warps), barrier_storage=barriers, cta_layout_vmnk=cluster,
        defer_sync=defer_sync,
    )  # fmt: skip


def handed(count, producers, consumers, barriers, defer_sync=False):
    """Stages that threads fill and empty: so many arrive at each."""
    group = pipeline.CooperativeGroup
    return pipeline.PipelineAsync.create(
        num_stages=count, producer_group=group(pipeline.Agent.Thread, producers),
        consumer_group=group(pipeline.Agent.Thread, consumers), barrier_storage=barriers, defer_sync=defer_sync,
    )  # fmt: skip


@cute.jit
def release(stages, state):
    """A warp has read a stage, and goes on to the next one."""
    if isinstance(stages, pipeline.PipelineTmaAsync):
        stages.consumer_release(state)
    else:
        cute.arch.sync_warp()
        with cute.arch.elect_one():
            stages.consumer_release(state)
    state.advance()


def visit(stages, n, parity=CONSUMER):
    """The n-th visit to some stages, a power of two: it is found anew each time, for registers are few."""
    phase = (n >> (stages.bit_length() - 1)) & 1 ^ parity
    return pipeline.PipelineState(stages, 0, n & (stages - 1), phase)


class Stream:
    """An operand of wgmma that comes in stages: its fragments, and which stage is next."""

    def __init__(self, fragments, stages):
        self.fragments, self.stages = fragments, stages
        self.state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages.num_stages)

    def wait(self):
        self.stages.consumer_wait(self.state)

    def release(self):
        release(self.stages, self.state)
