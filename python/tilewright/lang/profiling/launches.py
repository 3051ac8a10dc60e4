"""The launches of a call, executed on the CPU over copies of its arguments while their costs are counted."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._core import program
from tilewright.lang.leaves import argument_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tilewright.lang.arguments import Leaves, Memory
    from tilewright.lang.calls.decorated import Traced

__all__ = ["ALIGNMENT", "Counted", "Timed", "count", "time", "whole_memory_of"]

ALIGNMENT = 256  # bytes; of what a GPU allocates
LEAST = 16  # bytes; of what allocators of the host do


class Counted(NamedTuple):
    """A launch and what was counted in it: rows of operations and of their requests.

    `kernel`: its name, `symbol`: the one that it has on a GPU.
    """

    kernel: str
    symbol: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    rows: list[Any]


class Timed(NamedTuple):
    """A launch and what a block's warps did: (warp, what, first step, one after the last, line, barrier)."""

    kernel: str
    spans: list[tuple[int, str, int, int, int, int]]


class Whole(NamedTuple):
    """Memory that was allocated as one."""

    begin: int
    bytes: int


def count(
    traced: Traced,
    leaves: Leaves,
    wholes: Iterable[Whole] = (),
    *,
    read: Callable[[int, int, int], object] = ctypes.memmove,
    alignment: int = LEAST,
    warp: tuple[int, int] | None = None,
) -> list[Counted]:
    """What each launch of a call costs. Its memory is copied first, by `read(to, from, bytes)`.

    `wholes`: what the arguments' memory is known to be part of. The copies lie at the same distance from a multiple of
    256 bytes as on a GPU, where each whole begins at one. Of other memory `alignment` says how far its address tells
    that. `warp`: (block, warp in it) that alone is counted.
    """
    values, kept = _redirected(leaves, list(wholes), read, alignment)
    functions = traced.program.functions
    counted = []
    for launch in traced.program.evaluate(traced.host, values)[0]:
        rows = program.profile_kernel(*_where(traced, launch), **_with(launch, values), warp=warp)
        name, symbol = functions[launch.kernel].name, program.cuda_name(traced.program, launch.kernel)
        counted.append(Counted(name, symbol, tuple(launch.grid), tuple(launch.block), rows))
    del kept
    return counted


def time(traced: Traced, leaves: Leaves, wholes: Iterable[Whole], block: int) -> list[Timed]:
    """What the warps of one block of each launch do when, on copies of the call's memory."""
    values, kept = _redirected(leaves, list(wholes), ctypes.memmove, LEAST)
    timed = []
    for launch in traced.program.evaluate(traced.host, values)[0]:
        spans = program.timeline_kernel(*_where(traced, launch), **_with(launch, values), cta=block)
        timed.append(Timed(traced.program.functions[launch.kernel].name, spans))
    del kept
    return timed


def _where(traced: Traced, launch: Any) -> tuple[Any, ...]:
    return traced.program, launch.kernel, launch.grid, launch.block


def _with(launch: Any, values: list[Any]) -> dict[str, Any]:
    return {
        "cluster": launch.cluster,
        "shared_bytes": launch.shared_bytes,
        "arguments": [argument_of(values, given) for given in launch.arguments],
        "maps": [(argument_of(values, map_.address), map_) for map_ in launch.maps],
    }


def whole_memory_of(arguments: Iterable[Any]) -> list[Whole]:
    """The allocations of which torch's tensors and NumPy's arrays are views.

    >>> import numpy
    >>> x = numpy.zeros(8, numpy.int32)
    >>> whole_memory_of([x[2:5]]) == [(x.ctypes.data, 32)]
    True
    """
    found = []
    for x in arguments:
        if hasattr(x, "untyped_storage"):
            storage = x.untyped_storage()
            found.append(Whole(storage.data_ptr(), storage.nbytes()))
        elif hasattr(x, "__array_interface__"):
            while hasattr(getattr(x, "base", None), "__array_interface__"):
                x = x.base
            found.append(Whole(x.__array_interface__["data"][0], x.nbytes))
    return found


def _redirected(
    leaves: Leaves, wholes: list[Whole], read: Callable[[int, int, int], object], alignment: int
) -> tuple[list[Any], list[Any]]:
    """The leaves with pointers into copies of their memory, and these; arguments that share memory still do."""
    copies: dict[Whole, tuple[int, Any]] = {}
    values = list(leaves.values)
    for one in leaves.memory:
        whole = next((x for x in wholes if _is_part(one, x)), Whole(one.begin, one.bytes))
        if whole not in copies:
            behind = 0 if whole in wholes else whole.begin % alignment
            memory = _core.Memory.allocate(max(whole.bytes, 1) + behind, ALIGNMENT)
            read(memory.address + behind, whole.begin, whole.bytes)
            copies[whole] = memory.address + behind, memory
        values[one.parameter] = copies[whole][0] + one.origin - whole.begin
    return values, [memory for _, memory in copies.values()]


def _is_part(memory: Memory, whole: Whole) -> bool:
    return whole.begin <= memory.begin and memory.begin + memory.bytes <= whole.begin + whole.bytes
