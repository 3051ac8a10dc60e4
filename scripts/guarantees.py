"""Runs what docs/guarantees.md promises at its full counts, and writes the figures down.

    .venv/bin/python scripts/guarantees.py [--only REGEX] [--list]

Each row of the page's tables names tests, or a command of make, in backticks. The tests run with those of `nightly`, in
which they have their full counts; what they tell pytest as `figure` is the figure. The result is a table of today in
benchmarks/results; rows that do not run now keep what an earlier run of today wrote.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/guarantees.md"
HEAD = "| promise | command | figure | result | s | ended, UTC |\n| --- | --- | --- | --- | --- | --- |"
PYTEST = "python -m pytest -q -p no:cacheprovider -m"


@dataclass(frozen=True)
class Promise:
    """A row of the page: what is promised, the tests that hold it, or a command of make."""

    name: str
    tests: tuple[str, ...]
    make: tuple[str, ...]

    @property
    def command(self) -> str:
        return f'{PYTEST} "not gpu and not site" {" ".join(self.tests)}' if self.tests else self.make[0]


def promises() -> list[Promise]:
    """The rows of the page, in order; their names are in bold."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = re.match(r"\| \*\*(.+?)\*\*.*?\| (.*?) \|", line)
        if row:
            quoted = re.findall(r"`([^`]+)`", row[2])
            tests = tuple(name for name in quoted if name.startswith("tests/"))
            found.append(Promise(row[1], tests, tuple(name for name in quoted if name.startswith("make "))))
    return found


def tested(promise: Promise) -> tuple[str, str]:
    """The figures that the tests recorded, and how many passed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        flags = [f"--junitxml={report}", "-o", "junit_family=xunit1"]  # the one that has properties
        subprocess.run([sys.executable, *shlex.split(promise.command)[1:], *flags], cwd=ROOT, check=False)
        if not report.exists():
            return "", "**no test ran**"
        suite = ElementTree.parse(report).getroot()[0]
    figures = [str(x.get("value")) for x in suite.iter("property") if x.get("name") == "figure"]
    ran, skipped, failed = (sum(int(suite.get(key, 0)) for key in keys) for keys in (("tests",), ("skipped",), BAD))
    counts = [f"{ran - skipped - failed} passed", *([f"{skipped} skipped"] if skipped else [])]
    return "; ".join(figures), ", ".join([*counts, *([f"**{failed} failed**"] if failed else [])])


BAD = ("failures", "errors")


def made(promise: Promise) -> tuple[str, str]:
    """The last line that the command printed, and whether it ended well."""
    done = subprocess.run(shlex.split(promise.command), cwd=ROOT, text=True, stdout=subprocess.PIPE, check=False)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    print(done.stdout[-2000:])
    return last.replace("|", "\\|"), "passed" if done.returncode == 0 else f"**failed: {done.returncode}**"


def machine() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    name = next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")), "CPU")
    return f"{name}, Python {platform.python_version()}, {platform.system()} {platform.machine()}."


def rows_of(path: Path) -> dict[str, str]:
    """What a file of results has already, by promise."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}


def run(promise: Promise) -> str:
    begin = time.perf_counter()
    figure, result = tested(promise) if promise.tests else made(promise)
    ended = datetime.datetime.now(datetime.timezone.utc)
    cells = [promise.name, f"`{promise.command}`", figure or "-", result]
    return f"| {' | '.join(cells)} | {time.perf_counter() - begin:.0f} | {ended:%Y-%m-%d %H:%M} |"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="regular expression: only the promises whose name it matches")
    parser.add_argument("--list", action="store_true", help="print the promises and their commands, and run nothing")
    options = parser.parse_args()
    chosen = [promise for promise in promises() if re.search(options.only, promise.name)]
    if options.list:
        print("\n".join(f"{promise.name}: {promise.command}" for promise in chosen))
        return 0
    path = ROOT / f"benchmarks/results/guarantees-{datetime.date.today()}.md"
    for promise in chosen:
        row = run(promise)
        print(row, flush=True)
        rows = rows_of(path) | {promise.name: row}  # another process may have written meanwhile
        table = "\n".join(rows[known.name] for known in promises() if known.name in rows)
        path.write_text(f"# Guarantees\n\n{machine()}\n\n{HEAD}\n{table}\n", encoding="utf-8")
    return any("**" in rows_of(path)[promise.name] for promise in chosen)


if __name__ == "__main__":
    sys.exit(main())
