"""Arguments as torch's users have them: one element, strides that do not matter, no stream, tensors that need grad."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.runtime import make_fake_compact_tensor, make_fake_stream

torch = pytest.importorskip("torch")

from tilewright.torch import custom_op  # noqa: E402 - torch has to be there

_numbers = itertools.count()


@cute.kernel
def twice_kernel(x: cute.Tensor, y: cute.Tensor):
    row, _, _ = cute.arch.block_idx()
    lane, _, _ = cute.arch.thread_idx()
    for i in range(lane, x.shape[1], 32):
        y[row, i] = x[row, i] * 2.0


@cute.jit
def twice(x: cute.Tensor, y: cute.Tensor):
    twice_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[32, 1, 1])


def compiled():
    return cute.compile(twice, torch.ones(4, 4), torch.ones(4, 4))


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1)])
@pytest.mark.parametrize("how", ["jit", "compiled", "debug"])
def test_extents_of_one(shape, how):
    x, y = torch.randn(shape), torch.empty(shape)
    {"jit": twice, "compiled": compiled(), "debug": twice.debug}[how](x, y)
    torch.testing.assert_close(y, 2 * x)


def test_the_layout_of_a_tensor_that_is_marked_has_to_be_clear():
    with pytest.raises(cute.LayoutError, match=r"none has an extent above 1; pass leading_dim"):
        cute.runtime.from_dlpack(torch.ones(1, 1)).mark_layout_dynamic()


@pytest.mark.parametrize(("shape", "strides"), [((5, 1), (1, 77)), ((1, 5), (77, 1))])
def test_the_stride_of_an_extent_of_one_does_not_matter(shape, strides):
    x, y = torch.randn(400).as_strided(shape, strides), torch.empty(shape)
    compiled()(x, y)
    torch.testing.assert_close(y, 2 * x)


def test_other_strides_do_matter():
    with pytest.raises(ValueError, match=r"x.stride\[1\] is 7, but the function was compiled for 1"):
        compiled()(torch.randn(400).as_strided((5, 2), (1, 7)), torch.empty(5, 2))


@cute.jit
def on_stream(x: cute.Tensor, y: cute.Tensor, stream):
    twice_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[32, 1, 1], stream=stream)


def test_no_stream_is_the_current_one():
    x, y = torch.randn(3, 4), torch.empty(3, 4)
    fake = make_fake_compact_tensor(cutlass.Float32, (cute.sym_int(), cute.sym_int()), stride_order=(1, 0))
    function = cute.compile(on_stream, fake, fake, make_fake_stream())
    for call in (on_stream, function):
        y.zero_()
        call(x, y, None)
        torch.testing.assert_close(y, 2 * x)


def test_an_operation_takes_parameters():
    """In the forward function of autograd, and where gradients are off."""
    op = custom_op(f"tilewright_test::twice{next(_numbers)}", compiled(), mutates=["y"])

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.empty_like(x)
            op(x, y)
            return y

        @staticmethod
        def backward(ctx, gradient):
            return 2 * gradient

    x = torch.nn.Parameter(torch.randn(3, 4))
    Twice.apply(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 2))
    with torch.no_grad():
        y = torch.empty(3, 4)
        op(x, y)
    torch.testing.assert_close(y, 2 * x.detach())


@cute.kernel
def wide_kernel(x: cute.Tensor, count: cutlass.Constexpr, alignment: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(count), alignment)
    shared[i] = x[i]
    cute.arch.sync_threads()
    x[i] = shared[31 - i]


@cute.jit
def wide(x: cute.Tensor, count: cutlass.Constexpr, alignment: cutlass.Constexpr):
    wide_kernel(x, count, alignment).launch(block=[32, 1, 1])


def test_shared_memory_that_an_architecture_does_not_have_is_refused_without_one():
    x = np.zeros(32, np.float32)
    said = r"wide_kernel: its shared memory has 280000 bytes, but a block has at most 232448 on sm_90a"
    with pytest.raises(ValueError, match=said):
        assert cute.compile(wide, x, 70000, 16, options="--gpu-arch sm_90a").ptx
    with pytest.raises(ValueError, match=r"at most 101376 on sm_89; take smaller tiles or fewer stages"):
        assert cute.compile(wide, x, 30000, 16, options="--gpu-arch sm_89").ptx
    with pytest.raises(TypeError, match=r"allocate_tensor: byte_alignment has to be an integer .*, but got None"):
        wide(x, 32, None)


def test_a_tensor_without_memory_is_one_to_compile_with():
    x, y = (torch.empty(4, 4, device="meta") for _ in range(2))
    function = cute.compile(twice, x, y)
    real = torch.randn(4, 4)
    result = torch.empty(4, 4)
    function(real, result)
    torch.testing.assert_close(result, 2 * real)
    with pytest.raises(
        ValueError, match=r"x has no memory: it is a fake tensor, to compile with; pass one that has data"
    ):
        twice(x, y)
