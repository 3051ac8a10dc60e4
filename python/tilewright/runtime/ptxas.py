"""What ptxas, the assembler in NVRTC, says of the kernels of a program; the constants are seen in the code only."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

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
