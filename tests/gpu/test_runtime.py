"""Programs on a CUDA device: loaded, launched on torch's streams, captured in graphs; and what goes wrong."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
from functools import cache

import pytest

from tilewright import _core

cuda = _core.cuda

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (cuda.driver_path() and cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")
two_devices = pytest.mark.skipif(
    not cuda.driver_path() or cuda.device_count() < 2, reason="fewer than two CUDA devices"
)

SLEEP = 100_000_000  # cycles: 50 ms or more, so that what does not wait for it is seen
SOURCE = """
struct Scale { const float* src; float* dst; long long count; float factor; };
extern "C" __global__ void scale(const __grid_constant__ Scale p) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < p.count) p.dst[i] = p.src[i] * p.factor;
}
extern "C" __global__ void reverse(const __grid_constant__ Scale p) {
  extern __shared__ float tile[];
  for (int i = threadIdx.x; i < p.count; i += blockDim.x) tile[p.count - 1 - i] = p.src[i];
  __syncthreads();
  for (int i = threadIdx.x; i < p.count; i += blockDim.x) p.dst[i] = tile[i];
}
extern "C" __global__ void __launch_bounds__(128) narrow(const __grid_constant__ Scale p) { p.dst[0] = p.factor; }
"""


class Params(ctypes.Structure):
    _fields_ = [
        ("src", ctypes.c_void_p),
        ("dst", ctypes.c_void_p),
        ("count", ctypes.c_longlong),
        ("factor", ctypes.c_float),
    ]


def arch(device: int = 0) -> str:
    major, minor = cuda.device(device)["compute_capability"]
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


@cache
def cubin(architecture: str) -> bytes:
    from tilewright.runtime.discovery import find_nvrtc

    found = find_nvrtc(cuda.driver_version() // 1000).found
    assert found is not None, "NVRTC was not found"
    result = cuda.Nvrtc(found.path).compile(SOURCE, "runtime.cu", {}, [f"-arch={architecture}"], [])
    assert result.ok, result.log
    return result.cubin


def function(name: str = "scale", device: int = 0):
    return cuda.load(device, cubin(arch(device))).function(name)


def prepare(kernel, src, factor=2.0, **options):
    """The launch of `scale` on arguments 0 and 1."""
    params = bytes(Params(0, 0, src.numel(), factor))
    return one_kernel(kernel, (-(-src.numel() // 256), 1, 1), (256, 1, 1), 0, params, **{"result": 1} | options)


def one_kernel(function, grid, block, shared, params, **options):
    """The launch of a kernel of which arguments 0 and 1 are the first two pointers."""
    return cuda.Prepared([cuda.Kernel(function, grid, block, shared, params, [(0, 0, 0), (1, 8, 0)])], **options)


class Scale:
    """A slow path that scales by a factor."""

    def __init__(self) -> None:
        self.calls = 0
        self.launcher = cuda.Launcher(self, ("src", "dst", "factor"))

    def __call__(self, src, dst, factor=2.0):
        self.calls += 1
        prepared = prepare(function(device=src.device.index), src, factor)
        prepared.launch([src.data_ptr(), dst.data_ptr()], cuda.current_stream(src))
        return dst, prepared


def context() -> int | None:
    """The driver context that is current on this thread."""
    current = ctypes.c_void_p()
    assert ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(current)) == 0
    return current.value


def pair(count=1000, device="cuda"):
    src = torch.randn(count, device=device)
    return src, torch.zeros_like(src)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_device_agrees_with_torch():
    for i in range(torch.cuda.device_count()):
        ours, theirs = cuda.device(i), torch.cuda.get_device_properties(i)
        assert ours["name"] == theirs.name
        assert ours["compute_capability"] == (theirs.major, theirs.minor)
        assert ours["multiprocessors"] == theirs.multi_processor_count
        assert ours["total_memory"] == theirs.total_memory
        assert ours["l2_bytes"] == theirs.L2_cache_size
        assert ours["uuid"] == f"GPU-{theirs.uuid}"
        assert ours["shared_per_block_optin"] == theirs.shared_memory_per_block_optin
    assert cuda.device_count() == torch.cuda.device_count()
    with pytest.raises(ValueError, match=f"the driver finds {cuda.device_count()}"):
        cuda.device(cuda.device_count())


def test_function_knows_itself():
    f = function("narrow")
    assert (f.name, f.device, f.max_threads, f.static_shared, f.local_bytes) == ("narrow", 0, 128, 0, 0)
    assert 0 < f.registers < 64
    assert f.parameter_bytes in (None, ctypes.sizeof(Params))
    assert f.occupancy(128, 0) > f.occupancy(128, 40000) > 0


def test_launch():
    src, dst = pair()
    torch.cuda.synchronize()
    params = bytes(Params(src.data_ptr(), dst.data_ptr(), src.numel(), 3.0))
    function().launch((4, 1, 1), (256, 1, 1), 0, 0, params)
    cuda.synchronize(0)
    assert torch.equal(dst, src * 3)


def test_more_shared_memory_than_the_default():
    f = function("reverse")
    count = cuda.device(0)["shared_per_block_optin"] // 4
    assert count * 4 > 48 * 1024
    src, dst = pair(count)
    params = bytes(Params(0, 0, count, 0))
    with pytest.raises(ValueError, match=rf"{4 * count} bytes of dynamic shared memory, but it may have 0 to 49152"):
        f.launch((1, 1, 1), (512, 1, 1), 4 * count, 0, params)
    with pytest.raises(ValueError, match=f"gives a block {4 * count} bytes"):
        f.set_dynamic_shared(4 * count + 1)
    one_kernel(f, (1, 1, 1), (512, 1, 1), 4 * count, params).bind(src, dst)()  # which is allowed it
    assert torch.equal(dst, src.flip(0))


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        ((1, 1, 1), (129, 1, 1), "has 129 threads; .* at most 128"),
        ((1, 65536, 1), (1, 1, 1), "has 65536 along y"),
        ((0, 1, 1), (1, 1, 1), "has 0 along x"),
    ],
)
def test_impossible_launches_leave_the_device_alone(grid, block, message):
    with pytest.raises(ValueError, match=message):
        function("narrow").launch(grid, block, 0, 0, bytes(ctypes.sizeof(Params)))
    test_launch()


def test_wrong_programs():
    with pytest.raises(cuda.DriverError, match="cuModuleLoadData failed") as caught:
        cuda.load(0, b"\x7fELF" + bytes(1000))
    assert caught.value.name.startswith("CUDA_ERROR_")
    assert caught.value.code > 0
    with pytest.raises(cuda.DriverError, match=r"CUDA_ERROR_NOT_FOUND.*kernel absent") as caught:
        cuda.load(0, cubin(arch())).function("absent")
    assert caught.value.kernel == "absent"
    other = "sm_80" if arch() != "sm_80" else "sm_90a"
    with pytest.raises(cuda.DriverError, match=r"has compute capability .* compile for it"):
        cuda.load(0, cubin(other))


def test_launcher():
    scale = Scale()
    for count in (1000, 1000, 1000, 5):
        src, dst = pair(count)
        assert scale.launcher(src, dst) is dst
        assert torch.equal(dst, src * 2)
    assert scale.calls == 2
    assert torch.equal(scale.launcher(dst=dst, factor=3.0, src=src), src * 3)
    assert scale.calls == 3


def test_launcher_takes_other_libraries():
    cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
    x = cupy.zeros(3)
    described = cuda.describe(x)
    assert described is None or described[:2] == (x.data.ptr, (2, 64, 1))


def test_describe():
    x = torch.zeros(4, 6, device="cuda", dtype=torch.float16)[1:, ::2]
    assert cuda.describe(x) == (x.data_ptr(), (2, 16, 1), (2, 0), (3, 3), (6, 2))
    side = torch.cuda.Stream()
    assert cuda.current_stream(x) == torch.cuda.current_stream().cuda_stream
    with torch.cuda.stream(side):
        assert cuda.current_stream(x) == side.cuda_stream


@pytest.mark.parametrize("remembered", [False, True])
def test_current_stream_of_torch(remembered):
    scale, side = Scale(), torch.cuda.Stream()
    src, dst = pair(1 << 20)
    if remembered:
        scale.launcher(src, dst)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(SLEEP)
        src.fill_(21)
        scale.launcher(src, dst)  # on another stream it would read what was there before
    assert not (remembered and side.query()), "a launch must not wait"
    side.synchronize()
    assert scale.calls == 1
    assert bool((dst == 42).all())


def test_bound():
    src, dst = pair()
    bound = prepare(function(), src).bind(src, dst)
    bound()
    assert torch.equal(dst, src * 2)
    side = torch.cuda.Stream()
    torch.cuda.synchronize()
    for use in (lambda: bound(stream=side.cuda_stream), bound):
        with torch.cuda.stream(side):
            torch.cuda._sleep(SLEEP)
            src.fill_(4)
            if use is bound:
                bound()
        if use is not bound:
            use()
        side.synchronize()
        assert bool((dst == 8).all())
        src.fill_(0)
        dst.fill_(0)
        torch.cuda.synchronize()


@pytest.mark.parametrize("how", ["first call", "remembered", "bound"])
def test_graph(how):
    scale = Scale()
    src, dst = pair()
    torch.cuda.synchronize()
    call = lambda: scale.launcher(src, dst)  # noqa: E731
    if how == "bound":
        call = prepare(function(), src).bind(src, dst)
    if how == "remembered":
        call()
        dst.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # the first call loads the program inside
        call()
    torch.cuda.synchronize()
    assert not bool(dst.any()), "captured, not run"
    for value in (5, 6):
        src.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert bool((dst == 2 * value).all())


def test_threads():
    scale, failed = Scale(), []
    scale.launcher(*pair())

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(200):
                src, dst = pair()
                scale.launcher(src, dst)
                if not torch.equal(dst, src * 2):
                    failed.append(src)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert scale.calls == 1


def test_a_thread_without_a_context():
    src, dst = pair()
    bound = prepare(function(), src).bind(src, dst)
    torch.cuda.synchronize()
    seen = []

    def work():
        seen.append(context())
        bound(stream=0)
        seen.append(context())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.cuda.synchronize()
    assert seen == [None, None]
    assert torch.equal(dst, src * 2)


@two_devices
def test_tensors_on_a_device_that_is_not_current():
    scale = Scale()
    before = context()
    for remembered in (False, True):
        src, dst = pair(device="cuda:1")
        with torch.cuda.device(0):
            scale.launcher(src, dst)
            assert torch.cuda.current_device() == 0
        assert context() == before
        assert torch.equal(dst, src * 2)
        assert scale.calls == 1, remembered
    # The same shapes on the first device are another launch.
    src, dst = pair(device="cuda:0")
    assert torch.equal(scale.launcher(src, dst), src * 2)
    assert scale.calls == 2
    side = torch.cuda.Stream(device="cuda:1")
    src, dst = pair(device="cuda:1")
    torch.cuda.synchronize("cuda:1")
    with torch.cuda.stream(side), torch.cuda.device(0):
        scale.launcher(src, dst)
    side.synchronize()
    assert torch.equal(dst, src * 2)
    with pytest.raises(ValueError, match="argument 1 is on cuda:0, but the kernel is loaded on cuda:1"):
        prepare(function(device=1), src).bind(src, torch.zeros_like(src, device="cuda:0"))


@two_devices
def test_two_devices_in_one_call_go_slow():
    first, second = torch.zeros(10, device="cuda:0"), torch.zeros(10, device="cuda:1")
    seen = []
    launcher = cuda.Launcher(lambda *args: (seen.append(args), None))
    for _ in range(2):
        launcher(first, second)
    assert len(seen) == 2


def test_fork():
    code = f"""
import os, sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_runtime import *
src, dst = pair()
scale = Scale()
scale.launcher(src, dst)
torch.cuda.synchronize()
child = os.fork()
if child == 0:
    for call in (cuda.device_count, lambda: scale.launcher(src, dst), lambda: cuda.synchronize(0)):
        try:
            call()
        except cuda.DriverError as error:
            assert "forked" in str(error) and "spawn" in str(error), error
        else:
            os._exit(1)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
scale.launcher(src, dst)
torch.cuda.synchronize()
"""
    run(code)


def test_a_dead_context_says_so():
    code = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from test_runtime import *
src, dst = pair()
torch.cuda.synchronize()
prepare(function(), src).launch([8, dst.data_ptr()], 0)  # no address of the device
for call in (lambda: cuda.synchronize(0), lambda: prepare(function(), src), lambda: cuda.load(0, cubin(arch()))):
    try:
        call()
    except cuda.DriverError as error:
        assert "the CUDA context is dead: restart the process" in str(error), error
        print(error.name)
"""
    assert set(run(code).split()) == {"CUDA_ERROR_ILLEGAL_ADDRESS"}
