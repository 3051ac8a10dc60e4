"""Processes that use the compile cache at once, and that are killed: run as a program, in a process of its own.

    python runtime_helpers.py SCENARIO FOLDER [COUNT]

does one scenario below and prints what it saw as JSON. The test's own process may have threads, which forking does not
go well with; this one has none.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

from tilewright.runtime.cache import Cache
from tilewright.runtime.entry import digest

NOBODY = 65534
CALLS = [(os, name) for name in ("open", "write", "fsync", "rename", "unlink", "close")] + [(fcntl, "flock")]


def sections(key: str, size: int = 5000) -> dict[str, bytes]:
    """What belongs under a key: derived from it, so that everybody can tell right from wrong."""
    return {"cubin": (key * (size // len(key) + 1))[:size].encode(), "log": b"made of " + key.encode()}


def run(scenario: str, folder: Path | str, *counts: int, timeout: float = 60) -> dict:
    command = [sys.executable, __file__, scenario, str(folder), *map(str, counts)]
    done = subprocess.run(command, text=True, capture_output=True, timeout=timeout)
    print(done.stderr, file=sys.stderr)  # shown if the test fails
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def forked(body) -> int:
    """A child that runs body; its exit status is 0 unless that raises, warns, or the child is killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            warnings.simplefilter("error")
            body()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return child


def status(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(cache: Cache, key: str) -> bool:
    """That an entry is right or absent, and can be made; whether it was there."""
    found = cache.get(key)
    assert found in (None, sections(key)), key
    made, _ = cache.get_or_make(key, lambda: sections(key))
    assert made == cache.get(key) == sections(key), key
    return found is not None


def stampede(folder: Path) -> dict:
    """16 processes start together and want the same three kernels, which take 50 ms each."""
    log = folder / "log"
    start, go = os.pipe()

    def compile_slowly(key):
        time.sleep(0.05)
        with log.open("a") as file:
            file.write(f"{key}\n")
        return sections(key)

    def want():
        os.close(go)
        os.read(start, 1)  # ends when the parent closes its side
        for number in range(3):
            key = digest(str(number))
            made, _ = Cache(folder / "cache").get_or_make(key, lambda key=key: compile_slowly(key))
            assert made == sections(key)

    children = [forked(want) for _ in range(16)]
    os.close(go)
    return {"statuses": [status(child) for child in children], "compiled": log.read_text().split()}


def kill_at_every_step(folder: Path) -> dict:
    """A process that makes an entry is killed before each of its system calls that matter, one after the other."""

    def make_and_die(cache, key, at):
        counter = iter(range(at))

        def counted(call):
            def wrapper(*arguments, **named):
                if next(counter, None) is None:
                    os.kill(os.getpid(), signal.SIGKILL)
                return call(*arguments, **named)

            return wrapper

        for module, name in CALLS:
            setattr(module, name, counted(getattr(module, name)))
        cache.get_or_make(key, lambda: sections(key))

    present = []
    for step in range(100):
        cache, key = Cache(folder / str(step), lock_seconds=0.5), digest(str(step))
        ended = status(forked(lambda cache=cache, key=key, step=step: make_and_die(cache, key, step)))
        present.append(check(cache, key))
        cache.clear()
        assert os.listdir(cache.folder) == [], step
        if ended == 0:
            return {"steps": step, "present": present}
        assert ended == -signal.SIGKILL
    raise AssertionError("never came to an end")


def kill_at_random(folder: Path) -> dict:
    """Processes that write entries of many sizes into one folder are killed at random moments."""
    random.seed(1)
    cache, keys = Cache(folder, lock_seconds=0.5), [digest(str(number)) for number in range(4)]

    def write_for_ever():
        while True:
            for key in keys:
                cache.put(key, sections(key, 1_000_000))
                os.unlink(folder / f"{key}.entry")
                cache.get_or_make(key, lambda key=key: sections(key, 1_000_000))

    left_behind = 0
    for _ in range(60):
        child = forked(write_for_ever)
        time.sleep(random.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert status(child) == -signal.SIGKILL
        left_behind += any(name.endswith("tmp") for name in os.listdir(folder)) if folder.exists() else 0
        for key in keys:
            assert cache.get(key) in (None, sections(key, 1_000_000))
        made, _ = cache.get_or_make(keys[0], lambda: sections(keys[0], 1_000_000))
        assert made == sections(keys[0], 1_000_000)
        cache.clear()
        assert os.listdir(folder) == []
    return {"left_behind": left_behind}


def sixteen_killed(folder: Path, kills: int) -> dict:
    """16 processes make, read and remove the same entries; one after another is killed, and replaced."""
    random.seed(2)
    cache, keys = Cache(folder, lock_seconds=0.5), [digest(str(number)) for number in range(4)]

    def use():
        for turn in itertools.count():
            key = keys[turn % len(keys)]
            made, _ = cache.get_or_make(key, lambda key=key: sections(key, 100_000))
            assert made == sections(key, 100_000)
            assert cache.get(key) in (None, sections(key, 100_000))
            if turn % 5 == 0:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(folder / f"{key}.entry")

    children, wrong, read = [forked(use) for _ in range(16)], 0, 0
    for _ in range(kills):
        time.sleep(random.uniform(0, 0.01))
        victim = children.pop(random.randrange(len(children)))
        os.kill(victim, signal.SIGKILL)
        wrong += status(victim) != -signal.SIGKILL  # it had failed before
        read += cache.get(keys[0]) is not None
        children.append(forked(use))
    for child in children:
        os.kill(child, signal.SIGKILL)
        wrong += status(child) != -signal.SIGKILL
    left = sum(name.endswith(("tmp", "lock")) for name in os.listdir(folder))
    for key in keys:
        assert cache.get(key) in (None, sections(key, 100_000))
        made, _ = cache.get_or_make(key, lambda key=key: sections(key, 100_000))
        assert made == sections(key, 100_000)
    cache.clear()
    return {"wrong": wrong, "read": read, "left": left, "names": os.listdir(folder)}


def clear_while_used(folder: Path) -> dict:
    """Six processes make and read entries while another removes everything again and again."""
    cache, keys = Cache(folder), [digest(str(number)) for number in range(5)]
    end = time.monotonic() + 1.0

    def use():
        while time.monotonic() < end:
            for key in keys:
                check_loosely(key)

    def check_loosely(key):
        made, _ = cache.get_or_make(key, lambda: sections(key))
        assert made == sections(key)
        assert cache.get(key) in (None, sections(key))

    def clear():
        while time.monotonic() < end:
            cache.clear()
            shutil.rmtree(folder, ignore_errors=True)

    children = [forked(use) for _ in range(6)] + [forked(clear)]
    statuses = [status(child) for child in children]
    cache.clear()
    return {"statuses": statuses, "left": os.listdir(folder) if folder.exists() else []}


def dead_holder(folder: Path) -> dict:
    """The process that holds the lock is killed."""
    cache, key = Cache(folder, lock_seconds=20), digest("dead")

    def hold():
        with cache.lock(key) as held:
            assert held
            os.kill(os.getpid(), signal.SIGKILL)

    assert status(forked(hold)) == -signal.SIGKILL
    begin = time.monotonic()
    there = (folder / f"{key}.lock").exists()
    check(cache, key)
    return {"lock_left": there, "seconds": time.monotonic() - begin}


@contextlib.contextmanager
def stuck(cache: Cache, key: str):
    """A process that holds the lock and has stopped."""

    def hold():
        with cache.lock(key):
            os.kill(os.getpid(), signal.SIGSTOP)

    child = forked(hold)
    os.waitpid(child, os.WUNTRACED)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        status(child)


def stuck_holder(folder: Path) -> dict:
    """The process that holds the lock is stopped: others make the entry when their time is over."""
    cache, key = Cache(folder, lock_seconds=0.3), digest("stuck")
    with stuck(cache, key):
        begin = time.monotonic()
        check(cache, key)
        return {"seconds": time.monotonic() - begin}


def stuck_after_writing(folder: Path) -> dict:
    """The lock's holder is stopped, but the entry appears: whoever waits goes on at once."""
    cache, key = Cache(folder, lock_seconds=20), digest("written")
    with stuck(cache, key):
        begin = time.monotonic()

        def write():
            time.sleep(0.2)
            cache.put(key, sections(key))

        child = forked(write)
        _, there = cache.get_or_make(key, dict)
        assert status(child) == 0
        return {"there": there, "seconds": time.monotonic() - begin}


def unwritable(folder: Path) -> dict:
    """A user who may not write to the place of the cache (and is not root, whom no mode stops)."""
    folder.chmod(0o555)
    if os.geteuid() == 0:
        os.setuid(NOBODY)
    return memory_only(Cache(folder / "tilewright"))


def unreadable(folder: Path) -> dict:
    """An entry and a lock that the user, who is not root, whom no mode stops, may not read."""
    folder = Path(tempfile.mkdtemp(dir=folder))  # below it all may look for files
    made: list[bool] = []
    try:
        cache, key = Cache(folder), digest("unreadable")
        check(cache, key)  # imports what is needed: the package may be out of that user's reach
        cache.clear()
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, -1)
            os.seteuid(NOBODY)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for suffix in ("entry", "lock"):
                cache.clear()
                Path(folder, f"{key}.{suffix}").touch(0)
                made += [cache.get_or_make(key, lambda: sections(key))[1] for _ in range(2)]
        return {"made": made, "warnings": [str(warning.message) for warning in caught]}
    finally:
        os.seteuid(os.getuid())
        shutil.rmtree(folder)


def full_disk(folder: Path) -> dict:
    """A file system of 64 KiB, with an entry that is larger; {} where none can be mounted."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=0700", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        return {}
    try:
        return memory_only(Cache(folder), 200_000)
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def limited_files(folder: Path) -> dict:
    """No file may grow past 1000 bytes."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    return memory_only(Cache(folder))


def memory_only(cache: Cache, size: int = 5000) -> dict:
    """Two entries are wanted, twice each; what was warned, and what lies in the folder."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for key in (digest("a"), digest("b")) * 2:
            made, _ = cache.get_or_make(key, lambda key=key: sections(key, size))
            assert made == sections(key, size)
            assert cache.put(key, made) is False
    names = os.listdir(cache.folder) if os.path.isdir(cache.folder) else []
    return {"warnings": [str(warning.message) for warning in caught], "names": names}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](Path(sys.argv[2]), *map(int, sys.argv[3:]))))
