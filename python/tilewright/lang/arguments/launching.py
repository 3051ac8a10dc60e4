"""Arguments that say how a call is launched: its stream, the events that it records, its tensor maps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._core import program
from tilewright.cute.atoms.tma_atom import TmaAtom
from tilewright.lang.arguments.form import Form
from tilewright.lang.fake import FakeStream

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from tilewright.lang.arguments.form import Leaves

__all__ = ["EventForm", "StreamForm", "TmaForm", "is_event", "is_stream", "says_stream"]


_STREAMS = ("CUstream", "cudaStream_t", "Stream", "ExternalStream")


class StreamForm(Form):
    """A CUDA stream, of torch, of CUDA's Python bindings, or the number of one: where a call's kernels are launched."""

    def __init__(self, name: str) -> None:
        self.name = name

    def key(self) -> Hashable:
        return ("stream",)

    def build(self, symbols: Iterator[Any]) -> Any:
        return self

    def read(self, value: Any, leaves: Leaves) -> None:
        if value is None or isinstance(value, (StreamForm, FakeStream)):  # the current one
            return
        handle = int(getattr(value, "cuda_stream", value)) or 1
        if leaves.stream not in (None, handle):
            raise ValueError(
                f"{self.name}: this stream is not that of another argument, and all launches of one call go to one "
                "stream; write a @cute.jit function for each"
            )
        leaves.stream = handle
        leaves.stream_device = getattr(getattr(value, "device", None), "index", None)


def is_stream(value: Any) -> bool:
    """Whether a value is a stream: one of torch, of CUDA's Python bindings, or one to compile with."""
    return isinstance(value, FakeStream) or type(value).__name__ in _STREAMS


def says_stream(annotation: Any) -> bool:
    """Whether a parameter is annotated as a stream."""
    name = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return name.split(".")[-1] in _STREAMS


class EventForm(Form):
    """A CUDA event, of torch or of CUDA's Python bindings, which a launch records."""

    def __init__(self, name: str) -> None:
        self.name = name

    def key(self) -> Hashable:
        return ("event",)

    def build(self, symbols: Iterator[Any]) -> Any:
        return self

    def read(self, value: Any, leaves: Leaves) -> None:
        if not isinstance(value, EventForm):
            leaves.events[self.name] = int(getattr(value, "cuda_event", value))


def is_event(value: Any) -> bool:
    """Whether a value is a CUDA event."""
    return isinstance(value, EventForm) or type(value).__name__ in ("CUevent", "cudaEvent_t", "Event")


class TmaForm(Form):
    """An atom of TMA: its boxes are fixed, the tensor map is a parameter. Only a @cute.jit function has one."""

    def __init__(self, name: str, atom: TmaAtom) -> None:
        self.name, self.atom = name, atom

    def key(self) -> Hashable:
        return ("tma", self.atom)

    def parameters(self) -> Iterator[tuple[str, Any]]:
        yield self.name, program.tensor_map()

    def build(self, symbols: Iterator[Any]) -> Any:
        return self.atom.with_symbol(next(symbols))

    def read(self, value: Any, leaves: Leaves) -> None:
        if not isinstance(value, TmaAtom) or value != self.atom:
            raise TypeError(f"{self.name}: expected the TMA atom {self.atom!r}, but got {value!r}")
        leaves.add(value.symbol)
