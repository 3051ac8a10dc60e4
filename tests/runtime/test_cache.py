"""The compile cache on disk: nothing wrong is ever loaded, and no failure of it is the caller's."""

from __future__ import annotations

import os
import re
import threading
import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runtime_helpers as helpers
from tilewright.runtime import cache as cache_module
from tilewright.runtime import folder as folders
from tilewright.runtime.cache import Cache, default_cache
from tilewright.runtime.entry import digest, digest_of_texts, encode, seal, unseal
from tilewright.runtime.errors import CacheWarning

KEY = digest("one")
OTHER = digest("another")
SMALL = {"cubin": b"\x7fELF code", "lowered": b"{}", "empty": b""}
root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")

fields = st.recursive(st.text(max_size=4) | st.binary(max_size=4), lambda x: st.lists(x, max_size=4).map(tuple))


@pytest.fixture(autouse=True)
def nothing_warned_yet(monkeypatch):
    monkeypatch.setattr(cache_module, "_warned", set())


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def path_of(cache: Cache, key: str = KEY) -> Path:
    return Path(cache.folder, f"{key}.entry")


# Keys


def decode(data: bytes) -> tuple[object, bytes]:
    """A field and what follows it: that there is such a function proves that no two fields are encoded alike."""
    kind, length, rest = data[:1], int.from_bytes(data[1:9], "little"), data[9:]
    if kind == b"t":
        parts = []
        for _ in range(length):
            part, rest = decode(rest)
            parts.append(part)
        return tuple(parts), rest
    content, rest = rest[:length], rest[length:]
    return (content.decode("utf-8", "surrogatepass") if kind == b"s" else content), rest


@given(fields)
def test_encoding_is_injective(field):
    assert decode(encode(field)) == (field, b"")


def test_fields_that_are_alike_without_their_lengths_and_kinds():
    alike = [("ab", "c"), ("a", "bc"), ("abc",), ("a", "b", "c"), (("a", "b"), "c"), ("a", ("b", "c")), (b"abc",)]
    alike += [("as", "b"), ("a", "sb"), ("a", "", "bc"), ("a", (), "bc"), (), ((),), ("",), (b"",)]
    assert len({digest(*fields) for fields in alike}) == len(alike)


@given(st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3), st.randoms())
def test_digest_of_texts_does_not_depend_on_their_order(texts, random):
    items = list(texts.items())
    random.shuffle(items)
    assert digest_of_texts(dict(items)) == digest_of_texts(texts)


# Entries


@given(st.text(max_size=3), st.dictionaries(st.text(max_size=3), st.binary(max_size=20), max_size=3))
def test_unseal_gives_what_was_sealed(key, sections):
    assert unseal(key, seal(key, sections)) == sections


def test_hit_and_miss(cache):
    assert cache.get(KEY) is None
    assert cache.put(KEY, SMALL)
    assert cache.get(KEY) == SMALL
    assert cache.get(OTHER) is None
    assert cache.get_or_make(KEY, dict) == (SMALL, True)
    assert cache.get_or_make(OTHER, lambda: SMALL) == (SMALL, False)
    assert {entry.key for entry in cache.list()} == {KEY, OTHER}
    assert sorted(os.listdir(cache.folder)) == sorted([path_of(cache).name, path_of(cache, OTHER).name])
    assert cache.clear() == 2
    assert os.listdir(cache.folder) == []


def test_looking_makes_no_folder(cache):
    assert (cache.get(KEY), cache.list(), cache.clear()) == (None, (), 0)
    assert not os.path.exists(cache.folder)


def test_folder_and_files_are_the_users_alone(cache):
    cache.put(KEY, SMALL)
    assert os.stat(cache.folder).st_mode & 0o777 == 0o700
    assert path_of(cache).stat().st_mode & 0o777 == 0o600


def test_what_make_raises_is_passed_on_and_the_lock_is_free(cache):
    with pytest.raises(ZeroDivisionError):
        cache.get_or_make(KEY, lambda: {"cubin": bytes(1 // 0)})
    assert os.listdir(cache.folder) == []
    assert cache.get_or_make(KEY, lambda: SMALL) == (SMALL, False)


def test_keys_are_no_paths(cache):
    for key in ("", "../../x", KEY[:-1], KEY.upper(), f"{KEY}/.."):
        for use in (cache.get, lambda key: cache.put(key, SMALL), lambda key: cache.lock(key).__enter__()):
            with pytest.raises(ValueError, match="64 hexadecimal digits"):
                use(key)


# Damage


def rebuilt(cache: Cache, data: bytes) -> None:
    """With this content an entry is not loaded; it is removed and made again."""
    path_of(cache).write_bytes(data)
    assert cache.get(KEY) is None
    assert not path_of(cache).exists()
    path_of(cache).write_bytes(data)
    assert cache.get_or_make(KEY, lambda: SMALL) == (SMALL, False)
    assert cache.get(KEY) == SMALL


def test_a_byte_flipped_anywhere(cache, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)  # a thousand writes
    cache.put(KEY, SMALL)
    good = path_of(cache).read_bytes()
    for at in range(len(good)):
        for flip in (0x01, 0x80, 0xFF):
            rebuilt(cache, good[:at] + bytes([good[at] ^ flip]) + good[at + 1 :])


def test_truncated_anywhere_and_too_long(cache, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda file: None)
    cache.put(KEY, SMALL)
    good = path_of(cache).read_bytes()
    for length in range(len(good)):
        rebuilt(cache, good[:length])
        rebuilt(cache, good[:length] + bytes(len(good) - length))  # as a file system does after a power cut
    rebuilt(cache, good + b"\0")


def test_an_entry_under_anothers_name(cache):
    cache.put(OTHER, SMALL)
    rebuilt(cache, path_of(cache, OTHER).read_bytes())


def test_a_symbolic_link_is_not_followed(cache, tmp_path):
    target = tmp_path / "planted"
    target.write_bytes(seal(KEY, {"cubin": b"planted"}))
    os.mkdir(cache.folder, 0o700)
    path_of(cache).symlink_to(target)
    assert cache.get(KEY) is None
    path_of(cache).symlink_to(target)
    assert cache.get_or_make(KEY, lambda: SMALL) == (SMALL, False)
    assert not path_of(cache).is_symlink()
    assert unseal(KEY, target.read_bytes()) == {"cubin": b"planted"}


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_could_write_is_not_loaded(cache, mode):
    cache.put(KEY, SMALL)
    path_of(cache).chmod(mode)
    assert cache.get(KEY) is None
    assert not path_of(cache).exists()


@root
def test_a_file_of_another_user_is_not_loaded(cache):
    cache.put(KEY, SMALL)
    os.chown(path_of(cache), helpers.NOBODY, -1)
    assert cache.get(KEY) is None


# Folders that are not trusted


def refused(cache: Cache, reason: str) -> None:
    """Nothing is loaded from a folder or written there; what is wanted is made; one warning says why."""
    before = sorted(Path(cache.folder).iterdir()) if os.path.isdir(cache.folder) else []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cache.get(KEY) is None
        assert cache.get_or_make(KEY, lambda: SMALL) == (SMALL, False)
        assert cache.put(KEY, SMALL) is False
    (warning,) = caught
    assert issubclass(warning.category, CacheWarning)
    assert re.search(reason, str(warning.message))
    with pytest.raises(OSError, match=reason):
        cache.list()
    assert before == (sorted(Path(cache.folder).iterdir()) if os.path.isdir(cache.folder) else [])


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
def test_a_folder_that_others_could_write_is_refused(cache, mode):
    cache.put(KEY, {"cubin": b"planted"})
    os.chmod(cache.folder, mode)
    refused(cache, "writable by others .*chmod go-w")
    with pytest.raises(folders.Refused):
        cache.clear()


@root
def test_a_folder_of_another_user_is_refused(cache):
    cache.put(KEY, {"cubin": b"planted"})
    os.chown(cache.folder, helpers.NOBODY, -1)
    refused(cache, "belongs to another user")


@root
def test_a_symbolic_link_of_another_user_is_refused(cache, tmp_path):
    cache.put(KEY, {"cubin": b"planted"})
    link = tmp_path / "link"
    link.symlink_to(cache.folder)
    os.chown(link, helpers.NOBODY, -1, follow_symlinks=False)
    refused(Cache(link), "symbolic link that belongs to another user")


def test_a_symbolic_link_of_ones_own_is_followed_and_its_target_checked(cache, tmp_path):
    cache.put(KEY, SMALL)
    link = tmp_path / "link"
    link.symlink_to(cache.folder)
    assert Cache(link).get(KEY) == SMALL
    os.chmod(cache.folder, 0o777)
    refused(Cache(link), "writable by others")


def test_a_symbolic_link_to_nowhere_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refused(Cache(tmp_path / "link"), "is not a folder")
    assert not (tmp_path / "nowhere").exists()


def test_the_current_directory_is_refused(cache, monkeypatch):
    cache.put(KEY, {"cubin": b"planted"})
    monkeypatch.chdir(Path(cache.folder).parent)
    refused(Cache("cache"), "not an absolute path")


def test_a_file_in_the_place_of_the_folder(tmp_path):
    (tmp_path / "cache").write_text("")
    refused(Cache(tmp_path / "cache"), "Not a directory")
    refused(Cache(tmp_path / "cache" / "deeper"), "Not a directory")


def test_a_folder_that_cannot_be_written(tmp_path):
    seen = helpers.run("unwritable", tmp_path)
    assert len(seen["warnings"]) == 1
    assert "Permission denied" in seen["warnings"][0]


def test_a_full_disk(tmp_path):
    seen = helpers.run("full_disk", tmp_path)
    if not seen:
        pytest.skip("needs to mount a file system")
    assert len(seen["warnings"]) == 1
    assert "No space left" in seen["warnings"][0]
    assert seen["names"] == []


def test_files_that_may_not_grow(tmp_path):
    seen = helpers.run("limited_files", tmp_path)
    assert len(seen["warnings"]) == 1
    assert "File too large" in seen["warnings"][0]
    assert seen["names"] == []


def test_every_refusal_of_the_file_system_is_a_miss(cache, monkeypatch):
    """Whatever call fails, and however: a stale handle of a network file system, a lock that is not supported."""
    cache.put(OTHER, SMALL)
    failing = []

    def refuse(name, module):
        real = getattr(module, name)

        def call(*arguments, **named):
            failing.append(name)
            raise OSError(116, "Stale file handle")

        return real, call

    for module, name in [*helpers.CALLS, (os, "stat"), (os, "fstat"), (os, "scandir"), (os, "utime"), (os, "mkdir")]:
        if name == "close":
            continue  # closing is how everything ends
        _, call = refuse(name, module)
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore", CacheWarning)
            patch.setattr(module, name, call)
            path_of(cache).unlink(missing_ok=True) if name != "unlink" else None
            made, _ = cache.get_or_make(KEY, lambda: SMALL)
            assert made == SMALL, name
            assert cache.get(OTHER) in (None, SMALL), name
    assert {"open", "write", "fsync", "rename", "flock", "stat", "fstat", "scandir"} <= set(failing)


# Processes


def test_16_processes_compile_a_kernel_once(tmp_path):
    seen = helpers.run("stampede", tmp_path)
    assert seen["statuses"] == [0] * 16
    assert sorted(seen["compiled"]) == sorted(digest(str(number)) for number in range(3))


def test_16_threads_compile_a_kernel_once(cache):
    made = []

    def make():
        made.append(1)
        return SMALL

    threads = [threading.Thread(target=cache.get_or_make, args=(KEY, make)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_killed_before_every_step(tmp_path):
    seen = helpers.run("kill_at_every_step", tmp_path)
    assert seen["steps"] > 15
    assert seen["present"] == sorted(seen["present"])  # from one step on the entry is there
    assert {False, True} == set(seen["present"])


def test_killed_at_random_moments(tmp_path):
    assert helpers.run("kill_at_random", tmp_path / "cache")["left_behind"] > 0


@pytest.mark.parametrize("kills", [60, pytest.param(1000, marks=pytest.mark.nightly)])
def test_16_processes_of_which_one_after_another_is_killed(tmp_path, kills, record_property):
    seen = helpers.run("sixteen_killed", tmp_path / "cache", kills, timeout=1200)
    assert seen["wrong"] == 0  # nobody read what is wrong, waited for the dead, or warned
    assert seen["read"] > 0
    assert seen["names"] == []
    record_property("figure", f"{kills:,} kills among 16 processes, {seen['left']} files left behind and cleared")


def test_cleared_while_it_is_used(tmp_path):
    assert helpers.run("clear_while_used", tmp_path / "cache") == {"statuses": [0] * 7, "left": []}


def test_what_is_being_written_is_not_cleared(cache, monkeypatch):
    cleared = []

    monkeypatch.setattr(os, "fsync", lambda file: cleared.append(cache.clear()))
    monkeypatch.setattr(cache_module, "WRITE_ATTEMPTS", 1)
    assert cache.put(KEY, SMALL)
    assert cleared == [0, 1]  # of the file, of the folder


def test_the_locks_holder_is_dead(tmp_path):
    seen = helpers.run("dead_holder", tmp_path / "cache")
    assert seen["lock_left"]
    assert seen["seconds"] < 5


def test_the_locks_holder_is_stuck(tmp_path):
    assert 0.3 <= helpers.run("stuck_holder", tmp_path / "cache")["seconds"] < 5


def test_the_locks_holder_is_stuck_but_the_entry_appears(tmp_path):
    seen = helpers.run("stuck_after_writing", tmp_path / "cache")
    assert seen["there"]
    assert seen["seconds"] < 5


# Size


def aged(cache: Cache, key: str, seconds: float) -> None:
    now = os.stat(path_of(cache, key)).st_mtime
    os.utime(path_of(cache, key), (now - seconds, now - seconds))


def test_least_recently_used_goes_first(tmp_path):
    cache = Cache(tmp_path / "cache", limit_bytes=16_000)
    keys = [digest(str(number)) for number in range(4)]
    for age, key in enumerate(keys[:3]):
        cache.put(key, helpers.sections(key))
        aged(cache, key, 1000 - age)
    cache.get(keys[0])  # now the one that was used last
    assert cache.list()[0].key == keys[0]
    cache.put(keys[3], helpers.sections(keys[3]))
    assert {entry.key for entry in cache.list()} == {keys[0], keys[2], keys[3]}
    assert sum(entry.bytes for entry in cache.list()) <= cache.limit_bytes


def test_the_newest_stays_whatever_the_clocks_say(tmp_path):
    """On a network file system another machine's clock may be ahead."""
    cache = Cache(tmp_path / "cache", limit_bytes=8_000)
    cache.put(OTHER, helpers.sections(OTHER))
    aged(cache, OTHER, -1000)
    cache.put(KEY, helpers.sections(KEY))
    assert [entry.key for entry in cache.list()] == [KEY]


def test_an_entry_larger_than_the_limit_is_not_kept(tmp_path):
    cache = Cache(tmp_path / "cache", limit_bytes=1000)
    assert cache.put(KEY, helpers.sections(KEY)) is False
    assert cache.get_or_make(KEY, lambda: SMALL) == (SMALL, False)
    assert cache.get(KEY) == SMALL


def test_what_killed_processes_left_is_removed_in_time(cache):
    cache.put(KEY, SMALL)
    left = [Path(cache.folder, f"{OTHER}.{'0' * 16}.tmp"), Path(cache.folder, f"{OTHER}.lock")]
    for path in left:
        path.write_bytes(b"")
    foreign = Path(cache.folder, "notes.txt")
    foreign.write_text("not ours")
    cache.put(KEY, SMALL)
    assert all(path.exists() for path in left)  # somebody may just have made them
    for path in (*left, foreign):
        os.utime(path, (0, 0))
    cache.put(KEY, SMALL)
    assert not any(path.exists() for path in left)
    cache.clear()
    assert os.listdir(cache.folder) == ["notes.txt"]


# Settings


def test_the_folder_is_the_one_of_the_environment(monkeypatch, tmp_path):
    for name in ("TILEWRIGHT_CACHE_DIR", "TILEWRIGHT_CACHE_SIZE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_cache().folder == str(tmp_path / ".cache/tilewright")
    assert default_cache().limit_bytes == 512 << 20
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache().folder == str(tmp_path / ".cache/tilewright")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache().folder == str(tmp_path / "xdg/tilewright")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "~/mine")
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "3")
    assert default_cache().folder == str(tmp_path / "mine")
    assert default_cache().limit_bytes == 3 << 20
    for off in ("", "off"):
        monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", off)
        assert default_cache() is None


def test_a_user_without_a_home(monkeypatch, tmp_path):
    """As in a container that runs under some number: then ~ is left as it is, a folder in the current one."""
    for name in ("TILEWRIGHT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    monkeypatch.chdir(tmp_path)
    refused(default_cache(), "not an absolute path")
    assert os.listdir(tmp_path) == []


def test_a_size_that_is_no_number_is_said_once(monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "/somewhere")
    monkeypatch.setenv("TILEWRIGHT_CACHE_SIZE", "1 GB")
    with pytest.warns(CacheWarning, match="'1 GB', not a whole number of MiB") as caught:
        assert default_cache().limit_bytes == default_cache().limit_bytes == 512 << 20
    assert len(caught) == 1
