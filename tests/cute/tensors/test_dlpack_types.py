"""Tensors that come through DLPack: types of elements, alignment, text."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import tilewright as tw
from dlpack_capsules import PADDED, Producer, needs_torch, torch
from tilewright import cute
from tilewright.cute.runtime import from_dlpack

# ---- element types ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*"bhilBHIL", "f2", "f4", "f8", "?"])
def test_numpy_types(dtype):
    array = np.array([0, 1, 1, 0, 1], dtype)[1:]
    tensor = from_dlpack(array)
    assert tensor.element_type.numpy == array.dtype.name
    assert list(tensor) == array.tolist()
    assert [type(x) for x in tensor] == [type(x) for x in array.tolist()]
    assert np.asarray(tensor.load()).dtype == array.dtype
    tensor[0] = 0
    assert array[0] == 0


def test_int128():
    numbers = [0, -1, 2**127 - 1, -(2**127), 2**64 + 3]
    data = b"".join((x & (2**128 - 1)).to_bytes(16, "little") for x in numbers)
    producer = Producer(data, shape=(5,), strides=(1,), dtype=(0, 128, 1))
    tensor = from_dlpack(producer)
    assert list(tensor) == numbers == list(tensor.load())
    tensor[0] = -(2**100)
    assert producer.buffer.raw[:16] == (2**128 - 2**100).to_bytes(16, "little")


@needs_torch
def test_torch_types():
    for dtype, expected in {
        torch.bool: tw.Boolean,
        torch.uint8: tw.Uint8,
        torch.int8: tw.Int8,
        torch.int16: tw.Int16,
        torch.uint16: tw.Uint16,
        torch.int32: tw.Int32,
        torch.int64: tw.Int64,
        torch.float16: tw.Float16,
        torch.bfloat16: tw.BFloat16,
        torch.float32: tw.Float32,
        torch.float64: tw.Float64,
        torch.float8_e4m3fn: tw.Float8E4M3FN,
        torch.float8_e5m2: tw.Float8E5M2,
        torch.float8_e8m0fnu: tw.Float8E8M0FNU,
    }.items():
        array = torch.tensor([[1.0, 0.5, 2.0], [4.0, 0.25, 1.0]]).to(dtype)
        tensor = from_dlpack(array)
        assert tensor.element_type is expected
        assert [tensor[i, j] for i in range(2) for j in range(3)] == array.to(torch.float64).flatten().tolist()
        assert list(tensor.load()) == array.to(torch.float64).T.flatten().tolist()
        tensor[1, 0] = 1
        assert array[1, 0].to(torch.float64) == 1


@needs_torch
def test_torch_packed_fp4_has_its_logical_shape():
    bits = torch.tensor([[0x10, 0x32], [0x54, 0x76]], dtype=torch.uint8)
    tensor = from_dlpack(bits.view(torch.float4_e2m1fn_x2))
    assert (tensor.element_type, tensor.shape, tensor.stride) == (tw.Float4E2M1FN, (2, 4), (4, 1))
    assert [tensor[i, j] for i in range(2) for j in range(4)] == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    tensor[1, 2] = -0.5
    assert bits.tolist() == [[0x10, 0x32], [0x54, 0x79]]


def test_packed_six_bit_elements_cross_bytes():
    numbers = [0.0, 0.125, -7.5, 1.0, 3.5]
    word = sum(tw.Float6E2M3FN._encode(x) << 6 * i for i, x in enumerate(numbers))
    producer = Producer(word.to_bytes(4, "little"), shape=(5,), strides=(1,), dtype=(15, 6, 1))
    tensor = from_dlpack(producer)
    assert list(tensor) == numbers == list(tensor.load())
    tensor[2] = 0.125
    assert int.from_bytes(producer.buffer.raw[:4], "little") == word & ~(63 << 12) | 1 << 12
    with pytest.raises(IndexError):
        tensor.iterator[6]


def test_packed_four_bit_integers():
    tensor = from_dlpack(Producer(b"\x21\xf8", shape=(4,), strides=(1,), dtype=(0, 4, 1)))
    assert list(tensor) == [1, 2, -8, -1] == list(tensor.load())


@pytest.mark.parametrize(
    ("dtype", "flags", "message"),
    [
        ((5, 64, 1), 0, "complex of 64 bits have no counterpart; view it as its real type, with a last dimension of 2"),
        ((0, 32, 4), 0, "int of 32 bits x 4 lanes have no counterpart; view it as an integer type of that width"),
        ((3, 64, 1), 0, "opaque of 64 bits have no counterpart"),
        ((7, 8, 1), 0, "float8_e3m4 have no counterpart"),
        ((11, 8, 1), 0, "float8_e4m3fnuz have no counterpart"),
        ((0, 24, 1), 0, "int of 24 bits have no counterpart"),
        ((200, 8, 1), 0, "type code 200 of 8 bits have no counterpart"),
        ((17, 4, 1), PADDED, "float4_e2m1fn, each padded to a byte have no counterpart"),
    ],
)
def test_element_types_without_counterpart(dtype, flags, message):
    producer = Producer(bytes(64), shape=(2,), strides=(1,), dtype=dtype, flags=flags)
    with pytest.raises(BufferError, match=rf"^from_dlpack: tensor: elements of {message}"):
        from_dlpack(producer)
    gc.collect()
    assert producer.deleted == 1


def test_padding_says_nothing_of_whole_bytes():
    assert from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), flags=PADDED))[0] == 7


def test_packed_pairs_need_one_contiguous_dimension():
    with pytest.raises(
        BufferError,
        match=r"packed Float4E2M1FN needs one dimension of stride 1, but shape \(2,\) has the strides \(2,\)",
    ):
        from_dlpack(Producer(bytes(8), shape=(2,), strides=(2,), dtype=(17, 4, 2)))


def test_numpy_complex():
    with pytest.raises(BufferError, match="complex of 128 bits have no counterpart"):
        from_dlpack(np.zeros(3, complex))


def test_what_the_other_library_refuses():
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor: .*native byte order"):
        from_dlpack(np.zeros(3, ">f4"))


@needs_torch
def test_what_torch_refuses():
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor requires grad, but .*; pass tensor\.detach\(\)$"):
        from_dlpack(torch.zeros(3, requires_grad=True))
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor: .*conjugate"):
        from_dlpack(torch.zeros(3, dtype=torch.complex64).conj())
    with pytest.raises(
        BufferError, match=r"^from_dlpack: tensor: torch has yet to negate this view .* resolve_neg\(\)"
    ):
        from_dlpack(torch.ones(3, dtype=torch.complex64).conj().imag)
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor: ."):
        from_dlpack(torch.eye(2).to_sparse())


@needs_torch
def test_a_tensor_without_memory_has_a_layout():
    tensor = from_dlpack(torch.empty(3, 4, dtype=torch.float16, device="meta"))
    assert (tensor.element_type, str(tensor.layout)) == (tw.Float16, "(3,4):(4,1)")


def test_force_tf32():
    array = np.array([1 / 3], np.float32)
    tensor = from_dlpack(array, force_tf32=True)
    assert (tensor.element_type, tensor[0]) == (tw.TFloat32, 0.333251953125)
    assert list(tensor.load()) == [array[0]]  # as many bits as a float32 has
    with pytest.raises(
        TypeError, match=r"^from_dlpack: tensor: force_tf32 needs elements of type Float32, but they are Int64$"
    ):
        from_dlpack(np.zeros(1, np.int64), force_tf32=True)


# ---- alignment -------------------------------------------------------------------------------------------------------


def aligned(count: int, offset: int, dtype=np.uint8) -> np.ndarray:
    """An array whose address is `offset` bytes after a multiple of 64."""
    raw = np.zeros(count * np.dtype(dtype).itemsize + 128, np.uint8)
    start = -raw.ctypes.data % 64 + offset
    return raw[start : start + count * np.dtype(dtype).itemsize].view(dtype)


def test_alignment():
    array = aligned(8, 16, np.float32)
    assert str(from_dlpack(array).iterator) == "ptr<f32, generic>"
    assert str(from_dlpack(array, assumed_align=16).iterator) == "ptr<f32, generic, align<16>>"
    assert str(from_dlpack(array, 2).iterator) == "ptr<f32, generic, align<2>>"
    assert str(from_dlpack(aligned(8, 2, np.uint8)[:4].view(np.float32)).iterator) == "ptr<f32, generic, align<2>>"
    with pytest.raises(
        ValueError,
        match=r"^from_dlpack: tensor: assumed_align is 32, but the address 0x[0-9a-f]{16} is a multiple of only 16 "
        r"bytes; pass a smaller alignment$",
    ):
        from_dlpack(array, assumed_align=32)
    for wrong in (0, 12, -4, 1.5):
        with pytest.raises(ValueError, match=r"an alignment is a power of two in bytes, but got"):
            from_dlpack(array, assumed_align=wrong)


def test_misaligned_elements_are_read():
    array = aligned(9, 1)[:8].view(np.float32)
    array[:] = [1.5, 2.5]
    assert list(from_dlpack(array)) == [1.5, 2.5] == list(from_dlpack(array).load())


# ---- text, shape and stride ------------------------------------------------------------------------------------------


def test_text_is_that_of_the_documentation():
    array = np.zeros((30, 20), np.float32)
    tensor = from_dlpack(array)
    assert str(tensor.shape) == "(30, 20)"
    assert str(tensor.stride) == "(20, 1)"
    assert str(tensor.memspace) == "generic"
    assert str(tensor.element_type) == "Float32"
    assert str(tensor) == f"Tensor<0x{array.ctypes.data:016x}@generic o (30, 20):(20, 1)>"
    assert tensor.data_ptr == array.ctypes.data


def test_a_view_of_an_imported_tensor_is_an_ordinary_tensor():
    tensor = from_dlpack(np.zeros((4, 8), np.float32))
    for view in (tensor[None, 0], cute.composition(tensor, cute.make_layout(4)), cute.zipped_divide(tensor, (2, 2))):
        assert type(view) is cute.Tensor
