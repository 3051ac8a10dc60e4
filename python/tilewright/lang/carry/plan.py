"""How a value is made again of an operation's results."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.lang.carry.registry import leaf_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilewright.lang.carry.containers import Parts
    from tilewright.lang.carry.registry import Leaf

__all__ = ["Build", "Keep", "Pick", "adopts", "equal", "part_names"]


class Keep(NamedTuple):
    value: Any

    def make(self, results: Sequence[Any]) -> Any:
        return self.value


class Pick(NamedTuple):
    slot: int  # which result of the operation
    like: Any

    def make(self, results: Sequence[Any]) -> Any:
        leaf = leaf_of(type(self.like))
        assert leaf is not None
        return leaf.wrap(results[self.slot], self.like)


class Build(NamedTuple):
    parts: Parts
    like: Any
    plans: list[Any]
    static: Any  # taken when the region begins, for the object may change

    def make(self, results: Sequence[Any]) -> Any:
        return self.parts.build(self.like, [plan.make(results) for plan in self.plans])


def equal(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except Exception:  # an object's own comparison; then only the same object is equal
        return False


def adopts(like: Any, leaf: Leaf, number: Any) -> bool:
    """Whether a Python number is written for a value of this type: 0.0 is none for an Int32, nor 2 for a Boolean."""
    scalar = leaf.symbol_of(like).type.scalar if leaf.is_dynamic(like) else type(like).__name__
    if scalar == "Boolean":
        return isinstance(number, bool)
    return not isinstance(number, float) or "Float" in scalar


def part_names(value: Any, path: str, count: int) -> Sequence[str]:
    fields = getattr(type(value), "_fields", None)
    if fields is None and dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value)]
    if fields is None and isinstance(value, SimpleNamespace):
        fields = list(vars(value))
    if fields is not None and len(fields) == count:
        return [f"{path}.{field}" for field in fields]
    if isinstance(value, dict):
        return [f"{path}[{key!r}]" for key in value]
    return [f"{path}[{i}]" for i in range(count)]
