"""A profile as an annotated listing: text for a terminal, HTML for a notebook."""

from __future__ import annotations

import linecache
import os
import shutil
from collections import Counter
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

import tilewright
from tilewright._cells import cell_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilewright.lang.profiling.profile import Line, Profile

__all__ = ["html", "text"]

NEAR = 4  # lines between two that cost something, which are shown
SHOWN = 5  # hints
NARROWEST = 24  # characters of a line of source
WIDTH = 120  # characters, where there is no terminal
LITTLE = 8  # times of which what is said has to be a part
EXAMPLES = os.path.join(os.path.dirname(tilewright.__file__), "examples", "")
HALF = 2  # times the ideal, from which on a line is marked


class Column(NamedTuple):
    head: str
    meaning: str
    cell: Callable[[Line], str]


def _of_ideal(count: int, ideal: int) -> str:
    return f"{count}/{ideal}" if count else ""


def _number(x: float) -> str:
    """With one digit behind the point where it is not whole.

    >>> _number(32), _number(20.5), _number(0)
    ('32', '20.5', '')
    """
    return f"{x:.1f}".removesuffix(".0") if x else ""


COLUMNS = (
    Column("requests", "memory instructions of warps", lambda x: _number(x.requests)),
    Column("lanes", "active lanes of 32, on the mean", lambda x: _number(x.lanes)),
    Column(
        "sectors", "of 32 bytes, of global memory / the fewest possible",
        lambda x: _of_ideal(x.sectors, x.ideal_sectors),
    ),
    Column(
        "wavefronts", "of shared memory / the fewest possible", lambda x: _of_ideal(x.wavefronts, x.ideal_wavefronts)
    ),
    Column("ways", "of the worst bank conflict", lambda x: _number(x.ways if x.ways > 1 else 0)),
    Column("bytes", "that lanes ask for", lambda x: _number(x.bytes)),
    Column("FLOPs", "of all lanes", lambda x: _number(x.flops)),
    Column("divergent", "branches that a warp's lanes take differently", lambda x: _of_ideal(x.divergent, x.branches)),
)  # fmt: skip


LEAST = ("bytes", "FLOPs", "requests", "divergent", "lanes")  # the columns that are left out first


class Row(NamedTuple):
    """A line of source; `line` is what it costs, None where it costs nothing."""

    number: int
    source: str
    line: Line | None


def _sources(profile: Profile) -> Iterator[tuple[str, list[Row | None]]]:
    """Each file, and its lines around those that cost something; None stands for those that are left out."""
    for file in dict.fromkeys(line.file for line in profile.lines):
        counted = {line.number: line for line in profile.lines if line.file == file}
        rows: list[Row | None] = []
        numbers = sorted(counted)
        for number, following in pairwise([*numbers, numbers[-1]]):
            rows.append(Row(number, counted[number].text, counted[number]))
            if following - number > NEAR:
                rows.append(None)
                continue
            rows += [Row(i, linecache.getline(file, i).rstrip(), None) for i in range(number + 1, following)]
        margin = min((_margin(row.source) for row in rows if row is not None and row.source), default=0)
        yield file, [None if row is None else row._replace(source=row.source[margin:]) for row in rows]


def _margin(source: str) -> int:
    return len(source) - len(source.lstrip())


def is_bad(line: Line) -> bool:
    """Whether a line is marked: it takes twice the sectors or wavefronts that it could."""
    return line.sectors >= HALF * line.ideal_sectors > 0 or line.wavefronts >= HALF * line.ideal_wavefronts > 0


def _columns(profile: Profile) -> list[Column]:
    """Those that some line fills."""
    return [column for column in COLUMNS if any(column.cell(line) for line in profile.lines)]


def _launches(profile: Profile) -> list[str]:
    return [
        f"{name}: grid {_extents(grid)}, block {_extents(block)}" + (f", {times} times" if times > 1 else "")
        for (name, grid, block), times in Counter(profile.launches).items()
    ]


def _extents(three: tuple[int, ...]) -> str:
    """
    >>> _extents((4, 1, 1)), _extents((4, 2, 1))
    ('4', '4 x 2')
    """
    kept = list(three)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " x ".join(map(str, kept))


def _hints(profile: Profile) -> list[str]:
    """What is wrong, the worst first: lines whose excess, or whose number of requests with few lanes, counts."""
    all_requests = sum(x.requests for x in profile.lines)
    said = [x for x in profile.worst if x.hint and LITTLE * x.excess >= x.ideal_sectors + x.ideal_wavefronts]
    said += [x for x in profile.lines if x.hint and x.excess == 0 and LITTLE * x.requests >= all_requests]
    has_one_file = len({x.file for x in profile.lines}) == 1
    places = ("" if has_one_file else f"{os.path.basename(_shown_path(x.file))}, " for x in said)
    hints = [f"{place}line {x.number}: {x.hint}" for place, x in zip(places, said[:SHOWN], strict=False)]
    if len(said) > SHOWN:
        hints.append(f"{len(said) - SHOWN} more lines have a .hint")
    return hints


def _shown_path(file: str) -> str:
    """Relative to the working folder or the package's where it lies below them; the name of a notebook's cell."""
    cell = cell_of(file)
    if cell is not None:
        return cell
    below = os.path.join(os.getcwd(), "")
    if file.startswith(EXAMPLES):
        return os.path.join("tilewright", "examples", file[len(EXAMPLES) :])
    return file[len(below) :] if file.startswith(below) else file


def text(profile: Profile, width: int | None = None) -> str:
    """The listing in columns, as wide as the terminal; `!` marks lines that take twice what they could, or more."""
    if not profile.lines:
        return "no kernel was launched"
    width = width or shutil.get_terminal_size((WIDTH, 24)).columns
    total = profile.total
    digits = max(len(str(line.number)) for line in profile.lines)
    columns = _fitting(profile, [*profile.lines, total], width - digits - 3 - NARROWEST)
    cells = {id(line): [column.cell(line) for column in columns] for line in (*profile.lines, total)}
    wide = [_width(column, [*profile.lines, total]) for column in columns]

    def put(mark: str, number: str, found: list[str], source: str, is_path: bool = False) -> str:
        left = f"{mark}{number:>{digits}}  " + "  ".join(f"{x:>{w}}" for x, w in zip(found, wide, strict=True))
        room = max(width - len(left) - 2, 4)
        cut = source
        if len(source) > room:  # a file is known by the end of its path
            cut = "..." + source[3 - room :] if is_path else source[: room - 3] + "..."
        return f"{left}  {cut}".rstrip()

    lines = _launches(profile)
    for file, rows in _sources(profile):
        lines.append(put(" ", "", [column.head for column in columns], _shown_path(file), is_path=True))
        for row in rows:
            if row is None:
                lines.append(" " + " " * (digits - 1) + ":")
            else:
                found = cells[id(row.line)] if row.line is not None else [""] * len(columns)
                mark = "!" if row.line is not None and is_bad(row.line) else " "
                lines.append(put(mark, str(row.number), found, row.source))
    lines.append(put(" ", "", cells[id(total)], "total"))
    for hint in _hints(profile):
        lines += wrap(hint, width, subsequent_indent="  ")
    return "\n".join(lines)


def _width(column: Column, lines: list[Line]) -> int:
    return max(len(column.head), *(len(column.cell(line)) for line in lines))


def _fitting(profile: Profile, lines: list[Line], room: int) -> list[Column]:
    """The columns that some line fills; where there is little room, without those that say least."""
    columns = _columns(profile)
    for name in LEAST:
        if sum(_width(column, lines) + 2 for column in columns) <= room:
            break
        columns = [column for column in columns if column.head != name]
    return columns


TABLE = "border-collapse:collapse;font-family:monospace;text-align:right;white-space:pre"
LEFT, BAD, PALE = "text-align:left", "background:rgba(220,80,40,.22)", "opacity:.55"


def _cells(found: list[str], source: str, tag: str = "td", pale: bool = False) -> str:
    """The cells of a table's row behind that of the line's number."""
    style = f"{LEFT};{PALE}" if pale else LEFT
    return "".join(f"<{tag}>{escape(x)}</{tag}>" for x in found) + f'<{tag} style="{style}">{escape(source)}</{tag}>'


def html(profile: Profile) -> str:
    """The listing as a table, without script or a ground of its own: it reads on light pages and on dark ones."""
    columns = _columns(profile)
    nothing = [""] * len(columns)
    rows = []
    for file, sources in _sources(profile):
        heads = "".join(f'<th title="{escape(column.meaning)}">{escape(column.head)}</th>' for column in columns)
        rows.append(f"<tr><th></th>{heads}{_cells([], _shown_path(file), 'th')}</tr>")
        for row in sources:
            if row is None:
                rows.append(f'<tr style="{PALE}"><td>:</td></tr>')
                continue
            line = row.line
            found = nothing if line is None else [column.cell(line) for column in columns]
            ground = f' style="{BAD}"' if line is not None and is_bad(line) else ""
            hint = f' title="{escape(line.hint)}"' if line is not None and line.hint else ""
            cells = _cells(found, row.source, pale=line is None)
            rows.append(f"<tr{ground}{hint}><td>{row.number}</td>{cells}</tr>")
    total = profile.total
    rows.append(f"<tr><td></td>{_cells([column.cell(total) for column in columns], 'total')}</tr>")
    said = "".join(f"<p>{escape(x)}</p>" for x in _launches(profile))
    hints = "".join(f"<p>{escape(x)}</p>" for x in _hints(profile))
    return f'{said}<table cellpadding="4" style="{TABLE}">{"".join(rows)}</table>{hints}'
