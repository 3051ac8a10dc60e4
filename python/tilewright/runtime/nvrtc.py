"""NVRTC, the run-time compiler: opened, told what it knows, and kept apart from forks."""

from __future__ import annotations

import contextlib
import functools
import os
import re
import threading
from typing import TYPE_CHECKING

from tilewright._core import cuda
from tilewright.runtime.discovery import advice, install_command
from tilewright.runtime.errors import CompileError, NvrtcError
from tilewright.runtime.program import OPTIONS, Program, pack
from tilewright.runtime.progress import waiting
from tilewright.runtime.ptxas import parse_report

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

OLDEST = (12, 3)  # versions of NVRTC before this one have no __builtin_bit_cast
# Options that older versions do not have, and the first version that has them. NVRTC's own cache is one more beside
# ours, and what comes from it has no report of registers and spills.
SINCE = {"--minimal": (12, 4), "--no-cache": (12, 9)}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)".*$', re.M)


@functools.cache
def open_nvrtc(path: str) -> cuda.Nvrtc:
    """The NVRTC at a path, loaded.

    >>> try:
    ...     open_nvrtc("/nowhere/libnvrtc.so")
    ... except NvrtcError as error:
    ...     print(str(error).split(":")[0])
    NVRTC cannot be loaded
    """
    try:
        nvrtc = cuda.Nvrtc(path)
    except (OSError, RuntimeError) as error:
        raise NvrtcError(f"NVRTC cannot be loaded: {error}; TILEWRIGHT_NVRTC names another, or {advice()}") from error
    require_version(nvrtc.version, path)
    return nvrtc


def require_version(version: tuple[int, int], path: str) -> None:
    """NvrtcError where an NVRTC is too old for the kernels.

    >>> require_version((13, 0), "/lib/libnvrtc.so.13")
    >>> try:
    ...     require_version((12, 1), "/lib/libnvrtc.so.12")
    ... except NvrtcError as error:
    ...     print(str(error).split(";")[0])
    NVRTC 12.1 (/lib/libnvrtc.so.12) is too old: the kernels need 12.3 or newer
    """
    if version < OLDEST:
        found, least = (".".join(map(str, x)) for x in (version, OLDEST))
        raise NvrtcError(
            f"NVRTC {found} ({path}) is too old: the kernels need {least} or newer; TILEWRIGHT_NVRTC names another, or "
            + install_command(version[0])
        )


def options_for(version: tuple[int, int], arch: str) -> list[str]:
    """What an NVRTC is told.

    >>> len(options_for((12, 4), "sm_80")) - len(options_for((12, 3), "sm_80"))
    1
    """
    return [f"-arch={arch}", *(x for x in OPTIONS if version >= SINCE.get(x, OLDEST))]


def compiled_by(
    path: str,
    stem: str,
    names: Sequence[str],
    arch: str,
    headers: Mapping[str, str],
    source: str,
    special: Sequence[str] = (),
) -> Program:
    """What the NVRTC at a path makes of a source and its headers, with special options beside those of all programs;
    CompileError where it refuses them.

    >>> try:
    ...     compiled_by("/nowhere/libnvrtc.so", "probe", ["k<1>"], "sm_80", {}, "")
    ... except NvrtcError as error:
    ...     print(str(error).split(":")[0])
    NVRTC cannot be loaded
    """
    nvrtc = open_nvrtc(path)
    options = [*options_for(nvrtc.version, arch), *special]
    with no_fork(), waiting(f"compiling {stem} for {arch}"):
        result = nvrtc.compile(source, f"{stem}.cu", dict(headers), options, list(names))
    if not result.ok or result.cubin is None:
        version = ".".join(map(str, nvrtc.version))
        raise CompileError(result.log, source, options, names, headers, f"NVRTC {version} ({path})")
    return Program(
        stem=stem,
        names=tuple(names),
        arch=arch,
        options=tuple(options),
        cubin=result.cubin,
        lowered=dict(result.lowered),
        report=parse_report(result.log, result.lowered, result.cubin),
        log=result.log,
        packed_ptx=pack(result.ptx or ""),
        packed_source=pack(flatten(source, headers)),
    )


def flatten(source: str, headers: Mapping[str, str]) -> str:
    """A source with each header put where it is included first; headers guard themselves with `#pragma once`.

    >>> print(flatten('#include "a.cuh"\\nint y;', {"a.cuh": "#pragma once\\nint x;"}))
    // a.cuh
    int x;
    int y;
    """
    seen: set[str] = set()

    def put(found: re.Match[str]) -> str:
        name = found[1]
        if name not in headers:
            return found[0]
        if name in seen:
            return ""
        seen.add(name)
        return f"// {name}\n" + INCLUDE.sub(put, headers[name].replace("#pragma once\n", "")).rstrip("\n")

    return INCLUDE.sub(put, source)


# NVRTC locks what its threads share. A fork would copy locks that nobody frees in the child, so it waits until nothing
# is being compiled, and what is to be compiled waits until it is done. (os.fork lets the other threads run meanwhile.)
_gate = threading.Condition()
_compiling: list[int] = []  # the threads
_forking: list[int] = []


@contextlib.contextmanager
def no_fork() -> Iterator[None]:
    """A time in which no other thread forks this process.

    >>> with no_fork():
    ...     pass
    """
    thread = threading.get_ident()
    with _gate:
        _gate.wait_for(lambda: not _forking)
        _compiling.append(thread)
    try:
        yield
    finally:
        with _gate:
            _compiling.remove(thread)
            _gate.notify_all()


def _before_fork() -> None:
    own = threading.get_ident()  # a signal's handler may fork in a thread that compiles: in Python, not within NVRTC
    with _gate:
        _forking.append(own)
        _gate.wait_for(lambda: all(thread == own for thread in _compiling))


def _after_fork_in_parent() -> None:
    with _gate:
        _forking.remove(threading.get_ident())
        _gate.notify_all()


def _after_fork_in_child() -> None:
    global _gate
    _gate = threading.Condition()
    _forking.clear()
    _compiling[:] = [thread for thread in _compiling if thread == threading.get_ident()]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
