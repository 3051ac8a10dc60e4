"""DLPack both ways: capsules of NumPy and torch, and hand-made ones that no library makes.

Where it is easy to go wrong, and the tests of it: in the files test_dlpack*.py, where no other is named, and for CUDA
memory in gpu/test_dlpack_gpu.py.

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
    test_launcher_libraries.py, gpu/test_runtime.py
what the other library refuses: gradients, conjugation, sparse and fake tensors; and what it does not: negation
    test_what_the_other_library_refuses, test_what_torch_refuses
"""

from __future__ import annotations

import fnmatch
import gc
import re
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from dlpack_capsules import INT32, READ_ONLY, Producer, bytes_of, capsule_name, needs_torch
from tilewright import _core
from tilewright.cute.runtime import from_dlpack


def test_the_table_above_names_tests():
    named = re.findall(r"test_\w+\*?(?!\S*\.py)", __doc__.replace("\n", " "))
    files = Path(__file__).parent.glob("test_dlpack*.py")
    tests = [name for file in files for name in re.findall(r"^def (test_\w+)", file.read_text(), re.M)]
    assert len(named) > 40
    for name in named:
        assert fnmatch.filter(tests, name), name


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
            IndexError, match=r"^Pointer.load: the element at address 0x[0-9a-f]{16} lies outside the owner's memory \["
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
