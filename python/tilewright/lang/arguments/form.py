"""What an argument of a traced function is, and what the arguments of one call put in for the parameters."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["Form", "Leaves", "Memory"]


class Memory(NamedTuple):
    """The memory behind a pointer argument of one call: its bytes, its owner's device, the tensor's layout in it."""

    parameter: int
    begin: int
    bytes: int
    device: tuple[int, int]
    read_only: bool
    name: str
    origin: int
    bits: int
    layout: Any
    owner: Any


@dataclasses.dataclass
class Leaves:
    """What the arguments of one call put in for the parameters: patterns of 64 bits, and the memory of pointers."""

    values: list[Any] = dataclasses.field(default_factory=list)
    memory: list[Memory] = dataclasses.field(default_factory=list)
    addresses: list[tuple[int, str]] = dataclasses.field(default_factory=list)  # of pointers whose owner is unknown
    stream: int | None = None
    stream_device: int | None = None  # where the stream says it
    events: dict[str, int] = dataclasses.field(default_factory=dict)  # handles, by the names of their parameters

    def add(self, value: Any) -> None:
        self.values.append(value)


class Form:
    """What an argument is. `name` is the user's name of it, `mA` or `sizes[0]`."""

    name: str

    def key(self) -> Hashable:
        """Equal keys: one program serves both."""
        raise NotImplementedError

    def parameters(self) -> Iterator[tuple[str, Any]]:
        """The name and type of each parameter that it takes."""
        return iter(())

    def build(self, symbols: Iterator[Any]) -> Any:
        """The argument as the traced function sees it; of a result, as the caller does."""
        raise NotImplementedError

    def read(self, value: Any, leaves: Leaves) -> None:
        """Add the leaves of an argument of this form; TypeError or ValueError, which name it, where it has another."""
        raise NotImplementedError
