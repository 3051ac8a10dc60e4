"""Where kernels run: where their tensors lie; without tensors where the caller says, or where CUDA is in use."""

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import Int32, _core, cute


@cute.kernel
def empty_kernel(n: Int32):
    cute.printf("{}", n)


@cute.jit
def empty(n: Int32):
    empty_kernel(n).launch()


@cute.jit
def empty_on(n: Int32, stream):
    empty_kernel(n).launch(stream=stream)


@cute.kernel
def fill_kernel(x: cute.Tensor):
    x[0] = 1


@cute.jit
def fill(x: cute.Tensor):
    fill_kernel(x).launch()


class CUstream:
    def __init__(self, handle, device=None):
        self.handle, self.device = handle, device

    def __int__(self):
        return self.handle


class Device:
    def __init__(self, index):
        self.index = index


@pytest.fixture
def ran(monkeypatch):
    """The device and stream of each run on a machine with two GPUs; `current` is whose context is current."""
    seen = []

    class Ran(list):
        current = -1

    seen = Ran()
    monkeypatch.setattr(_core.cuda, "driver_path", lambda: "libcuda.so.1")
    monkeypatch.setattr(_core.cuda, "device_count", lambda: 2)
    monkeypatch.setattr("tilewright.lang.run.current_device", lambda: seen.current)
    monkeypatch.setattr(_core.cuda, "device_of_address", lambda address: -1)
    monkeypatch.setattr("tilewright.runtime.device.initialized", [])

    def on_gpu(traced, leaves, device):
        seen.append((f"cuda:{device}", leaves.stream))
        return (), "what repeats it"

    def on_cpu(traced, leaves):
        seen.append(("cpu", leaves.stream))
        return ()

    monkeypatch.setattr("tilewright.lang.run.run_on_gpu", on_gpu)
    monkeypatch.setattr("tilewright.lang.run.run_on_cpu", on_cpu)
    return seen


def test_without_tensors_the_device_in_use(ran):
    empty(3)
    ran.current = 1
    empty(3)
    empty_kernel(3).launch()
    with cute.on_cpu(seed=2):
        empty(3)
    empty_on(3, CUstream(7))
    empty_on(3, CUstream(7, Device(0)))
    ran.current = -1
    empty_on(3, CUstream(7))
    assert ran == [
        *[("cpu", None), ("cuda:1", None), ("cuda:1", None), ("cpu", None)],
        *[("cuda:1", 7), ("cuda:0", 7), ("cuda:0", 7)],
    ]


def test_a_context_that_was_made(ran, monkeypatch):
    monkeypatch.setattr("tilewright.cuda.properties", lambda device: {})
    monkeypatch.setattr("tilewright.cuda.initialized", cutlass.runtime.device.initialized)
    assert cutlass.cuda.initialize_cuda_context(1) == 1
    empty(3)
    assert ran == [("cuda:1", None)]


def test_on_device_chooses(ran):
    ran.current = 1
    with cute.on_device("cpu"):
        empty(3)
        with cute.on_device("cuda:0"):
            empty(3)
        empty(3)
    with cute.on_device("cuda"):
        empty(3)
    assert [device for device, _ in ran] == ["cpu", "cuda:0", "cpu", "cuda:1"]


def test_on_device_does_not_move_tensors(ran):
    with (
        cute.on_device("cuda:0"),
        pytest.raises(ValueError, match=r"x lies on the CPU, but on_device says cuda:0: move the tensor"),
    ):
        fill(np.zeros(1, np.int32))
    with cute.on_device("cpu"):
        fill(np.zeros(1, np.int32))
    assert ran == [("cpu", None)]


def test_devices_that_are_none(ran):
    with (
        pytest.raises(ValueError, match=r'on_device: expected "cpu", "cuda" or "cuda:1", but got \'gpu\''),
        cute.on_device("gpu"),
    ):
        pass
    with (
        pytest.raises(RuntimeError, match=r"on_device: there is no cuda:2; CUDA devices here: 2"),
        cute.on_device("cuda:2"),
    ):
        pass


def test_a_machine_without_a_driver_runs_on_its_cpu(monkeypatch, capfd):
    monkeypatch.setattr(_core.cuda, "driver_path", lambda: None)
    empty_on(3, cutlass.cuda.default_stream())
    with pytest.raises(RuntimeError, match=r"there is no cuda; CUDA devices here: 0"), cute.on_device("cuda"):
        pass
    assert capfd.readouterr().out == "3\n"


def test_a_stream_that_is_no_parameter(ran):
    stream = CUstream(7)

    @cute.jit
    def captured(n: Int32):
        empty_kernel(n).launch(stream=stream)

    with pytest.raises(ValueError, match=r"the stream is no parameter of the @cute.jit function, which is traced once"):
        captured(3)

    @cute.jit
    def default(n: Int32):
        empty_kernel(n).launch(stream=cutlass.cuda.default_stream())

    ran.current = 0
    default(3)
    default(3)
    assert ran == [("cuda:0", 1), ("cuda:0", 1)]

    @cute.jit
    def wrong(n: Int32):
        empty_kernel(n).launch(stream="fast")

    with pytest.raises(TypeError, match=r"launch: stream is 'fast'; expected a CUDA stream"):
        wrong(3)


def test_two_streams_of_one_call(ran):
    @cute.jit
    def both(n: Int32, first, second):
        empty_kernel(n).launch(stream=first)
        empty_kernel(n).launch(stream=second)

    with pytest.raises(ValueError, match=r"second: this stream is not that of another argument"):
        both(3, CUstream(7), CUstream(8))
    both(3, CUstream(7), CUstream(7))


def test_the_number_of_a_stream(ran):
    @cute.jit
    def annotated(n: Int32, stream: cutlass.cuda.CUstream):
        empty_kernel(n).launch(stream=stream)

    ran.current = 0
    annotated(3, 7)
    annotated(3, cutlass.cuda.CUstream(8))
    assert ran == [("cuda:0", 7), ("cuda:0", 8)]
    with pytest.raises(TypeError, match=r"stream is Int32\(\?\); expected a CUDA stream.*stream: cuda.CUstream"):
        empty_on(3, 7)
