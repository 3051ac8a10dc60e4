"""The colours of owners (threads, banks, modes, values) on a terminal; those of pictures are the compiled core's."""

from __future__ import annotations

from tilewright import _core

__all__ = ["fill", "thread_ansi", "thread_color"]

fill, thread_color = _core.picture.fill, _core.picture.thread_color

_ANSI = (110, 209, 222, 79, 217, 117, 149, 142)  # of the 256 terminal colours those nearest to the hues of threads


def thread_ansi(thread: int, text: str) -> str:
    """The text, black on the colour of a thread, for a terminal with 256 colours."""
    return f"\x1b[38;5;16;48;5;{_ANSI[thread % len(_ANSI)]}m{text}\x1b[0m"
