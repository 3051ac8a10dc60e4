"""Kernels that Python steps through do what the same kernels do when they are traced."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Int32, Uint32, cute


@cute.kernel
def warps_kernel(x: cute.Tensor, out: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    value, lane = x[i], cute.arch.lane_idx()
    out[i, 0] = cute.arch.shuffle_sync(value, 3)
    out[i, 1] = cute.arch.shuffle_sync_up(value, 2)
    out[i, 2] = cute.arch.shuffle_sync_down(value, 5)
    out[i, 3] = cute.arch.shuffle_sync_bfly(value, 9)
    out[i, 4] = cute.arch.vote_ballot_sync(value > 0).to(Int32)
    out[i, 5] = cute.arch.vote_any_sync(value > 90).to(Int32)
    out[i, 6] = cute.arch.vote_all_sync(value > -200).to(Int32)
    out[i, 7] = cute.arch.match_sync(value % 4).to(Int32)
    out[i, 8] = cute.arch.warp_redux_sync(value, "add")
    out[i, 9] = cute.arch.warp_reduction_max(value)
    out[i, 10] = cute.arch.warp_reduction(value, lambda a, b: a + b, threads_in_group=8)
    out[i, 11] = cute.arch.prmt(Uint32(0x33221100), value.to(Uint32), 0x5140).to(Int32)
    out[i, 12] = cute.arch.popc(value)
    out[i, 13] = cute.arch.make_warp_uniform(value)
    out[i, 14] = lane + cute.arch.warp_idx() * 100


@cute.kernel
def blocks_kernel(x: cute.Tensor, total: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(Int32, cute.make_layout(64))
    shared[i] = x[i]
    cute.arch.barrier(1, 64)
    if i < 32:
        shared[i] = shared[i] + shared[i + 32]
    cute.arch.sync_threads()
    if i == 0:
        for k in cutlass.range(32):
            cute.arch.atomic_add(total.iterator, shared[k])
    cute.arch.atomic_max(total.iterator + 1, x[i])
    cute.arch.atomic_min(total.iterator + 2, x[i])


def run(kernel, step, *arguments):
    call = kernel(*arguments)
    (call.debug if step else call.launch)(block=64)


@pytest.mark.parametrize("kernel", [warps_kernel, blocks_kernel], ids=["warps", "blocks"])
def test_both_ways_give_the_same(kernel):
    x = np.random.default_rng(0).integers(-100, 100, 64).astype(np.int32)
    results = []
    for step in (False, True):
        out = np.zeros((64, 15) if kernel is warps_kernel else 3, np.int32)
        run(kernel, step, x, out)
        results.append(out)
    assert (results[0] == results[1]).all()
    if kernel is blocks_kernel:
        assert results[0].tolist() == [x.sum(), max(0, x.max()), min(0, x.min())]
    else:
        warps = x.reshape(2, 32)
        assert (results[0][:, 3].reshape(2, 32) == warps[:, np.arange(32) ^ 9]).all()
        assert (results[0][:, 8].reshape(2, 32) == warps.sum(1)[:, None]).all()


def test_an_error_in_one_thread_ends_the_launch():
    @cute.kernel
    def fail():
        i, _, _ = cute.arch.thread_idx()
        if i == 5:
            raise KeyError("thread 5")
        cute.arch.sync_threads()

    with pytest.raises(KeyError, match="thread 5"):
        fail().debug(block=8)


def test_a_deadlock_says_who_waits():
    @cute.kernel
    def wait():
        i, _, _ = cute.arch.thread_idx()
        if i != 2:
            cute.arch.sync_threads()

    with pytest.raises(RuntimeError, match=r"^deadlock: 3 of 4 threads wait at sync_threads; thread 2 is not there"):
        wait().debug(block=4)


def test_compiling_traces_where_all_calls_step(monkeypatch):
    monkeypatch.setattr("tilewright.lang.debug.ALWAYS", True)

    @cute.kernel
    def double_kernel(x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        x[i] = x[i] * 2

    @cute.jit
    def double(x: cute.Tensor):
        double_kernel(x).launch(block=[x.shape[0], 1, 1])

    x = np.arange(4, dtype=np.int32)
    cute.compile(double, x)(x)
    double(x)
    assert x.tolist() == [0, 4, 8, 12]


@cute.kernel
def printing_kernel(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i == 3:
        cute.printf("thread %d of %%: %8.3f, %lld", i, x[i] * 0.5, cutlass.Int64(1 << 40))
        cute.printf("{} has {}", i, x[i])
        cute.printf("no number")


def test_a_text_is_the_same(capfd):
    x = np.arange(4, dtype=np.float32)
    texts = []
    for step in (False, True):
        run(printing_kernel, step, x)
        texts.append(capfd.readouterr().out)
    assert texts[0] == texts[1] == "thread 3 of %:    1.500, 1099511627776\n3 has 3.000000\nno number\n"


STOPS = """
import numpy as np
from tilewright import cute

@cute.kernel
def double(x: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    value = x[i] * 2
    if i == 3:
        breakpoint()
    cute.arch.sync_threads()
    x[i] = value

@cute.jit
def launch(x: cute.Tensor):
    double(x).launch(block=4)

x = np.arange(4, dtype=np.int32)
launch(x)
print(x.tolist())
"""


def test_the_environment_makes_calls_stop_at_breakpoints(tmp_path):
    program = tmp_path / "stops.py"
    program.write_text(STOPS)
    done = subprocess.run(
        [sys.executable, program],
        input="print(f'{int(i)}: {int(value)}')\ncontinue\n",
        text=True,
        capture_output=True,
        timeout=60,
        env={**os.environ, "TILEWRIGHT_DEBUG": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert "(Pdb) 3: 6\n" in done.stdout
    assert done.stdout.endswith("[0, 2, 4, 6]\n")


def test_what_python_cannot_step_through_is_named():
    @cute.kernel
    def waits(x: cute.Tensor):
        barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64)
        cute.arch.mbarrier_init(barrier, 1)

    @cute.jit
    def launch(x: cute.Tensor):
        waits(x).launch(block=1)

    launch(np.zeros(1, np.int32))
    with pytest.raises(RuntimeError, match=r"mbarrier_init.*: \.debug\(\) runs functions as plain Python"):
        launch.debug(np.zeros(1, np.int32))
