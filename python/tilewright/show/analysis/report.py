"""An analysis as a picture and as HTML: the worst request of each instruction, lanes over banks or over sectors."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from tilewright.analysis.access import SECTOR
from tilewright.show.drawing.memory import BANKS, WORD
from tilewright.show.drawing.picture import Cell, Label, Panel, Picture, Rule, below

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tilewright.analysis.instructions import Analysis, MemoryInstruction

__all__ = ["html", "picture", "svg"]

LINE = 128  # bytes
MATRIX = 8  # rows of a matrix of ldmatrix, which are read at a time
MOST = 32  # lines of global memory that are drawn


def svg(analysis: Analysis) -> str:
    """The picture in SVG."""
    return picture(analysis).svg()


def html(analysis: Analysis) -> str:
    """The table, the conclusions and the picture, for a notebook."""
    return f"{_table(analysis)}{picture(analysis)._repr_html_()}"


def picture(analysis: Analysis) -> Picture:
    """A panel for each instruction of lanes.

    >>> from tilewright import Float32, analysis, cute
    >>> print(picture(analysis.analyze(cute.make_layout(32, stride=2), Float32)).text(color=False))
    32:2: memory instructions of one warp, the worst request of each
    <BLANKLINE>
    load, LDG.E: 8 sectors in 2 lines, ideal 4
    sectors across, lines down; n+m: lane n and m more
            +0    +32    +64    +96
         +------+------+------+------+
     0x0 |  0+3 |  4+3 |  8+3 | 12+3 |
         +------+------+------+------+
    0x80 | 16+3 | 20+3 | 24+3 | 28+3 |
         +------+------+------+------+
    <BLANKLINE>
    neighbouring lanes are 8 bytes apart but access 4: let them access neighbouring elements
    """
    panels = [_banks(x) if x.memory == "shared" else _sectors(x) for x in analysis if x.addresses]
    notes = [f"{x.name}: {x.note}" for x in analysis if x.note]
    if analysis.advice:
        notes.append(analysis.advice)
    head = f"{analysis.title}: " if analysis.title else ""
    return Picture(f"{head}memory instructions of {analysis.scope}, the worst request of each", below(*panels), notes)


def _table(analysis: Analysis) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head, *rows = analysis.rows()
    body = "".join(row(cells, "td") for cells in rows)
    said = "".join(f"<p>{escape(line)}</p>" for line in analysis.conclusions())
    return f"<table>{row(head, 'th')}{body}</table>{said}"


def _shown(lanes: Sequence[int]) -> str:
    return str(lanes[0]) + (f"+{len(lanes) - 1}" if len(lanes) > 1 else "")


def _lanes(x: MemoryInstruction) -> dict[int, int]:
    """The address of each active lane of the worst request; of a matrix, of each of its rows."""
    return dict(zip(x.lane_ids or range(len(x.addresses)), x.addresses, strict=True))


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("s" if n != 1 else "")


def _banks(x: MemoryInstruction) -> Panel:
    """Shared memory: which lanes each bank serves in each wavefront, pass after pass."""
    together = MATRIX if x.op.endswith("matrix") else BANKS * WORD // max(x.width, WORD)
    passes, found = _passes(x, together), x.worst
    # Passes of a load are joined two by two where its lanes share addresses: rules.hpp, S4.
    if x.op == "load" and found is not None and sum(_depth(words) for words in passes.values()) > found.wavefronts:
        together *= 2
        passes = _passes(x, together)
    cells: list[Cell] = []
    rules, labels, top = [], [], 0
    for start, words in passes.items():
        depth = [0] * BANKS
        for word, lanes in words.items():
            bank = word % BANKS
            hover = (("bank", str(bank)), ("address", f"{word * WORD:#x}"), ("lanes", ", ".join(map(str, lanes))))
            cells.append(Cell(top + depth[bank], bank, (_shown(lanes),), lanes[0], hover))
            depth[bank] += 1
        rows = max(depth)
        labels.append(Label(f"{start} to {start + together - 1}", rows))
        top += rows
        rules.append(Rule(top))
    waves = f"{_count(found.wavefronts, 'wavefront')}, ideal {found.ideal_wavefronts}" if found is not None else ""
    if found is not None and found.alone and top < found.wavefronts:
        waves += f"; {top} by these banks, the others by those of the cache"
    return Panel(
        f"{x.name}, {x.sass}: {waves}", "banks across, wavefronts down; n+m: lane n and m more", top, BANKS,
        tuple(cells), row_axis=(tuple(labels),), column_axis=(tuple(Label(str(i)) for i in range(BANKS)),),
        row_rules=tuple(rules[:-1]),
    )  # fmt: skip


def _passes(x: MemoryInstruction, together: int) -> dict[int, dict[int, list[int]]]:
    """The lanes that want each word, pass after pass, by the first lane of the pass; none where no lane is active."""
    found: dict[int, dict[int, list[int]]] = {}
    for lane, address in _lanes(x).items():
        words = found.setdefault(lane // together * together, {})
        for word in range(address // WORD, (address + x.width - 1) // WORD + 1):
            words.setdefault(word, []).append(lane)
    return found


def _depth(words: Iterable[int]) -> int:
    """The different words in the fullest bank."""
    return max(Counter(word % BANKS for word in words).values())


def _sectors(x: MemoryInstruction) -> Panel:
    """Global memory: which lanes access each sector of each line."""
    owners: dict[int, list[int]] = {}
    for lane, address in _lanes(x).items():
        owners.setdefault(address // SECTOR, []).append(lane)
    lines = sorted({sector * SECTOR // LINE for sector in owners})
    cells = []
    for row, line in enumerate(lines[:MOST]):
        for column in range(LINE // SECTOR):
            sector = line * LINE // SECTOR + column
            lanes = owners.get(sector, [])
            hover = (("address", f"{sector * SECTOR:#x}"), ("lanes", ", ".join(map(str, lanes)) or "none"))
            cells.append(Cell(row, column, (_shown(lanes),) if lanes else (), lanes[0] if lanes else None, hover))
    found = x.worst
    counts = ""
    if found is not None:
        counts = f"{_count(found.sectors, 'sector')} in {_count(found.lines, 'line')}, ideal {found.ideal_sectors}"
    cut = f"; {MOST} of {len(lines)} lines are drawn" if len(lines) > MOST else ""
    return Panel(
        f"{x.name}, {x.sass}: {counts}", f"sectors across, lines down; n+m: lane n and m more{cut}",
        min(len(lines), MOST), LINE // SECTOR, tuple(cells),
        row_axis=(tuple(Label(f"{line * LINE:#x}") for line in lines[:MOST]),),
        column_axis=(tuple(Label(f"+{i * SECTOR}") for i in range(LINE // SECTOR)),),
    )  # fmt: skip
