"""The leaves of layouts: which of them are dynamic, and the layout with others in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.numeric import Int32, Int64, Numeric

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["all_leaves", "argument_of", "flat", "leaf_values", "number_of", "rebuilt"]


def number_of(dtype: type[Numeric], symbol: Any, div: int = 1) -> Any:
    """The number of a type that a value of the program is."""
    return dtype._make(symbol, div) if issubclass(dtype, (Int32, Int64)) else dtype._of(symbol)


def argument_of(values: Sequence[int], given: tuple[int, int]) -> int:
    """The bits of a kernel's argument: of a number, or of a pointer so many bytes behind the host function's value."""
    bits, base = given
    return bits if base < 0 else (values[base] + bits) % (1 << 64)


def flat(tree: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Each leaf of a nested tuple with its path; of a scaled basis element the number that scales it."""
    if isinstance(tree, tuple):
        for i, part in enumerate(tree):
            yield from flat(part, (*path, i))
    else:
        yield path, tree.value if isinstance(tree, _core.ScaledBasis) else tree


def all_leaves(layout: Any) -> Iterator[tuple[str, Any]]:
    """Each leaf of a layout with where it is, `shape[0]`."""
    if isinstance(layout, _core.ComposedLayout):
        for path, leaf in flat(layout.offset):
            yield "offset" + "".join(f"[{i}]" for i in path), leaf
        yield from all_leaves(layout.outer)
        return
    for name, tree in (("shape", layout.shape), ("stride", layout.stride)):
        for path, leaf in flat(tree):
            yield name + "".join(f"[{i}]" for i in path), leaf


def leaf_values(layout: Any) -> list[Any]:
    """The leaves alone, in the same order: what every call asks for."""
    if isinstance(layout, _core.ComposedLayout):
        return [leaf for _, leaf in all_leaves(layout)]
    shape, stride = layout.shape, layout.stride
    if isinstance(shape, tuple) and _PLAIN.issuperset(map(type, (*shape, *stride))):
        return [*shape, *stride]
    return [leaf for tree in (shape, stride) for _, leaf in flat(tree)]


_PLAIN = frozenset((int, Int32, Int64))


def rebuilt(layout: Any, leaves: Iterator[Any]) -> Any:
    """The layout with its dynamic leaves replaced, in order."""

    def replaced(tree: Any) -> Any:
        if isinstance(tree, tuple):
            return tuple(map(replaced, tree))
        if isinstance(tree, _core.ScaledBasis):
            return _core.ScaledBasis(replaced(tree.value), list(tree.mode))
        return next(leaves) if isinstance(tree, (Int32, Int64)) else tree

    if isinstance(layout, _core.ComposedLayout):
        offset = replaced(layout.offset)
        return _core.make_composed_layout(layout.inner, offset, rebuilt(layout.outer, leaves))
    shape = replaced(layout.shape)
    return _core.make_layout(shape, stride=replaced(layout.stride))
