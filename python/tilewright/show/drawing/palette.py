"""The colours of owners (threads, banks, modes, values), in pictures and on a terminal."""

from __future__ import annotations

from functools import cache

__all__ = ["FAMILY", "INK", "NOBODY", "SIZES", "fill", "thread_ansi", "thread_color"]

INK = "#777"  # of texts on the page: on white and on the grounds of dark themes its contrast is more than 4
FAMILY = "DejaVu Sans Mono,Menlo,Consolas,monospace"  # CairoSVG looks for the first one only
SIZES = {6: 9.966, 7: 11.627, 8: 13.288}  # by the width of a letter of it: CairoSVG rounds widths to whole pixels

# Paul Tol's "light" scheme: told apart with every kind of colour vision, and black text is readable on each.
_PALETTE = ("#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#99ddff", "#bbcc33", "#aaaa00")
_ANSI = (110, 209, 222, 79, 217, 117, 149, 142)  # the nearest of the 256 terminal colours
_TINTS = (0.0, 0.35, 0.6)  # towards white, one for each round through the palette
_FADED = 0.72
NOBODY, _GREY = "#cbd0d5", "#b4bac1"  # no white boxes on a dark page


@cache
def _mixed(hue: str, other: str, part: float) -> str:
    pairs = ((int(hue[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in pairs)


_COLORS = tuple(_mixed(hue, "#ffffff", tint) for tint in _TINTS for hue in _PALETTE)


def thread_color(thread: int) -> str:
    """The colour of a thread: eight hues, then the same ones lighter; it repeats after 24.

    >>> thread_color(0), thread_color(8), thread_color(24)
    ('#77aadd', '#a7c8e9', '#77aadd')
    """
    return _COLORS[thread % len(_COLORS)]


def fill(owner: int | None, faded: bool = False) -> str:
    """What a cell is filled with: the colour of its owner, light grey without one; greyish, or darker grey, if faded.

    >>> fill(0), fill(None), fill(None, faded=True), fill(0, faded=True)
    ('#77aadd', '#cbd0d5', '#b4bac1', '#b3c5d7')
    """
    if owner is None:
        return _GREY if faded else NOBODY
    return _mixed(thread_color(owner), NOBODY, _FADED) if faded else thread_color(owner)


def thread_ansi(thread: int, text: str) -> str:
    """The text, black on the colour of a thread, for a terminal with 256 colours."""
    return f"\x1b[38;5;16;48;5;{_ANSI[thread % len(_ANSI)]}m{text}\x1b[0m"
