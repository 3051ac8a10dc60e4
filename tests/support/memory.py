"""Memory that a process holds: what a loop must not add to."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from pathlib import Path


class Mallinfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "free", "few", "maps", "mapped", "unused", "fast", "used", "rest", "top")
    ]


def mallinfo() -> Mallinfo:
    call = ctypes.CDLL(None).mallinfo2  # of glibc 2.33
    call.restype = Mallinfo
    return call()


def held() -> dict[str, int]:
    """Bytes that C and C++ have of malloc, blocks that Python's objects have, and bytes of the process in memory."""
    gc.collect()
    information = mallinfo()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "malloc": information.used + information.mapped,
        "blocks": sys.getallocatedblocks(),
        "resident": pages * os.sysconf("SC_PAGE_SIZE"),
    }


def growth(step: Callable[[int], object], count: int) -> dict[str, int]:
    """What `count` steps leave behind, after as many as a tenth to fill every cache and list of free blocks."""
    for i in range(max(count // 10, 200)):
        step(i)
    before = held()
    for i in range(count):
        step(i)
    after = held()
    return {key: after[key] - before[key] for key in before}


def check_flat(grown: dict[str, int], steps: int) -> None:
    """Less than a byte a step, and no object for each thousand."""
    assert grown["malloc"] < max(8192, steps // 8), grown
    assert grown["blocks"] < max(100, steps // 1000), grown
    assert grown["resident"] < 1 << 20 or steps < 100_000, grown  # pages of malloc come and go


def text(grown: dict[str, int]) -> str:
    return f"{grown['malloc']:+,} bytes of malloc, {grown['blocks']:+,} objects, {grown['resident']:+,} bytes resident"
