"""A picture as tables for a terminal, coloured where it is one."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import TYPE_CHECKING, NamedTuple

from tilewright.show.drawing.palette import thread_ansi

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Cell, Label, Panel, Picture

__all__ = ["text"]

WIDTH = 100  # columns, where standard output is not a terminal
GAP = 4  # columns between panels
RULED = 40  # rows of a table, up to which each cell has its lines


def text(picture: Picture, color: bool | None = None) -> str:
    """Tables with their axes; panels of a grid row stand beside each other where there is room.

    Cells have the colours of their owners on a terminal, unless NO_COLOR is set, or as `color` says. A marked cell
    stands in brackets, a faded one in parentheses. Rules between tiles are `=` and `#`. Of a table that is wider than
    the terminal, the first columns are shown; one of one row goes on below, on a terminal or not.
    """
    if color is None:
        color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    terminal = sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 24)).columns if terminal else WIDTH
    blocks = [textwrap.fill(picture.title, width, break_on_hyphens=False)] if picture.title else []
    for row in sorted({placed.row for placed in picture.panels}):
        line = sorted((p for p in picture.panels if p.row == row), key=lambda p: p.column)
        blocks += _beside([_table(placed.panel, color, width, terminal) for placed in line], width)
    for link in picture.links:
        names = [picture.panels[end[0]].panel.title or f"panel {end[0]}" for end in (link.start, link.end)]
        blocks.append(f"{names[0]} -> {names[1]}" + (f": {link.text}" if link.text else ""))
    if picture.notes:
        blocks.append("\n".join(textwrap.fill(note, width, break_on_hyphens=False) for note in picture.notes))
    return "\n\n".join(blocks)


Line = tuple[str, int]
"""A line with the columns that it takes without its colours."""


def _beside(tables: list[list[Line]], width: int) -> list[str]:
    """Tables beside each other, as many as fit into the width; their last lines are level."""
    blocks: list[str] = []
    while tables:
        count, taken = 1, max((n for _, n in tables[0]), default=0)
        while count < len(tables):
            taken += GAP + max((n for _, n in tables[count]), default=0)
            if taken > width:
                break
            count += 1
        group, tables = tables[:count], tables[count:]
        lines = []
        for i in range(max(map(len, group))):
            line = ""
            for table in group:
                size = max((n for _, n in table), default=0)
                shown, length = table[i] if i < len(table) else ("", 0)
                line += shown + " " * (size - length + GAP)
            lines.append(line.rstrip())
        blocks.append("\n".join(lines))
    return blocks


class _Form(NamedTuple):
    """How a table is drawn: the width of a cell's text, the blanks around it, whether every cell has its lines."""

    width: int
    pad: int
    ruled: bool

    @property
    def pitch(self) -> int:
        return self.width + 2 * self.pad + 1


def _form(panel: Panel, room: int) -> _Form:
    """With a line around every cell, or, where that takes too much room, with lines between tiles alone."""
    widths = [len(_cell(cell, i)) for cell in panel.cells for i in range(len(cell.lines))]
    for ruled in (True, False):
        form = _Form(max(widths, default=1), int(ruled), ruled)
        # A label stands over as many cells as it spans.
        for level in panel.column_axis:
            needed = max((-(-(len(_ascii(label.text)) + 1) // label.span) for label in level), default=1)
            form = form._replace(width=max(form.width, needed - 2 * form.pad - 1))
        fits = len(_margin(panel)[0]) + form.pitch * panel.columns < room
        if (fits or panel.rows == 1) and panel.rows <= RULED:
            break
    return form


def _count(panel: Panel, form: _Form, room: int) -> int:
    """The columns of a table for which there is room."""
    return max((room - 1 - len(_margin(panel)[0])) // form.pitch, 1)


def _part(panel: Panel, start: int, end: int) -> Panel:
    """Some of the columns of a table."""
    levels = []
    for level in panel.column_axis:
        taken, at = [], 0
        for label in level:
            if (span := min(at + label.span, end) - max(at, start)) > 0:
                taken.append(label._replace(span=span))
            at += label.span
        levels.append(tuple(taken))
    return panel._replace(
        columns=end - start,
        cells=tuple(cell._replace(column=cell.column - start) for cell in panel.cells if start <= cell.column < end),
        column_axis=tuple(levels),
        column_rules=tuple(
            rule._replace(after=rule.after - start) for rule in panel.column_rules if start < rule.after < end
        ),
    )


def _cropped(panel: Panel, form: _Form, room: int) -> Panel:
    """The first columns of a table, for which there is room."""
    count = _count(panel, form, room)
    if count >= panel.columns:
        return panel
    said = f"{panel.subtitle} ({count} of {panel.columns} columns: the terminal has no room for more)".strip()
    return _part(panel, 0, count)._replace(subtitle=said)


def _table(panel: Panel, color: bool, room: int, crop: bool) -> list[Line]:
    form = _form(panel, room)
    parts = [panel]
    if panel.rows == 1 and panel.columns:
        lines = -(-panel.columns // _count(panel, form, room))
        length = -(-panel.columns // lines)
        parts = [_part(panel, i, min(i + length, panel.columns)) for i in range(0, panel.columns, length)]
    elif crop:
        parts = [_cropped(panel, form, room)]
    heading = [line for line in (panel.title, parts[0].subtitle) if line]
    width = len(_margin(panel)[0]) + form.pitch * parts[0].columns
    out = [_plain(line) for line in _wrapped(heading, max(60, width))]
    out += [line for part in parts for line in _grid(part, form, color)]
    return out + _legend(panel, room) if color else out


def _grid(panel: Panel, form: _Form, color: bool) -> list[Line]:
    """The cells with the labels around them."""
    grid: dict[tuple[int, int], Cell] = {cell[:2]: cell for cell in panel.cells}
    margin = _margin(panel)
    blank = " " * len(margin[0])
    out = [_plain(blank + _across(level, form)) for level in panel.column_axis]
    heavy = {rule.after for rule in panel.row_rules}
    thick = {rule.after for rule in panel.column_rules}
    bars = ["#" if c in thick else "|" if form.ruled else " " for c in range(panel.columns)]
    for row in range(panel.rows + 1):
        if form.ruled:
            dash = "=" if row in heavy else "-"
            out.append(_plain(f"{blank}{f'+{dash * (form.pitch - 1)}' * panel.columns}+"))
        elif row in heavy:
            out.append(_plain(f"{blank} {'=' * (form.pitch * panel.columns - 1)}"))
        if row == panel.rows:
            break
        cells = [grid.get((row, column)) for column in range(panel.columns)]
        for i in range(max((len(cell.lines) for cell in cells if cell is not None), default=1) or 1):
            line = blank if i else margin[row]
            for bar, cell in zip(bars, cells, strict=True):
                shown = f"{_cell(cell, i):>{form.width}}".center(form.pitch - 1)
                paint = color and cell is not None and cell.owner is not None and not cell.faded
                line += bar + (thread_ansi(cell.owner, shown) if paint else shown)  # type: ignore[union-attr, arg-type]
            length = len(blank) + form.pitch * panel.columns
            out.append((f"{line}|", length + 1) if form.ruled else (line, length))
    return out


def _legend(panel: Panel, room: int) -> list[Line]:
    """What the colours mean, as many entries on a line as there is room for."""
    lines: list[Line] = [("", 0)]
    for entry in panel.legend:
        shown, size = f" {entry.text} ", len(entry.text) + 3
        shown = thread_ansi(entry.owner, shown) if entry.owner is not None and not entry.faded else shown
        line, length = lines[-1]
        if length and length + size > room:
            lines.append((f"{shown} ", size))
        else:
            lines[-1] = (f"{line}{shown} ", length + size)
    return lines if panel.legend else []


def _wrapped(lines: list[str], width: int) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(line, width, break_on_hyphens=False)]


def _ascii(text: str) -> str:
    return text.replace("…", "...")


def _plain(line: str) -> Line:
    line = line.rstrip()
    return line, len(line)


def _cell(cell: Cell | None, line: int) -> str:
    shown = cell.lines[line] if cell is not None and line < len(cell.lines) else ""
    if shown and not line and cell is not None and (cell.marked or cell.faded):
        return f"[{shown}]" if cell.marked else f"({shown})"
    return shown


def _margin(panel: Panel) -> list[str]:
    """The labels to the left of each row, an outer one at the first of its rows."""
    columns = []
    for level in panel.row_axis:
        size = max((len(_ascii(label.text)) for label in level), default=0)
        texts: list[str] = []
        for label in level:
            texts += [f"{_ascii(label.text):>{size}} "] + [" " * (size + 1)] * (label.span - 1)
        columns.append(texts)
    return ["".join(column[row] for column in columns) for row in range(panel.rows)] or [""]


def _across(level: tuple[Label, ...], form: _Form) -> str:
    """A level of column labels: each in the middle of what it spans, with a bar where an outer one begins."""
    outer = any(label.span > 1 for label in level)
    pieces = []
    for n, label in enumerate(level):
        size = label.span * form.pitch - 1
        shown = _ascii(label.text)
        shown = f"{shown:^{size}}" if form.ruled or outer else f"{shown:>{size}}"
        pieces.append(("|" if outer and n else " ") + shown)
    return "".join(pieces)
