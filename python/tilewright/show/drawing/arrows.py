"""How an arrow leads from cell to cell: over no text, not along the lines between cells, and through no other panel.

Inside of its two panels an arrow keeps to lanes of its cells' row and column, between the texts and the lines.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise, product
from typing import TYPE_CHECKING

from tilewright.show.drawing.measure import BOLD, HEADING, MARGIN, NOTE, PLAIN, SMALL, SUBTITLE, heading_height

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.show.drawing.measure import Box, Sheet
    from tilewright.show.drawing.picture import Link

__all__ = ["Points", "Rect", "arrow", "cells_of", "label_place", "texts_of"]

OUT = 8.0  # pixels from a panel to an arrow along its side
TURN = 40.0  # pixels of a detour that is as bad as another corner
INSIDE = 3.0  # how much worse than outside a way is between cells
CLEAR = 2.0  # pixels between an arrow's middle and a text
WIDTHS = {"t": BOLD, "h": BOLD, "u": PLAIN, "n": PLAIN}  # of a letter, by the kind of a text

Point = tuple[float, float]
Points = tuple[Point, ...]
Rect = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def texts_of(sheet: Sheet) -> Iterator[Rect]:
    """Where the texts of a picture are, but those in cells.

    >>> from tilewright.show import Panel, Picture, below
    >>> from tilewright.show.drawing.measure import measure
    >>> list(texts_of(measure(Picture("ab", below(Panel("", "", 0, 0, ()))))))
    [(16.0, 15.0, 32.0, 29.0)]
    """

    def line(x: float, y: float, text: str, kind: str) -> Rect:
        return x, y - 11, x + WIDTHS[kind] * len(text), y + 3

    for i, text in enumerate(sheet.title):
        yield line(MARGIN, MARGIN + 10 + 22 * i, text, "t")
    for i, text in enumerate(sheet.notes):
        yield line(MARGIN, sheet.notes_y + 10 + NOTE * i, text, "u")
    for box in sheet.boxes:
        for i, text in enumerate(box.title):
            yield line(box.x, box.y + 13 + HEADING * i, text, "h")
        below = box.y + heading_height(box.title)
        for i, text in enumerate(box.subtitle):
            yield line(box.x, below + 11 + SUBTITLE * i, text, "u")
        for x, y, entry in box.legend:
            yield x, y, x + 20 + len(entry.text) * SMALL, y + 12
        for axis, across in ((box.panel.column_axis, True), (box.panel.row_axis, False)):
            begin, size = (box.left, box.cell[0]) if across else (box.top, box.cell[1])
            for place, level in zip(box.levels(axis, across), axis, strict=True):
                at = 0
                for label in level:
                    middle = begin + (at + label.span / 2) * size
                    x, y = (middle, place - 2) if across else (place, middle)
                    half = len(label.text) * SMALL / 2
                    if label.text:
                        yield x - half, y - 5, x + half, y + 5
                    at += label.span


def cells_of(box: Box) -> Rect:
    """Where the cells of a panel are."""
    w, h = box.cell
    return box.left, box.top, box.left + box.panel.columns * w, box.top + box.panel.rows * h


class _Field:
    """The lines that an arrow may follow, and where it may not: the closed parts of each line."""

    def __init__(self, sheet: Sheet, ends: list[tuple[int, int, int]]) -> None:
        self.xs, self.ys = {MARGIN / 2, sheet.width - MARGIN / 2}, {sheet.height - MARGIN / 2}
        self.cells: list[tuple[list[float], list[float], Rect]] = []  # of the two ends: lanes down, lanes across, sides
        for i, row, column in ends:
            box = sheet.boxes[i]
            w, h = box.cell
            left, top = box.left + column * w, box.top + row * h
            a, b = (2.0, 2.2) if sheet.dense else (2.8, 3.5)
            self.cells.append(([left + a, left + w - a], [top + b, top + h - b], (left, top, left + w, top + h)))
            self.xs |= {left, left + w, left + a, left + w - a}
            self.ys |= {top, top + h, top + b, top + h - b}
        closed = [(a - CLEAR, b - CLEAR, c + CLEAR, d + CLEAR) for a, b, c, d in texts_of(sheet)]
        for box in sheet.boxes:
            left, _, right, bottom = cells_of(box)
            self.xs |= {box.x - OUT, right + OUT}
            self.ys |= {box.y - OUT, bottom + OUT, max([bottom, *(y + 12 for _, y, _ in box.legend)]) + OUT}
        closed += [(a + 0.1, b + 0.1, c - 0.1, d - 0.1) for _, _, (a, b, c, d) in self.cells]
        self.closed: dict[tuple[bool, float], list[Point]] = {}
        self.areas = [cells_of(box) for box in sheet.boxes]
        for across, lines in ((True, self.ys), (False, self.xs)):
            for line in lines:
                i = int(across)  # many texts: no calls
                parts = [(rect[1 - i], rect[3 - i]) for rect in closed if rect[i] <= line <= rect[i + 2]]
                for panel, area in enumerate(self.areas):
                    own = [n for n, (j, _, _) in enumerate(ends) if j == panel]
                    if _meets(area, across, line) and not any(line in self.cells[n][across] for n in own):
                        parts.append(_part(area, across))
                self.closed[across, line] = parts

    def free(self, a: Point, b: Point) -> bool:
        across = a[1] == b[1]
        low, high = sorted((a[not across], b[not across]))
        return all(high <= start or end <= low for start, end in self.closed[across, a[across]])

    def inside(self, a: Point, b: Point) -> bool:
        x, y = (a[0] + b[0]) / 2, (a[1] + b[1]) / 2
        return any(left < x < right and top < y < bottom for left, top, right, bottom in self.areas)

    def doors(self, end: int) -> Iterator[tuple[Point, Point]]:
        """Points on the sides of a cell, in a lane, with the direction that leads out of it."""
        down, across, (left, top, right, bottom) = self.cells[end]
        for y in across:
            yield (right, y), (1, 0)
            yield (left, y), (-1, 0)
        for x in down:
            yield (x, bottom), (0, 1)
            yield (x, top), (0, -1)


def _meets(rect: Rect, across: bool, line: float) -> bool:
    return rect[across] <= line <= rect[2 + across]


def _part(rect: Rect, across: bool) -> Point:
    return rect[not across], rect[2 + (not across)]


def arrow(sheet: Sheet, link: Link) -> Points:
    """The corners of an arrow's line: of all that may be, the one that is short and has few corners.

    >>> from tilewright.show import Cell, Link, Panel, Picture, beside
    >>> from tilewright.show.drawing.measure import measure
    >>> panel = Panel("", "", 1, 2, (Cell(0, 0), Cell(0, 1)))
    >>> len(arrow(measure(Picture("", beside(panel, panel))), Link((0, 0, 1), (1, 0, 0))))
    2
    """
    field = _Field(sheet, [link.start, link.end])
    xs, ys = sorted(field.xs), sorted(field.ys)
    column, row = {x: i for i, x in enumerate(xs)}, {y: i for i, y in enumerate(ys)}
    goals = {(point, (-dx, -dy)) for point, (dx, dy) in field.doors(1)}
    State = tuple[Point, Point]
    heap: list[tuple[float, State]] = [(0.0, door) for door in field.doors(0)]
    costs: dict[State, float] = {state: 0.0 for _, state in heap}
    came: dict[State, State] = {}
    while heap:
        cost, state = heappop(heap)
        if cost > costs[state]:
            continue
        if state in goals:
            return _corners(state, came)
        point, way = state
        steps = (way,) if state not in came else ((1, 0), (-1, 0), (0, 1), (0, -1))
        for step in steps:
            i, j = column[point[0]] + int(step[0]), row[point[1]] + int(step[1])
            if step == (-way[0], -way[1]) or not (0 <= i < len(xs) and 0 <= j < len(ys)):
                continue
            to = (xs[i], ys[j])
            if not field.free(point, to):
                continue
            far = abs(to[0] - point[0]) + abs(to[1] - point[1])
            more = far * (INSIDE if field.inside(point, to) else 1) + (0 if step == way else TURN)
            if cost + more < costs.get((to, step), float("inf")):
                costs[to, step] = cost + more
                came[to, step] = state
                heappush(heap, (cost + more, (to, step)))
    (a, b), (c, d) = (sheet.boxes[i].middle(y, x) for i, y, x in (link.start, link.end))
    return (a, b), (c, d)  # there is no way: of a cell to itself, and where texts fill all room


def _corners(state: tuple[Point, Point], came: dict[tuple[Point, Point], tuple[Point, Point]]) -> Points:
    points = [state[0]]
    while state in came:
        before = came[state]
        if before[1] != state[1] or before not in came:
            points.append(before[0])
        state = before
    return tuple(points[::-1])


def label_place(sheet: Sheet, points: Points, text: str) -> Point:
    """The middle of an arrow's text: on a long part of it, over no other text and no cell as far as there is room."""
    half = len(text) * WIDTHS["n"] / 2 + 2
    taken = [*texts_of(sheet), *map(cells_of, sheet.boxes)] if text else []
    parts = sorted(pairwise(points), key=lambda ends: -abs(ends[1][0] - ends[0][0]) - abs(ends[1][1] - ends[0][1]))
    for ((x0, y0), (x1, y1)), n in product(parts, range(1, 20)):
        at = 0.5 + (n // 2) * (-1) ** n / 20  # from the middle on to both sides
        x, y = x0 + (x1 - x0) * at, y0 + (y1 - y0) * at
        if all(x + half <= a or c <= x - half or y + 7 <= b or d <= y - 7 for a, b, c, d in taken):
            return x, y
    (x0, y0), (x1, y1) = parts[0]
    return (x0 + x1) / 2, (y0 + y1) / 2
