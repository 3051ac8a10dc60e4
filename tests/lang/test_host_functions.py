"""Host functions that print, and those that touch tensors themselves."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tilewright import Float32, Int32, cute


@cute.kernel
def show_kernel(n: Int32):
    cute.printf("in the kernel {}", n)


@cute.jit
def show(n: Int32, x: Float32):
    cute.printf("before {} {} 100%", n, x)
    show_kernel(n + 1).launch()
    cute.printf("%5d|%-3d|%.2f %%\n", n, n, x)
    if n > 5:
        cute.printf("large: {}", cute.make_layout((n, 2)))
    show_kernel(n + 2).launch()
    cute.printf("after")


def test_prints_stand_between_the_launches(capsys):
    show(7, 1.5)
    assert capsys.readouterr().out.splitlines() == [
        "before 7 1.500000 100%",
        "in the kernel 8",
        "    7|7  |1.50 %",
        "large: (7,2):(1,7)",
        "in the kernel 9",
        "after",
    ]
    show(3, 0.25)
    assert capsys.readouterr().out.splitlines()[2:4] == ["    3|3  |0.25 %", "in the kernel 5"]


@cute.jit
def host_only(x: cute.Tensor, y: cute.Tensor):
    cute.printf("x = {}", x[1])
    y.store(x.load() * 2)
    y[0] = x[3]


def test_a_host_function_without_launches_touches_tensors_of_the_cpu(capsys):
    x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    host_only(cute.runtime.from_dlpack(x), cute.runtime.from_dlpack(y))
    assert y.tolist() == [3, 2, 4, 6]
    assert capsys.readouterr().out == "x = 1.000000\n"


def test_what_a_host_function_cannot_do_is_said():
    @cute.jit
    def returns(x: cute.Tensor):
        return x[0]

    @cute.jit
    def launches(x: cute.Tensor):
        x[0] = 1.0
        show_kernel(3).launch()

    x = np.zeros(4, np.float32)
    with pytest.raises(
        TypeError, match=r"^returns: a @cute\.jit function that touches tensors on the host returns nothing"
    ):
        returns(x)
    with pytest.raises(
        RuntimeError, match=r"in launches, on the host: store is a kernel's operation; a host function that launches"
    ):
        launches(x)

    @cute.jit
    def beyond(x: cute.Tensor):
        x[cute.size(x)] = 1.0

    with pytest.raises(cute.KernelError, match="out of bounds"):
        beyond(x)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("collects", [False, True])
def test_no_garbage_is_collected_while_tracing(collects, fails):
    """It would take longer than tracing; behind it, also behind an error, Python does as it did."""
    seen = []

    @cute.jit
    def traced(n: Int32):
        seen.append(gc.isenabled())
        if fails:
            raise ZeroDivisionError

    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        if fails:
            with pytest.raises(ZeroDivisionError):
                cute.compile(traced, 1)
        else:
            cute.compile(traced, 1)
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [False]
