"""The example of attention by wgmma on a GPU: errors of at most 1.1 of those of torch, the same bits at each run."""

from __future__ import annotations

import runpy

import pytest

from places import ROOT
from tilewright import _core, cute

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]
PROGRAM = runpy.run_path(str(ROOT / "examples" / "attention_forward.py"))


def attend(q, k, v, scale, *options):
    o, lse = torch.full_like(q, float("nan")), torch.full(q.shape[:3], float("nan"), device="cuda")
    PROGRAM["attention"](*PROGRAM["arguments"](q, k, v, o, lse, scale, *options))
    return o, lse


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("depth", [64, 128, 256])
@pytest.mark.parametrize("kind", ["full", "causal", "window"])
def test_random_shapes(dtype, depth, kind):
    torch.manual_seed(depth + len(kind))
    for _ in range(28):
        batches, key_heads, group = (int(x) for x in torch.randint(1, 4, (3,)))
        queries, keys, near, far = (int(x) for x in torch.randint(1, 1500, (4,)))
        q = torch.randn(batches, key_heads * group, queries, depth, device="cuda").to(dtype)
        k, v = (torch.randn(batches, key_heads, keys, depth, device="cuda").to(dtype) for _ in range(2))
        window = {"full": (None, None), "causal": (None, 0), "window": (near, far)}[kind]
        o, lse = attend(q, k, v, depth**-0.5, *window)
        expected, expected_lse = PROGRAM["reference"](q, k, v, depth**-0.5, *window)
        error, size = float((o.double() - expected).norm()), float(expected.norm())
        if kind == "window":  # no kernel of torch's that rounds its weights has windows
            assert error <= 5e-3 * size + 1e-9, (q.shape, k.shape, window)
        else:
            theirs = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=kind == "causal", enable_gqa=True
            )
            assert error <= 1.1 * float((theirs.double() - expected).norm()) + 1e-9, (q.shape, k.shape)
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)
        again = attend(q, k, v, depth**-0.5, *window)
        assert torch.equal(o, again[0])
        assert torch.equal(lse, again[1])


def quantized(*shape):
    """Numbers as e4m3, and the scales of batches and heads."""
    x = torch.randn(shape, device="cuda")
    scales = x.abs().amax((2, 3)) / 448
    return (x / scales[..., None, None]).to(torch.float8_e4m3fn), scales


@pytest.mark.parametrize("depth", [64, 128, 256])
@pytest.mark.parametrize("kind", ["full", "causal", "window"])
def test_random_shapes_of_fp8(depth, kind):
    """Each weight errs by up to 1 / 16, as e4m3 does."""
    torch.manual_seed(depth + len(kind))
    for _ in range(20):
        batches, key_heads, group = (int(x) for x in torch.randint(1, 4, (3,)))
        queries, keys, near, far = (int(x) for x in torch.randint(1, 1500, (4,)))
        window = {"full": (None, None), "causal": (None, 0), "window": (near, far)}[kind]
        q, of_q = quantized(batches, key_heads * group, queries, depth)
        (k, of_k), (v, of_v) = (quantized(batches, key_heads, keys, depth) for _ in range(2))
        of_q = of_q[:, :key_heads]
        wide_q = q.double() * of_q.repeat_interleave(group, 1)[..., None, None]
        wide_k, wide_v = (x.double() * y[..., None, None] for x, y in ((k, of_k), (v, of_v)))
        expected, expected_lse = PROGRAM["reference"](wide_q, wide_k, wide_v, depth**-0.5, *window)
        results = []
        for _ in range(2):
            o, lse = torch.full_like(expected, float("nan")).bfloat16(), torch.full_like(expected_lse.float(), 9.0)
            given = PROGRAM["arguments"](q, k, v, o, lse, depth**-0.5, *window, scales=(of_q, of_k, of_v))
            PROGRAM["attention"](*given)
            results.append((o, lse))
        (o, lse), again = results
        assert float((o.double() - expected).norm()) <= 0.05 * float(expected.norm()) + 1e-9, (
            q.shape,
            k.shape,
            window,
        )
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-3, atol=1e-3)
        assert torch.equal(o, again[0])
        assert torch.equal(lse, again[1])


@pytest.mark.parametrize("depth", [64, 128, 256])
def test_random_lengths(depth):
    torch.manual_seed(depth)
    for _ in range(20):
        count, right = int(torch.randint(1, 9, (1,))), (None, 0)[int(torch.randint(2, (1,)))]
        queries, keys = torch.randint(0, 900, (count,)), torch.randint(1, 900, (count,))
        starts_q, starts_k = (torch.cat([x.new_zeros(1), x.cumsum(0)]) for x in (queries, keys))
        q = torch.randn(1, 4, max(int(starts_q[-1]), 1), depth, device="cuda").bfloat16()
        k, v = (torch.randn(1, 2, int(starts_k[-1]), depth, device="cuda").bfloat16() for _ in range(2))
        starts = starts_q.int().cuda(), starts_k.int().cuda()
        o, _ = attend(q, k, v, depth**-0.5, None, right, *starts, int(queries.max()))
        for i in range(count):
            x, y = slice(int(starts_q[i]), int(starts_q[i + 1])), slice(int(starts_k[i]), int(starts_k[i + 1]))
            bound = None if right is None else int(keys[i] - queries[i])
            expected, _ = PROGRAM["reference"](q[:, :, x], k[:, :, y], v[:, :, y], depth**-0.5, None, bound)
            assert float((o[:, :, x].double() - expected).norm()) <= 5e-3 * float(expected.norm()) + 1e-9


def test_one_compiled_function_serves_all_lengths():
    tensors = [torch.empty(1, 1, 256, 64, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
    arguments = PROGRAM["arguments"](*tensors, torch.empty(1, 1, 256, device="cuda"), 1.0, None, 0)
    compiled = cute.compile(PROGRAM["attention"], *arguments)
    assert compiled.spills == 0
    for length in (256, 1000, 4096):
        q, k, v = (torch.randn(2, 2, length, 64, device="cuda").bfloat16() for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(q.shape[:3], device="cuda")
        compiled(*PROGRAM["arguments"](q, k, v, o, lse, 0.125, None, 0)[:-1])
        expected, _ = PROGRAM["reference"](q, k, v, 0.125, None, 0)
        assert float((o.double() - expected).norm() / expected.norm()) < 5e-3
