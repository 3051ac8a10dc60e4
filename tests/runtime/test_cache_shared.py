"""Folders of compiled kernels that are shared, read-only: TILEWRIGHT_CACHE_PATH."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import runtime_helpers as helpers
from tilewright.runtime import cache as cache_module
from tilewright.runtime.cache import Cache, default_cache
from tilewright.runtime.command import cache_command
from tilewright.runtime.entry import digest
from tilewright.runtime.errors import CacheWarning

KEY = digest("one")
CODE, OWN = {"cubin": b"shared code"}, {"cubin": b"own code"}
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The cache of a user, beside two shared folders of which the second one has an entry."""
    first, second = tmp_path / "first", tmp_path / "second"
    Cache(first).put(digest("another"), OWN)
    assert Cache(second).put(KEY, CODE)
    monkeypatch.setattr(cache_module, "_warned", set())
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("TILEWRIGHT_CACHE_PATH", f"{first}{os.pathsep}{second}")
    return default_cache()


def entry(cache: Cache) -> Path:
    return Path(cache.shared[1], f"{KEY}.entry")


def state(folder: str) -> list[tuple[str, int, int, bytes]]:
    """All that is in a folder: names, modes, times and bytes."""
    return sorted((x.name, x.stat().st_mode, x.stat().st_mtime_ns, x.read_bytes()) for x in Path(folder).iterdir())


def test_an_entry_of_a_shared_folder_is_found_and_nothing_is_written(cache):
    os.utime(entry(cache), (0, 0))  # one's own would be touched
    before = [state(folder) for folder in cache.shared]
    assert cache.get(KEY) == CODE
    assert cache.get_or_make(KEY, lambda: pytest.fail("it is there")) == (CODE, True)
    assert [state(folder) for folder in cache.shared] == before
    assert not os.path.exists(cache.folder)


def test_the_own_entry_comes_first(cache):
    cache.put(KEY, OWN)
    assert cache.get(KEY) == OWN
    assert cache.clear() == 1
    assert cache.get(KEY) == CODE


def test_what_is_not_shared_is_made_in_the_own_folder(cache):
    other = digest("a third one")
    assert cache.get_or_make(other, lambda: OWN) == (OWN, False)
    assert [listed.key for listed in Cache(cache.folder).list()] == [other]


def test_a_flipped_byte_is_a_miss_and_stays(cache):
    data = bytearray(entry(cache).read_bytes())
    data[-1] ^= 1
    entry(cache).write_bytes(data)
    assert cache.get(KEY) is None
    assert entry(cache).read_bytes() == data


def test_an_entry_that_others_could_write_is_a_miss(cache):
    entry(cache).chmod(0o666)
    assert cache.get(KEY) is None
    assert stat.S_IMODE(entry(cache).stat().st_mode) == 0o666


def test_an_entry_that_is_a_link_is_a_miss(cache):
    moved = entry(cache).with_suffix(".moved")
    entry(cache).rename(moved)
    entry(cache).symlink_to(moved)
    assert cache.get(KEY) is None
    assert entry(cache).is_symlink()


def test_a_folder_that_others_could_write_is_refused_once(cache):
    os.chmod(cache.shared[1], 0o777)
    with pytest.warns(CacheWarning, match="TILEWRIGHT_CACHE_PATH.*writable by others.*chmod go-w") as warned:
        assert [cache.get(KEY), cache.get(KEY)] == [None, None]
    assert len(warned) == 1


@root
@pytest.mark.parametrize("what", ["folder", "entry"])
def test_what_belongs_to_another_user_is_refused(cache, what):
    os.chown(cache.shared[1] if what == "folder" else entry(cache), helpers.NOBODY, -1)
    if what == "folder":
        with pytest.warns(CacheWarning, match="belongs to another user"):
            assert cache.get(KEY) is None
    else:
        assert cache.get(KEY) is None


@root
def test_what_is_roots_is_used_by_others(cache, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: helpers.NOBODY)
    assert Cache(cache.folder, shared=cache.shared).get(KEY) == CODE
    with pytest.warns(CacheWarning, match="belongs to another user"):
        assert Cache(cache.shared[1]).get(KEY) is None


def test_a_folder_that_is_not_there_or_not_absolute(cache, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_PATH", f"relative{os.pathsep}/not/there{os.pathsep}{cache.shared[1]}")
    with pytest.warns(CacheWarning, match="relative is not an absolute path"):
        assert default_cache().get(KEY) == CODE


def test_the_list_names_shared_folders(cache, monkeypatch, capsys):
    monkeypatch.setenv("TILEWRIGHT_CACHE_PATH", f"{cache.shared[1]}{os.pathsep}/not/there")
    assert cache_command(["list"]) == 0
    *_, own, shared, missing = capsys.readouterr().out.splitlines()
    assert own == f"0 entries, 0.0 of 512 MiB, in {cache.folder}"
    assert shared == f"1 entries, 0.0 MiB, shared in {cache.shared[1]}"
    assert missing == "shared folder not used: /not/there: No such file or directory"
