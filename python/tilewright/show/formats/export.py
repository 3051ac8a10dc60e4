"""A picture as a file. resvg makes the PNG of the SVG."""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.show.formats.pdf import pdf

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Picture

__all__ = ["png", "save"]

LARGEST = 32767  # pixels, each way
# Of the first that is there are the letters where the first families that the SVG asks for are not.
MONOSPACE = (
    *("Liberation Mono", "Noto Sans Mono", "Ubuntu Mono", "Nimbus Mono PS", "FreeMono", "Courier New", "Courier"),
    *("Fira Mono", "Source Code Pro", "Roboto Mono", "JetBrains Mono", "Cascadia Mono"),
)
LETTER = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8">'
    '<text y="8" font-family="DejaVu Sans Mono,Menlo,Consolas,monospace">M</text></svg>'
)


def _resvg() -> Any:
    try:
        import resvg_py
    except ImportError as error:
        raise ImportError(
            f"png: resvg-py draws the picture, and cannot be imported ({error}); `pip install resvg-py`; .svg(), "
            ".html(), .tikz() and .pdf() do without"
        ) from error
    return resvg_py


@cache
def _monospace() -> str:
    """The family of letters that stands for what the SVG calls monospace; resvg leaves out what it has no font for."""
    draw = _resvg().svg_to_bytes
    blank = draw(svg_string=LETTER, skip_system_fonts=True)
    for family in MONOSPACE:
        if draw(svg_string=LETTER, monospace_family=family) != blank:
            return family
    raise OSError(
        "png: no font with letters of one width was found on this machine, and a picture without its texts says "
        "little; install one (Debian, Ubuntu: fonts-dejavu-core); .svg(), .html(), .tikz() and .pdf() need none"
    )


def png(picture: Picture, path: str | Path, scale: float = 2.0) -> None:
    """Write a picture as PNG. Raises OSError without a font, ImportError without resvg-py, ValueError for the scale."""
    if isinstance(scale, bool) or not isinstance(scale, (int, float)):
        raise TypeError(f"png: expected scale to be a number, not {scale!r}")
    if not 0 < scale < math.inf:
        raise ValueError(f"png: scale is positive, but got {scale}")
    svg = picture.svg()
    width, height = (float(x) for x in re.findall(r' (?:width|height)="([\d.]+)"', svg)[:2])
    least, most = 1 / min(width, height), LARGEST / max(width, height)
    if not least <= scale <= most:
        raise ValueError(
            f"png: scale = {scale} makes a picture of {width * scale:.4g} x {height * scale:.4g} pixels; there is room "
            f"for 1 to {LARGEST} each way, so scale is {least:.3g} to {most:.3g}"
        )
    family = _monospace()
    Path(path).write_bytes(_resvg().svg_to_bytes(svg_string=svg, zoom=scale, monospace_family=family))


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
