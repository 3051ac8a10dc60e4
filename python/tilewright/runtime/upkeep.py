"""The cache's folder as a whole: what is in it, what has to go, what killed processes have left."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import time
from typing import NamedTuple

from tilewright.runtime import folder as folders
from tilewright.runtime.cache import TOUCH_SECONDS, UNUSABLE

if sys.platform != "win32":
    import fcntl

OURS = re.compile(r"([0-9a-f]{64})\.(entry|lock|[0-9a-f]{16}\.tmp)")
ABANDONED_SECONDS = 3600.0  # age of a file in the making after which it is given up where locks do not work


class Listed(NamedTuple):
    """An entry, without what is in it: key, size of its file, time of its last use (seconds since 1970).

    >>> Listed("0" * 64, 4096, 0.0).bytes
    4096
    """

    key: str
    bytes: int
    used: float


def entries(folder: int) -> tuple[Listed, ...]:
    """The entries of a folder, those used last first."""
    listed = [
        Listed(key, found.st_size, found.st_mtime)
        for name, key, found in _scan(folder)
        if name.endswith(".entry") and stat.S_ISREG(found.st_mode)
    ]
    return tuple(sorted(listed, key=lambda entry: -entry.used))


def clear(folder: int) -> int:
    """Remove all entries, and what killed processes have left; the number of entries removed."""
    removed = 0
    for name, _, _ in _scan(folder):
        if name.endswith(".entry"):
            removed += folders.remove(folder, name)
        else:
            _remove_if_abandoned(folder, name)
    return removed


def trim(folder: int, limit: int, newest: str) -> None:
    """Remove what is too large for an entry; entries, those used least recently first, until the rest is within the
    limit; and old rubbish.
    """
    kept = []
    for name, key, found in _scan(folder):
        if not name.endswith(".entry"):
            if time.time() - found.st_mtime > TOUCH_SECONDS:
                _remove_if_abandoned(folder, name)
        elif found.st_size > limit:
            folders.remove(folder, name)
        else:
            kept.append((found.st_mtime_ns, found.st_size, key))
    total = sum(size for _, size, _ in kept)
    for _, size, key in sorted(kept):
        if total <= limit:
            break
        if key != newest:
            folders.remove(folder, f"{key}.entry")
            total -= size


def _scan(folder: int) -> list[tuple[str, str, os.stat_result]]:
    """Name, key and state of each file that is the cache's; others are not touched."""
    found = []
    with os.scandir(folder) as items:
        for item in items:
            ours = OURS.fullmatch(item.name)
            if ours:
                with contextlib.suppress(OSError):  # removed in the meantime
                    found.append((item.name, ours[1], item.stat(follow_symlinks=False)))
    return found


def _remove_if_abandoned(folder: int, name: str) -> bool:
    """Remove a temporary file or a lock if no process holds it."""
    try:
        file = os.open(name, folders.READ, dir_fd=folder)
    except OSError as error:
        return error.errno in UNUSABLE and folders.remove(folder, name)
    try:
        return _is_abandoned(folder, name, file) and folders.remove(folder, name)
    finally:
        os.close(file)


def _is_abandoned(folder: int, name: str, file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return time.time() - os.fstat(file).st_mtime > ABANDONED_SECONDS
    return folders.is_named(folder, name, file)
