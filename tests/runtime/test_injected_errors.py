"""Each call of the driver and of NVRTC fails once: the error is said, nothing is lost, and the next try works."""

from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

import test_driver
import test_launch_driver
from tilewright import _core

fake = test_driver.fake

# Each step does something of its own. A child's first driver is the fake one with one call that fails; errors of any
# other kind end it. Then nothing fails, and everything has to work as in a child where nothing ever failed.
LIFE = """
import json
FAKE = ctypes.CDLL("libcuda.so.1")
FAKE.fake_log.restype = FAKE.fake_failed.restype = ctypes.c_char_p
Array = library(77)

def kernel():
    f = cuda.load(1, b"cubin").function("kernel")
    f.set_dynamic_shared(60000)
    f.set_nonportable_cluster()
    f.launch((1, 1, 1), (32, 1, 1), 0, 5, bytes(16))
    one_kernel(f, (2, 1, 1), (32, 1, 1), 0, bytes(16), programmatic=True).launch([], 5)
    return f.registers, f.occupancy(256, 0)

def memory():
    pinned, block = cuda.allocate_pinned(0, 64), cuda.allocate_async(1, 64, 7)
    block.zero()
    block.free()

def gemm(a, b, c):
    kernels.gemm(a, b, c)
    return [line for line in log(False) if line.startswith("cuLaunch")][-4:]

def steps():
    matrices = Array(4095, 4103), Array(4097, 4103), Array(4095, 4097)
    copied = Array(64, 32), Array(64, 32)
    return {
        "devices": lambda: (cuda.driver_version(), cuda.device_count(), str(cuda.device(1))),
        "kernel": kernel,
        "memory": memory,
        "map": lambda: bytes(cuda.encode_tensor_map(4096, "float16", (64, 64), (128,), (64, 8)))[8:].hex(),
        "streams": lambda: (cuda.order(1, 1, 0x5500), cuda.synchronize_stream(0, 7), cuda.stream_identity(0, 7)),
        "addresses": lambda: cuda.device_of_address(0xD0000),
        "gemm": lambda: [line.partition(" stream")[0] for line in gemm(*matrices)],
        "gemm again": lambda: [line.partition(" stream")[0] for line in gemm(*matrices)],
        "copy": lambda: kernels.tiled_copy(*copied) is copied[1],
        "copy again": lambda: kernels.tiled_copy(*copied) is copied[1],
        "end": lambda: cuda.synchronize(0),
    }

def life(call, code):
    \"\"\"What each step gave, or its error, and again without errors; what failed; what is left.\"\"\"
    seen, all_steps = [], steps()
    for number in (call, -1):
        FAKE.fake_fail_call(number, code)
        outcome = {}
        for name, step in all_steps.items():
            try:
                outcome[name] = ["gave", step()]
            except cuda.DriverError as error:
                outcome[name] = ["error", str(error)]
            FAKE.fake_clear()
        seen.append(outcome)
        if len(seen) == 1:
            failed, calls = FAKE.fake_failed().decode(), FAKE.fake_calls()
    return {"seen": seen, "failed": failed, "calls": calls,
            "left": [FAKE.fake_allocated(), FAKE.fake_depth()]}

def child(work):
    read, write = os.pipe()
    one = os.fork()
    if one == 0:
        try:
            os.write(write, json.dumps(work()).encode())
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    os.close(write)
    with open(read, "rb") as stream:
        written = stream.read()
    status = os.waitstatus_to_exitcode(os.waitpid(one, 0)[1])
    return json.loads(written) if status == 0 else {"status": status}
"""

# What has another way, or comes when all is done: there may be no error, and the results are right all the same.
TOLERATED = {
    "cuCtxPopCurrent", "cuEventDestroy", "cuMemFreeHost", "cuPointerGetAttribute", "cuStreamGetId",
    "cuStreamIsCapturing", "cuThreadExchangeStreamCaptureMode",
}  # fmt: skip
# What they then say is that they do not know.
UNKNOWN = {("addresses", "cuPointerGetAttribute"), ("streams", "cuStreamGetId"), ("streams", "cuStreamIsCapturing")}
# What an owner that goes calls to give memory back, and others before a launch, which say so.
OWNERS = {"cuCtxGetCurrent", "cuCtxPushCurrent", "cuMemFreeAsync"}
FUNCTIONS = {
    "push": "cuCtxPushCurrent",
    "pop": "cuCtxPopCurrent",
    "capture mode": "cuThreadExchangeStreamCaptureMode",
    "cuOccupancy": "cuOccupancyMaxActiveBlocksPerMultiprocessor",
}


def check(life, usual):
    """One call failed: its step says so and the others are as usual, and so is everything afterwards."""
    assert "seen" in life, life
    function = FUNCTIONS.get(life["failed"], life["failed"])
    first, second = life["seen"]
    assert second == usual["seen"][1], function
    errors = {name: text for name, (kind, text) in first.items() if kind == "error"}
    for name, outcome in first.items():
        if name not in errors and (name, function) not in UNKNOWN:
            assert outcome == usual["seen"][0][name], (function, name)
    assert len(errors) <= 1, (function, errors)
    for text in errors.values():
        assert text.startswith(f"{function} failed: "), (function, text)
    assert errors or function in TOLERATED | OWNERS, function
    allocated, depth = life["left"]
    assert depth == 0, function
    assert allocated == 0 or function in OWNERS - {"cuMemFreeAsync"}, function  # nothing is freed in no context
    return function, bool(errors)


@pytest.mark.parametrize(("code", "every"), [(1, 11), pytest.param(700, 1, marks=pytest.mark.nightly)])
def test_each_call_of_the_driver_fails_once(fake, code, every, record_property):
    body = f"""
        usual = child(lambda: life(0, 0))
        calls = range(1, usual["calls"] + 1, {every})
        print(json.dumps([usual, *(child(lambda: life(call, {code})) for call in calls)]))
    """
    text = test_driver.run(
        fake, test_launch_driver.PLANS + LIFE + textwrap.dedent(body), timeout=1200, **test_launch_driver.MISSING
    )
    usual, *lives = json.loads(text)
    assert all(kind == "gave" for outcome in usual["seen"] for kind, _ in outcome.values())
    assert usual["seen"][0] == usual["seen"][1]
    outcomes = [check(life, usual) for life in lives]
    functions, errors = {name for name, _ in outcomes}, sum(said for _, said in outcomes)
    assert len(outcomes) > 20
    assert errors > 0.7 * len(outcomes)
    assert len(functions) > 25 or every > 1, functions
    record_property("figure", f"code {code}: {len(outcomes)} calls of {len(functions)} functions, {errors} errors")


# ---- NVRTC ----

SOURCE = Path(__file__).with_name("fake_nvrtc.c")


@pytest.fixture
def nvrtc(tmp_path):
    """(the library for ctypes, how to open it): each test has one of its own, for its counters."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    path = tmp_path / "libnvrtc.so.13"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", path, SOURCE], check=True)
    library = ctypes.CDLL(str(path))
    library.fake_failed.restype = ctypes.c_char_p
    return library, lambda: _core.cuda.Nvrtc(str(path))


def compiled(nvrtc):
    made = nvrtc.compile("source", "name.cu", {"a.cuh": "text"}, ["-arch=sm_90"], ["k<1>", "k<2>"])
    return made.ok, made.log, made.cubin, made.ptx, made.lowered


ANSWERED = {
    "nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetPTXSize", "nvrtcGetCUBINSize", "nvrtcDestroyProgram",
}  # fmt: skip


def attempted(call):
    """(whether it compiled, its log), or (None, the error)."""
    try:
        return call()[:2]
    except RuntimeError as error:
        return None, str(error)


def test_each_call_of_nvrtc_fails_once(nvrtc, record_property):
    library, opened = nvrtc
    library.fake_fail_call(0)
    usual = compiled(opened())
    assert usual == (True, "log", b"\x7fELF", "ptx", {"k<1>": "lowered k<1>", "k<2>": "lowered k<2>"})
    failed = []
    for call in range(1, library.fake_calls() + 1):
        library.fake_fail_call(call)
        ok, said = attempted(lambda: compiled(opened()))
        name = library.fake_failed().decode()
        if ok is None:
            assert said == f"{name} failed: a fake error (5)"
        else:  # what has no output or does not compile has an answer of its own, which the caller looks at
            assert name in ANSWERED
            assert ok or "nvrtcCompileProgram: a fake error (5)" in said
        failed.append(name)
        assert library.fake_programs() == 0, name
        assert compiled(opened()) == usual
    assert len(set(failed)) == 12
    record_property("figure", f"{len(failed)} calls of {len(set(failed))} functions of NVRTC failed")
