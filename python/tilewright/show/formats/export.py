"""A picture as a file; PNG and PDF are made of the SVG by cairosvg, which is an extra."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.show.drawing.measure import measure

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Picture

__all__ = ["pdf", "png", "save"]

LARGEST = 32767  # pixels that cairo draws


def _cairosvg(kind: str) -> Any:
    try:
        import cairosvg
    except (ImportError, OSError) as error:  # OSError: the package is there, the library cairo is not
        raise ImportError(
            f"{kind}: a picture becomes {kind.upper()} by cairosvg, which cannot be imported ({error}); install it "
            "(`pip install cairosvg`) and the library cairo; .svg(), .html() and .tikz() need neither"
        ) from error
    return cairosvg


def png(picture: Picture, path: str | Path, scale: float = 2.0) -> None:
    """Write a picture as PNG. Raises ImportError without cairosvg, TypeError, ValueError for a scale that is none."""
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
    Path(path).write_bytes(_cairosvg("png").svg2png(bytestring=picture.svg().encode(), scale=scale))


def pdf(picture: Picture, path: str | Path) -> None:
    """Write a picture as PDF. Raises ImportError without cairosvg."""
    Path(path).write_bytes(_cairosvg("pdf").svg2pdf(bytestring=picture.svg().encode()))


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
        pdf(picture, path)
    else:
        raise ValueError(
            f"save: expected a path ending in .svg, .html, .txt, .tex, .png or .pdf, but got {str(path)!r}"
        )
