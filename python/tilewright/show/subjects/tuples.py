"""Pictures of nested tuples of integers: the leaves in order, the modes above them."""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.picture import Cell, Hover, Label, Panel, Picture, beside
from tilewright.show.registry import OPERATIONS, show
from tilewright.show.subjects.layouts import plain

__all__ = ["explanation_picture", "tuple_picture"]


def _leaves(x: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """The leaves with the modes that lead to them."""
    if not isinstance(x, tuple):
        return [(path, x)]
    return [leaf for i, mode in enumerate(x) for leaf in _leaves(mode, (*path, i))]


def tuple_picture(x: Any) -> Picture:
    """An integer or a nested tuple: a cell for each leaf, above them a level of labels for each level of nesting.

    Leaves of one mode have one colour. Raises TypeError where it is no tuple of integers, LayoutError for one without
    leaves.

    >>> print(tuple_picture((4, (2, 3))).text(color=False))
    (4,(2,3))
    <BLANKLINE>
    rank 2, depth 2, size 24
      0 |   1
         1,0 1,1
    +---+---+---+
    | 4 | 2 | 3 |
    +---+---+---+
    """
    leaves = _leaves(x)
    if not all(_core.is_integer(leaf) or isinstance(leaf, _core.ScaledBasis) for _, leaf in leaves):
        raise TypeError(f"show: expected a nested tuple of integers, but got {x!r}")
    if not leaves:
        raise _core.LayoutError(f"show({text(x)}): a tuple without integers has nothing to draw")
    depth = max(len(path) for path, _ in leaves)
    levels = []
    for level in range(1, depth + 1):
        labels: list[Label] = []
        before: tuple[int, ...] | None = None
        for path, _ in leaves:
            here = path[:level]
            if len(path) >= level and here == before:
                labels[-1] = labels[-1]._replace(span=labels[-1].span + 1)
            else:
                labels.append(Label(",".join(map(str, here)) if len(path) >= level else ""))
            before = here if len(path) >= level else None
        levels.append(tuple(labels))
    cells = []
    for column, (path, leaf) in enumerate(leaves):
        value = text(leaf) if isinstance(leaf, _core.ScaledBasis) else str(plain(leaf))
        hover: Hover = (("mode", ",".join(map(str, path)) or "0"), ("value", value))
        if not _core.is_static(leaf):
            hover += (("static text", str(leaf)),)
        cells.append(Cell(0, column, (value,), path[0] if path else 0, hover))
    facts = f"rank {_core.rank(x)}, depth {_core.depth(x)}"
    if all(isinstance(plain(leaf), int) for _, leaf in leaves):
        facts += f", size {int(_core.size(x))}"
    panel = Panel("", facts, 1, len(leaves), tuple(cells), (), tuple(levels))
    return Picture(text(x), beside(panel))


def explanation_picture(explanation: Any, **options: Any) -> Picture:
    """What `explain` returns: the picture of the operation with the derivation below it; the derivation alone where the
    operation has no picture.

    >>> from tilewright import cute
    >>> picture = explanation_picture(cute.explain(cute.coalesce, cute.parse("(2,4):(1,2)")))
    >>> picture.title, picture.notes[-1]
    ('coalesce((2,4):(1,2))', 'result: 8:1')
    """
    name, operands = explanation.operation, explanation.operands
    try:
        if name in OPERATIONS:
            drawn: Picture | None = show(name, *operands, **options)
        elif name == "crd2idx" and isinstance(operands[1], _core.Layout):
            drawn = show(operands[1], at=operands[0], **options)
        else:
            drawn = None
    except (_core.LayoutError, TypeError, ValueError):
        drawn = None
    drawn = drawn or Picture("", ())
    return Picture(explanation.steps[0], drawn.panels, (*drawn.notes, *explanation.steps[1:]), drawn.links)
