"""Launches of functions written in Python that C++ repeats, on a GPU: sizes, numbers, streams, graphs, threads."""

from __future__ import annotations

import threading

import pytest

import tilewright as cutlass
from tilewright import _core, cute

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]


@cute.kernel
def axpy_kernel(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32):
    i = cute.arch.block_idx()[0] * 128 + cute.arch.thread_idx()[0]
    if i < cute.size(y):
        y[i] = a * x[i] + y[i]


@cute.jit
def axpy(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32):
    axpy_kernel(x, y, a).launch(grid=[cute.ceil_div(cute.size(y), 128), 1, 1], block=[128, 1, 1])


@cute.jit
def axpy_on(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32, stream):
    axpy_kernel(x, y, a).launch(grid=[cute.ceil_div(cute.size(y), 128), 1, 1], block=[128, 1, 1], stream=stream)


def pair(n, device="cuda"):
    return torch.randn(n, device=device), torch.randn(n, device=device)


def expected(x, y, a):
    return (torch.tensor(a, device=x.device) * x) + y


@pytest.mark.parametrize("is_compiled", [False, True])
def test_sizes_and_numbers(is_compiled):
    f = cute.compile(axpy, *pair(1000), 1.0) if is_compiled else axpy
    for n, a in ((1000, 2.0), (1000, 0.5), (7, 3.0), (129, -1.0), (100_000, 0.25), (1, 1.0), (1000, 2.0)):
        x, y = pair(n)
        result = expected(x, y, a)
        f(x, y, a)
        torch.testing.assert_close(y, result, rtol=0, atol=0)


def test_streams():
    """A launch waits for what its own stream has before it: without that the copy would come too late."""
    streams = [torch.cuda.Stream() for _ in range(3)]
    x, y = pair(1 << 20)
    torch.cuda.synchronize()
    for stream in streams * 2:
        source = torch.randn_like(y)
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            y.copy_(source)
            axpy(x, y, 2.0)
        with torch.cuda.stream(stream):
            found = y.clone()
        stream.synchronize()
        torch.testing.assert_close(found, expected(x, source, 2.0), rtol=0, atol=0)
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)
            y.copy_(source)
        axpy_on(x, y, 2.0, stream)
        stream.synchronize()
        torch.testing.assert_close(y, expected(x, source, 2.0), rtol=0, atol=0)


def test_graphs():
    x, y = pair(5000)
    start = y.clone()
    axpy(x, y, 2.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        axpy(x, y, 2.0)
        axpy(x[:4000], y[:4000], 3.0)
    y.copy_(start)
    graph.replay()
    once = expected(x, start, 2.0)
    once[:4000] = expected(x[:4000], once[:4000], 3.0)
    torch.testing.assert_close(y, once, rtol=0, atol=0)


def test_threads():
    wrong = []

    def work(seed):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for n in range(seed, seed + 200, 7):
                x, y = pair(n)
                result = expected(x, y, 0.5)
                axpy(x, y, 0.5)
                stream.synchronize()
                if not torch.equal(y, result):
                    wrong.append(n)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="one CUDA device")
def test_devices():
    for device in ("cuda:1", "cuda:0", "cuda:1"):
        x, y = pair(1000, device)
        result = expected(x, y, 2.0)
        axpy(x, y, 2.0)
        torch.testing.assert_close(y, result, rtol=0, atol=0)
    with pytest.raises(ValueError, match="the tensors are on several devices"):
        axpy(torch.randn(10, device="cuda:0"), torch.randn(10, device="cuda:1"), 1.0)
