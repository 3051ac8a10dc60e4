"""Loops: values that go round keep their type; Python numbers become the program's at the entry."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tilewright.lang.carry.plan import Build, Keep, Pick, adopts, equal, part_names
from tilewright.lang.carry.registry import PYTHON_NUMBERS, Mismatch, describe, leaf_of, number_like, parts_of, symbol_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Round"]


class Round:
    """Takes values round a loop: Python numbers become the program's at its entry, everything else keeps its type.

    Where a value is less known at the end of a trip than at the entry (a pointer is less aligned), `is_too_strong` says
    so, and `weakened` gives the values to enter with.
    """

    def __init__(self) -> None:
        self.is_too_strong = False
        self.likes: list[Any] = []  # a value of the type of each leaf
        self._trees: list[tuple[Any, str]] = []

    def add(self, value: Any, path: str) -> None:
        """Carry one more variable, or object that changes in place."""
        self._trees.append((self._tree(value, path), path))

    def _tree(self, value: Any, path: str) -> Any:
        kind = type(value)
        if kind in PYTHON_NUMBERS:
            try:
                value = number_like(value, value)
            except Mismatch as error:
                raise Mismatch(path, error.first, error.second, error.fix) from None
            kind = type(value)
        if leaf_of(kind) is not None:
            self.likes.append(value)
            return Pick(len(self.likes) - 1, value)
        parts = parts_of(kind)
        if parts is None:
            return Keep(value)
        static, inside = parts.split(value)
        names = part_names(value, path, len(inside))
        before = len(self.likes)
        plans = [self._tree(part, name) for part, name in zip(inside, names, strict=True)]
        if len(self.likes) == before and parts.assign is None and kind not in (list, dict, SimpleNamespace):
            return Keep(value)
        return Build(parts, value, plans, static)

    def symbols(self) -> list[Any]:
        return [symbol_of(like, like) for like in self.likes]

    def values(self, symbols: Sequence[Any]) -> list[Any]:
        return [tree.make(symbols) for tree, _ in self._trees]

    def returned(self, values: Sequence[Any]) -> list[Any]:
        """The symbols that the values have at the end of the loop's body; raises Mismatch where a type changed."""
        out: list[Any] = []
        for (tree, path), value in zip(self._trees, values, strict=True):
            self._match(tree, value, path, out)
        return out

    def weakened(self, values: Sequence[Any]) -> list[Any]:
        """What the variables are at the entry, such as they and these values are; in the block around the loop."""
        return [_weakened(_like(tree), value) for (tree, _), value in zip(self._trees, values, strict=True)]

    def _match(self, tree: Any, value: Any, path: str, out: list[Any]) -> None:
        if type(tree) is Keep:
            if tree.value is not value and not (type(tree.value) is type(value) and equal(tree.value, value)):
                raise Mismatch(path, describe(tree.value), describe(value))
        elif type(tree) is Pick:
            out.append(self._leaf(tree.like, value, path))
        else:
            fits = type(value) is type(tree.like)
            static, inside = tree.parts.split(value) if fits else (None, ())
            if fits and static != tree.static:
                weaker = tree.parts.weaker and tree.parts.weaker(tree.like, value)
                fits = weaker is not None
                self.is_too_strong |= fits and tree.parts.split(weaker)[0] != tree.static
            if not fits:
                raise Mismatch(path, describe(tree.like), describe(value))
            names = part_names(value, path, len(inside))
            try:
                for plan, part, name in zip(tree.plans, inside, names, strict=True):
                    self._match(plan, part, name, out)
            except Mismatch as error:
                if tree.parts.describe is None:
                    raise
                raise Mismatch(path, describe(tree.like), describe(value), error.fix) from None

    def _leaf(self, like: Any, value: Any, path: str) -> Any:
        leaf = leaf_of(type(like))
        assert leaf is not None
        if type(value) in PYTHON_NUMBERS and leaf.is_number and adopts(like, leaf, value):
            try:
                return symbol_of(value, like)
            except Mismatch as error:
                raise Mismatch(path, type(like).__name__, error.first, error.fix) from None
        if type(value) is not type(like):
            raise Mismatch(path, describe(like), describe(value))
        symbol = leaf.symbol_of(value)
        of_entry = leaf.symbol_of(like).type if leaf.is_dynamic(like) else symbol.type
        if symbol.type != of_entry:
            weaker = leaf.weaker and leaf.weaker(like, value)
            if weaker is None:
                raise Mismatch(path, str(of_entry), str(symbol.type))
            assert leaf.weaken is not None
            symbol = leaf.symbol_of(leaf.weaken(value, weaker))
            self.is_too_strong |= symbol.type != of_entry
        return symbol


def _like(tree: Any) -> Any:
    return tree.value if type(tree) is Keep else tree.like


def _weakened(entry: Any, value: Any) -> Any:
    """The value at the entry of a loop, such as it and the value at the end of a trip are."""
    kind = type(entry)
    leaf, parts = leaf_of(kind), parts_of(kind)
    if leaf is not None and type(value) is kind and leaf.weaker is not None and leaf.weaken is not None:
        weaker = leaf.weaker(entry, value)
        return entry if weaker is None else leaf.weaken(entry, weaker)
    if leaf is not None or parts is None or type(value) is not kind:
        return entry
    (static, inside), (other_static, others) = parts.split(entry), parts.split(value)
    like = parts.weaker(entry, value) if parts.weaker is not None and static != other_static else entry
    new = [_weakened(part, other) for part, other in zip(inside, others, strict=True)]
    if like is entry and all(x is y for x, y in zip(new, inside, strict=True)):
        return entry
    return parts.build(like, new)
