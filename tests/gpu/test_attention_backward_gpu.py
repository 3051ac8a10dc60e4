"""The example of attention's backward pass on a GPU: errors of at most 1.1 of torch's, the same bits at each run."""

from __future__ import annotations

import math
import runpy

import pytest

from places import ROOT
from tilewright import _core

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
    # A thread of autograd is the first to call cuBLAS.
]
PROGRAM, DEEP = (runpy.run_path(str(ROOT / "examples" / f"attention_backward{x}.py")) for x in ("", "_256"))


def gradients(tensors, scale, left, right, is_ordered=True):
    program = DEEP if tensors[0].shape[3] == 256 else PROGRAM
    found = [torch.full_like(x, math.nan) for x in tensors[:3]]
    arguments = map(PROGRAM["argument"], (*tensors, *found, *program["workspace"](tensors[0])))
    program["attention_backward"](*arguments, scale, left, right, is_ordered=is_ordered)
    return found


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("depth", [64, 128, 256])
@pytest.mark.parametrize("right", [None, 0])
def test_random_shapes(dtype, depth, right):
    """Over all shapes the errors are at most 1.1 of torch's. Of a few numbers chance alone can make more."""
    torch.manual_seed(depth + (right is None))
    squares = torch.zeros(3, 2)
    for _ in range(63):
        batches, key_heads, group = (int(x) for x in torch.randint(1, 4, (3,)))
        queries, keys = (int(x) for x in torch.randint(1, 1500, (2,)))
        case = (dtype, batches, key_heads * group, key_heads, queries, keys, depth, None, right)
        tensors, expected = PROGRAM["operands"](*case, "cuda")
        found = gradients(tensors, depth**-0.5, None, right)
        q, k, v = (x.clone().requires_grad_() for x in tensors[:3])
        o = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=right == 0, enable_gqa=True)
        theirs = torch.autograd.grad(o, (q, k, v), tensors[4])
        again = gradients(tensors, depth**-0.5, None, right)
        for i, (ours, torchs, wanted, same) in enumerate(zip(found, theirs, expected, again, strict=True)):
            errors = [float((x.double() - wanted).norm()) for x in (ours, torchs)]
            squares[i] += torch.tensor(errors) ** 2
            chance = 4e-3 if dtype == torch.bfloat16 else 1e-3
            assert errors[0] <= 1.1 * errors[1] + chance * float(wanted.norm()) + 1e-6, case
            assert torch.equal(ours, same), case
    assert (squares[:, 0].sqrt() <= 1.1 * squares[:, 1].sqrt()).all(), squares.sqrt()


@pytest.mark.parametrize("depth", [128, 256])
@pytest.mark.parametrize("is_ordered", [True, False])
def test_many_blocks_of_keys_add_to_each_tile_of_queries(is_ordered, depth):
    """More blocks of threads than a device runs at a time: each finds its turn, or adds at once."""
    torch.manual_seed(0)
    case = (torch.bfloat16, 2, 4, 2, 8192, 8192, depth, None, 0)
    shapes = ((2, heads, 8192, depth) for heads in (4, 2, 2, 4))
    q, k, v, do = (torch.randn(shape, device="cuda").bfloat16() for shape in shapes)
    o, lse = (torch.zeros_like(q), torch.full(q.shape[:3], 9.0, device="cuda"))
    found = gradients((q, k, v, o, do, lse), 0.1, None, 0, is_ordered)
    again = gradients((q, k, v, o, do, lse), 0.1, None, 0, is_ordered)
    for a, b in zip(found, again, strict=True):
        assert torch.isfinite(a).all(), case
        assert torch.equal(a, b) if is_ordered else float((a - b).float().norm() / a.float().norm()) < 1e-2
