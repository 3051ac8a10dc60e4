"""Attention as a function of torch, on the CPU: results, gradients, errors, and as an operation."""

from __future__ import annotations

from itertools import pairwise

import pytest

torch = pytest.importorskip("torch")

from torch.nn.attention import bias  # noqa: E402 - torch has to be there
from torch.nn.attention.varlen import AuxRequest  # noqa: E402

import tilewright.torch as tt  # noqa: E402
from tilewright.torch import programs  # noqa: E402

theirs = torch.nn.functional.scaled_dot_product_attention


def operands(*shapes, dtype=torch.bfloat16, grad=False):
    torch.manual_seed(sum(map(sum, shapes)))
    return [torch.randn(shape).to(dtype).requires_grad_(grad) for shape in shapes]


def require_close(got, expected, like):
    """Errors against float64 of at most 1.1 of torch's, and of little more than a rounding where torch has few."""
    errors = [float((x.double() - expected).norm()) for x in (got, like)]
    assert errors[0] <= 1.1 * errors[1] + 2e-3 * float(expected.norm())


@pytest.fixture(params=["wgmma", "mma.sync"])
def generation(request, monkeypatch):
    """The program of compute capability 9.0, and the one that older and newer GPUs run."""
    if request.param == "mma.sync":
        monkeypatch.setattr(programs, "capability", lambda device: (8, 0))
    return request.param


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(
    ("query", "key", "gqa"),
    [
        ((1, 2, 70, 64), (1, 2, 150, 64), False),
        ((2, 2, 40, 64), (2, 1, 33, 64), True),
        ((20, 40), (30, 40), False),  # no batches, no heads, a depth that is filled up
        ((2, 9, 64), (2, 9, 64), False),
        ((1, 1, 70, 200), (1, 1, 90, 200), False),  # a depth that is filled up to 256
        ((2, 1, 1, 9, 128), (1, 2, 1, 9, 128), False),  # batches that broadcast
    ],
)
def test_results_are_those_of_torch(generation, query, key, gqa, is_causal, dtype):
    if query[-1] > 128 and generation == "mma.sync":
        pytest.skip("it has depths up to 128")
    q, k, v = operands(query, key, key, dtype=dtype)
    got = tt.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=gqa)
    like = theirs(q, k, v, is_causal=is_causal, enable_gqa=gqa)
    expected = theirs(q.double(), k.double(), v.double(), is_causal=is_causal, enable_gqa=gqa)
    assert (got.shape, got.dtype) == (like.shape, like.dtype)
    require_close(got, expected, like)


@pytest.mark.parametrize("scale", [0.3, -0.3, 0.0])
def test_any_scale(generation, scale):
    q, k, v = operands((1, 1, 20, 64), (1, 1, 30, 64), (1, 1, 30, 64))
    got = tt.scaled_dot_product_attention(q, k, v, scale=scale)
    require_close(got, theirs(q.double(), k.double(), v.double(), scale=scale), theirs(q, k, v, scale=scale))


@pytest.mark.filterwarnings("ignore:Lower right causal bias will produce NaNs")  # in torch; a row without keys is 0
@pytest.mark.parametrize(("queries", "keys"), [(30, 50), (50, 30)])
def test_biases_of_torch_that_are_causal(queries, keys):
    q, k, v = operands((1, 1, queries, 64), (1, 1, keys, 64), (1, 1, keys, 64))
    for make in (bias.causal_upper_left, bias.causal_lower_right):
        mask = make(queries, keys)
        got = tt.scaled_dot_product_attention(q, k, v, mask)
        seen = torch.ones(queries, keys, dtype=torch.bool)
        seen = seen.tril(0 if make is bias.causal_upper_left else keys - queries)
        expected = theirs(q.double(), k.double(), v.double(), attn_mask=seen)
        require_close(got, expected, expected.bfloat16())


def test_strides_and_offsets_of_the_operands(generation):
    """Heads inside of rows, as projections give them, parts of one tensor, an odd address, reversed modes."""
    packed = operands((2, 40, 3, 2, 64))[0]
    q, k, v = (x.transpose(1, 2) for x in packed.unbind(2))
    got = tt.scaled_dot_product_attention(q, k, v)
    assert torch.equal(got, tt.scaled_dot_product_attention(*(x.contiguous() for x in (q, k, v))))
    assert got.transpose(1, 2).is_contiguous()
    odd = torch.empty(q.numel() + 1, dtype=q.dtype)[1:].view(q.shape).copy_(q)
    assert torch.equal(got, tt.scaled_dot_product_attention(odd, k.mT.contiguous().mT, v))


def test_no_rows_and_no_keys():
    q, k = operands((2, 1, 5, 64), (2, 1, 0, 64))
    assert torch.equal(tt.scaled_dot_product_attention(q, k, k), torch.zeros(2, 1, 5, 64).bfloat16())
    assert tt.scaled_dot_product_attention(k, q, q).shape == (2, 1, 0, 64)
    assert tt.scaled_dot_product_attention(q[:0], q[:0], q[:0]).shape == (0, 1, 5, 64)


def gradients(function, tensors, grad):
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    out = function(*leaves)
    return torch.autograd.grad(out, leaves, grad.to(out.dtype))


@pytest.mark.parametrize(
    ("query", "key", "options"),
    [
        ((1, 2, 70, 64), (1, 1, 90, 64), {"is_causal": True, "enable_gqa": True}),
        ((1, 1, 33, 128), (1, 1, 20, 128), {}),
        ((1, 1, 9, 40), (1, 1, 9, 40), {"scale": -0.2}),
        ((1, 2, 70, 200), (1, 1, 140, 200), {"is_causal": True, "enable_gqa": True}),
    ],
)
@pytest.mark.parametrize("deterministic", [True, False])
def test_gradients_are_those_of_torch(query, key, options, deterministic):
    q, k, v = operands(query, key, key)
    grad = operands(query)[0]

    def ours(*x):
        return tt.scaled_dot_product_attention(*x, **options, deterministic=deterministic)

    got = gradients(ours, (q, k, v), grad)
    like = gradients(lambda *x: theirs(*x, **options), (q, k, v), grad)
    expected = gradients(lambda *x: theirs(*x, **options), [x.double() for x in (q, k, v)], grad)
    for found, right, other in zip(got, expected, like, strict=True):
        require_close(found, right, other)


def test_gradients_that_are_not_there(monkeypatch):
    """Refused when the forward pass is called, which says what to do."""
    monkeypatch.setattr(programs, "capability", lambda device: (8, 0))
    q = operands((1, 1, 9, 64), grad=True)[0]
    with pytest.raises(NotImplementedError, match=r"the gradient of attention is a program of wgmma"):
        tt.scaled_dot_product_attention(q, q, q)


@pytest.fixture(params=[torch.bfloat16, torch.float64])
def default_dtype(request):
    """What torch makes tensors of where no type is given, as programs may set it."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


@pytest.mark.parametrize("depth", [64, 256])
def test_gradients_under_any_default_dtype(default_dtype, depth):
    """The programs that an earlier default compiled are dropped, for they are found by other facts."""
    programs.attention_backward.cache_clear()
    q = operands((1, 1, 9, depth), grad=True)[0]
    got = torch.autograd.grad(tt.scaled_dot_product_attention(q, q, q).float().sum(), q)[0]
    like = torch.autograd.grad(theirs(q, q, q).float().sum(), q)[0]
    expected = gradients(lambda x: theirs(x, x, x), [q.double()], torch.ones(q.shape))[0]
    require_close(got, expected, like)


def test_only_what_is_wanted_has_gradients():
    q, k, v = operands((1, 1, 9, 64), (1, 1, 9, 64), (1, 1, 9, 64))
    k.requires_grad_()
    tt.scaled_dot_product_attention(q, k, v).sum().backward()
    assert (q.grad, v.grad) == (None, None)
    assert k.grad.shape == k.shape


def varlen(q, k, v, lengths_q, lengths_k, window=(-1, -1)):
    """Attention of each sequence for itself, with the window as a mask, in the type of the operands."""
    out = []
    for x, y, z in zip(q.split(lengths_q), k.split(lengths_k), v.split(lengths_k), strict=True):
        at = torch.arange(len(x))[:, None] + len(y) - len(x)
        keys = torch.arange(len(y))
        seen = torch.ones(len(x), len(y), dtype=torch.bool)
        if window[0] >= 0:
            seen &= keys >= at - window[0]
        if window[1] >= 0:
            seen &= keys <= at + window[1]
        x, y, z = (t.transpose(0, 1)[None] for t in (x, y, z))
        out.append(theirs(x, y, z, attn_mask=seen, enable_gqa=True)[0].transpose(0, 1))
    return torch.cat(out)


def starts(lengths):
    return torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0, dtype=torch.int32)


VARLEN = (([5, 0, 70, 1], [9, 4, 60, 1]), ([33], [40]))


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (7, 0), (3, 4)])
@pytest.mark.parametrize("lengths", VARLEN)
def test_sequences_of_several_lengths(lengths, window):
    q, k, v = operands((sum(lengths[0]), 2, 64), (sum(lengths[1]), 1, 64), (sum(lengths[1]), 1, 64))
    given = (*map(starts, lengths), *map(max, lengths))
    aux = AuxRequest(lse=True)
    got, lse = tt.varlen_attention(q, k, v, *given, window_size=window, enable_gqa=True, return_aux=aux)
    expected = varlen(*(x.double() for x in (q, k, v)), *lengths, window)
    require_close(got, expected, varlen(q, k, v, *lengths, window))
    assert lse.shape == (2, len(q))
    alone = tt.varlen_attention(q, k, v, *given, window_size=window, enable_gqa=True)
    assert torch.equal(alone, got)


def test_strides_of_the_starts():
    q, spread = operands((9, 1, 64))[0], torch.tensor([0, 7, 4, 7, 9], dtype=torch.int32)[::2]
    got, like = (
        gradients(lambda x, at=at: tt.varlen_attention(x, x, x, at, at, 5, 5), [q], torch.ones(q.shape))[0]
        for at in (spread, starts([4, 5]))
    )
    assert torch.equal(got, like)


def test_logarithms_of_the_sums():
    q, k = operands((9, 2, 64), (9, 2, 64), grad=True)
    aux = AuxRequest(lse=True)
    out, lse = tt.varlen_attention(q, k, k, starts([4, 5]), starts([4, 5]), 5, 5, return_aux=aux)
    parts = [
        (0.125 * x @ y.mT).logsumexp(-1)
        for x, y in zip(*(t.double().transpose(0, 1).split([4, 5], 1) for t in (q, k)), strict=True)
    ]
    torch.testing.assert_close(lse, torch.cat(parts, 1).float(), rtol=1e-4, atol=1e-4)
    assert (out.requires_grad, lse.requires_grad) == (True, False)


@pytest.mark.parametrize("window", [(-1, -1), (-1, 0), (3, 4)])
def test_gradients_of_sequences(window):
    lengths = VARLEN[0]
    q, k, v = operands((sum(lengths[0]), 2, 64), (sum(lengths[1]), 1, 64), (sum(lengths[1]), 1, 64))
    grad = operands(q.shape)[0]
    given = (*map(starts, lengths), *map(max, lengths))

    def ours(*x):
        return tt.varlen_attention(*x, *given, window_size=window, enable_gqa=True)

    got = gradients(ours, (q, k, v), grad)
    like = gradients(lambda *x: varlen(*x, *lengths, window), (q, k, v), grad)
    expected = gradients(lambda *x: varlen(*x, *lengths, window), [x.double() for x in (q, k, v)], grad)
    for found, right, other in zip(got, expected, like, strict=True):
        require_close(found, right, other)


@pytest.mark.parametrize(
    ("cu_seq_q", "cu_seq_k"), [([0], [0]), ([0, 0], [0, 0]), ([0, 2, 5], [0, 0, 0]), ([0, 0, 0], [0, 2, 5])]
)
def test_no_sequences_and_none_with_rows(cu_seq_q, cu_seq_k):
    """Results and gradients are there, and 0 where there are queries without keys."""
    q, k = operands((5, 1, 64), (5, 1, 64))
    longest = [max((b - a for a, b in pairwise(x)), default=0) for x in (cu_seq_q, cu_seq_k)]
    at = [torch.tensor(x, dtype=torch.int32) for x in (cu_seq_q, cu_seq_k)]
    aux = AuxRequest(lse=True)
    out, lse = tt.varlen_attention(q, k, k, *at, *longest, return_aux=aux)
    assert torch.equal(out[: cu_seq_q[-1]], torch.zeros_like(q[: cu_seq_q[-1]]))
    assert (lse[:, : cu_seq_q[-1]] == -torch.inf).all()
    found = gradients(lambda *x: tt.varlen_attention(*x, *at, *longest), (q, k, k), torch.ones(q.shape))
    assert all(torch.equal(x, torch.zeros_like(x)) for x in found)


@pytest.mark.parametrize("window", [(-1, 2**31 - 1), (2**31 - 1, -1), (2**31 - 71, 2**31 - 1), (2**31, 2**40)])
@pytest.mark.parametrize("depth", [64, 256])
def test_windows_that_hide_nothing(depth, window):
    q = operands((70, 1, depth))[0]

    def ours(window):
        return lambda x: tt.varlen_attention(x, x, x, starts([70]), starts([70]), 70, 70, window_size=window)

    assert torch.equal(ours(window)(q), ours((-1, -1))(q))
    assert torch.equal(*(gradients(ours(x), [q], torch.ones(q.shape))[0] for x in (window, (-1, -1))))


Q = torch.zeros(1, 2, 4, 64, dtype=torch.bfloat16)
ROWS = torch.zeros(4, 2, 64, dtype=torch.bfloat16)
STARTS = torch.tensor([0, 4], dtype=torch.int32)


def call(**changed):
    given = {"query": Q, "key": Q, "value": Q, **changed}
    return lambda: tt.scaled_dot_product_attention(**given)


def call_varlen(**changed):
    given = {"query": ROWS, "key": ROWS, "value": ROWS, "cu_seq_q": STARTS, "cu_seq_k": STARTS, "max_q": 4, "max_k": 4}
    return lambda: tt.varlen_attention(**{**given, **changed})


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (call(query=3), TypeError, r"expected query to be a torch.Tensor, but got int"),
        (call(key=Q[0, 0, 0]), ValueError, r"key \(64,\) must have at least 2 modes"),
        (call(query=Q.float()), TypeError, r"query has elements of torch.float32, but it must have torch.bfloat16"),
        (call(key=Q.half()), TypeError, r"key has elements of torch.float16, but query has torch.bfloat16"),
        (call(value=Q.to("meta")), ValueError, r"value is on meta, but query is on cpu"),
        (call(value=Q[0]), ValueError, r"value \(2, 4, 64\) and query \(1, 2, 4, 64\) differ in modes"),
        (call(value=Q[..., :32]), ValueError, r"value \(1, 2, 4, 32\) and query \(1, 2, 4, 64\) must have the same"),
        (call(value=Q[:, :, :3]), ValueError, r"key \(1, 2, 4, 64\) and value \(1, 2, 3, 64\) must have as many rows"),
        (call(key=Q.repeat(1, 2, 1, 1)), ValueError, r"do not broadcast; enable_gqa=True allows fewer heads"),
        (call(query=Q[:, :1], enable_gqa=True), ValueError, r"query has 1 heads, but it must have a multiple of"),
        (call(value=Q[:, :1], enable_gqa=True), ValueError, r"value has 1 heads, but key has 2; they must be equal"),
        (call(is_causal="no"), TypeError, r"expected is_causal to be True or False, but got 'no'"),
        (call(attn_mask=Q, is_causal=True), ValueError, r"attn_mask and is_causal are both given"),
        (call(attn_mask=Q), NotImplementedError, r"attn_mask must be None, or causal_upper_left or causal_lower_right"),
        (call(attn_mask=bias.causal_lower_right(4, 5)), ValueError, r"attn_mask is for 4 queries and 5 keys, but"),
        (call(dropout_p=0.1), NotImplementedError, r"dropout_p is 0.1, but it must be 0"),
        (call(**dict.fromkeys(("query", "key", "value"), Q.repeat(1, 1, 1, 5))), ValueError, r"depth 320, .* 1 to 256"),
        (call(scale="1"), TypeError, r"expected scale to be a float, but got '1'"),
        (call(scale=1j), TypeError, r"expected scale to be a float, but got 1j"),
        (call_varlen(scale=()), TypeError, r"expected scale to be a float, but got \(\)"),
        (call_varlen(query=Q), ValueError, r"query \(1, 2, 4, 64\) must have three modes: rows, heads, depth"),
        (call_varlen(key=ROWS[:, :1], value=ROWS[:, :1]), ValueError, r"2 heads and key 1; enable_gqa=True allows"),
        (call_varlen(cu_seq_q=STARTS.long()), ValueError, r"cu_seq_q is torch.int64 \(2,\), but it must be"),
        (call_varlen(cu_seq_k=None), TypeError, r"expected cu_seq_k to be a torch.Tensor, but got NoneType"),
        (call_varlen(cu_seq_k=STARTS[:1]), ValueError, r"cu_seq_q has 2 elements and cu_seq_k 1; they must be equal"),
        (call_varlen(cu_seq_q=starts([5])), ValueError, r"cu_seq_q is \[0, 5\], but it must .* from 0 to 4 .* query"),
        (call_varlen(cu_seq_k=starts([5])), ValueError, r"cu_seq_k is \[0, 5\], but it must .* from 0 to 4 .* key has"),
        (call_varlen(cu_seq_k=STARTS - 1), ValueError, r"cu_seq_k is \[-1, 3\], but it must ascend or stay, from 0"),
        (call_varlen(cu_seq_q=starts([2, -1]), cu_seq_k=starts([2, 1])), ValueError, r"cu_seq_q is \[0, 2, 1\], but"),
        (call_varlen(max_q=3), ValueError, r"max_q is 3, but it must be 4 or more for cu_seq_q"),
        (call_varlen(max_k=-1), ValueError, r"max_k is -1, but it must be 4 or more for cu_seq_k"),
        (call_varlen(cu_seq_q=STARTS * 0, max_q=-1), ValueError, r"max_q is -1, but it must be 0 or more"),
        (call_varlen(max_q=4.0), TypeError, r"expected max_q to be an int, but got 4.0"),
        (call_varlen(max_k=None), TypeError, r"expected max_k to be an int, but got None"),
        (call_varlen(window_size=None), TypeError, r"expected window_size to be a tuple \(left, right\), but got None"),
        (call_varlen(window_size="ab"), TypeError, r"expected window_size to be a tuple \(left, right\), but got 'ab'"),
        (call_varlen(window_size=(None, 0)), TypeError, r"expected window_size\[0\] to be an int, but got None"),
        (call_varlen(window_size=(0, 1.5)), TypeError, r"expected window_size\[1\] to be an int, but got 1.5"),
        (call_varlen(window_size=(1,)), ValueError, r"window_size is \(1,\), but it must be \(left, right\)"),
        (call_varlen(block_table=STARTS), NotImplementedError, r"block_table must be None"),
        (call_varlen(seqused_k=STARTS), NotImplementedError, r"seqused_k must be None"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(function, error, text):
    with pytest.raises(error, match=rf"^tilewright\.torch\.(scaled_dot_product|varlen)_attention: .*{text}"):
        function()


@pytest.mark.parametrize(
    ("capability", "function", "text"),
    [
        ((7, 5), call(), "needs a device of compute capability 8.0"),
        ((12, 0), call_varlen(), r"varlen_attention is a program of wgmma.*; the operands are on cpu of 12.0"),
        ((8, 0), call(**dict.fromkeys(("query", "key", "value"), Q.repeat(1, 1, 1, 4))), "attention of depth 256 is"),
        ((8, 0), call(query=Q[:, :, :3], attn_mask=bias.causal_lower_right(3, 4)), "attention with a window is"),
    ],
)
def test_a_device_that_lacks_what_is_asked_for(monkeypatch, capability, function, text):
    monkeypatch.setattr(programs, "capability", lambda device: capability)
    with pytest.raises(NotImplementedError, match=text):
        function()


def test_tensors_without_memory():
    """Results and gradients of the meta device are there again, with the shape and the strides of others."""
    q, at = torch.empty(1, 5, 2, 64, dtype=torch.float16, device="meta").transpose(1, 2).requires_grad_(), starts([5])
    out = tt.scaled_dot_product_attention(q, q, q, is_causal=True)
    rows = q.detach()[0].transpose(0, 1).requires_grad_()
    packed = tt.varlen_attention(rows, rows, rows, at.to("meta"), at.to("meta"), 5, 5)
    for x, found in ((q, out), (rows, packed)):
        made = torch.autograd.grad(found.sum(), x)[0]
        for y in (found, made):
            assert (y.device, y.dtype, y.shape, y.stride()) == (x.device, x.dtype, x.shape, x.stride())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, of its first dual number
def test_forward_derivatives_are_refused():
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(Q, Q)
        with pytest.raises(NotImplementedError, match="no forward derivative"):
            tt.scaled_dot_product_attention(dual, Q, Q)


def test_autocast_takes_its_type():
    q, k, v = operands((1, 1, 9, 64), (1, 1, 9, 64), (1, 1, 9, 64), dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        got = tt.scaled_dot_product_attention(q, k, v)
    assert torch.equal(got, tt.scaled_dot_product_attention(*(x.bfloat16() for x in (q, k, v))))


def arguments(right=None, is_varlen=False):
    shape = (9, 1, 64) if is_varlen else (1, 1, 9, 64)
    q, k, v = operands(shape, shape, shape, grad=True)
    found = [starts([4, 5])] * 2 if is_varlen else [None, None]
    return (q, k, v, 0.125, None, right, *found, 9, 9, True)


@pytest.mark.parametrize("is_varlen", [False, True])
def test_torch_finds_nothing_wrong(is_varlen):
    """The schema, the fake kernels and the registration for autograd, as torch itself checks them."""
    given = arguments(0, is_varlen)
    checks = torch.library.opcheck(torch.ops.tilewright.attention.default, given)
    assert set(checks.values()) == {"SUCCESS"}, checks
    q, k, v, *options = (x.detach() if isinstance(x, torch.Tensor) else x for x in given)
    o, lse = torch.ops.tilewright.attention(q, k, v, *options)
    checks = torch.library.opcheck(torch.ops.tilewright.attention_backward.default, (q, q, k, v, o, lse, *options))
    assert set(checks.values()) == {"SUCCESS"}, checks


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_has_it_in_one_graph(dynamic, order):
    """Forward and backward, without a break, for rows inside of heads and heads inside of rows."""

    def function(q, k, v):
        return tt.scaled_dot_product_attention(q * 2, k, v, is_causal=True).sum(-1)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (9, 11):
        shape = [(1, 2, rows, 64)[i] for i in order]
        tensors = [x.permute(order) for x in operands(shape, shape, shape)]
        grad = torch.ones(1, 2, rows, dtype=torch.bfloat16)
        got, expected = gradients(compiled, tensors, grad), gradients(function, tensors, grad)
        assert all(map(torch.equal, got, expected))
        assert torch.equal(compiled(*tensors), function(*tensors))


def test_torch_compile_has_sequences_in_one_graph():
    q, k, v = operands((9, 1, 64), (9, 1, 64), (9, 1, 64))

    def function(q, k, v, at):
        return tt.varlen_attention(q, k, v, at, at, 5, 5, window_size=(-1, 0)) + 1

    torch._dynamo.reset()
    at = starts([4, 5])
    got = torch.compile(function, backend="aot_eager", fullgraph=True)(q, k, v, at)
    assert torch.equal(got, function(q, k, v, at))


def test_a_new_length_compiles_nothing():
    for rows in (3, 70, 130):
        q, k, v = operands((1, 1, rows, 64), (1, 1, rows + 1, 64), (1, 1, rows + 1, 64), grad=True)
        tt.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1 / rows).sum().backward()
        counts = [f.cache_info().currsize for f in (programs.attention, programs.attention_backward)]
        if rows == 3:
            first = counts
    assert counts == first


def test_the_import_leaves_the_programs_alone():
    """`import tilewright.torch` brings in no program; the first call does."""
    from compiling import run_python

    run_python(
        "import sys, tilewright.torch\nassert not [m for m in sys.modules if m.startswith('tilewright.examples')]"
    )
