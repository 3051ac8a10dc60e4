"""The example of attention by mma.sync on a GPU: errors of at most 1.1 of those of torch, the same bits at each run."""

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
PROGRAM = runpy.run_path(str(ROOT / "examples" / "attention_mma_sync.py"))


def attend(q, k, v, scale, is_causal):
    o, lse = torch.full_like(q, float("nan")), torch.full(q.shape[:3], float("nan"), device="cuda")
    PROGRAM["attention"](*map(PROGRAM["argument"], (q, k, v, o, lse)), scale, is_causal)
    return o, lse


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("is_causal", [False, True])
def test_random_shapes(dtype, depth, is_causal):
    torch.manual_seed(depth + is_causal)
    for _ in range(63):
        batches, key_heads, group = (int(x) for x in torch.randint(1, 4, (3,)))
        queries, keys = (int(x) for x in torch.randint(1, 1500, (2,)))
        q = torch.randn(batches, key_heads * group, queries, depth, device="cuda").to(dtype)
        k, v = (torch.randn(batches, key_heads, keys, depth, device="cuda").to(dtype) for _ in range(2))
        o, lse = attend(q, k, v, depth**-0.5, is_causal)
        expected, expected_lse = PROGRAM["reference"](q, k, v, depth**-0.5, is_causal)
        theirs = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=True)
        errors = [float((x.double() - expected).norm()) for x in (o, theirs)]
        assert errors[0] <= 1.1 * errors[1] + 1e-9, (q.shape, k.shape)
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)
        assert torch.equal(o, attend(q, k, v, depth**-0.5, is_causal)[0])


def test_one_compiled_function_serves_all_lengths():
    tensors = [torch.empty(1, 1, 256, 64, device="cuda", dtype=torch.bfloat16) for _ in range(4)]
    arguments = map(PROGRAM["argument"], (*tensors, torch.empty(1, 1, 256, device="cuda")))
    compiled = cute.compile(PROGRAM["attention"], *arguments, 1.0, True)
    assert compiled.spills == 0
    for length in (256, 1000, 4096):
        q, k, v = (torch.randn(2, 2, length, 64, device="cuda").bfloat16() for _ in range(3))
        o, lse = torch.empty_like(q), torch.empty(q.shape[:3], device="cuda")
        compiled(*map(PROGRAM["argument"], (q, k, v, o, lse)), 0.125)
        expected, _ = PROGRAM["reference"](q, k, v, 0.125, True)
        assert float((o.double() - expected).norm() / expected.norm()) < 5e-3
