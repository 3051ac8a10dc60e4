"""Kernels that Python steps through: a Python thread for each thread of a block, one running at a time.

The function runs as it is written, so that `breakpoint()`, `print` and a debugger work. A thread runs until it waits
for others; then the next one goes on. The order is always the same.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._core import cuda
from tilewright.cute.tensors.pointer import typed_elements

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

__all__ = ["Place", "is_stepping", "place", "run_blocks", "stepping"]

Index = tuple[int, int, int]


# Read once: every call of a function asks.
ALWAYS = os.environ.get("TILEWRIGHT_DEBUG", "0") not in ("", "0")


class Place(NamedTuple):
    """Where a thread stands in its launch."""

    thread_idx: Index
    block_idx: Index
    block_dim: Index
    grid_dim: Index
    block: Block

    @property
    def number(self) -> int:
        """The thread's number in its block, x fastest."""
        (x, y, z), (nx, ny, _) = self.thread_idx, self.block_dim
        return x + nx * (y + ny * z)


class _ThisThread(threading.local):
    place: Place | None = None
    depth = 0  # of functions that are stepped through


_this_thread = _ThisThread()


def place() -> Place | None:
    """Where the Python thread stands for a thread of a block; None outside of a launch."""
    return _this_thread.place


@contextlib.contextmanager
def stepping() -> Iterator[None]:
    """While this lasts, functions that are called run as they are written."""
    _this_thread.depth += 1
    cuda.pause_launchers()
    token = typed_elements.set(True)
    try:
        yield
    finally:
        typed_elements.reset(token)
        cuda.resume_launchers()
        _this_thread.depth -= 1


def is_stepping() -> bool:
    """Whether the functions of this thread run as they are written."""
    return ALWAYS or _this_thread.depth > 0 or _this_thread.place is not None


class Deadlock(RuntimeError):
    """Threads wait for others that have ended, or that wait elsewhere."""


class _Stopped(BaseException):
    """Ends the threads of a block after an error in one of them."""


class Block:
    """The threads of a block, of which one runs at a time, and what they share."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._shared: dict[int, Any] = {}  # memory by its place among the block's allocations
        self._allocations = [0] * count  # of each thread
        self._turn = [threading.Semaphore(0) for _ in range(count)]
        self._waiting: dict[int, tuple[Hashable, Sequence[int]]] = {}
        self._given: dict[Hashable, dict[int, Any]] = {}
        self._ended: set[int] = set()
        self._answers: dict[int, dict[int, Any]] = {}
        self._done = threading.Semaphore(0)
        self._error: BaseException | None = None

    def allocate(self, number: int, make: Callable[[], Any]) -> Any:
        """The shared memory of the next allocation of a thread, which the first one to come here makes."""
        which = self._allocations[number]
        self._allocations[number] += 1
        if which not in self._shared:
            self._shared[which] = make()
        return self._shared[which]

    def run(self, body: Callable[[int], None]) -> None:
        """Run body(number) for each thread of the block."""
        threads = [threading.Thread(target=self._thread, args=(body, i), daemon=True) for i in range(self.count)]
        for thread in threads:
            thread.start()
        self._turn[0].release()
        self._done.acquire()
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def _thread(self, body: Callable[[int], None], number: int) -> None:
        self._turn[number].acquire()
        typed_elements.set(True)  # of this Python thread
        cuda.pause_launchers()
        try:
            if self._error is None:
                body(number)
        except _Stopped:
            pass
        except BaseException as error:
            if self._error is None:
                self._error = error
        self._ended.add(number)
        self._next(number)

    def exchange(
        self, number: int, key: Hashable, members: Sequence[int], value: Any = None, count: int | None = None
    ) -> dict[int, Any]:
        """Wait until all members, or `count` of them, are at the same `key`; what each of them has given."""
        given = self._given.setdefault(key, {})
        given[number] = value
        if len(given) == (len(members) if count is None else count):
            del self._given[key]
            for member in given:
                self._answers[member] = given
                self._waiting.pop(member, None)
        else:
            self._waiting[number] = key, members
            self._next(number)
            self._turn[number].acquire()
            if self._error is not None:
                raise _Stopped
        return self._answers.pop(number)

    def arrive(self, number: int, key: Hashable, count: int) -> None:
        """Be counted at `key` without waiting."""
        given = self._given.setdefault(key, {})
        given[number] = None
        if len(given) == count:
            del self._given[key]
            for member in given:
                if self._waiting.pop(member, None) is not None:
                    self._answers[member] = given

    def _next(self, number: int) -> None:
        """Let the next thread that does not wait run."""
        for i in itertools.chain(range(number + 1, self.count), range(number + 1)):
            if i not in self._ended and (i not in self._waiting or self._error is not None):
                self._turn[i].release()
                return
        if len(self._ended) == self.count:
            self._done.release()
            return
        self._error = Deadlock(self._story())
        self._next(number)

    def _story(self) -> str:
        """Who waits for whom."""
        lines = []
        for key, given in self._given.items():
            waiting = next((i for i in given if i in self._waiting), None)
            if waiting is None:
                continue
            members = self._waiting[waiting][1]
            missing = [i for i in members if i not in given]
            ended = [i for i in missing if i in self._ended]
            where = key[0] if isinstance(key, tuple) else key
            lines.append(
                f"{len(given)} of {len(members)} threads wait at {where}; thread {missing[0]} is not there"
                + (", since it has ended" if missing[0] in ended else "")
            )
        return "deadlock: " + "; ".join(lines)


def indices(extents: Index) -> Iterator[Index]:
    """All indices, x fastest."""
    nx, ny, nz = extents
    return ((x, y, z) for z in range(nz) for y in range(ny) for x in range(nx))


def run_blocks(body: Callable[[], None], grid: Index, block: Index) -> None:
    """Run body() for every thread of every block, block after block, x fastest."""
    threads = list(indices(block))
    for block_idx in indices(grid):
        running = Block(len(threads))

        def thread(number: int, running: Block = running, block_idx: Index = block_idx) -> None:
            _this_thread.place = Place(threads[number], block_idx, block, grid, running)
            body()

        running.run(thread)
