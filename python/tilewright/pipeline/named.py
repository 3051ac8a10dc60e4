"""A block's named barriers."""

from __future__ import annotations

import dataclasses
from typing import Any

from tilewright._boundary import shown
from tilewright._core import is_integer
from tilewright.lang import arch

__all__ = ["NamedBarrier", "arrive", "arrive_and_wait", "sync"]


@dataclasses.dataclass(frozen=True)
class NamedBarrier:
    """One of a block's 16 barriers, for so many of its threads.

    It may be made on the host and used in a kernel. ValueError for a number of threads that is no multiple of 32, or a
    barrier that does not exist.
    """

    barrier_id: int
    num_threads: int

    def __post_init__(self) -> None:
        for name in ("barrier_id", "num_threads"):
            if not is_integer(getattr(self, name)):
                raise TypeError(f"NamedBarrier: expected {name} to be an integer, but got {shown(getattr(self, name))}")
        if isinstance(self.barrier_id, int) and not 0 <= self.barrier_id < 16:
            raise ValueError(f"NamedBarrier: barrier_id is {self.barrier_id}; a block has the barriers 0 to 15")
        if isinstance(self.num_threads, int) and (self.num_threads < 32 or self.num_threads % 32):
            raise ValueError(f"NamedBarrier: num_threads is {self.num_threads}; expected a multiple of 32")

    def arrive_and_wait(self) -> None:
        """Wait until all of its threads are here."""
        arch.barrier(self.barrier_id, self.num_threads)

    def arrive(self) -> None:
        """Say that this thread is here, without waiting."""
        arch.barrier_arrive(self.barrier_id, self.num_threads)

    def wait(self) -> None:
        """The same as arrive_and_wait."""
        self.arrive_and_wait()

    sync = arrive_and_wait


def sync(barrier_id: Any = 0) -> None:
    """Wait until all threads of the block are at this barrier."""
    arch.barrier(barrier_id)


def arrive_and_wait(barrier_id: Any, num_threads: Any) -> None:
    """Wait at a named barrier until so many threads are here."""
    arch.barrier(barrier_id, num_threads)


def arrive(barrier_id: Any, num_threads: Any) -> None:
    """Arrive at a named barrier without waiting."""
    arch.barrier_arrive(barrier_id, num_threads)
