"""grouped_mm and scaled_mm as functions of torch on a GPU: beside torch's own, and captured in graphs."""

from __future__ import annotations

import itertools

import pytest

from tilewright import _core

torch = pytest.importorskip("torch")

import tilewright.torch as tt  # noqa: E402 - torch has to be there

HOPPER = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    pytest.mark.skipif(not HOPPER, reason="needs compute capability 9.0"),
    # Torch says so when it is asked to refuse what waits.
    pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype:UserWarning"),
]
E4M3 = torch.float8_e4m3fn
RECIPES = torch.nn.functional.ScalingType.BlockWise1x128, torch.nn.functional.ScalingType.BlockWise128x128


def error(x, expected):
    return float((x.detach().double() - expected.detach()).norm())


def groups_of(groups, most):
    return torch.randint(0, most, (groups,), dtype=torch.int32).cumsum(0, dtype=torch.int32).cuda()


def test_random_groups_with_gradients():
    torch.manual_seed(0)
    for _ in range(50):
        groups = int(torch.randint(1, 20, ()))
        n, k = (8 * int(x) for x in torch.randint(1, 150, (2,)))
        offs = groups_of(groups, 600)
        a = torch.randn(max(int(offs[-1]), 1), k, device="cuda").bfloat16().requires_grad_()
        b = torch.randn(groups, k, n, device="cuda").bfloat16().requires_grad_()
        got, like = tt.grouped_mm(a, b, offs=offs), torch._grouped_mm(a, b, offs=offs)
        grad = torch.randn_like(got)
        end = int(offs[-1])
        starts = [0, *offs.tolist()]
        parts = [a.double()[i:j] @ b[g].double() for g, (i, j) in enumerate(itertools.pairwise(starts))]
        expected = torch.cat(parts)
        assert error(got[:end], expected) <= 1.1 * error(like[:end], expected) + 1e-9
        ours = torch.autograd.grad(got, (a, b), grad)
        theirs = torch.autograd.grad(like, (a, b), grad)
        torch.testing.assert_close(ours[0][:end], theirs[0][:end], rtol=2e-2, atol=2e-1)
        torch.testing.assert_close(ours[1], theirs[1], rtol=2e-2, atol=2e-1)


def quantized(m, n, k):
    a, b = (torch.randn(x, k, device="cuda").to(E4M3) for x in (m, n))
    blocks = k // 128
    padded = (blocks + 3) // 4 * 4  # as torch wants it
    scale_a = torch.rand(blocks, m, device="cuda").T + 0.5
    return a, b.T, scale_a, torch.rand(n // 128, padded, device="cuda").T + 0.5


def test_random_blocks_beside_torch():
    torch.manual_seed(1)
    for _ in range(30):
        m, n, k = (int(x) for x in torch.randint(1, 12, (3,)))
        a, b, scale_a, scale_b = quantized(64 * m, 128 * n, 128 * k)
        got = tt.scaled_mm(a, b, scale_a, RECIPES[0], scale_b, RECIPES[1])
        like = torch.nn.functional.scaled_mm(a, b, scale_a, RECIPES[0], scale_b, RECIPES[1])
        each = scale_a.double().repeat_interleave(128, 1)
        block = scale_b[:k].double().repeat_interleave(128, 0).repeat_interleave(128, 1)
        expected = (a.double() * each) @ (b.double() * block)
        assert error(got, expected) <= 1.1 * error(like, expected) + 1e-9


def test_random_groups_of_blocks():
    torch.manual_seed(2)
    for _ in range(30):
        groups, n, k = (int(x) for x in torch.randint(1, 12, (3,)))
        offs = groups_of(groups, 600)
        a, _, scale_a, _ = quantized(int(offs[-1]), 128, 128 * k)
        each = [quantized(1, 128 * n, 128 * k) for _ in range(groups)]
        b, scale_b = (torch.stack([x[i].mT for x in each]).mT for i in (1, 3))
        got = tt.scaled_grouped_mm(a, b, scale_a, RECIPES[0], scale_b, RECIPES[1], offs=offs)
        for g, (i, j) in enumerate(itertools.pairwise([0, *offs.tolist()])):
            alone = tt.scaled_mm(a[i:j], b[g], scale_a[i:j], RECIPES[0], scale_b[g], RECIPES[1])
            assert torch.equal(got[i:j], alone)


@pytest.mark.parametrize("name", ["grouped_mm", "scaled_mm", "scaled_grouped_mm"])
def test_graphs_and_no_waiting(name):
    """Captured after one call; the second call does not synchronise."""
    if name == "grouped_mm":
        given = [torch.randn(512, 256, device="cuda").bfloat16(), torch.randn(4, 256, 512, device="cuda").bfloat16()]
        offs = torch.tensor([100, 228, 400, 512], dtype=torch.int32, device="cuda")

        def step():
            return tt.grouped_mm(*given, offs=offs)
    elif name == "scaled_grouped_mm":
        a, b, scale_a, scale_b = quantized(512, 512, 512)
        given = [a, torch.stack([b.T, b.T]).mT, scale_a, torch.stack([scale_b.T, scale_b.T]).mT]
        offs = torch.tensor([100, 512], dtype=torch.int32, device="cuda")

        def step():
            return tt.scaled_grouped_mm(*given[:2], given[2], RECIPES[0], given[3], RECIPES[1], offs=offs)
    else:
        given = quantized(512, 512, 512)

        def step():
            return tt.scaled_mm(*given[:2], given[2], RECIPES[0], given[3], RECIPES[1])

    step()
    torch.cuda.set_sync_debug_mode("error")
    try:
        step()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    given[0].copy_(given[0].flip(0))
    graph.replay()
    assert torch.equal(captured, step())
