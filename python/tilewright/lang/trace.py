"""The trace in progress: a function that Python runs once, with values of a program in place of numbers."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from tilewright._core import program
from tilewright.lang import kinds  # noqa: F401 - how values are carried
from tilewright.lang.arguments import EventForm, Form, Leaves, StreamForm, form_of, is_stream
from tilewright.lang.collection import Uncollected
from tilewright.lang.debug import place
from tilewright.lang.fake import FakeStream
from tilewright.lang.said import explain
from tilewright.numeric import Int32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = ["Trace", "current"]


class Shared:
    """The shared memory that a kernel has allocated so far: allocators of one kernel go on from the same counter."""

    BASE_ALIGNMENT = 1024  # bytes; of the block of shared memory itself

    def __init__(self) -> None:
        self.bytes = 0

    def allocate(self, size: int, alignment: int) -> int:
        """The byte offset of so many bytes more."""
        offset = -(-self.bytes // alignment) * alignment
        self.bytes = offset + size
        return offset


class Trace:
    """A program that is being made, for the decorated function `owner`.

    `in_kernel`: whether its innermost open function is a kernel.

    Python collects no garbage meanwhile: tracing makes many objects that live on, and where torch is imported one full
    collection takes longer than all of the tracing.
    """

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner
        self.used = [] if owner is None else [owner]  # the decorated functions that are traced
        self.builder = program.Builder()
        self.in_kernel = False
        self.shared = Shared()
        self.events: list[str] = []  # parameters of the host function that launches record
        self.stream: int | None = None  # a default stream that launches name
        self.loops: list[Any] = []  # while_generate whose bodies are open
        self._uncollected = Uncollected()

    def op(self, code: str, operands: Sequence[Any] = (), **attributes: Any) -> Any:
        """Add an operation; see `_core.program.Builder.op`."""
        return self.builder.op(code, operands, **attributes)

    def constant(self, value: int) -> Any:
        return self.builder.constant("Int32", value)

    def function(
        self,
        name: str,
        is_kernel: bool,
        forms: Iterable[Form],
        body: Callable[[list[Any]], Any],
        *,
        threads: Sequence[int] = (),
        min_blocks: int = 0,
    ) -> tuple[int, Form | None]:
        """Trace a function of the program: its index, and the form of what a host function returns.

        threads: of a block, 0 where an extent is dynamic.
        """
        forms = list(forms)
        parameters = [one for form in forms for one in form.parameters()]
        outer = self.in_kernel, self.shared
        depth = self.builder.depth
        self.in_kernel, self.shared = is_kernel, Shared()
        try:
            symbols: Iterator[Any] = iter(
                self.builder.begin_function(name, is_kernel, [t for _, t in parameters], [n for n, _ in parameters])
            )
            result = body([form.build(symbols) for form in forms])
            if is_kernel:
                if result is not None:
                    raise TypeError(f"{name}: a kernel returns nothing, but this one {result!r}: store it in a tensor")
                self.builder.set_function(shared_bytes=self.shared.bytes, threads=threads, min_blocks=min_blocks)
                return self.builder.end_function(), None
            returned = form_of(result, None, "the result", is_fixed=True)
            leaves = leaves_of([(returned, result)])
            types = [type_ for _, type_ in returned.parameters()]
            return self.builder.end_function(as_symbols(self, leaves, types)), returned
        except BaseException as error:
            self.builder.abandon(depth)
            explain(error)
            raise
        finally:
            self.in_kernel, self.shared = outer

    def __enter__(self) -> Trace:
        self.builder.__enter__()
        self._uncollected.__enter__()
        _this_thread.trace = self
        return self

    def __exit__(self, *error: object) -> None:
        _this_thread.trace = None
        self._uncollected.__exit__()
        self.builder.__exit__(*error)


class _ThisThread(threading.local):
    trace: Trace | None = None


_this_thread = _ThisThread()


def current() -> Trace | None:
    """The trace of this thread, None at the prompt."""
    return _this_thread.trace


def traced(what: str) -> Trace:
    """The trace of this thread; RuntimeError, naming what asks, at the prompt."""
    trace = _this_thread.trace
    if trace is None and place() is not None:
        raise RuntimeError(
            f"{what}: .debug() runs functions as plain Python, which has no such operation; call the function itself: "
            "the CPU runs it and checks each access, and cute.printf shows values"
        )
    if trace is None:
        raise RuntimeError(f"{what} is an operation of a kernel: call it in a function decorated with @cute.kernel")
    return trace


def dimension(trace: Trace, value: Any, what: str) -> Any:
    """A launch's extent as a value of the host function."""
    if isinstance(value, Int32) and isinstance(value._value, program.Symbol):
        return value._value
    symbol = getattr(value, "_value", None)
    if isinstance(symbol, program.Symbol):
        return trace.op("cast", [symbol], type=program.number("Int32"))
    try:
        return trace.constant(int(value.__index__()))
    except AttributeError:
        raise TypeError(f"launch: {what} has {value!r}; expected integers") from None


def captured_stream(stream: Any) -> int | None:
    """A default stream that a launch names where the function has no parameter for it; ValueError for another one."""
    if stream is None or isinstance(stream, (StreamForm, FakeStream)):
        return None
    if not is_stream(stream) and not isinstance(stream, int):
        raise TypeError(
            f"launch: stream is {stream!r}; expected a CUDA stream, a parameter of the @cute.jit function that is "
            "annotated so (stream: cuda.CUstream)"
        )
    handle = int(getattr(stream, "cuda_stream", stream)) or 1
    if handle not in _DEFAULT_STREAMS:
        raise ValueError(
            "launch: the stream is no parameter of the @cute.jit function, which is traced once: later calls would go "
            "to the same stream; make it a parameter (stream: cuda.CUstream), or leave stream= out, for launches go to "
            "torch's current stream"
        )
    return handle


_DEFAULT_STREAMS = (1, 2)  # the legacy one, and that of each thread


def event_number(trace: Trace, event: Any, what: str) -> int:
    """A launch's event as a number: 0 for none, else its place among the events of the host function."""
    if event is None:
        return 0
    if not isinstance(event, EventForm):
        raise TypeError(f"launch: {what} is {event!r}; expected an event that is a parameter of the @cute.jit function")
    if event.name not in trace.events:
        trace.events.append(event.name)
    return trace.events.index(event.name) + 1


def leaves_of(forms: Iterable[tuple[Form, Any]]) -> Leaves:
    """The leaves of arguments, each with its form."""
    leaves = Leaves()
    for form, value in forms:
        form.read(value, leaves)
    return leaves


def as_symbols(trace: Trace, form_leaves: Leaves, types: Iterable[Any]) -> list[Any]:
    """The leaves of arguments inside a trace as values of its program: numbers of Python become constants."""
    return [
        leaf if isinstance(leaf, program.Symbol) else trace.builder.constant_bits(type_.scalar, leaf)
        for leaf, type_ in zip(form_leaves.values, types, strict=True)
    ]


__all__ += ["Shared", "as_symbols", "captured_stream", "dimension", "event_number", "leaves_of", "traced"]
