"""Tables of measured results in a page: a comment names them, and the newest run of that kind gives the rows.

A page says `<!-- results: kind | heading | columns | filter -->`: the table below the heading that begins so, its
columns that are named, its rows with `column=value`. Spreads in parentheses stay on the page of the run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["device", "expand"]

COMMENT = re.compile(r"^<!-- results: (.*?) -->$", re.M)


def device(text: str) -> str:
    """The first words of a result say what was measured on.

    >>> device("\\n## On the CPU\\n\\n- NVIDIA H200, 132 SMs; driver 580")
    'NVIDIA H200'
    """
    first = next(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return re.split(r"[,;.](?:\s|$)", first.strip().removeprefix("- "))[0]


def expand(text: str, root: Path) -> str:
    """A text of docs/notebooks with its tables."""
    return COMMENT.sub(lambda found: _table(root, *(part.strip() for part in found[1].split("|"))), text)


def _table(root: Path, kind: str, heading: str, columns: str, only: str = "") -> str:
    """`heading` may be empty, where a result is one table."""
    files = sorted((root / "benchmarks/results").glob(f"{kind}-????-??-??.md"))
    if not files:
        raise ValueError(f"benchmarks/results has no {kind}-YYYY-MM-DD.md, which a page shows")
    text = files[-1].read_text(encoding="utf-8")
    below = text.partition(f"\n## {heading}")[2] if heading else text
    lines = [line for line in below.partition("\n## ")[0].splitlines() if line.startswith("| ")]
    head, *rows = (
        [[]]
        if not lines
        else ([field.strip() for field in line.strip("|").split("|")] for line in lines if "---" not in line)
    )
    wanted = [name.strip() for name in columns.split(",")]
    name, _, value = only.partition("=")
    kept = [row for row in rows if not only or row[head.index(name)] == value]
    if not kept:
        raise ValueError(f"{files[-1].name} has no rows {only} below {heading!r}")
    table = [wanted, ["---"] * len(wanted), *([_short(row[head.index(x)]) for x in wanted] for row in kept)]
    date = files[-1].stem[len(kind) + 1 :]
    on = device(text.partition("\n")[2])
    about = f"Measured on {on} on {date}; [the page of the run](../performance/{files[-1].name}) has the rest."
    return "\n".join(f"| {' | '.join(row)} |" for row in table) + f"\n\n{about}"


def _short(field: str) -> str:
    return re.sub(r"^([\d.]+) \([\d.]+ to [\d.]+\)", r"\1", field)
