"""One memory access of one warp at chosen addresses, for a profiler to count: the host side of access.cuh."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.analysis import async_access, warp_access
from tilewright.analysis.access import Request
from tilewright.analysis.cp_async import AsyncAccess
from tilewright.runtime.compiler import compile_program, kernel

HEADERS = {"access.cuh": Path(__file__).with_name("access.cuh").read_text()}
SOURCE = '#include "access.cuh"\nusing namespace tilewright;\n'
SLOTS = 24  # kProbes of the kernel: rows of offsets in its parameters
LANES = 32
GLOBAL_BYTES = 1 << 20  # of the memory that is accessed; shared memory is a CTA's
SHARED_BYTES = 64 << 10
NEVER = 0x9E3779B9  # the memory is all zeros


class Kind(NamedTuple):
    """What sort of access: the kernel's two template arguments, and what it is in the terms of analysis.warp_access."""

    access: str
    size: int  # bytes of a lane; matrices of ldmatrix and stmatrix
    sass: str  # the instruction, as a disassembler writes it
    sides: tuple[tuple[str, str, int, int | None], ...]  # memory, op, width, matrices; cp.async has two


def _kinds() -> dict[str, Kind]:
    kinds = {}
    suffixes = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
    for width, suffix in suffixes.items():
        for op, letters in (("load", "LD"), ("store", "ST")):
            name = f"{letters.lower()}.global.{width}"
            sides = (("global", op, width, None),)
            kinds[name] = Kind(f"kGlobal{op.title()}", width, f"{letters}G.E{suffix}", sides)
            sides = (("shared", op, width, None),)
            kinds[f"{letters.lower()}.shared.{width}"] = Kind(
                f"kShared{op.title()}", width, f"{letters}S{suffix}", sides
            )
    for op, letters in (("ldmatrix", "LDSM"), ("stmatrix", "STSM")):
        for count in (1, 2, 4):
            for trans in ("", ".trans"):
                access = ("kLdMatrix" if op == "ldmatrix" else "kStMatrix") + ("Transposed" if trans else "")
                sass = f"{letters}.16.M{'T' if trans else ''}88" + (f".{count}" if count > 1 else "")
                kinds[f"{op}.x{count}{trans}"] = Kind(access, count, sass, (("shared", op, 16, count),))
    for cache, width in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16), ("filled", 16)):
        bypass = "" if cache == "ca" else ".BYPASS"
        both = tuple((memory, "cp.async", width, None) for memory in ("global", "shared"))
        name = f"cp.async.{cache}.{width}"
        kinds[name] = Kind(f"kCpAsync{cache.title()}", width, f"LDGSTS.E{bypass}{suffixes[width]}", both)
    return kinds


KINDS = _kinds()


class Access(NamedTuple):
    """One access of a warp: byte offsets into the memory, of 32 lanes; bit t of `lanes` says whether lane t takes part.

    ldmatrix and stmatrix use the offsets of the first 8 lanes a matrix. cp.async reads global memory at `offsets` and
    writes shared memory at `shared`.

    >>> Access("ld.shared.4", tuple(range(0, 128, 4)), 0b1011).active
    [0, 1, 3]
    """

    kind: str
    offsets: tuple[int, ...]
    lanes: int = 0xFFFFFFFF
    shared: tuple[int, ...] = ()

    @property
    def active(self) -> list[int]:
        """The lanes whose addresses count."""
        matrices = self.sides[0][3]
        return [t for t in range(LANES if matrices is None else 8 * matrices) if self.lanes >> t & 1]

    @property
    def mask(self) -> list[bool]:
        """Whether each lane takes part."""
        return [bool(self.lanes >> t & 1) for t in range(LANES)]

    @property
    def sides(self) -> tuple[tuple[str, str, int, int | None], ...]:
        """(memory, op, width, matrices) of each memory that is accessed."""
        return KINDS[self.kind].sides

    def predicted(self) -> list[Request]:
        """What analysis says of each memory that is accessed.

        >>> [(r.memory, r.sectors, r.wavefronts) for r in Access("ld.shared.8", tuple(range(0, 256, 8))).predicted()]
        [('shared', 0, 2)]
        """
        both = self.asynchronous()
        if both is not None:
            return [both.source, both.destination]
        ((memory, op, width, matrices),) = self.sides
        active = None if matrices else self.mask
        return [warp_access(self.offsets, width, memory=memory, op=op, active=active, matrices=matrices)]

    def asynchronous(self) -> AsyncAccess | None:
        """The same of a cp.async with what else is known of it; None for another access.

        >>> print(Access("ld.shared.4", (0,) * 32).asynchronous())
        None
        """
        if len(self.sides) == 1:
            return None
        cache = "ca" if self.kind.startswith("cp.async.ca") else "cg"
        lanes = "reads" if self.kind.startswith("cp.async.filled") else "active"
        return async_access(self.offsets, self.shared, self.sides[0][2], cache=cache, **{lanes: self.mask})


def most(kind: str) -> int:
    """How many accesses of a kind one launch holds.

    >>> most("ld.global.4"), most("cp.async.cg.16")
    (24, 12)
    """
    return SLOTS // 2 if kind.startswith("cp.async") else SLOTS


def kernel_name(kind: str, count: int) -> str:
    """The instantiation that makes `count` accesses of a kind.

    >>> kernel_name("ldmatrix.x4", 1)
    'probe<Access::kLdMatrix, 4, 1>'
    """
    return f"probe<Access::{KINDS[kind].access}, {KINDS[kind].size}, {count}>"


def compile_probes(arch: str, wanted: Iterable[tuple[str, int]]) -> Any:
    """One program with the instantiations for these kinds and counts; NvrtcError where there is no compiler.

    >>> compile_probes("90", [("ld.global.4", 1)])
    Traceback (most recent call last):
    ValueError: compile_program: arch is '90', which is no architecture such as sm_90a
    """
    names = [kernel_name(kind, count) for kind, count in wanted]
    return compile_program("probe", names, arch, headers=HEADERS, source=SOURCE)


def parameters(address: int, accesses: Sequence[Access], count: int) -> bytes:
    """The kernel's parameter: the global memory's address and the offsets of at most `count` accesses of one kind.

    Those that are missing take no lane. Raises ValueError for offsets outside the memory.

    >>> len(parameters(4096, [Access("st.global.1", (0,) * 32)], 24))
    3184
    """
    lanes, rows = [0] * SLOTS, [0] * (SLOTS * LANES)
    for i, access in enumerate(accesses):
        lanes[i] = access.lanes
        _check(access)
        rows[i * LANES : (i + 1) * LANES] = access.offsets
        if access.shared:
            rows[(count + i) * LANES : (count + i + 1) * LANES] = access.shared
    return struct.pack(f"<Q2I{SLOTS}I{SLOTS * LANES}I", address, NEVER, 0, *lanes, *rows)


def _check(access: Access) -> None:
    kind = KINDS.get(access.kind)
    if kind is None:
        raise ValueError(f"probe: there is no access {access.kind!r}; there are {', '.join(KINDS)}")
    two = len(kind.sides) == 2
    if len(access.offsets) != LANES or len(access.shared) != (LANES if two else 0):
        raise ValueError(
            f"probe: {access.kind} takes {LANES} offsets"
            + (f" and {LANES} of shared memory" if two else "")
            + f", not {len(access.offsets)} and {len(access.shared)}"
        )
    for (memory, _, width, _), offsets in zip(kind.sides, (access.offsets, access.shared), strict=False):
        limit = (GLOBAL_BYTES if memory == "global" else SHARED_BYTES) - width
        outside = [x for x in offsets if not 0 <= x <= limit]
        if outside:
            raise ValueError(f"probe: offset {outside[0]} of {access.kind} is not in [0, {limit}] of {memory} memory")


def launch(device: int, address: int, accesses: Sequence[Access], program: Any, *, count: int, stream: int = 1) -> None:
    """Make accesses of one kind in one launch of one warp, with the kernel for `count` of them.

    `address` is that of GLOBAL_BYTES zeros in the device's memory. Raises DriverError where there is no GPU.

    >>> launch(0, 4096, [Access("ld.global.4", (0,))], None, count=1)
    Traceback (most recent call last):
    ValueError: probe: ld.global.4 takes 32 offsets, not 1 and 0
    """
    params = parameters(address, accesses, count)
    function = kernel(program, kernel_name(accesses[0].kind, count), device)
    function.set_dynamic_shared(SHARED_BYTES)
    function.launch((1, 1, 1), (LANES, 1, 1), SHARED_BYTES, stream, params)
