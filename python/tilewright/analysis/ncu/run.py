"""Nsight Compute: run a command under it, and read what it counted for each instruction.

The metrics that are attributed to an instruction (SOURCE_METRICS) come from instrumented code: they count what the
instruction asks for, by Nsight Compute's model of the hardware, not what the caches make of it. The hardware's own
counters (l1tex__...) are of a whole kernel. docs/ncu.md says where the two differ.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "LANE_METRICS",
    "SOURCE_METRICS",
    "Line",
    "NcuError",
    "Profile",
    "available_metrics",
    "find_ncu",
    "profile",
    "read_report",
    "version",
]

SOURCE_METRICS = (
    "inst_executed",
    "thread_inst_executed",
    "thread_inst_executed_true",
    "memory_l1_wavefronts_shared",
    "memory_l1_wavefronts_shared_ideal",
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
    "memory_l1_tag_requests_global",
)
LANE_METRICS = (
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
)
READER = Path(__file__).with_name("report_process.py")
NOWHERE = (
    "Nsight Compute's command line program, ncu, was not found; it comes with the CUDA toolkit, or alone from "
    "developer.nvidia.com/nsight-compute; put it on the PATH or name it in TILEWRIGHT_NCU"
)


class NcuError(RuntimeError):
    """Nsight Compute is missing, may not read the counters, or failed; the message says what to do.

    >>> raise NcuError("no ncu")
    Traceback (most recent call last):
    tilewright.analysis.ncu.run.NcuError: no ncu
    """


class Line(NamedTuple):
    """One machine instruction of a kernel: where it is (bytes behind the first), its text and its metrics.

    `file`, `number`: the line of source that it is of, "" and 0 where the program does not say that.
    """

    offset: int
    sass: str
    values: Mapping[str, float]
    file: str = ""
    number: int = 0

    @property
    def opcode(self) -> str:
        """The instruction without its operands and its predicate.

        >>> Line(16, "@!P0 LDG.E.128 R4, desc[UR4][R2.64] ;", {}).opcode
        'LDG.E.128'
        """
        return opcode(self.sass)


class Profile(NamedTuple):
    """What was counted in one launch of a kernel."""

    name: str
    symbol: str
    metrics: Mapping[str, float]
    lines: tuple[Line, ...]


def opcode(sass: str) -> str:
    """The instruction in a line of a disassembly.

    >>> opcode("@P0 STS.U16 [R5], R2"), opcode("")
    ('STS.U16', '')
    """
    words = [word for word in sass.replace(";", " ").split() if not word.startswith("@")]
    return words[0] if words else ""


def find_ncu() -> str:
    """The path of ncu: TILEWRIGHT_NCU, else the PATH's, else the newest installed; NcuError where there is none.

    >>> try:
    ...     found = "ncu" in find_ncu()
    ... except NcuError as error:
    ...     found = "TILEWRIGHT_NCU" in str(error)
    >>> found
    True
    """
    chosen = os.environ.get("TILEWRIGHT_NCU")
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise NcuError(f"TILEWRIGHT_NCU is {chosen}, which is no program that can be run")
        return chosen
    installed = [str(folder / "ncu") for folder in _folders() if os.access(folder / "ncu", os.X_OK)]
    found = shutil.which("ncu") or next(iter(installed), None)
    if found is None:
        raise NcuError(NOWHERE)
    return found


def _folders() -> list[Path]:
    """Folders of installed versions of Nsight Compute, the newest first."""
    tops = [Path("/opt/nvidia/nsight-compute"), *Path("/usr/local").glob("cuda*"), Path("/opt/cuda")]
    found = [f for top in tops for f in (*top.glob("20*"), *top.glob("nsight-compute*"), *top.glob("nsight_compute*"))]
    return sorted(found, key=lambda f: [int(n) for n in re.findall(r"\d+", f.name)], reverse=True)


@functools.cache
def version(ncu: str) -> str:
    """The version of an ncu, such as 2025.3.1.0.

    >>> version("/bin/false")
    'unknown'
    """
    try:
        text = subprocess.run([ncu, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        text = ""
    found = re.search(r"Version (\S+)", text)
    return found[1] if found else "unknown"


def report_folder(ncu: str) -> Path:
    """The folder of Nsight Compute's own module ncu_report, which reads its reports: extras/python.

    >>> report_folder("/nowhere/ncu")
    Traceback (most recent call last):
    tilewright.analysis.ncu.run.NcuError: /nowhere/ncu: its folder extras/python has no ncu_report; install all of it
    """
    own = [p for p in Path(os.path.realpath(ncu)).parents if (p / "extras/python").is_dir()]
    number = ".".join(version(ncu).split(".")[:3])
    others = sorted(_folders(), key=lambda f: number not in f.name) if os.path.exists(ncu) else []
    for folder in (*own, *others):
        place = folder / "extras/python"
        if (place / "ncu_report.py").exists():
            return place
    raise NcuError(f"{ncu}: its folder extras/python has no ncu_report; install all of it")


def available_metrics(ncu: str, chip: str | None = None) -> set[str]:
    """The hardware metrics that this ncu knows for a chip (gh100), by default for the GPUs of this machine.

    >>> available_metrics("/bin/false")
    set()
    """
    command = [ncu, "--query-metrics", *(["--chip", chip] if chip else [])]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return set(re.findall(r"^([a-z]\w+__\w+)", text, re.MULTILINE))


def profile(
    command: Sequence[str],
    metrics: Sequence[str],
    report: Path,
    *,
    options: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> tuple[list[Profile], str]:
    """Run a command under ncu, which writes `report`; what it counted for each kernel, and what was printed.

    Clocks are left as they are. Raises NcuError, with the end of what was printed, where ncu is missing, may not read
    the counters (ERR_NVGPUCTRPERM) or saw no kernel.

    >>> try:
    ...     profile(["true"], SOURCE_METRICS, Path("/nowhere/report.ncu-rep"))
    ... except NcuError:
    ...     print("no ncu, or no kernel")
    no ncu, or no kernel
    """
    ncu = find_ncu()
    chosen = ["--clock-control", "none", "--cache-control", "none", "--metrics", ",".join(metrics), *options]
    whole = [ncu, *chosen, "--force-overwrite", "--export", str(report), *command]
    try:
        done = subprocess.run(
            whole,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=None if env is None else dict(env),
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NcuError(f"{ncu} was not done after {timeout:.0f} s with {' '.join(command)}") from error
    log = done.stdout
    if "ERR_NVGPUCTRPERM" in log:
        raise NcuError(
            "this user may not read the GPU's performance counters (ERR_NVGPUCTRPERM); run as root, or let the driver "
            "be loaded with NVreg_RestrictProfilingToAdminUsers=0: https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        )
    if not report.exists():
        raise NcuError(
            f"{ncu} made no report (exit status {done.returncode}). The end of what it printed:\n{_end(log)}"
        )
    if done.returncode:
        raise NcuError(f"the profiled command failed (exit status {done.returncode}):\n{_end(log)}")
    return read_report(report, ncu), log


def _end(log: str) -> str:
    return "\n".join(log.strip().splitlines()[-25:])


def read_report(report: Path, ncu: str | None = None) -> list[Profile]:
    """What a report holds, kernel by kernel in the order of their launches.

    >>> read_report(Path("report.ncu-rep"), "/nowhere/ncu")
    Traceback (most recent call last):
    tilewright.analysis.ncu.run.NcuError: /nowhere/ncu: its folder extras/python has no ncu_report; install all of it
    """
    folder = report_folder(ncu or find_ncu())
    with tempfile.TemporaryDirectory(prefix="tilewright-ncu-") as place:
        out = Path(place) / "report.json"
        command = [sys.executable, "-I", str(READER), str(folder), str(report), str(out), *SOURCE_METRICS]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode or not out.exists():
            raise NcuError(
                f"ncu_report in {folder} did not read {report} (exit status {done.returncode}):\n{_end(done.stdout)}"
            )
        found = json.loads(out.read_text())
    return [
        Profile(one["name"], one["symbol"], one["metrics"], tuple(Line(*line) for line in one["lines"]))
        for one in found
    ]
