"""What a launch takes besides its sizes: events, streams, shared memory that is too little; names; retracing."""

from __future__ import annotations

import enum
import functools
import warnings

import numpy
import pytest

import tilewright as cutlass
from compiling import nvrtc
from tilewright import _core, cute
from tilewright.cute.runtime import from_dlpack
from tilewright.lang import gpu
from tilewright.lang.options import options_of
from tilewright.lang.trace import leaves_of
from tilewright.runtime.errors import CompileError


class CUevent:
    """An event as CUDA's Python bindings have it."""

    def __init__(self, handle):
        self.handle = handle

    def __int__(self):
        return self.handle


class Event:
    """An event as torch has it."""

    def __init__(self, handle):
        self.cuda_event = handle


class CUstream(CUevent):
    pass


@cute.kernel
def _add(x: cute.Tensor, n: cutlass.Int32):
    cute.arch.griddepcontrol_wait()
    x[0] = x[0] + n


def _tensor(*values):
    return from_dlpack(numpy.array(values, numpy.int32))


@cute.jit
def _with_events(x: cute.Tensor, began, triggered, others: tuple):
    _add(x, 1).launch(launch_completion_event=began, launch_completion_event_flags=2)
    _add(x, 2).launch(programmatic_event=triggered, programmatic_event_trigger_at_block_start=1, use_pdl=True)
    _add(x, 3).launch(programmatic_event=began, launch_completion_event=others[1])
    _add(x, 4).launch()


def test_events_reach_the_launch():
    """On the CPU they do nothing; on a GPU each launch gets the handles of its call."""
    x = _tensor(0)
    events = Event(70), CUevent(80), (CUevent(90), CUevent(100))
    _with_events(x, *events)
    assert x[0] == 10
    compiled = cute.compile(_with_events, x, *events)
    traced = compiled.traced
    for offset in (0, 1000):
        values = x, Event(70 + offset), CUevent(80 + offset), (CUevent(90 + offset), CUevent(100 + offset))
        leaves = leaves_of(zip(traced.forms.values(), values, strict=True))
        launches, _, _ = traced.program.evaluate(traced.host, leaves.values)
        assert [gpu._events_of(traced, launch, leaves) for launch in launches] == [
            {"completion_event": (70 + offset, 2, False)},
            {"programmatic_event": (80 + offset, 0, True)},
            {"completion_event": (100 + offset, 0, False), "programmatic_event": (70 + offset, 0, False)},
            {},
        ]
        # What repeats launches has no events: they would be the first call's.
        host = _core.cuda.HostFunction(traced.program, traced.host, gpu._sources(traced), None)
        assert host.prepare(leaves.values) is None


def test_an_event_is_a_parameter():
    @cute.jit
    def other(x: cute.Tensor):
        _add(x, 1).launch(launch_completion_event=CUevent(3))

    with pytest.raises(TypeError, match=r"launch: launch_completion_event is .*; expected an event"):
        other(_tensor(0))
    with pytest.raises(ValueError, match=r"launch: an event is a parameter of the @cute.jit function that launches"):
        _add(_tensor(0), 1).launch(programmatic_event=CUevent(3))


def test_an_option_that_does_not_exist():
    with pytest.raises(TypeError, match=r"there is no option clusters. Did you mean: 'cluster'"):
        _add(_tensor(0), 1).launch(clusters=(2, 1, 1))


def test_the_stream_of_a_launch_at_the_prompt(monkeypatch):
    seen = []
    monkeypatch.setattr("tilewright.lang.calls.kernel.run", lambda traced, leaves: seen.append(leaves.stream))
    _add(_tensor(0), 1).launch(stream=CUstream(7))
    _add(_tensor(0), 1).launch(stream=CUstream(0))
    _add(_tensor(0), 1).launch()
    assert seen == [7, 1, None]


@pytest.mark.parametrize(("smem", "is_warned"), [(16, True), (256, False), (512, False), (None, False)])
def test_too_little_shared_memory_is_said_and_mended(smem, is_warned):
    @cute.kernel
    def fill(x: cute.Tensor):
        shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, 64)
        shared[63] = 5
        x[0] = shared[63]

    @cute.jit
    def launch(x: cute.Tensor):
        fill(x).launch(smem=smem)

    x = _tensor(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        launch(x)
    assert x[0] == 5
    texts = [str(one.message) for one in caught]
    assert {one.filename for one in caught} <= {__file__}
    assert texts == (["launch: smem=16 bytes of shared memory, but fill allocates 256, which it gets"] * is_warned)


def test_less_than_no_shared_memory_is_refused():
    with pytest.raises(ValueError, match="smem=-1 bytes of shared memory; expected at least 0"):
        _add(_tensor(0), 1).launch(smem=-1)


@pytest.mark.parametrize(("least", "bounds"), [(0, "(64)"), (2, "(64, 2)")])
def test_blocks_of_a_multiprocessor_bound_the_registers(least, bounds):
    @cute.kernel
    def nothing(x: cute.Tensor):
        x[0] = 1

    @cute.jit
    def launch(x: cute.Tensor):
        nothing(x).launch(block=[64, 1, 1], min_blocks_per_mp=least)

    assert f"void __launch_bounds__{bounds} nothing(" in cute.compile(launch, _tensor(0)).source


@pytest.mark.parametrize("level", ["x", "4", "-1", "1.0"])
def test_a_level_of_optimization_that_is_none_is_refused(level):
    with pytest.raises(ValueError, match=rf"compile: --opt-level is {level}; expected 0 to 3"):
        options_of((), f"--opt-level={level}")


@nvrtc
def test_options_of_ptxas_reach_it():
    @cute.kernel
    def double(x: cute.Tensor):
        x[0] = x[0] + x[0]

    @cute.jit
    def launch(x: cute.Tensor):
        double(x).launch()

    def compiled(*options):
        return cute.compile[options](launch, _tensor(0)).kernels[0]

    assert len(compiled(cute.OptLevel(0)).cubin) > len(compiled().cubin)
    assert compiled(cute.PtxasOptions("-O0")).cubin == compiled(cute.OptLevel(0)).cubin
    with pytest.raises(CompileError, match="Unknown option '-fewer'"):
        _ = compiled(cute.PtxasOptions("--fewer")).cubin


def test_names_have_a_prefix():
    kernel = cute.kernel(lambda x: None)
    kernel.function.__name__ = "named"

    @cute.jit
    def launch(x: cute.Tensor):
        kernel(x).launch()

    kernel.set_name_prefix("mine", remove_cutlass_symbol=True)
    launch.set_name_prefix("host")
    compiled = cute.compile(launch, _tensor(0))
    assert [kernel.name for kernel in compiled.kernels] == ["mine_named"]
    assert "host_launch" in str(compiled.program)


def test_a_function_behind_a_decorator_is_compiled():
    def decorated(function):
        @functools.wraps(function)
        def wrapper(*args):
            raise AssertionError

        return wrapper

    @decorated
    @cute.jit
    def launch(x: cute.Tensor, n: cutlass.Int32):
        _add(x, n).launch()

    x = _tensor(1)
    cute.compile(launch, x, 1)(x, 4)
    assert x[0] == 5
    with pytest.raises(TypeError, match=r"compile: expected a function decorated with @cute.jit"):
        cute.compile(decorated(lambda: None))


def test_a_call_that_traces_anew():
    factors = [2]

    @cute.jit
    def scaled(n: cutlass.Int32):
        return n * factors[0]

    assert int(scaled(5)) == 10
    factors[0] = 3
    assert int(scaled(5)) == 10
    assert int(scaled(5, no_cache=False)) == 10
    assert int(scaled(5, no_cache=True)) == 15
    assert int(scaled(5)) == 15

    @cute.jit
    def own(n: cutlass.Int32, no_cache: cutlass.Int32):
        return n + no_cache

    assert int(own(1, no_cache=4)) == 5


def test_a_machine_without_a_device_needs_no_context(monkeypatch):
    monkeypatch.setattr("tilewright.cuda.driver.driver_path", lambda: None)
    assert cutlass.cuda.initialize_cuda_context() == 0
    assert cutlass.cuda.stream_sync(cutlass.cuda.default_stream()) is None
    # Where there is one, the number is looked at.
    monkeypatch.setattr("tilewright.cuda.driver.driver_path", lambda: "libcuda.so.1")
    monkeypatch.setattr("tilewright.cuda.driver.device_count", lambda: 1)

    def properties(device):
        raise ValueError(f"there is no CUDA device {device}")

    monkeypatch.setattr("tilewright.cuda.properties", properties)
    with pytest.raises(ValueError, match=r"there is no CUDA device 3"):
        cutlass.cuda.initialize_cuda_context(3)


def test_results_of_cudas_bindings():
    """A success gives its values, anything else an error that has the number under both names."""
    from tilewright.base_dsl.runtime.cuda import checkCudaErrors
    from tilewright.cutlass_dsl import DSLCudaRuntimeError

    class Status(enum.IntEnum):
        cudaSuccess = 0
        cudaErrorCooperativeLaunchTooLarge = 720

    assert checkCudaErrors((Status(0),)) is None
    assert checkCudaErrors((Status(0), 7)) == 7
    assert checkCudaErrors((Status(0), 7, "x")) == (7, "x")
    with pytest.raises(DSLCudaRuntimeError, match=r"cudaErrorCooperativeLaunchTooLarge \(720\)") as caught:
        checkCudaErrors((Status(720), None))
    assert caught.value.error_code == caught.value.code == Status.cudaErrorCooperativeLaunchTooLarge
    assert caught.value.name == "cudaErrorCooperativeLaunchTooLarge"
