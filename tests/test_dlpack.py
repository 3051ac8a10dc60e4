"""DLPack both ways: capsules of NumPy and torch, and hand-made ones that no library makes.

Where it is easy to go wrong, and the tests of it: here, where no file is named, and for CUDA memory in
gpu/test_dlpack_gpu.py.

versioned and legacy capsules, used_* after taking over
    test_capsule_is_taken_once_and_its_deleter_called_once, test_a_capsule_is_used_once, test_what_is_no_capsule,
    test_export_is_versioned_where_the_consumer_asks_for_it, test_versions_are_pairs
another major version
    test_wrong_major_version_calls_the_deleter_and_touches_nothing_else, test_newer_minor_version_is_fine
deleter: NULL, exactly once, any thread, without the GIL, at exit, nobody's capsule
    test_a_missing_deleter_is_no_deleter, test_malformed_tensors_are_errors_and_are_deleted,
    test_the_producer_is_released_once_after_many_exports, test_an_export_that_nobody_consumes_is_freed,
    test_export_keeps_the_owner_alive_until_the_consumer_is_done, test_the_deleter_runs_on_another_thread,
    test_the_deleter_runs_on_a_thread_that_python_does_not_know,
    test_the_deleter_runs_after_the_interpreter_has_ended, test_the_interpreter_ends_with_a_tensor_alive
read-only memory
    test_read_only, test_export_of_read_only_memory, test_outputs_are_writable_and_injective
NULL strides
    test_null_strides_mean_row_major
extents of 1 and 0, NULL data
    test_size_1_keeps_the_stride_it_came_with, test_size_0_is_an_error,
    test_malformed_tensors_are_errors_and_are_deleted, test_nothing_is_copied_where_there_are_no_elements
stride 0: fine to read, an error to write
    test_stride_0, test_export_of_a_view, test_outputs_are_writable_and_injective
negative strides: bounds from the least to the greatest offset
    test_negative_strides_and_the_bounds_of_memory, test_export_of_a_view, test_export_of_a_copy
byte_offset, alignment
    test_byte_offset_is_added, test_alignment, test_misaligned_elements_are_read,
    test_export_is_versioned_where_the_consumer_asks_for_it
element types: bool, bfloat16, float8, float4, complex, lanes, padding
    test_numpy_types, test_torch_types, test_int128, test_packed_*, test_torch_packed_*, test_element_types_*,
    test_padding_says_nothing_of_whole_bytes, test_torch_types_go_out_again, test_types_without_a_library_go_out_again
devices
    test_device_memory_is_metadata, test_pinned_memory_is_read, test_export_to_a_device,
    test_two_devices_are_an_error_that_names_both
streams
    test_the_stream_of_the_kernels_is_passed, test_memory_that_the_cpu_reads_has_no_stream,
    test_the_stream_of_a_launch_is_passed, test_work_stream_*, test_streams_*, test_a_stream_without_a_driver
the exchange API of C
    test_launcher.py, gpu/test_runtime.py
what the other library refuses: gradients, conjugation, sparse and fake tensors; and what it does not: negation
    test_what_the_other_library_refuses, test_what_torch_refuses
"""

from __future__ import annotations

import ctypes
import fnmatch
import gc
import re
import subprocess
import sys
import threading
import weakref
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright import _core, cute, kernels
from tilewright.cute.runtime import _export, from_dlpack, work_stream

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

READ_ONLY, COPIED, PADDED = 1, 2, 4


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


def test_the_table_above_names_tests():
    named = re.findall(r"test_\w+\*?(?!\S*\.py)", __doc__.replace("\n", " "))
    assert len(named) > 40
    for name in named:
        assert fnmatch.filter(globals(), name), name


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


@pytest.mark.parametrize(("bits", "meant"), [(8, -1), (16, -3), (32, -6), (64, -1), (128, -2)])
def test_negative_strides_that_were_divided_without_their_sign(bits, meant):
    """As CuPy does it: the stride in bytes, taken as an unsigned number, by the element's bytes."""
    size = bits // 8
    came = meant if size == 1 else (2**64 + meant * size) // size
    memory = Producer(bytes(4 * abs(meant) * size), shape=(3,), strides=(came,), dtype=(1, bits, 1))
    memory.managed.tensor.byte_offset = 3 * abs(meant) * size
    assert _core.Memory.from_capsule(memory.__dlpack__()).strides == (meant,)


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
    assert producer.calls[0].get("stream") == (1 if space == "gmem" else None)
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
    with pytest.raises(
        BufferError, match=r"^from_dlpack: tensor: torch has yet to negate this view .* resolve_neg\(\)"
    ):
        from_dlpack(torch.ones(3, dtype=torch.complex64).conj().imag)
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


# ---- streams, inwards ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("device", "stream"), [((2, 1), 1), ((13, 0), 1), ((10, 0), -1)])
def test_the_stream_of_the_kernels_is_passed(device, stream):
    """Without a library that has streams, kernels are launched on the legacy default stream, 1; 0 is not allowed."""
    producer = Producer(b"\x07", shape=(1,), strides=(1,), device=device)
    from_dlpack(producer)
    assert producer.calls == [{"stream": stream, "max_version": (1, 3)}]


@pytest.mark.parametrize(("device", "options"), [((1, 0), {}), ((3, 0), {})])
def test_memory_that_the_cpu_reads_has_no_stream(device, options):
    producer = Producer(b"\x07", shape=(1,), strides=(1,), device=device)
    from_dlpack(producer)
    assert producer.calls == [{"max_version": (1, 3), **options}]


def test_the_stream_of_a_launch_is_passed():
    producer = Producer(b"\x07", shape=(1,), strides=(1,), device=(2, 0))
    for stream, passed in ((0x5500, 0x5500), (2, 2), (0, 1)):
        _export(producer, "tiled_copy: src", stream)
        assert producer.calls[-1]["stream"] == passed


class FakeTorch:
    """As much of torch as is looked at."""

    Tensor = type("Tensor", (), {})

    def __init__(self, initialized, handles):
        self.cuda = self
        self.is_initialized = lambda: initialized
        self.current_stream = lambda device: type("Stream", (), {"cuda_stream": handles[device]})


def test_work_stream_is_the_current_one_of_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(True, {0: 0, 1: 0x7700}))
    assert (work_stream(0), work_stream(1)) == (1, 0x7700)
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(False, {}))
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    assert work_stream(0) == 1


# ---- what kernels ask of their arguments -----------------------------------------------------------------------------


def test_outputs_are_writable_and_injective():
    src, read_only = np.zeros(4, np.float32), np.zeros(4, np.float32)
    read_only.flags.writeable = False
    for dst in (read_only, from_dlpack(read_only)):
        with pytest.raises(ValueError, match=r"^kernels\.tiled_copy: dst is read-only"):
            kernels.tiled_copy(src, dst)
    repeated = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (4,), (0,))
    kernels.tiled_copy(repeated, src)
    assert src.tolist() == [1] * 4
    with pytest.raises(tw.LayoutError, match=r"^kernels\.tiled_copy: dst .* to one element, so writing it is a race"):
        kernels.tiled_copy(src, repeated)


def test_nothing_is_copied_where_there_are_no_elements():
    kernels.tiled_copy(np.zeros((0, 3)), np.zeros((0, 3)))
    empty = Producer(shape=(0,), strides=(1,), null_data=True)
    kernels.tiled_copy(empty, np.zeros(0, np.uint8))


def test_two_devices_are_an_error_that_names_both():
    src = Producer(b"\x07", shape=(1,), strides=(1,), device=(2, 0))
    for dst, there in (
        (np.zeros(1, np.uint8), "cpu"),
        (Producer(b"\x07", shape=(1,), strides=(1,), device=(2, 1)), "cuda:1"),
    ):
        with pytest.raises(
            ValueError, match=rf"^kernels\.tiled_copy: src lies on cuda:0 and dst on {there}; both must be on"
        ):
            kernels.tiled_copy(src, dst)


# ---- the way out -----------------------------------------------------------------------------------------------------

set_name = ctypes.pythonapi.PyCapsule_SetName
set_name.argtypes = [ctypes.py_object, ctypes.c_char_p]
get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
get_pointer.restype = ctypes.c_void_p
get_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class Consumer:
    """Takes a capsule as C code does; `delete` calls the deleter, without the GIL."""

    def __init__(self, capsule):
        self.name = capsule_name(capsule)
        self.address = get_pointer(capsule, self.name)
        self.managed = (ManagedVersioned if self.name == b"dltensor_versioned" else Managed).from_address(self.address)
        assert set_name(capsule, b"used_" + self.name) == 0

    @property
    def deleter(self):
        return ctypes.cast(self.managed.deleter, ctypes.c_void_p).value

    def delete(self):
        self.managed.deleter(self.address)

    @property
    def fields(self):
        tensor = self.managed.tensor
        shape, strides = (list(array[: tensor.ndim]) for array in (tensor.shape, tensor.strides))
        dtype = (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
        return shape, strides, dtype, (tensor.device.type, tensor.device.id)


class Watched(np.ndarray):
    """A NumPy array that can be watched."""


def watched(count=4):
    array = np.arange(count, dtype=np.int32).view(Watched)
    return array, weakref.ref(array)


@pytest.mark.parametrize(
    ("max_version", "version"),
    [(None, None), ((0, 9), None), ((1, 0), (1, 0)), ((1, 1), (1, 1)), ((1, 7), (1, 3)), ((2, 0), (1, 3))],
)
def test_export_is_versioned_where_the_consumer_asks_for_it(max_version, version):
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    consumer = Consumer(from_dlpack(array).__dlpack__(max_version=max_version))
    assert consumer.name == (b"dltensor_versioned" if version else b"dltensor")
    if version:
        assert (consumer.managed.major, consumer.managed.minor, consumer.managed.flags) == (*version, 0)
    assert consumer.fields == ([2, 3], [3, 1], INT32, (1, 0))
    assert (consumer.managed.tensor.data, consumer.managed.tensor.byte_offset) == (array.ctypes.data, 0)
    consumer.delete()


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_export_keeps_the_owner_alive_until_the_consumer_is_done(max_version):
    array, watch = watched()
    consumer = Consumer(from_dlpack(array)[None].__dlpack__(max_version=max_version))
    del array
    gc.collect()
    assert ctypes.c_int32.from_address(consumer.managed.tensor.data + 12).value == 3
    assert watch() is not None
    consumer.delete()
    gc.collect()
    assert watch() is None


@pytest.mark.parametrize("max_version", [None, (1, 0)])
def test_an_export_that_nobody_consumes_is_freed(max_version):
    array, watch = watched()
    capsule = from_dlpack(array).__dlpack__(max_version=max_version)
    del array
    gc.collect()
    assert watch() is not None
    del capsule
    gc.collect()
    assert watch() is None


def test_the_producer_is_released_once_after_many_exports():
    producer = Producer(bytes_of(1, 2), shape=(2,), strides=(1,), dtype=INT32)
    tensor = from_dlpack(producer)
    first, second = (Consumer(tensor.__dlpack__(max_version=(1, 0))) for _ in range(2))
    assert first.address != second.address  # two capsules share no structure
    capsule = tensor.__dlpack__()
    del tensor
    first.delete()
    del capsule
    gc.collect()
    assert producer.deleted == 0
    second.delete()
    assert producer.deleted == 1


def test_the_deleter_runs_on_another_thread():
    array, watch = watched()
    consumer = Consumer(from_dlpack(array).__dlpack__(max_version=(1, 0)))
    del array
    thread = threading.Thread(target=consumer.delete)
    thread.start()
    thread.join()
    gc.collect()
    assert watch() is None


@pytest.mark.skipif(sys.platform != "linux", reason="uses pthread_create of the C library")
def test_the_deleter_runs_on_a_thread_that_python_does_not_know():
    array, watch = watched()
    consumer = Consumer(from_dlpack(array).__dlpack__(max_version=(1, 0)))
    del array
    library, thread = ctypes.CDLL(None), ctypes.c_ulong()
    function, argument = ctypes.c_void_p(consumer.deleter), ctypes.c_void_p(consumer.address)
    assert library.pthread_create(ctypes.byref(thread), None, function, argument) == 0
    assert library.pthread_join(thread, None) == 0
    gc.collect()
    assert watch() is None


AT_EXIT = """
import ctypes, sys
import numpy as np
from tilewright import Int32, cute
from tilewright.cute.runtime import from_dlpack
tensor = {tensor}
capsule = tensor.__dlpack__(max_version=(1, 0))
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
address = get(capsule, b"dltensor_versioned")
ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor_versioned")
deleter = ctypes.c_void_p.from_address(address + 16)
assert ctypes.CDLL(None).__cxa_atexit(deleter, ctypes.c_void_p(address), None) == 0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="uses __cxa_atexit of the C library")
@pytest.mark.parametrize("tensor", ["from_dlpack(np.zeros(4))", "cute.make_rmem_tensor(4, Int32)"])
def test_the_deleter_runs_after_the_interpreter_has_ended(tensor):
    subprocess.run([sys.executable, "-c", AT_EXIT.format(tensor=tensor)], check=True)


def test_export_to_numpy_shares_memory():
    tensor = cute.make_rmem_tensor((2, 3), tw.Float32)
    array = np.from_dlpack(tensor)
    tensor[1, 2] = 2.5
    array[0, 1] = 1.5
    assert (array.shape, array[1, 2], tensor[0, 1]) == ((2, 3), 2.5, 1.5)
    del tensor
    gc.collect()
    assert array.tolist() == [[0, 1.5, 0], [0, 0, 2.5]]


def test_export_of_a_view():
    tensor = from_dlpack(np.arange(24, dtype=np.int32).reshape(4, 6))
    assert np.from_dlpack(tensor[2, None]).tolist() == [12, 13, 14, 15, 16, 17]
    assert np.from_dlpack(cute.zipped_divide(tensor, (2, 3))).shape == (2, 3, 2, 2)
    reverse = from_dlpack(np.arange(20, dtype=np.int32)[15:4:-5])
    assert np.from_dlpack(reverse).tolist() == [15, 10, 5]
    repeated = from_dlpack(np.broadcast_to(np.array([1, 2], np.int32), (3, 2)))
    assert np.from_dlpack(repeated).tolist() == [[1, 2]] * 3
    assert np.from_dlpack(from_dlpack(np.array(2.5)))[()] == 2.5
    dynamic = from_dlpack(np.zeros((4, 8), np.int8)).mark_layout_dynamic()
    assert np.from_dlpack(dynamic).strides == (8, 1)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-9, 9)), max_size=5), st.integers(0, 5))
def test_there_and_back(modes, cut):
    """What goes out is the array that came in, also with modes grouped, and a copy has the same elements."""
    shape, strides = [s for s, _ in modes], [d for _, d in modes]
    ends = [(s - 1) * d for s, d in modes]
    first = -sum(end for end in ends if end < 0)
    base = np.arange(first + sum(end for end in ends if end > 0) + 1, dtype=np.int16)
    array = np.lib.stride_tricks.as_strided(base[first:], shape, [2 * d for d in strides])
    tensor = from_dlpack(array)
    if 0 < cut < len(modes):
        nested = (tuple(shape[:cut]), tuple(shape[cut:]))
        layout = cute.make_layout(nested, stride=(tuple(strides[:cut]), tuple(strides[cut:])))
        tensor = cute.make_tensor(tensor.iterator, layout)
    again, copy = np.from_dlpack(tensor), np.from_dlpack(tensor, copy=True)
    assert (again.ctypes.data, again.shape, again.strides) == (array.ctypes.data, array.shape, array.strides)
    assert again.tolist() == copy.tolist() == array.tolist()
    assert not np.shares_memory(copy, base)


def test_our_tensors_are_imported_again():
    tensor = cute.make_rmem_tensor((2, (2, 2)), tw.BFloat16)
    again = from_dlpack(tensor)
    assert (str(again.layout), again.element_type) == ("(2,2,2):(1,2,4)", tw.BFloat16)
    assert again.data_ptr == tensor.iterator.toint()


@needs_torch
@pytest.mark.parametrize("protocol", ["versioned", "legacy"])
def test_torch_types_go_out_again(protocol):
    types = ("bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "bfloat16",
             "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu")  # fmt: skip
    for dtype in (getattr(torch, name) for name in types):
        array = torch.tensor([[1.0, 0.5, 2.0], [4.0, 0.25, 1.0]]).to(dtype)
        tensor = from_dlpack(array)
        again = torch.from_dlpack(tensor if protocol == "versioned" else tensor.__dlpack__())
        assert (again.dtype, again.stride(), again.data_ptr()) == (dtype, array.stride(), array.data_ptr())


def test_types_without_a_library_go_out_again():
    for dtype, code in ((tw.Int128, (0, 128, 1)), (tw.Float6E2M3FN, (15, 6, 1)), (tw.Float4E2M1FN, (17, 4, 1)),
                        (tw.TFloat32, (2, 32, 1)), (tw.Int4, (0, 4, 1)), (tw.Boolean, (6, 8, 1))):  # fmt: skip
        consumer = Consumer(cute.make_rmem_tensor((4, 2), dtype).__dlpack__(max_version=(1, 0)))
        assert consumer.fields == ([4, 2], [1, 4], code, (1, 0))
        assert consumer.managed.flags == 0  # sub-byte elements are packed, never padded
        consumer.delete()


@needs_torch
def test_torch_packed_fp4_goes_out_as_it_came():
    bits = torch.tensor([[0x10, 0x32], [0x54, 0x76]], dtype=torch.uint8)
    tensor = from_dlpack(bits.view(torch.float4_e2m1fn_x2))
    again = torch.from_dlpack(tensor)
    assert (again.dtype, again.shape, again.stride()) == (torch.float4_e2m1fn_x2, (2, 2), (2, 1))
    assert torch.from_dlpack(tensor[1, None]).view(torch.uint8).tolist() == [0x54, 0x76]
    assert torch.from_dlpack(tensor.__dlpack__(copy=True)).view(torch.uint8).tolist() == bits.tolist()
    consumer = Consumer(tensor[None, 0].__dlpack__(max_version=(1, 0)))  # no pair lies together
    assert consumer.fields == ([2], [4], (17, 4, 1), (1, 0))
    consumer.delete()


def test_export_of_read_only_memory():
    array = np.arange(4)
    array.flags.writeable = False
    tensor = from_dlpack(array)
    assert not np.from_dlpack(tensor).flags.writeable
    consumer = Consumer(tensor.__dlpack__(max_version=(1, 2)))
    assert consumer.managed.flags == READ_ONLY
    consumer.delete()
    with pytest.raises(BufferError, match=r"read-only, which the older protocol cannot say; ask with max_version="):
        tensor.__dlpack__()
    writable = np.from_dlpack(tensor, copy=True)
    writable[0] = 9
    assert (writable.tolist(), array.tolist()) == ([9, 1, 2, 3], [0, 1, 2, 3])


def test_export_of_a_copy():
    base = np.arange(20, dtype=np.int32)
    tensor = from_dlpack(base[15:4:-5])
    consumer = Consumer(tensor.__dlpack__(max_version=(1, 0), copy=True))
    assert (consumer.managed.flags, consumer.fields) == (COPIED, ([3], [-5], INT32, (1, 0)))
    consumer.delete()
    copy = np.from_dlpack(tensor, copy=True)
    base[:] = 0
    assert copy.tolist() == [15, 10, 5]
    assert np.from_dlpack(tensor, copy=False).tolist() == [0, 0, 0]
    packed = from_dlpack(Producer(b"\x21\xf8", shape=(4,), strides=(1,), dtype=(0, 4, 1)))
    consumer = Consumer(packed.__dlpack__(copy=True))
    assert ctypes.string_at(consumer.managed.tensor.data, 2) == b"\x21\xf8"
    consumer.delete()


def test_export_to_a_device():
    tensor = cute.make_rmem_tensor(4, tw.Int32)
    assert tensor.__dlpack_device__() == (1, 0)
    assert Consumer(tensor.__dlpack__(dl_device=(1, 0))).fields[3] == (1, 0)
    with pytest.raises(BufferError, match=r"it lies on cpu, but cuda:1 is asked for; copy it there in its own library"):
        tensor.__dlpack__(dl_device=(2, 1))
    pinned = from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), device=(3, 0)))
    assert pinned.__dlpack_device__() == (3, 0)
    assert [Consumer(pinned.__dlpack__(dl_device=d)).fields[3] for d in (None, (1, 0))] == [(3, 0), (1, 0)]
    device = from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), device=(2, 1)))
    with pytest.raises(BufferError, match=r"it lies on cuda:1, but cuda:0 is asked for"):
        device.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match=r"copy=True is for CPU memory, but it lies on cuda:1; copy it in its own"):
        device.__dlpack__(copy=True)


@pytest.mark.parametrize("kind", [2, 13])
def test_streams_of_an_export(kind, monkeypatch):
    ordered = []
    monkeypatch.setattr(_core.cuda, "order", lambda *streams: ordered.append(streams))
    monkeypatch.setitem(sys.modules, "torch", FakeTorch(True, {0: 0x7700, 1: 0}))
    tensor = from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), device=(kind, 0)))
    assert tensor.__dlpack_device__() == (kind, 0)
    for stream in (None, 1, 2, 0x5500, 0x7700, -1):  # the last two have nothing to wait for
        assert Consumer(tensor.__dlpack__(stream=stream)).fields[3] == (kind, 0)
    assert ordered == [(0, 0x7700, 1), (0, 0x7700, 1), (0, 0x7700, 2), (0, 0x7700, 0x5500)]
    for stream in (0, -2):
        with pytest.raises(ValueError, match=rf"stream {stream} is not a CUDA stream; 1 is the legacy default stream"):
            tensor.__dlpack__(stream=stream)
    for wrong in (1.5, True, "1"):
        with pytest.raises(TypeError, match=r"^__dlpack__: stream is a handle, an integer, or None, but got"):
            tensor.__dlpack__(stream=wrong)
    other = from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), device=(kind, 1)))
    assert Consumer(other.__dlpack__(stream=None)).fields[3] == (kind, 1)  # the default stream is the current one there
    assert len(ordered) == 4


def test_streams_where_there_are_none():
    with pytest.raises(ValueError, match=r"CPU memory has no streams, so stream must be None, but got 1"):
        cute.make_rmem_tensor(4, tw.Int32).__dlpack__(stream=1)
    rocm = from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), device=(10, 0)))
    Consumer(rocm.__dlpack__()).delete()
    with pytest.raises(BufferError, match=r"work on rocm:0 cannot be ordered here"):
        rocm.__dlpack__(stream=3)


@pytest.mark.skipif(_core.cuda.driver_path() is not None, reason="there is a CUDA driver")
def test_a_stream_without_a_driver():
    tensor = from_dlpack(Producer(b"\x07", shape=(1,), strides=(1,), device=(2, 0)))
    with pytest.raises(BufferError, match=r"stream 5 cannot wait for stream 1: no CUDA driver"):
        tensor.__dlpack__(stream=5)


def swizzled():
    layout = cute.make_composed_layout(cute.make_swizzle(2, 0, 2), 0, cute.parse("(4,4):(4,1)"))
    return cute.make_tensor(cute.make_rmem_tensor(16, tw.Int32).iterator, layout)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (swizzled, r"DLPack knows strides only, and S<2,0,2> o 0 o \(4,4\):\(4,1\) is not .* tensor\.layout\.outer\)$"),
        (
            lambda: cute.make_tensor(cute.make_rmem_tensor(8, tw.Int32).iterator, cute.make_identity_layout((4, 2))),
            r"the strides \(1@0,1@1\) lead to coordinates, not to memory; compose a layout of the memory with it",
        ),
        (lambda: cute.make_identity_tensor((4, 2)), r"its elements are computed, not stored; store them into a"),
        (
            lambda: cute.make_tensor(cute.make_ptr(tw.Int32, 64), 4),
            r"the pointer was made from an address, .*; make the tensor with from_dlpack instead",
        ),
        (
            lambda: cute.make_tensor(cute.make_rmem_tensor(8, tw.Float4E2M1FN).iterator + 1, 2),
            r"its first element begins at bit 4 of a byte; begin at an element that fills one",
        ),
        (
            lambda: cute.make_tensor(cute.make_rmem_tensor(8, tw.Int32).iterator, 9),
            r"shape \(9\), strides \(1\): the elements occupy \[0x.*, 0x.*\), which is not inside the owner's memory",
        ),
        (
            lambda: cute.make_tensor(
                cute.make_rmem_tensor(8, tw.Int32).iterator, cute.make_layout((2, 2), stride=(2**61, 2**61))
            ),
            r"shape \(2,2\), strides \(2305843009213693952,2305843009213693952\): .*64 bits",
        ),
    ],
)
def test_what_cannot_be_exported(make, message):
    with pytest.raises(BufferError, match=r"^__dlpack__: cannot export tensor<.*: " + message):
        make().__dlpack__(max_version=(1, 0))


def test_a_copy_ends_where_the_memory_ends():
    with pytest.raises(BufferError, match="an element lies outside the owner's memory"):
        cute.make_tensor(cute.make_rmem_tensor(8, tw.Int32).iterator, 9).__dlpack__(copy=True)


def test_versions_are_pairs():
    for wrong in (1, (1,), "1.0", (1.0, 0)):
        with pytest.raises(TypeError, match=r"^__dlpack__: max_version is \(major, minor\) or None, but got"):
            cute.make_rmem_tensor(4, tw.Int32).__dlpack__(max_version=wrong)


def test_capsules_guard_themselves():
    memory = _core.Memory.allocate(4, 64)
    for shape, strides in (([2], []), ([0], [1]), ([-1], [1])):
        with pytest.raises(ValueError, match="is not the layout of a tensor"):
            memory.to_capsule(address=memory.address, shape=shape, strides=strides, dtype=(1, 8, 1), device=(1, 0),
                              copied=False, minor=0)  # fmt: skip


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
