"""Two branches: one value of those that they give a variable."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.lang.carry.plan import Build, Keep, Pick, adopts, equal, part_names
from tilewright.lang.carry.registry import PYTHON_NUMBERS, Mismatch, describe, leaf_of, number_like, parts_of, symbol_of

if TYPE_CHECKING:
    from tilewright.lang.carry.registry import Leaf

__all__ = ["Join"]

_RANK = {bool: 0, int: 1, float: 2}


class Join:
    """Makes one value of the values that two branches give a variable.

    `add` is called for every variable when both branches are traced, and says which pairs of leaves the operation has
    to choose between; `make` of a plan gives the value from the operation's results.
    """

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []
        self._likes: list[Any] = []
        self._slots: dict[tuple[int, int], int] = {}

    def add(self, first: Any, second: Any, path: str) -> Any:
        """A plan for one variable; raises Mismatch where the two cannot be one value."""
        if first is second:
            return Keep(first)
        a, b = type(first), type(second)
        leaf_a, leaf_b = leaf_of(a), leaf_of(b)
        is_python_a, is_python_b = a in PYTHON_NUMBERS, b in PYTHON_NUMBERS
        if (leaf_a or is_python_a) and (leaf_b or is_python_b):
            return self._numbers(first, second, leaf_a, leaf_b, path)
        parts = parts_of(a)
        if parts is not None and a is b:
            static_a, parts_a = parts.split(first)
            static_b, parts_b = parts.split(second)
            like = first
            if static_a != static_b:
                like = parts.weaker(first, second) if parts.weaker is not None else None
                if like is None:
                    raise Mismatch(path, describe(first), describe(second))
                static_a = parts.split(like)[0]
            names = part_names(first, path, len(parts_a))
            try:
                plans = [self.add(x, y, name) for x, y, name in zip(parts_a, parts_b, names, strict=True)]
            except Mismatch as error:
                if parts.describe is None:
                    raise
                raise Mismatch(path, describe(first), describe(second), error.fix) from None
            if all(type(plan) is Keep and plan.value is x for plan, x in zip(plans, parts_a, strict=True)):
                return Keep(like)
            return Build(parts, like, plans, static_a)
        if a is b and equal(first, second):
            return Keep(first)
        raise Mismatch(path, describe(first), describe(second))

    def _numbers(self, first: Any, second: Any, leaf_a: Leaf | None, leaf_b: Leaf | None, path: str) -> Any:
        if leaf_a is None and leaf_b is None:
            if type(first) is type(second) and repr(first) == repr(second):
                return Keep(first)
            like = first if _RANK[type(first)] >= _RANK[type(second)] else second
            like = number_like(like, like)
        elif leaf_a is None or leaf_b is None:
            like, leaf, number = (second, leaf_b, first) if leaf_a is None else (first, leaf_a, second)
            assert leaf is not None
            if not leaf.is_number or not adopts(like, leaf, number):
                raise Mismatch(path, describe(first), describe(second))
        else:
            like = first
            if type(first) is not type(second):
                raise Mismatch(path, describe(first), describe(second))
            if leaf_a.is_dynamic(first) and leaf_a.is_dynamic(second):
                symbol_a, symbol_b = leaf_a.symbol_of(first), leaf_a.symbol_of(second)
                if symbol_a == symbol_b:
                    return Keep(first)
                if symbol_a.type != symbol_b.type:
                    like = leaf_a.weaker(first, second) if leaf_a.weaker is not None else None
                    if like is None:
                        raise Mismatch(path, str(symbol_a.type), str(symbol_b.type))
        slot = self._slots.get((id(first), id(second)))
        if slot is None:  # a variable that a function inside assigns is found twice
            slot = self._slots[id(first), id(second)] = len(self.pairs)
            self.pairs.append((first, second))
            self._likes.append(like)
        return Pick(slot, like)

    def symbols(self, side: int) -> list[Any]:
        """The leaves of the first or second branch, as symbols."""
        return [symbol_of(pair[side], like) for pair, like in zip(self.pairs, self._likes, strict=True)]
