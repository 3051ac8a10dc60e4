"""A picture in SVG: deterministic text, no script, no other assets, on a white ground that reads on a dark page too.

Up to 900 cells each is a rectangle that shows all it knows when it is pointed at. Of more, the rectangles of one colour
are one path, the texts of a row, and the labels of an axis, are one text, and pointing shows the values alone, with
coordinates as short as they have to be, so that 64 x 64 cells take at most 200 kB. Where there is no room even for that
it says where the cells are: by it the script of html.py finds what is pointed at.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from tilewright.show.arrows import arrow, longest
from tilewright.show.dense import FORMS, Titles, bytes_of, grid_of_colors, strokes_of
from tilewright.show.measure import HEADING, LEVEL, MARGIN, NOTE, SMALL, SUBTITLE, Box, Sheet, heading_height, measure
from tilewright.show.palette import fill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.show.picture import Axis, Panel, Picture

__all__ = ["escape", "svg"]

LIMIT = 197_300  # bytes of a picture of 64 x 64 cells but its frame and a page around it; hovering takes what is left
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # characters that XML has no place for
SPECIAL = re.compile(f'[&<>"]|{CONTROL.pattern}')
LETTERS = re.compile("[!-~…]+")  # of which each has one place
ADVANCE = 6.02  # pixels from one letter of 10 pixels to the next, in most fonts
TITLE_TAGS = len("<a><title></title></a>") - 1  # no blank before the first value
FAMILY = "ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
STYLE = "".join(
    f".tw-show {rule}"  # a notebook applies it to the whole page
    for rule in (
        f"text{{font:12px {FAMILY};fill:#111;text-anchor:middle;white-space:pre}}",
        ".s{font-size:10px}",
        ".g{font-size:10px;fill:#555}",
        ".f{fill:#888}",
        ".u{text-anchor:start;font-size:11px;fill:#444}",
        ".h{text-anchor:start;font-size:13px;font-weight:bold}",
        ".t{text-anchor:start;font-size:14px;font-weight:bold}",
        ".l{text-anchor:start;font-size:10px;fill:#333}",
        "rect{stroke:#555;stroke-width:.8}",
        ".p{stroke:none}",
        ".b{fill:none;stroke:#999}",
        ".m{fill:none;stroke:#111;stroke-width:3}",
        ".k{fill:none;stroke:#b00020;stroke-width:1.8;stroke-linejoin:round}",
        ".a{fill:#b00020}",
        ".w{font-size:11px;font-weight:bold;stroke:#fff;stroke-width:4}",  # a white ground for what follows
        ".n{font-size:11px;font-weight:bold;fill:#b00020}",
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


def svg(picture: Picture, *, plain: bool = False) -> str:
    r"""The picture as SVG; a plain one, for programs that know less of SVG than browsers, has each cell for itself and
    shows nothing on hover.

    >>> from tilewright import cute
    >>> text = svg(cute.show("(4,8):(8,1)"))
    >>> text.startswith("<svg"), text.count("<rect"), "<title>coordinate (1,2)\noffset 10\nbank (f32) 10\n" in text
    (True, 33, True)
    """
    sheet = measure(picture, False if plain else None)
    body = [_text(MARGIN, MARGIN + 10 + 22 * i, line, "t") for i, line in enumerate(sheet.title)]
    for box in sheet.boxes:
        body += _panel(box, sheet.dense, not plain)
    if sheet.dense:
        lines = (STYLE, *body, *sheet.notes, picture.title, picture.title)  # a page has another title
        titles, fields = _fields(sheet, LIMIT - sum(len(line.encode()) + 1 for line in lines))
        body += [line for box, found in zip(sheet.boxes, titles, strict=True) for line in _texts(box, found, fields)]
        sheet = sheet.with_note(_key(titles, fields))
    for link in picture.links:
        body += _arrow(arrow(sheet, link), link.text)
    body += [_text(MARGIN, sheet.notes_y + 10 + NOTE * i, line, "u") for i, line in enumerate(sheet.notes)]
    w, h = _length(math.ceil(sheet.width)), _length(math.ceil(sheet.height))
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" class="tw-show" '
            'role="img">',
            f"<title>{escape(picture.title)}</title>",
            f"<style>{STYLE.replace(FAMILY, 'monospace') if plain else STYLE}</style>",
            f'<rect width="{w}" height="{h}" rx="6" fill="#fff" class="p"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _panel(box: Box, dense: bool, hover: bool) -> list[str]:
    panel, (w, h) = box.panel, box.cell
    y = box.y
    body = []
    body += [_text(box.x, y + 13 + HEADING * i, line, "h") for i, line in enumerate(box.title)]
    y += heading_height(box.title)
    body += [_text(box.x, y + 11 + SUBTITLE * i, line, "u") for i, line in enumerate(box.subtitle)]
    body += _labels(box, panel.column_axis, True, dense) + _labels(box, panel.row_axis, False, dense)
    body += _colors(box) if dense else _rich(box, hover)
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


def _labels(box: Box, axis: Axis, across: bool, dense: bool) -> list[str]:
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
        if dense and LETTERS.fullmatch("".join(text for _, _, text in texts)):
            body.append(_spread(texts, across))
        else:
            body += [_text(*text, "g") for text in texts]
        if level is axis[-1]:
            break
        edge = place + (LEVEL if across else box.level_width(level)) / 2 - 2
        dashes = ""
        if dense and len(ends) == len(level) and len({label.span for label in level}) == 1:  # as one dashed line
            dashes, ends = f"{_length(level[0].span * size - 6)} 6", [(0, at)]
        path = "".join(
            f"M{_length(begin + i * size + 3)} {_length(edge)}h{_length((j - i) * size - 6)}"
            if across
            else f"M{_length(edge)} {_length(begin + i * size + 3)}v{_length((j - i) * size - 6)}"
            for i, j in ends
        )
        if dashes:
            body.append(f'<path d="{path}" class="b" stroke-dasharray="{dashes}"/>')
        else:
            lines += path
    return [*body, f'<path d="{lines}" class="b"/>'] if lines else body


def _spread(texts: list[tuple[float, float, str]], across: bool) -> str:
    """Labels of one line, or one column, as one text, with a place for each letter."""
    letters = [(x + (i - (len(text) - 1) / 2) * ADVANCE, y) for x, y, text in texts for i in range(len(text))]
    xs = " ".join(_length(x) for x, _ in letters)
    ys = _length(letters[0][1]) if across else " ".join(_length(y) for _, y in letters)
    return f'<text x="{xs}" y="{ys}" class="g">{escape("".join(text for _, _, text in texts))}</text>'


def _rich(box: Box, hover: bool) -> list[str]:
    """Each cell as a rectangle with its text and with a title, which shows on hover."""
    w, h = box.cell
    body = []
    for cell in sorted(box.panel.cells, key=lambda cell: cell[:2]):
        x, y = box.left + cell.column * w, box.top + cell.row * h
        title = "\n".join(f"{name} {text}" for name, text in cell.hover)
        body.append("<g>" + (f"<title>{escape(title)}</title>" if title and hover else ""))
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
    rules = "".join(f"M0 {row}h{panel.columns}" for row in range(panel.rows + 1))
    rules += "".join(f"M{column} 0v{panel.rows}" for column in range(panel.columns + 1))
    body.append(f'<path d="{rules}" stroke="#555" stroke-opacity=".45" vector-effect="non-scaling-stroke"/></g>')
    return body


def _fields(sheet: Sheet, room: int) -> tuple[list[Titles], list[int]]:
    """The cells' hover texts, and which of their fields there is room for beside the texts of the cells.

    The coordinates are as short as all others need them; the index, which says the same again, is needed least.
    """
    for box in sheet.boxes:
        lines = _lines(box.panel)
        length = len(_row_text(box, 0, 0, lines, "")) + 3 + round(box.cell[0] / SMALL) * box.panel.columns
        room -= length * box.panel.rows * lines
    room -= TITLE_TAGS * sum(1 for box in sheet.boxes for cell in box.panel.cells if cell.hover)
    if room <= 0:
        return [Titles.none(box.panel) for box in sheet.boxes], []
    full = [Titles.of(box.panel) for box in sheet.boxes]
    for form in range(FORMS):
        titles = [x.shorter(box.panel, form) for x, box in zip(full, sheet.boxes, strict=True)]
        found, left = [], room
        count = max(len(x.names) for x in titles)
        for field in range(count):
            takes = sum(x.bytes(field) for x in titles)
            if takes <= left:
                found.append(field)
                left -= takes
        if all(field in found or name == "index" for x in titles for field, name in enumerate(x.names)):
            break
    return (titles, found) if found else ([Titles.none(box.panel) for box in sheet.boxes], [])


def _key(titles: Sequence[Titles], fields: list[int]) -> str:
    """What the short titles say."""
    shown = dict.fromkeys(
        ", ".join(names) + (f" of the {x.text} in it" if x.text else "") for x in titles if (names := x.kept(fields)[0])
    )
    if shown:
        return f"pointing at a cell shows {' or '.join(shown)}"
    known = any(x.names for x in titles)
    missing = "there is no room for what each of so many cells would show when pointed at"
    if any(x.place for x in titles):
        return f"{missing}; as HTML, the picture shows coordinate and text"
    return missing if known else ""


def _lines(panel: Panel) -> int:
    return max((len(cell.lines) for cell in panel.cells), default=0)


def _texts(box: Box, titles: Titles, fields: list[int]) -> list[str]:
    """The texts, one for each line of a row, with short titles of so many fields."""
    panel = box.panel
    letters, lines = round(box.cell[0] / SMALL), _lines(panel)
    kept, values = titles.kept(fields)
    names = escape("|".join(kept))
    text = f' data-text="{escape(titles.text)}"' if titles.text and names else ""
    known = f' data-names="{names}"{text}' if names else ""
    if titles.place and not names:
        sizes = " ".join(_length(x) for x in (box.left, box.top, *box.cell))
        begins, ends, turned = titles.place
        known = f' data-cells="{sizes} {letters} {int(turned)}" data-rows="{escape("|".join(begins))}"'
        known += f' data-columns="{escape("|".join(ends))}"'
    body = [f'<g xml:space="preserve"{known}>']
    shown = _escaped([" ".join(each).rstrip() for each in zip(*values, strict=True)])
    for i in range(lines):
        texts = [cell.lines[i] if i < len(cell.lines) else "" for cell in panel.cells]
        contents = _escaped([" " + line.center(letters - 1) for line in texts])
        if shown and not i:
            contents = [
                f"<a>{content}<title>{title}</title></a>" if cell.hover else content
                for content, title, cell in zip(contents, shown, panel.cells, strict=True)
            ]
        rows = [[" " * letters] * panel.columns for _ in range(panel.rows)]
        for content, cell in zip(contents, panel.cells, strict=True):
            rows[cell.row][cell.column] = content
        body += [_row_text(box, row, i, lines, "".join(texts)) for row, texts in enumerate(rows)]
    return [*body, "</g>"]


def _escaped(texts: list[str]) -> list[str]:
    """Each of them; as they are where all of them are plain."""
    return list(map(escape, texts)) if SPECIAL.search("".join(texts)) else texts


def _row_text(box: Box, row: int, line: int, lines: int, content: str) -> str:
    """One of the lines of a row: before each cell's text there is a blank, and the text has to be in the middle."""
    panel, (w, h) = box.panel, box.cell
    x = _length(box.left + panel.columns * w / 2 - SMALL / 2)
    y = _length(box.top + (row + 0.5) * h + 4 - 6 * (lines - 1) + 12 * line)
    return f'<text class="s" x="{x}" y="{y}" textLength="{_length(panel.columns * w)}">{content}</text>'


def _arrow(points: tuple[tuple[float, float], ...], text: str) -> list[str]:
    """A line with its head, and a text at the middle of its longest part."""
    (x0, y0), (x1, y1) = points[-2:]
    far = math.hypot(x1 - x0, y1 - y0) or 1.0
    dx, dy = (x1 - x0) / far, (y1 - y0) / far
    head = ((x1, y1), (x1 - 9 * dx - 4 * dy, y1 - 9 * dy + 4 * dx), (x1 - 9 * dx + 4 * dy, y1 - 9 * dy - 4 * dx))
    line, tip = ("L".join(f"{_length(x)} {_length(y)}" for x, y in ends) for ends in (points, head))
    body = [f'<path d="M{line}" class="k"/><path d="M{tip}z" class="a"/>']
    if text:
        (x0, y0), (x1, y1) = longest(points)
        body += [_text((x0 + x1) / 2, (y0 + y1) / 2 + 4, text, kind) for kind in ("w", "n")]
    return body
