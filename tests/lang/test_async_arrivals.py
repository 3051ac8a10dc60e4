"""cp.async that arrives at mbarriers: nobody waits for it but who reads what it brings."""

from __future__ import annotations

import numpy as np
import pytest

from async_arrival_kernels import ITEMS, LANES, rows
from tilewright import cute
from tma_kernels import aligned


def arrays():
    x, y = (aligned((4 * LANES, ITEMS), np.float32, "F") for _ in range(2))
    x[...] = np.random.default_rng(1).normal(size=x.shape)
    return x, y


def given(x, y):
    return (cute.from_dlpack(array, assumed_align=16) for array in (x, y))


def findings_of(defect, arrivals=LANES, seed=0):
    with cute.on_cpu(check=True, seed=seed), pytest.raises(cute.KernelError) as error:
        rows(*given(*arrays()), arrivals, defect)
    return error.value.findings


@pytest.mark.parametrize("seed", range(6))
def test_who_waits_at_the_barrier_sees_what_was_copied(seed):
    x, y = arrays()
    with cute.on_cpu(check=True, seed=seed):
        rows(*given(x, y), LANES, "")
    assert (y == x).all()


def test_without_checks_the_copies_land_as_well():
    x, y = arrays()
    with cute.on_cpu(check=False):
        rows(*given(x, y), LANES, "")
    assert (y == x).all()


def test_committing_does_not_wait():
    (found,) = findings_of("no wait")
    assert found.kind == "not landed"
    assert "reads what an asynchronous copy writes, before a wait" in found.message


def test_the_arrival_tells_of_copies_alone():
    (found,) = findings_of("own store")
    assert found.kind == "race"
    assert "reads what another one writes, and no barrier is between" in found.message


def test_the_asynchronous_proxy_needs_a_fence_of_the_reader():
    (found,) = findings_of("no fence")
    assert found.kind == "missing fence"
    assert found.other_thread[1][0] < LANES  # a thread that copied


def test_a_barrier_for_more_arrivals_than_threads_that_copy_is_a_deadlock():
    found = findings_of("", arrivals=2 * LANES)
    assert found[0].kind == "deadlock"
    assert "32 of 64 arrivals" in found[0].message


def test_the_text_lets_the_copies_arrive():
    compiled = cute.compile[cute.GPUArch("sm_90a")](rows, *given(*arrays()), LANES, "")
    assert "cp.async.mbarrier.arrive.noinc.shared::cta.b64" in compiled.ptx
    assert "cp.async.wait_group" not in compiled.ptx
    assert compiled.spills == 0


def test_a_timeline_shows_copies_of_several_stages_at_once():
    (found,) = cute.timeline(rows, *given(*arrays()), LANES, "").launches
    spans = [span for span in found.spans if span.doing == "cp.async"]
    assert len(spans) == ITEMS
    at_once = [sum(other.begin <= span.begin < other.end for other in spans) for span in spans]
    assert max(at_once) > 1
    assert max(span.end for span in spans) < max(span.end for span in found.spans)
