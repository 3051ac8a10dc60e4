"""Kernels that begin before the one before has ended, on the CPU: what they touch before they wait for it is found."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright import cute
from tilewright.lang.cpu import KernelError

N = 256


@cute.kernel
def fill(x: cute.Tensor, y: cute.Tensor):
    i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
    x[i] = y[i] + 1


@cute.kernel
def never_waits(x: cute.Tensor, z: cute.Tensor):
    i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
    z[i] = x[i]


@cute.kernel
def waits_late(x: cute.Tensor, z: cute.Tensor):
    i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
    first = x[i]
    cute.arch.griddepcontrol_wait()
    z[i] = first + x[i]


@cute.kernel
def waits(x: cute.Tensor, z: cute.Tensor):
    i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
    cute.arch.griddepcontrol_launch_dependents()
    cute.arch.griddepcontrol_wait()
    z[i] = x[i]


@cute.kernel
def one_waits_for_all(x: cute.Tensor, z: cute.Tensor):
    t = cute.arch.thread_idx()[0]
    i = cute.arch.block_idx()[0] * 64 + t
    if t == 0:
        cute.arch.griddepcontrol_wait()
    cute.arch.sync_threads()
    z[i] = x[i]


@cute.kernel
def gathers(x: cute.Tensor, z: cute.Tensor):
    """Not in rows: each lane by itself."""
    i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
    if i % 3 == 1:
        z[i] = x[(i * 7) % N]


def pair(second, *, use_pdl=True, first=fill):
    @cute.jit
    def run(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
        first(x, y).launch(grid=4, block=64)
        second(x, z).launch(grid=4, block=64, use_pdl=use_pdl)

    return run


def arrays():
    return np.zeros(N, np.float32), np.arange(N, dtype=np.float32), np.zeros(N, np.float32)


@pytest.mark.parametrize("second", [never_waits, waits_late, gathers], ids=lambda kernel: kernel.__name__)
def test_what_is_read_before_the_wait_is_found(second):
    with pytest.raises(KernelError) as caught:
        pair(second)(*arrays())
    (finding,) = caught.value.findings
    assert (finding.kind, finding.tensor, finding.space) == ("race", "x", "gmem")
    assert "reads what the kernel launched before writes, which may not have ended" in finding.message
    assert "call cute.arch.griddepcontrol_wait() before" in finding.message
    assert finding.place[2] == second.__name__


@pytest.mark.parametrize("second", [waits, one_waits_for_all], ids=lambda kernel: kernel.__name__)
def test_who_waits_is_right(second):
    x, y, z = arrays()
    pair(second)(x, y, z)
    np.testing.assert_array_equal(z, y + 1)


@pytest.mark.parametrize("second", [never_waits, waits_late, gathers], ids=lambda kernel: kernel.__name__)
def test_without_use_pdl_there_is_nothing_to_wait_for(second):
    pair(second, use_pdl=False)(*arrays())


def test_what_the_kernel_before_reads_may_not_be_written_yet():
    @cute.kernel
    def overwrites(x: cute.Tensor):
        i = cute.arch.block_idx()[0] * 64 + cute.arch.thread_idx()[0]
        x[i] = 0

    @cute.jit
    def run(x: cute.Tensor, y: cute.Tensor):
        fill(x, y).launch(grid=4, block=64)
        overwrites(y).launch(grid=4, block=64, use_pdl=True)

    x, y, _ = arrays()
    with pytest.raises(KernelError, match="writes what the kernel launched before reads") as caught:
        run(x, y)
    assert [finding.tensor for finding in caught.value.findings] == ["x"]


def test_other_memory_may_be_touched_before_the_wait():
    """Weights that no kernel writes, and the part of a tensor that the kernel before leaves alone."""

    @cute.kernel
    def half(x: cute.Tensor, y: cute.Tensor):
        i = cute.arch.thread_idx()[0]
        x[i] = y[i]

    @cute.kernel
    def prefetches(x: cute.Tensor, weights: cute.Tensor, z: cute.Tensor):
        i = cute.arch.thread_idx()[0]
        early = weights[i] + x[i + 64]
        cute.arch.griddepcontrol_wait()
        z[i] = early + x[i]

    @cute.jit
    def run(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
        half(x, y).launch(grid=1, block=64)
        prefetches(x, y, z).launch(grid=1, block=64, use_pdl=True)

    x, y, z = arrays()
    run(x, y, z)
    np.testing.assert_array_equal(z[:64], 2 * y[:64])
