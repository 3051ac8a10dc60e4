"""A picture as a PDF of one page, written from its SVG: what stands in that, and no more, is known here.

A pixel of the SVG, of which 96 make an inch, is the unit. Letters are those of Courier, which every reader of PDF has,
stretched to the width that the SVG's font has. Source: ISO 32000-1, 8 (graphics) and 9.6.2 (standard fonts).
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["pdf"]

Style = dict[str, str]

POINTS = 0.75  # of a pixel
LARGEST = 14_400  # points of a page, each way, that every reader takes: Annex C
ADVANCE = 1233 / 2048  # of a letter of DejaVu Sans Mono, in its size; Courier's is 0.6
STRETCH = 100 * ADVANCE / 0.6
SVG = "{http://www.w3.org/2000/svg}"
ALPHA = "stroke-opacity"


def pdf(svg: str) -> bytes:
    """The PDF of a picture's SVG; letters that Windows-1252 lacks become question marks, a larger page is made smaller.

    >>> from tilewright import cute
    >>> made = pdf(cute.show("(2,2):(1,2)").svg())
    >>> made[:8], b"/MediaBox [0 0 239.25 107.25]" in made, made == pdf(cute.show("(2,2):(1,2)").svg())
    (b'%PDF-1.4', True, True)
    """
    root = ElementTree.fromstring(svg)
    pixels = [float(root.attrib[name]) for name in ("width", "height")]
    points = min(POINTS, LARGEST / max(pixels))
    width, height = (x * points for x in pixels)
    classes = _classes(root.findtext(f"{SVG}style") or "")
    alphas: dict[str, str] = {}
    lines = [f"{points:.6g} 0 0 {-points:.6g} 0 {_number(height)} cm 4 M"]  # SVG's limit of mitres
    for element in root:
        lines += _drawn(element, classes, {}, alphas)
    content = zlib.compress("\n".join(lines).encode("cp1252", "replace"), 9)
    states = "".join(f" /{name} << /CA {alpha} >>" for alpha, name in alphas.items())
    fonts = " ".join(
        f"/{name} << /Type /Font /Subtype /Type1 /BaseFont /{font} /Encoding /WinAnsiEncoding >>"
        for name, font in (("F", "Courier"), ("B", "Courier-Bold"))
    )
    return _file(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {_number(width)} {_number(height)}] /Contents 4 0 R "
        f"/Resources << /Font << {fonts} >> /ExtGState <<{states} >> >> >>".encode(),
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(content), content),
        f"<< /Title ({_escaped(root.findtext(f'{SVG}title') or '')}) >>".encode("cp1252", "replace"),
    )


def _file(*objects: bytes) -> bytes:
    """The objects, of which the first is the catalogue and the last says what it is, with the table of their places."""
    made, places = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n", []
    for i, content in enumerate(objects):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (i + 1, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects)
    end = b"trailer\n<< /Size %d /Root 1 0 R /Info %d 0 R >>\n" % (count + 1, count)
    end += b"startxref\n%d\n%%%%EOF\n" % len(made)
    return made + b"xref\n0 %d\n0000000000 65535 f \n" % (count + 1) + table + end


def _number(x: float) -> str:
    return f"{x:.3f}".rstrip("0").rstrip(".")


def _escaped(text: str) -> str:
    return re.sub(r"([\\()])", r"\\\1", text)


def _classes(sheet: str) -> dict[str, Style]:
    """The rules of a style sheet: `.tw-show text{..}` is of all texts, `.tw-show .s{..}` of those of class s."""
    return {
        name: dict(each.split(":", 1) for each in rules.split(";") if each)
        for name, rules in re.findall(r"\.tw-show (\.?[a-z]+)\{([^}]*)\}", sheet)
    }


def _drawn(
    element: ElementTree.Element, classes: Mapping[str, Style], around: Style, alphas: dict[str, str]
) -> Iterator[str]:
    """What draws an element."""
    kind = element.tag.removeprefix(SVG)
    if kind in ("title", "style"):
        return
    style = around | element.attrib  # an attribute yields to the style sheet
    style |= classes.get(kind, {})
    for name in element.attrib.get("class", "").split():
        style |= classes.get(f".{name}", {})
    if kind == "g":
        moved = re.fullmatch(r"translate\((\S+) (\S+)\) scale\((\S+) (\S+)\)", element.attrib.get("transform", ""))
        yield "q"
        if moved:
            x, y, w, h = moved.groups()
            yield f"{w} 0 0 {h} {x} {y} cm"
        inherited = {name: style[name] for name in ("fill",) if name in style}
        for child in element:
            yield from _drawn(child, classes, inherited, alphas)
        yield "Q"
    elif kind == "text":
        yield from _text(element, style)
    elif kind in ("rect", "path"):
        yield from _shape(element, kind, style, alphas)
    else:
        raise ValueError(f"pdf: a picture has no element <{kind}>")


def _color(color: str) -> str:
    digits = color[1:] if len(color) == 7 else "".join(2 * x for x in color[1:])
    return " ".join(_number(x / 255) for x in bytes.fromhex(digits))


def _shape(element: ElementTree.Element, kind: str, style: Style, alphas: dict[str, str]) -> Iterator[str]:
    stroke = style.get("stroke", "none")
    fill = style.get("fill", "#000" if stroke == "none" else "none")  # a line has no inside to be filled
    yield "q"
    if fill != "none":
        yield f"{_color(fill)} rg"
    if stroke != "none":
        yield f"{_color(stroke)} RG {style.get('stroke-width', '1').removesuffix('px')} w"
        if ALPHA in style:
            yield f"/{alphas.setdefault(style[ALPHA], f'A{len(alphas)}')} gs"
        if "stroke-dasharray" in style:
            yield f"[{style['stroke-dasharray'].replace(',', ' ')}] 0 d"
        if style.get("stroke-linejoin") == "round":
            yield "1 j"
    if kind == "rect":
        yield " ".join(element.attrib[name] for name in ("x", "y", "width", "height")) + " re"
    else:
        yield from _path(element.attrib["d"])
    yield {(True, True): "B", (True, False): "f", (False, True): "S", (False, False): "n"}[
        fill != "none", stroke != "none"
    ]
    yield "Q"


def _path(path: str) -> Iterator[str]:
    """The lines of a path; PDF knows places only, and no steps."""
    x = y = 0.0
    start = x, y
    for command, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", path):
        step = [float(each) for each in re.findall(r"-?[\d.]+", numbers)]
        if command in "zZ":
            x, y = start
            yield "h"
            continue
        if command in "ML":
            x, y = step
        elif command == "m":
            x, y = x + step[0], y + step[1]
        elif command == "h":
            x += step[0]
        elif command == "v":
            y += step[0]
        else:
            raise ValueError(f"pdf: a picture has no path of {command}")
        if command in "Mm":
            start = x, y
        yield f"{_number(x)} {_number(y)} {'m' if command in 'Mm' else 'l'}"


def _text(element: ElementTree.Element, style: Style) -> Iterator[str]:
    size = float(style["font-size"].removesuffix("px"))
    bold = style.get("font-weight") == "bold"
    outline = style.get("stroke", "none") != "none"
    if outline:  # of a text that makes the ground of another, and is not to be found beside it
        yield "/Span << /ActualText () >> BDC"
    yield f"BT /{'B' if bold else 'F'} {size} Tf {_color(style['fill'])} rg"
    if outline:
        yield f"{_color(style['stroke'])} RG {style['stroke-width']} w 2 Tr"
    pieces: list[tuple[str, str]] = [(element.attrib["x"], element.text or "")]
    for span in element:
        pieces.append((span.attrib["x"], span.text or ""))
    for at, text in pieces:
        if not text:
            continue
        natural = len(text) * ADVANCE * size
        stretch = STRETCH * float(style["textLength"]) / natural if "textLength" in style else STRETCH
        x = float(at) - (natural / 2 if style.get("text-anchor") == "middle" else 0)
        yield f"{_number(stretch)} Tz 1 0 0 -1 {_number(x)} {style['y']} Tm ({_escaped(text)}) Tj"
    yield "ET 0 Tr EMC" if outline else "ET"
