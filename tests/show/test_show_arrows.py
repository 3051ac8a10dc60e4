"""Arrows of traced coordinates: no text lies under one, none runs along the lines between cells or through others."""

from __future__ import annotations

from itertools import pairwise

import pytest

from test_show_backends import PICTURES
from tilewright import _core, cute
from tilewright.show.drawing.measure import measure

P = cute.parse
OPERATIONS = [
    *[(cute.composition, P(a), P(b)) for a, b in [("(6,2):(8,2)", "(4,3):(3,1)"), ("20:2", "(5,4):(4,1)")]],
    *[(cute.composition, P("((2,2),(2,2)):((1,4),(2,8))"), P(b)) for b in ("16:1", "(4,4):(4,1)", "(2,8):(8,1)")],
    (cute.composition, P("(64,64):(64,1)"), P("(64,64):(1,64)")),
    *[(cute.coalesce, P(a)) for a in ("(2,(1,6)):(1,(6,2))", "(2,4,3):(1,2,8)")],
    *[(cute.complement, P(a), n) for a, n in [("4:2", 24), ("(2,2):(1,6)", 24)]],
    *[(f, P("(8,(2,3)):(6,(1,2))"), (P("4:2"), 3)) for f in (cute.logical_divide, cute.zipped_divide)],
    *[
        (f, P("(2,2):(2,1)"), P("(3,2):(2,1)"))
        for f in (cute.logical_product, cute.blocked_product, cute.raked_product)
    ],
]


def traced():
    """Pictures of operations with each of some coordinates marked, as far as they take one, and of all else."""
    found = [make() for make in PICTURES.values()]
    for operation, *operands in OPERATIONS:
        found.append(cute.show(operation, *operands))
        for at in range(0, 24, 5):
            try:
                found.append(cute.show(operation, *operands, at=at))
            except (TypeError, ValueError, cute.LayoutError):
                break
    tv = P("((2,2),(2,3)):((2,12),(1,4))")
    found += [cute.show(tv, tile=(4, 6), at=(thread, value)) for thread in range(4) for value in range(6)]
    return [picture for picture in found if picture.links]


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def cells_of(box):
    """Where the cells of a panel are."""
    w, h = box.cell
    return box.left, box.top, box.left + box.panel.columns * w, box.top + box.panel.rows * h


def texts_in_cells(box):
    """Where the letters in the cells are, a pixel less on each side."""
    for cell in box.panel.cells:
        x, y = box.middle(cell.row, cell.column)
        n = len(cell.lines)
        dense = box.cell[1] <= 4 + 12 * max(n, 1)
        for i, line in enumerate(cell.lines):
            if line:
                size = 10 if dense or i else 12
                half = len(line) * 0.602 * size / 2 - 1
                base = y + 4 + (-6 * (n - 1) + 12 * i if dense else -7 * (n - 1) + 14 * i)
                yield x - half, base - 0.73 * size + 1, x + half, base - 0.5


def test_arrows_cover_no_text_and_no_line():
    count = 0
    for picture in traced():
        sheet = measure(picture)
        texts = [*_core.picture.texts(picture), *(rect for box in sheet.boxes for rect in texts_in_cells(box))]
        for link, (points, place) in zip(picture.links, _core.picture.arrows(picture), strict=True):
            if link.start == link.end:
                continue
            count += 1
            ends = {link.start[0], link.end[0]}
            for (x0, y0), (x1, y1) in pairwise(points):
                assert x0 == x1 or y0 == y1, (picture.title, points)
                part = (min(x0, x1) - 0.7, min(y0, y1) - 0.7, max(x0, x1) + 0.7, max(y0, y1) + 0.7)
                assert not [rect for rect in texts if overlap(part, rect)], (picture.title, points)
                for i, box in enumerate(sheet.boxes):
                    left, top, _, _ = area = cells_of(box)
                    assert i in ends or not overlap(part, area), (picture.title, points)
                    if overlap(part, area):
                        at, size = (y0 - top, box.cell[1]) if y0 == y1 else (x0 - left, box.cell[0])
                        assert 1.5 <= at % size <= size - 1.5, (picture.title, points)
            if link.text:
                x, y = place
                half = len(link.text) * 3.3
                room = (x - half, y - 5, x + half, y + 5)
                assert not [rect for rect in texts if overlap(room, rect)], (picture.title, link)
                assert not [box for box in sheet.boxes if overlap(room, cells_of(box))], (picture.title, link)
    assert count > 60


@pytest.mark.parametrize("at", [0, 7, 11])
def test_arrows_begin_and_end_at_their_cells(at):
    picture = cute.show(cute.composition, P("(6,2):(8,2)"), P("(4,3):(3,1)"), at=at)
    sheet = measure(picture)
    assert picture.links
    for link, (points, _) in zip(picture.links, _core.picture.arrows(picture), strict=True):
        for (i, row, column), (x, y) in zip((link.start, link.end), (points[0], points[-1]), strict=True):
            box = sheet.boxes[i]
            middle, (w, h) = box.middle(row, column), box.cell
            assert abs(x - middle[0]) <= w / 2 + 0.01
            assert abs(y - middle[1]) <= h / 2 + 0.01
