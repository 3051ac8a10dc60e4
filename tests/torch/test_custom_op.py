"""Compiled functions as operations of torch, on the CPU: eager, checked by torch, traced and differentiated by it."""

from __future__ import annotations

import itertools

import pytest

import tilewright as cutlass
from tilewright import cute

torch = pytest.importorskip("torch")

from tilewright.torch import custom_op  # noqa: E402 - torch has to be there

_numbers = itertools.count()


@cute.kernel
def _axpy_kernel(
    x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32, n: cutlass.Int32, doubled: cutlass.Constexpr[bool]
):
    i, _, _ = cute.arch.thread_idx()
    if i < n:
        y[i] = a * x[i] + y[i]
        if doubled:
            y[i] = y[i] * 2


@cute.jit
def _axpy(
    x: cute.Tensor, y: cute.Tensor, a: cutlass.Float32, n: cutlass.Int32, doubled: cutlass.Constexpr[bool] = False
):
    _axpy_kernel(x, y, a, n, doubled).launch(block=[64, 1, 1])


def _made(*, doubled=False):
    """An operation of a name that is new, for torch keeps those it has seen."""
    compiled = cute.compile(_axpy, torch.ones(8), torch.ones(8), 1.0, 8, doubled)
    return custom_op(f"tilewright_test::axpy{next(_numbers)}", compiled, mutates=["y"])


def _arguments(n=8):
    return torch.arange(float(n)), torch.ones(n), 3.0, n


def test_eager_calls_write_what_they_say():
    op = _made()
    x, y, a, _ = _arguments()
    assert op(x, y, a, 5) is None
    torch.testing.assert_close(y, torch.tensor([1.0, 4, 7, 10, 13, 1, 1, 1]))
    torch.testing.assert_close(x, torch.arange(8.0))


def test_the_schema_says_what_is_written():
    op = _made()
    schema = op._opoverload._schema
    assert [a.name for a in schema.arguments] == ["x", "y", "a", "n"]  # a Constexpr is no argument
    assert [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write] == ["y"]
    assert str(schema).endswith("-> ()")


def test_sizes_may_change_and_constants_are_fixed():
    op = _made(doubled=True)
    x, y, a, n = _arguments(13)
    op(x, y, a, n)
    torch.testing.assert_close(y, (3 * torch.arange(13.0) + 1) * 2)


def test_torch_finds_nothing_wrong():
    """The schema, the fake kernel and the registration for autograd, as torch itself checks them."""
    op = _made()
    checks = torch.library.opcheck(op, _arguments())
    assert set(checks.values()) == {"SUCCESS"}, checks


def test_a_tensor_that_is_written_and_not_named_is_an_error():
    """torch.compile would go on with what was there before."""
    compiled = cute.compile(_axpy, torch.ones(8), torch.ones(8), 1.0, 8)
    here = r"the kernels write y \(test_custom_op.py:\d+\), but mutates is \[\], .* pass mutates=\['y'\]"
    with pytest.raises(ValueError, match=here):
        custom_op(f"tilewright_test::axpy{next(_numbers)}", compiled, mutates=[])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_has_it_in_one_graph(backend):
    op = _made()

    def function(x, y):
        z = y.clone()
        op(x * 2, z, 0.5, 8)
        return z + 1

    x, y, _, _ = _arguments()
    torch._dynamo.reset()
    got = torch.compile(function, backend=backend, fullgraph=True)(x, y)
    torch.testing.assert_close(got, x + y + 1)
    torch.testing.assert_close(y, torch.ones(8))  # only the clone is written


def test_a_fake_tensor_passes_without_a_launch():
    from torch._subclasses.fake_tensor import FakeTensorMode

    op = _made()
    with FakeTensorMode():
        assert op(torch.ones(8), torch.ones(8), 1.0, 8) is None


def test_names_and_parameters_that_cannot_be():
    compiled = cute.compile(_axpy, torch.ones(8), torch.ones(8), 1.0, 8)
    with pytest.raises(ValueError, match=r"the name 'axpy' needs a namespace: 'mine::axpy'"):
        custom_op("axpy", compiled, mutates=["y"])
    with pytest.raises(ValueError, match=r"mutates has z, but the tensors of .* are x, y"):
        custom_op("tilewright_test::wrong", compiled, mutates=["z"])

    @cute.jit
    def of_a_tuple(x: cute.Tensor, shape: tuple[cutlass.Int32, cutlass.Int32]):
        pass

    compiled = cute.compile(of_a_tuple, torch.ones(8), (2, 3))
    with pytest.raises(ValueError, match=r"the parameter shape is neither a tensor nor a number"):
        custom_op("tilewright_test::tuples", compiled, mutates=[])


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"name": 1}, "expected name to be a str, but got int; pass 'mine::name'"),
        ({"compiled": _axpy}, r"expected compiled to be what cute.compile gives, but got Jit; pass cute.compile\("),
        ({"mutates": "y"}, "expected mutates to be a list of names of tensors, but got 'y'; pass those that are"),
        ({"mutates": None}, "expected mutates to be a list of names of tensors, but got None; pass those that are"),
        ({"mutates": [1]}, r"expected mutates to be a list of names of tensors, but got \[1\]; pass those that are"),
    ],
)
def test_arguments_of_other_types_are_named(changed, text):
    given = {
        "name": "tilewright_test::other",
        "compiled": cute.compile(_axpy, torch.ones(8), torch.ones(8), 1.0, 8),
        "mutates": ["y"],
    }
    with pytest.raises(TypeError, match=rf"^tilewright\.torch\.custom_op: {text}"):
        custom_op(**{**given, **changed})
