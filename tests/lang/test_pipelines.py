"""Pipelines in kernels: what is produced is consumed once and in order, and planted defects are found on their line."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import pipeline_kernels
from compiling import nvrtc
from pipeline_kernels import (
    KERNELS,
    arrays,
    by_handles,
    by_states,
    group,
    in_turn,
    launch,
    run_in_turn,
    run_release,
)
from tilewright import cute
from tilewright.lang.cpu import KernelError
from tilewright.pipeline import (
    Agent,
    CooperativeGroup,
    PipelineAsync,
    PipelineOrder,
    PipelineState,
    PipelineTmaAsync,
    PipelineTmaStore,
    PipelineUserType,
    make_pipeline_state,
)


def line_of(kernel, text):
    """The line of a kernel's source where a text stands."""
    lines, first = inspect.getsourcelines(kernel.function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def findings_of(function, *args, seed=0):
    with cute.on_cpu(check=True, seed=seed), pytest.raises(KernelError) as error:
        function(*args)
    return error.value.findings


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
    assert finding.place[0] == pipeline_kernels.__file__
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
