"""A picture in SVG: deterministic text, no script, no other assets, and no ground: it reads on light and dark pages.

Texts outside of cells have a mid-tone, since an image cannot know whether the page around it is dark. All that is used
of SVG is what browsers, librsvg, Inkscape and CairoSVG draw alike: each text of a row of cells has a place of its own
where there is room for it, a thin line is not scaled, and letters are a whole number of pixels wide.

Up to 900 cells each is a rectangle that shows all it knows when it is pointed at. Of more, the rectangles of one colour
are one path, and each row says what its cells show, the values alone, with coordinates as short as they have to be, so
that 64 x 64 cells take at most 200 kB. Where there is no room even for that it says where the cells are. The script of
html.py finds what is pointed at by its place.
"""

from __future__ import annotations

import math
import re
from html import unescape
from operator import add
from typing import TYPE_CHECKING

from tilewright.show.drawing.arrows import Points, arrow, label_place
from tilewright.show.drawing.dense import FORMS, Titles, bytes_of, grid_of_colors, strokes_of
from tilewright.show.drawing.measure import (
    ADVANCE,
    HEADING,
    LEVEL,
    LINES,
    MARGIN,
    NOTE,
    SUBTITLE,
    Box,
    Sheet,
    heading_height,
    measure,
)
from tilewright.show.drawing.palette import FAMILY, INK, SIZES, fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.show.drawing.picture import Axis, Panel, Picture

__all__ = ["escape", "svg"]

LIMIT = 144_500  # bytes of a picture of 64 x 64 cells, of which base64 makes 200 kB; hovering takes what is left
PLACE, PLACE_END = '<tspan x="{}">', " </tspan>"  # of some of the cells of a row
COORDINATE = 6  # bytes that a coordinate takes at least where there is little room
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # characters that XML has no place for
SPECIAL = re.compile(f'[&<>"]|{CONTROL.pattern}')
STYLE = "".join(
    f".tw-show {rule}"  # a notebook applies it to the whole page
    for rule in (
        f"text{{font-family:{FAMILY};font-size:{SIZES[7]}px;fill:#111;text-anchor:middle;white-space:pre}}",
        f".s{{font-size:{SIZES[6]}px}}",
        f".c{{text-anchor:start;font-size:{SIZES[6]}px}}",
        f".g{{font-size:{SIZES[6]}px;fill:{INK}}}",
        ".f{fill:#444}",
        f".u{{text-anchor:start;font-size:{SIZES[7]}px;fill:{INK}}}",
        f".h{{text-anchor:start;font-size:{SIZES[8]}px;font-weight:bold;fill:{INK}}}",
        f".t{{text-anchor:start;font-size:{SIZES[8]}px;font-weight:bold;fill:{INK}}}",
        f".l{{text-anchor:start;font-size:{SIZES[6]}px;fill:{INK}}}",
        "rect{stroke:#555;stroke-width:.8}",
        ".b{fill:none;stroke:#999}",
        ".m{fill:none;stroke:#111;stroke-width:3}",
        ".k{fill:none;stroke:#d63346;stroke-width:1.8;stroke-linejoin:round}",
        ".a{fill:#d63346}",
        f".w{{font-size:{SIZES[7]}px;font-weight:bold;stroke:#fff;stroke-width:4}}",  # a white ground for what follows
        f".n{{font-size:{SIZES[7]}px;font-weight:bold;fill:#d63346}}",
    )
)


def escape(text: str) -> str:
    """A text as it stands in SVG and HTML; a control character becomes U+FFFD.

    >>> escape("a < b"), escape("\\x01") == "\\ufffd"
    ('a &lt; b', True)
    """
    if not SPECIAL.search(text):
        return text
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return CONTROL.sub("\ufffd", text)


def _length(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    css = f' class="{kind}"' if kind else ""
    return f'<text x="{_length(x)}" y="{_length(y)}"{css}>{escape(text)}</text>'


def svg(picture: Picture) -> str:
    r"""The picture as SVG.

    >>> from tilewright import cute
    >>> text = svg(cute.show("(4,8):(8,1)"))
    >>> text.startswith("<svg"), text.count("<rect"), "<title>coordinate (1,2)\noffset 10\nbank (f32) 10\n" in text
    (True, 32, True)
    """
    sheet = measure(picture)
    body = [_text(MARGIN, MARGIN + 10 + 22 * i, line, "t") for i, line in enumerate(sheet.title)]
    for box in sheet.boxes:
        body += _panel(box, sheet.dense)
    if sheet.dense:
        lines = (STYLE, *body, *sheet.notes, picture.title, picture.title)  # a page has another title
        rows = [_rows(box) for box in sheet.boxes]
        room = LIMIT - sum(len(line.encode()) + 1 for line in lines)
        room -= sum(_bytes(box, texts) for box, texts in zip(sheet.boxes, rows, strict=True))
        titles, fields, room = _fields(sheet, room)
        most = max((box.panel.columns for box in sheet.boxes), default=1)
        apart = [2**i for i in range(most.bit_length())]  # cells from place to place: as few as there is room for
        step = next((n for n in apart if sum(_bytes_of_places(box, n) for box in sheet.boxes) <= room), 0)
        for box, texts, found in zip(sheet.boxes, rows, titles, strict=True):
            body += _texts(box, texts, found, fields, step)
        sheet = sheet.with_note(_key(titles, fields))
    for link in picture.links:
        points = arrow(sheet, link)
        body += _arrow(points, link.text, label_place(sheet, points, link.text))
    body += [_text(MARGIN, sheet.notes_y + 10 + NOTE * i, line, "u") for i, line in enumerate(sheet.notes)]
    w, h = _length(math.ceil(sheet.width)), _length(math.ceil(sheet.height))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" class="tw-show" '
            'role="img">',
            f"<title>{escape(picture.title)}</title>",
            f"<style>{STYLE}</style>",
            *body,
            "</svg>",
            "",
        ]
    )


def _panel(box: Box, dense: bool) -> list[str]:
    panel, (w, h) = box.panel, box.cell
    y = box.y
    body = []
    body += [_text(box.x, y + 13 + HEADING * i, line, "h") for i, line in enumerate(box.title)]
    y += heading_height(box.title)
    body += [_text(box.x, y + 11 + SUBTITLE * i, line, "u") for i, line in enumerate(box.subtitle)]
    body += _labels(box, panel.column_axis, True) + _labels(box, panel.row_axis, False)
    body += _colors(box) if dense else _rich(box)
    for rules, across in ((panel.row_rules, True), (panel.column_rules, False)):
        for weight in sorted({rule.weight for rule in rules}):
            path = "".join(
                f"M{_length(box.left)} {_length(box.top + rule.after * h)}h{_length(panel.columns * w)}"
                if across
                else f"M{_length(box.left + rule.after * w)} {_length(box.top)}v{_length(panel.rows * h)}"
                for rule in rules
                if rule.weight == weight
            )
            body.append(f'<path d="{path}" stroke="#111" stroke-width="{_length(0.8 + 0.9 * weight)}"/>')
    marked = "".join(
        f"M{_length(box.left + cell.column * w + 1.5)} {_length(box.top + cell.row * h + 1.5)}"
        f"h{_length(w - 3)}v{_length(h - 3)}h{_length(3 - w)}z"
        for cell in panel.cells
        if cell.marked
    )
    if marked:
        body.append(f'<path d="{marked}" class="m"/>')
    for x, y, entry in box.legend:
        color = fill(entry.owner, entry.faded)
        body.append(f'<rect x="{_length(x)}" y="{_length(y)}" width="14" height="12" fill="{color}"/>')
        body.append(_text(x + 20, y + 10, entry.text, "l"))
    return body


def _labels(box: Box, axis: Axis, across: bool) -> list[str]:
    """The labels of an axis; those of several rows or columns with a line along what they stand for."""
    body, lines = [], ""
    size = box.cell[0] if across else box.cell[1]
    begin = box.left if across else box.top
    for place, level in zip(box.levels(axis, across), axis, strict=True):
        at = 0
        texts, ends = [], []
        for label in level:
            middle = begin + (at + label.span / 2) * size
            x, y = (middle, place + 2) if across else (place, middle + 3.5)
            if label.text:
                texts.append((x, y, label.text))
                ends.append((at, at + label.span))
            at += label.span
        body += [_text(*text, "g") for text in texts]
        if level is axis[-1]:
            break
        edge = place + (LEVEL if across else box.level_width(level)) / 2 - 2
        lines += "".join(
            f"M{_length(begin + i * size + 3)} {_length(edge)}h{_length((j - i) * size - 6)}"
            if across
            else f"M{_length(edge)} {_length(begin + i * size + 3)}v{_length((j - i) * size - 6)}"
            for i, j in ends
        )
    return [*body, f'<path d="{lines}" class="b"/>'] if lines else body


def _rich(box: Box) -> list[str]:
    """Each cell as a rectangle with its text and with a title, which shows on hover."""
    w, h = box.cell
    body = []
    for cell in sorted(box.panel.cells, key=lambda cell: cell[:2]):
        x, y = box.left + cell.column * w, box.top + cell.row * h
        title = "\n".join(f"{name} {text}" for name, text in cell.hover)
        body.append("<g>" + (f"<title>{escape(title)}</title>" if title else ""))
        body.append(
            f'<rect x="{_length(x)}" y="{_length(y)}" width="{_length(w)}" height="{_length(h)}" '
            f'fill="{fill(cell.owner, cell.faded)}"/>'
        )
        top = y + h / 2 + 4 - 7 * (len(cell.lines) - 1)
        for i, line in enumerate(cell.lines):
            kind = " ".join(["s"] * (i > 0) + ["f"] * cell.faded)
            body.append(_text(x + w / 2, top + 14 * i, line, kind))
        body.append("</g>")
    return ["".join(body)]


# ---- many cells ------------------------------------------------------------------------------------------------------


def _colors(box: Box) -> list[str]:
    """Paths for each colour, of lines as thick as a cell is high, or wide, and one for the lines between cells."""
    panel, (w, h) = box.panel, box.cell
    colors = grid_of_colors(panel)
    ways = [(strokes_of(colors), True), (strokes_of([*zip(*colors, strict=True)]), False)]
    strokes, across = min(ways, key=lambda way: bytes_of(way[0]))
    place = f"translate({_length(box.left)} {_length(box.top)}) scale({w:.2f} {h:.2f})"
    body = [f'<g transform="{place}" fill="none">']
    for (color, dashes), lines in sorted(strokes.items()):
        path: list[str] = []
        x = y = 0
        for i, start, end in lines:
            to, by = (start, i) if across else (i, start)
            first = f"M{to} {by}.5" if across else f"M{to}.5 {by}"
            path.append((f"m{to - x} {by - y}" if path else first) + f"{'h' if across else 'v'}{end - start}")
            x, y = (end, i) if across else (i, end)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        body.append(f'<path d="{"".join(path)}" stroke="{color}"{dashed}/>')
    left, top = _length(box.left), _length(box.top)
    rules = "".join(
        f"M{left} {_length(box.top + row * h)}h{_length(panel.columns * w)}" for row in range(panel.rows + 1)
    )
    rules += "".join(f"M{_length(box.left + i * w)} {top}v{_length(panel.rows * h)}" for i in range(panel.columns + 1))
    return [*body, f'</g><path d="{rules}" stroke="#555" stroke-opacity=".45"/>']


def _fields(sheet: Sheet, room: int) -> tuple[list[Titles], list[int], int]:
    """The cells' hover texts, which of their fields there is room for, and the room that is left.

    The coordinates are as short as all others need them; the index, which says the same again, is needed least.
    """
    around = sum((len(' data-hover=""') + box.panel.columns) * box.panel.rows for box in sheet.boxes)
    if room - around <= sum(_least(box.panel) for box in sheet.boxes):
        return _none(sheet, room)
    full = [Titles.of(box.panel) for box in sheet.boxes]
    for form in range(FORMS):
        titles = [x.shorter(box.panel, form) for x, box in zip(full, sheet.boxes, strict=True)]
        found, left = [], room - around
        count = max(len(x.names) for x in titles)
        for field in range(count):
            takes = sum(x.bytes(field) for x in titles)
            if takes <= left:
                found.append(field)
                left -= takes
        if all(field in found or name == "index" for x in titles for field, name in enumerate(x.names)):
            break
    return _none(sheet, room) if 0 not in found else (titles, found, left)


def _least(panel: Panel) -> int:
    """What the coordinates of all cells take at least; those that have no shorter form do so as they are."""
    count = len(panel.cells)
    if panel.modes is not None:
        return COORDINATE * count
    return len("".join([cell.hover[0][1] for cell in panel.cells if cell.hover])) - count  # without the parentheses


def _none(sheet: Sheet, room: int) -> tuple[list[Titles], list[int], int]:
    """No hover texts, but of each panel those of rows and columns."""
    titles = [Titles.none(box.panel) for box in sheet.boxes]
    return titles, [], room - sum(len("||".join(part).encode()) for x in titles if x.place for part in x.place[:2])


def _key(titles: Sequence[Titles], fields: list[int]) -> str:
    """What the short titles say."""
    shown = dict.fromkeys(
        ", ".join(names) + (f" of the {x.text} in it" if x.text else "") for x in titles if (names := x.kept(fields)[0])
    )
    if shown:
        return f"as HTML, pointing at a cell shows {' or '.join(shown)}"
    known = any(x.names for x in titles)
    missing = "there is no room for what each of so many cells would show when pointed at"
    if any(x.place for x in titles):
        return f"{missing}; as HTML, the picture shows coordinate and text"
    return missing if known else ""


def _lines(panel: Panel) -> int:
    return max(map(len, map(LINES, panel.cells)), default=0)


def _rows(box: Box) -> list[list[list[str]]]:
    """The texts of each line of each row, cell by cell, each as wide as a cell but for a letter."""
    panel, letters = box.panel, round(box.cell[0] / ADVANCE) - 1
    every = list(map(LINES, panel.cells))
    blank = " " * letters
    found = []
    for i in range(_lines(panel)):
        texts = [lines[i].center(letters) if i < len(lines) else blank for lines in every]
        rows = [[blank] * panel.columns for _ in range(panel.rows)]
        for (row, column, _, _, _, _, _), text in zip(panel.cells, _escaped(texts), strict=True):
            rows[row][column] = text
        found.append(rows)
    return found


def _bytes(box: Box, rows: list[list[list[str]]]) -> int:
    """What the texts take, but the places in them."""
    around = len(_row_text(box, 0, 0, len(rows), "", ' textLength="1234.5"')) + 4
    return sum(len(" ".join(row).encode()) + around for line in rows for row in line)


def _bytes_of_places(box: Box, step: int) -> int:
    """What a place takes for every so many cells of each line of a row."""
    count = max(-(-box.panel.columns // step) - 1, 0)
    return len(PLACE.format("1234.5") + PLACE_END) * count * box.panel.rows * _lines(box.panel)


def _texts(box: Box, rows: list[list[list[str]]], titles: Titles, fields: list[int], step: int) -> list[str]:
    """The texts, a group for each line of a row, and what pointing at each cell shows, by so many fields."""
    panel, (w, h) = box.panel, box.cell
    kept, values = titles.kept(fields)
    known = ""
    if kept:
        text = f' data-text="{escape(titles.text)}"' if titles.text else ""
        known = f' data-names="{escape("|".join(kept))}"{text}'
    elif titles.place:
        begins, ends, turned = titles.place
        known = f' data-rows="{escape("|".join(begins))}" data-columns="{escape("|".join(ends))}"'
        known += ' data-turned="1"' * turned
    if known:
        sizes = " ".join(_length(x) for x in (box.left, box.top, panel.columns * w, panel.rows * h))
        known += f' data-cells="{sizes} {panel.rows} {panel.columns}"'
    hovers = [[""] * panel.columns for _ in range(panel.rows if kept else 0)]
    if kept:
        shown = _escaped([" ".join(x).rstrip() for x in zip(*values, strict=True)])
        for cell, value in zip(panel.cells, shown, strict=True):
            hovers[cell.row][cell.column] = value if cell.hover else ""
    starts = range(0, panel.columns, step or max(panel.columns, 1))
    places = ["", *(PLACE.format(_length(box.left + ADVANCE / 2 + i * w)) for i in starts[1:])]
    body = [f'<g xml:space="preserve"{known}>']
    for i, line in enumerate(rows):
        for row, texts in enumerate(line):
            parts = texts if step == 1 else [" ".join(texts[start : start + starts.step]) for start in starts]
            first, *others = map(add, places, parts)
            more = f' data-hover="{"|".join(hovers[row])}"' if hovers and not i else ""
            if others:
                content = f"{first} {PLACE_END.join(others)}</tspan>"
            else:
                content = first.rstrip(" ")
                more = f' textLength="{_length(len(unescape(content)) * ADVANCE)}"{more}'
            body.append(_row_text(box, row, i, len(rows), content, more))
    return [*body, "</g>"]


def _escaped(texts: list[str]) -> list[str]:
    """Each of them; as they are where all of them are plain."""
    return list(map(escape, texts)) if SPECIAL.search("".join(texts)) else texts


def _row_text(box: Box, row: int, line: int, lines: int, content: str, more: str) -> str:
    """One of the lines of a row, whose cells have places of their own, as many as there is room for.

    Between two places letters stand by the font's width, which CairoSVG rounds to whole pixels of what it draws. Of a
    font of another width they stand by the length, which there is for texts of one place only.
    """
    y = _length(box.top + (row + 0.5) * box.cell[1] + 4 - 6 * (lines - 1) + 12 * line)
    return f'<text class="c" x="{_length(box.left + ADVANCE / 2)}" y="{y}"{more}>{content}</text>'


def _arrow(points: Points, text: str, place: tuple[float, float]) -> list[str]:
    """A line with its head, and a text at its place."""
    (x0, y0), (x1, y1) = points[-2:]
    far = math.hypot(x1 - x0, y1 - y0) or 1.0
    dx, dy = (x1 - x0) / far, (y1 - y0) / far
    head = ((x1, y1), (x1 - 8 * dx - 3 * dy, y1 - 8 * dy + 3 * dx), (x1 - 8 * dx + 3 * dy, y1 - 8 * dy - 3 * dx))
    line, tip = ("L".join(f"{_length(x)} {_length(y)}" for x, y in ends) for ends in (points, head))
    body = [f'<path d="M{line}" class="k"/><path d="M{tip}z" class="a"/>']
    if text:
        body += [_text(place[0], place[1] + 4, text, kind) for kind in ("w", "n")]
    return body
