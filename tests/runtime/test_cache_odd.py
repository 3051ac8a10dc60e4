"""What may stand in the cache's folder where an entry, a lock or a file in the making is looked for, and is none.

Each is replaced at once, without a warning, and costs no other entry; nobody waits for it, and what a link leads to
stays as it is.
"""

from __future__ import annotations

import os
import socket
import warnings
from pathlib import Path

import pytest

import runtime_helpers as helpers
from tilewright.__main__ import main
from tilewright.runtime.cache import Cache
from tilewright.runtime.entry import HEADER, MAGIC, digest, seal

KEY, OTHER, THIRD = (digest(name) for name in ("one", "another", "third"))
SMALL = {"cubin": b"code"}
HUGE = 200 << 30


def a_huge_file(path: Path) -> None:
    path.touch(0o600)
    os.truncate(path, HUGE)


def a_huge_file_that_begins_like_an_entry(path: Path) -> None:
    path.touch(0o600)
    path.write_bytes(HEADER.pack(MAGIC, HUGE - HEADER.size, bytes(32)))
    os.truncate(path, HUGE)


def an_empty_file(path: Path) -> None:
    path.touch(0o600)


def a_folder(path: Path) -> None:
    path.mkdir()


def a_full_folder(path: Path) -> None:
    (path / "deeper").mkdir(parents=True)
    (path / "deeper/file").write_text("")
    (path / "link").symlink_to(path.parent.parent / "outside")


def a_deep_folder(path: Path) -> None:
    path.mkdir()
    here = os.open(path, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("x", dir_fd=here)
        deeper = os.open("x", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def a_link_to_a_folder(path: Path) -> None:
    path.symlink_to(path.parent.parent / "outside")


def a_link_to_an_entry(path: Path) -> None:
    path.symlink_to(path.parent.parent / "outside/planted")


def a_pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        folder = os.open(path.parent, os.O_RDONLY)
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")  # the name of a socket has to be short
        os.close(folder)


ODD = [
    *(a_huge_file, a_huge_file_that_begins_like_an_entry, an_empty_file, a_folder, a_full_folder, a_deep_folder),
    *(a_link_to_itself, a_link_to_a_folder, a_link_to_an_entry, a_pipe, a_socket),
]
odd = pytest.mark.parametrize("put", ODD, ids=lambda put: put.__name__)


@pytest.fixture
def cache(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/planted").write_bytes(seal(KEY, {"cubin": b"planted"}))
    (tmp_path / "cache").mkdir(0o700)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield Cache(tmp_path / "cache", lock_seconds=1)
    assert (tmp_path / "outside/planted").read_bytes() == seal(KEY, {"cubin": b"planted"})


@odd
@pytest.mark.parametrize("place", ["entry", "lock", f"{'0' * 16}.tmp"])
def test_it_is_replaced(cache, put, place):
    path = Path(cache.folder, f"{KEY}.{place}")
    put(path)
    assert cache.get(KEY) is None
    assert place != "entry" or not os.path.lexists(path)
    if place == "entry":
        put(path)
    assert cache.get_or_make(KEY, lambda: SMALL) == (SMALL, False)
    assert cache.get_or_make(KEY, dict) == (SMALL, True)
    assert cache.clear() == 1
    assert os.listdir(cache.folder) == []


@odd
def test_it_is_written_over(cache, put):
    put(Path(cache.folder, f"{KEY}.entry"))
    assert cache.put(KEY, SMALL)
    assert cache.get(KEY) == SMALL


@odd
def test_it_costs_no_other_entry(cache, put):
    assert cache.put(OTHER, SMALL)
    put(Path(cache.folder, f"{KEY}.entry"))
    assert cache.put(THIRD, SMALL)
    assert cache.get(OTHER) == cache.get(THIRD) == SMALL


@odd
def test_the_command_line_lists_and_clears_it(cache, put, monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", cache.folder)
    for place in ("entry", "lock", f"{'0' * 16}.tmp"):
        put(Path(cache.folder, f"{KEY}.{place}"))
    assert main(["cache", "list"]) == 0
    assert main(["cache", "clear"]) == 0
    assert capsys.readouterr().err == ""
    assert os.listdir(cache.folder) == []


def test_what_the_user_may_not_read_is_replaced():
    seen = helpers.run("unreadable", Path("/tmp"))
    assert seen == {"made": [False, True] * 2, "warnings": []}
