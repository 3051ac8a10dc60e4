"""The pictures of the articles that this project began with, one call each; docs/pictures.md shows them.

A function is named after what its picture shows and the number that docs/seeds.md gives the article: 000 and 003
"Thread Value Layouts in CuTe", 001 "Demystifying CuTe Layouts", 002 "Honey, I Tiled the Tensors", 004 "Bridging Math
and Code". 004 has no pictures; those here stand for its code blocks.
"""

from __future__ import annotations

from tilewright import _core
from tilewright.show.drawing.picture import Picture
from tilewright.show.registry import show

__all__ = [
    "a_001",
    "active_lanes_001",
    "array_000",
    "b_001",
    "bijection_004",
    "coalesce_004",
    "column_major_001",
    "complement_002",
    "complement_004",
    "composed_001",
    "composition_000",
    "composition_001",
    "divide_1d_002",
    "divide_2d_002",
    "first_indices_000",
    "interleaved_002",
    "layout_function_004",
    "plot_a_001",
    "plot_b_001",
    "plot_composed_001",
    "row_major_001",
    "sorted_004",
    "thread_layout_000",
    "thread_value_000",
    "value_layout_000",
]

parse = _core.parse
ELEMENTS = 24
TV = "((2,2),(2,3)):((2,12),(1,4))"


# ---- 000 and 003 -----------------------------------------------------------------------------------------------------


def array_000() -> Picture:
    """24 elements, coloured by the thread that has them; each has the thread and its value."""
    return show(parse(TV), tile=ELEMENTS)


def value_layout_000() -> Picture:
    """The elements of thread 0 as a matrix."""
    return show(parse("(2,3):(1,4)"))


def first_indices_000() -> Picture:
    """The first element of each thread in the array."""
    return show(parse("((2,2),1):((2,12),0)"), tile=ELEMENTS)


def thread_layout_000() -> Picture:
    """These first elements as a matrix."""
    return show(parse("(2,2):(2,12)"))


def thread_value_000() -> Picture:
    """The whole thread-value layout: a row for each thread, a column for each value."""
    return show(parse(TV), color="mode")


def composition_000() -> Picture:
    """From (thread, value) over the coordinate to the data."""
    return show("composition", parse("24:1"), parse(TV), at=(1, 5))


# ---- 001 -------------------------------------------------------------------------------------------------------------


def row_major_001() -> Picture:
    """The grid of (4,4):(4,1)."""
    return show(parse("(4,4):(4,1)"))


def column_major_001() -> Picture:
    """The grid of (4,4):(1,4)."""
    return show(parse("(4,4):(1,4)"))


def a_001() -> Picture:
    """The grid of A, Task 2."""
    return show(parse("(6,2):(8,2)"))


def b_001() -> Picture:
    """The grid of B, Task 2."""
    return show(parse("(4,3):(3,1)"))


def composed_001() -> Picture:
    """The grid of A o B as C++ prints it, where integers are dynamic; modes of extent 1 stay."""
    return show(parse("((2,2),(3,1)):((24,2),(8,2))"))


def composition_001() -> Picture:
    """A, B and A o B of Task 2, one coordinate followed through them."""
    return show("composition", parse("(6,2):(8,2)"), parse("(4,3):(3,1)"), at=(1, 2))


def plot_a_001() -> Picture:
    """The plot of layout A in part 3, where the article has other shapes."""
    return show(parse("(4,3):(3,1)"))


def plot_b_001() -> Picture:
    """The plot of layout B in part 3."""
    return show(parse("(6,2):(2,1)"))


def plot_composed_001() -> Picture:
    """The plot of the composed layout in part 3."""
    return show("composition", parse("(4,3):(3,1)"), parse("(6,2):(2,1)"))


def active_lanes_001() -> Picture:
    """20.5 of 32 lanes on average: what 41 elements give that two warps of 32 lanes cover, one lane for each."""
    return show("predication", 41, 32)


# ---- 002 -------------------------------------------------------------------------------------------------------------


def interleaved_002() -> Picture:
    """The interleaved layout."""
    return show(parse("((2,2),(2,2)):((1,4),(2,8))"))


def complement_002() -> Picture:
    """NVIDIA's picture of a complement: the layout in grey, its copies in colours."""
    return show("complement", parse("(2,2):(1,6)"), ELEMENTS)


def divide_1d_002() -> Picture:
    """12 elements in 3 tiles of 4."""
    return show("logical_divide", parse("12:1"), parse("4:1"))


def divide_2d_002() -> Picture:
    """A matrix (4,6) in tiles (2,3)."""
    return show("logical_divide", parse("(4,6):(1,4)"), (2, 3))


# ---- 004 -------------------------------------------------------------------------------------------------------------


def layout_function_004() -> Picture:
    """The layout function of (2,4):(2,2), its value at 3 marked."""
    return show(parse("(2,4):(2,2)"), at=3)


def sorted_004() -> Picture:
    """L1 and its sorted layout, which is another function: at 1 they differ."""
    first, second = (show(parse(text), at=1) for text in ("(2,2):(3,1)", "(2,2):(1,3)"))
    panels = [*first.panels, *(placed._replace(column=placed.column + 1) for placed in second.panels)]
    named = [
        placed._replace(panel=placed.panel._replace(title=name))
        for placed, name in zip(panels, ("L1 = (2,2):(3,1)", "sorted: (2,2):(1,3)"), strict=True)
    ]
    return Picture("a layout and the same one sorted", named, ["at 1 the one gives 3 and the other 1"])


def coalesce_004() -> Picture:
    """(2,1):(3,1) before and after coalesce."""
    return show("coalesce", parse("(2,1):(3,1)"))


def complement_004() -> Picture:
    """(2,4):(1,2) and its complement in 16; together they are the identity."""
    return show("complement", parse("(2,4):(1,2)"), 16)


def bijection_004() -> Picture:
    """8:2 and its complement in 32: a bijection that is not the identity."""
    return show("complement", parse("8:2"), 32)
