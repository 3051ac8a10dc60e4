"""What the tests of the articles have in common: layouts as C++ has them, and tables as it prints them."""

from __future__ import annotations

from tilewright import Int32, cute
from tilewright.cute.text import printing

L = cute.parse


def dynamic(text):
    """The layout with every integer dynamic, as in C++ `make_shape(6, 2)`."""
    layout = L(text)
    shape, stride = (cute.transform_leaf(Int32, x) for x in (layout.shape, layout.stride))
    return cute.make_layout(shape, stride=stride)


def offsets(layout):
    return layout.offsets().tolist()


def grid(text):
    """The offsets in the table of print_layout, row by row."""
    rows = printing.format_layout(L(text) if isinstance(text, str) else text).splitlines()[3::2]
    return [[int(cell) for cell in row.split("|")[1:-1]] for row in rows]
