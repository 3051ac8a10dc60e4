"""Predictions of a kernel written in Python beside Nsight Compute's readings, line by line.

Both are given as plain data, so that a reading that was written down is compared again without a GPU.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tilewright.analysis.ncu import run as ncu

__all__ = ["LineComparison", "Predicted", "compare_lines"]

WARP = 32
MOST_OF_REQUEST = 32  # sectors or wavefronts
# What is compared, and the metric of an instruction that counts the same.
METRICS = {
    "sectors": "memory_l2_theoretical_sectors_global",
    "ideal_sectors": "memory_l2_theoretical_sectors_global_ideal",
    "wavefronts": "memory_l1_wavefronts_shared",
    "ideal_wavefronts": "memory_l1_wavefronts_shared_ideal",
    "lanes": "thread_inst_executed_true",
}
# The first word of an instruction, and what it does in which memory. cp.async does it in both.
INSTRUCTIONS = {
    "LDG": ("load", "global"), "STG": ("store", "global"), "LDS": ("load", "shared"), "STS": ("store", "shared"),
    "LDGSTS": ("cp.async", "both"), "ATOMG": ("atomic", "global"), "ATOM": ("atomic", "global"),
    "REDG": ("atomic", "global"), "RED": ("atomic", "global"), "ATOMS": ("atomic", "shared"),
    "LD": ("load", "generic"), "ST": ("store", "generic"),
}  # fmt: skip
SIZES = {"U8": 1, "S8": 1, "U16": 2, "S16": 2, "64": 8, "128": 16}
# docs/ncu.md: what Nsight Compute reads of cp.async otherwise than the hardware does.
MISREAD = re.compile(r"@!?P0\s+LDGSTS|LDGSTS\S*\.ZFILL|LDGSTS\S* .*\], !?P0\b")
NEVER = "@!PT "  # the predicate of an instruction that is there for its place alone
MISREADING = "ncu misreads cp.async with the predicate P0 or a size"
REASONS = {
    "merged": "the compiler merged neighbouring accesses into wider ones",
    "split": "the compiler loads elements of a vector besides, each alone",
    "moved": "the compiler says another line of an access; all lines together are equal",
    "sunk": "the compiler loads where a store under a condition uses it, in the store's lanes alone",
    "misread": MISREADING,
    "atomic": "atomics are predicted as stores",
}


class Predicted(NamedTuple):
    """What is predicted for the requests of one kind of a line: `kind` is load, store, atomic or cp.async."""

    file: str
    number: int
    kind: str
    memory: str
    width: int
    lanes: int
    sectors: int
    ideal_sectors: int
    wavefronts: int
    ideal_wavefronts: int


class LineComparison(NamedTuple):
    """One count of the requests of one kind of a line, in one launch. `reason`: a key of REASONS, or ""."""

    kernel: str
    file: str
    number: int
    kind: str
    memory: str
    sass: str
    metric: str
    predicted: int
    read: float
    reason: str = ""

    @property
    def right(self) -> bool:
        """Whether they agree."""
        return self.predicted == self.read

    def __str__(self) -> str:
        end = "" if self.right else f"   {REASONS.get(self.reason, 'differs')}"
        where = f"{self.kernel}, line {self.number}"
        return (
            f"{where:32}  {self.kind:8}  {self.sass:16}  {self.metric:16}  predicted {self.predicted:10g}   "
            f"read {self.read:10g}{end}"
        )


class _Site:
    """The requests of a kind of a line, as one side tells of them: the counts of each width."""

    def __init__(self) -> None:
        self.of_width: dict[int, dict[str, float]] = {}
        self.sass: dict[str, None] = {}
        self.misread = 0.0  # requests

    def add(self, width: int, counts: dict[str, float]) -> None:
        total = self.of_width.setdefault(width, dict.fromkeys(METRICS, 0))
        for metric, value in counts.items():
            total[metric] += value

    def count(self, metric: str, widths: Iterable[int] | None = None) -> float:
        """Of all widths, or of those."""
        return sum(self.of_width[w][metric] for w in (self.of_width if widths is None else widths))

    @property
    def bytes_of_width(self) -> dict[int, float]:
        """The bytes that lanes ask for."""
        return {width: width * counts["lanes"] for width, counts in self.of_width.items()}


_Place = tuple[str, int, str, str]  # file, line, kind, memory


def compare_lines(kernel: str, predicted: Iterable[Predicted], read: Sequence[ncu.Line]) -> list[LineComparison]:
    """Every count that either side has, line by line; counts that differ for a known reason say which.

    >>> from tilewright.analysis.ncu.run import Line
    >>> said = Predicted("f.py", 7, "load", "shared", 4, 32, 0, 0, 32, 1)
    >>> values = {"memory_l1_wavefronts_shared": 32, "memory_l1_wavefronts_shared_ideal": 1}
    >>> found = compare_lines("k", [said], [Line(0, "LDS R1, [R2] ;", values | {METRICS["lanes"]: 32}, "f.py", 7)])
    >>> [(x.metric, x.predicted, x.read, x.right) for x in found]
    [('wavefronts', 32, 32, True), ('ideal_wavefronts', 1, 1, True), ('lanes', 32, 32, True)]
    """
    said = _said(predicted)
    counted = _counted(read, {Path(place[0]).name: place[0] for place in said})
    by_compiler = _by_compiler(said, counted) | _sunk(said, counted, read)
    widest: dict[tuple[str, str], int] = defaultdict(int)  # predicted access, by kind and memory
    for place, site in said.items():
        widest[place[2:]] = max(widest[place[2:]], *site.of_width)
    found = []
    for place in sorted({*said, *counted}):
        file, number, kind, memory = place
        ours, theirs = said.get(place, _Site()), counted.get(place, _Site())
        for metric in METRICS:
            expected, value = ours.count(metric), theirs.count(metric)
            if not expected and not value:
                continue
            reason = ""
            if expected != value:
                reason = by_compiler.get(place) or _reason(kind, metric, ours, theirs, widest[kind, memory])
            sass = ", ".join(theirs.sass) or "none"
            found.append(LineComparison(kernel, file, number, kind, memory, sass, metric, int(expected), value, reason))
    return found


def _said(predicted: Iterable[Predicted]) -> dict[_Place, _Site]:
    sites: dict[_Place, _Site] = {}
    for one in predicted:
        is_async = one.kind == "cp.async"
        site = sites.setdefault((one.file, one.number, one.kind, "both" if is_async else one.memory), _Site())
        counts: dict[str, float] = {metric: getattr(one, metric) for metric in METRICS}
        # Both sides of a cp.async are one instruction, all of whose lanes write.
        lanes = 0 if is_async and one.memory == "global" else one.lanes
        site.add(one.width, counts | {"lanes": lanes})
    return sites


def access_of(opcode: str) -> tuple[str, str, int] | None:
    """What an instruction does, in which memory and with how many bytes of a lane; None of one that does neither.

    >>> access_of("LDG.E.128.CONSTANT"), access_of("STS.U16"), access_of("LDGSTS.E.BYPASS.128"), access_of("FADD")
    (('load', 'global', 16), ('store', 'shared', 2), ('cp.async', 'both', 16), None)
    """
    base, *modifiers = opcode.split(".")
    if base not in INSTRUCTIONS:
        return None
    width = next((SIZES[m] for m in modifiers if m in SIZES), 4)
    return (*INSTRUCTIONS[base], width)


def _counted(lines: Iterable[ncu.Line], files: Mapping[str, str]) -> dict[_Place, _Site]:
    """`files`: by their names, those that are predicted, for a report that does not tell their folders."""
    sites: dict[_Place, _Site] = {}
    for line in lines:
        access = access_of(line.opcode)
        if access is None or line.sass.startswith(NEVER):
            continue
        kind, memory, width = access
        file = files.get(line.file, line.file)
        site = sites.setdefault((file, line.number, kind, memory), _Site())
        lanes = line.values.get(METRICS["lanes"], 0)
        site.add(width, {metric: line.values.get(name, 0) for metric, name in METRICS.items()})
        site.sass[line.opcode] = None
        if MISREAD.search(line.sass):
            site.misread += lanes / WARP
    return sites


def _by_compiler(said: dict[_Place, _Site], counted: dict[_Place, _Site]) -> dict[_Place, str]:
    """Lines whose accesses the compiler merged, or said to be of another line, with that reason.

    Either way a kernel's lanes move as many bytes in all. A merged access is attributed to one of its lines.
    """
    found: dict[_Place, str] = {}
    for what in {place[2:] for place in (*said, *counted)}:
        ours, theirs = ({p: s for p, s in sites.items() if p[2:] == what} for sites in (said, counted))
        if _bytes(ours) != _bytes(theirs):
            continue
        others = [p for p in {*ours, *theirs} if _widths(ours, p) != _widths(theirs, p)]
        if any(max(_widths(theirs, p), default=0) > max(_widths(ours, p), default=16) for p in others):
            found.update(dict.fromkeys(others, "merged"))
        elif all(_sum(ours, metric) == _sum(theirs, metric) for metric in METRICS):
            found.update(dict.fromkeys(others, "moved"))
    return found


def _sunk(said: dict[_Place, _Site], counted: dict[_Place, _Site], read: Sequence[ncu.Line]) -> dict[_Place, str]:
    """Lines of which less is read than predicted, where each load runs in all lanes or in those of a later store."""
    found: dict[_Place, str] = {}
    ran = [(x.offset, access_of(x.opcode), x.values.get(METRICS["lanes"], 0)) for x in read]
    every = max((lanes for _, _, lanes in ran), default=0)
    for what in {place[2:] for place in said if place[2] == "load"}:
        loads = [(at, lanes) for at, access, lanes in ran if access and access[:2] == what]
        partial = [(at, lanes) for at, lanes in loads if lanes != every]
        stores = [(at, lanes) for at, access, lanes in ran if access and access[0] == "store"]
        if not all(any(at < end and lanes == others for end, others in stores) for at, lanes in partial):
            continue
        for place in (p for p in said if p[2:] == what):
            theirs = counted.get(place, _Site())
            if partial and all(theirs.count(metric) <= said[place].count(metric) for metric in METRICS):
                found[place] = "sunk"
    return found


def _sum(sites: dict[_Place, _Site], metric: str) -> float:
    return sum(site.count(metric) for site in sites.values())


def _bytes(sites: dict[_Place, _Site]) -> float:
    return sum(sum(site.bytes_of_width.values()) for site in sites.values())


def _widths(sites: dict[_Place, _Site], place: _Place) -> dict[int, float]:
    return sites[place].bytes_of_width if place in sites else {}


def _reason(kind: str, metric: str, ours: _Site, theirs: _Site, widest: int) -> str:
    expected, read = ours.count(metric), theirs.count(metric)
    if kind == "cp.async" and abs(read - expected) <= MOST_OF_REQUEST * theirs.misread:
        return "misread"
    narrower = {w for w in theirs.of_width if w < widest and w not in ours.of_width}
    if kind == "load" and narrower and expected == theirs.count(metric, set(theirs.of_width) - narrower):
        return "split"
    return "atomic" if kind == "atomic" else ""
