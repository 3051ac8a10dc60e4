"""Where everything of a picture stands, in pixels: panels level with each other, nothing over anything else."""

from __future__ import annotations

import textwrap
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Axis, Entry, Label, Panel, Picture

__all__ = ["Box", "Sheet", "measure"]

RICH = 900  # cells, up to which they are large; the limit of 200 kB leaves about 200 bytes for each
LETTER, SMALL = 7.3, 6.1  # pixels that a letter and a small one take at most
ADVANCE = 6.0  # pixels of a small letter
MARGIN, GAP = 16.0, 34.0
TITLE, HEADING, SUBTITLE, LEVEL, LEGEND, NOTE = 20.0, 17.0, 15.0, 16.0, 18.0, 16.0  # heights of a line
NOTE_LETTERS = 84  # which a note may take below a narrow picture
NARROWEST = 46  # letters, which a heading may take beside a narrow panel
LONGEST = 90  # letters of a panel's title in one line
BOLD, PLAIN = 8.0, 7.0  # pixels of a letter of a title, and of the lines below it
LINES = attrgetter("lines")  # of a cell


class Box(NamedTuple):
    """A panel with the left upper corner of its heading (x, y) and of its cells (left, top), and the size of a cell."""

    panel: Panel
    x: float
    y: float
    left: float
    top: float
    cell: tuple[float, float]
    title: tuple[str, ...]
    subtitle: tuple[str, ...]
    legend: tuple[tuple[float, float, Entry], ...]

    def middle(self, row: int, column: int) -> tuple[float, float]:
        """The middle of a cell."""
        return self.left + (column + 0.5) * self.cell[0], self.top + (row + 0.5) * self.cell[1]

    def level_width(self, level: tuple[Label, ...]) -> float:
        """The width of a level of row labels."""
        return _level_width(level)

    def levels(self, axis: Axis, across: bool) -> list[float]:
        """Where the labels of each level stand: their y above the cells, or their x to the left of them."""
        places, at = [], self.top if across else self.left
        for level in reversed(axis):
            size = LEVEL if across else _level_width(level)
            places.append(at - size / 2)
            at -= size
        return places[::-1]


class Sheet(NamedTuple):
    """The size of a picture, its boxes, whether its cells are too many to be large, and the lines below, from y on."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    dense: bool
    title: tuple[str, ...]
    notes: tuple[str, ...]
    notes_y: float

    def with_note(self, note: str) -> Sheet:
        """With another line below; as it is for the empty one."""
        if not note:
            return self
        notes = (*self.notes, *_note_lines(note, self.width - 2 * MARGIN))
        return self._replace(notes=notes, height=self.notes_y + NOTE * len(notes) + 4 + MARGIN)


def _level_width(level: tuple[Label, ...]) -> float:
    return max((len(label.text) for label in level), default=0) * SMALL + 10


def _cell_size(panel: Panel, dense: bool) -> tuple[float, float]:
    if dense:
        lines = list(map(LINES, panel.cells))
        letters = max(map(len, chain.from_iterable(lines)), default=1)
        count = max(map(len, lines), default=1)
        return (letters + 1) * ADVANCE, 4.0 + 12 * max(count, 1)
    first = max((len(cell.lines[0]) for cell in panel.cells if cell.lines), default=1)
    rest = max((len(line) for cell in panel.cells for line in cell.lines[1:]), default=0)
    count = max((len(cell.lines) for cell in panel.cells), default=1)
    return max(28.0, first * LETTER + 10, rest * SMALL + 10), 12.0 + 14 * max(count, 1)


def _legend(panel: Panel, width: float) -> tuple[list[tuple[float, float, Entry]], float]:
    """The places of a legend's entries, in columns, as many as there is room for; its height."""
    length = 20 + max((len(entry.text) for entry in panel.legend), default=0) * SMALL + 14
    count = max(int(width / length), 1)
    places = [(i % count * length, i // count * LEGEND, entry) for i, entry in enumerate(panel.legend)]
    return places, -(-len(places) // count) * LEGEND


def _wrapped(text: str, letters: float) -> tuple[str, ...]:
    return tuple(textwrap.wrap(text, max(int(letters), NARROWEST), break_on_hyphens=False))


def heading_lines(text: str, letters: int) -> tuple[str, ...]:
    """A title in lines: broken between words, or behind a comma in what is longer than a line, such as a layout.

    >>> heading_lines("A = (2,2,2):(1,2,4) o B", 12)
    ('A =', '(2,2,2):(1,', '2,4)', 'o B')
    """
    found = []
    for line in textwrap.wrap(text, letters, break_long_words=False, break_on_hyphens=False):
        if len(line) > letters:
            parts = [""]
            for piece in line.replace(",", ",\n").split("\n"):
                if parts[-1] and len(parts[-1]) + len(piece) > letters:
                    parts.append("")
                parts[-1] += piece
            found += parts
        else:
            found.append(line)
    return tuple(found)


def heading_height(title: tuple[str, ...]) -> float:
    """Of a panel's title: the first line stands alone where there is no other."""
    return TITLE + HEADING * (len(title) - 1) if title else 0.0


def _most(at: list[int], values: list[float]) -> dict[int, float]:
    """The largest value for each row, or column, of the picture's grid."""
    found: dict[int, float] = {}
    for place, value in zip(at, values, strict=True):
        found[place] = max(found.get(place, value), value)
    return found


def _note_lines(note: str, width: float) -> list[str]:
    indent = " " * (len(note) - len(note.lstrip()) + 2)
    letters = max(int(width / PLAIN), NOTE_LETTERS)
    return textwrap.wrap(note, letters, subsequent_indent=indent if note[:1] == " " else "")


def measure(picture: Picture, dense: bool | None = None) -> Sheet:
    """Give everything its place; `dense` makes the cells small or large, whatever their number."""
    if dense is None:
        dense = sum(len(p.panel.cells) for p in picture.panels) > RICH
    columns = sorted({p.column for p in picture.panels if not p.free})
    rows = sorted({p.row for p in picture.panels})
    panels = [p.panel for p in picture.panels]
    column_of = [-1 - i if p.free else p.column for i, p in enumerate(picture.panels)]  # free: a column of its own
    row_of = [p.row for p in picture.panels]
    sizes = [_cell_size(panel, dense) for panel in panels]
    wide = _most(column_of, [size[0] for size in sizes])
    high = _most(row_of, [size[1] for size in sizes])
    side = _most(column_of, [sum(map(_level_width, panel.row_axis)) for panel in panels])
    bodies = [side[c] + panel.columns * wide[c] for c, panel in zip(column_of, panels, strict=True)]
    titles = [
        heading_lines(panel.title, max(LONGEST, int(body / BOLD))) for panel, body in zip(panels, bodies, strict=True)
    ]
    subtitles = [_wrapped(panel.subtitle, body / PLAIN) for panel, body in zip(panels, bodies, strict=True)]
    legends = [_legend(panel, max(body, NARROWEST * PLAIN)) for panel, body in zip(panels, bodies, strict=True)]

    def width(i: int) -> float:
        ends = [x + 20 + len(entry.text) * SMALL for x, _, entry in legends[i][0]]
        lines = (*(BOLD * len(x) for x in titles[i]), *(PLAIN * len(x) for x in subtitles[i]))
        return max(bodies[i], *lines, *ends, 0.0)

    def head(i: int) -> float:
        return heading_height(titles[i]) + SUBTITLE * len(subtitles[i]) + LEVEL * len(panels[i].column_axis) + 6

    def depth(i: int) -> float:
        return panels[i].rows * high[row_of[i]] + (legends[i][1] + 8 if panels[i].legend else 0.0)

    every = range(len(panels))
    widths, heads, depths = (
        _most(at, [function(i) for i in every])
        for at, function in ((column_of, width), (row_of, head), (row_of, depth))
    )
    title = heading_lines(picture.title, 120)
    x, lefts, right = MARGIN, {}, MARGIN
    for c in columns:
        lefts[c] = x
        x += widths[c] + GAP
        right = x - GAP
    for r in rows:
        x = MARGIN
        for i in sorted(
            (i for i in every if row_of[i] == r and column_of[i] < 0), key=lambda i: picture.panels[i].column
        ):
            lefts[-1 - i] = x
            x += widths[-1 - i] + GAP
            right = max(right, x - GAP)
    y, tops = MARGIN + 22 * len(title), {}
    for r in rows:
        tops[r] = y + heads[r]
        y = tops[r] + depths[r] + GAP - 8
    bottom = y - GAP + 8 if rows else y
    boxes = []
    for i, placed in enumerate(picture.panels):
        c = column_of[i]
        left, top = lefts[c] + side[c], tops[placed.row]
        x, start = lefts[c], top - head(i)
        below = top + placed.panel.rows * high[placed.row] + 10
        places = tuple((x + a, below + b, entry) for a, b, entry in legends[i][0])
        size = (wide[c], high[placed.row])
        boxes.append(Box(placed.panel, x, start, left, top, size, titles[i], subtitles[i], places))
    right = max([right, *(MARGIN + BOLD * len(x) for x in title)])
    notes = tuple(line for note in picture.notes for line in _note_lines(note, right - MARGIN))
    right = max([right, *(MARGIN + PLAIN * len(x) for x in notes)])
    notes_y = bottom + (24 if picture.links else 12)  # an arrow below the panels has a text of its own
    height = notes_y + NOTE * len(notes) + 4 if notes else bottom
    return Sheet(right + MARGIN, height + MARGIN, tuple(boxes), dense, title, notes, notes_y)
