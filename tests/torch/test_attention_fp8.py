"""Attention of fp8 as a function of torch, on the CPU: results, scales, errors, and as an operation."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import tilewright.torch as tt  # noqa: E402 - torch has to be there
from tilewright.torch import programs  # noqa: E402

FP8 = torch.float8_e4m3fn


def quantized(*shape):
    """Numbers as e4m3, what to multiply them by, and the products in float64."""
    x = torch.randn(shape)
    scales = x.abs().amax((2, 3)) / 448
    values = (x / scales[..., None, None]).to(FP8)
    return values, scales, values.double() * scales[..., None, None].double()


def relative(found, expected):
    return float((found.double() - expected).norm() / expected.norm())


@pytest.mark.parametrize(
    ("query", "key", "options"),
    [
        ((1, 2, 70, 64), (1, 2, 150, 64), {}),
        ((2, 4, 90, 128), (2, 2, 90, 128), {"is_causal": True, "enable_gqa": True}),
        ((1, 1, 40, 72), (1, 1, 80, 72), {"scale": 0.3}),  # a depth that is filled up
        ((1, 1, 70, 64), (1, 1, 33, 64), {"scale": -0.2}),
        ((1, 1, 9, 64), (1, 1, 33, 64), {"scale": 0.0}),
        ((2, 30, 3, 64), (2, 30, 3, 64), {}),  # heads inside of rows
    ],
)
def test_results_and_scales(query, key, options):
    """The weights err by up to 1 / 16, half of e4m3's steps, each by itself."""
    torch.manual_seed(sum(query))
    (q, of_q, wide_q), (k, of_k, wide_k), (v, of_v, wide_v) = quantized(*query), quantized(*key), quantized(*key)
    of_q = of_q[:, : key[1]]
    group = query[1] // key[1]
    wide_q = q.double() * of_q.repeat_interleave(group, 1)[..., None, None].double()
    if query[1] > query[2]:
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    out = tt.scaled_dot_product_attention(q, k, v, **options, q_descale=of_q, k_descale=of_k, v_descale=of_v)
    expected = torch.nn.functional.scaled_dot_product_attention(wide_q, wide_k, wide_v, **options)
    assert (out.dtype, out.shape) == (torch.bfloat16, expected.shape)
    assert relative(out, expected) < 0.03


def test_scales_are_1_where_none_is_given():
    q, k, v = (torch.randn(1, 2, 20, 64).to(FP8) for _ in range(3))
    ones = torch.ones(1, 2)
    of_q, of_v = torch.tensor([[0.5, 2.0]]), torch.tensor([[3.0, 0.25]])
    plain = tt.scaled_dot_product_attention(q, k, v, q_descale=of_q)
    scaled = tt.scaled_dot_product_attention(q, k, v, q_descale=ones, k_descale=of_q, v_descale=of_v)
    torch.testing.assert_close(scaled, (plain.float() * of_v[..., None, None]).bfloat16(), rtol=1e-2, atol=0)


def test_no_scales_under_another_default_dtype():
    q = torch.randn(1, 2, 20, 64).to(FP8)
    expected = tt.scaled_dot_product_attention(q, q, q)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert torch.equal(tt.scaled_dot_product_attention(q, q, q), expected)
    finally:
        torch.set_default_dtype(before)


def test_no_rows_and_no_keys():
    q = torch.zeros(1, 2, 3, 64).to(FP8)
    assert tt.scaled_dot_product_attention(q[:, :, :0], q, q).shape == (1, 2, 0, 64)
    assert torch.equal(tt.scaled_dot_product_attention(q, q[:, :, :0], q[:, :, :0]), torch.zeros(q.shape).bfloat16())


def test_tensors_without_memory():
    q = torch.empty(1, 2, 3, 64, device="meta").to(FP8)
    out = tt.scaled_dot_product_attention(q, q, q)
    assert (out.device, out.dtype, out.shape) == (q.device, torch.bfloat16, q.shape)


Q = torch.zeros(1, 2, 4, 64).to(FP8)
ONES = torch.ones(1, 2)


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"key": Q.bfloat16()}, TypeError, "key has elements of torch.bfloat16, but query has torch.float8_e4m3fn"),
        ({"query": Q[0], "key": Q[0], "value": Q[0]}, ValueError, r"query \(2, 4, 64\) .* must have four modes"),
        ({"query": Q[:, :1]}, ValueError, "must have as many batches and heads as each other; enable_gqa=True"),
        ({"query": Q.repeat(2, 1, 1, 1), "enable_gqa": True}, ValueError, "must have as many batches as each other"),
        ({"q_descale": 1.0}, TypeError, "expected q_descale to be a torch.Tensor, but got float"),
        ({"scale": "x"}, TypeError, "expected scale to be a float, but got 'x'"),
        ({"k_descale": ONES.double()}, TypeError, "k_descale has elements of torch.float64, but it must have"),
        ({"v_descale": ONES.T}, ValueError, r"v_descale is \(2, 1\), but it must have a float for each batch and head"),
        ({"q_descale": -ONES}, ValueError, r"q_descale is \[\[-1.0, -1.0\]\], but its elements must be above 0"),
        ({"k_descale": torch.tensor([[1.0, 0.0]])}, ValueError, r"k_descale is \[\[1.0, 0.0\]\], but its elements"),
        ({"v_descale": ONES * torch.nan}, ValueError, r"v_descale is \[\[nan, nan\]\], but its elements must be above"),
        ({"v_descale": ONES.to("meta")}, ValueError, "v_descale is on meta, but query is on cpu"),
        ({"v_descale": ONES.clone().requires_grad_()}, NotImplementedError, "v_descale requires a gradient, which"),
        (dict.fromkeys(("query", "key", "value"), Q.bfloat16()) | {"q_descale": ONES}, ValueError,
         "q_descale is given, but query has elements of torch.bfloat16"),
        ({"dropout_p": 0.5}, NotImplementedError, "dropout_p is 0.5, but it must be 0"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(changed, error, text):
    given = {"query": Q, "key": Q, "value": Q, **changed}
    with pytest.raises(error, match=rf"^tilewright\.torch\.scaled_dot_product_attention: .*{text}"):
        tt.scaled_dot_product_attention(**given)


def test_a_device_without_wgmma(monkeypatch):
    monkeypatch.setattr(programs, "capability", lambda device: (10, 0))
    with pytest.raises(NotImplementedError, match="attention of fp8 is a program of wgmma"):
        tt.scaled_dot_product_attention(Q, Q, Q)


def test_torch_finds_nothing_wrong():
    """Its check of the schema compares operands by arithmetic that torch does not have for fp8."""
    given = Q, Q, Q, ONES, ONES, ONES, 0.125, 0
    which = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    checks = torch.library.opcheck(torch.ops.tilewright.attention_fp8.default, given, test_utils=which)
    assert set(checks.values()) == {"SUCCESS"}, checks


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_has_it_in_one_graph(dynamic):
    def function(q, k, v, of_q):
        return tt.scaled_dot_product_attention(q, k, v, is_causal=True, q_descale=of_q) * 2

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (9, 11):
        q, k, v = (torch.randn(1, 2, rows, 64).to(FP8) for _ in range(3))
        assert torch.equal(compiled(q, k, v, ONES), function(q, k, v, ONES))
