"""Launches of functions written in Python on a driver made for the tests: devices, contexts, streams, threads."""

from __future__ import annotations

import textwrap

import test_driver
import test_launch_driver

fake = test_driver.fake

TRACED = (
    test_launch_driver.PLANS
    + """
load()
from tilewright import Int32
from tilewright.lang import gpu
from tilewright.lang.compile import CompiledKernel

loaded = []

def function(kernel, device):
    loaded.append((kernel.name, device))
    return cuda.load(device, b"cubin").function(kernel.name, kernel.offsets)

CompiledKernel.function = function  # nothing is compiled
gpu.arch_of = lambda device: "sm_90a"

@cute.kernel
def scale_kernel(x: cute.Tensor, n: Int32):
    pass

@cute.jit
def scale(x: cute.Tensor, n: Int32):
    scale_kernel(x, n).launch(grid=[cute.size(x), 1, 1], block=[n, 1, 1])

def shown(x, n, stream):
    extent = x.tensor.shape[0]
    return f"cuLaunchKernel scale_kernel ({extent},1,1) ({n},1,1) 0 stream {stream} params {x.address} {extent} {n}"

def launches():
    # Of a parameter of 4 bytes the driver made for the tests reads 8.
    lines = [line for line in log() if line.startswith("cuLaunch")]
    return [" ".join([*line.split()[:-2], *(str(int(x) % 2**32) for x in line.split()[-2:])]) for line in lines]
"""
)


def run(folder, code: str) -> str:
    return test_driver.run(
        folder, TRACED + textwrap.dedent(code), FAKE_PARAMETERS="3", FAKE_MISSING="cuFuncGetParamInfo"
    )


def test_each_device_has_its_kernel_context_and_stream(fake):
    code = """
        Array = library(70)
        for device in (0, 1):
            log()
            first, same, other = Array(64, device=device), Array(64, device=device), Array(70, device=device)
            scale(first, 32)
            scale(same, 32)
            scale(other, 33)
            lines = log(False)
            assert set(line for line in lines if line.startswith("push")) == {f"push {device}"}, lines
            assert launches() == [shown(first, 32, 1), shown(same, 32, 70 + device), shown(other, 33, 70 + device)]
        assert loaded == [("scale_kernel", 0), ("scale_kernel", 1)]
        assert scale.entries == 4
    """
    run(fake, code)


def test_what_the_driver_refuses_is_said_each_time(fake):
    code = """
        Array = library(77)
        x, y = Array(64), Array(70)
        scale(x, 32)
        FAKE.fake_fail(b"cuLaunchKernel", 1)
        for operand in (x, x, y, y):
            error = error_of(lambda: scale(operand, 32))
            assert (error.name, error.kernel) == ("CUDA_ERROR_INVALID_VALUE", "scale_kernel"), error
        FAKE.fake_fail(b"", 0)
        for operand in (x, y):
            message = str(error_of(lambda: scale(operand, 2000), ValueError))
            assert "block (2000,1,1) has 2000 along x; it must be from 1 to 1024" in message, message
        launches()
        scale(y, 31)
        assert launches() == [shown(y, 31, 77)]
        child = os.fork()
        if child == 0:
            error = error_of(lambda: scale(x, 32))
            os._exit(0 if "cannot be used in a forked subprocess" in str(error) else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    run(fake, code)


def test_threads_launch_what_they_were_given(fake):
    code = """
        Array = library(70)
        scale(Array(64), 32)
        launches()
        sys.setswitchinterval(1e-6)
        arrays = [Array(64 + i) for i in range(4)]

        def work(x):
            for n in range(1, 41):
                scale(x, n)

        threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(launches()) == sorted(shown(x, n, 70) for x in arrays for n in range(1, 41))
    """
    run(fake, code)
