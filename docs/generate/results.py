"""Pages of measured results: benchmarks/results with the command that measures them, the newest of a kind first."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["pages"]

# What made a result, where the script has another name than the result.
SCRIPTS = {"copy": "tiled_copy", "fit_h100": "fit_compare", "gemm_few_rows": "gemm", "ncu_few_rows": "ncu"}
FILE = re.compile(r"(\w+)-(\d{4}-\d{2}-\d{2})\.md")

HEAD = """# Performance

Each page has what one run of a benchmark printed: the device, the versions beside it, the date, and all cases, also those
in which another library is faster. The command repeats the run. Those of a GPU measure tilewright in turn with
its rivals and compare every result with float64 first.

"""


def command(root: Path, kind: str) -> str:
    """The command by which a script says that it is called."""
    script = f"benchmarks/{SCRIPTS.get(kind, kind)}.py"
    text = ast.get_docstring(ast.parse((root / script).read_text(encoding="utf-8"))) or ""
    found = re.search(rf"python {re.escape(script)}[^\n]*", text)
    return re.sub(r" {2,}.*", "", found[0]) if found else f"python {script}"


def device(text: str) -> str:
    """The first words after the heading say what was measured on."""
    return re.split(r"[,;]|\.\s", text.split("\n\n")[1])[0].strip()


def pages(root: Path) -> Iterator[tuple[str, str]]:
    """(file, text) of each page."""
    files = sorted((root / "benchmarks/results").glob("*.md"), reverse=True)
    rows: dict[str, list[str]] = {}
    for path in files:
        found = FILE.fullmatch(path.name)
        if found is None:
            continue
        kind, date = found.groups()
        heading, _, rest = path.read_text(encoding="utf-8").partition("\n")
        title = heading.removeprefix("# ")
        run = command(root, kind)
        about = f"*Measured {date} on {device(heading + rest)} by* `{run}`"
        yield path.name, f"{heading}\n\n{about}\n{rest}"
        rows.setdefault(kind, []).append(f"| [{title}]({path.name}) | {device(heading + rest)} | {date} | `{run}` |")
    table = "| what | device | date | command |\n| --- | --- | --- | --- |\n"
    newest = "\n".join(entries[0] for _, entries in sorted(rows.items()))
    older = "\n".join(entry for _, entries in sorted(rows.items()) for entry in entries[1:])
    names = "\n".join(path.stem for path in files)
    listed = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    yield "index.md", f"{HEAD}{table}{newest}\n\n## Earlier runs\n\n{table}{older}\n\n{listed}"
