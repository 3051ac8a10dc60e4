"""scaled_mm as a function of torch, on the CPU: results, errors, and as an operation."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import tilewright.torch as tt  # noqa: E402 - torch has to be there
from tilewright.torch import programs  # noqa: E402

E4M3 = torch.float8_e4m3fn
Recipe = torch.nn.functional.ScalingType
RECIPES = (Recipe.BlockWise1x128, Recipe.BlockWise128x128)


def operands(m, n, k, pad=False):
    torch.manual_seed(m + n + k)
    a, b = torch.randn(m, k).to(E4M3), torch.randn(n, k).to(E4M3).T
    blocks = -(-k // 128)
    rows = (blocks + 3) // 4 * 4 if pad else blocks
    return a, b, torch.rand(blocks, m).T + 0.5, torch.rand(-(-n // 128), rows).T + 0.5


def call(a, b, scale_a, scale_b, **options):
    return tt.scaled_mm(a, b, scale_a, RECIPES[0], scale_b, RECIPES[1], **options)


def expected(a, b, scale_a, scale_b):
    each = scale_a.double().repeat_interleave(128, 1)[:, : a.shape[1]]
    block = scale_b.double().repeat_interleave(128, 0).repeat_interleave(128, 1)[: b.shape[0], : b.shape[1]]
    return (a.double() * each) @ (b.double() * block)


@pytest.mark.parametrize(("m", "n", "k"), [(130, 272, 256), (1, 16, 16), (64, 144, 400)])
@pytest.mark.parametrize("pad", [False, True])
def test_blocks_have_their_scales(m, n, k, pad):
    given = operands(m, n, k, pad)
    got = call(*given)
    assert (got.shape, got.dtype) == ((m, n), torch.bfloat16)
    right = expected(*given)
    assert float((got.double() - right).norm()) <= 4e-3 * float(right.norm())
    plain = [x.contiguous() for x in given[2:]]
    assert torch.equal(got, call(*given[:2], *plain, contraction_dim=[1, 0], use_fast_accum=True))
    lists = [[x] for x in (given[2], RECIPES[0], given[3], RECIPES[1])]
    assert torch.equal(got, tt.scaled_mm(*given[:2], *lists))


def test_nothing_to_multiply():
    a, b, scale_a, scale_b = operands(8, 16, 128)
    assert call(a[:0], b, scale_a[:0], scale_b).shape == (0, 16)


def test_matrices_at_any_address():
    """torch takes them, so they are copied."""
    a, b, *rest = operands(8, 16, 128)

    def misaligned(x):
        memory = torch.empty(x.numel() + 8, dtype=x.dtype)
        return memory[8:].as_strided(x.shape, x.stride(), 8).copy_(x)

    assert torch.equal(call(misaligned(a), misaligned(b), *rest), call(a, b, *rest))


A, B, SA, SB = operands(32, 144, 256)


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"a": 1}, TypeError, "expected mat_a to be a torch.Tensor, but got int"),
        ({"a": A.float()}, TypeError, "mat_a has elements of torch.float32, but it must have torch.float8_e4m3fn"),
        ({"a": A.T.contiguous().T}, ValueError, r"mat_a \(32, 256\) has the strides \(1, 32\), .* row-major"),
        ({"b": B.contiguous()}, ValueError, r"mat_b \(256, 144\) has the strides \(144, 1\), .* column-major"),
        ({"b": B[:, :20]}, ValueError, r"mat_b \(256, 20\) must have K and N that are multiples of 16"),
        ({"b": B[:128]}, ValueError, r"mat_a \(32, 256\) has 256 columns and mat_b \(128, 144\) has 128 rows"),
        ({"scale_a": SA.double()}, TypeError, "scale_a has elements of torch.float64, but it must have torch.float32"),
        ({"scale_a": SA[:, :1]}, ValueError, r"scale_a is \(32, 1\), but it must be \(32, 2\)"),
        ({"scale_b": SB[:1]}, ValueError, r"scale_b is \(1, 2\), but it must be \(2, 2\)"),
        ({"scale_b": SB.to("meta")}, ValueError, "scale_b is on meta, but mat_a is on cpu"),
        ({"scale_a": [SA, SA]}, NotImplementedError, "scale_a has 2 items, but it must have one"),
        ({"bias": SA}, NotImplementedError, "bias must be None"),
        ({"output_dtype": torch.float32}, TypeError, "output_dtype is torch.float32, but it must be torch.bfloat16"),
        ({"contraction_dim": (0, 1)}, NotImplementedError, r"contraction_dim is \(0, 1\), but it must be"),
        ({"contraction_dim": None}, TypeError, r"expected contraction_dim to be \(\) or \(1, 0\), but got None"),
        ({"contraction_dim": 0}, TypeError, r"expected contraction_dim to be \(\) or \(1, 0\), but got 0"),
        ({"swizzle_b": torch.nn.functional.SwizzleType.SWIZZLE_32_4_4}, NotImplementedError, "swizzle_b is .*SWIZZLE"),
    ],
)
def test_errors_name_the_argument(changed, error, text):
    given = {"a": A, "b": B, "scale_a": SA, "scale_b": SB, **changed}
    with pytest.raises(error, match=rf"^tilewright\.torch\.scaled_mm: {text}"):
        call(**given)


def test_other_recipes_are_refused():
    with pytest.raises(NotImplementedError, match=r"scale_recipe_a is .*RowWise.*must be ScalingType.BlockWise1x128"):
        tt.scaled_mm(A, B, SA, Recipe.RowWise, SB, RECIPES[1])
    with pytest.raises(NotImplementedError, match=r"scale_recipe_b is .*must be ScalingType.BlockWise128x128"):
        tt.scaled_mm(A, B, SA, RECIPES[0], SB, RECIPES[0])


def test_a_device_without_wgmma(monkeypatch):
    monkeypatch.setattr(programs, "capability", lambda device: (8, 9))
    with pytest.raises(NotImplementedError, match=r"scaled_mm is a program of wgmma.*on cpu of 8.9"):
        call(A, B, SA, SB)


@pytest.mark.parametrize("name", ["a", "b", "scale_a", "scale_b"])
def test_what_requires_a_gradient_is_refused(name):
    given = {"a": A, "b": B, "scale_a": SA, "scale_b": SB}
    given[name] = given[name].detach().requires_grad_()
    shown = name if name.startswith("scale") else f"mat_{name}"
    with pytest.raises(NotImplementedError, match=rf"^tilewright\.torch\.scaled_mm: {shown} requires a gradient"):
        call(**given)
    with torch.no_grad():
        assert not call(**given).requires_grad


def test_torch_finds_nothing_wrong():
    """All of torch's checks but that of the schema, which multiplies the operands: torch cannot, of fp8 on the CPU."""
    which = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    checks = torch.library.opcheck(torch.ops.tilewright.scaled_mm.default, (A, B, SA, SB), test_utils=which)
    assert set(checks.values()) == {"SUCCESS"}, checks


def test_torch_compile_has_it_in_one_graph():
    def function(a, b, scale_a, scale_b):
        return call(a, b, scale_a * 2, scale_b) + 1

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(A, B, SA, SB), function(A, B, SA, SB))
