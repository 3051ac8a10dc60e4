"""Loops that come to no end are found where nothing can end them, and long ones are not taken for them."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute

LONG = 1_200_000


def found(kernel, *args, blocks=1, **options):
    with cute.on_cpu(check=True, **options), pytest.raises(cute.KernelError) as info:
        kernel(*args).launch(grid=[blocks, 1, 1], block=[64, 1, 1])
    return [(finding.kind, finding.message) for finding in info.value.findings]


@cute.kernel
def nobody_sets_the_flag(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    if thread == 0:
        while cute.arch.atomic_add(x.iterator, 0) == 0:
            for i in range(3):  # the state is the same again after several rounds
                cute.arch.atomic_add(x.iterator + i, 0)


@cute.kernel
def set_behind_a_barrier(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    if thread < 32:
        while cute.arch.atomic_add(x.iterator, 0) == 0:
            pass
    cute.arch.sync_threads()
    if thread == 32:
        cute.arch.atomic_exch(x.iterator, 1)


@cute.kernel
def computes_the_same(x: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    n = thread
    while n >= 0:
        n = n | 1
    x[thread] = n


@pytest.mark.parametrize("kernel", [nobody_sets_the_flag, set_behind_a_barrier, computes_the_same])
def test_a_loop_without_an_end_is_a_deadlock(kernel):
    ((kind, message),) = found(kernel, np.zeros(64, np.int32))
    assert (kind, message) == ("deadlock", "the thread loops for ever: nothing that it reads changes any more")


@cute.kernel
def count(x: cute.Tensor, n: cutlass.Int32):
    block, _, _ = cute.arch.block_idx()
    thread, _, _ = cute.arch.thread_idx()
    state = cutlass.Uint32(1)
    for _ in range(n):
        state = state * cutlass.Uint32(1664525) + cutlass.Uint32(1013904223)
    if thread == 0:
        x[block] = state


def test_a_long_computation_waits_for_nobody():
    x = np.zeros(2, np.uint32)
    with cute.on_cpu(check=True, resident=1):
        count(x, LONG).launch(grid=[2, 1, 1], block=[32, 1, 1])
    assert x[0] == x[1] != 0


@cute.kernel
def steps_beyond(x: cute.Tensor, step: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    trips = cutlass.Int32(0)
    for _ in range(thread, 2**31 - 1 if step > 0 else -(2**31), step):
        trips += 1
    x[thread] = trips


@pytest.mark.parametrize("step", [2**30, -(2**30)])
def test_an_index_beyond_its_type_ends_the_loop_as_in_python(step):
    x = np.zeros(64, np.int32)
    ((kind, message),) = found(steps_beyond, x, step)
    assert kind == "overflow"
    assert "the index of the loop goes beyond 32 bits" in message
    stop = 2**31 - 1 if step > 0 else -(2**31)
    assert x.tolist() == [len(range(thread, stop, step)) for thread in range(64)]


@cute.kernel
def counts_nothing(x: cute.Tensor):
    i = cutlass.Int32(0)
    while i < 10:  # which is known while tracing, where the body changes it no more than here
        x[0] = 1


def test_a_loop_without_an_end_while_tracing_is_an_error():
    with pytest.raises(
        TypeError, match=r"test_endless_loops.py:\d+, in counts_nothing: the body of this `while` was traced"
    ):
        counts_nothing(np.zeros(1, np.int32)).launch(block=[1, 1, 1])
