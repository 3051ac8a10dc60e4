"""Pictures of the products: a block, the layout that repeats it, and the result, a colour for each copy."""

from __future__ import annotations

from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.picture import Link, Picture, Rule
from tilewright.show.drawing.tables import arranged, ends, grids_for, offset_at, refusal, room_for
from tilewright.show.operations.operations import layout_of, operand_panel, traced

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tilewright.show.drawing.tables import Grid

__all__ = [
    "blocked_product_picture",
    "flat_product_picture",
    "logical_product_picture",
    "raked_product_picture",
    "tiled_product_picture",
    "zipped_product_picture",
]

SIDE = 36  # rows and columns of each of three large panels


def _sizes(x: Any, rank: int) -> list[int]:
    """The sizes of the modes, padded with ones."""
    return [int(_core.size(x, mode=[mode])) if mode < _core.rank(x) else 1 for mode in range(rank)]


class Copies:
    """Which copy of the block, and which element of it, stands at an index of a product.

    A product has the modes of the block and those of the copies in one of three orders: the block's first and then the
    copies' (logical, zipped, tiled, flat), pairs (block, copies) mode by mode (blocked, and logical by a tuple), or
    pairs (copies, block) (raked).
    """

    def __init__(self, operation: str, block: Any, tiler: Any) -> None:
        self.by_mode = isinstance(tiler, tuple)
        paired = operation in ("blocked_product", "raked_product") or (operation == "logical_product" and self.by_mode)
        if self.by_mode:
            rank = int(_core.rank(block))
            of_tiler = [1 if x is None else int(_core.size(x)) for x in tiler] + [1] * (rank - len(tiler))
        elif paired:
            rank = max(int(_core.rank(block)), int(_core.rank(tiler)))
            of_tiler = _sizes(tiler, rank)
        else:
            rank, of_tiler = 1, [int(_core.size(tiler))]
        self.block = _sizes(block, rank) if paired or self.by_mode else [int(_core.size(block))]
        self.tiler = of_tiler
        pairs = [pair for b, t in zip(self.block, of_tiler, strict=True) for pair in (("block", b), ("tiler", t))]
        if operation == "raked_product":
            pairs = [pair for i in range(0, len(pairs), 2) for pair in (pairs[i + 1], pairs[i])]
        elif not paired:
            pairs = pairs[0::2] + pairs[1::2]
        self.digits = pairs

    def of(self, index: Any) -> tuple[Any, Any]:
        """(element of the block, copy), both as 1-D indices; arrays of an array."""
        found, scale = {"block": 0, "tiler": 0}, {"block": 1, "tiler": 1}
        for kind, extent in self.digits:
            index, digit = divmod(index, extent)
            found[kind] += digit * scale[kind]
            scale[kind] *= extent
        return found["block"], found["tiler"]


def product_picture(operation: str, block: Any, tiler: Any, *, at: Any = None) -> Picture:
    """A block, the layout that says where its copies go, and the product, a colour for each copy.

    One element is followed from the block to its place in a copy. Raises TypeError for operands that are no layouts,
    ValueError for an `at` outside of the product.
    """
    a = layout_of(operation, "the block", block)
    b = tiler if isinstance(tiler, tuple) else layout_of(operation, "the tiler", tiler)
    try:
        result = getattr(_core, operation)(a, tiler)
    except _core.LayoutError as error:
        operands = [operand_panel("the block", a)]
        return refusal(error, operands if isinstance(b, tuple) else [*operands, operand_panel("the tiler", b)])
    copies = Copies(operation, a, b)
    flat = operation == "flat_product"
    down = int(_core.rank(a)) if flat else 1
    shapes = [a.shape, result.shape, *([] if isinstance(b, tuple) else [b.shape])]
    first, product, *tilers = grids_for(shapes, SIDE, (1, down, 1)[: len(shapes)], room_for(result))
    grids = first, tilers[0] if tilers else None
    index = traced(operation, product, at, lambda i: grids[0].place(copies.of(i)[0]) is not None)
    element, copy = copies.of(index)

    panels = [grids[0].offsets(f"block {a}", "what is repeated", a, repeat(0), [element])]
    if grids[1] is not None:
        numbers = grids[1].drawn()
        more = [(("copy", str(n)),) for n in numbers]
        panels.append(grids[1].offsets(f"tiler {b}", "a cell for each copy", b, numbers, [copy], more=more))
    parts, numbers = (x.tolist() for x in copies.of(np.array(product.drawn())))
    names = grids[0].coordinates(parts)
    of = [(("copy", str(n)), ("of the block", name)) for n, name in zip(numbers, names, strict=True)]
    says = _says(operation, copies.by_mode)
    panels.append(product.offsets(f"{result}", says, result, numbers, [index], more=of))
    if operation == "raked_product":  # the block is spread out, so nothing ends at its extents
        panels[-1] = panels[-1]._replace(row_rules=(), column_rules=())
    elif operation == "blocked_product" or (operation == "logical_product" and copies.by_mode):
        down_rules, across_rules = _rules(copies.block, product)
        panels[-1] = panels[-1]._replace(row_rules=down_rules, column_rules=across_rules)
    last = len(panels) - 1
    start, end = grids[0].place(element), product.place(index)
    links = [Link((0, *start), (last, *end))] if start is not None and end is not None else []
    notes = [
        f"element {grids[0].coordinate(element)} of copy {copy if grids[1] is None else grids[1].coordinate(copy)} has "
        f"the coordinate {product.coordinate(index)} and the offset {text(offset_at(result, index))}"
    ]
    for name, grid in ((f"the block {a}", grids[0]), (f"the tiler {b}", grids[1]), (f"{result}", product)):
        notes += [] if grid is None else grid.note(name)
    return Picture(f"{operation}({a}, {text(b)}) = {result}", arranged(panels), notes, links)


def _says(operation: str, by_mode: bool) -> str:
    if operation == "logical_product" and by_mode:
        return "each mode as (block, copy)"
    return {
        "logical_product": "(block, copy): a column for each copy",
        "zipped_product": "(block, copy): a column for each copy",
        "tiled_product": "(block, copy, ..): a column for each copy",
        "flat_product": "(block, .., copy, ..): a column for each copy",
        "blocked_product": "each mode as (block, copy): whole blocks",
        "raked_product": "each mode as (copy, block): interleaved",
    }[operation]


def _rules(block: Sequence[int], grid: Grid) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Thick lines where a block ends, after rows and columns."""
    extents = (block[0], block[1]) if len(block) > 1 else (1, block[0])
    if len(block) > 2:  # columns are all modes but the first, of which several end at other places
        return ends(extents[0], grid.rows), ()
    return ends(extents[0], grid.rows), ends(extents[1], grid.columns)


def _picture(operation: str) -> Callable[..., Picture]:
    return partial(product_picture, operation)


logical_product_picture = _picture("logical_product")
zipped_product_picture = _picture("zipped_product")
tiled_product_picture = _picture("tiled_product")
flat_product_picture = _picture("flat_product")
blocked_product_picture = _picture("blocked_product")
raked_product_picture = _picture("raked_product")
