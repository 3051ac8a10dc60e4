"""The example of latent attention on a GPU: errors of one rounding beside float64, the same bits at each run."""

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
PROGRAM = runpy.run_path(str(ROOT / "examples" / "mla_decode.py"))
SCALE = 576**-0.5


def problem(*facts):
    return PROGRAM["operands"]("cuda", *facts, torch.cuda.get_device_properties(0).multi_processor_count)


def compare(tensors):
    q, cache, table, lengths, o, lse, _ = tensors
    expected, expected_lse = PROGRAM["reference"](q, cache, table, lengths, SCALE)
    rounding = 2**-8 if o.dtype is torch.bfloat16 else 2**-11
    assert float((o.double() - expected).norm()) <= rounding * float(expected.norm()) + 1e-9, lengths.tolist()
    torch.testing.assert_close(lse, expected_lse.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("queries", [1, 2])
def test_random_shapes(dtype, queries):
    torch.manual_seed(queries)
    for _ in range(40):
        batches = int(torch.randint(1, 140, ()))
        lengths = [int(x) for x in torch.randint(0, (200, 3000)[int(torch.randint(2, ()))], (batches,))]
        tensors = problem(dtype, lengths, queries)
        PROGRAM["mla_decode"](*PROGRAM["arguments"](*tensors), SCALE)
        compare(tensors)
        first = tensors[4].clone()
        PROGRAM["mla_decode"](*PROGRAM["arguments"](*tensors), SCALE)
        assert torch.equal(first, tensors[4])


def test_one_compiled_function_serves_all_lengths():
    compiled = cute.compile(PROGRAM["mla_decode"], *PROGRAM["arguments"](*problem(torch.bfloat16, (100,), 1)), SCALE)
    assert compiled.spills == 0
    for lengths in ((5,), (1000, 0, 40), (9000,), (64,) * 200):
        tensors = problem(torch.bfloat16, lengths, 2)
        compiled(*PROGRAM["arguments"](*tensors), SCALE)
        compare(tensors)
