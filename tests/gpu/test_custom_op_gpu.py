"""Operations of torch made of compiled functions, on a GPU: the current stream, CUDA graphs, torch.compile."""

from __future__ import annotations

import pytest

import tilewright as cutlass
from tilewright import _core, cute

torch = pytest.importorskip("torch")

from tilewright.torch import custom_op  # noqa: E402 - torch has to be there

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]


@cute.kernel
def _axpy_kernel(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    i = bidx * 128 + tidx
    if i < x.shape[0]:
        y[i] = a * x[i] + y[i]


@cute.jit
def _axpy(x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32):
    _axpy_kernel(x, y, a).launch(grid=[cute.ceil_div(x.shape[0], 128), 1, 1], block=[128, 1, 1])


@pytest.fixture(scope="module")
def axpy():
    x = torch.ones(8, device="cuda")
    return custom_op("tilewright_gpu_test::axpy", cute.compile(_axpy, x, x.clone(), 1.0), mutates=["y"])


def test_the_current_stream(axpy):
    x, y = torch.ones(1 << 20, device="cuda"), torch.empty(1 << 20, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # some 30 ms, in which another stream would be done
        y.fill_(3)
        axpy(x, y, 2.0)
        y.mul_(2)
    stream.synchronize()
    assert (y == 10).all()


def test_a_cuda_graph(axpy):
    x, y = torch.arange(1000.0, device="cuda"), torch.zeros(1000, device="cuda")
    axpy(x, y, 0.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        axpy(x, y, 2.0)
        axpy(y, x, 1.0)
    for _ in range(2):
        graph.replay()
    torch.testing.assert_close(y, torch.arange(1000.0, device="cuda") * 8, rtol=0, atol=0)
    torch.testing.assert_close(x, torch.arange(1000.0, device="cuda") * 11, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:.*:DeprecationWarning", "ignore:.*:UserWarning")  # torch's own, of its compiler
def test_torch_compile_with_its_own_graphs(axpy):
    def function(x):
        y = torch.sin(x)
        axpy(x, y, 2.0)
        return y * 3

    compiled = torch.compile(function, mode="reduce-overhead", fullgraph=True)
    for number in range(3):  # the second call records a graph, the third one replays it
        x = torch.full((1000,), float(number), device="cuda")
        torch.testing.assert_close(compiled(x).clone(), 3 * (torch.sin(x) + 2 * x))
