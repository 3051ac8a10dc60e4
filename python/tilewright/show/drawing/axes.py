"""Axes: which rows or columns of a large panel are drawn, their labels level by level, the rules between tiles."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from tilewright import _core
from tilewright.show.drawing.picture import Axis, Label, Rule

__all__ = ["ELISION", "MOST", "Shown", "axis_of", "cut_note", "digits", "extents", "rules_of", "shown_of"]

MOST = 64  # a panel draws this many rows and columns
LARGEST = 512  # of them that may be asked for
ENDING = 8  # of them at the end of what is cut
ELISION = "…"

Shown = tuple["int | None", ...]
"""The indices that are drawn, in order; None stands for those that are left out."""


def shown_of(extent: int, most: int = MOST) -> Shown:
    """All indices, or, beyond `most`, the first ones, a gap, and the last ones. ValueError for `most` not in [2, 512].

    >>> shown_of(5), shown_of(100, most=12)
    ((0, 1, 2, 3, 4), (0, 1, 2, 3, 4, 5, 6, 7, None, 97, 98, 99))
    """
    if not isinstance(most, int) or not 2 <= most <= LARGEST:
        raise ValueError(
            f"show: most must be a whole number of rows and columns, at least 2 and at most {LARGEST}, not {most!r}"
        )
    if extent <= most:
        return tuple(range(extent))
    last = min(ENDING, most // 4)
    return (*range(most - last - 1), None, *range(extent - last, extent))


def cut_note(what: str, rows: int, columns: int, most: int = MOST) -> str:
    """What a note says about a panel of which not all is drawn; "" where all is.

    >>> cut_note("(4096,64):(64,1)", 4096, 64)
    '(4096,64):(64,1) has 4096 x 64 elements, of which 63 x 64 are drawn: the first ones and the last'
    """
    if rows <= most and columns <= most:
        return ""
    drawn = (extent if extent <= most else most - 1 for extent in (rows, columns))
    r, c = drawn
    return f"{what} has {rows} x {columns} elements, of which {r} x {c} are drawn: the first ones and the last"


@lru_cache(maxsize=1024)
def extents(shape: Any) -> tuple[int, ...]:
    """The extents of a shape's leaves, those of 1 left out; a shape of one element has one leaf.

    >>> extents((4, (1, 8))), extents(1)
    ((4, 8), (1,))
    """
    leaves = tuple(int(x) for x in _core.flatten_to_tuple(shape))
    return tuple(x for x in leaves if x != 1) or (1,)


def digits(index: int, leaves: tuple[int, ...]) -> tuple[int, ...]:
    """The coordinate of an index, leaf by leaf, the first one fastest; the last leaf takes what is left."""
    found = []
    for extent in leaves[:-1]:
        found.append(index % extent)
        index //= extent
    return (*found, index)


def axis_of(shape: Any, shown: Shown, prefix: str = "") -> Axis:
    """The labels of a mode's indices: one level for each leaf of its shape, the last leaf, which varies least, outside.

    >>> [[f"{x.text} x{x.span}" for x in level] for level in axis_of((2, 3), shown_of(6))]
    [['0 x2', '1 x2', '2 x2'], ['0 x1', '1 x1', '0 x1', '1 x1', '0 x1', '1 x1']]
    """
    leaves = extents(shape)
    places = [None if i is None else digits(i, leaves) for i in shown]
    levels = []
    for leaf in reversed(range(len(leaves))):
        level: list[Label] = []
        before: tuple[int, ...] | None = None
        for place in places:
            here = None if place is None else place[leaf:]
            if level and here is not None and here == before and leaf:
                level[-1] = level[-1]._replace(span=level[-1].span + 1)
            else:
                level.append(Label(ELISION if here is None else f"{prefix}{here[0]}"))
            before = here
        levels.append(tuple(level))
    return tuple(levels)


def rules_of(shape: Any, shown: Shown) -> tuple[Rule, ...]:
    """Rules where a leaf other than the first goes on, heavier for those further out.

    >>> rules_of((2, (2, 2)), shown_of(8))
    (Rule(after=2, weight=1), Rule(after=4, weight=2), Rule(after=6, weight=1))
    """
    leaves = extents(shape)
    found = []
    for n, (i, j) in enumerate(pairwise(shown), 1):
        if i is None or j is None:
            continue
        changed = [k for k, (x, y) in enumerate(zip(digits(i, leaves), digits(j, leaves), strict=True)) if x != y]
        if changed[-1]:
            found.append(Rule(n, min(changed[-1], 3)))
    return tuple(found)
