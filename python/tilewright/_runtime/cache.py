"""The compile cache on disk: one sealed file an entry, safe between processes, never a reason for a launch to fail.

An entry is looked up without a lock. On a miss the key's lock is taken, with a time limit, and the entry looked up
again, so that of many processes that want one kernel a single one compiles it. It is written to a file of its own in
the same folder, synced and renamed: whoever reads sees all of it or nothing. A file that is not exactly what was
written is removed and counts as a miss. Whatever the file system refuses makes a miss, and one warning.

Files: KEY.entry; KEY.lock, empty, while it is being compiled; KEY.RANDOM.tmp, while it is written. The writer holds a
lock on the temporary file too, so that one left behind by a killed process is told from one that is needed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import os
import re
import stat
import time
import warnings
from typing import TYPE_CHECKING, NamedTuple

from tilewright._runtime import folder as folders
from tilewright._runtime.entry import seal, unseal
from tilewright._runtime.errors import CacheWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

DEFAULT_MIB = 512
LOCK_SECONDS = 30.0
WRITE_ATTEMPTS = 10
TOUCH_SECONDS = 60.0  # an entry's time of last use is not kept more exactly, so that most hits write nothing
ABANDONED_SECONDS = 3600.0  # age of a file in the making after which it is given up where locks do not work
KEY = re.compile(r"[0-9a-f]{64}")
OURS = re.compile(r"([0-9a-f]{64})\.(entry|lock|[0-9a-f]{16}\.tmp)")
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a named pipe must not make us wait
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

_warned: set[str] = set()


class Listed(NamedTuple):
    """An entry, without what is in it: key, size of its file, time of its last use (seconds since 1970).

    >>> Listed("0" * 64, 4096, 0.0).bytes
    4096
    """

    key: str
    bytes: int
    used: float


class Cache:
    """A folder of entries, each of named sections of bytes.

    `limit_bytes` bounds the folder: the entries used least recently go first. `lock_seconds` is how long to wait for
    another process that makes the same entry.

    >>> import tempfile
    >>> cache = Cache(tempfile.mkdtemp())
    >>> key = "0" * 64
    >>> cache.get(key), cache.put(key, {"cubin": b"code"}), cache.get(key)
    (None, True, {'cubin': b'code'})
    >>> [entry.key == key for entry in cache.list()], cache.clear(), cache.list()
    ([True], 1, ())
    """

    def __init__(
        self, folder: str | os.PathLike[str], limit_bytes: int = DEFAULT_MIB << 20, lock_seconds: float = LOCK_SECONDS
    ) -> None:
        self.folder = os.fspath(folder)
        self.limit_bytes = limit_bytes
        self.lock_seconds = lock_seconds

    def get(self, key: str) -> dict[str, bytes] | None:
        """The entry of a key; None if there is none that can be trusted."""
        _check_key(key)
        try:
            with folders.opened(self.folder) as folder:
                return _read(folder, key)
        except folders.Refused as error:
            self._warn(error)
        except OSError:
            pass  # no folder yet, or a file system out of order: a miss
        return None

    def put(self, key: str, sections: Mapping[str, bytes]) -> bool:
        """Keep an entry; False if that was not possible."""
        _check_key(key)
        data = seal(key, sections)
        if len(data) > self.limit_bytes:
            return False
        for _ in range(WRITE_ATTEMPTS):
            try:
                with folders.opened(self.folder, create=True) as folder:
                    _write(folder, key, data)
                    self._trim(folder, newest=key)
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
        try:
            with folders.opened(self.folder) as folder:
                found = _scan(folder)
        except FileNotFoundError:
            return ()
        entries = [Listed(key, s.st_size, s.st_mtime) for name, key, s in found if name.endswith(".entry")]
        return tuple(sorted(entries, key=lambda entry: -entry.used))

    def clear(self) -> int:
        """Remove all entries and what killed processes have left; the number of entries removed.

        OSError where the folder cannot be used.
        """
        removed = 0
        try:
            with folders.opened(self.folder) as folder:
                for name, _, _ in _scan(folder):
                    if name.endswith(".entry"):
                        removed += _unlink(folder, name)
                    else:
                        _unlink_if_abandoned(folder, name)
        except FileNotFoundError:
            pass
        return removed

    def _trim(self, folder: int, newest: str) -> None:
        """Remove entries, those used least recently first, until the rest is within the limit; and old rubbish."""
        kept = []
        for name, key, found in _scan(folder):
            if name.endswith(".entry"):
                kept.append((found.st_mtime_ns, found.st_size, key))
            elif time.time() - found.st_mtime > TOUCH_SECONDS:
                _unlink_if_abandoned(folder, name)
        total = sum(size for _, size, _ in kept)
        for _, size, key in sorted(kept):
            if total <= self.limit_bytes:
                break
            if key != newest:
                _unlink(folder, f"{key}.entry")
                total -= size

    def _warn(self, error: OSError) -> None:
        if self.folder not in _warned:
            _warned.add(self.folder)
            reason = str(error) if isinstance(error, folders.Refused) else f"{self.folder}: {error.strerror or error}"
            warnings.warn(
                f"compiled kernels are kept in memory only: {reason} (TILEWRIGHT_CACHE_DIR names another folder, or "
                "'off')",
                CacheWarning,
                stacklevel=3,
            )


def default_cache() -> Cache | None:
    """The cache that the environment asks for; None where it is switched off.

    >>> cache = default_cache()
    >>> cache is None or cache.limit_bytes == limit()
    True
    """
    folder = folders.place()
    return Cache(folder, limit()) if folder is not None else None


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
        warnings.warn(message, CacheWarning, stacklevel=3)
    return DEFAULT_MIB << 20


def _check_key(key: str) -> None:
    if not KEY.fullmatch(key):
        raise ValueError(f"a key of the cache is 64 hexadecimal digits, not {key!r}")


def _read(folder: int, key: str) -> dict[str, bytes] | None:
    """An entry, its digest compared; what is there instead of an entry is removed."""
    name = f"{key}.entry"
    try:
        file = os.open(name, READ, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # a symbolic link
            _unlink(folder, name)
        raise
    try:
        found = os.fstat(file)
        sections = None
        if _is_private_file(found):
            sections = unseal(key, io.FileIO(file, closefd=False).readall())
        if sections is None:
            _unlink(folder, name)
        elif time.time() - found.st_mtime > TOUCH_SECONDS:
            with contextlib.suppress(OSError):
                os.utime(file)
        return sections
    finally:
        os.close(file)


def _is_private_file(found: os.stat_result) -> bool:
    ours = found.st_uid == os.geteuid() and not found.st_mode & folders.WRITABLE_BY_OTHERS
    return ours and stat.S_ISREG(found.st_mode)


def _write(folder: int, key: str, data: bytes) -> None:
    temporary = f"{key}.{os.urandom(8).hex()}.tmp"
    file = os.open(temporary, NEW, 0o600, dir_fd=folder)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
        os.rename(temporary, f"{key}.entry", src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _unlink(folder, temporary)
        raise
    finally:
        os.close(file)
    with contextlib.suppress(OSError):  # not every file system can
        os.fsync(folder)


def _acquire(folder: int, key: str, deadline: float) -> int | None:
    """A descriptor that holds the key's lock; None when the entry has appeared or the time is over."""
    name, pause = f"{key}.lock", 0.001
    while True:
        file = os.open(name, LOCK, 0o600, dir_fd=folder)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_named(folder, name, file):  # else its last holder has removed it: try again
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


def _is_named(folder: int, name: str, file: int) -> bool:
    """Whether the folder has this very file under this name."""
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(file))
    except FileNotFoundError:
        return False


def _exists(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return False
    return True


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


def _unlink(folder: int, name: str) -> bool:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def _unlink_if_abandoned(folder: int, name: str) -> bool:
    """Remove a temporary file or a lock if no process holds it."""
    try:
        file = os.open(name, READ, dir_fd=folder)
    except OSError as error:
        return error.errno == errno.ELOOP and _unlink(folder, name)
    try:
        return _is_abandoned(folder, name, file) and _unlink(folder, name)
    finally:
        os.close(file)


def _is_abandoned(folder: int, name: str, file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return time.time() - os.fstat(file).st_mtime > ABANDONED_SECONDS
    return _is_named(folder, name, file)
