"""from_dlpack: capsules of NumPy and torch, and hand-made ones that no library makes."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import weakref
from typing import ClassVar

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core, cute
from tilewright.cute.runtime import from_dlpack

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")

# ---- a producer made by hand -----------------------------------------------------------------------------------------


class Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", Device),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Managed(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", Deleter)]


class ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
capsule_name = ctypes.pythonapi.PyCapsule_GetName
capsule_name.restype = ctypes.c_char_p
capsule_name.argtypes = [ctypes.py_object]

READ_ONLY, PADDED = 1, 4


# A callback must outlive the memory that it frees, also where a failed test keeps that memory.
CALLBACKS = []


class Producer:
    """An object with __dlpack__ over a buffer of bytes; counts the calls of its deleter."""

    alive: ClassVar[list[Producer]] = []  # no producer goes before its tensors

    def __init__(self, data=b"", *, shape=(), strides=(), dtype=(1, 8, 1), versioned=True, version=(1, 0), flags=0,
                 byte_offset=0, device=(1, 0), null_data=False, null_deleter=False, name=None):  # fmt: skip
        self.alive.append(self)
        self.buffer = ctypes.create_string_buffer(bytes(data), max(len(data), 1))
        self.deleted = 0
        self.capsules = []
        self.calls = []
        self.device = device
        self.versioned = versioned
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        self.strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.managed = managed = ManagedVersioned() if versioned else Managed()
        self.name = name or (b"dltensor_versioned" if versioned else b"dltensor")

        def delete(pointer):
            assert pointer == ctypes.addressof(managed)
            self.deleted += 1

        managed.deleter = self.deleter = Deleter() if null_deleter else Deleter(delete)
        CALLBACKS.append(self.deleter)
        if versioned:
            managed.major, managed.minor, managed.flags = *version, flags
        tensor = managed.tensor
        tensor.data = None if null_data else ctypes.addressof(self.buffer)
        tensor.device, tensor.ndim, tensor.dtype = Device(*device), len(shape), DataType(*dtype)
        tensor.shape = ctypes.cast(self.shape, ctypes.POINTER(ctypes.c_int64))
        if strides is not None:
            tensor.strides = ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        tensor.byte_offset = byte_offset

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **options):
        self.calls.append(options)
        if not self.versioned and "max_version" in options:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        self.capsules.append(new_capsule(ctypes.addressof(self.managed), self.name, None))
        return self.capsules[-1]


def bytes_of(*numbers, kind="i"):
    return np.array(numbers, kind).tobytes()


INT32 = (0, 32, 1)


# ---- the protocol ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("versioned", [True, False])
def test_capsule_is_taken_once_and_its_deleter_called_once(versioned):
    producer = Producer(bytes_of(1, 2, 3, 4), shape=(2, 2), strides=(2, 1), dtype=INT32, versioned=versioned)
    tensor = from_dlpack(producer)
    assert producer.calls[0] == {"max_version": (1, 3)}
    assert len(producer.calls) == (1 if versioned else 2)  # the older protocol is asked for after a TypeError
    assert capsule_name(producer.capsules[0]) == (b"used_dltensor_versioned" if versioned else b"used_dltensor")
    assert [tensor[0, 0], tensor[0, 1], tensor[1, 0], tensor[1, 1]] == [1, 2, 3, 4]
    part = tensor[None, 1]
    pointer = part.iterator + 1
    del tensor
    gc.collect()
    assert producer.deleted == 0
    assert part[1] == 4
    del part
    assert pointer.load() == 3
    assert producer.deleted == 0
    del pointer
    gc.collect()
    assert producer.deleted == 1
    producer.capsules.clear()
    gc.collect()
    assert producer.deleted == 1


def test_a_missing_deleter_is_no_deleter():
    producer = Producer(b"\x07", shape=(1,), strides=(1,), null_deleter=True)
    assert from_dlpack(producer)[0] == 7


def test_wrong_major_version_calls_the_deleter_and_touches_nothing_else():
    producer = Producer(version=(2, 0), shape=(1,), strides=(1,))
    producer.managed.tensor.ndim = -77  # reading any field would fail in another way
    with pytest.raises(
        BufferError,
        match=r"^from_dlpack: tensor: the tensor has DLPack version 2\.0, but only version 1 is understood$",
    ):
        from_dlpack(producer)
    assert producer.deleted == 1


def test_newer_minor_version_is_fine():
    assert from_dlpack(Producer(b"\x07", version=(1, 99), shape=(1,), strides=(1,)))[0] == 7


def test_a_capsule_is_used_once():
    producer = Producer(b"\x07", shape=(1,), strides=(1,))
    tensor = from_dlpack(producer)
    stale = type("Stale", (), {"__dlpack__": lambda self, **_: producer.capsules[0]})()
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor: the capsule was used before"):
        from_dlpack(stale)
    assert tensor[0] == 7
    assert producer.deleted == 0


def test_what_is_no_capsule():
    class Wrong:
        def __dlpack__(self, **_):
            return 42

    with pytest.raises(
        BufferError, match=r"^from_dlpack: tensor: __dlpack__ must return a capsule .*, but returned 42$"
    ):
        from_dlpack(Wrong())
    with pytest.raises(BufferError, match=r"must return a capsule named dltensor_versioned or dltensor"):
        from_dlpack(Producer(shape=(1,), strides=(1,), name=b"something"))
    with pytest.raises(TypeError, match=r"^from_dlpack: tensor: expected an array with __dlpack__, but got list$"):
        from_dlpack([1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": (2, -1)}, r"shape \(2,-1\) has a negative extent"),
        ({"shape": (2**40, 2**40)}, r"shape \(1099511627776,1099511627776\), strides .*does not fit into 64 bits"),
        (
            {"shape": (2, 3), "strides": (2**62, 2**62)},
            r"strides \(4611686018427387904,4611686018427387904\): .*64 bits",
        ),
        ({"shape": (2,), "strides": (-(2**57),), "dtype": INT32}, r"the elements lie outside the address space"),
        (
            {"shape": (2,), "strides": (1,), "null_data": True},
            r"shape \(2\) has elements, but the data pointer is NULL",
        ),
        ({"shape": (1,) * 65, "strides": (1,) * 65}, r"the tensor has 65 dimensions; at most 64 are supported"),
    ],
)
def test_malformed_tensors_are_errors_and_are_deleted(change, message):
    producer = Producer(b"\x00" * 8, **{"strides": None, **change})
    with pytest.raises(BufferError, match=message):
        from_dlpack(producer)
    gc.collect()
    assert producer.deleted == 1


def test_missing_shape_is_an_error():
    producer = Producer(b"\x00", shape=(1,), strides=(1,))
    producer.managed.tensor.shape = None
    with pytest.raises(BufferError, match=r"the tensor has 1 dimensions and no shape"):
        from_dlpack(producer)


def test_null_strides_mean_row_major():
    tensor = from_dlpack(Producer(bytes_of(*range(6)), shape=(2, 3), strides=None, dtype=INT32))
    assert str(tensor.layout) == "(2,3):(3,1)"
    assert tensor[1, 0] == 3


def test_byte_offset_is_added():
    tensor = from_dlpack(Producer(bytes_of(*range(6)), shape=(2,), strides=(1,), dtype=INT32, byte_offset=8))
    assert list(tensor) == [2, 3]
    with pytest.raises(IndexError):
        tensor.iterator[-1]  # the owner's memory begins at its first element


def test_rank_0():
    tensor = from_dlpack(np.array(2.5, np.float32))
    assert str(tensor.layout) == "():()"
    assert tensor[()] == 2.5


def test_size_1_keeps_the_stride_it_came_with():
    assert str(from_dlpack(np.zeros((24, 1), np.int32)).layout) == "(24,1):(1,1)"
    assert str(from_dlpack(Producer(b"\x05", shape=(1, 1), strides=(99, -7))).layout) == "(1,1):(99,-7)"


def test_size_0_is_an_error():
    with pytest.raises(
        tw.LayoutError, match=r"^from_dlpack: tensor: shape \(0, 3\) has no elements, and a layout needs"
    ):
        from_dlpack(np.zeros((0, 3)))
    producer = Producer(shape=(0,), strides=(1,), null_data=True)
    with pytest.raises(tw.LayoutError):
        from_dlpack(producer)
    gc.collect()
    assert producer.deleted == 1


def test_stride_0():
    tensor = from_dlpack(np.broadcast_to(np.array([1, 2], np.int32), (3, 2)))
    assert str(tensor.layout) == "(3,2):(0,1)"
    assert list(tensor) == [1, 1, 1, 2, 2, 2]


def test_negative_strides_and_the_bounds_of_memory():
    base = np.arange(20, dtype=np.int32)
    array = base[15:4:-5].reshape(3, 1)  # 15 10 5
    tensor = from_dlpack(array)
    assert tensor.layout.stride[0] == -5
    assert list(tensor) == [15, 10, 5]
    pointer = tensor.iterator
    assert [pointer[i] for i in (0, -1, -10)] == [15, 14, 5]  # the bounds are those of the layout, [-10, 0]
    for outside in (1, -11):
        with pytest.raises(
            IndexError, match=r"^the element at address 0x[0-9a-f]{16} lies outside the owner's memory \["
        ):
            pointer[outside]


def test_read_only():
    array = np.arange(4)
    array.flags.writeable = False
    tensor = from_dlpack(array)
    assert tensor[1] == 1
    with pytest.raises(
        ValueError,
        match=r"^cannot store to ptr<i64, generic> at 0x[0-9a-f]{16}: its owner exported the memory as read-only; "
        r"copy the array first$",
    ):
        tensor[1] = 5
    assert array[1] == 1
    flagged = from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), flags=READ_ONLY))
    with pytest.raises(ValueError, match="read-only"):
        flagged.fill(0)


def test_memory_is_shared_both_ways():
    array = np.zeros((2, 3), np.float32)
    tensor = from_dlpack(array)
    tensor[1, 2] = 2.5
    array[0, 1] = 1.5
    assert (array[1, 2], tensor[0, 1]) == (2.5, 1.5)


def test_the_array_lives_as_long_as_a_view_of_it():
    class Array(np.ndarray):
        """A NumPy array that can be watched."""

    array = np.arange(4, dtype=np.int32).view(Array)
    watch = weakref.ref(array)
    part = from_dlpack(array)[None]
    del array
    gc.collect()
    assert watch() is not None
    assert list(part) == [0, 1, 2, 3]
    del part
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("array", ["numpy.zeros(4)", pytest.param("torch.zeros(4)", marks=needs_torch)])
def test_the_interpreter_ends_with_a_tensor_alive(array):
    module = array.partition(".")[0]
    code = f"import {module}; from tilewright.cute import from_dlpack; t = from_dlpack({array}); p = t[None]"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- devices ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "space", "name"),
    [
        ((2, 1), "gmem", "cuda:1"),
        ((13, 0), "gmem", "cuda_managed:0"),
        ((8, 0), "generic", "metal:0"),
        ((99, 3), "generic", "device_type_99:3"),
    ],
)
def test_device_memory_is_metadata(device, space, name):
    producer = Producer(bytes_of(1, 2), shape=(2,), strides=(1,), dtype=INT32, device=device)
    tensor = from_dlpack(producer)
    assert producer.calls[0].get("stream") == (-1 if space == "gmem" else None)
    assert str(tensor) == f"Tensor<0x{ctypes.addressof(producer.buffer):016x}@{space} o (2,):(1,)>"
    assert str(cute.composition(tensor, cute.make_layout(1))) == f"tensor<ptr<i32, {space}> o 1:0>"
    text = (
        rf"ptr<i32, {space}> at 0x[0-9a-f]{{16}}: this is device memory of {name}, which the CPU does not access; copy"
    )
    with pytest.raises(RuntimeError, match=rf"^cannot load from {text}"):
        tensor[0]
    with pytest.raises(RuntimeError, match=rf"^cannot store to {text}"):
        tensor[0] = 1
    with pytest.raises(RuntimeError, match=rf"^cannot load from {text}"):
        tensor.load()
    memory = tensor.iterator._memory
    with pytest.raises(RuntimeError, match=rf"^the memory of {name} cannot be accessed by the CPU$"):
        memory.load(memory.address, 0, 32)
    with pytest.raises(BufferError):
        memoryview(memory)


def test_pinned_memory_is_read():
    assert from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), device=(3, 0)))[0] == 7


# ---- element types ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*"bhilBHIL", "f2", "f4", "f8", "?"])
def test_numpy_types(dtype):
    array = np.array([0, 1, 1, 0, 1], dtype)[1:]
    tensor = from_dlpack(array)
    assert tensor.element_type.numpy == array.dtype.name
    assert list(tensor) == array.tolist()
    assert [type(x) for x in tensor] == [type(x) for x in array.tolist()]
    assert tensor.load().dtype == array.dtype
    tensor[0] = 0
    assert array[0] == 0


def test_int128():
    numbers = [0, -1, 2**127 - 1, -(2**127), 2**64 + 3]
    data = b"".join((x & (2**128 - 1)).to_bytes(16, "little") for x in numbers)
    producer = Producer(data, shape=(5,), strides=(1,), dtype=(0, 128, 1))
    tensor = from_dlpack(producer)
    assert list(tensor) == numbers == tensor.load().tolist()
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
        assert tensor.load().tolist() == array.to(torch.float64).T.flatten().tolist()
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
    assert list(tensor) == numbers == tensor.load().tolist()
    tensor[2] = 0.125
    assert int.from_bytes(producer.buffer.raw[:4], "little") == word & ~(63 << 12) | 1 << 12
    with pytest.raises(IndexError):
        tensor.iterator[6]


def test_packed_four_bit_integers():
    tensor = from_dlpack(Producer(b"\x21\xf8", shape=(4,), strides=(1,), dtype=(0, 4, 1)))
    assert list(tensor) == [1, 2, -8, -1] == tensor.load().tolist()


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
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor: .*require gradient.*detach"):
        from_dlpack(torch.zeros(3, requires_grad=True))
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor: .*conjugate"):
        from_dlpack(torch.zeros(3, dtype=torch.complex64).conj())
    for unknown in (torch.empty(3, device="meta"), torch.eye(2).to_sparse()):
        with pytest.raises(BufferError, match=r"^from_dlpack: tensor: ."):
            from_dlpack(unknown)


def test_force_tf32():
    array = np.array([1 / 3], np.float32)
    tensor = from_dlpack(array, force_tf32=True)
    assert (tensor.element_type, tensor[0]) == (tw.TFloat32, 0.333251953125)
    assert tensor.load().tolist() == [array[0]]  # as many bits as a float32 has
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
    assert list(from_dlpack(array)) == [1.5, 2.5] == from_dlpack(array).load().tolist()


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


# ---- mark_layout_dynamic: the examples of the documentation ----------------------------------------------------------


def strided(shape, strides):
    """A tensor of bytes with a given layout."""
    reach = sum((s - 1) * d for s, d in zip(shape, strides, strict=True))
    return from_dlpack(Producer(bytes(reach + 1), shape=shape, strides=strides))


A = ((8, 4, 16, 2), (2, 16, 64, 1))
B = ((1, 4, 1, 32, 1), (1, 1, 1, 4, 1))


@pytest.mark.parametrize(
    ("layout", "leading_dim", "expected"),
    [
        (A, None, "(?,?,?,?):(?{i64},?{i64},?{i64},1)"),
        (B, 0, "(?,?,?,?,?):(1,?{i64},?{i64},?{i64},?{i64})"),
        (B, 2, "(?,?,?,?,?):(?{i64},?{i64},1,?{i64},?{i64})"),
        (B, None, "(?,?,?,?,?):(?{i64},1,?{i64},?{i64},?{i64})"),
        (((2, 2), (8, 2)), None, "(?,?):(?{i64},?{i64})"),
        (((3, 4, 2, 5), (5, 0, 0, 1)), None, "(?,?,?,?):(?{i64},0,0,1)"),
        (((2, 2, 3, 4), (2, 1, 4, 12)), 1, "(?,?,?,?):(?{i64},1,?{i64},?{i64})"),
        (((2, 2, 3, 4), (12, 6, 2, 1)), -1, "(?,?,?,?):(?{i64},?{i64},?{i64},1)"),
    ],
)
def test_mark_layout_dynamic(layout, leading_dim, expected):
    tensor = strided(*layout)
    assert tensor.mark_layout_dynamic(leading_dim) is tensor
    assert str(tensor.layout) == expected
    assert (tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride))) == layout


def test_mark_layout_dynamic_with_32_bit_strides():
    tensor = from_dlpack(np.zeros((4, 8), np.int8), use_32bit_stride=True).mark_layout_dynamic()
    assert str(tensor.layout) == "(?,?):(?,1)"
    assert str(tensor).endswith("@generic o (?, ?):(?, 1)>")
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2, 2**31), (0, 0))
    huge = from_dlpack(huge, use_32bit_stride=True)
    huge.layout = cute.make_layout((2, 2**31), stride=(2**31, 1))
    with pytest.raises(
        tw.LayoutError, match=r"reaches offsets from 0 to 4294967295, which 32-bit strides do not hold; use"
    ):
        huge.mark_layout_dynamic()


@pytest.mark.parametrize(
    ("layout", "leading_dim", "message"),
    [
        (A, 1, r"mark_layout_dynamic: Expected strides\[leading_dim\] == 1, but got 16 \(leading_dim 1 of Tensor<"),
        (B, 3, r"mark_layout_dynamic: Expected strides\[leading_dim\] == 1, but got 4 \(leading_dim 3 of Tensor<"),
        (A, 4, r"mark_layout_dynamic: leading_dim 4 is out of range for Tensor<.*>, which has 4 dimensions"),
        (
            ((1, 1, 1), (1, 1, 1)),
            None,
            r"the dimensions 0, 1, 2 of Tensor<.*> all have stride 1, and none has an extent above 1; pass",
        ),
        (
            ((2, 3), (1, 1)),
            None,
            r"the dimensions 0, 1 of Tensor<.*> all have stride 1, and more than one has an extent above 1",
        ),
    ],
)
def test_mark_layout_dynamic_errors(layout, leading_dim, message):
    with pytest.raises(tw.LayoutError, match=message):
        strided(*layout).mark_layout_dynamic(leading_dim)


# ---- mark_compact_shape_dynamic: the examples of the documentation ---------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "marks", "expected"),
    [
        (A, [{"mode": 0, "divisibility": 2}], "(?{div=2},4,16,2):(2,?{i64 div=4},?{i64 div=16},1)"),
        (A, [{"mode": 1, "divisibility": 2}], "(8,?{div=2},16,2):(2,16,?{i64 div=32},1)"),
        (
            A,
            [{"mode": 1, "divisibility": 2}, {"mode": 3, "divisibility": 2}],
            "(8,?{div=2},16,?{div=2}):(?{i64 div=2},?{i64 div=16},?{i64 div=32},1)",
        ),
        (B, [{"mode": 2, "stride_order": (3, 0, 2, 4, 1)}], "(1,4,?,32,1):(0,1,4,?{i64 div=4},0)"),
        (B, [{"mode": 2, "stride_order": (2, 3, 4, 0, 1)}], "(1,4,?,32,1):(0,1,128,4,0)"),
    ],
)
def test_mark_compact_shape_dynamic(layout, marks, expected):
    tensor = strided(*layout)
    for mark in marks:
        assert tensor.mark_compact_shape_dynamic(**mark) is tensor
    assert str(tensor.layout) == expected
    offsets = strided(*layout).layout.offsets()
    assert tensor.layout.offsets().tolist() == offsets.tolist()


def test_mark_compact_shape_dynamic_with_32_bit_strides():
    tensor = from_dlpack(np.zeros((4, 8), np.int8), use_32bit_stride=True).mark_compact_shape_dynamic(1)
    assert str(tensor.layout) == "(4,?):(?,1)"


ORDER = (3, 0, 2, 4, 1)


@pytest.mark.parametrize(
    ("layout", "mark", "message"),
    [
        (
            A,
            {"mode": 3, "stride_order": (0, 1, 2, 3)},
            r"is not compact in the stride order \(0, 1, 2, 3\) \(outermost first\): mode 2 has stride 64",
        ),
        (
            B,
            {"mode": 0, "stride_order": (2, 1, 3, 0, 4)},
            r"mode 3 has stride 4, but the dimensions inside it have 1 el",
        ),
        (((2, 3), (5, 1)), {"mode": 0}, r"is not compact in the stride order \(0, 1\) .*: mode 0 has stride 5, but"),
        (B, {"mode": 0}, r"several modes of Tensor<.*> have the same stride, so their order cannot be deduced; pass"),
        (B, {"mode": 30, "stride_order": ORDER}, r"mode 30 is out of range \[0, 5\) of Tensor<"),
        (
            B,
            {"mode": 3, "stride_order": (2, 1, 2, 3, 4)},
            r"stride_order \(2, 1, 2, 3, 4\) must name each of the 5 modes",
        ),
        (
            B,
            {"mode": 3, "stride_order": range(6)},
            r"stride_order \(0, 1, 2, 3, 4, 5\) must name each of the 5 modes of",
        ),
        (B, {"mode": 0, "divisibility": 4}, r"the extent 1 of mode 0 of Tensor<.*> is not divisible by 4; pass a div"),
    ],
)
def test_mark_compact_shape_dynamic_errors(layout, mark, message):
    with pytest.raises(tw.LayoutError, match=r"^mark_compact_shape_dynamic: .*(" + message + ")"):
        strided(*layout).mark_compact_shape_dynamic(**mark)


def test_the_stride_order_of_an_earlier_mark_stays():
    tensor = strided(*B).mark_compact_shape_dynamic(2, stride_order=(3, 0, 2, 4, 1))
    with pytest.raises(
        tw.LayoutError, match=r"stride_order \(2, 3, 4, 0, 1\) differs from \(3, 0, 2, 4, 1\), the order in which"
    ):
        tensor.mark_compact_shape_dynamic(3, stride_order=(2, 3, 4, 0, 1))
    assert str(tensor.mark_compact_shape_dynamic(1).layout) == "(1,?,?,32,1):(0,1,?{i64},?{i64},0)"


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_memory_guards_itself():
    memory = _core.Memory.allocate(4, 64)
    assert memory.address % 64 == 0
    assert bytes(memory) == bytes(4)
    memory.store(memory.address, 0, 32, 0x01020304)
    assert bytes(memory) == b"\x04\x03\x02\x01"
    assert memory.load(memory.address + 1, 4, 8) == 0x20
    for address, shift, bits in ((-1, 0, 8), (4, 0, 8), (1, 0, 32), (3, 1, 8), (2**40, 0, 8)):
        with pytest.raises(IndexError, match="lies outside the owner's memory"):
            memory.load(memory.address + address, shift, bits)
    for shift, bits in ((0, 0), (8, 8), (1, 64), (0, 65)):
        with pytest.raises(ValueError, match="no element has"):
            memory.load(memory.address, shift, bits)
    for size, alignment in ((-1, 1), (4, 3), (4, 0)):
        with pytest.raises(ValueError, match="is not a block of memory"):
            _core.Memory.allocate(size, alignment)
