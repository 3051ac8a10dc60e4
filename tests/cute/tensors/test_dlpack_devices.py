"""Memory of other devices through DLPack, the streams that work is ordered by, and what kernels ask of arguments."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pytest

import tilewright as tw
from dlpack_capsules import INT32, FakeTorch, Producer, bytes_of
from tilewright import cute, kernels
from tilewright.cute.runtime import _export, from_dlpack, work_stream

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
    for src, dst in (
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (Producer(shape=(0,), strides=(1,), null_data=True), np.zeros(0, np.uint8)),
    ):
        assert kernels.tiled_copy(src, dst) is dst


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
