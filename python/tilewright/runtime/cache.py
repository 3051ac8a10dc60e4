"""The compile cache on disk: one sealed file an entry, safe between processes, never a reason for a launch to fail.

An entry is looked up without a lock. On a miss the key's lock is taken, with a time limit, and the entry looked up
again, so that of many processes that want one kernel a single one compiles it. It is written to a file of its own in
the same folder, synced and renamed: whoever reads sees all of it or nothing. A file that is not exactly what was
written is removed and counts as a miss, and so is what is no file at all, or larger than all entries may be together.
Whatever the file system refuses makes a miss, and one warning.

Shared folders (TILEWRIGHT_CACHE_PATH) are looked up after one's own. Nothing in them is written, touched or removed.

Files: KEY.entry; KEY.lock, empty, while it is being compiled; KEY.RANDOM.tmp, while it is written. The writer holds a
lock on the temporary file too, so that one left behind by a killed process is told from one that is needed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from typing import TYPE_CHECKING

from tilewright.runtime import folder as folders
from tilewright.runtime.entry import seal, unseal

if sys.platform != "win32":  # there is no cache there
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tilewright.runtime.upkeep import Listed

DEFAULT_MIB = 512
LOCK_SECONDS = 30.0
WRITE_ATTEMPTS = 10
TOUCH_SECONDS = 60.0  # an entry's time of last use is not kept more exactly, so that most hits write nothing
DIGITS = "0123456789abcdef"
UNUSABLE = (errno.ELOOP, errno.EACCES, errno.ENXIO, errno.EISDIR)  # a link, a file without a mode, a socket, a folder
LOCK = os.O_RDWR | os.O_CREAT | folders.NO_LINK | folders.NO_WAIT

_warned: set[str] = set()


class Cache:
    """A folder of entries, each of named sections of bytes.

    `limit_bytes` bounds the folder: the entries used least recently go first. `lock_seconds` is how long to wait for
    another process that makes the same entry. Entries of the `shared` folders are read where this one has none.

    >>> import tempfile
    >>> cache = Cache(tempfile.mkdtemp())
    >>> key = "0" * 64
    >>> cache.get(key), cache.put(key, {"cubin": b"code"}), cache.get(key)
    (None, True, {'cubin': b'code'})
    >>> [entry.key == key for entry in cache.list()], cache.clear(), cache.list()
    ([True], 1, ())
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        limit_bytes: int = DEFAULT_MIB << 20,
        lock_seconds: float = LOCK_SECONDS,
        shared: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        self.folder = os.fspath(folder)
        self.limit_bytes = limit_bytes
        self.lock_seconds = lock_seconds
        self.shared = tuple(os.fspath(path) for path in shared)

    def get(self, key: str) -> dict[str, bytes] | None:
        """The entry of a key, of this folder or a shared one; None if there is none that can be trusted."""
        _check_key(key)
        found = None
        try:
            with folders.opened(self.folder) as folder:
                found = _read(folder, key, self.limit_bytes)
        except folders.Refused as error:
            self._warn(error)
        except OSError:
            pass  # no folder yet, or a file system out of order: a miss
        for path in self.shared if found is None else ():
            found = _shared(path, key, self.limit_bytes)
            if found is not None:
                break
        return found

    def put(self, key: str, sections: Mapping[str, bytes]) -> bool:
        """Keep an entry; False if that was not possible."""
        from tilewright.runtime.upkeep import trim

        _check_key(key)
        data = seal(key, sections)
        if len(data) > self.limit_bytes:
            return False
        for _ in range(WRITE_ATTEMPTS):
            try:
                with folders.opened(self.folder, create=True) as folder:
                    _write(folder, key, data)
                    trim(folder, self.limit_bytes, newest=key)
                    return True
            except FileNotFoundError:
                # Another process has removed the folder, or the temporary file before it was locked.
                continue
            except OSError as error:
                self._warn(error)
                break
        return False

    def get_or_make(self, key: str, make: Callable[[], Mapping[str, bytes]]) -> tuple[Mapping[str, bytes], bool]:
        """The entry of a key and whether it was there already; if not it is made, by one process at a time, and kept.

        >>> import tempfile
        >>> cache = Cache(tempfile.mkdtemp())
        >>> cache.get_or_make("0" * 64, lambda: {"cubin": b"code"})
        ({'cubin': b'code'}, False)
        >>> cache.get_or_make("0" * 64, lambda: {"cubin": b"code"})
        ({'cubin': b'code'}, True)
        """
        found = self.get(key)
        if found is not None:
            return found, True
        with self.lock(key):
            found = self.get(key)
            if found is not None:
                return found, True
            made = make()
            self.put(key, made)
            return made, False

    @contextlib.contextmanager
    def lock(self, key: str) -> Iterator[bool]:
        """Hold a key's lock; False if not held. Waits until it is free, the entry appears or the time is over."""
        _check_key(key)
        with contextlib.ExitStack() as stack:
            held = None
            try:
                folder = stack.enter_context(folders.opened(self.folder, create=True))
                held = _acquire(folder, key, time.monotonic() + self.lock_seconds)
            except FileNotFoundError:  # another process has just removed the folder
                pass
            except OSError as error:  # a file system that has no locks, or cannot be written
                self._warn(error)
            try:
                yield held is not None
            finally:
                if held is not None:
                    # Removed while it is held: whoever waits for it sees that it is no longer the one of that name.
                    with contextlib.suppress(OSError):
                        os.unlink(f"{key}.lock", dir_fd=folder)
                    os.close(held)

    def list(self) -> tuple[Listed, ...]:
        """The entries, those used last first; OSError where the folder cannot be used."""
        from tilewright.runtime.upkeep import entries

        try:
            with folders.opened(self.folder) as folder:
                return entries(folder)
        except FileNotFoundError:
            return ()

    def clear(self) -> int:
        """Remove all entries and what killed processes have left; the number of entries removed.

        OSError where the folder cannot be used.
        """
        from tilewright.runtime.upkeep import clear

        try:
            with folders.opened(self.folder) as folder:
                return clear(folder)
        except FileNotFoundError:
            return 0

    def _warn(self, error: OSError) -> None:
        if self.folder not in _warned:
            _warned.add(self.folder)
            reason = str(error) if isinstance(error, folders.Refused) else f"{self.folder}: {error.strerror or error}"
            _say(
                f"compiled kernels are kept in memory only: {reason} (TILEWRIGHT_CACHE_DIR names another folder, or "
                "'off')"
            )


def default_cache() -> Cache | None:
    """The cache that the environment asks for; None where it is switched off.

    >>> cache = default_cache()
    >>> cache is None or cache.limit_bytes == limit()
    True
    """
    folder = folders.place()
    return Cache(folder, limit(), shared=folders.shared_places()) if folder is not None else None


def limit() -> int:
    """The cache's size limit in bytes: TILEWRIGHT_CACHE_SIZE, in MiB.

    >>> limit() % 2**20
    0
    """
    text = os.environ.get("TILEWRIGHT_CACHE_SIZE", "").strip()
    if text.isdecimal():
        return int(text) << 20
    if text and "TILEWRIGHT_CACHE_SIZE" not in _warned:
        _warned.add("TILEWRIGHT_CACHE_SIZE")
        message = f"TILEWRIGHT_CACHE_SIZE is {text!r}, not a whole number of MiB; the limit is {DEFAULT_MIB} MiB"
        _say(message)
    return DEFAULT_MIB << 20


def _say(message: str) -> None:
    import warnings

    from tilewright.runtime.errors import CacheWarning

    warnings.warn(message, CacheWarning, stacklevel=4)


def _check_key(key: str) -> None:
    if len(key) != 64 or key.strip(DIGITS):
        raise ValueError(f"a key of the cache is 64 hexadecimal digits, not {key!r}")


def _read(folder: int, key: str, most: int) -> dict[str, bytes] | None:
    """An entry of at most so many bytes, its digest compared; what is there instead of an entry is removed."""
    name = f"{key}.entry"
    try:
        file = os.open(name, folders.READ, dir_fd=folder)
    except OSError as error:
        if error.errno in UNUSABLE:
            folders.remove(folder, name)
        raise
    try:
        found = os.fstat(file)
        sections = _unsealed(file, found, key, most) if folders.is_trusted(found) else None
        if sections is None:
            folders.remove(folder, name)
        elif time.time() - found.st_mtime > TOUCH_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(file)
        return sections
    finally:
        os.close(file)


def _shared(path: str, key: str, most: int) -> dict[str, bytes] | None:
    """An entry of a folder that is only read; what cannot be trusted there is left as it is."""
    try:
        with folders.opened(path, shared=True) as folder:
            file = os.open(f"{key}.entry", folders.READ, dir_fd=folder)
            try:
                found = os.fstat(file)
                return _unsealed(file, found, key, most) if folders.is_trusted(found, shared=True) else None
            finally:
                os.close(file)
    except folders.Refused as error:
        if path not in _warned:
            _warned.add(path)
            _say(f"compiled kernels of TILEWRIGHT_CACHE_PATH are not used: {error}")
    except OSError:
        pass  # no such entry, or no such folder
    return None


def _unsealed(file: int, found: os.stat_result, key: str, most: int) -> dict[str, bytes] | None:
    """The sections of an entry's file; None where it is none, larger than allowed, or not what was written."""
    if not stat.S_ISREG(found.st_mode) or found.st_size > most:
        return None
    with contextlib.suppress(MemoryError), open(file, "rb", closefd=False) as stream:
        return unseal(key, stream.read(found.st_size + 1))
    return None


def _write(folder: int, key: str, data: bytes) -> None:
    folders.write(folder, f"{key}.entry", data, f"{key}.{os.urandom(8).hex()}.tmp")


def _acquire(folder: int, key: str, deadline: float) -> int | None:
    """A descriptor that holds the key's lock; None when the entry has appeared or the time is over."""
    name, pause = f"{key}.lock", 0.001
    while True:
        file = _open_lock(folder, name)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if folders.is_named(folder, name, file):  # else its last holder has removed it: try again
                return file
        except BlockingIOError:
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        if time.monotonic() >= deadline or _exists(folder, f"{key}.entry"):
            return None


def _open_lock(folder: int, name: str) -> int:
    """A lock's file, made if there is none; what cannot be opened is none that anybody holds, and is removed."""
    try:
        return os.open(name, LOCK, 0o600, dir_fd=folder)
    except OSError as error:
        if error.errno not in UNUSABLE or not folders.remove(folder, name):
            raise
    return os.open(name, LOCK, 0o600, dir_fd=folder)


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True
