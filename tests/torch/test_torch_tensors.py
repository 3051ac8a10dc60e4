"""The helpers of cutlass.torch: types, filled matrices, tensors of an element type."""

from __future__ import annotations

import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.runtime import from_dlpack

torch = pytest.importorskip("torch")

from tilewright import torch as products  # noqa: E402 - torch has to be there
from tilewright.torch import tensors as helpers  # noqa: E402

SMALL_FLOATS = [cutlass.Float8E4M3FN, cutlass.Float8E5M2]


@pytest.mark.parametrize(
    "dtype",
    [cutlass.Int8, cutlass.Uint8, cutlass.Int32, cutlass.Int64, cutlass.Float16, cutlass.BFloat16, cutlass.Float32],
)
def test_types_are_those_that_dlpack_brings_back(dtype):
    made = torch.zeros(4, dtype=helpers.dtype(dtype))
    assert from_dlpack(made).element_type is dtype


def test_a_type_that_torch_lacks():
    with pytest.raises(TypeError, match="torch has no type for Float6E2M3FN"):
        helpers.dtype(cutlass.Float6E2M3FN)
    with pytest.raises(TypeError, match="expected an element type"):
        helpers.dtype(torch.float32)


@pytest.mark.parametrize("is_mode0_major", [False, True])
def test_matrices(is_mode0_major):
    torch.manual_seed(0)
    made = helpers.matrix(3, 4, 8, is_mode0_major, cutlass.Float16)
    assert made.shape == (4, 8, 3)
    assert made.stride() == ((1, 4, 32) if is_mode0_major else (8, 1, 32))
    assert made.dtype is torch.float32
    assert set(made.unique().tolist()) == {-2.0, -1.0, 0.0, 1.0}
    assert set(helpers.matrix(3, 4, 8, False, cutlass.Uint8).unique().tolist()) == {0.0, 1.0, 2.0, 3.0}


def test_how_tensors_are_filled():
    kinds, config = helpers.TensorInitType, helpers.RandomInitConfig
    make = helpers.create_and_permute_torch_tensor
    ranged = make((2, 3, 50), torch.int32, (2, 0, 1), kinds.RANDOM, config(min_val=5, max_val=7))
    assert ranged.shape == (50, 2, 3)
    assert ranged.stride() == (1, 150, 50)
    assert set(ranged.unique().tolist()) == {5, 6}
    assert make((4,), torch.float32, init_type=kinds.SCALAR).tolist() == [0.0] * 4
    assert make((4,), torch.bfloat16, init_type=kinds.SKIP).dtype is torch.bfloat16
    normal = make((10000,), torch.float32, init_type=kinds.GAUSSIAN)
    assert abs(float(normal.mean())) < 0.1
    assert 0.9 < float(normal.std()) < 1.1
    assert (
        make((4,), torch.float32, init_type=kinds.SCALAR, init_config=helpers.ScalarInitConfig(3)).tolist() == [3.0] * 4
    )
    given = helpers.GaussianInitConfig(mean=10, std=0.5, scale=2)
    normal = make((10000,), torch.float32, init_type=kinds.GAUSSIAN, init_config=given)
    assert abs(float(normal.mean()) - 20) < 0.1
    assert 0.9 < float(normal.std()) < 1.1
    with pytest.raises(TypeError, match="expected init_config to have mean and std, as GAUSSIAN reads"):
        make((4,), torch.float32, init_type=kinds.GAUSSIAN, init_config=helpers.ScalarInitConfig())


@pytest.mark.parametrize("dtype", [cutlass.Float16, cutlass.Float32, cutlass.Int8, *SMALL_FLOATS])
@pytest.mark.parametrize("is_dynamic", [False, True])
def test_a_tensor_with_the_values_of_another(dtype, is_dynamic):
    data = helpers.matrix(1, 4, 8, True, dtype)[..., 0]
    tensor, stored = helpers.cute_tensor_like(data, dtype, is_dynamic, assumed_align=16)
    assert tensor.element_type is dtype
    assert tensor.iterator.alignment == 16
    assert str(tensor.layout) == ("(?,?):(1,?{i64})" if is_dynamic else "(4,8):(1,4)")
    assert stored.dtype is (torch.uint8 if dtype in SMALL_FLOATS else helpers.dtype(dtype))
    values = [[float(tensor[m, n]) for n in range(8)] for m in range(4)]
    assert values == data.tolist()
    # The two share their memory.
    tensor[1, 2] = 1
    assert stored[1, 2].view(helpers.dtype(dtype)).float() == 1


@pytest.mark.parametrize("dtype", SMALL_FLOATS)
def test_the_values_of_bytes_are_replaced(dtype):
    """Programs whose torch has no eight-bit floats pass bytes, and say what they stand for."""
    stored = torch.zeros(8, 4, dtype=torch.uint8).t()
    tensor = from_dlpack(stored, assumed_align=16)
    tensor.element_type = dtype
    values = torch.arange(-16.0, 16.0).reshape(4, 8)
    helpers.convert_cute_tensor(values, tensor.mark_layout_dynamic(leading_dim=0), dtype)
    assert tensor.element_type is dtype
    torch.testing.assert_close(stored.view(helpers.dtype(dtype)).float(), values.to(helpers.dtype(dtype)).float())


def test_the_element_type_keeps_its_width():
    tensor = from_dlpack(torch.zeros(4, dtype=torch.uint8))
    with pytest.raises(ValueError, match="elements of 8 bits, but those of Float16 have 16; use recast_tensor"):
        tensor.element_type = cutlass.Float16
    with pytest.raises(TypeError, match="element_type: "):
        tensor.element_type = torch.float16


def test_the_values_of_a_tensor_are_replaced():
    tensor, stored = helpers.cute_tensor_like(torch.zeros(4, 8), cutlass.Float16, True)
    values = torch.arange(32.0).reshape(4, 8)
    assert helpers.convert_cute_tensor(values, tensor, cutlass.Float16) is tensor
    torch.testing.assert_close(stored, values.half())


def test_a_kernel_computes_in_small_floats():
    @cute.kernel
    def double(x: cute.Tensor):
        i, _, _ = cute.arch.thread_idx()
        x[i] = (x[i].to(cutlass.Float32) * 2).to(x.element_type)

    @cute.jit
    def launch(x: cute.Tensor):
        double(x).launch(block=[cute.size(x), 1, 1])

    data = torch.tensor([0.5, -1.0, 3.0, 0.0])
    tensor, stored = helpers.cute_tensor_like(data, cutlass.Float8E4M3FN, False)
    launch(tensor)
    torch.testing.assert_close(stored.view(torch.float8_e4m3fn).float(), data * 2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: helpers.matrix(2, 4, 8, True, float), TypeError, "matrix: expected an element type such as"),
        (
            lambda: helpers.matrix(2, 4, 8, True, cutlass.Float16, 3),
            TypeError,
            "matrix: expected init_type",
        ),
        (
            lambda: helpers.create_and_permute_torch_tensor((2, 3), cutlass.Float32),
            TypeError,
            "create_and_permute_torch_tensor: expected dtype to be a torch.dtype",
        ),
        (
            lambda: helpers.cute_tensor_like(1, cutlass.Float16, True),
            TypeError,
            "cute_tensor_like: expected data_ref to be a torch",
        ),
        (
            lambda: helpers.cute_tensor_like(torch.ones(2), float, True),
            TypeError,
            "cute_tensor_like: expected an element type",
        ),
        (
            lambda: converted(torch.ones(2), 1, cutlass.Float16),
            TypeError,
            "convert_cute_tensor: expected cute_tensor to be",
        ),
        (
            lambda: converted(1, None, cutlass.Float16),
            TypeError,
            "convert_cute_tensor: expected f32_torch_tensor to be a",
        ),
        (
            lambda: converted(torch.ones(2), None, float),
            TypeError,
            "convert_cute_tensor: expected an element type such",
        ),
        (lambda: converted(torch.ones(2), None, cutlass.Int4), TypeError, "dtype: torch has no type for Int4"),
    ],
)
def test_errors_name_the_function(call, error, text):
    with pytest.raises(error, match=f"^{text}"):
        call()


def converted(values, tensor, dtype):
    given = helpers.cute_tensor_like(torch.ones(2), cutlass.Float16, False)[0] if tensor is None else tensor
    return helpers.convert_cute_tensor(values, given, dtype)


def test_operands_without_memory_give_no_product():
    a, b = torch.ones(2, 3), torch.ones(3, 4)
    for call in (
        lambda: products.matmul(a, b.to("meta")),
        lambda: products.addmm(torch.ones(4).to("meta"), a, b),
    ):
        with pytest.raises(ValueError, match=r"is on meta, but a is on cpu"):
            call()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: new((2, 3), init_type=SCALAR, init_config=3),
            TypeError,
            "expected init_config to have value, as SCALAR ",
        ),
        (lambda: new((2, 3), init_config=3), TypeError, "expected init_config to have min_val and max_val, as RANDOM "),
        (lambda: new((2, 3.0)), TypeError, r"expected shape to be a tuple of integers, but got tuple \(2, 3.0\)"),
        (lambda: new(2), TypeError, "expected shape to be a tuple of integers, but got int 2"),
        (lambda: new((2, -3)), ValueError, r"shape \(2,-3\) has an extent below 0"),
        (
            lambda: new((2, 3), permute_order=(0, 0)),
            ValueError,
            r"permute_order \(0,0\) must name each of the 2 modes once",
        ),
        (lambda: new((2, 3), permute_order=1), ValueError, "permute_order 1 must name each of the 2 modes once"),
    ],
)
def test_a_new_tensor_refuses_what_does_not_describe_one(call, error, text):
    with pytest.raises(error, match=f"^create_and_permute_torch_tensor: {text}"):
        call()


SCALAR = helpers.TensorInitType.SCALAR


def new(shape, **options):
    return helpers.create_and_permute_torch_tensor(shape, torch.float32, **options)


def test_numbers_of_torch_are_numbers():
    assert new((2, 3), permute_order=(-1, 0)).shape == (3, 2)
    assert int(cutlass.Int32(torch.tensor(3.7))) == 3
    with pytest.raises(TypeError, match=r"^Int32: expected a number, but got .* of type Tensor"):
        cutlass.Int32(torch.zeros(3))
    with pytest.raises(
        TypeError, match=r"^matrix: expected shape to be a tuple of integers, but got tuple \(1, 8, 4.0\)"
    ):
        helpers.matrix(1, 4.0, 8, True, cutlass.Float32)
