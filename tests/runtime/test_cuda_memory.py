"""Pinned memory and the order of streams, with a driver made for the tests; the GPU tests use the real one."""

from __future__ import annotations

import textwrap

import pytest

import test_driver
from places import ORACLES

fake = test_driver.fake

CALLS = """
def calls():
    return [line for line in log() if line not in ("cuDeviceGetCount", "cuDevicePrimaryCtxRetain")]
load()
"""


def run_calls(folder, code):
    return test_driver.run(folder, CALLS + textwrap.dedent(code))


def test_one_stream_waits_for_another(fake):
    code = """
        cuda.order(1, 1, 0x5500)
        assert calls() == ["push 1", "cuEventCreate without timing", "cuEventRecord stream 1",
                         "cuStreamWaitEvent stream 21760", "cuEventDestroy", "pop"], calls()
        for name in ("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent"):
            FAKE.fake_fail(name.encode(), 1)
            error = error_of(lambda: cuda.order(1, 1, 2))
            assert str(error) == f"{name} failed: CUDA_ERROR_INVALID_VALUE (1): an explanation", error
            lines = calls()
            assert lines[-1] == "pop" and ("cuEventDestroy" in lines) == (name != "cuEventCreate"), lines
        FAKE.fake_fail(b"", 0)
        cuda.synchronize_stream(0, 7)
        assert calls() == ["push 0", "cuStreamSynchronize stream 7", "pop"]
    """
    run_calls(fake, code)


def test_a_number_of_a_stream(fake):
    code = """
        assert [cuda.stream_identity(0, stream) for stream in (0, 7, 8, 9)] == [101, 108, 0, 0]
        assert calls() == ["push 0", "pop"] * 4
        assert "there is no CUDA device 2" in str(error_of(lambda: cuda.stream_identity(2, 0), ValueError))
    """
    run_calls(fake, code)


def test_the_device_of_an_address(fake):
    code = "print([cuda.device_of_address(address) for address in (0xD0000, 0xD0001, 0xCFFFF, 0xBAD, 0)])"
    assert test_driver.run(fake, code) == "[1, 1, -1, -1, -1]\n"
    assert test_driver.run(fake, code, FAKE_MISSING="cuPointerGetAttribute") == "[-1, -1, -1, -1, -1]\n"


@pytest.mark.parametrize("missing", ["cuStreamGetId", "cuStreamIsCapturing"])
def test_streams_of_an_old_driver_have_no_number(fake, monkeypatch, missing):
    monkeypatch.setenv("FAKE_MISSING", missing)
    run_calls(fake, "assert cuda.stream_identity(0, 7) == 0")


def test_a_dlpack_consumer_waits(fake):
    code = """
        import sys
        sys.path.insert(0, ORACLES)
        from cpu_device import OnDevice
        from tilewright import Int32, cute
        from tilewright.cute.runtime import from_dlpack
        tensor = from_dlpack(OnDevice(cute.make_rmem_tensor(4, Int32), (2, 1)))
        assert calls() == []
        tensor.__dlpack__(stream=2, max_version=(1, 0))
        assert calls()[2:4] == ["cuEventRecord stream 1", "cuStreamWaitEvent stream 2"]
        tensor.__dlpack__(stream=-1)
        tensor.__dlpack__(stream=1)  # the stream of the kernels themselves
        tensor.__dlpack__()
        assert calls() == []
        FAKE.fake_fail(b"cuStreamWaitEvent", 1)
        print(error_of(lambda: tensor.__dlpack__(stream=2), BufferError))
    """
    printed = run_calls(fake, code.replace("ORACLES", repr(str(ORACLES))))
    assert "stream 2 cannot wait for stream 1: cuStreamWaitEvent failed: CUDA_ERROR_INVALID_VALUE" in printed


def test_pinned_memory(fake):
    code = """
        memory = cuda.allocate_pinned(1, 64)
        assert calls() == ["push 1", "cuMemHostAlloc 64 flags 3", "pop"]
        assert (memory.device, memory.on_host, memory.end - memory.begin) == ("cuda_host:0", True, 64)
        memoryview(memory)[:3] = b"abc"
        capsule = memory.to_capsule(address=memory.address, shape=[64], strides=[1], dtype=(1, 8, 1), device=(3, 0),
                                    copied=False, minor=0)
        del memory
        assert calls() == []
        del capsule
        assert calls() == ["push 1", "cuMemFreeHost", "pop"]
        memory = cuda.allocate_pinned(0, 8)
        calls()
        FAKE.fake_fail(b"cuMemFreeHost", 700)  # whatever happened to the context, freeing is silent
        del memory
        assert calls() == ["push 0", "cuMemFreeHost", "pop"]
        FAKE.fake_fail(b"cuMemHostAlloc", 1)
        assert "cuMemHostAlloc failed" in str(error_of(lambda: cuda.allocate_pinned(0, 8)))
        error_of(lambda: cuda.allocate_pinned(0, 0), ValueError)
        assert "there is no CUDA device 2" in str(error_of(lambda: cuda.allocate_pinned(2, 8), ValueError))
    """
    run_calls(fake, code)


def test_a_forked_child_leaves_pinned_memory_to_its_parent(fake):
    code = """
        memory = cuda.allocate_pinned(0, 8)
        calls()
        child = os.fork()
        if child == 0:
            del memory
            os._exit(len(calls()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        del memory
        assert calls() == ["push 0", "cuMemFreeHost", "pop"]
    """
    run_calls(fake, code)


def test_memory_in_the_order_of_a_stream(fake):
    code = """
        memory = cuda.allocate_async(1, 4096, 7)
        assert calls() == ["push 1", "cuMemAllocAsync 4096 stream 7", "pop"]
        assert (memory.address, memory.bytes, memory.device, memory.stream) == (0xA000, 4096, 1, 7)
        memory.zero()
        assert calls() == ["push 1", "cuMemsetD8Async 0xa000 to 0, 4096 stream 7", "pop"]
        memory.free()
        assert calls() == ["push 1", "cuMemFreeAsync 0xa000 stream 7", "pop"]
        assert memory.address == 0
        assert "has been freed" in str(error_of(memory.zero, ValueError))
        memory.free()  # nothing is left to free
        del memory
        assert calls() == []
        memory = cuda.allocate_async(0, 1, 0)
        calls()
        del memory
        assert calls() == ["push 0", "cuMemFreeAsync 0xa000 stream 0", "pop"]
        assert "must be positive" in str(error_of(lambda: cuda.allocate_async(0, 0, 0), ValueError))
        assert "there is no CUDA device 2" in str(error_of(lambda: cuda.allocate_async(2, 8, 0), ValueError))
        FAKE.fake_fail(b"cuMemAllocAsync", 1)
        assert "cuMemAllocAsync failed" in str(error_of(lambda: cuda.allocate_async(0, 8, 0)))
        assert calls()[-1] == "pop"  # and nothing is freed
        memory = None
        FAKE.fake_fail(b"cuMemFreeAsync", 700)
        memory = cuda.allocate_async(0, 8, 0)
        del memory  # whatever happened to the context, its end is silent
        memory = cuda.allocate_async(0, 8, 0)
        assert "cuMemFreeAsync failed" in str(error_of(memory.free))
        calls()
        del memory
        assert calls() == []
    """
    run_calls(fake, code)


def test_a_driver_without_memory_in_the_order_of_a_stream(fake):
    code = CALLS + "print(error_of(lambda: cuda.allocate_async(0, 8, 0)))"
    for name in ("cuMemAllocAsync", "cuMemFreeAsync"):
        assert f"has no {name} of CUDA 11.2" in test_driver.run(fake, code, FAKE_MISSING=name)


def test_a_forked_child_leaves_memory_of_a_stream_to_its_parent(fake):
    code = """
        memory = cuda.allocate_async(0, 8, 3)
        calls()
        child = os.fork()
        if child == 0:
            refused = "forked" in str(error_of(memory.free))
            del memory
            os._exit(len(calls()) + (not refused))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        del memory
        assert calls() == ["push 0", "cuMemFreeAsync 0xa000 stream 3", "pop"]
    """
    run_calls(fake, code)
