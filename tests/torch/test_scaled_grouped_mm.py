"""scaled_grouped_mm as a function of torch, on the CPU: results, errors, and as an operation."""

from __future__ import annotations

import itertools

import pytest

torch = pytest.importorskip("torch")

import tilewright.torch as tt  # noqa: E402 - torch has to be there

E4M3 = torch.float8_e4m3fn
Recipe = torch.nn.functional.ScalingType
RECIPES = (Recipe.BlockWise1x128, Recipe.BlockWise128x128)


def operands(rows, n, k):
    torch.manual_seed(n + k)
    offs = torch.tensor(rows, dtype=torch.int32).cumsum(0, dtype=torch.int32)
    a, b = torch.randn(sum(rows), k).to(E4M3), torch.randn(len(rows), n, k).to(E4M3).mT
    blocks = -(-k // 128)
    scale_b = torch.rand(len(rows), -(-n // 128), blocks).mT + 0.5
    return a, b, torch.rand(blocks, sum(rows)).T + 0.5, scale_b, offs


def call(a, b, scale_a, scale_b, offs):
    return tt.scaled_grouped_mm(a, b, scale_a, RECIPES[0], scale_b, RECIPES[1], offs=offs)


def test_each_group_is_a_product_of_its_own():
    a, b, scale_a, scale_b, offs = given = operands((70, 0, 3, 130), 272, 144)
    got = call(*given)
    assert (got.shape, got.dtype) == ((203, 272), torch.bfloat16)
    for group, (first, end) in enumerate(itertools.pairwise([0, *offs.tolist()])):
        each = tt.scaled_mm(a[first:end], b[group], scale_a[first:end], RECIPES[0], scale_b[group], RECIPES[1])
        assert torch.equal(got[first:end], each)


@pytest.mark.parametrize("rows", [(5, 3), (8,)])
def test_ends_that_do_not_lie_side_by_side(rows):
    *given, offs = operands(rows, 16, 128)
    strided = torch.stack([offs, offs + 1], 1)[:, 0]
    assert torch.equal(call(*given, strided), call(*given, offs))


def test_nothing_to_multiply():
    a, b, scale_a, scale_b, offs = operands((8,), 16, 128)
    assert call(a[:0], b, scale_a[:0], scale_b, offs - 8).shape == (0, 16)
    assert torch.equal(call(a, b[:0], scale_a, scale_b[:0], offs[:0]), torch.zeros(8, 16).bfloat16())


def test_matrices_at_any_address():
    """torch takes them, so they are copied."""
    a, b, *rest = operands((5, 3), 16, 128)

    def misaligned(x):
        memory = torch.empty(x.numel() + 8, dtype=x.dtype)
        return memory[8:].as_strided(x.shape, x.stride(), 8).copy_(x)

    assert torch.equal(call(misaligned(a), misaligned(b), *rest), call(a, b, *rest))


A, B, SA, SB, OFFS = operands((20, 12), 144, 256)


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"b": B[0]}, ValueError, r"mat_b \(256, 144\) must be matrices \(G, K, N\)"),
        ({"b": B.contiguous()}, ValueError, r"mat_b .* must be column-major"),
        ({"scale_b": SB[:1]}, ValueError, r"scale_b is \(1, 2, 2\), but it must be \(2, 2, 2\)"),
        ({"offs": OFFS[:1]}, ValueError, r"offs is torch.int32 \(1,\), but it must be torch.int32 \(2,\)"),
        ({"offs": None}, TypeError, "expected offs to be a torch.Tensor, but got NoneType"),
        ({"offs": OFFS.flip(0)}, ValueError, r"offs is \[32, 20\], but it must ascend or stay, from 0 to 32 at most"),
        ({"offs": OFFS + 1}, ValueError, r"offs is \[21, 33\], but it must ascend or stay, from 0 to 32 at most"),
        ({"offs": OFFS - 21}, ValueError, r"offs is \[-1, 11\], but it must ascend or stay, from 0 to 32 at most"),
        ({"offs": OFFS.to("meta")}, ValueError, "offs is on meta, but mat_a is on cpu"),
    ],
)
def test_errors_name_the_argument(changed, error, text):
    with pytest.raises(error, match=rf"^tilewright\.torch\.scaled_grouped_mm: {text}"):
        call(**{"a": A, "b": B, "scale_a": SA, "scale_b": SB, "offs": OFFS, **changed})


@pytest.mark.parametrize("name", ["a", "b", "scale_a", "scale_b"])
def test_what_requires_a_gradient_is_refused(name):
    given = {"a": A, "b": B, "scale_a": SA, "scale_b": SB, "offs": OFFS}
    given[name] = given[name].detach().requires_grad_()
    shown = name if name.startswith("scale") else f"mat_{name}"
    with pytest.raises(
        NotImplementedError, match=rf"^tilewright\.torch\.scaled_grouped_mm: {shown} requires a gradient"
    ):
        call(**given)
    with torch.no_grad():
        assert not call(**given).requires_grad


def test_torch_finds_nothing_wrong():
    """All of torch's checks but that of the schema, which multiplies the operands: torch cannot, of fp8 on the CPU."""
    which = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    operation = torch.ops.tilewright.scaled_grouped_mm.default
    checks = torch.library.opcheck(operation, (A, B, SA, SB, OFFS), test_utils=which)
    assert set(checks.values()) == {"SUCCESS"}, checks
