"""What a launch of a plan does to memory, as its kernel says it: the instructions, and what is concluded from them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from tilewright.analysis.instructions import MemoryInstruction

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["AccessedTensor", "Accesses", "Requests", "narrowest", "widest_legal"]

WIDEST = 16  # bytes


class Requests(Protocol):
    """What adds up to an instruction, as a Tally does."""

    name: str
    memory: str
    op: str
    width: int

    @property
    def lanes(self) -> tuple[int, ...]: ...

    def instruction(self) -> MemoryInstruction | None: ...


class AccessedTensor(NamedTuple):
    """A tensor in global memory: address in bytes, extents and strides in elements, bytes of an element."""

    name: str
    address: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    element_bytes: int


class Accesses(NamedTuple):
    """All accesses of a launch.

    - `title`: what the launch is called
    - `requests`: tallies of its instructions, or instructions themselves
    - `tensors`: what they access, for the widest access that would be legal
    - `advice(instructions, limits)`: what to change, "" where nothing has to be; `limits` by the names of tensors, as
      `narrowest` says them
    - `plan`: the plan whose CTAs the occupancy is of; None: there is none to be told

    >>> Accesses("nothing", []).instructions
    []
    """

    title: str
    requests: Sequence[Requests | MemoryInstruction]
    tensors: tuple[AccessedTensor, ...] = ()
    advice: Callable[[Sequence[MemoryInstruction], Mapping[str, str]], str] = lambda instructions, limits: ""
    plan: Any = None

    @property
    def instructions(self) -> list[MemoryInstruction]:
        """The instructions that are executed, each with its totals."""
        found = (x if isinstance(x, MemoryInstruction) else x.instruction() for x in self.requests)
        return [x for x in found if x is not None]


def narrowest(tensors: Sequence[AccessedTensor]) -> tuple[int, str, dict[str, str]]:
    """The widest access that is legal in all tensors, what limits it, and what limits the accesses of each of them.

    >>> narrowest([AccessedTensor("x", 0, (64,), (1,), 4), AccessedTensor("y", 8, (64,), (1,), 4)])[:2]
    (8, 'y: it begins at 0x8, no multiple of 16')
    """
    if not tensors:
        return 0, "", {}
    widths, limits = {}, {}
    for tensor in tensors:
        name = tensor.name
        widths[name], why = widest_legal(*tensor[1:])
        limits[name] = f"{name}: {why}" if why else ""
    least = min(widths, key=lambda name: widths[name])
    return widths[least], limits[least], limits


def widest_legal(address: int, extents: Sequence[int], strides: Sequence[int], size: int) -> tuple[int, str]:
    """The widest access of neighbouring elements that is aligned everywhere in a tensor, and what makes it no wider.

    >>> widest_legal(0, (64, 64), (66, 1), 4)
    (8, 'stride 66 of mode 0 is 264 bytes, no multiple of 16')
    >>> widest_legal(4, (64, 64), (64, 1), 4)
    (4, 'it begins at 0x4, no multiple of 8')
    """
    count = math.prod(extents)
    if count < 2:  # of no elements, K = 0, there is no access
        return (size, "one element") if count else (WIDEST, "")
    modes = [i for i, (e, d) in enumerate(zip(extents, strides, strict=True)) if d == 1 and e > 1]
    if not modes:
        return size, "no mode has stride 1"
    width = size
    while width < WIDEST:
        wanted = 2 * width
        if address % wanted:
            return width, f"it begins at {address:#x}, no multiple of {wanted}"
        for i, (e, d) in enumerate(zip(extents, strides, strict=True)):
            if i != modes[0] and e > 1 and d * size % wanted:
                return width, f"stride {d} of mode {i} is {d * size} bytes, no multiple of {wanted}"
        width = wanted
    return width, ""
