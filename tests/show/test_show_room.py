"""Texts and arrows have the room they need: no caption is cut, no label meets another, no arrow goes round a panel."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from test_show_arrows import overlap, traced
from tilewright import _core, cute
from tilewright.show.drawing.measure import measure

BOLD, PLAIN = 8.0, 7.0  # pixels of a letter of a title, and of the lines below it


def way(points):
    return sum(abs(x1 - x0) + abs(y1 - y0) for (x0, y0), (x1, y1) in pairwise(points))


def heading_width(box):
    """Of what a panel says above its cells; where that is above the cell, an arrow has to go round it."""
    lines = [(BOLD, box.title), (PLAIN, box.subtitle)]
    return max((letter * len(line) for letter, lines in lines for line in lines), default=0.0)


def swizzled(rows, columns, swizzle):
    text = f"{swizzle} o 0 o ({rows},{columns}):({columns},1)"
    for at in range(0, rows * columns, 17):
        yield cute.show(text, at=at)


@pytest.mark.parametrize(
    ("rows", "columns", "swizzle"),
    [(32, 32, "S<5,0,5>"), (32, 32, "S<2,0,3>"), (16, 64, "S<3,3,3>"), (64, 12, "S<2,0,3>")],
)
def test_an_arrow_between_many_cells_goes_round_no_panel(rows, columns, swizzle):
    for picture in swizzled(rows, columns, swizzle):
        assert sum(len(placed.panel.cells) for placed in picture.panels) > 1200  # small ones
        check_ways(picture)


def test_an_arrow_between_few_cells_goes_round_no_panel():
    for picture in traced():
        check_ways(picture)


def check_ways(picture):
    """No arrow is longer than the straight way by more than twice what stands above the cells that it leads to."""
    sheet = measure(picture)
    for link, (points, _) in zip(picture.links, _core.picture.arrows(picture), strict=True):
        (x0, y0), (x1, y1) = (sheet.boxes[i].middle(row, column) for i, row, column in (link.start, link.end))
        straight = abs(x1 - x0) + abs(y1 - y0)
        detour = 2 * max(heading_width(sheet.boxes[i]) for i in (link.start[0], link.end[0]))
        assert way(points) <= straight + detour, (picture.title, link, points)


@pytest.mark.parametrize("layout", ["(12,128):(0,0)", "(64,128):(0,0)", "(2,(10,12)):(0,(0,0))"])
def test_labels_of_columns_do_not_meet(layout):
    """The number of a column may have more letters than its cells."""
    picture = cute.show(layout)
    rects = _core.picture.texts(picture)
    assert len(rects) > 64
    assert not [pair for pair in combinations(rects, 2) if overlap(*pair)]


@pytest.mark.parametrize("says", ["", "f16"])
def test_what_is_said_of_a_matrix_begins_with_itself(says):
    owners = {i: [(i, 0)] for i in range(8)}
    (placed,) = _core.picture.matrices((1, 4, 2), [("B", says, owners, 0)], None, None).panels
    assert placed.panel.subtitle == (f"{says}; " if says else "") + "K runs down, N across"
