"""The user's folders, of the cache and of calibrated devices: where they are, and whether they may be trusted.

Code is loaded from the cache into the process, so nobody but the user may be able to write there. A folder is opened
once for each access and everything goes through that descriptor: what has been checked cannot be exchanged afterwards.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from typing import TYPE_CHECKING

if sys.platform != "win32":  # these folders are not there
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

# Windows has none of these, and no cache: its folders do not say by owner and mode who may write.
IS_POSIX = hasattr(os, "geteuid")
WHY_NONE = "switched off by TILEWRIGHT_CACHE_DIR" if IS_POSIX else "not there on Windows"
WHY_NO_DEVICES = WHY_NONE.replace("CACHE", "DEVICES")
NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC if IS_POSIX else 0
NO_WAIT = os.O_NONBLOCK if IS_POSIX else 0
READ = os.O_RDONLY | NO_LINK | NO_WAIT  # a named pipe must not make us wait
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK
FOLDER = os.O_RDONLY | NO_LINK | (os.O_DIRECTORY if IS_POSIX else 0)
WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class Refused(OSError):
    """A folder that others could write to, or that is not given without doubt."""


def place() -> str | None:
    """The cache's folder by the environment; None where it is switched off, and on Windows.

    TILEWRIGHT_CACHE_DIR ("off" or empty: no disk cache), else $XDG_CACHE_HOME/tilewright, else ~/.cache/tilewright.

    >>> place() != ""
    True
    """
    chosen, base = os.environ.get("TILEWRIGHT_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME", "")
    return _place(chosen, base, "~/.cache", "tilewright")


def devices_place() -> str | None:
    """The folder of devices that were calibrated, by the environment; None where it is switched off, and on Windows.

    TILEWRIGHT_DEVICES_DIR ("off" or empty: none), else $XDG_DATA_HOME/tilewright/devices, else
    ~/.local/share/tilewright/devices.

    >>> devices_place() != ""
    True
    """
    chosen, base = os.environ.get("TILEWRIGHT_DEVICES_DIR"), os.environ.get("XDG_DATA_HOME", "")
    return _place(chosen, base, "~/.local/share", os.path.join("tilewright", "devices"))


def shared_places() -> tuple[str, ...]:
    """The folders of entries that are read and never written: those of TILEWRIGHT_CACHE_PATH, separated as in PATH.

    >>> isinstance(shared_places(), tuple)
    True
    """
    if not IS_POSIX:
        return ()
    chosen = os.environ.get("TILEWRIGHT_CACHE_PATH", "")
    return tuple(os.path.expanduser(path) for path in chosen.split(os.pathsep) if path)


def _place(chosen: str | None, base: str, usual: str, inside: str) -> str | None:
    if not IS_POSIX:
        return None
    if chosen is not None:
        return os.path.expanduser(chosen) if chosen not in ("", "off") else None
    if not os.path.isabs(base):  # so the XDG specification wants it
        base = os.path.expanduser(usual)
    return os.path.join(base, inside)


@contextlib.contextmanager
def opened(path: str, create: bool = False, shared: bool = False) -> Iterator[int]:
    """A descriptor of the folder, checked: OSError where there is none, Refused where it cannot be trusted.

    With create=True it is made, with mode 0700, if it does not exist. A shared one may be root's, too.
    """
    folder = _open(path, create)
    try:
        _check(path, os.fstat(folder), shared)
        yield folder
    finally:
        os.close(folder)


def write(folder: int, name: str, data: bytes, temporary: str) -> None:
    """Write a file by another one beside it, which takes its place: whoever reads sees all of it or what was before.

    A lock is held on the temporary file, so that one left behind by a killed process is told from one that is needed.
    """
    file = os.open(temporary, NEW, 0o600, dir_fd=folder)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
        try:
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except IsADirectoryError:  # the one thing that a file does not replace
            remove(folder, name)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        remove(folder, temporary)
        raise
    finally:
        os.close(file)
    with contextlib.suppress(OSError):  # not every file system can
        os.fsync(folder)


def remove(folder: int, name: str) -> bool:
    """Remove what has that name in a folder, whatever it is: a folder with all that is in it, of a link the link alone.

    False where that cannot be done.
    """
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            return True
        for _, folders, files, inside in os.fwalk(name, topdown=False, dir_fd=folder):
            for file in files:
                os.unlink(file, dir_fd=inside)
            for deeper in folders:  # empty by now, or a link to a folder
                remove(inside, deeper)
        os.rmdir(name, dir_fd=folder)
    except (OSError, RecursionError):
        return False
    return True


def is_trusted(found: os.stat_result, shared: bool = False) -> bool:
    """Whether only this user can have written there, or where it is shared, root."""
    return _is_owned(found, shared) and not found.st_mode & WRITABLE_BY_OTHERS


def is_named(folder: int, name: str, file: int) -> bool:
    """Whether the folder has this very file under this name."""
    try:
        return os.path.samestat(os.stat(name, dir_fd=folder, follow_symlinks=False), os.fstat(file))
    except FileNotFoundError:
        return False


def _open(path: str, create: bool) -> int:
    if not os.path.isabs(path):
        # Whoever fills the current directory, say with a cloned repository, would have their code run.
        raise Refused(f"{path} is not an absolute path")
    try:
        return os.open(path, FOLDER)
    except FileNotFoundError:
        if not create:
            raise
    except OSError:
        target = _target(path)
        if target is None:
            raise
        return os.open(target, FOLDER)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.mkdir(path, 0o700)
    return os.open(path, FOLDER)


def _target(path: str) -> str | None:
    """Where a symbolic link leads that the user, or the administrator, has set; None if there is no link."""
    found = os.lstat(path)
    if not stat.S_ISLNK(found.st_mode):
        return None
    if found.st_uid not in (os.geteuid(), 0):
        raise Refused(f"{path} is a symbolic link that belongs to another user (uid {found.st_uid})")
    if not os.path.isdir(path):
        raise Refused(f"{path} is a symbolic link, and {os.path.realpath(path)} is not a folder")
    return os.path.realpath(path)


def _check(path: str, found: os.stat_result, shared: bool) -> None:
    if not _is_owned(found, shared):
        raise Refused(f"{path} belongs to another user (uid {found.st_uid}, this process runs as {os.geteuid()})")
    if found.st_mode & WRITABLE_BY_OTHERS:
        mode = stat.S_IMODE(found.st_mode)
        raise Refused(f"{path} is writable by others (mode {mode:04o}); `chmod go-w {path}` makes it its owner's alone")


def _is_owned(found: os.stat_result, shared: bool) -> bool:
    return found.st_uid in ((os.geteuid(), 0) if shared else (os.geteuid(),))
