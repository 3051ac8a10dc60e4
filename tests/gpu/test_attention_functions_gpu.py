"""Attention as a function of torch on a GPU: sizes, gradients, streams, graphs, no synchronisation, torch's memory."""

from __future__ import annotations

import pytest

from tilewright import _core

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    # What torch says of itself: which thread is the first to call cuBLAS, on which streams leaves were made, that it
    # does not see all that waits, and that its compiler calls what is deprecated.
    pytest.mark.filterwarnings("ignore:The AccumulateGrad node's stream:UserWarning"),
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype:UserWarning"),
    pytest.mark.filterwarnings("ignore:`torch.jit.script_method` is deprecated:DeprecationWarning"),
]

from torch.nn.attention.varlen import varlen_attn  # noqa: E402 - torch has to be there

import tilewright.torch as tt  # noqa: E402

theirs = torch.nn.functional.scaled_dot_product_attention
HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
needs_wgmma = pytest.mark.skipif(not HOPPER, reason="needs compute capability 9.0")


def operands(*shapes, dtype=torch.bfloat16, grad=False):
    return [torch.randn(shape, device="cuda").to(dtype).requires_grad_(grad) for shape in shapes]


def error(x, expected):
    return float((x.double() - expected).norm())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("depth", [64, 96, 128, pytest.param(256, marks=needs_wgmma)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_random_shapes(dtype, depth, is_causal):
    torch.manual_seed(depth + is_causal)
    for _ in range(30):
        batches, heads, group = (int(x) for x in torch.randint(1, 4, (3,)))
        queries, keys = (int(x) for x in torch.randint(1, 1500, (2,)))
        row = (batches, heads, keys, depth)
        q, k, v = operands((batches, heads * group, queries, depth), row, row, dtype=dtype)
        got = tt.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)
        expected = theirs(q.double(), k.double(), v.double(), is_causal=is_causal, enable_gqa=True)
        like = theirs(q, k, v, is_causal=is_causal, enable_gqa=True)
        assert error(got, expected) <= 1.1 * error(like, expected) + 1e-9, (q.shape, k.shape)


@needs_wgmma
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients_and_their_bits(depth, is_causal):
    torch.manual_seed(depth + is_causal)
    for rows in (1, 77, 512, 1337):
        q, k, v = operands((2, 4, rows, depth), (2, 2, rows, depth), (2, 2, rows, depth), grad=True)
        grad = torch.randn_like(q)

        def gradients(function, *tensors, like=grad):
            out = function(*tensors, is_causal=is_causal, enable_gqa=True)
            return torch.autograd.grad(out, tensors, like.to(out.dtype))

        got = gradients(tt.scaled_dot_product_attention, q, k, v)
        expected = gradients(theirs, *(x.detach().double().requires_grad_() for x in (q, k, v)))
        for ours, right, other in zip(got, expected, gradients(theirs, q, k, v), strict=True):
            # A query that sees one key has no gradient: all that there is of it is rounding.
            assert error(ours, right) <= 1.1 * error(other, right) + 1e-6 * float(grad.double().norm())
        assert all(map(torch.equal, got, gradients(tt.scaled_dot_product_attention, q, k, v)))


@needs_wgmma
@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (100, 0), (64, 32)])
def test_sequences_are_as_if_each_were_alone(window):
    torch.manual_seed(7)
    for _ in range(10):
        lengths = torch.randint(0, 700, (5,), dtype=torch.int32)
        starts = torch.cat([torch.zeros(1, dtype=torch.int32), lengths.cumsum(0, dtype=torch.int32)]).cuda()
        total, longest = int(lengths.sum()), int(lengths.max())
        q, k, v = operands((total, 4, 128), (total, 2, 128), (total, 2, 128))
        got = tt.varlen_attention(q, k, v, starts, starts, longest, longest, window_size=window, enable_gqa=True)
        k, v = (x.repeat_interleave(2, 1) for x in (k, v))  # not every release knows enable_gqa
        expected = varlen_attn(q, k, v, starts, starts, longest, longest, window_size=window)
        torch.testing.assert_close(got, expected, rtol=2e-2, atol=4e-3)


def test_streams_and_graphs():
    """A call runs on torch's current stream and is captured with its backward; replays see new values."""
    q, k, v = operands((1, 4, 300, 64), (1, 4, 300, 64), (1, 4, 300, 64), grad=HOPPER)

    def step():
        out = tt.scaled_dot_product_attention(q, k, v, is_causal=True)
        return (out, *torch.autograd.grad(out, (q, k, v), torch.ones_like(out))) if HOPPER else (out,)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        step()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for _ in range(3):
        with torch.no_grad():
            for x in (q, k, v):
                x.copy_(torch.randn_like(x))
        graph.replay()
        assert all(map(torch.equal, captured, step()))


def test_no_call_waits_for_the_gpu():
    q, k, v = operands((1, 4, 300, 64), (1, 4, 300, 64), (1, 4, 300, 64))
    tt.scaled_dot_product_attention(q, k, v)
    torch.cuda.set_sync_debug_mode("error")
    try:
        tt.scaled_dot_product_attention(q, k, v)
        torch.cuda._sleep(200_000_000)
        event = torch.cuda.Event()
        tt.scaled_dot_product_attention(q, k, v)
        event.record()
        assert not event.query()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile(dynamic):
    def function(q, k, v):
        return tt.scaled_dot_product_attention(q * 2, k, v, is_causal=True) + 1

    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    for rows in (100, 333):
        tensors = operands(*[(2, 4, rows, 64)] * 3, grad=HOPPER)
        torch.testing.assert_close(compiled(*tensors), function(*tensors), rtol=2e-2, atol=4e-3)
        if HOPPER:
            torch.autograd.grad(compiled(*tensors).sum(), tensors)
