"""A compiled program: the kernels that were instantiated together, and all that is known about them."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tilewright.runtime.ptxas import Report

# --no-source-include: otherwise a header that is not among those given is looked for in the current directory.
OPTIONS = ("--std=c++20", "-default-device", "--no-source-include", "--minimal", "--no-cache", "--ptxas-options=-v")


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
        report: Mapping[str, Sequence[int]] | None = None,
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
        self.numbers = report or {}
        self.log = log
        self.packed_ptx = packed_ptx
        self.packed_source = packed_source
        self.from_cache = from_cache

    @property
    def report(self) -> dict[str, Report]:
        """What each kernel takes, by name expression."""
        from tilewright.runtime.ptxas import Report

        return {name: Report(*numbers) for name, numbers in self.numbers.items()}

    @property
    def ptx(self) -> str:
        """The program in PTX."""
        return zlib.decompress(self.packed_ptx).decode()

    @property
    def source(self) -> str:
        """The program in CUDA C++, with everything that it includes."""
        return zlib.decompress(self.packed_source).decode()

    def in_memory(self) -> Program:
        """The same program, as it is found in memory from now on."""
        program = Program.__new__(Program)
        program.__dict__.update(self.__dict__, from_cache="memory")
        return program

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

    >>> program = Program("probe", ("k",), "sm_80", cubin=b"code", report={"k": (8, 0, 0, 0, 0)})
    >>> from_sections("", to_sections(program)).report
    {'k': Report(registers=8, spill_bytes=0, shared_bytes=0, stack_bytes=0, constant_bytes=0)}
    """
    meta = {name: getattr(program, name) for name in ("stem", "names", "arch", "options", "lowered", "log")}
    return {
        "meta": json.dumps({**meta, "report": program.numbers}).encode(),
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
    names, options = tuple(meta["names"]), tuple(meta["options"])
    return Program(
        meta["stem"],
        names,
        meta["arch"],
        options,
        key=key,
        lowered=meta["lowered"],
        log=meta["log"],
        report=meta["report"],
        cubin=sections["cubin"],
        packed_ptx=sections["ptx"],
        packed_source=sections["source"],
        from_cache=from_cache,
    )
