"""How an arrow leads from cell to cell: along the lines between cells, so that it covers no number."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.show.measure import Box, Sheet
    from tilewright.show.picture import Link

__all__ = ["Points", "arrow", "longest"]

OUT = 5.0  # pixels that an arrow goes out of a panel before it turns

Point = tuple[float, float]
Points = tuple[Point, ...]


def arrow(sheet: Sheet, link: Link) -> Points:
    """The corners of an arrow's line.

    >>> from tilewright.show import Cell, Link, Panel, Picture, beside
    >>> from tilewright.show.measure import measure
    >>> panel = Panel("", "", 1, 2, (Cell(0, 0), Cell(0, 1)))
    >>> len(arrow(measure(Picture("", beside(panel, panel))), Link((0, 0, 0), (1, 0, 1))))
    4
    """
    (i, *start), (j, *end) = link.start, link.end
    a, b = sheet.boxes[i], sheet.boxes[j]
    points = _between(a, (start[0], start[1]), b, (end[0], end[1]))
    if len(points) == 4 and points[0][1] == points[1][1]:
        points = _around([box for box in sheet.boxes if box is not a and box is not b], points)
    return points


def longest(points: Points) -> tuple[Point, Point]:
    """The longest part of a line, where there is room for a text."""
    return max(pairwise(points), key=lambda ends: math.dist(*ends))


def _edges(box: Box) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of a panel's cells."""
    w, h = box.cell
    return box.left, box.left + box.panel.columns * w, box.top, box.top + box.panel.rows * h


def _around(boxes: list[Box], points: Points) -> Points:
    """Below the panels that stand between the two."""
    start, (x0, y0), (x1, y1), end = points
    low, high = min(y0, y1), max(y0, y1)
    bottoms = []
    for box in boxes:
        left, right, _, bottom = _edges(box)
        bottom = max([bottom, *(y + 12 for _, y, _ in box.legend)])
        if min(x0, x1) < right and left < max(x0, x1) and box.y < high and low < bottom:
            bottoms.append(bottom)
    if not bottoms:
        return points
    under = max(bottoms) + OUT
    return start, (x0, y0), (x0, under), (x1, under), (x1, y1), end


def _between(a: Box, start: tuple[int, int], b: Box, end: tuple[int, int]) -> Points:
    left, right, top, bottom = _edges(a)
    left_b, right_b, top_b, bottom_b = _edges(b)
    (x0, y0), (x1, y1) = a.middle(*start), b.middle(*end)
    down, across = (y1 > y0) - (y1 < y0), (x1 > x0) - (x1 < x0)
    # On the sides of the two cells that face each other; level ones are joined along their upper sides.
    from_y, to_y = y0 + (down or -1) * a.cell[1] / 2, y1 - (down or 1) * b.cell[1] / 2
    from_x, to_x = x0 + (across or -1) * a.cell[0] / 2, x1 - (across or 1) * b.cell[0] / 2
    if left_b >= right:
        return (x0 + a.cell[0] / 2, from_y), (right + OUT, from_y), (b.x - OUT, to_y), (x1 - b.cell[0] / 2, to_y)
    if right_b <= left:
        return (x0 - a.cell[0] / 2, from_y), (a.x - OUT, from_y), (right_b + OUT, to_y), (x1 + b.cell[0] / 2, to_y)
    if top_b >= bottom:
        return (from_x, y0 + a.cell[1] / 2), (from_x, bottom + OUT), (to_x, b.y - OUT), (to_x, y1 - b.cell[1] / 2)
    if bottom_b <= top:
        return (from_x, y0 - a.cell[1] / 2), (from_x, a.y - OUT), (to_x, bottom_b + OUT), (to_x, y1 + b.cell[1] / 2)
    return (from_x, from_y), (to_x, to_y)
