"""A fork waits until no other thread is importing a part of the package.

Much is imported when it is first used. Python holds a lock of each module meanwhile, and a child that was forked then
would wait for it for ever: the thread that imports does not go on there.
"""

from __future__ import annotations

import _imp
import os
import sys
import time
from _thread import get_ident
from importlib import _bootstrap
from typing import Any

LOCKS: dict[str, Any] = vars(_bootstrap).get("_module_locks", {})  # weak references, by the names of modules
SECONDS = 10.0  # an import that takes longer may be the forking thread's own


def _is_importing() -> bool:
    ours = [module for name, module in list(sys.modules.items()) if name.startswith("tilewright.")]
    return any(getattr(getattr(module, "__spec__", None), "_initializing", False) for module in ours) or _is_sought()


def _is_sought() -> bool:
    """Whether another thread holds the lock of a module of ours, which Python may not know of yet."""
    locks = [lock() for name, lock in list(LOCKS.items()) if name.startswith("tilewright.")]
    return any(getattr(lock, "owner", None) not in (None, get_ident()) for lock in locks)


def _before_fork() -> None:
    """Hold Python's lock of all imports, under which each begins, at a moment in which none of ours goes on."""
    end = time.monotonic() + SECONDS
    _imp.acquire_lock()
    while _is_importing() and time.monotonic() < end:
        _imp.release_lock()
        time.sleep(0.001)
        _imp.acquire_lock()


def _after_fork() -> None:
    _imp.release_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
