"""Pictures of the operations of the algebra: the operands, the result, and how one comes from the other."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.show.drawing.picture import Picture
from tilewright.show.drawing.tables import refusal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "blocked_product_picture",
    "coalesce_picture",
    "complement_picture",
    "composition_picture",
    "flat_divide_picture",
    "flat_product_picture",
    "layout_of",
    "logical_divide_picture",
    "logical_product_picture",
    "raked_product_picture",
    "tiled_divide_picture",
    "tiled_product_picture",
    "zipped_divide_picture",
    "zipped_product_picture",
]


def layout_of(operation: str, name: str, x: Any) -> Any:
    """An operand as a layout: a Layout or its text, that of a tensor, n:1 for an extent; TypeError for others."""
    if isinstance(x, str):
        x = _core.parse(x)
    if isinstance(x, (_core.Layout, _core.ComposedLayout)):
        return x
    if isinstance(x, int) and not isinstance(x, bool):
        return _core.make_layout(x)
    layout = getattr(x, "layout", None)
    if isinstance(layout, (_core.Layout, _core.ComposedLayout)):
        return layout
    raise TypeError(f"show: expected {name} of {operation} to be a layout, but got {x!r}")


def _refused(error: _core.LayoutError, **operands: Any) -> Picture:
    return refusal(error, [_core.picture.operand_panel(name.replace("_", " "), x) for name, x in operands.items()])


def composition_picture(lhs: Any, rhs: Any, *, at: Any = None) -> Picture:
    """B, A and A o B; one coordinate (`at`, else one in the middle) is followed through all three.

    R(i) = A(B(i)). Cells of B and of A o B are coloured by mode 0 of B, and cells of A as that of B which leads there;
    pale ones are not reached. Where there is no result, the message is shown and the operands, with the
    counter-example marked. Raises TypeError for operands that are no layouts, ValueError for an `at` outside of B.

    >>> from tilewright import cute
    >>> picture = cute.show(cute.composition, cute.parse("6:2"), cute.parse("(3,2):(1,3)"), at=(1, 1))
    >>> picture.title, picture.notes
    ('composition(6:2, (3,2):(1,3)) = (3,2):(2,6)', ('at (1,1): B gives 4, A(4) = 8, and A o B at (1,1) = 8',))
    """
    a: Any = lhs if isinstance(lhs, _core.Swizzle) else layout_of("composition", "A", lhs)
    by_mode = isinstance(rhs, tuple)
    b = rhs if by_mode else layout_of("composition", "B", rhs)
    try:
        result = _core.composition(a, b)
    except _core.LayoutError as error:
        if by_mode:
            return _refused(error, A=a)
        example = error.counterexample
        at = example[0] if example is not None and isinstance(example[0], int) else None
        drawn = _core.picture.no_composition(a, b, at)
        return Picture(f"LayoutError: {error}", drawn.panels, links=drawn.links, error=error)
    found: Picture = (
        _core.picture.composition_by_mode(a, b, result) if by_mode else _core.picture.composition(a, b, result, at)
    )
    return found


def coalesce_picture(layout: Any, target_profile: Any = None, *, at: Any = None) -> Picture:
    """A layout before and after coalesce: the same offset at the same index, with fewer modes.

    Coloured by the outermost mode before. Raises TypeError for what is no layout, ValueError for an `at` outside.

    >>> from tilewright import cute
    >>> print(cute.show(cute.coalesce, cute.parse("(2,(1,6)):(1,(6,2))")).title)
    coalesce((2,(1,6)):(1,(6,2))) = 12:1
    """
    before = layout_of("coalesce", "the operand", layout)
    operands = text(before) if target_profile is None else f"{before}, {text(target_profile)}"
    try:
        after = _core.coalesce(before, target_profile)
    except _core.LayoutError as error:
        return _refused(error, L=before)
    found: Picture = _core.picture.coalesce(before, after, operands, at)
    return found


def complement_picture(layout: Any, cotarget: Any = None) -> Picture:
    """A layout in grey and its complement in colours: all offsets below M, and the copies of the layout as columns.

    Each colour is the layout once more, moved by an offset of the complement. White offsets are in no copy. Raises
    TypeError for what is no layout.

    >>> from tilewright import cute
    >>> print(cute.show(cute.complement, cute.parse("(2,2):(1,6)"), 24).title)
    complement((2,2):(1,6), 24) = (3,2):(2,12)
    """
    a = layout_of("complement", "the operand", layout)
    if isinstance(a, _core.ComposedLayout):
        a = a.outer
    operands = text(a) if cotarget is None else f"{a}, {text(cotarget)}"
    try:
        rest = _core.complement(a, cotarget)
    except _core.LayoutError as error:
        return _refused(error, A=a)
    bound = int(_core.cosize(_core.filter(a))) if cotarget is None else int(_core.size(cotarget))
    found: Picture = _core.picture.complement(a, rest, bound, operands)
    return found


def divide_picture(operation: str, target: Any, tiler: Any, *, at: Any = None) -> Picture:
    """A layout, coloured by tile, beside the result of a divide by a tiler, in which one element is followed.

    A result whose first mode is a tile has a column for each tile. Elements past the end of a mode, which ragged tiles
    reach, are grey. Raises TypeError for a target that is no layout, ValueError for an `at` outside of the result.
    """
    layout = layout_of(operation, "the target", target)
    try:
        result = getattr(_core, operation)(layout, tiler)
    except _core.LayoutError as error:
        return _refused(error, the_target=layout)
    found: Picture = _core.picture.divide(operation, layout, tiler, result, at)
    return found


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
        return _refused(error, the_block=a) if isinstance(b, tuple) else _refused(error, the_block=a, the_tiler=b)
    found: Picture = _core.picture.product(operation, a, b, result, at)
    return found


def _picture(operation: str) -> Callable[..., Picture]:
    return partial(divide_picture if operation.endswith("divide") else product_picture, operation)


logical_divide_picture = _picture("logical_divide")
zipped_divide_picture = _picture("zipped_divide")
tiled_divide_picture = _picture("tiled_divide")
flat_divide_picture = _picture("flat_divide")
logical_product_picture = _picture("logical_product")
zipped_product_picture = _picture("zipped_product")
tiled_product_picture = _picture("tiled_product")
flat_product_picture = _picture("flat_product")
blocked_product_picture = _picture("blocked_product")
raked_product_picture = _picture("raked_product")
