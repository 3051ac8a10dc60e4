"""`python -m tilewright cache list|show|clear`: the compile cache at the command line."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from tilewright._program import program
from tilewright.runtime import folder as folders
from tilewright.runtime.cache import default_cache
from tilewright.runtime.program import Program, from_sections
from tilewright.runtime.upkeep import entries as entries_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tilewright.runtime.cache import Cache

TITLE = 70  # characters of a name in the list: those of templates have thousands
SHOWN = 16  # digits of a key in the list: enough to tell entries apart, and understood by `show`


def cache_command(arguments: Sequence[str]) -> int:
    """Run `cache ARGUMENTS`; the exit status: 0, 1 if that cannot be done, 2 if the arguments are not understood.

    >>> cache_command(["lst"])
    2
    """
    try:
        match list(arguments):
            case ["list"]:
                return _list(_cache())
            case ["clear"]:
                cache = _cache()
                print(f"removed {cache.clear()} entries from {cache.folder}")
            case ["show", key]:
                print(describe(_find(_cache(), key)))
            case ["show", key, "--source"]:
                print(_find(_cache(), key).source, end="")
            case ["show", key, "--ptx"]:
                print(_find(_cache(), key).ptx, end="")
            case ["show", key, "--cubin", file]:
                cubin = _find(_cache(), key).cubin
                with open(file, "wb") as stream:
                    stream.write(cubin)
            case _:
                return 2
    except BrokenPipeError:  # nobody reads on, as in `... | head`
        raise
    except (LookupError, OSError) as error:
        reason = str(error.args[0]) if isinstance(error, LookupError) else str(error)
        print(f"{program()} cache: {reason}", file=sys.stderr)
        return 1
    return 0


def describe(program: Program) -> str:
    """What is known about a program, without its texts.

    >>> print(describe(Program("probe", ("k<1>",), "sm_80", ("-arch=sm_80",), report={"k<1>": (8, 0, 0, 0, 0)})))
    probe for sm_80
    options: -arch=sm_80
    k<1>
      8 registers, 0 bytes spilled, 0 bytes of stack, 0 bytes of shared memory
    """
    lines = [f"{program.stem} for {program.arch}", f"options: {' '.join(program.options)}"]
    for name in program.names:
        lines.append(name)
        if name in program.lowered:
            lines.append(f"  symbol {program.lowered[name]}")
        if name in program.report:
            report = program.report[name]
            lines.append(
                f"  {report.registers} registers, {report.spill_bytes} bytes spilled, {report.stack_bytes} bytes of "
                f"stack, {report.shared_bytes} bytes of shared memory"
            )
    return "\n".join(lines)


def _cache() -> Cache:
    cache = default_cache()
    if cache is None:
        raise LookupError(f"the disk cache is {folders.WHY_NONE}")
    return cache


def _list(cache: Cache) -> int:
    entries = cache.list()
    for entry in entries:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used))
        title = _title(entry.key, cache.get(entry.key))
        if len(title) > TITLE:  # `show` has all of it
            title = f"{title[: TITLE - 3]}..."
        print(f"{entry.key[:SHOWN]}  {entry.bytes:>9,} bytes  {used}  {title}")
    size = sum(entry.bytes for entry in entries) / 2**20
    print(f"{len(entries)} entries, {size:.1f} of {cache.limit_bytes >> 20} MiB, in {cache.folder}")
    for path in cache.shared:
        try:
            with folders.opened(path, shared=True) as folder:
                shared = entries_of(folder)
            print(f"{len(shared)} entries, {sum(x.bytes for x in shared) / 2**20:.1f} MiB, shared in {path}")
        except OSError as error:
            reason = str(error) if isinstance(error, folders.Refused) else f"{path}: {error.strerror}"
            print(f"shared folder not used: {reason}")
    return 0


def _title(key: str, sections: Mapping[str, bytes] | None) -> str:
    if sections is None:
        return "damaged: removed"
    if "tuned" in sections:
        return "tuned GEMM: " + sections["title"].decode("utf-8", "replace")
    if "meta" not in sections:  # which NVRTC a file is
        return "NVRTC: " + "".join(line[3:] for line in sections["build"].decode().splitlines() if "release" in line)
    program = from_sections(key, sections)
    more = f" and {len(program.names) - 1} more" if len(program.names) > 1 else ""
    return f"{program.stem} {program.arch}: {(program.names or ('',))[0]}{more}"


def _find(cache: Cache, prefix: str) -> Program:
    keys = [entry.key for entry in cache.list() if entry.key.startswith(prefix)]
    if len(keys) != 1:
        raise LookupError(f"{len(keys)} entries have a key that begins with {prefix!r}; `cache list` lists them")
    sections = cache.get(keys[0])
    if sections is None or "meta" not in sections:
        raise LookupError(f"{prefix} is no program")
    return from_sections(keys[0], sections)
