"""Cells of a notebook by the names that IPython shows: their code lies in temporary files."""

from __future__ import annotations

import re
import sys

__all__ = ["cell_of", "with_cell_names"]

_PLACE = r"([^\s:'\"]+\.py|<ipython-input-[^>\s]+>):(\d+)"


def cell_of(file: str) -> str | None:
    """`Cell In[3]` for the file that IPython keeps a cell's code in; None for others."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = None if named is None else named(file)
    return None if found is None else " ".join(found)


def with_cell_names(text: str) -> str:
    """A text that has places in it, such as `file:line`, with those of cells as `Cell In[3], line 4`.

    >>> with_cell_names("kernel.py:3: race")
    'kernel.py:3: race'
    """
    if "IPython" not in sys.modules:
        return text
    return re.sub(_PLACE, _named, text)


def _named(place: re.Match[str]) -> str:
    cell = cell_of(place[1])
    return place[0] if cell is None else f"{cell}, line {place[2]}"
