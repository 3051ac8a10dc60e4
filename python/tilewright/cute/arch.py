"""Where a thread stands in its launch, for kernels that run on the CPU one thread after another."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.numeric import Int32

__all__ = [
    "WARP_SIZE",
    "block_dim",
    "block_idx",
    "grid_dim",
    "lane_idx",
    "make_warp_uniform",
    "sync_threads",
    "sync_warp",
    "thread_idx",
    "warp_idx",
]

Index = tuple[int, int, int]
Coord = tuple[Int32, Int32, Int32]

WARP_SIZE = 32

# thread_idx, block_idx, block_dim, grid_dim
_place: ContextVar[tuple[Index, Index, Index, Index]] = ContextVar("_place")


def _get(function: str, which: int) -> Index:
    try:
        return _place.get()[which]
    except LookupError:
        raise RuntimeError(f"cute.arch.{function}() has a value only while a @cute.kernel is launched") from None


def _coord(function: str, which: int) -> Coord:
    x, y, z = _get(function, which)
    return Int32(x), Int32(y), Int32(z)


def thread_idx() -> Coord:
    """(x, y, z) of the thread in its block. RuntimeError outside of a launch.

    >>> from tilewright import cute
    >>> @cute.kernel
    ... def show():
    ...     print(*map(int, thread_idx()), *map(int, block_dim()))
    >>> show().launch(block=[2, 1, 1])
    0 0 0 2 1 1
    1 0 0 2 1 1
    """
    return _coord("thread_idx", 0)


def block_idx() -> Coord:
    """(x, y, z) of the block in the grid. RuntimeError outside of a launch."""
    return _coord("block_idx", 1)


def block_dim() -> Coord:
    """Threads of a block in (x, y, z). RuntimeError outside of a launch."""
    return _coord("block_dim", 2)


def grid_dim() -> Coord:
    """Blocks of the grid in (x, y, z). RuntimeError outside of a launch."""
    return _coord("grid_dim", 3)


def _linear_thread(function: str) -> int:
    x, y, z = _get(function, 0)
    width, height, _ = _get(function, 2)
    return x + width * (y + height * z)


def lane_idx() -> Int32:
    """The thread's number in its warp: (x + X (y + Y z)) mod 32 for a block of (X, Y, Z) threads."""
    return Int32(_linear_thread("lane_idx") % WARP_SIZE)


def warp_idx() -> Int32:
    """The warp's number in its block: (x + X (y + Y z)) / 32 for a block of (X, Y, Z) threads."""
    return Int32(_linear_thread("warp_idx") // WARP_SIZE)


def make_warp_uniform(value: Int32) -> Int32:
    """The value, promised to be the same in all threads of a warp."""
    return value


def _sync(function: str, threads: int, who: str) -> None:
    if threads > 1:
        raise RuntimeError(
            f"cute.arch.{function}() cannot wait for the other {threads - 1} threads of the {who}: on the CPU a kernel "
            "runs one thread after another, each to its end; split the kernel at this place into two launches"
        )


def sync_threads() -> None:
    """Wait for all threads of the block. RuntimeError where the block has more than one: see the message."""
    x, y, z = _get("sync_threads", 2)
    _sync("sync_threads", x * y * z, "block")


def sync_warp() -> None:
    """Wait for all threads of the warp. RuntimeError where the warp has more than one: see the message."""
    x, y, z = _get("sync_warp", 2)
    first = _linear_thread("sync_warp") // WARP_SIZE * WARP_SIZE
    _sync("sync_warp", min(x * y * z - first, WARP_SIZE), "warp")


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
