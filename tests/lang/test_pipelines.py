"""Pipelines in kernels: what is produced is consumed once and in order, and planted defects are found on their line."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import tilewright as cutlass
from compiling import nvrtc
from tilewright import cute, pipeline
from tilewright.lang.cpu import KernelError
from tilewright.pipeline import (
    Agent,
    CooperativeGroup,
    PipelineAsync,
    PipelineCpAsync,
    PipelineOrder,
    PipelineState,
    PipelineTmaAsync,
    PipelineTmaStore,
    PipelineUserType,
    make_pipeline_state,
)

LANES = 32


def group(size=LANES):
    return CooperativeGroup(Agent.Thread, size)


def line_of(kernel, text):
    """The line of a kernel's source where a text stands."""
    lines, first = inspect.getsourcelines(kernel.function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def findings_of(function, *args, seed=0):
    with cute.on_cpu(check=True, seed=seed), pytest.raises(KernelError) as error:
        function(*args)
    return error.value.findings


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


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(("stages", "items"), [(2, 7), (3, 3), (4, 2), (5, 8)])
def test_what_is_produced_is_consumed(kernel, stages, items):
    x, y = arrays(items)
    for seed in range(3):
        y.fill(0)
        with cute.on_cpu(check=True, seed=seed):
            launch(x, y, kernel, stages, None)
        np.testing.assert_array_equal(y, x[::-1])


@pytest.mark.parametrize("kernel", [by_states, by_handles], ids=lambda kernel: kernel.name)
def test_one_stage(kernel):
    x, y = arrays(5)
    with cute.on_cpu(check=True):
        launch(x, y, kernel, 1, None)
    np.testing.assert_array_equal(y, x[::-1])


# ---- planted defects ----


def lines_of(finding):
    """The lines that a finding names: where it is, the other side of a race, who else waits in a deadlock."""
    assert finding.place[0] == __file__
    other = [finding.other_place[1]] if finding.other_place else []
    return {finding.place[1], *other, *map(int, re.findall(r"waits in line (\d+)", finding.message))}


@pytest.mark.parametrize(
    ("defect", "kinds", "text"),
    [
        ("no wait", {"race", "not written"}, "# read"),
        ("no sync", {"race"}, "# wait"),
        ("no advance", {"race"}, "# read"),
        ("consumer's phase", {"race", "not written", "deadlock"}, "# wait"),
        ("producer's phase", {"deadlock"}, "# acquire"),
        ("no release", {"deadlock"}, "# acquire"),
        ("count", {"deadlock"}, "# acquire"),
        ("no commit", {"deadlock"}, "# wait"),
        ("one more wait", {"deadlock"}, "# last"),
    ],
)
def test_a_defect_is_found_on_its_line(defect, kinds, text):
    found = findings_of(launch, *arrays(6), by_states, 2, defect)
    assert any(line_of(by_states, text) in lines_of(finding) for finding in found if finding.kind in kinds)


@pytest.mark.parametrize(("kernel", "defect"), [(by_states, "no acquire"), (by_handles, "released early")])
def test_some_order_shows_a_stage_that_is_refilled_too_early(kernel, defect):
    races = []
    for seed in range(12):
        x, y = arrays(6)
        try:
            with cute.on_cpu(check=True, seed=seed):
                launch(x, y, kernel, 2, defect)
        except KernelError as error:
            races += [finding for finding in error.findings if finding.kind == "race"]
    assert any(line_of(kernel, "# read") in lines_of(finding) for finding in races)


def test_a_deadlock_says_who_waits_for_what():
    found = findings_of(launch, *arrays(6), by_handles, 2, "no commit")
    (deadlock,) = [finding for finding in found if finding.kind == "deadlock"]
    assert "0 of 32 arrivals" in deadlock.message
    assert lines_of(deadlock) == {line_of(by_handles, text) for text in ("# acquire", "# wait")}


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


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_groups_pass_in_turn(seed, depth):
    order = np.full((6, 3), -1, np.int32)
    with cute.on_cpu(check=True, seed=seed):
        run_in_turn(order, depth, True)
    for place in range(depth):
        assert order[place::depth].reshape(-1).tolist() == list(range(18 // depth))


def test_groups_that_do_not_wait_race():
    found = findings_of(run_in_turn, np.full((6, 3), -1, np.int32), 1, False)
    assert any(line_of(in_turn, "# read") in lines_of(finding) for finding in found if finding.kind == "race")


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


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (1, 2), (2, 2), (4, 2)])
def test_consumers_release_the_stages_of_the_blocks_that_multicast_to_them(shape):
    out = np.zeros((shape[0] * shape[1], 3), np.int32)
    with cute.on_cpu(check=True):
        run_release(out, shape, (shape[0] + shape[1] - 1) * 2)
    assert (out[:, 1:] == 5).all()


@pytest.mark.parametrize("shape", [(1, 1), (2, 2)])
def test_an_arrival_too_many_is_a_deadlock(shape):
    arrivals = (shape[0] + shape[1] - 1) * 2
    found = findings_of(run_release, np.zeros((shape[0] * shape[1], 3), np.int32), shape, arrivals + 1)
    (deadlock, *_) = [finding for finding in found if finding.kind == "deadlock"]
    assert f"{arrivals} of {arrivals + 1} arrivals" in deadlock.message


# ---- states and arguments ----


def test_states():
    state = make_pipeline_state(PipelineUserType.Producer, 3)
    seen = []
    for _ in range(4):
        seen.append((int(state.index), int(state.phase), int(state.count)))
        state.advance()
    assert seen == [(0, 1, 0), (1, 1, 1), (2, 1, 2), (0, 0, 3)]
    other = state.clone()
    other.reverse()
    assert [int(x) for x in (other.index, other.phase, other.count)] == [0, 0, 3]
    other.reverse()
    assert [int(x) for x in (other.index, other.phase, state.index)] == [2, 1, 1]
    state.reset_count()
    assert int(state.count) == 0


def test_bad_arguments():
    with pytest.raises(ValueError, match="stages is int 0; expected at least 1, known while tracing"):
        make_pipeline_state(PipelineUserType.Producer, 0)
    with pytest.raises(TypeError, match="expected a PipelineUserType, but got"):
        make_pipeline_state(Agent.Thread, 2)
    with pytest.raises(TypeError, match=r"expected an Agent, such as Agent\.Thread, but got int 32"):
        CooperativeGroup(32)
    with pytest.raises(ValueError, match=r"size is float 1\.5; expected how many threads arrive"):
        CooperativeGroup(Agent.Thread, 1.5)
    with pytest.raises(ValueError, match=r"only threads arrive at barriers"):
        CooperativeGroup(Agent.ThreadBlock, 1)
    with pytest.raises(TypeError, match=r"PipelineAsync\.create: producer_group: expected a CooperativeGroup"):
        PipelineAsync.create(num_stages=2, producer_group=32, consumer_group=group(), barrier_storage=None)
    with pytest.raises(TypeError, match=r"barrier_storage is None; expected a pointer to 4 Int64 of shared memory"):
        PipelineAsync.create(num_stages=2, producer_group=group(), consumer_group=group())
    with pytest.raises(ValueError, match=r"tx_count is 0; expected the bytes of a stage"):
        PipelineTmaAsync.create(num_stages=2, producer_group=group(1), consumer_group=group(), tx_count=0)
    with pytest.raises(ValueError, match=r"expected four modes, \(V, M, N, K\) -> rank"):
        PipelineTmaAsync.create(
            num_stages=2, producer_group=group(1), consumer_group=group(), tx_count=16, cta_layout_vmnk=(2, 2)
        )
    with pytest.raises(ValueError, match=r"group_id is 3; the groups are 0 to 2"):
        PipelineOrder.create(None, 1, 3, 3, group())
    with pytest.raises(ValueError, match=r"PipelineTmaStore\.create: num_stages is int 0"):
        PipelineTmaStore.create(num_stages=0, producer_group=group())
    assert CooperativeGroup(Agent.Thread, 4.0).size == 4
    assert str(PipelineState(2, 0, 0, 0)) == "PipelineState of 2 stages"


@nvrtc
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_they_compile(kernel):
    compiled = cute.compile(launch, *arrays(4), kernel, 3, None, options="--gpu-arch sm_90a")
    assert compiled.spills == 0
    ptx = compiled.ptx
    assert "mbarrier.init.shared" in ptx
    assert ptx.count("mbarrier.try_wait") >= 2
