"""cute.testing: what is timed, on which stream, and which configuration is kept."""

from __future__ import annotations

import contextlib
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute, testing


def test_sets_of_arguments_take_turns():
    numbers = itertools.count()
    seen = []
    testing.benchmark(
        lambda i, *, twice: seen.append((i, twice)),
        warmup_iterations=1,
        iterations=4,
        workspace_generator=lambda: testing.JitArguments(i := next(numbers), twice=2 * i),
        workspace_count=3,
    )
    assert seen == [(0, 0), (1, 2), (2, 4), (0, 0), (1, 2)]


@pytest.mark.parametrize(("stream", "name"), [(None, None), (7, "stream 7"), (1, "default"), (0, "default")])
def test_events_are_recorded_on_the_stream_that_is_given(monkeypatch, stream, name):
    """torch is a stand-in: a GPU is not needed to see where events go."""
    streams, captured = [], []

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            assert streams

        def synchronize(self):
            pass

        def elapsed_time(self, end):
            return 6.0

    @contextlib.contextmanager
    def on(stream):
        streams.append(stream)
        yield

    @contextlib.contextmanager
    def graph(graph, stream):
        captured.append(stream)
        yield

    cuda = SimpleNamespace(
        is_initialized=lambda: True, Event=Event, stream=on, graph=graph, synchronize=lambda: None,
        CUDAGraph=lambda: SimpleNamespace(replay=lambda: None), default_stream=lambda: "default",
        ExternalStream=lambda handle: f"stream {handle}",
    )  # fmt: skip
    monkeypatch.setattr(testing, "imported_torch", lambda: SimpleNamespace(cuda=cuda))
    assert testing.benchmark(lambda: None, iterations=3, stream=stream) == pytest.approx(2000)
    assert testing.benchmark(lambda: None, iterations=3, stream=stream, use_cuda_graphs=True) == pytest.approx(2000)
    assert streams == [name, name]
    assert captured == [name]


def test_a_function_is_tuned_anew_for_other_arguments():
    tried = []

    @testing.autotune_jit(
        params_dict={"width": [1, 2, 3]}, update_on_change=["n"], warmup_iterations=0, iterations=1,
        prune_configs=lambda every: [one for one in every if one["width"] < 3],
    )  # fmt: skip
    @cute.jit
    def fill(x: cute.Tensor, n: cutlass.Int32, width: cutlass.Constexpr):
        tried.append(width)  # while it is traced
        if cutlass.const_expr(width == 2):
            raise ValueError("this one is not possible")
        x[0] = n + width

    x = np.zeros(1, np.int32)
    for n in (5, 5, 6):
        fill(x, n)
        assert x[0] == n + 1
    assert tried == [1, 2, 2]
