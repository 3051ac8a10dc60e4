"""From a kernel's source to its function on a device: each program compiled once, here or by another process.

A program is looked up in memory, then on disk, and only then compiled. Its sources are given to NVRTC as texts: it
opens no file, and in particular none of the current directory.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from typing import TYPE_CHECKING

from tilewright.devices import is_architecture
from tilewright.runtime.cache import default_cache
from tilewright.runtime.discovery import Library, advice, driver_cuda, find_nvrtc, kernels_path
from tilewright.runtime.entry import digest, digest_of_texts
from tilewright.runtime.program import OPTIONS, Program, from_sections, to_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tilewright._core import cuda
    from tilewright.runtime.cache import Cache

SCHEMA = "tilewright program 1"  # to be changed with the meaning of an entry's sections

_guard = threading.Lock()
_building: dict[object, threading.Lock] = {}
_programs: dict[object, Program] = {}
_builds: dict[str, str] = {}
_modules: dict[tuple[str, int], cuda.Module] = {}
_functions: dict[tuple[str, int, str], cuda.Function] = {}


def compile_program(
    stem: str,
    names: Sequence[str],
    arch: str,
    *,
    headers: Mapping[str, str] | None = None,
    source: str | None = None,
    options: Sequence[str] = (),
) -> Program:
    """The program `stem` (the kernels' file `stem`.cuh, or `source`) with these instantiations, for an architecture.

    `headers` are texts that can be included beside the kernels' own, `options` are given to NVRTC beside those of all
    programs. Raises CompileError with the compiler's log, NvrtcError where there is no compiler. Threads and processes
    that want the same at once compile it once.

    >>> compile_program("probe", ["k"], "90", source="")
    Traceback (most recent call last):
    ValueError: compile_program: arch is '90', which is no architecture such as sm_90a
    """
    wanted = (stem, tuple(names), arch, source, tuple(sorted(headers.items())) if headers else (), *options)
    program = _programs.get(wanted)
    if program is not None:
        return program
    with _lock_of(wanted):
        program = _programs.get(wanted)
        if program is None:
            program = _look_up(stem, tuple(dict.fromkeys(names)), arch, headers or {}, source, tuple(options))
            _programs[wanted] = program.in_memory()
    return program


def compiled_program(stem: str, names: Sequence[str], arch: str, *, source: str | None = None) -> Program | None:
    """The same, if this process has it already; nothing is compiled and no file is read.

    >>> compiled_program("tiled_copy", ["nobody asked for this"], "sm_90a")
    """
    return _programs.get((stem, tuple(names), arch, source, ()))


def kernel(program: Program, name: str, device: int, offsets: Sequence[int] | None = None) -> cuda.Function:
    """A kernel of a program on a device; the program is loaded there once.

    `offsets` says where each of the kernel's parameters begins in the memory of a launch; by default it has one.

    >>> from tilewright.runtime.program import Program
    >>> kernel(Program("probe", ("k<1>",), "sm_80"), "k<2>", 0)
    Traceback (most recent call last):
    ValueError: kernel: 'k<2>' is not in Program(probe, sm_80: k<1>)
    """
    function = _functions.get((program.key, device, name))
    if function is not None:
        return function
    if name not in program.lowered:
        raise ValueError(f"kernel: {name!r} is not in {program}")
    with _lock_of((program.key, device)):
        module = _modules.get((program.key, device))
        if module is None:
            from tilewright._core import cuda

            module = _modules[program.key, device] = cuda.load(device, program.cubin)
        more = () if offsets is None else (list(offsets),)
        return _functions.setdefault((program.key, device, name), module.function(program.lowered[name], *more))


def forget() -> None:
    """Forget what is in memory, as a new process would begin; what is loaded on a device stays loaded there.

    >>> forget()
    """
    from tilewright.runtime.nvrtc import open_nvrtc

    for memory in (_building, _programs, _builds, _modules, _functions):
        memory.clear()
    for memoised in (_kernel_headers, _search, open_nvrtc):
        memoised.cache_clear()


def kernels_digest() -> str:
    """The digest of all device code.

    >>> len(kernels_digest())
    64
    """
    return _kernel_headers()[1]


def nvrtc_library() -> Library:
    """The NVRTC that compiles; NvrtcError, with all places that were tried and what to do, where there is none.

    >>> from tilewright.runtime.errors import NvrtcError
    >>> try:
    ...     found = nvrtc_library().major in (None, 12, 13)
    ... except NvrtcError as error:
    ...     found = "pip install" in str(error)
    >>> found
    True
    """
    return _search(os.environ.get("TILEWRIGHT_NVRTC"))


def _look_up(
    stem: str, names: tuple[str, ...], arch: str, extra: Mapping[str, str], source: str | None, special: tuple[str, ...]
) -> Program:
    if not is_architecture(arch):
        raise ValueError(f"compile_program: arch is {arch!r}, which is no architecture such as sm_90a")
    own, tree = _kernel_headers()
    headers = {**own, **extra}
    if source is None:
        if f"{stem}.cuh" not in headers:
            raise ValueError(f"compile_program: {stem}.cuh is not in {kernels_path()}, and no source is given")
        source = f'#include "{stem}.cuh"\n'
    library, cache, options = nvrtc_library(), default_cache(), (f"-arch={arch}", *OPTIONS, *special)
    first: list[Program] = []

    def compiled() -> Program:
        from tilewright.runtime.nvrtc import compiled_by

        return compiled_by(library.path, stem, names, arch, headers, source, special)

    def first_program() -> dict[str, bytes]:
        first.append(compiled())
        return {"build": _build(first[0].ptx).encode()}

    build = _build_line(library.path, cache, first_program)
    key = digest(SCHEMA, build, options, tree, digest_of_texts(extra), stem, source, names)

    def make() -> dict[str, bytes]:
        return to_sections(first.pop() if first else compiled())

    sections, kept = cache.get_or_make(key, make) if cache else (make(), False)
    return from_sections(key, sections, "disk" if kept else None)


def _build_line(path: str, cache: Cache | None, first_program: Callable[[], dict[str, bytes]]) -> str:
    """Which NVRTC this is, to the patch release: the lines above the PTX that it makes.

    Its version number lacks the patch. The lines are kept on disk under what identifies the library's file, so that a
    process which compiles nothing need not load NVRTC; the folder's time is that of its companion libraries' exchange.
    An NVRTC of which nothing is known yet shows them in the first program that is wanted of it.
    """
    if path not in _builds:
        key = _identity(path) if cache else None
        sections = cache.get_or_make(key, first_program)[0] if cache and key else first_program()
        _builds[path] = sections["build"].decode()
    return _builds[path]


def _build(ptx: str) -> str:
    return "\n".join(itertools.takewhile(lambda line: line.startswith("//"), ptx.lstrip().splitlines()))


def _identity(path: str) -> str | None:
    """The key of a library's file; None where the file is gone, as after an upgrade while the library is loaded."""
    real = os.path.realpath(path)
    try:
        file, folder = os.stat(real), os.stat(os.path.dirname(real))
    except OSError:
        return None
    facts = (file.st_size, file.st_mtime_ns, file.st_ino, folder.st_mtime_ns)
    return digest("tilewright build line 1", real, *map(str, facts))


@functools.cache
def _kernel_headers() -> tuple[dict[str, str], str]:
    """All device code, by the name under which it is included, and its digest."""
    top, headers = kernels_path(), {}
    for folder, _, files in os.walk(top):
        for file in files:
            if file.endswith(".cuh"):
                path = os.path.join(folder, file)
                with open(path, encoding="utf-8") as stream:
                    headers[os.path.relpath(path, top)] = stream.read()
    return headers, digest_of_texts(headers)


@functools.cache
def _search(_chosen: str | None) -> Library:
    search = find_nvrtc(driver_cuda())
    if search.found is None:
        from tilewright.runtime.errors import NvrtcError

        places = "".join(f"\n  {line}" for line in search.tried)
        raise NvrtcError(f"no NVRTC, the library that compiles kernels, was found; {advice()}. Tried:{places}")
    return search.found


def _lock_of(wanted: object) -> threading.Lock:
    with _guard:
        return _building.setdefault(wanted, threading.Lock())


def _after_fork() -> None:
    """Locks that threads of the parent held would never be free in the child."""
    global _guard
    _guard = threading.Lock()
    _building.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
