"""A picture as a file; PNG and PDF are made of the SVG by cairosvg, which is an extra."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.show.picture import Picture

__all__ = ["pdf", "png", "save"]


def _cairosvg(kind: str) -> Any:
    try:
        import cairosvg
    except (ImportError, OSError) as error:  # OSError: the package is there, the library cairo is not
        raise ImportError(
            f"{kind}: a picture becomes {kind.upper()} by cairosvg, which cannot be imported ({error}); install it, as "
            "tilewright[pictures] does, with the library cairo; .svg(), .html() and .tikz() need neither"
        ) from error
    return cairosvg


def _drawn(picture: Picture) -> bytes:
    from tilewright.show.svg import svg

    return svg(picture, plain=True).encode()


def png(picture: Picture, path: str | Path, scale: float = 2.0) -> None:
    """Write a picture as PNG. Raises ImportError without cairosvg, ValueError for a scale that is not positive."""
    if scale <= 0:
        raise ValueError(f"png: scale is positive, but got {scale}")
    _cairosvg("png").svg2png(bytestring=_drawn(picture), write_to=str(path), scale=scale)


def pdf(picture: Picture, path: str | Path) -> None:
    """Write a picture as PDF. Raises ImportError without cairosvg."""
    _cairosvg("pdf").svg2pdf(bytestring=_drawn(picture), write_to=str(path))


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
