"""Kernels with pipelines, in all forms; `defect` plants one into some of them."""

from __future__ import annotations

import numpy as np

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.pipeline import (
    Agent,
    CooperativeGroup,
    PipelineAsync,
    PipelineCpAsync,
    PipelineOrder,
    PipelineTmaAsync,
    PipelineUserType,
    make_pipeline_state,
)

LANES = 32


def group(size=LANES):
    return CooperativeGroup(Agent.Thread, size)


def arrays(items):
    x = np.random.default_rng(items).normal(size=(LANES, items)).astype(np.float32)
    return x, np.zeros_like(x)


def stages_of(stages):
    """Shared memory of (lanes, stages), and that of the barriers."""
    memory = cutlass.utils.SmemAllocator()
    data = memory.allocate_tensor(cutlass.Float32, cute.make_layout((LANES, stages)), 16)
    return data, memory.allocate_array(cutlass.Int64, 2 * stages)


# ---- a producer and a consumer, in both forms ----


@cute.kernel
def by_states(x: cute.Tensor, y: cute.Tensor, stages: cutlass.Constexpr, defect: cutlass.Constexpr):
    lane, items = cute.arch.lane_idx(), x.shape[1]
    data, barriers = stages_of(stages)
    consumers = group(LANES + 1 if defect == "count" else LANES)
    pipe = PipelineAsync.create(
        num_stages=stages, producer_group=group(), consumer_group=consumers, barrier_storage=barriers,
        defer_sync=defect == "no sync",
    )  # fmt: skip
    if cute.arch.warp_idx() == 0:
        state = make_pipeline_state(
            PipelineUserType.Consumer if defect == "producer's phase" else PipelineUserType.Producer, stages
        )
        for i in range(items):
            if defect != "no acquire":
                pipe.producer_acquire(state)  # acquire
            data[lane, state.index] = x[lane, i]  # write
            if defect != "no commit":
                pipe.producer_commit(state)
            state.advance()
        if defect is None:
            pipe.producer_tail(state)
    else:
        state = make_pipeline_state(
            PipelineUserType.Producer if defect == "consumer's phase" else PipelineUserType.Consumer, stages
        )
        for i in range(items):
            if defect != "no wait":
                pipe.consumer_wait(state)  # wait
            y[lane, i] = data[LANES - 1 - lane, state.index]  # read
            if defect != "no release":
                pipe.consumer_release(state)
            if defect != "no advance":
                state.advance()
        if defect == "one more wait":
            pipe.consumer_wait(state)  # last


@cute.kernel
def by_handles(x: cute.Tensor, y: cute.Tensor, stages: cutlass.Constexpr, defect: cutlass.Constexpr):
    lane, items = cute.arch.lane_idx(), x.shape[1]
    data, barriers = stages_of(stages)
    producer, consumer = PipelineAsync.create(
        num_stages=stages, producer_group=group(), consumer_group=group(), barrier_storage=barriers
    ).make_participants()
    if cute.arch.warp_idx() == 0:
        for i in range(items):
            handle = producer.acquire_and_advance()  # acquire
            data[lane, handle.index] = x[lane, i]
            if defect != "no commit":
                handle.commit()
        producer.tail()
    else:
        for i in range(items):
            handle = consumer.wait_and_advance()  # wait
            if defect == "released early":
                handle.release()
            y[lane, i] = data[LANES - 1 - lane, handle.index]  # read
            if defect != "released early":
                handle.release()


@cute.kernel
def by_tokens(x: cute.Tensor, y: cute.Tensor, stages: cutlass.Constexpr, defect: cutlass.Constexpr):
    """Each looks at the next stage before it is at it, as wgmma's main loops do; a consumer releases one stage late."""
    lane, items = cute.arch.lane_idx(), x.shape[1]
    data, barriers = stages_of(stages)
    pipe = PipelineAsync.create(
        num_stages=stages, producer_group=group(), consumer_group=group(), barrier_storage=barriers, defer_sync=True
    )
    pipeline.pipeline_init_arrive(is_relaxed=True)
    pipeline.pipeline_init_wait()
    if cute.arch.warp_idx() == 0:
        producer = pipe.make_producer()
        token = producer.try_acquire()
        while producer._state.count < items:
            handle = producer.acquire(token)
            data[lane, handle.index] = x[lane, handle.count]
            producer.commit(handle)
            producer.advance()
            token = producer.try_acquire()
        producer.tail()
    else:
        read = make_pipeline_state(PipelineUserType.Consumer, stages)
        release = read.clone()
        peek = pipe.consumer_try_wait(read)
        for i in range(items):
            pipe.consumer_wait(read, peek)
            y[lane, i] = data[LANES - 1 - lane, read.index]
            if i > 0:
                pipe.consumer_release(release)
                release.advance()
            read.advance()
            peek = cutlass.Boolean(1)
            if read.count < items:
                peek = pipe.consumer_try_wait(read)
        pipe.consumer_release(release)


@cute.kernel
def by_carried_handles(x: cute.Tensor, y: cute.Tensor, stages: cutlass.Constexpr, defect: cutlass.Constexpr):
    """A consumer keeps the handle of the stage before while it reads the next one."""
    lane, items = cute.arch.lane_idx(), x.shape[1]
    data, barriers = stages_of(stages)
    producer, consumer = PipelineAsync.create(
        num_stages=stages, producer_group=group(), consumer_group=group(), barrier_storage=barriers
    ).make_participants()
    if cute.arch.warp_idx() == 0:
        for i in range(items):
            handle = producer.acquire_and_advance()
            data[lane, handle.index] = x[lane, i]
            handle.commit()
    else:
        before = consumer.wait_and_advance()
        for i in range(1, items):
            handle = consumer.wait_and_advance()
            y[lane, i] = data[LANES - 1 - lane, handle.index]
            y[lane, i - 1] = data[LANES - 1 - lane, before.index]
            before.release()
            before = handle
        before.release()


@cute.kernel
def by_cp_async(x: cute.Tensor, y: cute.Tensor, stages: cutlass.Constexpr, defect: cutlass.Constexpr):
    lane, items = cute.arch.lane_idx(), x.shape[1]
    data, barriers = stages_of(stages)
    producer, consumer = PipelineCpAsync.create(
        num_stages=stages, producer_group=group(), consumer_group=group(), barrier_storage=barriers
    ).make_participants()
    if cute.arch.warp_idx() == 0:
        copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
        for i in range(items):
            handle = producer.acquire_and_advance()
            source = cute.local_tile(x[None, i], (1,), (lane,))
            cute.copy(copy, source, cute.local_tile(data[None, handle.index], (1,), (lane,)))
            handle.commit()
        producer.tail()
    else:
        for i in range(items):
            handle = consumer.wait_and_advance()
            y[lane, i] = data[LANES - 1 - lane, handle.index]
            handle.release()


KERNELS = (by_states, by_handles, by_tokens, by_carried_handles, by_cp_async)


@cute.jit
def launch(
    x: cute.Tensor, y: cute.Tensor, kernel: cutlass.Constexpr, stages: cutlass.Constexpr, defect: cutlass.Constexpr
):
    kernel(x, y, stages, defect).launch(grid=[1, 1, 1], block=[2 * LANES, 1, 1])


# ---- groups that pass in turn ----


@cute.kernel
def in_turn(order: cute.Tensor, rounds: cutlass.Int32, depth: cutlass.Constexpr, is_ordered: cutlass.Constexpr):
    memory = cutlass.utils.SmemAllocator()
    counter = memory.allocate_tensor(cutlass.Int32, cute.make_layout(depth), 4)
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if cute.arch.thread_idx()[0] == 0:
        counter.fill(0)
    turns = PipelineOrder.create(memory.allocate_array(cutlass.Int64, 3 * depth), depth, 3, warp, group())
    for i in range(rounds):
        for j in cutlass.range_constexpr(depth):
            if is_ordered:
                turns.wait()
            value = counter[j]  # read
            cute.arch.sync_warp()
            if cute.arch.lane_idx() == 0:
                order[i * depth + j, warp] = value
                counter[j] = value + 1
            cute.arch.sync_warp()
            turns.arrive()


@cute.jit
def run_in_turn(order: cute.Tensor, depth: cutlass.Constexpr, is_ordered: cutlass.Constexpr):
    in_turn(order, order.shape[0] // depth, depth, is_ordered).launch(grid=[1, 1, 1], block=[96, 1, 1])


# ---- blocks of a cluster whose consumers release each other's stages ----


@cute.kernel
def release_in_a_cluster(out: cute.Tensor, shape: cutlass.Constexpr, arrivals: cutlass.Constexpr):
    """No bytes come: a stage is full when its producer has acquired it."""
    memory = cutlass.utils.SmemAllocator()
    pipe = PipelineTmaAsync.create(
        num_stages=2, producer_group=group(1), consumer_group=group(arrivals), tx_count=16,
        barrier_storage=memory.allocate_array(cutlass.Int64, 4), cta_layout_vmnk=cute.make_layout((1, *shape, 1)),
    )  # fmt: skip
    pipe.tx_count = 0
    producer, consumer = pipe.make_participants()
    block = cute.arch.block_idx_in_cluster()
    warp = cute.arch.warp_idx()
    if warp == 0:
        for _ in range(5):
            producer.acquire_and_advance()  # acquire
        producer.tail()
    else:
        rounds = cutlass.Int32(0)
        for _ in range(5):
            handle = consumer.wait_and_advance()
            handle.release()
            rounds = handle.count + 1
        if cute.arch.lane_idx() == 0:
            out[block, warp] = rounds
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def run_release(out: cute.Tensor, shape: cutlass.Constexpr, arrivals: cutlass.Constexpr):
    release_in_a_cluster(out, shape, arrivals).launch(grid=[*shape, 1], block=[96, 1, 1], cluster=[*shape, 1])
