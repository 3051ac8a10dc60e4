"""Predictions beside measurements, in one call: a program's kernels are run under Nsight Compute and compared."""

from __future__ import annotations

import os
import pickle
import re
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.analysis.ncu import run as ncu
from tilewright.analysis.ncu.by_line import LineComparison, compare_lines
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tilewright.analysis.totals.accesses import Accesses

__all__ = ["Comparison", "Verification", "verify_with_ncu"]

# What is compared: a field of MemoryInstruction, and the metric that counts the same.
METRICS = {
    "sectors": "memory_l2_theoretical_sectors_global",
    "ideal_sectors": "memory_l2_theoretical_sectors_global_ideal",
    "lines": "memory_l1_tag_requests_global",
    "wavefronts": "memory_l1_wavefronts_shared",
    "ideal_wavefronts": "memory_l1_wavefronts_shared_ideal",
}
# Where MemoryInstruction keeps what Nsight Compute says instead.
SAID = {"wavefronts": "counted", "ideal_wavefronts": "ideal_counted"}
# What Nsight Compute counts of a cp.async around L1 also where no lane makes it.
OF_ALL_LANES = ("sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts")
ACCESSES = ("LDG", "STG", "LDS", "STS", "LDSM", "STSM", "LDGSTS")
# Those without lanes. Of boxes only the hardware counts sectors, of all that a kernel loads, and stores.
ENGINES = {
    "UTMALDG": "UTMALDG", "UTMASTG": "UTMASTG", "HGMMA": "GMMA", "IGMMA": "GMMA", "QGMMA": "GMMA",
}  # fmt: skip
OF_BOXES = {
    "UTMALDG": "l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum",
    "UTMASTG": "l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum",
}
WIDTHS = ("U8", "S8", "U16", "S16", "64", "128", "2", "4")
# What ncu does not read as it is, as docs/ncu.md says: copies with the predicate P0, for all of them or for the source;
# and those whose lanes have a size.
MISREAD = re.compile(r"@!?P0\s+LDGSTS|LDGSTS\S*\.ZFILL|LDGSTS\S* .*\], !?P0,")
MOST_OF_REQUEST, WARP = 32, 32  # sectors or wavefronts of such a request; lanes
Classes = dict[str, dict[str, float]]


class Comparison(NamedTuple):
    """One count of all instructions of one class in a launch."""

    kernel: str
    sass: str
    metric: str
    predicted: float
    read: float
    unmade: float = 0  # of what was read, that of requests all of whose lanes are off
    misread: float = 0  # requests whose sectors and wavefronts Nsight Compute does not read as they are

    @property
    def right(self) -> bool:
        """Whether they agree."""
        return self.predicted == self.read

    @property
    def incomplete(self) -> bool:
        """Whether Nsight Compute may have left some out, as it does of cp.async (LDGSTS), but never of its lines."""
        return self.sass.startswith("LDGSTS") and self.metric != "lines" and self.read < self.predicted

    @property
    def is_misread(self) -> bool:
        """Whether the difference is within what ncu does not read as it is, as docs/ncu.md says."""
        difference = abs(self.read - self.predicted - self.unmade)
        return self.metric != "lines" and 0 < difference <= MOST_OF_REQUEST * self.misread

    @property
    def masked(self) -> bool:
        """Whether the difference is what ncu counts of cp.async around L1 that no lane makes."""
        return self.read - self.predicted == self.unmade > 0


class Verification(NamedTuple):
    """What was compared, launch after launch; `str()` is a table of it.

    >>> print(Verification((Comparison("direct", "LDG.128", "sectors", 64, 64),), (), "2025.3.1"))
    direct   LDG.128   sectors            predicted         64   read         64
    1 count of tilewright's kernels compared with ncu 2025.3.1: all agree
    """

    comparisons: tuple[Comparison, ...]
    unpredicted: tuple[str, ...]  # kernels whose plan was not seen
    ncu_version: str
    lines: tuple[LineComparison, ...] = ()  # of kernels written in Python

    @property
    def differences(self) -> tuple[Comparison | LineComparison, ...]:
        """Those that do not agree, but for what Nsight Compute may have left out, and what no lane makes.

        Of lines those for which there is no rule in docs/ncu.md."""
        plans = tuple(c for c in self.comparisons if not (c.right or c.incomplete or c.masked or c.is_misread))
        return plans + tuple(c for c in self.lines if not (c.right or c.reason))

    def __bool__(self) -> bool:
        """Whether something was compared and all of it agrees."""
        return bool(self.comparisons or self.lines) and not self.differences

    def __str__(self) -> str:
        wide = max((len(c.kernel) for c in self.comparisons), default=0)
        lines = [
            f"{c.kernel:{wide}}   {c.sass:8}  {c.metric:17}  predicted {c.predicted:10g}   read {c.read:10g}"
            + _remark(c)
            for c in self.comparisons
        ]
        lines += map(str, self.lines)
        count, wrong = len(self.comparisons) + len(self.lines), len(self.differences)
        some = sum(c.incomplete for c in self.comparisons)
        found = f"{wrong} differ" if wrong else "all agree" if count else "there was none"
        excused = (
            (some, "that are incomplete"),
            (sum(c.masked for c in self.comparisons), "with requests that no lane makes"),
            (sum(c.is_misread and not c.incomplete for c in self.comparisons), "that ncu misreads"),
            (sum(bool(c.reason) for c in self.lines), "by the rules of lines in docs/ncu.md"),
        )
        if any(n for n, _ in excused):
            found += ", but for " + " and ".join(f"{n} {why}" for n, why in excused if n)
        counts = "count" if count == 1 else "counts"
        lines.append(f"{count} {counts} of tilewright's kernels compared with ncu {self.ncu_version}: {found}")
        if self.unpredicted:
            lines.append(f"not predicted: {', '.join(dict.fromkeys(self.unpredicted))}")
        return "\n".join(lines)


def _remark(one: Comparison) -> str:
    """What a line of the table ends with."""
    if one.right:
        return ""
    if one.masked:
        return "   ncu counts requests that no lane makes"
    if one.is_misread:
        return "   ncu reads some of these as if they wrote zeros"
    return "   ncu leaves out some of these" if one.incomplete else "   differs"


def class_of(opcode: str) -> str:
    """The class of an instruction, "" for one that accesses neither global nor shared memory.

    Caching and addressing do not change what is counted, so the modifiers that say so are left out.

    >>> [class_of(x) for x in ("LDG.E.EF.128.CONSTANT", "STS", "LDS.U.128", "LDSM.16.MT88.4", "LDGDEPBAR")]
    ['LDG.128', 'STS', 'LDS.128', 'LDSM.4', '']
    >>> class_of("UTMALDG.2D.MULTICAST"), class_of("HGMMA.64x128x16.F32.BF16")
    ('UTMALDG', 'GMMA')
    """
    base, *modifiers = opcode.split(".")
    if base not in ACCESSES:
        return ENGINES.get(base, "")
    width = [m for m in modifiers if m in WIDTHS]
    return ".".join((base, *(m.replace("S", "U") for m in width)))


def classes_read(lines: Iterable[ncu.Line], metrics: Mapping[str, float] | None = None) -> Classes:
    """What was counted for all instructions of each class of a kernel; `metrics`: and for the kernel.

    >>> values = {"memory_l1_wavefronts_shared": 8, "memory_l1_wavefronts_shared_ideal": 4}
    >>> classes_read([ncu.Line(0, "LDS.128 R4, [R2]", values)] * 2)
    {'LDS.128': {'wavefronts': 16, 'ideal_wavefronts': 8}}
    """
    found: Classes = {}
    for line in lines:
        name = class_of(line.opcode)
        if name in OF_BOXES:
            boxes = found.setdefault(name, {})
            boxes["requests"] = boxes.get("requests", 0) + line.values.get("thread_inst_executed_true", 0)
            continue
        if not name or not any(line.values.get(metric) for metric in METRICS.values()):
            continue
        counts = found.setdefault(name, {})
        for field, metric in METRICS.items():
            if metric in line.values:
                counts[field] = counts.get(field, 0) + line.values[metric]
        if name == "LDGSTS.128":
            for field in OF_ALL_LANES:
                counts[f"unmade_{field}"] = counts.get(f"unmade_{field}", 0) + _unmade(line, METRICS[field])
            if MISREAD.search(line.sass):
                made = line.values.get("thread_inst_executed_true", 0) / WARP
                counts["misread"] = counts.get("misread", 0) + made
    for name, metric in OF_BOXES.items():
        sectors = (metrics or {}).get(metric)
        if sectors is not None:
            found.setdefault(name, {})["sectors"] = sectors
    return found


def _unmade(line: ncu.Line, metric: str) -> float:
    """What ncu counts for those requests of an instruction all of whose lanes are off: as much as for the others."""
    threads, active = (line.values.get(f"thread_inst_executed{x}", 0) for x in ("", "_true"))
    return round(line.values.get(metric, 0) * (threads - active) / threads) if threads else 0


def classes_predicted(plan: Any, addresses: Sequence[int | None] = ()) -> Classes:
    """What analysis says of the same for a launch of a plan on tensors at these addresses.

    >>> import numpy
    >>> from tilewright import kernels
    >>> plan = kernels.tiled_copy.plan(numpy.zeros((64, 64), "f4"), numpy.zeros((64, 64), "f4"))
    >>> classes_predicted(plan, (0, 0))["LDG.128"]
    {'sectors': 512, 'ideal_sectors': 512, 'lines': 128}
    """
    kernel = kernel_of(plan)
    given = (*addresses, *(None,) * len(kernel.tensors))
    accesses: Accesses = kernel.accesses(plan, tuple(x or 0 for x in given[: len(kernel.tensors)]))
    found: Classes = {}
    for one in accesses.instructions:
        name = class_of(one.sass)
        if not name:
            continue
        counts = found.setdefault(name, {})
        fields = ("sectors", "ideal_sectors", "lines") if one.memory == "global" else ("wavefronts", "ideal_wavefronts")
        for field in ("requests", "sectors") if name in OF_BOXES else fields:
            said = getattr(one, SAID.get(field, field))
            counts[field] = counts.get(field, 0) + (getattr(one, field) if said is None else said)
        if one.asked_sectors is not None:
            counts["asked_sectors"] = counts.get("asked_sectors", 0) + one.asked_sectors
    return found


def added(several: Iterable[Classes]) -> Classes:
    """The classes of several kernels as if they were one.

    >>> added([{"LDS": {"wavefronts": 1}}, {"LDS": {"wavefronts": 2}, "STS": {"wavefronts": 4}}])
    {'LDS': {'wavefronts': 3}, 'STS': {'wavefronts': 4}}
    """
    total: Classes = {}
    for classes in several:
        for name, counts in classes.items():
            into = total.setdefault(name, {})
            for field, value in counts.items():
                into[field] = into.get(field, 0) + value
    return total


def compare_classes(predicted: Classes, read: Classes, kernel: str = "") -> list[Comparison]:
    """Every count that either side has.

    >>> compare_classes({"LDS": {"wavefronts": 4}}, {"LDS": {"wavefronts": 8}})[0].right
    False
    """
    found = []
    for name in sorted({*predicted, *read}):
        for field in ("requests", "sectors") if name in OF_BOXES else METRICS:
            expected, counted = (side.get(name, {}).get(field) for side in (predicted, read))
            if name in OF_BOXES and counted is None:
                continue  # a chip without these counters
            if expected or counted:
                other = read.get(name, {})
                unmade, misread = other.get(f"unmade_{field}", 0), other.get("misread", 0)
                found.append(Comparison(kernel, name, field, expected or 0, counted or 0, unmade, misread))
    return found


def verify_with_ncu(fn: Callable[[], object] | str | os.PathLike[str], *, timeout: float = 600) -> Verification:
    """Run a function or a script under Nsight Compute, and compare what it counts with what the plans predict.

    Of kernels written in Python it compares each line's sectors, wavefronts, their ideals and active lanes with what
    `cute.profile` says for the launch's arguments. Of launches of kernels.tiled_copy, transpose, permute and gemm it
    compares sectors, lines, wavefronts and their ideals, of all instructions of a class: LDG.128, LDS, LDSM.4, GMMA,
    ...; of TMA the boxes and the sectors that the hardware counted for them. Predicted for a launch is
    analysis.analyze(plan, *tensors). Other kernels are run and not looked at.

    Args:
        fn: a function without parameters that another process can import: one of a module's, or of the script that is
            running, behind `if __name__ == "__main__":`. Or the path of a script.
        timeout: seconds.
    Raises: NcuError where ncu is missing, may not read the counters (ERR_NVGPUCTRPERM) or the function fails; TypeError
        for a lambda, a method or an inner function; FileNotFoundError for a script that is not there.
    Source: tilewright. Metrics: Nsight Compute's source counters, which are attributed to instructions.

    Examples:
        >>> verify_with_ncu("transpose.py")
        Traceback (most recent call last):
        FileNotFoundError: verify_with_ncu: there is no script transpose.py
    """
    where = _target(fn)
    program = ncu.find_ncu()
    with tempfile.TemporaryDirectory(prefix="tilewright-ncu-") as folder:
        notes = Path(folder) / "launches"
        command = [sys.executable, "-m", "tilewright.kernels.analyze.verified_process", str(notes), *where]
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        known = ncu.available_metrics(program)
        metrics = (*ncu.SOURCE_METRICS, *(m for m in OF_BOXES.values() if m.split(".")[0] in known))
        found, log = ncu.profile(command, metrics, Path(folder) / "report.ncu-rep", env=env, timeout=timeout)
        if not notes.exists():
            raise ncu.NcuError(f"{where[-1]} ended before its launches were written down:\n{log[-2000:]}")
        launches = pickle.loads(notes.read_bytes())
    return compare_launches(launches, found, ncu.version(program))


def _target(fn: Any) -> list[str]:
    """How another process finds what to run: a script's path, or a file or module and a name in it."""
    if isinstance(fn, (str, os.PathLike)):
        path = Path(fn)
        if not path.is_file():
            raise FileNotFoundError(f"verify_with_ncu: there is no script {path}")
        return ["script", str(path)]
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", "")
    if not callable(fn) or not module or not name.isidentifier() or not hasattr(fn, "__code__"):
        shown = name or type(fn).__name__
        raise TypeError(
            f"verify_with_ncu: another process cannot import {shown}; give a function of a module's or script's top "
            "level, or the path of a script"
        )
    if module != "__main__":
        return ["module", module, name]
    file = getattr(sys.modules["__main__"], "__file__", None)
    if file is None:
        raise TypeError(
            f"verify_with_ncu: {name} was typed at a prompt or in a notebook, where another process cannot find it; "
            "put it into a file"
        )
    return ["file", file, name]


def compare_launches(launches: Sequence[Mapping[str, Any]], found: Sequence[ncu.Profile], version: str) -> Verification:
    """The launches that were written down beside the profiles, kernel by kernel in their order.

    A kernel that is launched again without Python, as by a graph, is taken for the last one of its plan.
    """
    waiting: dict[str, list[Mapping[str, Any]]] = {}
    for launch in launches:
        waiting.setdefault(launch["symbol"], []).append(launch)
    comparisons: list[Comparison] = []
    of_lines: list[LineComparison] = []
    unpredicted = []
    for profile in found:
        queue = waiting.get(profile.symbol)
        if not queue:
            if "tilewright" in profile.symbol:
                unpredicted.append(profile.name)
            continue
        launch = queue.pop(0) if len(queue) > 1 else queue[0]
        if "lines" in launch:
            of_lines += compare_lines(launch["symbol"], launch["lines"], profile.lines)
            continue
        predicted = classes_predicted(launch["plan"], launch["addresses"])
        plan = launch["plan"]
        name = str(getattr(plan, "kernel", plan.kernel_name))  # of a copy, whether it is direct or staged
        comparisons += compare_classes(predicted, classes_read(profile.lines, profile.metrics), name)
    return Verification(tuple(comparisons), tuple(unpredicted), version, tuple(of_lines))
