"""Time a compiled function, and choose the fastest of several configurations; `cute.testing` is this module.

>>> from tilewright import testing
>>> testing.benchmark(lambda n: sum(range(n)), kernel_arguments=testing.JitArguments(1000)) > 0
True
"""

from __future__ import annotations

import functools
import inspect
import itertools
import time
from typing import TYPE_CHECKING, Any

from tilewright._imported import imported_torch
from tilewright._names import names_of
from tilewright._registry import Lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["JitArguments", "autotune_jit", "benchmark", "convert", "get_workspace_count", "tune"]

_L2_BYTES = 256 << 20  # more than any device's L2: what is touched meanwhile leaves it


class JitArguments:
    """The arguments of one call of a compiled function."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs

    def call(self, function: Callable[..., Any]) -> Any:
        """Call a function with them."""
        return function(*self.args, **self.kwargs)


def benchmark(
    callable: Callable[..., Any],
    *,
    warmup_iterations: int = 10,
    iterations: int = 100,
    stream: Any = None,
    kernel_arguments: JitArguments | None = None,
    workspace_generator: Callable[[], JitArguments] | None = None,
    workspace_count: int = 1,
    use_cuda_graphs: bool = False,
) -> float:
    """The time of one call in microseconds, the mean over `iterations` calls that follow the warm-up.

    Calls take turns with `workspace_count` sets of arguments from workspace_generator, so that data does not stay in
    caches. Where torch has a CUDA device in use, events of `stream`, by default of torch's current one, take the time,
    with use_cuda_graphs of one replay of all calls; else the clock of the host does.
    Source: CuTeDSL `cute.testing.benchmark`.
    """
    if iterations < 1 or warmup_iterations < 0 or workspace_count < 1:
        raise ValueError(
            f"benchmark: warmup_iterations {warmup_iterations}, iterations {iterations}, workspace_count "
            f"{workspace_count}: expected at least 0, 1 and 1"
        )
    if kernel_arguments is not None and workspace_generator is not None:
        raise ValueError("benchmark: pass kernel_arguments or workspace_generator, not both")
    if workspace_generator is not None:
        every = [workspace_generator() for _ in range(workspace_count)]
    else:
        every = [kernel_arguments or JitArguments()]
    turns = itertools.cycle(every)

    def calls(count: int) -> None:
        for _ in range(count):
            next(turns).call(callable)

    torch = imported_torch()
    if torch is None or not torch.cuda.is_initialized():
        calls(warmup_iterations)
        begin = time.perf_counter()
        calls(iterations)
        return (time.perf_counter() - begin) / iterations * 1e6
    on = None if stream is None else _stream_of_torch(torch, stream)
    with torch.cuda.stream(on):
        return _device_time(torch, calls, warmup_iterations, iterations, use_cuda_graphs, on)


def _stream_of_torch(torch: Any, stream: Any) -> Any:
    """A stream of torch or of CUDA's Python bindings, or the number of one."""
    handle = int(getattr(stream, "cuda_stream", stream))
    return torch.cuda.default_stream() if handle in (0, 1) else torch.cuda.ExternalStream(handle)


def _device_time(
    torch: Any, calls: Callable[[int], None], warmup: int, iterations: int, graphs: bool, on: Any
) -> float:
    """Microseconds by events of torch's current stream; a graph captures `on`, or by default a stream of its own."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    calls(max(warmup, 1 if graphs else 0))
    if graphs:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=on):
            calls(iterations)
        graph.replay()
        begin.record()
        graph.replay()
        end.record()
    else:
        begin.record()
        calls(iterations)
        end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / iterations * 1e3


def convert(src: Any, dst: Any) -> None:
    """Store every element of src in dst as dst's type; both have one shape, and lie on one device.

    ValueError for other shapes, and for elements of less than a byte, of which threads do not write one alone.
    Source: CuTeDSL `cute.testing.convert`.

    >>> import numpy
    >>> from tilewright.cute.runtime import from_dlpack
    >>> y = numpy.zeros((2, 3), numpy.float16)
    >>> convert(from_dlpack(numpy.arange(6, dtype=numpy.int32).reshape(2, 3)), from_dlpack(y))
    >>> y.tolist()
    [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    """
    _convert_elements(src, dst)


_convert_elements = Lazy("tilewright.lang.library.elements:convert_elements")


def get_workspace_count(one_workspace_bytes: int, warmup_iterations: int, iterations: int) -> int:
    """How many sets of arguments of so many bytes keep the calls from finding their data in a cache.

    >>> get_workspace_count(1 << 20, 10, 100), get_workspace_count(1 << 30, 10, 100)
    (110, 2)
    """
    if one_workspace_bytes < 1:
        raise ValueError(f"get_workspace_count: one_workspace_bytes is {one_workspace_bytes}; expected at least 1")
    needed = -(-_L2_BYTES // one_workspace_bytes) + 1
    return max(1, min(needed, warmup_iterations + iterations))


def _configurations(params: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every choice of one value for each parameter."""
    return [dict(zip(params, values, strict=True)) for values in itertools.product(*params.values())]


def tune(
    function: Callable[..., Callable[..., Any]],
    params_dict: Mapping[str, Sequence[Any]],
    kernel_arguments: JitArguments | None = None,
    *,
    warmup_iterations: int = 10,
    iterations: int = 100,
) -> dict[str, Any]:
    """The fastest configuration: function(*arguments, **configuration) gives what is timed.

    A configuration that raises is left out; RuntimeError, with the last error, where all do.
    Source: CuTeDSL `cute.testing.tune`.

    >>> import time
    >>> tune(lambda wait: lambda: time.sleep(wait), {"wait": [0.01, 0.0]}, iterations=2, warmup_iterations=1)
    {'wait': 0.0}
    """
    arguments = kernel_arguments or JitArguments()
    best: tuple[float, dict[str, Any]] | None = None
    last: Exception | None = None
    for configuration in _configurations(params_dict):
        try:
            made = function(*arguments.args, **arguments.kwargs, **configuration)
            took = benchmark(made, warmup_iterations=warmup_iterations, iterations=iterations)
        except Exception as error:  # this one is not possible; others may be
            last = error
            continue
        if best is None or took < best[0]:
            best = took, configuration
    if best is None:
        raise RuntimeError(f"tune: no configuration of {dict(params_dict)} runs") from last
    return best[1]


def autotune_jit(
    *,
    params_dict: Mapping[str, Sequence[Any]],
    update_on_change: Sequence[str] = (),
    warmup_iterations: int = 10,
    iterations: int = 100,
    prune_configs: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator over @cute.jit: the first call for each value of the `update_on_change` arguments tries all
    configurations and keeps the fastest; later ones use it.

    Source: CuTeDSL `cute.testing.autotune_jit`.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        chosen: dict[Any, dict[str, Any]] = {}

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = inspect.signature(function).bind_partial(*args, **kwargs)
            key = tuple(str(bound.arguments.get(name)) for name in update_on_change)
            if key not in chosen:
                every = _configurations(params_dict)
                configurations = prune_configs(every) if prune_configs is not None else every
                chosen[key] = _fastest(function, args, kwargs, configurations, warmup_iterations, iterations)
            return function(*args, **{**kwargs, **chosen[key]})

        return call

    return decorate


def _fastest(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    configurations: list[dict[str, Any]],
    warmup_iterations: int,
    iterations: int,
) -> dict[str, Any]:
    by_number = {"number": range(len(configurations))}

    def made(number: int) -> Callable[[], Any]:
        return functools.partial(function, *args, **{**kwargs, **configurations[number]})

    found = tune(made, by_number, warmup_iterations=warmup_iterations, iterations=iterations)
    chosen: dict[str, Any] = configurations[found["number"]]
    return chosen


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
