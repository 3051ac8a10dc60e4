"""A few SVG elements with deterministic text."""

from __future__ import annotations

from tilewright.show.drawing.palette import FAMILY, INK, SIZES

__all__ = ["Svg"]


def _escape(text: str) -> str:
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text


def _length(x: float) -> str:
    return f"{x:.1f}".removesuffix(".0")


class Svg:
    """A picture without a ground: its texts outside of cells have a mid-tone that reads on light and on dark pages."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._body: list[str] = []

    def text(self, x: float, y: float, text: str, kind: str = "") -> None:
        """Text in the middle of (x, y), or to the right of it, as its kind, a class of the style sheet, says."""
        css = f' class="{kind}"' if kind else ""
        self._body.append(f'<text x="{_length(x)}" y="{_length(y + 4)}"{css}>{_escape(text)}</text>')

    def heading(self, x: float, y: float, title: str, subtitle: str) -> float:
        """A title with a line below it; the x where the longer one ends."""
        self.text(x, y, title, "h")
        self.text(x, y + 17, subtitle, "u")
        return x + max(8.0 * len(title), 7.0 * len(subtitle))

    def cell(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str,
        lines: list[tuple[float, str, str]],
        title: str,
        kind: str = "",
    ) -> None:
        """A rectangle with lines of text (height of the line, text, class) and a title that shows on hover."""
        css = f' class="{kind}"' if kind else ""
        self._body.append(
            f'<g><title>{_escape(title)}</title><rect x="{_length(x)}" y="{_length(y)}" width="{_length(width)}" '
            f'height="{_length(height)}" fill="{fill}"{css}/>'
        )
        for dy, text, text_kind in lines:
            self.text(x + width / 2, y + dy, text, text_kind)
        self._body.append("</g>")

    def render(self, width: float, height: float) -> str:
        w, h = _length(width), _length(height)
        rules = (
            f"text{{font-family:{FAMILY};font-size:{SIZES[7]}px;fill:#111;text-anchor:middle}}",
            f".s{{font-size:{SIZES[6]}px}}",
            f".c{{font-size:{SIZES[6]}px;text-anchor:start;white-space:pre}}",
            f".g{{font-size:{SIZES[6]}px;fill:{INK}}}",
            f".u{{text-anchor:start;font-size:{SIZES[7]}px;fill:{INK}}}",
            f".h{{text-anchor:start;font-size:{SIZES[8]}px;font-weight:bold;fill:{INK}}}",
            "rect{stroke:#444;stroke-width:1}",
            "[fill=none]{pointer-events:all;stroke:#777}",  # it says something when it is pointed at
            ".n{stroke-dasharray:3 2}",
            ".r{stroke-width:2.5}",
        )
        style = "".join(f".tilewright {rule}" for rule in rules)  # a notebook applies it to the whole page
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" '
                'class="tilewright" role="img">',
                f"<title>{_escape(self._title)}</title>",
                f"<style>{style}</style>",
                *self._body,
                "</svg>",
                "",
            ]
        )
