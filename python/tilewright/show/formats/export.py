"""A picture as a file. resvg makes the PNG of the SVG."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilewright.show.drawing.measure import measure
from tilewright.show.formats.pdf import pdf

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Picture

__all__ = ["png", "save"]

LARGEST = 32767  # pixels, each way
# Of the first that is there are the letters where the first families that the SVG asks for are not.
MONOSPACE = ("Liberation Mono", "Noto Sans Mono", "Ubuntu Mono", "Nimbus Mono PS", "FreeMono", "Courier New", "Courier")
LETTER = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8">'
    '<text y="8" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace">M</text></svg>'
)


@cache
def _monospace() -> str:
    """The family of letters that stands for what the SVG calls monospace; resvg leaves out what it has no font for."""
    import resvg_py

    blank = resvg_py.svg_to_bytes(svg_string=LETTER, skip_system_fonts=True)
    for family in MONOSPACE:
        if resvg_py.svg_to_bytes(svg_string=LETTER, monospace_family=family) != blank:
            return family
    raise OSError(
        "png: no font with letters of one width was found on this machine, and a picture without its texts says "
        "little; install one (Debian, Ubuntu: fonts-dejavu-core); .svg(), .html(), .tikz() and .pdf() need none"
    )


def png(picture: Picture, path: str | Path, scale: float = 2.0) -> None:
    """Write a picture as PNG. Raises OSError without a font, TypeError, ValueError for a scale that is none."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        raise TypeError(f"png: expected scale to be a number, not {scale!r}")
    if not 0 < scale < math.inf:
        raise ValueError(f"png: scale is positive, but got {scale}")
    sheet = measure(picture)
    if max(sheet.width, sheet.height) * scale > LARGEST:
        raise ValueError(
            f"png: scale = {scale} makes a picture of {sheet.width * scale:.4g} x {sheet.height * scale:.4g} pixels; "
            f"there is room for {LARGEST} each way, so scale is at most {LARGEST / max(sheet.width, sheet.height):.3g}"
        )
    import resvg_py

    made = resvg_py.svg_to_bytes(svg_string=picture.svg(), zoom=scale, monospace_family=_monospace())
    Path(path).write_bytes(made)


def save(picture: Picture, path: str | Path) -> None:
    """Write a picture in the format that the path's ending names.

    Raises ValueError for an ending that is none of .svg, .html, .txt, .tex, .png and .pdf.
    """
    path = Path(path)
    texts = {
        ".svg": picture.svg,
        ".html": picture.html,
        ".txt": lambda: picture.text(color=False) + "\n",
        ".tex": picture.tikz,
    }
    ending = path.suffix.lower()
    if ending in texts:
        path.write_text(texts[ending](), encoding="utf-8", newline="\n")
    elif ending == ".png":
        png(picture, path)
    elif ending == ".pdf":
        path.write_bytes(pdf(picture.svg()))
    else:
        raise ValueError(
            f"save: expected a path ending in .svg, .html, .txt, .tex, .png or .pdf, but got {str(path)!r}"
        )
