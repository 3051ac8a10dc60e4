"""The CUDA driver and NVRTC from Python. The driver is one made for the tests; the GPU tests use the real one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

from places import SUPPORT
from tilewright import _core

cuda = _core.cuda
FAKE = Path(__file__).with_name("fake_driver.c")
PRELUDE = """
import ctypes, os, threading
from tilewright._core import cuda

def log(clear=True):
    lines = FAKE.fake_log().decode().splitlines()
    if clear:
        FAKE.fake_clear()
    return lines

def error_of(call, kind=cuda.DriverError):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError("no error")

def one_kernel(function, grid, block, shared, params, pointers=(), *, maps=(), programmatic=False, **options):
    kernel = cuda.Kernel(function, grid, block, shared, params, pointers, maps=maps, programmatic=programmatic)
    return cuda.Prepared([kernel], **options)

def load():
    global FAKE
    FAKE = ctypes.CDLL(cuda.driver_path())
    FAKE.fake_log.restype = ctypes.c_char_p
    function = cuda.load(0, b"cubin").function("kernel")
    FAKE.fake_clear()
    return function
"""


@pytest.fixture(scope="module")
def fake(tmp_path_factory) -> Path:
    """A folder with a libcuda.so.1 that is not NVIDIA's."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("driver")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", folder / "libcuda.so.1", FAKE], check=True)
    return folder


def run(folder: Path, code: str, *, timeout: int = 60, **environment: str) -> str:
    """Run code in a process that finds its driver in a folder."""
    path = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        text=True,
        capture_output=True,
        timeout=timeout,
        env={**os.environ, "LD_LIBRARY_PATH": path, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_without_a_driver(tmp_path):
    (tmp_path / "libcuda.so.1").touch()  # what is no library hides a driver that the machine may have
    code = """
        assert cuda.driver_path() is None
        for call in (cuda.device_count, cuda.driver_version, lambda: cuda.device(0), lambda: cuda.load(0, b"")):
            error = error_of(call)
            assert (error.code, error.name, error.kernel) == (None, "", "")
            print(error)
    """
    lines = run(tmp_path, code).splitlines()
    assert len(lines) == 4
    for line in lines:
        assert line.startswith("no CUDA driver: ")
        assert "libcuda.so.1" in line
        assert "install NVIDIA's driver" in line


def test_old_driver(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "old.c").write_text("int cuGetProcAddress(void) { return 0; }")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", tmp_path / "old.c"], check=True)
    assert "too old" in run(tmp_path, "print(error_of(cuda.device_count))")


def test_missing_function_is_named(fake):
    text = run(fake, "print(error_of(cuda.device_count))", FAKE_MISSING="cuDeviceGetUuid")
    assert "has no cuDeviceGetUuid of CUDA 11.4" in text
    # Some are not needed.
    assert "None" in run(fake, "print(load().parameter_bytes)", FAKE_MISSING="cuFuncGetParamInfo")


def test_a_driver_that_does_not_tell_the_size_of_parameters(fake):
    code = """
        print(load().parameter_bytes)
        FAKE.fake_failed.restype = ctypes.c_char_p
        for call in range(1, 40):
            FAKE.fake_fail_call(call, 1)
            try:
                found = cuda.load(0, b"cubin").function("kernel").parameter_bytes
            except cuda.DriverError:
                continue
            if FAKE.fake_failed() == b"cuFuncGetParamInfo":
                print("failed:", found)
    """
    assert run(fake, code) == "16\nfailed: None\n"


def test_devices(fake):
    code = """
        assert cuda.driver_path().endswith("/libcuda.so.1"), cuda.driver_path()
        assert cuda.driver_version() == 13000
        assert cuda.device_count() == 2
        assert cuda.device(1) == dict(
            name="fake 1", compute_capability=(9, 0), multiprocessors=16, l2_bytes=38, shared_per_block_optin=232448,
            shared_per_multiprocessor=81, registers_per_multiprocessor=82, clock_khz=13, total_memory=1 << 37,
            uuid="GPU-10111213-1415-1617-1819-1a1b1c1d1e1f",
        )
        print(error_of(lambda: cuda.device(2), ValueError))
    """
    assert "no CUDA device 2: the driver finds 2" in run(fake, code)


def test_no_device(fake):
    code = """
        FAKE = ctypes.CDLL(cuda.driver_path())
        FAKE.fake_fail(b"cuInit", 100)
        assert cuda.device_count() == 0
        assert "the driver finds 0" in str(error_of(lambda: cuda.device(0), ValueError))
        assert error_of(lambda: cuda.load(0, b""), ValueError)
        FAKE.fake_fail(b"cuInit", 0)
        assert cuda.device_count() == 2  # what failed is tried again
    """
    run(fake, code)


def test_function_and_launch(fake):
    code = """
        f = load()
        assert (f.name, f.device, f.registers, f.local_bytes) == ("kernel", 0, 40, 0)
        assert (f.static_shared, f.const_bytes, f.max_threads, f.parameter_bytes) == (1024, 64, 512, 16)
        assert f.occupancy(256, 0) == 8
        log()
        params = (7).to_bytes(8, "little") + (9).to_bytes(8, "little")
        f.launch((3, 2, 1), (64, 4, 1), 100, 5, params)
        assert log() == ["push 0", "cuLaunchKernel (3,2,1) (64,4,1) 100 stream 5 params 7 9", "pop"]
    """
    run(fake, code)


def test_the_callers_context_is_restored(fake):
    code = """
        f = load()
        def driver(name, *arguments):
            address, status = ctypes.c_void_p(), ctypes.c_int()
            FAKE.cuGetProcAddress_v2(
                name, ctypes.byref(address), 4000, ctypes.c_ulonglong(0), ctypes.byref(status)
            )
            return ctypes.CFUNCTYPE(ctypes.c_int)(address.value)(*arguments)

        def current():
            context = ctypes.c_void_p()
            driver(b"cuCtxGetCurrent", ctypes.byref(context))
            return context.value

        launch = lambda: f.launch((1, 1, 1), (1, 1, 1), 0, 0, bytes(16))
        driver(b"cuCtxPushCurrent", ctypes.c_void_p(12345))
        FAKE.fake_clear()
        launch()
        cuda.synchronize(1)
        assert log() == [
            "push 0", "cuLaunchKernel (1,1,1) (1,1,1) 0 stream 0 params 0 0", "pop",
            "cuDeviceGetCount", "cuDevicePrimaryCtxRetain", "push 1", "cuCtxSynchronize", "pop",
        ], log(False)
        assert current() == 12345
        for name, call in (("cuLaunchKernel", launch), ("cuModuleLoadData", lambda: cuda.load(1, b"x"))):
            FAKE.fake_fail(name.encode(), 1)
            error_of(call)
            assert current() == 12345, name
        FAKE.fake_fail(b"", 0)
        # Nothing is pushed where the context is current already.
        cuda.synchronize(0)
        context = ctypes.c_void_p()
        driver(b"cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        driver(b"cuCtxPushCurrent", context)
        FAKE.fake_clear()
        launch()
        assert len(log()) == 1
    """
    run(fake, code)


def test_loading_is_allowed_while_a_graph_is_captured(fake):
    code = """
        load()
        cuda.load(0, b"cubin").function("kernel")
        calls = [line for line in log() if "capture" in line or "Module" in line]
        assert calls == [
            "capture mode relaxed", "cuModuleLoadData", "capture mode global",
            "capture mode relaxed", "cuModuleGetFunction kernel", "capture mode global",
        ], calls
    """
    run(fake, code)


def test_driver_errors(fake):
    code = """
        f = load()
        launch = lambda: f.launch((1, 2, 3), (32, 1, 1), 64, 5, bytes(16))
        FAKE.fake_fail(b"cuLaunchKernel", 1)
        error = error_of(launch)
        assert isinstance(error, RuntimeError)
        assert (error.code, error.name, error.kernel) == (1, "CUDA_ERROR_INVALID_VALUE", "kernel")
        assert str(error) == (
            "cuLaunchKernel failed: CUDA_ERROR_INVALID_VALUE (1): an explanation; kernel kernel; grid (1,2,3), "
            "block (32,1,1), 64 bytes of shared memory on stream 5 of device 0"
        ), error
        FAKE.fake_fail(b"cuLaunchKernel", 700)
        assert str(error_of(launch)).endswith("the CUDA context is dead: restart the process")
        FAKE.fake_fail(b"cuModuleLoadData", 209)
        error = error_of(lambda: cuda.load(0, b"x"))
        assert str(error).startswith("cuModuleLoadData failed: an error unknown to the driver (209)"), error
        assert str(error).endswith("device 0 has compute capability 9.0: compile for it")
    """
    run(fake, code)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("(0, 1, 1), (1, 1, 1), 0", "grid (0,1,1) has 0 along x; it must be from 1 to 2147483647"),
        ("(2**31, 1, 1), (1, 1, 1), 0", "grid (2147483648,1,1) has 2147483648 along x"),
        ("(1, 65536, 1), (1, 1, 1), 0", "has 65536 along y; it must be from 1 to 65535"),
        ("(1, 1, 65536), (1, 1, 1), 0", "has 65536 along z; it must be from 1 to 65535"),
        ("(1, 1, 1), (1, 1, 65), 0", "block (1,1,65) has 65 along z; it must be from 1 to 64"),
        ("(1, 1, 1), (513, 1, 1), 0", "block (513,1,1) has 513 threads"),
        ("(1, 1, 1), (32, 32, 1), 0", "has 1024 threads; the kernel, with 40 registers a thread, can have at most 512"),
        ("(1, 1, 1), (1, 1, 1), 231425", "231425 bytes of dynamic shared memory, but it may have 0 to 48128"),
        ("(1, 1, 1), (1, 1, 1), -1", "raises that to at most 231424"),
    ],
)
def test_impossible_launches(fake, arguments, message):
    code = f"""
        f = load()
        print(error_of(lambda: f.launch({arguments}, 0, bytes(16)), ValueError))
        prepared = lambda: one_kernel(f, {arguments}, bytes(16))
        print(error_of(prepared, ValueError))
        assert log() == []
    """
    lines = run(fake, code).splitlines()
    assert all(line.startswith("launch of kernel: ") and message in line for line in lines), lines


def test_parameter_of_another_size(fake):
    code = """
        f = load()
        print(error_of(lambda: f.launch((1, 1, 1), (1, 1, 1), 0, 0, bytes(24)), ValueError))
        print(error_of(lambda: one_kernel(f, (1, 1, 1), (1, 1, 1), 0, bytes(8)), ValueError))
    """
    assert run(fake, code).splitlines() == [
        "launch of kernel: its parameter has 16 bytes, but 24 were given",
        "launch of kernel: its parameter has 16 bytes, but 8 were given",
    ]


def test_dynamic_shared_memory_is_asked_for_once(fake):
    code = """
        f, same = load(), load()
        for size in (48128, 100000, 99999, 100000, 231424):
            f.set_dynamic_shared(size)
        assert log() == ["push 0", "cuFuncSetAttribute 8=100000", "pop", "push 0", "cuFuncSetAttribute 8=231424", "pop"]
        same.set_dynamic_shared(100000)  # of the same kernel: what it may have already is not taken away
        assert log() == ["push 0", "pop"]
        for function in (f, same):
            function.launch((1, 1, 1), (1, 1, 1), 100000, 0, bytes(16))
        f.launch((1, 1, 1), (1, 1, 1), 231424, 0, bytes(16))
        print(error_of(lambda: f.set_dynamic_shared(231425), ValueError))
    """
    assert "gives a block 232448 bytes, of which the kernel has 1024 statically" in run(fake, code)


def test_a_launch_that_may_overlap_with_the_one_before(fake):
    code = """
        f = load()
        prepared = one_kernel(f, (3, 2, 1), (64, 4, 1), 100, bytes(16), [(0, 8, 0)], programmatic=True)
        assert prepared.kernels[0].programmatic
        prepared.launch([9], 5)
        launch = "cuLaunchKernelEx (3,2,1) (64,4,1) 100 stream 5 params 0 9 attribute 6=1 of 1"
        assert log() == ["push 0", launch, "pop"]
        FAKE.fake_fail(b"cuLaunchKernelEx", 1)
        assert str(error_of(lambda: prepared.launch([9], 5))).startswith("cuLaunchKernelEx failed: CUDA_ERROR_INVALID")
    """
    run(fake, code)
    code = """
        f = load()
        one_kernel(f, (1, 1, 1), (1, 1, 1), 0, bytes(16)).launch([], 0)
        print(error_of(lambda: one_kernel(f, (1, 1, 1), (1, 1, 1), 0, bytes(16), programmatic=True)))
    """
    assert "has no cuLaunchKernelEx of CUDA 11.6" in run(fake, code, FAKE_MISSING="cuLaunchKernelEx")


def test_large_clusters_are_allowed(fake):
    code = """
        f = load()
        f.set_nonportable_cluster()
        assert log() == ["push 0", "cuFuncSetAttribute 14=1", "pop"]
        FAKE.fake_fail(b"cuFuncSetAttribute", 1)
        error = error_of(f.set_nonportable_cluster)
        assert (error.code, error.kernel) == (1, "kernel")
    """
    run(fake, code)


def test_forked_child(fake):
    code = """
        import warnings

        def in_child(check):
            child = os.fork()
            if child == 0:
                try:
                    check()
                    os._exit(0)
                except BaseException as error:
                    print(repr(error), flush=True)
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0

        in_child(cuda.device_count)  # the parent has not used CUDA yet
        f = load()
        prepared = one_kernel(f, (1, 1, 1), (1, 1, 1), 0, bytes(16))

        def every_call_fails():
            for call in (
                lambda: cuda.device_count(), lambda: cuda.device(0), lambda: cuda.load(0, b""),
                lambda: cuda.synchronize(0), lambda: f.launch((1, 1, 1), (1, 1, 1), 0, 0, bytes(16)),
                lambda: f.occupancy(32), lambda: f.set_dynamic_shared(50000), lambda: prepared.launch([], 0),
            ):
                error = error_of(call)
                assert "cannot be used in a forked subprocess" in str(error) and "spawn" in str(error), error

        in_child(every_call_fails)
        prepared.launch([], 0)
    """
    run(fake, code)


@pytest.mark.parametrize("step", ["cuGetProcAddress", "cuInit"])
def test_a_fork_while_another_thread_opens_the_driver(fake, step):
    """Each step takes half a second; nobody would finish it in the child."""
    code = """
        import signal, time, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        thread = threading.Thread(target=lambda: cuda.load(0, b""))
        thread.start()
        time.sleep(0.2)
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            try:
                assert cuda.driver_version() == 13000
                assert os.environ["FAKE_SLOW"] != "cuInit" or "forked" in str(error_of(cuda.device_count))
                os._exit(0)
            finally:
                os._exit(1)
        thread.join()
        assert cuda.device_count() == 2
        assert os.waitpid(child, 0)[1] == 0
    """
    run(fake, code, FAKE_SLOW=step)


def test_another_thread_has_no_context_before(fake):
    code = """
        f = load()
        thread = threading.Thread(target=lambda: f.launch((1, 1, 1), (1, 1, 1), 0, 2, bytes(16)))
        thread.start()
        thread.join()
        assert log() == ["push 0", "cuLaunchKernel (1,1,1) (1,1,1) 0 stream 2 params 0 0", "pop"]
    """
    run(fake, code)


def test_launcher_and_bound_reach_the_driver(fake):
    code = f"""
        import sys
        sys.path.insert(0, {str(SUPPORT)!r})
        from launches import array_type

        f = load()
        calls = []
        def slow(src, dst):
            calls.append((src, dst))
            return "slow", one_kernel(f, (2, 1, 1), (32, 1, 1), 8, bytes(16), [(0, 0, 0), (1, 8, 4)], result=1)

        launcher = cuda.Launcher(slow)
        array = array_type(device_type=2)
        a, b = array(data=4096), array(data=8192)
        launch = "cuLaunchKernel (2,1,1) (32,1,1) 8 stream 77 params 4096 8196"
        assert launcher(a, b) == "slow" and launcher(a, b) is b and len(calls) == 1
        assert log() == ["push 0", launch, "pop"]
        bound = slow(a, b)[1].bind(a, b)
        bound()
        bound(stream=5)
        assert log() == ["push 0", launch, "pop", "push 0", launch.replace("77", "5"), "pop"]
        # The second device has neither the kernel nor its launches.
        other = array_type(device_type=2, device_id=1)
        launcher(other(), other())
        launcher(other(), other())
        assert len(calls) == 4
        FAKE.fake_fail(b"cuLaunchKernel", 700)
        for call in (bound, lambda: launcher(a, b)):
            error = error_of(call)
            assert (error.code, error.kernel) == (700, "kernel")
        child = os.fork()
        if child == 0:
            fine = all("forked" in str(error_of(call)) for call in (bound, lambda: launcher(a, b)))
            os._exit(0 if fine else 1)
        assert os.waitpid(child, 0)[1] == 0
    """
    run(fake, code)


def nvrtc_path() -> str:
    spec = find_spec("nvidia")
    for folder in spec.submodule_search_locations if spec else []:
        for found in sorted(Path(folder).glob("*/lib/libnvrtc.so.*")):
            return str(found)
    pytest.skip("NVRTC is not installed by pip")


@pytest.fixture(scope="module")
def nvrtc():
    return cuda.Nvrtc(nvrtc_path())


SOURCE = """
#include "parameter.cuh"
template <int N> __global__ void fill(Parameter p) { if (threadIdx.x < p.count) p.data[threadIdx.x] = N; }
"""
HEADERS = {"parameter.cuh": "struct Parameter { int* data; int count; };"}


def test_compile(nvrtc):
    assert nvrtc.version >= (12, 0)
    assert nvrtc.path == nvrtc_path()
    names = ["fill<3>", "fill<(1 + 3)>"]
    result = nvrtc.compile(SOURCE, "fill.cu", HEADERS, ["-arch=sm_90a", "--ptxas-options=-v"], names)
    assert result.ok, result.log
    assert result.lowered == {names[0]: "_Z4fillILi3EEv9Parameter", names[1]: "_Z4fillILi4EEv9Parameter"}
    assert result.cubin.startswith(b"\x7fELF")
    assert ".target sm_90a" in result.ptx
    assert not result.ptx.endswith("\0")
    for symbol in result.lowered.values():
        assert symbol in result.ptx
        assert symbol.encode() in result.cubin
        assert f"Compiling entry function '{symbol}'" in result.log
    assert "bytes spill stores" in result.log
    assert "registers" in result.log


def test_a_virtual_architecture_has_no_cubin(nvrtc):
    result = nvrtc.compile(SOURCE, "fill.cu", HEADERS, ["-arch=compute_90"], ["fill<3>"])
    assert result.ok
    assert result.cubin is None
    assert result.ptx


@pytest.mark.parametrize(
    ("source", "options", "names", "message"),
    [
        ("__global__ void k() { x; }", [], [], 'bad.cu(1): error: identifier "x" is undefined'),
        ('#include "absent.cuh"', [], [], "absent.cuh"),
        ("", [], ["k<3>"], "k<3>"),
        ("", ["--no-such-option"], [], "unrecognized option --no-such-option"),
    ],
)
def test_what_does_not_compile_is_no_exception(nvrtc, source, options, names, message):
    result = nvrtc.compile(source, "bad.cu", {}, ["-arch=sm_90", *options], names)
    assert not result.ok
    assert message in result.log
    assert (result.cubin, result.ptx, result.lowered) == (None, None, {})


def test_compiling_releases_the_gil(nvrtc):
    import threading
    import time

    compiling, seen = threading.Event(), []

    def watch() -> None:
        compiling.wait()
        while compiling.is_set():
            seen.append(time.perf_counter())
            time.sleep(0.001)

    watcher = threading.Thread(target=watch)
    watcher.start()
    names = [f"fill<{n}>" for n in range(64)]
    compiling.set()
    begin = time.perf_counter()
    result = nvrtc.compile(SOURCE, "fill.cu", HEADERS, ["-arch=sm_90"], names)
    end = time.perf_counter()
    compiling.clear()
    watcher.join()
    assert result.ok
    inside = [t for t in seen if begin < t < end]
    assert len(inside) > 5, f"{len(inside)} looks in {end - begin} s"


def test_zero_bytes_are_refused(nvrtc):
    for arguments in (("a\0", "n", {}, [], []), ("", "n\0", {}, [], []), ("", "n", {"h": "\0"}, [], []),
                      ("", "n", {}, ["-a\0"], []), ("", "n", {}, [], ["a\0"])):  # fmt: skip
        with pytest.raises(ValueError, match="zero byte"):
            nvrtc.compile(*arguments)


def test_no_nvrtc(tmp_path):
    with pytest.raises(OSError, match="absent"):
        cuda.Nvrtc(str(tmp_path / "absent.so"))
    with pytest.raises(OSError, match="has no nvrtcVersion"):
        cuda.Nvrtc("libc.so.6")
