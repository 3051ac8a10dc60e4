"""Launches of plans on a driver made for the tests: what reaches it, in which order, on which stream."""

from __future__ import annotations

import pickle
import textwrap

import test_driver
from places import ORACLES, SUPPORT

fake = test_driver.fake

PLANS = f"""
import sys
sys.path[:0] = {[str(ORACLES), str(SUPPORT)]!r}
import numpy as np
from cpu_device import OnDevice
from launches import STREAM, Buffers, array_type
from tilewright import LayoutError, cute, kernels, runtime
from tilewright.cute.runtime import from_dlpack
from tilewright.devices import H200
from tilewright.kernels.common import launch

def functions_of(plans, device):
    found = []
    for plan in plans:
        found.append(cuda.load(device, b"cubin").function(plan.name.partition("<")[0]))
        found[-1].set_dynamic_shared(plan.shared_bytes)
    prepared.extend(plans)
    return found

prepared = []
launch.functions_of = functions_of  # nothing is compiled
launch.facts_of = lambda device: H200  # what is planned for

def library(stream):
    class Array(array_type(device_type=2)):
        '''An array that says it is on a GPU.'''
        def __init__(self, *shape, like=None, dtype=np.float32, device=0):
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            memory = np.zeros(size + 256, np.uint8)
            start = -memory.ctypes.data % 256
            self.array = memory[start : start + size].view(dtype).reshape(shape)
            steps = [x // self.array.itemsize for x in self.array.strides]
            modes = ctypes.c_int64 * len(shape)
            super().__init__(
                data=self.array.ctypes.data, ndim=len(shape), shape=modes(*shape), strides=modes(*steps),
                bits=8 * self.array.itemsize, device_id=device,
            )
            self.address, self.exported = self.array.ctypes.data, OnDevice(from_dlpack(self.array), (2, device))
        def __dlpack_device__(self):
            return self.exported.device
        def __dlpack__(self, **options):
            return self.exported.__dlpack__(**options)

    Array.api.stream = STREAM(lambda kind, device, out: out.__setitem__(0, stream + device) or 0)
    return Array

def driver_calls():
    return [x for x in log() if x.startswith(("cuLaunch", "cuMem"))]

def kernels_of(lines):
    return [line.split()[1] for line in lines if line.startswith("cuLaunch")]

def words(line):
    return tuple(map(int, line.partition(" params ")[2].split()[:2]))
"""
MISSING = {"FAKE_MISSING": "cuFuncGetParamInfo"}  # then kernels may have parameters of any size


def run(folder, code: str, timeout: int = 60) -> str:
    return test_driver.run(folder, PLANS + "load()\n" + textwrap.dedent(code), timeout=timeout, **MISSING)


def test_a_plan_of_four_kernels(fake):
    """Padded operands, stream-K and a residue tile: one allocation of each buffer, and all again without planning."""
    code = """
        Array = library(77)
        a, b, c = Array(4095, 4103), Array(4097, 4103), Array(4095, 4097)
        plan = kernels.gemm.plan(a, b, c)
        log()
        assert kernels.gemm(a, b, c) is c
        first = driver_calls()
        assert prepared == list(plan.single_plans)
        flags, sums = plan.gemm.gemm.scratch
        assert first[:4] == [
            f"cuMemAllocAsync {flags} stream 1", f"cuMemsetD8Async 0xa000 to 0, {flags} stream 1",
            f"cuMemAllocAsync {sums} stream 1", f"cuMemAllocAsync {plan.gemm.workspace[2]} stream 1",
        ], first
        assert kernels_of(first[4:-3]) == ["copy_staged", "copy_staged", "gemm_simt", "gemm_simt"]
        assert all(line.startswith("cuMemFreeAsync") and line.endswith(" stream 1") for line in first[-3:])

        x, y, z = Array(4095, 4103), Array(4097, 4103), Array(4095, 4097)
        with runtime.on_launch((seen := []).append):
            assert kernels.gemm(x, y, z) is z
        again = driver_calls()
        assert len(prepared) == 4 and kernels.gemm.entries == 1
        assert [line.replace("stream 77", "stream 1").partition(" params")[0] for line in again] == [
            line.partition(" params")[0] for line in first
        ]
        scratch, packed = (0xA000, 0xA000 + (1 << 32)), 0xA000 + (2 << 32)
        packed = packed, packed + plan.gemm.workspace[1]
        assert [words(line) for line in again[4:6]] == [(x.address, packed[0]), (y.address, packed[1])]
        assert [(one.plan, one.stream) for one in seen] == [(one, 77) for one in prepared]
        assert seen[2].addresses == (*packed, z.address, None, *scratch)
        begin = 4096 * 4103 * 4
        assert seen[3].addresses == (x.address, y.address + begin, z.address + 4 * 4096, None)

        # A graph is captured on stream 9: memory is allocated and freed there, too, as part of it.
        capturing = library(9)
        a, b, c = capturing(4095, 4103), capturing(4097, 4103), capturing(4095, 4097)
        for _ in range(2):
            kernels.gemm(a, b, c)
        captured = driver_calls()
        half = len(captured) // 2
        assert captured[half:] == [line.replace("stream 1 ", "stream 9 ") for line in captured[half:]]
        assert [line.split()[0] for line in captured[half:]] == [line.split()[0] for line in first]
        assert kernels.gemm.entries == 2
    """
    run(fake, code)


def test_a_workspace_goes_with_its_stream_and_device(fake):
    code = """
        Array = library(70)
        pairs = [[Array(*shape, device=i) for shape in ((4095, 4103), (4097, 4103), (4095, 4097))] for i in (0, 1)]
        for one in pairs * 2:
            log()
            kernels.gemm(*one)
            lines = log()
            device = one[0].exported.device[1]
            pushed = [line for line in lines if line.startswith("push")]
            assert set(pushed) == {f"push {device}"} and len(pushed) == lines.count("pop"), lines
        assert kernels.gemm.entries == 2 and len(prepared) == 8
        assert {line.partition(" stream ")[2].split()[0] for line in lines if " stream " in line} == {"71"}
    """
    run(fake, code)


def test_what_fails_gives_its_workspace_back(fake):
    code = """
        Array = library(77)
        a, b, c = Array(4095, 4103), Array(4097, 4103), Array(4095, 4097)
        kernels.gemm(a, b, c)
        kernels.gemm(a, b, c)
        driver_calls()
        for name in ("cuLaunchKernel", "cuMemAllocAsync", "cuMemsetD8Async"):
            FAKE.fake_fail(name.encode(), 1)
            assert f"{name} failed" in str(error_of(lambda: kernels.gemm(a, b, c)))
            lines = [line.split()[0] for line in driver_calls()]
            assert lines.count("cuMemAllocAsync") == lines.count("cuMemFreeAsync") + (name == "cuMemAllocAsync"), lines
            FAKE.fake_fail(b"", 0)
        kernels.gemm(a, b, c)
        assert len(kernels_of(driver_calls())) == 4
        assert kernels.gemm.entries == 1 and len(prepared) == 4

        # C in the memory of A goes through Python, which says what is wrong.
        inside = Array(4095, 4097)
        start = a.array.ravel()[: 4095 * 4097].reshape(4095, 4097)
        inside.tensor.data, inside.exported = a.address, OnDevice(from_dlpack(start))
        assert "share memory" in str(error_of(lambda: kernels.gemm(a, b, inside), LayoutError))
        assert driver_calls() == []

        child = os.fork()
        if child == 0:
            error = error_of(lambda: kernels.gemm(a, b, c))
            os._exit(0 if "cannot be used in a forked subprocess" in str(error) and not driver_calls() else 1)
        assert os.waitpid(child, 0)[1] == 0
        kernels.gemm(a, b, c)
        assert len(kernels_of(driver_calls())) == 4
    """
    run(fake, code)


def test_threads_that_launch_the_same(fake):
    """While one waits for its workspace another one launches: each kernel gets the addresses of its own call."""
    code = """
        import time

        def workspace(stream):
            number = next(numbers)
            time.sleep(0)
            return None, (1 << 20 | number, 1 << 20 | number)

        import itertools
        numbers = itertools.count()
        kinds = [cuda.load(0, b"cubin").function(name) for name in ("first", "second")]
        shape = (1, 1, 1), (1, 1, 1), 0, bytes(16)
        made = [cuda.Kernel(f, *shape, [(0, 0, 0), (-1 - i, 8, 0)]) for i, f in enumerate(kinds)]
        several = cuda.Prepared(made, result=1, workspace=workspace)
        launcher = cuda.Launcher(lambda src, dst: (dst, several))
        array = array_type(device_type=2)
        arrays = [(array(data=4096 * (i + 1)), array(data=1 << 30)) for i in range(4)]
        launcher(*arrays[0])
        FAKE.fake_clear()
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=lambda pair=pair: [launcher(*pair) for _ in range(50)]) for pair in arrays]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        launches = [line for line in log() if line.startswith("cuLaunchKernel")]
        sides = [sorted(words(line) for line in launches if f" {name} " in line) for name in ("first", "second")]
        assert len(launches) == 400 and sides[0] == sides[1] and len({buffer for _, buffer in sides[0]}) == 200
        assert [sum(address == 4096 * (i + 1) for address, _ in sides[0]) for i in range(4)] == [50] * 4
    """
    run(fake, code)


def test_kernels_of_two_devices_are_no_launch(fake):
    code = """
        functions = [cuda.load(i, b"cubin").function("kernel") for i in (0, 1)]
        made = [cuda.Kernel(f, (1, 1, 1), (1, 1, 1), 0, bytes(8)) for f in functions]
        print(error_of(lambda: cuda.Prepared(made), ValueError))
    """
    assert "the kernels are loaded on different devices" in run(fake, code)


def test_every_kernel_is_told_of(fake):
    """Those without a plan, as visualize_tv's, too."""
    code = """
        f = cuda.load(1, b"cubin").function("visualize")
        with runtime.on_launch((seen := []).append):
            f.launch((3, 1, 1), (32, 1, 1), 64, 5, bytes(16))
            FAKE.fake_fail(b"cuLaunchKernel", 1)
            error_of(lambda: f.launch((3, 1, 1), (32, 1, 1), 64, 5, bytes(16)))
        (one,) = seen
        assert (one.plan, one.kernel, one.addresses) == (None, "visualize", ())
        assert (one.grid, one.block, one.shared, one.device, one.stream) == ((3, 1, 1), (32, 1, 1), 64, 1, 5)
        FAKE.fake_fail(b"", 0)
        with runtime.on_launch(lambda one: 1 // 0):
            error_of(lambda: f.launch((1, 1, 1), (32, 1, 1), 0, 5, bytes(16)), ZeroDivisionError)
    """
    run(fake, code)


def test_a_profiled_process_writes_its_launches_down(fake, tmp_path):
    """Each of them, with its plan and its addresses, also those that are repeated without Python."""
    script, notes = tmp_path / "script.py", tmp_path / "notes"
    script.write_text(
        test_driver.PRELUDE
        + PLANS
        + textwrap.dedent("""
            Array = library(77)
            x, y = Array(64, 64), Array(64, 64)
            for _ in range(3):
                kernels.tiled_copy(x, y)
            kernels.tiled_copy.plan(x, y).bind(y, x)()
            cuda.load(0, b"cubin").function("other").launch((1, 1, 1), (1, 1, 1), 0, 0, bytes(16))
            print(x.address, y.address)
        """)
    )
    module = "tilewright.kernels.analyze.verified_process"
    code = f"""
        import runpy
        sys = __import__("sys")
        sys.argv = ["-", {str(notes)!r}, "script", {str(script)!r}]
        runpy.run_module({module!r}, run_name="__main__")
    """
    x, y = map(int, test_driver.run(fake, code, **MISSING).split())
    launches = pickle.loads(notes.read_bytes())
    assert [one["addresses"] for one in launches] == [(x, y)] * 3 + [(y, x)]
    assert {one["symbol"] for one in launches} == {"copy_direct"}
    assert launches[0]["plan"].problem.extents == (4096,)
