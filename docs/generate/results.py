"""Pages of measured results: benchmarks/results with the command that measures them, the newest of a kind first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tables import device

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["pages"]

# What made a result, where the script has another name than the result.
TITLES = {
    "guarantees": "Promises of safety",
    "gemm_few_rows": "GEMM of few rows",
    "gemm_listed": "GEMM of listed shapes",
    "gemm_random_others": "GEMM of random shapes, other types",
    "lang_cpu": "Kernels written in Python, on the CPU",
    "ncu_lang": "Predictions of kernels in Python",
    "ncu_few_rows": "Predictions for GEMMs of few rows",
}
SCRIPTS = {"copy": "tiled_copy", "fit_h100": "fit_compare", "gemm_listed": "gemm_random"}
ARGUMENTS = {"gemm_listed": " --listed"}
FILE = re.compile(r"(\w+)-(\d{4}-\d{2}-\d{2})\.md")

HEAD = """# Performance

Each page has what one run of a benchmark printed: the device, the versions beside it, the date, and all cases, also
those in which another library is faster. The command repeats the run. Those of GEMMs and copies measure tilewright in
turn with its rivals, and compare every result first.

"""


def script_of(root: Path, kind: str) -> str:
    """The script with the result's name, or with the beginning of it: gemm_few_rows is of gemm.py."""
    if (root / f"scripts/{kind}.py").exists():
        return f"scripts/{kind}.py"
    words = SCRIPTS.get(kind, kind).split("_")
    names = ["_".join(words[:count]) for count in range(len(words), 0, -1)]
    return next(f"benchmarks/{name}.py" for name in names if (root / f"benchmarks/{name}.py").exists())


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """(file, text) of each page."""
    rows: dict[str, list[str]] = {}
    tree: dict[str, str] = {}
    for path in sorted((root / "benchmarks/results").glob("*.md"), reverse=True):
        found = FILE.fullmatch(path.name)
        assert found is not None, path
        kind, date = found.groups()
        heading, _, rest = path.read_text(encoding="utf-8").partition("\n")
        title = TITLES.get(kind, heading.removeprefix("# "))
        script = script_of(root, kind) + ARGUMENTS.get(kind, "")
        front = "---\norphan: true\n---\n" if kind in rows else ""
        about = f"*Measured on {date} on {device(rest)} by* `python {script}`"
        yield path.name, f"{front}# {title}, {date}\n\n{about}\n{rest}"
        rows.setdefault(kind, []).append(f"| [{title}]({path.name}) | {device(rest)} | {date} | `{script}` |")
        tree.setdefault(kind, f"{title} <{path.stem}>")
    table = "{.results}\n| what | device | date | by |\n| --- | --- | --- | --- |\n"
    newest = "\n".join(entries[0] for _, entries in sorted(rows.items()))
    older = "\n".join(entry for _, entries in sorted(rows.items()) for entry in entries[1:])
    listed = "```{toctree}\n:hidden:\n\n" + "\n".join(entry for _, entry in sorted(tree.items())) + "\n```\n"
    yield "index.md", f"{HEAD}{table}{newest}\n\n## Earlier runs\n\n{table}{older}\n\n{listed}"
