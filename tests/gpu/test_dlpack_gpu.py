"""DLPack with CUDA memory, both ways: torch, CuPy and JAX, streams, devices, lifetimes."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright as tw
from tilewright import _core, cute, kernels
from tilewright.cute.runtime import from_dlpack, work_stream

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

# scripts/gpu_check.sh sets this for compute-sanitizer, under which a launch waits for its kernel.
needs_overlap = pytest.mark.skipif(
    "PYTORCH_NO_CUDA_MEMORY_CACHING" in os.environ,
    reason="without torch's caching allocator, as under compute-sanitizer, streams do not overlap",
)

CUDA, CUDA_HOST, CUDA_MANAGED = 2, 3, 13
SLOW = 200_000_000  # cycles: a tenth of a second


@pytest.fixture
def cupy():
    return pytest.importorskip("cupy", reason="CuPy is not installed")


@pytest.fixture
def jax():
    library = pytest.importorskip("jax", reason="JAX is not installed")
    if library.default_backend() != "gpu":
        pytest.skip("JAX is installed without CUDA")
    return library


def arange(count=24, **options):
    return torch.arange(count, device="cuda", **{"dtype": torch.int32, **options})


# ---- inwards ----


def test_import_from_torch():
    array = arange().reshape(4, 6).T
    tensor = from_dlpack(array)
    assert (str(tensor.layout), tensor.memspace, tensor.element_type) == ("(6,4):(1,6)", tw.AddressSpace.gmem, tw.Int32)
    assert tensor.data_ptr == array.data_ptr()
    assert tensor.__dlpack_device__() == (CUDA, array.device.index)
    with pytest.raises(RuntimeError, match=r"this is device memory of cuda:0, which the CPU does not access; copy"):
        tensor[0]


def test_import_from_cupy(cupy):
    array = cupy.arange(24, dtype=cupy.float32).reshape(4, 6)[::-1]
    tensor = from_dlpack(array)
    assert (str(tensor.layout), tensor.data_ptr) == ("(4,6):(-6,1)", array.data.ptr)
    assert kernels.visualize_tv(tensor, cute.parse("(4,6):(1,4)")).values.tolist() == array.get().tolist()


def test_import_of_managed_memory(cupy):
    with cupy.cuda.using_allocator(cupy.cuda.malloc_managed):
        array = cupy.arange(24, dtype=cupy.int32)
    tensor = from_dlpack(array)
    assert tensor.__dlpack_device__()[0] in (CUDA, CUDA_MANAGED)
    assert kernels.visualize_tv(tensor, cute.parse("(4,6):(1,4)")).values.T.ravel().tolist() == list(range(24))
    assert cupy.from_dlpack(tensor).data.ptr == array.data.ptr


def test_import_from_jax(jax):
    array = jax.numpy.arange(24, dtype=jax.numpy.float32) * 2  # computed on a stream of JAX's own
    tensor = from_dlpack(array)
    assert kernels.visualize_tv(tensor, cute.parse("(4,6):(1,4)")).values.T.ravel().tolist() == list(range(0, 48, 2))


def test_pinned_memory_is_read_by_the_cpu():
    array = torch.arange(4, dtype=torch.int32).pin_memory()
    assert list(from_dlpack(array)) == [0, 1, 2, 3]


def test_a_tensor_without_elements():
    with pytest.raises(tw.LayoutError, match=r"shape \(0, 3\) has no elements"):
        from_dlpack(torch.empty(0, 3, device="cuda"))


def test_what_torch_refuses():
    with pytest.raises(BufferError, match=r"^from_dlpack: tensor requires grad, but .*; pass tensor\.detach\(\)$"):
        from_dlpack(torch.zeros(3, device="cuda", requires_grad=True))


class BusyOn:
    """A torch tensor whose last work is on another stream than the current one."""

    def __init__(self, array, stream):
        self.array, self.stream = array, stream

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        with torch.cuda.stream(self.stream):
            return self.array.__dlpack__(**options)


def written_late(stream):
    """A tensor of 24 zeros that becomes ones a while later, on a stream."""
    array = torch.zeros(24, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(SLOW)
        array.fill_(1)
    return array


def test_import_waits_for_the_producer():
    side = torch.cuda.Stream()
    tensor = from_dlpack(BusyOn(written_late(side), side))
    assert kernels.visualize_tv(tensor, cute.parse("(4,6):(1,4)")).values.tolist() == [[1] * 6] * 4


def test_import_waits_for_cupy(cupy):
    torch.cuda.init()  # now torch's stream is the one that is used
    kernel = cupy.ElementwiseKernel(
        "int32 x", "int32 y", "for (long long t = clock64(); clock64() - t < 100000000;); y = x"
    )
    array = cupy.zeros(24, cupy.int32)
    ones = cupy.ones(24, cupy.int32)
    cupy.cuda.runtime.deviceSynchronize()
    with cupy.cuda.Stream(non_blocking=True):
        kernel(ones, array)
        tensor = from_dlpack(array)
    assert kernels.visualize_tv(tensor, cute.parse("(4,6):(1,4)")).values.tolist() == [[1] * 6] * 4


def test_work_stream_is_the_current_one():
    assert work_stream(0) == 1
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert work_stream(0) == side.cuda_stream
    assert work_stream(0) == 1


# ---- outwards ----


def test_export_to_torch():
    array = arange().reshape(4, 6)
    again = torch.from_dlpack(from_dlpack(array)[None, 2])
    assert (again.data_ptr(), again.stride(), again.tolist()) == (array[:, 2].data_ptr(), (6,), [2, 8, 14, 20])
    again[0] = 99
    assert array[0, 2] == 99


def test_export_to_cupy(cupy):
    array = arange(dtype=torch.float16).reshape(4, 6)
    again = cupy.from_dlpack(from_dlpack(array))
    assert (again.data.ptr, again.strides, again.dtype) == (array.data_ptr(), (12, 2), np.float16)
    assert again.get().tolist() == array.tolist()


def test_export_to_jax(jax):
    array = arange(dtype=torch.float32).reshape(4, 6)
    assert np.asarray(jax.dlpack.from_dlpack(from_dlpack(array))).tolist() == array.tolist()


@pytest.mark.parametrize(
    "name", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "float8_e4m3fn"]
)
def test_element_types(name):
    array = torch.zeros(4, 6, dtype=getattr(torch, name), device="cuda")
    again = torch.from_dlpack(from_dlpack(array))
    assert (again.dtype, again.data_ptr()) == (array.dtype, array.data_ptr())


@needs_overlap
def test_export_makes_the_consumer_wait():
    """Work on the current stream, which the kernels use too, is over before the consumer's stream goes on."""
    tensor = from_dlpack(written_late(torch.cuda.current_stream()))
    consumer = torch.cuda.Stream()
    capsule = tensor.__dlpack__(stream=consumer.cuda_stream, max_version=(1, 0))
    assert not torch.cuda.current_stream().query()  # nobody waited here
    with torch.cuda.stream(consumer):
        copy = torch.from_dlpack(capsule).clone()
    consumer.synchronize()
    assert copy.tolist() == [1] * 24


@needs_overlap
def test_export_without_synchronisation():
    consumer = torch.cuda.Stream()
    with torch.cuda.stream(consumer):
        torch.zeros(24, dtype=torch.int32, device="cuda")  # its memory is used again: allocating might wait
    tensor = from_dlpack(written_late(torch.cuda.current_stream()))
    capsule = tensor.__dlpack__(stream=-1, max_version=(1, 0))
    with torch.cuda.stream(consumer):
        assert torch.from_dlpack(capsule).clone().tolist() == [0] * 24
    torch.cuda.synchronize()


@pytest.mark.parametrize("stream", [None, 1, 2])
def test_export_to_the_default_streams(stream):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        tensor = from_dlpack(written_late(side))
        capsule = tensor.__dlpack__(stream=stream)
    again = torch.from_dlpack(capsule)
    if stream == 2:
        torch.cuda.synchronize()
    assert again.tolist() == [1] * 24


def test_another_device_is_refused():
    with pytest.raises(BufferError, match=r"it lies on cuda:0, but cpu is asked for; copy it there in its own library"):
        from_dlpack(arange()).__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match=r"copy=True is for CPU memory, but it lies on cuda:0; copy it in its own"):
        from_dlpack(arange()).__dlpack__(copy=True)


def test_both_ways_while_a_graph_is_captured():
    array, out = arange(), torch.zeros(24, dtype=torch.int32, device="cuda")
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        stream = torch.cuda.current_stream().cuda_stream
        again = torch.from_dlpack(from_dlpack(array).__dlpack__(stream=stream, max_version=(1, 0)))
        out.copy_(again * 2)
    array += 1
    graph.replay()
    assert out.tolist() == list(range(2, 50, 2))


# ---- lifetime ----


@needs_overlap
def test_memory_goes_with_its_last_holder():
    torch.cuda.synchronize()
    gc.collect()
    before = torch.cuda.memory_allocated()
    array = torch.zeros(1 << 20, device="cuda")
    tensor = from_dlpack(array)
    again = torch.from_dlpack(tensor)
    unconsumed = [tensor.__dlpack__(stream=1), tensor.__dlpack__(stream=1, max_version=(1, 0))]
    del array, tensor
    gc.collect()
    assert torch.cuda.memory_allocated() > before
    del unconsumed
    gc.collect()
    assert torch.cuda.memory_allocated() > before
    del again
    gc.collect()
    assert torch.cuda.memory_allocated() == before


@pytest.mark.parametrize("keep", ["tensor", "again", "capsule", "pinned", "tensor, again, capsule, pinned"])
def test_the_interpreter_ends_with_memory_alive(keep):
    code = (
        "import torch; from tilewright import _core; from tilewright.cute import from_dlpack\n"
        "tensor = from_dlpack(torch.zeros(4, device='cuda')); again = torch.from_dlpack(tensor)\n"
        "capsule = tensor.__dlpack__(max_version=(1, 0)); pinned = _core.cuda.allocate_pinned(0, 64)\n"
        f"kept = {keep}\n"
        "del tensor, again, capsule, pinned"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pinned_memory():
    memory = _core.cuda.allocate_pinned(0, 4096)
    assert (memory.dlpack_device, memory.device, memory.on_host) == ((CUDA_HOST, 0), "cuda_host:0", True)
    memoryview(memory)[:4] = b"\x01\x02\x03\x04"
    pointer = cute.Pointer(tw.Uint8, memory.address, tw.AddressSpace.gmem, memory=memory)
    tensor = cute.make_tensor(pointer, 4)
    assert tensor.__dlpack_device__() == (CUDA_HOST, 0)
    again = torch.from_dlpack(tensor.__dlpack__(dl_device=(1, 0)))
    del memory, pointer, tensor
    gc.collect()
    assert (again.device.type, again.tolist()) == ("cpu", [1, 2, 3, 4])
    with pytest.raises(ValueError, match="the size in bytes must be positive"):
        _core.cuda.allocate_pinned(0, 0)
    with pytest.raises(ValueError, match="there is no CUDA device"):
        _core.cuda.allocate_pinned(_core.cuda.device_count(), 64)


# ---- several devices ----


def test_two_devices():
    if torch.cuda.device_count() < 2:
        pytest.skip("one CUDA device only")
    with torch.cuda.device(0):
        array = torch.arange(24, dtype=torch.int32, device="cuda:1")
        tensor = from_dlpack(array)
        assert tensor.__dlpack_device__() == (CUDA, 1)
        assert torch.from_dlpack(tensor).device.index == 1
        side = torch.cuda.Stream("cuda:1")
        assert torch.from_dlpack(tensor.__dlpack__(stream=side.cuda_stream)).data_ptr() == array.data_ptr()
        assert torch.cuda.current_device() == 0
        with pytest.raises(BufferError, match=r"it lies on cuda:1, but cuda:0 is asked for"):
            tensor.__dlpack__(dl_device=(CUDA, 0))
