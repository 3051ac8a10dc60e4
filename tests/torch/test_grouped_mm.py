"""grouped_mm as a function of torch, on the CPU: results, gradients, errors, and as an operation."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import tilewright.torch as tt  # noqa: E402 - torch has to be there
from tilewright.torch import programs  # noqa: E402


def matrix(*shape, order=1, seed=0):
    """Random elements; of order 0 the mode before the last is contiguous."""
    torch.manual_seed(seed + sum(shape))
    shape = shape if order else (*shape[:-2], shape[-1], shape[-2])
    made = torch.randn(shape).bfloat16()
    return made if order else made.mT


def ends(*counts):
    return torch.tensor(counts, dtype=torch.int32).cumsum(0, dtype=torch.int32)


def expected(a, b, offs):
    """Each group for itself, in the type of the operands; zeros where there is no group."""
    out = a.new_zeros(a.shape[0], b.shape[2])
    first = 0
    for group, end in enumerate(offs.tolist()):
        out[first:end] = a[first:end] @ b[group]
        first = end
    return out


def require_close(got, right):
    assert float((got.double() - right).norm()) <= 4e-3 * float(right.norm())


@pytest.mark.parametrize("order_a", [0, 1])
@pytest.mark.parametrize("order_b", [0, 1])
@pytest.mark.parametrize("counts", [(130, 0, 64, 6), (8,), (0, 40), (0, 0, 24)])
def test_groups_of_rows(counts, order_b, order_a):
    a, b = matrix(sum(counts), 72, order=order_a), matrix(len(counts), 72, 136, order=order_b)
    offs = ends(*counts)
    got = tt.grouped_mm(a, b, offs=offs)
    assert (got.shape, got.dtype) == ((sum(counts), 136), torch.bfloat16)
    require_close(got, expected(a.double(), b.double(), offs))


def test_rows_behind_the_last_group_do_not_matter():
    a, b, offs = matrix(40, 64), matrix(2, 64, 64), ends(10, 20)
    got = tt.grouped_mm(a, b, offs=offs)
    require_close(got[:30], expected(a.double(), b.double(), offs)[:30])


def test_columns_that_are_no_whole_16_bytes():
    a, b, offs = matrix(20, 64), matrix(2, 64, 20, order=0), ends(7, 13)
    got = tt.grouped_mm(a, b, offs=offs)
    assert got.stride() == (24, 1)  # as torch pads rows
    require_close(got, expected(a.double(), b.double(), offs))


@pytest.mark.parametrize("order", [0, 1])
def test_groups_of_columns(order):
    a, b, offs = matrix(3, 40, 64, order=order), matrix(64, 48, order=order), ends(8, 0, 40)
    got = tt.grouped_mm(a, b, offs=offs)
    right = expected(b.mT.double(), a.mT.double(), offs).mT
    assert got.is_contiguous()
    require_close(got, right)


def test_groups_along_k_and_no_groups():
    a, b, offs = matrix(40, 48), matrix(48, 64), ends(16, 32)
    assert torch.equal(tt.grouped_mm(a, b, offs=offs), torch._grouped_mm(a, b, offs=offs))
    a, b = matrix(2, 40, 48), matrix(2, 48, 64)
    require_close(tt.grouped_mm(a, b), a.double() @ b.double())


def strided(offs):
    """The same ends, every other element."""
    return torch.stack([offs, offs + 1], 1)[:, 0]


@pytest.mark.parametrize("counts", [(7, 13), (20,)])
def test_ends_that_do_not_lie_side_by_side(counts):
    offs, groups = ends(*counts), len(counts)
    a, b, grad = matrix(20, 64), matrix(groups, 64, 24), matrix(20, 24)
    got = gradients(lambda x, y: tt.grouped_mm(x, y, offs=strided(offs)), (a, b), grad)
    right = gradients(lambda x, y: tt.grouped_mm(x, y, offs=offs), (a, b), grad)
    assert all(map(torch.equal, got, right))


def test_nothing_to_multiply():
    assert tt.grouped_mm(matrix(8, 8)[:0], matrix(2, 8, 8), offs=ends(0, 0)).shape == (0, 8)


@pytest.mark.parametrize(
    ("m", "groups", "k", "n"), [(16, 0, 64, 56), (16, 2, 0, 56), (16, 2, 64, 0), (0, 2, 64, 56), (16, 0, 0, 0)]
)
def test_nothing_to_add_up(m, groups, k, n):
    """Zeros, and so are the gradients, whatever strides torch gives to tensors without elements."""
    a, b = torch.ones(m, k).bfloat16(), torch.ones(groups, k, n).bfloat16()
    offs = torch.full((groups,), m, dtype=torch.int32)
    got = tt.grouped_mm(a, b, offs=offs)
    assert torch.equal(got, torch.zeros(m, n).bfloat16())
    for grad, x in zip(gradients(lambda x, y: tt.grouped_mm(x, y, offs=offs), (a, b), got), (a, b), strict=True):
        assert torch.equal(grad, torch.zeros_like(x))
    assert torch.equal(tt.grouped_mm(b.mT.contiguous(), a.mT.contiguous(), offs=offs), got.mT)


def gradients(function, tensors, grad):
    leaves = [x.detach().clone().requires_grad_() for x in tensors]
    return torch.autograd.grad(function(*leaves), leaves, grad)


@pytest.mark.parametrize("order", [0, 1])
def test_gradients(order):
    a, b, offs = matrix(96, 72, order=order), matrix(3, 72, 136, order=order), ends(30, 0, 66)
    grad = matrix(96, 136)
    got = gradients(lambda x, y: tt.grouped_mm(x, y, offs=offs), (a, b), grad)
    right = gradients(lambda x, y: expected(x, y, offs), [x.double() for x in (a, b)], grad.double())
    for ours, theirs in zip(got, right, strict=True):
        require_close(ours, theirs)


def test_a_gradient_that_repeats_a_number():
    a, b, offs = matrix(20, 64).requires_grad_(), matrix(2, 64, 64).requires_grad_(), ends(10, 10)
    tt.grouped_mm(a, b, offs=offs).sum().backward()
    require_close(a.grad, expected(torch.ones(20, 64).double(), b.detach().mT.double(), offs))
    assert b.grad.shape == b.shape


def misaligned(x):
    """The same elements at the same strides, 8 bytes behind an address of whole 16."""
    memory = torch.empty(x.numel() + 4, dtype=x.dtype)
    assert memory.data_ptr() % 16 == 0
    made = memory[4:].as_strided(x.shape, x.stride(), 4)
    return made.copy_(x)


@pytest.mark.parametrize("order", [0, 1])
def test_operands_at_any_address(order):
    """torch takes them, so they are copied."""
    a, b, offs = matrix(24, 64, order=order), matrix(2, 64, 56, order=order), ends(7, 17)
    assert torch.equal(tt.grouped_mm(misaligned(a), misaligned(b), offs=offs), tt.grouped_mm(a, b, offs=offs))
    a, b, offs = matrix(2, 40, 64, order=order), matrix(64, 24, order=order), ends(7, 17)
    assert torch.equal(tt.grouped_mm(misaligned(a), misaligned(b), offs=offs), tt.grouped_mm(a, b, offs=offs))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_gradient_at_any_address(is_compiled):
    """That of a part of what was concatenated begins where the part does."""
    a, b, offs = matrix(16, 64), matrix(2, 64, 56), ends(5, 11)
    side = torch.zeros(16, 4).bfloat16()

    def function(a, b):
        return torch.cat([side, tt.grouped_mm(a, b, offs=offs), side], 1)

    torch._dynamo.reset()
    run = torch.compile(function, backend="aot_eager", fullgraph=True) if is_compiled else function
    grad = matrix(16, 64, seed=1)
    got = gradients(run, (a, b), grad)
    right = gradients(lambda x, y: expected(x, y, offs), [x.double() for x in (a, b)], grad[:, 4:60].double())
    for ours, theirs in zip(got, right, strict=True):
        require_close(ours, theirs)


def test_groups_along_k_at_any_address(monkeypatch):
    """torch's own kernel of a GPU refuses such operands."""
    a, b, offs = misaligned(matrix(40, 48)).requires_grad_(), misaligned(matrix(48, 64)), ends(16, 32)
    plain, seen = torch._grouped_mm, []

    def watched(a, b, **options):
        seen.extend(x.data_ptr() % 16 for x in (a, b))
        return plain(a, b, **options)

    monkeypatch.setattr(torch, "_grouped_mm", watched)
    got = tt.grouped_mm(a, b, offs=offs)
    assert seen == [0, 0]
    assert torch.equal(got, plain(a, b, offs=offs))
    assert got.requires_grad


A, B, OFFS = (torch.zeros(8, 16).bfloat16(), torch.zeros(2, 16, 8).bfloat16(), ends(4, 4))


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"mat_a": 1}, TypeError, "expected mat_a to be a torch.Tensor, but got int"),
        ({"mat_a": A.half()}, TypeError, "mat_a has elements of torch.float16, but it must have torch.bfloat16"),
        ({"mat_b": B[None]}, ValueError, r"mat_b \(1, 2, 16, 8\) must have two modes or three"),
        ({"mat_a": A[:, :8]}, ValueError, r"mat_a \(8, 8\) has 8 columns and mat_b \(2, 16, 8\) has 16 rows"),
        ({"mat_b": torch.zeros(2, 16, 9).bfloat16()}, ValueError, r"mat_b .* has the strides \(144, 9, 1\)"),
        ({"mat_b": B.to("meta")}, ValueError, "mat_b is on meta, but mat_a is on cpu"),
        ({"offs": None}, TypeError, "expected offs to be a torch.Tensor, but got NoneType"),
        ({"offs": OFFS.long()}, ValueError, r"offs is torch.int64 \(2,\), but it must be torch.int32 \(G\)"),
        ({"offs": ends(6, -2)}, ValueError, r"offs is \[6, 4\], but it must ascend or stay, from 0 to 8 at most"),
        ({"offs": ends(6, 6)}, ValueError, r"offs is \[6, 12\], but it must ascend or stay, from 0 to 8 at most"),
        ({"offs": OFFS[:1]}, ValueError, "offs has 1 elements, but there are 2 groups"),
        ({"mat_a": A[None].repeat(2, 1, 1)}, ValueError, "offs must be None where mat_a and mat_b have three modes"),
        ({"bias": A}, NotImplementedError, "bias must be None"),
        ({"out_dtype": torch.float32}, TypeError, "out_dtype is torch.float32, but it must be torch.bfloat16"),
    ],
)
def test_errors_name_the_argument(changed, error, text):
    with pytest.raises(error, match=rf"^tilewright\.torch\.grouped_mm: {text}"):
        tt.grouped_mm(**{"mat_a": A, "mat_b": B, "offs": OFFS, **changed})


def test_a_device_without_wgmma(monkeypatch):
    monkeypatch.setattr(programs, "capability", lambda device: (10, 0))
    with pytest.raises(NotImplementedError, match=r"grouped_mm is a program of wgmma.*on cpu of 10.0"):
        tt.grouped_mm(A, B, offs=OFFS)


def test_torch_finds_nothing_wrong():
    given = (matrix(20, 64).requires_grad_(), matrix(2, 64, 24).requires_grad_(), ends(7, 13))
    checks = torch.library.opcheck(torch.ops.tilewright.grouped_mm.default, given)
    assert set(checks.values()) == {"SUCCESS"}, checks


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_has_it_in_one_graph(dynamic):
    def function(a, b, offs):
        return tt.grouped_mm(a * 2, b, offs=offs).sum(-1)

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for rows in (20, 30):
        a, b, offs = matrix(rows, 64), matrix(2, 64, 24), ends(7, rows - 7)
        grad = torch.ones(rows).bfloat16()
        got = gradients(lambda x, y, offs=offs: compiled(x, y, offs), (a, b), grad)
        right = gradients(lambda x, y, offs=offs: function(x, y, offs), (a, b), grad)
        assert all(map(torch.equal, got, right))


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_has_groups_along_k_in_one_graph(dynamic):
    def function(a, b, offs):
        return tt.grouped_mm(a[:, 8:], b[8:], offs=offs) * 2

    torch._dynamo.reset()
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    a, b, offs, grad = matrix(24, 56), matrix(56, 16), ends(16, 32), matrix(2, 24, 16)
    got = gradients(lambda x, y: compiled(x, y, offs), (a, b), grad)
    right = gradients(lambda x, y: function(x, y, offs), (a, b), grad)
    assert all(map(torch.equal, got, right))
