"""The operations of cute.arch for a thread that Python steps through, with the other threads of its block."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from tilewright.lang.debug import place
from tilewright.numeric import Boolean, Float, Numeric, Uint32

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.lang.debug import Place

__all__ = ["atomic", "run"]

_WARP = 32
_AXES = ("thread_idx", "block_idx", "block_dim", "grid_dim")


def run(code: str, values: Sequence[Any], dtype: type[Numeric] | None, text: str, ints: Sequence[int]) -> Any:
    """The result of an operation for the thread that runs."""
    here = place()
    assert here is not None
    if code in _AXES:
        return dtype(getattr(here, code)[ints[0]])  # type: ignore[misc]
    if code in _SPECIAL:
        return dtype(_SPECIAL[code](here, *ints))  # type: ignore[misc]
    if code in ("sync_threads", "barrier", "barrier_arrive", "sync_warp"):
        return _barrier(here, code, [int(x) for x in values])
    if code in ("fence", "cp_async_commit_group", "cp_async_wait_group", "griddepcontrol"):
        return None  # one thread runs at a time, and copies land at once
    if code in _WARPS:
        return _WARPS[code](here, values, text, ints)
    return _ARITHMETIC[code](*values)


_SPECIAL: dict[str, Callable[..., int]] = {
    "lane_idx": lambda here: here.number % _WARP,
    "warp_idx": lambda here: here.number // _WARP,
    "cluster_idx": lambda here, i: here.block_idx[i],
    "cluster_dim": lambda here, i: 1,
    "block_in_cluster_idx": lambda here, i: 0,
    "block_idx_in_cluster": lambda here: 0,
    "dynamic_smem_size": lambda here: 0,
    "clock": lambda here: time.perf_counter_ns(),
}


def _barrier(here: Place, code: str, numbers: list[int]) -> None:
    every = range(here.block.count)
    if code == "sync_threads":
        here.block.exchange(here.number, ("sync_threads",), every)
    elif code == "sync_warp":
        here.block.exchange(
            here.number, ("sync_warp", here.number // _WARP), _members(here, numbers[0] if numbers else -1)
        )
    elif code == "barrier":
        count = numbers[1] if len(numbers) > 1 else here.block.count
        here.block.exchange(here.number, (f"barrier {numbers[0]}",), every, count=count)
    else:
        here.block.arrive(here.number, (f"barrier {numbers[0]}",), numbers[1])


def _members(here: Place, mask: int) -> list[int]:
    """The threads of this thread's warp in a mask."""
    first = here.number // _WARP * _WARP
    return [first + i for i in range(min(_WARP, here.block.count - first)) if mask >> i & 1]


def _gathered(here: Place, what: str, value: Any, mask: Any) -> dict[int, Any]:
    """What each lane of the mask gives, by lane."""
    first = here.number // _WARP * _WARP
    given = here.block.exchange(here.number, (what, first), _members(here, int(mask)), value)
    return {thread - first: one for thread, one in given.items()}


def _shuffle(here: Place, values: Sequence[Any], kind: str, ints: Sequence[int]) -> Any:
    value, offset, mask = values
    lane, n, clamp = here.number % _WARP, int(offset), ints[0]
    segment = (clamp >> 8) & 31
    low, high = lane & segment, lane & segment | clamp & 31 & ~segment
    source = {"idx": low | n & ~segment & 31, "up": lane - n, "down": lane + n, "bfly": lane ^ n}[kind]
    inside = source >= high if kind == "up" else source <= high
    given = _gathered(here, f"shuffle_sync {kind}", value, mask)
    return given.get(source, value) if inside else value


def _vote(here: Place, values: Sequence[Any], kind: str, ints: Sequence[int]) -> Any:
    given = _gathered(here, f"vote {kind}", bool(values[0]), values[1])
    if kind == "ballot":
        return Uint32(sum(1 << lane for lane, one in given.items() if one))
    truth = {"any": any(given.values()), "all": all(given.values()), "uni": len(set(given.values())) == 1}
    return Boolean(truth[kind])


def _match(here: Place, values: Sequence[Any], kind: str, ints: Sequence[int]) -> Any:
    given = _gathered(here, f"match {kind}", values[0]._value, values[1])
    same = sum(1 << lane for lane, one in given.items() if one == values[0]._value)
    every = sum(1 << lane for lane in given)
    return Uint32(same if kind == "any" or same == every else 0)


def _redux(here: Place, values: Sequence[Any], kind: str, ints: Sequence[int]) -> Any:
    given = _gathered(here, f"redux_sync {kind}", values[0], values[1])
    first, *rest = (given[lane] for lane in sorted(given))
    for one in rest:
        first = _COMBINE[kind](first, one)
    return first


def _uniform(here: Place, values: Sequence[Any], text: str, ints: Sequence[int]) -> Any:
    given = _gathered(here, "make_warp_uniform", values[0], -1)
    return given[min(given)]


def _elect(here: Place, values: Sequence[Any], text: str, ints: Sequence[int]) -> Any:
    return Boolean(here.number % _WARP == 0)


_WARPS = {
    "shuffle_sync": _shuffle,
    "vote": _vote,
    "match": _match,
    "redux_sync": _redux,
    "make_warp_uniform": _uniform,
    "elect_one": _elect,
}


def _extreme(a: Any, b: Any, pick: Callable[[Any, Any], Any]) -> Any:
    """The smaller or greater number; where one is NaN the other."""
    if isinstance(a, Float) and a != a:
        return b
    return a if (isinstance(b, Float) and b != b) or pick(a._value, b._value) == a._value else b


def _prmt(a: Any, b: Any, selector: Any) -> Any:
    pool, chosen, result = int(b) << 32 | int(a), int(selector), 0
    for i in range(4):
        nibble = chosen >> 4 * i & 15
        byte = pool >> 8 * (nibble & 7) & 255
        if nibble & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * i
    return type(a)(result)


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "min": lambda a, b: _extreme(a, b, min),
    "max": lambda a, b: _extreme(a, b, max),
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "min": _COMBINE["min"],
    "max": _COMBINE["max"],
    "rcp": lambda a: type(a)(1) / a,
    "exp2": lambda a: type(a)(2.0 ** float(a)),
    "popc": lambda a: type(a)((int(a) & (1 << a.width) - 1).bit_count()),
    "prmt": _prmt,
}


def atomic(kind: str, pointer: Any, value: Any, compare: Any = None) -> Any:
    """An atomic operation on an element: no other thread runs meanwhile."""
    dtype = type(value)
    before = dtype(pointer.load())
    if kind == "exch" or (kind == "cas" and before == compare):
        pointer.store(value)
    elif kind != "cas":
        pointer.store(_COMBINE[kind](before, value))
    return before
