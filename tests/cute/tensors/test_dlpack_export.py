"""Tensors that leave through DLPack: whose memory it is, and when it is freed; types, devices, streams, refusals."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from dlpack_capsules import COPIED, INT32, READ_ONLY, Consumer, FakeTorch, Producer, bytes_of, needs_torch, torch
from tilewright import _core, cute
from tilewright.cute.runtime import from_dlpack


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
    assert (again.ctypes.data, again.shape) == (array.ctypes.data, array.shape)
    # The stride of an extent of 1 reaches nothing; NumPy 2.2 makes one of its own.
    assert all(extent == 1 or x == y for extent, x, y in zip(array.shape, again.strides, array.strides, strict=True))
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
