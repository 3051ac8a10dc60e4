"""What the benchmarks share: timing two callables side by side, and dated result files."""

from __future__ import annotations

import datetime
import platform
import statistics
import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Timing:
    """Seconds a call: the median of the repeats and their quartiles."""

    median: float
    low: float
    high: float


def side_by_side(calls: Sequence[Callable[[], object]], repeats: int = 15, seconds: float = 0.05) -> list[Timing]:
    """Times callables in turn, so that a slow moment of the machine hits each of them alike."""
    loops, samples = [], [[] for _ in calls]
    for call in calls:
        number, elapsed = timeit.Timer(call).autorange()
        loops.append(max(1, round(number * seconds / elapsed)))
    for _ in range(repeats):
        for call, number, kept in zip(calls, loops, samples, strict=True):
            kept.append(timeit.timeit(call, number=number) / number)
    timings = []
    for kept in samples:
        low, median, high = statistics.quantiles(kept, n=4)
        timings.append(Timing(median, low, high))
    return timings


def machine() -> str:
    """The processor's name, cores and the Python version."""
    name = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return f"{name}, Python {platform.python_version()}"


def write(name: str, lines: Sequence[str]) -> Path:
    """Writes a result file of today, prints it and returns its path."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{datetime.date.today().isoformat()}.md"
    text = "\n".join(lines) + "\n"
    path.write_text(text)
    print(text)
    return path
