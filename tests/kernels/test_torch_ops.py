"""tilewright.torch against torch: conventions, gradients, tracing."""

from __future__ import annotations

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from tilewright import analysis, cute, kernels  # noqa: E402
from tilewright import torch as twt  # noqa: E402
from tilewright.torch import gemm  # noqa: E402
from tilewright.torch.gemm import ACTIVATIONS  # noqa: E402

SHAPES = [
    ((3,), (3,)), ((3,), (3, 4)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)),
    ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 4)),
    ((7, 1, 2, 3), (1, 6, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((2, 2, 2, 2, 3), (2, 1, 2, 3, 4)), ((0, 2, 3), (3, 4)),
    ((2, 0), (0, 4)), ((5, 2, 0), (0, 4)), ((0, 3), (3, 4)), ((1, 3), (3, 1)), ((0,), (0,)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_matmul_is_torchs(a, b):
    x, y = torch.randn(a), torch.randn(b)
    expected = torch.matmul(x, y)
    found = twt.matmul(x, y)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    torch.testing.assert_close(found, expected)


VIEWS = {
    "transposed": lambda: (torch.randn(4, 6).t(), torch.randn(5, 4).t()),
    "sliced": lambda: (torch.randn(9, 20)[1::2, 3:15:3], torch.randn(4, 30)[:, ::5]),
    "expanded": lambda: (torch.randn(4, 1, 3).expand(4, 7, 3), torch.randn(1, 3, 5).expand(4, 3, 5)),
    "heads": lambda: (torch.randn(2, 9, 3, 8).transpose(1, 2), torch.randn(2, 9, 3, 8).permute(0, 2, 3, 1)),
    "rows of a batch": lambda: (torch.randn(3, 5, 7), torch.randn(2, 7).t()),
}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_views_are_read_as_they_are(make):
    x, y = make()
    torch.testing.assert_close(twt.matmul(x, y), torch.matmul(x, y))


def windows(*shape):
    """Windows of images: batch modes that do not go on as one."""
    return (
        torch.randn(2, 6, 6, 6, *shape)
        .view(2, 3, 2, 3, 2, 3, 2, *shape)
        .permute(0, 1, 3, 5, 2, 4, 6, *range(7, 7 + len(shape)))
    )


MANY_MODES = {
    "windows": lambda: (windows(8), torch.randn(8, 7)),
    "windows of both": lambda: (windows(8), windows(8).mT),
    "matrices first": lambda: (windows(3, 4).mT, torch.randn(2, 1, 3, 1, 1, 1, 1, 3, 5)),
    "repeated in turn": lambda: (torch.randn(2, 1, 2, 1, 3, 4), torch.randn(1, 2, 1, 2, 4, 3)),
    "expanded": lambda: (torch.randn(2, 1, 2, 1, 3, 4).expand(2, 2, 2, 2, 3, 4), torch.randn(1, 2, 1, 2, 4, 3)),
}


@pytest.mark.parametrize("make", MANY_MODES.values(), ids=MANY_MODES)
def test_batches_of_more_modes_than_a_kernel_has(make):
    x, y = make()
    torch.testing.assert_close(twt.matmul(x, y), torch.matmul(x, y))
    c = torch.randn(y.shape[-1])
    torch.testing.assert_close(twt.addmm(c, x, y, beta=2), 2 * c + torch.matmul(x, y))
    for found, right in zip(gradients(twt.matmul, x, y), gradients(torch.matmul, x, y), strict=True):
        torch.testing.assert_close(found, right)


def test_a_weight_is_not_copied_for_more_modes_than_a_kernel_has(monkeypatch):
    x, weight = windows(8), torch.randn(7, 8)
    right, seen, plain = torch.nn.functional.linear(x, weight), [], kernels.gemm
    monkeypatch.setattr(
        kernels, "gemm", lambda a, b, c, **options: (seen.append(b.data_ptr()), plain(a, b, c, **options))
    )
    torch.testing.assert_close(twt.linear(x, weight), right)
    assert set(seen) == {weight.data_ptr()}
    assert len(seen) == 2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types(dtype):
    x, y = torch.randn(20, 30, dtype=dtype), torch.randn(30, 10, dtype=dtype)
    torch.testing.assert_close(twt.matmul(x, y), torch.matmul(x, y))
    wide = twt.matmul(x, y, out_dtype=torch.float32)
    torch.testing.assert_close(wide, (x.double() @ y.double()).float())


def test_autocast_changes_no_types():
    x, y = torch.randn(4, 8), torch.randn(8, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(twt.matmul(x, y), twt.matmul(x, y, out_dtype=torch.float32))
        with pytest.raises(TypeError, match=r"a has elements of torch\.bfloat16 and b of torch\.float32"):
            twt.matmul(x.bfloat16(), y)


def test_integers_and_float8():
    x, y = torch.randint(-9, 9, (20, 30)).to(torch.int8), torch.randint(-9, 9, (30, 10)).to(torch.int8)
    torch.testing.assert_close(twt.matmul(x, y), x.int() @ y.int())
    x, y = x.float().to(torch.float8_e4m3fn), y.float().to(torch.float8_e5m2)
    torch.testing.assert_close(twt.matmul(x, y), (x.float() @ y.float()).to(torch.bfloat16))


@pytest.mark.parametrize("activation", [None, "relu", "gelu", "gelu_tanh", "silu"])
def test_linear(activation):
    x, weight, bias = torch.randn(3, 5, 16), torch.randn(8, 16), torch.randn(8)
    expected = torch.nn.functional.linear(x, weight, bias)
    if activation:
        expected = ACTIVATIONS[activation](expected)
    torch.testing.assert_close(twt.linear(x, weight, bias, activation=activation), expected)
    torch.testing.assert_close(twt.linear(x[0, 0], weight, bias, activation=activation), expected[0, 0])


@pytest.mark.parametrize("c", [(7,), (5, 7), (1, 7), (5, 1), (2, 5, 7), (2, 1, 1)])
def test_addmm(c):
    c, x, y = torch.randn(c), torch.randn(2, 5, 6), torch.randn(2, 6, 7)
    torch.testing.assert_close(twt.addmm(c, x, y), c + x @ y)
    torch.testing.assert_close(twt.addmm(c, x, y, beta=0.5, alpha=-2), 0.5 * c - 2 * (x @ y))
    torch.testing.assert_close(twt.addmm(c, x, y, beta=0, alpha=-2), -2 * (x @ y))


# ---- gradients ----


def gradients(function, *inputs):
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    result = function(*leaves)
    return result, *torch.autograd.grad(
        result, leaves, torch.linspace(-1, 1, result.numel()).view_as(result).to(result.dtype)
    )


@pytest.mark.parametrize(("a", "b"), [s for s in SHAPES if 0 not in (*s[0], *s[1])], ids=str)
def test_gradients_of_matmul(a, b):
    x, y = torch.randn(a), torch.randn(b)
    for found, expected in zip(gradients(twt.matmul, x, y), gradients(torch.matmul, x, y), strict=True):
        torch.testing.assert_close(found, expected)


def test_gradients_of_linear():
    x, weight, bias = torch.randn(3, 5, 16), torch.randn(8, 16), torch.randn(8)
    for activation, plain in (("gelu", torch.nn.functional.gelu), (None, lambda x: x)):
        found = gradients(lambda *args, kind=activation: twt.linear(*args, activation=kind), x, weight, bias)
        expected = gradients(lambda *args, plain=plain: plain(torch.nn.functional.linear(*args)), x, weight, bias)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one, other)


def test_gradients_of_addmm():
    for shape in ((7,), (5, 1), (5, 7)):
        c, x, y = torch.randn(shape), torch.randn(5, 6), torch.randn(6, 7)
        found = gradients(lambda c, x, y: twt.addmm(c, x, y, alpha=2, beta=0.5), c, x, y)
        for one, other in zip(found, gradients(lambda c, x, y: 0.5 * c + 2 * (x @ y), c, x, y), strict=True):
            torch.testing.assert_close(one, other)


def test_gradients_of_gradients():
    x, y = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in ((2, 3, 4), (4, 2)))
    assert torch.autograd.gradcheck(twt.matmul, (x, y), fast_mode=True)
    assert torch.autograd.gradgradcheck(twt.matmul, (x, y), fast_mode=True)


def test_only_the_wanted_gradients_are_computed():
    x, y = torch.randn(3, 4, requires_grad=True), torch.randn(4, 2)
    (grad,) = torch.autograd.grad(twt.matmul(x, y).sum(), x)
    torch.testing.assert_close(grad, torch.ones(3, 2) @ y.t())


def test_a_gradient_is_cast_to_half_no_sooner_than_it_must():
    """Of 1e5 half holds no gradient, but those of operands that are small."""
    x, y = (torch.randn(s).half() * 1e-4 for s in ((4, 16), (16, 8)))
    found = gradients(lambda x, y: twt.matmul(x, y, out_dtype=torch.float32) * 1e5, x, y)
    right = gradients(lambda x, y: (x @ y) * 1e5, x.double(), y.double())
    for ours, theirs in zip(found[1:], right[1:], strict=True):
        assert ours.dtype == torch.float16
        torch.testing.assert_close(ours.double(), theirs, rtol=2e-3, atol=1e-3)


def test_gradients_of_a_bias_are_added_in_its_type():
    x, weight, bias = torch.zeros(200, 8).half(), torch.zeros(4, 8).half(), torch.zeros(4, requires_grad=True)
    twt.linear(x, weight, bias).backward(torch.full((200, 4), 1000.0).half())
    assert torch.equal(bias.grad, torch.full((4,), 2e5))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8_has_no_gradient(dtype):
    """It would have to be float8, too."""
    x, y = torch.ones(4, 16).to(dtype), torch.ones(16, 4).to(dtype)
    of_x, of_y = x.clone().requires_grad_(), y.clone().requires_grad_()
    for name, call in (
        ("matmul: a", lambda: twt.matmul(of_x, y)),
        ("matmul: b", lambda: twt.matmul(x, of_y)),
        ("addmm: a", lambda: twt.addmm(torch.ones(4), of_x, y)),
        ("linear: weight", lambda: twt.linear(x, of_y.mT)),
    ):
        with pytest.raises(NotImplementedError, match=rf"^tilewright\.torch\.{name} of {dtype} requires a gradient"):
            call()
    with pytest.raises(NotImplementedError, match=r"^tilewright::gemm: a of"):
        torch.ops.tilewright.gemm(of_x, y, None, None, 1.0, 0.0, None, None)
    with torch.no_grad():
        assert not twt.matmul(of_x, y).requires_grad
    bias = torch.zeros(4, requires_grad=True)
    (grad,) = torch.autograd.grad(twt.linear(x, y.mT, bias).sum(), bias)
    torch.testing.assert_close(grad, torch.full((4,), 4.0))
    (grad,) = torch.autograd.grad(twt.matmul(of_x.bfloat16(), y.bfloat16()).sum(), of_x)  # what the error says
    torch.testing.assert_close(grad.float(), torch.full((4, 16), 4.0))


# ---- tracing ----

ARGUMENTS = [
    (torch.randn(3, 4), torch.randn(4, 5), None, None, 1.0, 0.0, None, None),
    (
        torch.randn(2, 3, 4).bfloat16(),
        torch.randn(4, 5).bfloat16(),
        None,
        torch.randn(5),
        2.0,
        1.0,
        "gelu",
        torch.float32,
    ),
    (torch.randn(3, 4), torch.randn(2, 4, 5), torch.randn(3, 5), None, 1.0, 0.5, "relu", None),
    (torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True), None, None, 1.0, 0.0, None, None),
]


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=range(len(ARGUMENTS)))
def test_the_operation_keeps_torchs_rules(arguments):
    torch.library.opcheck(torch.ops.tilewright.gemm.default, arguments)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compile(backend):
    def layer(x, w, v):
        return twt.linear(twt.matmul(x, w), v, activation="silu").sum(-1)

    torch._dynamo.reset()
    x, w, v = torch.randn(6, 4), torch.randn(4, 8), torch.randn(5, 8)
    compiled = torch.compile(layer, backend=backend, fullgraph=True)
    torch.testing.assert_close(compiled(x, w, v), layer(x, w, v))
    found = gradients(compiled, x, w, v)
    for one, other in zip(found, gradients(layer, x, w, v), strict=True):
        torch.testing.assert_close(one, other)
    dynamic = torch.compile(layer, backend=backend, fullgraph=True, dynamic=True)
    for rows in (3, 7):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(dynamic(x, w, v), layer(x, w, v))


def test_meta_tensors():
    x = twt.matmul(torch.empty(7, 3, 4, device="meta"), torch.empty(4, 5, device="meta"))
    assert (x.device.type, x.shape) == ("meta", (7, 3, 5))


# ---- errors ----


X = torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: twt.matmul(torch.tensor(1.0), torch.zeros(3)), ValueError,
         "tilewright.torch.matmul: a is a scalar, but it needs at least one mode"),
        (lambda: twt.matmul(torch.zeros(2, 3), torch.zeros(4, 5)), ValueError,
         "tilewright.torch.matmul: a (2, 3) has 3 columns and b (4, 5) has 4 rows; they must be equal"),
        (lambda: twt.matmul([[1.0]], torch.zeros(1)), TypeError,
         "tilewright.torch.matmul: expected a to be a torch.Tensor, but got list"),
        (lambda: twt.matmul(torch.zeros(2, 3), torch.zeros(3, 2, dtype=torch.float64)), TypeError,
         "tilewright.torch.matmul: a has elements of torch.float32 and b of torch.float64, which no kernel multiplies; "
         "convert one of them"),
        (lambda: twt.matmul(torch.zeros(2, 3, dtype=torch.int64), torch.zeros(3, 2, dtype=torch.int64)), TypeError,
         "tilewright.torch.matmul: a has elements of torch.int64, which no kernel multiplies; convert them to one of "
         "torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2, "
         "torch.int8, torch.uint8"),
        (lambda: twt.linear(torch.zeros(2, 3), torch.zeros(2, 3), torch.tensor(1.0)), ValueError,
         "tilewright.torch.linear: bias () must be (N) with N = 2, the rows of weight"),
        (lambda: twt.matmul(X, X.mT, out_dtype=torch.int8), TypeError,
         "tilewright.torch.matmul: out_dtype is torch.int8, as which no kernel stores products of torch.float32; pass "
         "one of torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2"),
        (lambda: twt.addmm(X, X.to("meta"), X.mT.to("meta"), out_dtype=torch.complex64), TypeError,
         "tilewright.torch.addmm: out_dtype is torch.complex64, as which no kernel stores products of torch.float32; "
         "pass one of torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, "
         "torch.float8_e5m2"),
        (lambda: twt.matmul(X.byte(), X.mT.byte(), out_dtype=torch.int8), TypeError,
         "tilewright.torch.matmul: out_dtype is torch.int8, as which no kernel stores products of torch.uint8; pass "
         "one of torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2, "
         "torch.int32"),
        (lambda: twt.addmm(X, X, X.mT, alpha=10**400), ValueError,
         "tilewright.torch.addmm: alpha is an integer greater than any float"),
        (lambda: twt.addmm(X, X, X.mT, beta=-10**400), ValueError,
         "tilewright.torch.addmm: beta is an integer greater than any float"),
        (lambda: torch.ops.tilewright.gemm(X, X.mT, None, torch.zeros(3), 1, 0, None, None), ValueError,
         "tilewright.torch: bias (3,) must be (N) with N = 2"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


@pytest.fixture
def precisions():
    """What torch knows of the precision of float32, put back afterwards, by whichever names it was set."""
    yield
    if HAS_NEW_NAMES:
        torch.backends.fp32_precision = "none"
    torch.set_float32_matmul_precision("highest")
    if HAS_NEW_NAMES:
        torch.backends.cuda.matmul.fp32_precision = "none"
        torch.backends.mkldnn.matmul.fp32_precision = "none"


@pytest.fixture
def asked(monkeypatch):
    """What allow_tf32 is in each call."""
    found = []
    monkeypatch.setattr(kernels, "gemm", lambda *args, **options: found.append(options.get("allow_tf32", False)))
    return found


HAS_NEW_NAMES = hasattr(torch.backends, "fp32_precision")


@pytest.mark.usefixtures("precisions")
def test_tf32_is_taken_where_torch_allows_it(asked):
    for precision in ("highest", "high"):
        torch.set_float32_matmul_precision(precision)
        twt.matmul(torch.zeros(2, 3), torch.zeros(3, 2))
        twt.matmul(torch.zeros(2, 3).half(), torch.zeros(3, 2).half())
    assert asked == [False, False, True, False]


@pytest.mark.skipif(not HAS_NEW_NAMES, reason="this torch has no names for the precision of a backend")
@pytest.mark.usefixtures("precisions")
def test_tf32_by_torchs_newer_names(asked):
    product = torch.compile(twt.matmul, backend="eager", fullgraph=True)
    for set_it in (
        lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
        lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "ieee"),
        lambda: torch.set_float32_matmul_precision("high"),
        lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "ieee"),
    ):
        set_it()
        twt.matmul(torch.zeros(2, 3), torch.zeros(3, 2))
        product(torch.zeros(2, 3), torch.zeros(3, 2))
    assert asked == [True, True, False, False, True, True, False, False]


@pytest.mark.skipif(not HAS_NEW_NAMES, reason="this torch has no names for the precision of a backend")
@pytest.mark.usefixtures("precisions")
def test_tf32_for_all_backends(asked):
    torch.backends.cuda.matmul.fp32_precision = "none"
    for precision in ("tf32", "ieee"):
        torch.backends.fp32_precision = precision
        twt.matmul(torch.zeros(2, 3), torch.zeros(3, 2))
    assert asked == [True, False]


@pytest.mark.usefixtures("precisions")
def test_a_torch_without_the_newer_names(asked, monkeypatch):
    monkeypatch.setattr(gemm, "_precision_of", None)
    for precision in ("highest", "medium"):
        torch.set_float32_matmul_precision(precision)
        twt.matmul(torch.zeros(2, 3), torch.zeros(3, 2))
    assert asked == [False, True]


def test_tilewright_does_not_import_torch():
    code = "import sys, tilewright, tilewright.kernels; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- tensors that require grad, where autograd is not told of anything ----

M = torch.zeros(4, 4)
GEMM = kernels.gemm.plan(M, M)
LEAF = torch.zeros(4, 4, requires_grad=True)
CALLS = {
    "kernels.gemm: mA": (lambda x: kernels.gemm(x, M), True),
    "kernels.gemm: mB": (lambda x: kernels.gemm(M, x), True),
    "kernels.gemm: mC": (lambda x: kernels.gemm(M, M, x), True),
    "kernels.gemm: bias": (lambda x: kernels.gemm(M, M, M.clone(), bias=x[0]), True),
    "kernels.gemm.plan: mA": (lambda x: kernels.gemm.plan(x, M), True),
    "kernels.gemm.tune: mB": (lambda x: kernels.gemm.tune(M, x), True),
    "plan.run: mA": (lambda x: GEMM.run(x, M), True),
    "plan.bind: mA": (lambda x: GEMM.bind(x, M, M.clone()), True),
    "kernels.tiled_copy: src": (lambda x: kernels.tiled_copy(x, M), False),
    "kernels.tiled_copy: dst": (lambda x: kernels.tiled_copy(M, x), False),
    "kernels.transpose: src": (lambda x: kernels.transpose(x), False),
    "kernels.permute: src": (lambda x: kernels.permute(x, (1, 0)), False),
    "visualize_tv: tensor": (lambda x: kernels.visualize_tv(x, cute.make_layout((4, 4))), False),
    "from_dlpack: tensor": (lambda x: cute.from_dlpack(x), False),
    "analyze: x": (lambda x: analysis.analyze(x), False),
}


@pytest.mark.parametrize("where", CALLS)
@pytest.mark.parametrize("leaf", [True, False])
def test_a_tensor_that_requires_grad_is_refused_with_what_to_call(where, leaf):
    call, is_gemm = CALLS[where]
    x = LEAF if leaf else LEAF * 2
    with pytest.raises(BufferError) as caught:
        call(x)
    name = where.split()[-1]
    instead = "use tilewright.torch.matmul, which is differentiable, or pass" if is_gemm else "pass"
    assert str(caught.value) == (
        f"{where} requires grad, but torch's autograd is not told of what reads or writes its memory here; "
        f"{instead} {name}.detach()"
    )
    assert caught.value.__cause__ is None
    call(x.detach()) if "tune" not in where else None


def test_what_the_error_names_does_it():
    assert twt.matmul(LEAF, M).requires_grad


def test_the_operation_without_gradients_is_taken_where_none_is_asked_for():
    """Its machinery costs the host more than the launch; transforms and compiled programs see the other one."""
    a, b = torch.randn(4, 8), torch.randn(8, 3)

    def operations(call):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            call()
        return {x.name for x in profile.events() if x.name.startswith("tilewright::")}

    wanting = a.clone().requires_grad_()
    assert operations(lambda: twt.matmul(a, b)) == {"tilewright::gemm_forward"}
    assert "tilewright::gemm" in operations(lambda: twt.matmul(wanting, b))
    with torch.no_grad():
        assert operations(lambda: twt.matmul(wanting, b)) == {"tilewright::gemm_forward"}
    with pytest.raises(RuntimeError, match="functorch"):  # torch's own refusal, not a derivative of nothing
        torch.func.grad(lambda x: twt.matmul(x, b).sum())(a)
