"""A compiled program: the kernels that were instantiated together, and all that is known about them."""

from __future__ import annotations

import json
import re
import struct
import zlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)".*$', re.M)
ENTRY = re.compile(r"Compiling entry function '([^']+)' for")
PROPERTIES = re.compile(r"Function properties for (\S+)")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+)(?:\+\d+)? bytes smem")
SECTION = struct.Struct("<II4Q2I2Q")  # an entry of a 64-bit ELF file's table of sections


class Report(NamedTuple):
    """What a kernel takes: for a thread registers, bytes stored and loaded to spill them, and stack; for a block static
    shared memory; constant memory, its parameters among it.

    >>> Report(registers=32).spill_bytes
    0
    """

    registers: int = 0
    spill_bytes: int = 0
    shared_bytes: int = 0
    stack_bytes: int = 0
    constant_bytes: int = 0


class Program:
    """Kernels compiled together.

    `names` are the name expressions asked for, `lowered` their symbols in `cubin`, `report` what each takes; `key` is
    the program's key in the cache and `from_cache` says where it came from: "memory", "disk" or None (just compiled).

    >>> program = Program("probe", ("k<1>",), "sm_80", packed_ptx=pack("// ptx"))
    >>> program, program.ptx
    (Program(probe, sm_80: k<1>), '// ptx')
    """

    def __init__(
        self,
        stem: str,
        names: tuple[str, ...],
        arch: str,
        options: tuple[str, ...] = (),
        *,
        key: str = "",
        cubin: bytes = b"",
        lowered: Mapping[str, str] | None = None,
        report: Mapping[str, Report] | None = None,
        log: str = "",
        packed_ptx: bytes = b"",
        packed_source: bytes = b"",
        from_cache: Literal["memory", "disk"] | None = None,
    ) -> None:
        self.stem = stem
        self.names = names
        self.arch = arch
        self.options = options
        self.key = key
        self.cubin = cubin
        self.lowered = lowered or {}
        self.report = report or {}
        self.log = log
        self.packed_ptx = packed_ptx
        self.packed_source = packed_source
        self.from_cache = from_cache

    @property
    def ptx(self) -> str:
        """The program in PTX."""
        return zlib.decompress(self.packed_ptx).decode()

    @property
    def source(self) -> str:
        """The program in CUDA C++, with everything that it includes."""
        return zlib.decompress(self.packed_source).decode()

    def __repr__(self) -> str:
        return f"Program({self.stem}, {self.arch}: {', '.join(self.names)})"


def pack(text: str) -> bytes:
    """A text, compressed.

    >>> zlib.decompress(pack("text"))
    b'text'
    """
    return zlib.compress(text.encode(), 1)


def to_sections(program: Program) -> dict[str, bytes]:
    """A program as an entry of the cache.

    >>> program = Program("probe", ("k",), "sm_80", cubin=b"code", report={"k": Report(8)})
    >>> from_sections("", to_sections(program)).report
    {'k': Report(registers=8, spill_bytes=0, shared_bytes=0, stack_bytes=0, constant_bytes=0)}
    """
    meta = {name: getattr(program, name) for name in ("stem", "names", "arch", "options", "lowered", "report", "log")}
    return {
        "meta": json.dumps(meta).encode(),
        "cubin": program.cubin,
        "ptx": program.packed_ptx,
        "source": program.packed_source,
    }


def from_sections(
    key: str, sections: Mapping[str, bytes], from_cache: Literal["memory", "disk"] | None = None
) -> Program:
    """A program from an entry of the cache; the other way round than to_sections.

    >>> program = Program("probe", ("k",), "sm_80", packed_source=pack("y"))
    >>> from_sections("", to_sections(program)).source
    'y'
    """
    meta: dict[str, Any] = json.loads(sections["meta"])
    report = {name: Report(*numbers) for name, numbers in meta["report"].items()}
    names, options = tuple(meta["names"]), tuple(meta["options"])
    return Program(
        meta["stem"],
        names,
        meta["arch"],
        options,
        key=key,
        lowered=meta["lowered"],
        log=meta["log"],
        report=report,
        cubin=sections["cubin"],
        packed_ptx=sections["ptx"],
        packed_source=sections["source"],
        from_cache=from_cache,
    )


def parse_report(log: str, lowered: Mapping[str, str], cubin: bytes = b"") -> dict[str, Report]:
    """What `--ptxas-options=-v` says about each kernel, by name expression; the constants are seen in the code only.

    >>> log = '''ptxas info    : Compiling entry function '_k' for 'sm_90a'
    ... ptxas info    : Function properties for _k
    ...     8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
    ... ptxas info    : Used 16 registers, used 1 barriers, 512 bytes smem'''
    >>> parse_report(log, {"k<1>": "_k"})["k<1>"]
    Report(registers=16, spill_bytes=8, shared_bytes=512, stack_bytes=8, constant_bytes=0)
    """
    reports: dict[str, Report] = {}
    kernel = function = ""
    for line in log.splitlines():
        if entry := ENTRY.search(line):
            kernel = function = entry[1]
            reports[kernel] = Report()
        elif properties := PROPERTIES.search(line):
            function = properties[1]  # of the kernel, or of a function that it calls
        elif kernel in reports and function == kernel and (stack := STACK.search(line)):
            frame, stores, loads = map(int, stack.groups())
            reports[kernel] = reports[kernel]._replace(stack_bytes=frame, spill_bytes=stores + loads)
        elif kernel in reports and (registers := REGISTERS.search(line)):
            shared = SHARED.search(line)
            static = int(shared[1]) if shared else 0
            reports[kernel] = reports[kernel]._replace(registers=int(registers[1]), shared_bytes=static)
    sections = elf_sections(cubin)
    for kernel, report in reports.items():
        bank = re.compile(rf"\.nv\.constant\d+(\.{re.escape(kernel)})?")
        constants = sum(size for name, size in sections.items() if bank.fullmatch(name))
        reports[kernel] = report._replace(constant_bytes=constants)
    return {name: reports[symbol] for name, symbol in lowered.items() if symbol in reports}


def elf_sections(file: bytes) -> dict[str, int]:
    """The sections of a 64-bit ELF file, such as a cubin, and their sizes; {} if it is none.

    >>> elf_sections(b"")
    {}
    """
    if file[:6] != b"\x7fELF\x02\x01":
        return {}
    (table,), (size, count, of_names) = struct.unpack_from("<Q", file, 0x28), struct.unpack_from("<3H", file, 0x3A)
    sections = [SECTION.unpack_from(file, table + size * index) for index in range(count)]
    names = sections[of_names][4]
    return {file[names + s[0] : file.index(b"\0", names + s[0])].decode(): s[5] for s in sections}


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
