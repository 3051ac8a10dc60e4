"""The example of decoding on a GPU: errors of at most 1.1 of those of torch, the same bits at each run."""

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
PROGRAM = runpy.run_path(str(ROOT / "examples" / "attention_decode.py"))


def problem(*facts):
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    return PROGRAM["operands"]("cuda", *facts, processors)


def torchs(q, k, v, table, lengths, scale):
    o = torch.zeros_like(q)
    for b, length in enumerate(lengths):
        if length:
            pages = table[b, : -(-length // k.shape[1])].long()
            keys, values = (x[pages].flatten(0, 1)[:length].transpose(0, 1)[None] for x in (k, v))
            seen = torch.ones(q.shape[2], length, dtype=torch.bool, device="cuda").tril(length - q.shape[2])
            o[b : b + 1] = torch.nn.functional.scaled_dot_product_attention(
                q[b : b + 1], keys, values, attn_mask=seen, scale=scale, enable_gqa=True
            ).nan_to_num()
    return o


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("page_size", [16, 64])
def test_random_shapes(dtype, depth, page_size):
    torch.manual_seed(depth + page_size)
    scale = depth**-0.5
    for _ in range(63):
        batches, key_heads, queries = (int(torch.randint(1, n, ())) for n in (9, 5, 4))
        group = (1, 2, 4, 8, 7)[int(torch.randint(5, ()))]
        lengths = [int(x) for x in torch.randint(0, 3000, (batches,))]
        tensors = problem(dtype, lengths, page_size, group * key_heads, key_heads, queries, depth)
        q, k, v, table, _, o, lse, space = tensors
        PROGRAM["decode"](*PROGRAM["arguments"](*tensors), scale)
        expected, expected_lse = PROGRAM["reference"](q, k, v, table, lengths, scale)
        errors = [float((x.double() - expected).norm()) for x in (o, torchs(q, k, v, table, lengths, scale))]
        assert errors[0] <= 1.1 * errors[1] + 1e-9, (q.shape, lengths)
        torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)
        first = o.clone()
        PROGRAM["decode"](*PROGRAM["arguments"](*tensors), scale)
        assert torch.equal(first, o)
        assert not space[2].any()


def test_one_compiled_function_serves_all_lengths():
    tensors = problem(torch.bfloat16, (100,), 64, 8, 1, 1, 128)
    compiled = cute.compile(PROGRAM["decode"], *PROGRAM["arguments"](*tensors), 1.0)
    assert compiled.spills == 0
    for lengths in ((5,), (1000, 0, 40), (9000,)):
        tensors = problem(torch.bfloat16, lengths, 64, 8, 1, 2, 128)
        q, k, v, table, _, o, _, _ = tensors
        compiled(*PROGRAM["arguments"](*tensors), 0.125)
        expected, _ = PROGRAM["reference"](q, k, v, table, lengths, 0.125)
        assert float((o.double() - expected).norm() / expected.norm()) < 5e-3
