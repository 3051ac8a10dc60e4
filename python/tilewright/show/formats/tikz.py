"""A picture as a LaTeX document, which pdflatex compiles with the packages tikz and standalone.

Everything stands where the SVG has it: its pixel, of which 96 make an inch, is the unit, and y runs down.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import _core
from tilewright.show.drawing.measure import Box, measure
from tilewright.show.drawing.palette import fill

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Axis, Picture

__all__ = ["tikz"]

MARGIN, TITLE, SUBTITLE, NOTE = _core.picture.MARGIN, _core.picture.TITLE, _core.picture.SUBTITLE, _core.picture.NOTE

HEAD = (
    r"\documentclass[border=4pt]{standalone}",
    r"\usepackage{tikz}",
    r"\begin{document}\frenchspacing",
    r"\begin{tikzpicture}[x=0.75bp,y=-0.75bp,line width=0.6bp,every node/.style={inner sep=0pt,outer sep=0pt},",
    r"  cell/.style={font=\ttfamily\fontsize{9}{9}\selectfont},",
    r"  small/.style={font=\ttfamily\fontsize{7}{7}\selectfont},",
    r"  title/.style={font=\ttfamily\fontsize{10}{10}\selectfont,anchor=base west},",
    r"  note/.style={font=\ttfamily\fontsize{8}{8}\selectfont,anchor=base west,text=black!75},",
    r"  trace/.style={draw=red!70!black,line width=1.3bp,-latex}]",
)
TAIL = (r"\end{tikzpicture}", r"\end{document}", "")

# What LaTeX takes for a command, and the one character that is not ASCII.
SPECIAL = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "…": "...",
    **{c: f"\\{c}" for c in "{}$&#%_"},
}


def _latex(text: str) -> str:
    return "".join(SPECIAL.get(c, c) for c in text)


def _number(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def _at(x: float, y: float) -> str:
    return f"({_number(x)},{_number(y)})"


def _node(x: float, y: float, kind: str, text: str) -> str:
    return rf"\node[{kind}] at {_at(x, y)} {{{_latex(text)}}};"


def tikz(picture: Picture) -> str:
    r"""The picture as a LaTeX document.

    >>> from tilewright import cute
    >>> lines = tikz(cute.show("(2,2):(1,2)")).splitlines()
    >>> lines[0], lines[-1]
    ('\\documentclass[border=4pt]{standalone}', '\\end{document}')
    >>> next(line for line in lines if line.startswith(r"\node[cell]"))
    '\\node[cell] at (46.1,88) {0};'
    """
    sheet = measure(picture, dense=False)
    names = _colors(picture)
    lines = [*HEAD]
    lines += [rf"\definecolor{{{name}}}{{HTML}}{{{color[1:].upper()}}}" for color, name in names.items()]
    lines += [_node(MARGIN, MARGIN + 10 + 22 * i, "title", line) for i, line in enumerate(sheet.title)]
    for box in sheet.boxes:
        lines += _panel(box, names)
    for link, (points, place) in zip(picture.links, _core.picture.arrows(picture, False), strict=True):
        lines.append(rf"\draw[trace] {' -- '.join(_at(*point) for point in points)};")
        if link.text:
            lines.append(_node(*place, "small,fill=white,inner sep=1pt", link.text))
    lines += [_node(MARGIN, sheet.notes_y + 10 + NOTE * i, "note", line) for i, line in enumerate(sheet.notes)]
    return "\n".join([*lines, *TAIL])


def _colors(picture: Picture) -> dict[str, str]:
    """The colours of a picture with the names that they get in it."""
    used = {fill(cell.owner, cell.faded) for placed in picture.panels for cell in placed.panel.cells}
    used |= {fill(entry.owner, entry.faded) for placed in picture.panels for entry in placed.panel.legend}
    return {color: f"tw{i}" for i, color in enumerate(sorted(used))}


def _panel(box: Box, names: dict[str, str]) -> list[str]:
    panel, (w, h) = box.panel, box.cell
    lines, y = [], box.y
    if panel.title:
        lines.append(_node(box.x, y + 13, "title", panel.title))
        y += TITLE
    lines += [_node(box.x, y + 11 + SUBTITLE * i, "note", line) for i, line in enumerate(box.subtitle)]
    lines += _labels(box, panel.column_axis, True) + _labels(box, panel.row_axis, False)
    for cell in sorted(panel.cells, key=lambda cell: cell[:2]):
        x, y = box.left + cell.column * w, box.top + cell.row * h
        color = names[fill(cell.owner, cell.faded)]
        lines.append(rf"\filldraw[draw=black!65,fill={color}] {_at(x, y)} rectangle {_at(x + w, y + h)};")
        top = y + h / 2 - 7 * (len(cell.lines) - 1)
        pale = ",text=black!50" if cell.faded else ""
        lines += [
            _node(x + w / 2, top + 14 * i, ("small" if i else "cell") + pale, line)
            for i, line in enumerate(cell.lines)
            if line
        ]
    right, bottom = box.left + panel.columns * w, box.top + panel.rows * h
    for rule in panel.row_rules:
        y = box.top + rule.after * h
        lines.append(_rule(rule.weight, (box.left, y), (right, y)))
    for rule in panel.column_rules:
        x = box.left + rule.after * w
        lines.append(_rule(rule.weight, (x, box.top), (x, bottom)))
    for cell in panel.cells:
        if cell.marked:
            x, y = box.left + cell.column * w, box.top + cell.row * h
            lines.append(rf"\draw[line width=2.2bp] {_at(x + 1.5, y + 1.5)} rectangle {_at(x + w - 1.5, y + h - 1.5)};")
    for x, y, entry in box.legend:
        color = names[fill(entry.owner, entry.faded)]
        lines.append(rf"\filldraw[draw=black!65,fill={color}] {_at(x, y)} rectangle {_at(x + 14, y + 12)};")
        lines.append(_node(x + 20, y + 6, "small,anchor=west", entry.text))
    return lines


def _rule(weight: int, start: tuple[float, float], end: tuple[float, float]) -> str:
    return rf"\draw[line width={_number(0.6 + 0.7 * weight)}bp] {_at(*start)} -- {_at(*end)};"


def _labels(box: Box, axis: Axis, across: bool) -> list[str]:
    """The labels of an axis; those of several rows or columns with a line along what they stand for."""
    lines = []
    size, begin = (box.cell[0], box.left) if across else (box.cell[1], box.top)
    places = box.column_levels if across else box.row_levels
    for (place, room), level in zip(places, axis, strict=True):
        edge = place + room / 2 - 2
        at = 0
        for label in level:
            middle = begin + (at + label.span / 2) * size
            x, y = (middle, place) if across else (place, middle)
            if label.text:
                lines.append(_node(x, y, "small,text=black!65", label.text))
            if level is not axis[-1] and label.text:
                ends = begin + at * size + 3, begin + (at + label.span) * size - 3
                points = [(z, edge) if across else (edge, z) for z in ends]
                lines.append(rf"\draw[black!40] {_at(*points[0])} -- {_at(*points[1])};")
            at += label.span
    return lines
