"""What an analysis consists of: one entry for each memory instruction, and what is concluded from all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright._notebook import drawn, or_text
from tilewright._registry import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tilewright.analysis.access import Request
    from tilewright.analysis.swizzle_modes import SwizzleMode
    from tilewright.kernels.analyze.occupancy import Occupancy

__all__ = ["Analysis", "MemoryInstruction"]


@drawn
class MemoryInstruction(NamedTuple):
    """One memory instruction of a kernel, with totals over the scope of its analysis.

    - `name`: what it does in the kernel, such as "load A"; `sass`: its class as SASS shows it, such as "LDG.E.128"
    - `memory`, `op`, `width`: as in `Request`; of the copy engine and of wgmma, which have no lanes, `op` is "tma" or
      "wgmma"
    - `requests`: how often a warp executes it; `lanes`: active lanes of a request on average
    - `sectors`, `ideal_sectors`, `lines`: of global memory; `wavefronts`, `ideal_wavefronts`: of shared memory. Of the
      copy engine the sectors that CTAs receive, or write (analysis/boxes.py)
    - `bytes_moved`: 32 bytes a sector (global), the bytes that the lanes take (shared); `bytes_useful`: the distinct
      bytes that were asked for, request by request
    - `first`, `worst`: the first request, and the one that is farthest from its ideal; None where there are no lanes
    - `addresses`: byte addresses of the worst request's active lanes, and `lane_ids`, which lanes these are
    - `note`: what there is to say besides, such as a swizzle mode
    - `asked_sectors`: of what a cp.async reads, the sectors that L1 asks L2 for
    - `counted`, `ideal_counted`: of what a cp.async writes, the wavefronts that Nsight Compute says and how many there
      would be at best, as in `AsyncAccess`; None where they are `wavefronts` and `ideal_wavefronts`
    - `remedy`: of boxes that move more sectors than they need, why, and what mends it

    >>> MemoryInstruction.of_engine("load A", "UTMALDG.2D", "tma", 16384).bytes_moved
    16384
    """

    name: str
    sass: str
    memory: str
    op: str
    width: int
    requests: int
    lanes: float
    sectors: int
    ideal_sectors: int
    lines: int
    wavefronts: int
    ideal_wavefronts: int
    bytes_moved: int
    bytes_useful: int
    first: Request | None = None
    worst: Request | None = None
    addresses: tuple[int, ...] = ()
    note: str = ""
    lane_ids: tuple[int, ...] = ()
    counted: int | None = None
    ideal_counted: int | None = None
    asked_sectors: int | None = None
    remedy: str = ""

    @staticmethod
    def of_engine(
        name: str, sass: str, op: str, useful: int, *, requests: int = 0, moved: int | None = None,
        sectors: tuple[int, int] = (0, 0), wavefronts: tuple[int, int] = (0, 0), memory: str = "global", note: str = "",
        remedy: str = "",
    ) -> MemoryInstruction:  # fmt: skip
        """Of the copy engine or wgmma, where no lane takes part. `sectors`, `wavefronts`: those, and the ideal ones."""
        moved = useful if moved is None else moved
        return MemoryInstruction(
            name, sass, memory, op, 0, requests, 0.0, *sectors, 0, *wavefronts, moved, useful, note=note, remedy=remedy
        )

    def counted_as(self, counted: int, ideal: int) -> MemoryInstruction:
        """The same, of which Nsight Compute says so many wavefronts; where they are others, the note says it."""
        note = self.note if counted == self.wavefronts else f"Nsight Compute says {counted} wavefronts"
        return self._replace(counted=counted, ideal_counted=ideal, note=note)

    @property
    def by_lanes(self) -> bool:
        """Whether lanes have addresses; the copy engine's and the tensor cores' own accesses have none."""
        return self.op not in ("tma", "wgmma")

    @property
    def conflicts(self) -> int:
        """Wavefronts beyond the ideal ones."""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def excessive_sectors(self) -> int:
        """Sectors beyond the ideal ones."""
        return self.sectors - self.ideal_sectors

    @property
    def efficiency(self) -> float:
        """The part of the bytes moved that was asked for."""
        return self.bytes_useful / self.bytes_moved if self.bytes_moved else 1.0


COLUMNS = (
    "",
    "instruction",
    "requests",
    "lanes",
    "sectors",
    "ideal",
    "lines",
    "wavefronts",
    "ideal",
    "ways",
    "moved",
    "useful",
)


class Analysis:
    """What `analyze` found:

    - `instructions`: a `MemoryInstruction` each; `analysis["load A"]` is the one of that name
    - `scope`: what the totals count: "one warp", "one tile" or "the whole launch"
    - `widest`: the widest legal access in bytes; `limit`: what limits it
    - `advice`: what to change, "" where nothing has to be
    - `occupancy`: of a plan, how many CTAs share a multiprocessor, and why not more
    - `swizzle_mode`: of a layout in shared memory, which of the tiles it is that wgmma reads and TMA writes; None where
      it is none. Of one with a swizzle the first element is named that keeps it from being one

    `str()` is a table, in which `ways` is of the worst request, which is an n-way bank conflict; 1: there is none. A
    notebook shows it with the pictures of `svg()`.

    The wavefronts of cp.async through L1 (.ca) are what Nsight Compute counts for the instruction. The hardware may
    take more for requests that want several lines, and fewer where lanes conflict both in the cache and in shared
    memory: `async_access(...).wavefronts` is what it takes of one (docs/ncu.md).

    >>> from tilewright import Float32, analysis, cute
    >>> found = analysis.analyze(cute.make_layout(32, stride=2), Float32)
    >>> found["load"].sectors, found.widest, found.limit
    (8, 4, '1 value a thread')
    """

    __slots__ = ("advice", "instructions", "limit", "occupancy", "scope", "swizzle_mode", "title", "widest")
    instructions: tuple[MemoryInstruction, ...]
    title: str
    scope: str
    widest: int
    limit: str
    advice: str
    occupancy: Occupancy | None
    swizzle_mode: SwizzleMode | None

    def __init__(
        self,
        instructions: Sequence[MemoryInstruction],
        *,
        title: str = "",
        scope: str = "one warp",
        widest: int = 0,
        limit: str = "",
        advice: str = "",
        occupancy: Occupancy | None = None,
        swizzle_mode: SwizzleMode | None = None,
    ) -> None:
        self.instructions, self.title, self.scope = tuple(instructions), title, scope
        self.widest, self.limit, self.advice = widest, limit, advice
        self.occupancy, self.swizzle_mode = occupancy, swizzle_mode

    def __iter__(self) -> Iterator[MemoryInstruction]:
        return iter(self.instructions)

    def __len__(self) -> int:
        return len(self.instructions)

    def __getitem__(self, which: str | int) -> MemoryInstruction:
        if isinstance(which, int):
            return self.instructions[which]
        for instruction in self.instructions:
            if instruction.name == which:
                return instruction
        raise KeyError(f"no instruction is named {which!r}; there are {', '.join(x.name for x in self.instructions)}")

    # ---- looking at it ----

    def rows(self) -> list[tuple[str, ...]]:
        """The table: its head and a row of text for each instruction, without the columns that no instruction fills."""
        table = [COLUMNS, *map(_row, self.instructions)]
        used = [i for i in range(len(COLUMNS)) if any(row[i] for row in table[1:])]
        return [tuple(row[i] for i in used) for row in table]

    def __str__(self) -> str:
        table = self.rows()
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        head = f"{self.title}: " if self.title else ""
        lines = [f"{head}memory instructions of {self.scope}"]
        for row in table:
            cells = (f"{x:<{w}}" if i < 2 else f"{x:>{w}}" for i, (x, w) in enumerate(zip(row, widths, strict=True)))
            lines.append("  " + "  ".join(cells).rstrip())
        notes = [f"  {x.name}: {x.note}" for x in self.instructions if x.note]
        return "\n".join(lines + notes + self.conclusions())

    __repr__ = __str__

    def conclusions(self) -> list[str]:
        """What is said below the table, line by line."""
        found = []
        if self.widest:
            found.append(f"widest access: {self.widest} bytes" + (f", limited by {self.limit}" if self.limit else ""))
        if self.swizzle_mode is not None:
            found.append(f"as a tile (rows, K): {self.swizzle_mode}")
        if self.occupancy is not None:
            found.append(f"occupancy: {self.occupancy}")
        if self.advice:
            found.append(f"advice: {self.advice}")
        return found

    @or_text
    def _repr_html_(self) -> str:
        return load("tilewright.show.analysis.report:html")(self)  # type: ignore[no-any-return]

    def svg(self) -> str:
        """The worst request of each instruction as a picture: lanes over the banks of shared memory, or over the
        sectors and lines of global memory."""
        return load("tilewright.show.analysis.report:svg")(self)  # type: ignore[no-any-return]


def _row(x: MemoryInstruction) -> tuple[str, ...]:
    def shown(value: int, of: str) -> str:
        return str(value) if (x.by_lanes or (x.requests and value)) and of == x.memory else ""

    lanes = f"{x.lanes:.2f}".rstrip("0").rstrip(".") if x.by_lanes else ""
    return (
        x.name, x.sass, str(x.requests) if x.by_lanes or x.requests else "", lanes, shown(x.sectors, "global"),
        shown(x.ideal_sectors, "global"), shown(x.lines, "global"), shown(x.wavefronts, "shared"),
        shown(x.ideal_wavefronts, "shared"), shown(x.worst.ways, "shared") if x.worst is not None else "",
        str(x.bytes_moved), str(x.bytes_useful),
    )  # fmt: skip
