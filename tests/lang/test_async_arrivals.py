"""cp.async that arrives at mbarriers: nobody waits for it but who reads what it brings."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from pipeline_kernels import LANES, group
from tilewright import cute
from tilewright.cute.nvgpu import cpasync
from tilewright.pipeline import PipelineCpAsync
from tma_kernels import aligned

ITEMS, STAGES = 6, 3


@cute.kernel
def rows_kernel(x: cute.Tensor, y: cute.Tensor, arrivals: cutlass.Constexpr, defect: cutlass.Constexpr):
    """Warp 0 brings rows of 128 floats, STAGES of them at once; warp 1 sends each on in bulk."""
    lane = cute.arch.lane_idx()
    memory = cutlass.utils.SmemAllocator()
    data = memory.allocate_tensor(cutlass.Float32, cute.make_layout((4 * LANES, STAGES)), 128)
    pipe = PipelineCpAsync.create(
        num_stages=STAGES, producer_group=group(arrivals), consumer_group=group(),
        barrier_storage=memory.allocate_array(cutlass.Int64, 2 * STAGES),
    )  # fmt: skip
    producer, consumer = pipe.make_participants()
    if cute.arch.warp_idx() == 0:
        copy = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
        for i in range(ITEMS):
            handle = producer.acquire_and_advance()
            stage = data[None, handle.index]
            if cutlass.const_expr(defect == "own store"):
                stage[4 * lane] = x[4 * lane, i]
            else:
                cute.copy(copy, cute.local_tile(x[None, i], (4,), (lane,)), cute.local_tile(stage, (4,), (lane,)))
            handle.commit()
            if cutlass.const_expr(defect == "no wait"):
                y[4 * lane, i] = stage[4 * lane]
        producer.tail()
    else:
        store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32)
        for i in range(ITEMS):
            handle = consumer.wait_and_advance()
            if cutlass.const_expr(defect == "no wait"):
                pass
            elif cutlass.const_expr(defect == "own store"):
                y[4 * lane, i] = data[4 * lane, handle.index]
            else:
                if cutlass.const_expr(defect != "no fence"):
                    cute.arch.fence_proxy("async.shared", space="cta")
                cute.copy(store, data[None, handle.index], y[None, i])
                cute.arch.cp_async_bulk_commit_group()
                cute.arch.cp_async_bulk_wait_group(0, read=True)
                cute.arch.sync_warp()
            handle.release()


@cute.jit
def rows(x: cute.Tensor, y: cute.Tensor, arrivals: cutlass.Constexpr, defect: cutlass.Constexpr):
    rows_kernel(x, y, arrivals, defect).launch(grid=1, block=2 * LANES)


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
