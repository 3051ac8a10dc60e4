"""From a kernel's source to its function on a device: each program compiled once, here or by another process.

A program is looked up in memory, then on disk, and only then compiled. Its sources are given to NVRTC as texts: it
opens no file, and in particular none of the current directory.
"""

from __future__ import annotations

import copy
import functools
import itertools
import os
import re
import threading
from typing import TYPE_CHECKING

from tilewright._runtime.cache import default_cache
from tilewright._runtime.discovery import Library, find_nvrtc, install_command, kernels_path
from tilewright._runtime.errors import CompileError, NvrtcError
from tilewright._runtime.keys import digest, digest_of_texts
from tilewright._runtime.program import Program, flatten, from_sections, pack, parse_report, to_sections

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tilewright._core import cuda
    from tilewright._runtime.cache import Cache

SCHEMA = "tilewright program 1"  # to be changed with the meaning of an entry's sections
ARCH = re.compile(r"sm_\d+[af]?")
# --no-source-include: otherwise a header that is not among those given is looked for in the current directory.
OPTIONS = ("--std=c++20", "-default-device", "--no-source-include", "--minimal", "--ptxas-options=-v")
OLDEST = (12, 3)  # versions of NVRTC before this one have no __builtin_bit_cast
MINIMAL = (12, 4)  # and those before this one no --minimal, which only saves time

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
) -> Program:
    """The program `stem` (the kernels' file `stem`.cuh, or `source`) with these instantiations, for an architecture.

    `headers` are texts that can be included beside the kernels' own. Raises CompileError with the compiler's log,
    NvrtcError where there is no compiler. Threads and processes that want the same at once compile it once.

    >>> compile_program("probe", ["k"], "90", source="")
    Traceback (most recent call last):
    ValueError: compile_program: arch is '90', which is no architecture such as sm_90a
    """
    wanted = (stem, tuple(names), arch, source, tuple(sorted(headers.items())) if headers else ())
    program = _programs.get(wanted)
    if program is not None:
        return program
    with _lock_of(wanted):
        program = _programs.get(wanted)
        if program is None:
            program = _look_up(stem, tuple(dict.fromkeys(names)), arch, headers or {}, source)
            _programs[wanted] = copy.copy(program)
            _programs[wanted].from_cache = "memory"
    return program


def compiled_program(stem: str, names: Sequence[str], arch: str) -> Program | None:
    """The same, if this process has it already; nothing is compiled and no file is read.

    >>> compiled_program("tiled_copy", ["nobody asked for this"], "sm_90a")
    """
    return _programs.get((stem, tuple(names), arch, None, ()))


def kernel(program: Program, name: str, device: int) -> cuda.Function:
    """A kernel of a program on a device; the program is loaded there once.

    >>> from tilewright._runtime.program import Program
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
        return _functions.setdefault((program.key, device, name), module.function(program.lowered[name]))


def forget() -> None:
    """Forget what is in memory, as a new process would begin; what is loaded on a device stays loaded there.

    >>> forget()
    """
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


def driver_cuda() -> int | None:
    """The major version of the driver's CUDA; None without a driver.

    >>> driver_cuda() in (None, 11, 12, 13)
    True
    """
    from tilewright._core import cuda

    try:
        return cuda.driver_version() // 1000 if cuda.driver_path() else None
    except cuda.DriverError:
        return None


def nvrtc_library() -> Library:
    """The NVRTC that compiles; NvrtcError, with all places that were tried and what to do, where there is none.

    >>> try:
    ...     found = nvrtc_library().major in (None, 12, 13)
    ... except NvrtcError as error:
    ...     found = "pip install" in str(error)
    >>> found
    True
    """
    return _search(os.environ.get("TILEWRIGHT_NVRTC"))


@functools.cache
def open_nvrtc(path: str) -> cuda.Nvrtc:
    """The NVRTC at a path, loaded.

    >>> try:
    ...     open_nvrtc("/nowhere/libnvrtc.so")
    ... except NvrtcError as error:
    ...     print(str(error).split(":")[0])
    NVRTC cannot be loaded
    """
    from tilewright._core import cuda

    try:
        nvrtc = cuda.Nvrtc(path)
    except (OSError, RuntimeError) as error:
        raise NvrtcError(f"NVRTC cannot be loaded: {error}; TILEWRIGHT_NVRTC names another, or {_advice()}") from error
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
    return [f"-arch={arch}", *(x for x in OPTIONS if x != "--minimal" or version >= MINIMAL)]


def _look_up(stem: str, names: tuple[str, ...], arch: str, extra: Mapping[str, str], source: str | None) -> Program:
    if not ARCH.fullmatch(arch):
        raise ValueError(f"compile_program: arch is {arch!r}, which is no architecture such as sm_90a")
    own, tree = _kernel_headers()
    headers = {**own, **extra}
    if source is None:
        if f"{stem}.cuh" not in headers:
            raise ValueError(f"compile_program: {stem}.cuh is not in {kernels_path()}, and no source is given")
        source = f'#include "{stem}.cuh"\n'
    library, cache, options = nvrtc_library(), default_cache(), (f"-arch={arch}", *OPTIONS)
    first: list[Program] = []

    def first_program() -> dict[str, bytes]:
        first.append(_compile(stem, names, arch, headers, source, library))
        return {"build": _build(first[0].ptx).encode()}

    build = _build_line(library.path, cache, first_program)
    key = digest(SCHEMA, build, options, tree, digest_of_texts(extra), stem, source, names)

    def make() -> dict[str, bytes]:
        return to_sections(first.pop() if first else _compile(stem, names, arch, headers, source, library))

    sections, kept = cache.get_or_make(key, make) if cache else (make(), False)
    return from_sections(key, sections, "disk" if kept else None)


def _compile(
    stem: str,
    names: tuple[str, ...],
    arch: str,
    headers: Mapping[str, str],
    source: str,
    library: Library,
) -> Program:
    from tilewright.kernels.progress import waiting

    nvrtc = open_nvrtc(library.path)
    options = tuple(options_for(nvrtc.version, arch))
    with waiting(f"compiling {stem} for {arch}"):
        result = nvrtc.compile(source, f"{stem}.cu", dict(headers), list(options), list(names))
    if not result.ok or result.cubin is None:
        version = ".".join(map(str, nvrtc.version))
        raise CompileError(result.log, source, options, names, headers, f"NVRTC {version} ({library.path})")
    return Program(
        stem=stem,
        names=names,
        arch=arch,
        options=options,
        cubin=result.cubin,
        lowered=dict(result.lowered),
        report=parse_report(result.log, result.lowered, result.cubin),
        log=result.log,
        packed_ptx=pack(result.ptx or ""),
        packed_source=pack(flatten(source, headers)),
    )


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
    cuda_version = driver_cuda()
    found, tried = find_nvrtc(cuda_version)
    if found is None:
        places = "".join(f"\n  {line}" for line in tried)
        raise NvrtcError(f"no NVRTC, the library that compiles kernels, was found; {_advice()}. Tried:{places}")
    return found


def _advice() -> str:
    return f"`{install_command(driver_cuda())}` installs one"


def _lock_of(wanted: object) -> threading.Lock:
    with _guard:
        return _building.setdefault(wanted, threading.Lock())


def _after_fork() -> None:
    """Locks that threads of the parent held would never be free in the child."""
    global _guard
    _guard = threading.Lock()
    _building.clear()


os.register_at_fork(after_in_child=_after_fork)
