"""Arguments that are made of others: tuples, lists, dicts, dataclasses, NamedTuples, namespaces."""

from __future__ import annotations

import dataclasses
import types as python_types
from typing import TYPE_CHECKING, Any, get_args

from tilewright.cute.arithmetic import FastDivmodDivisor
from tilewright.lang.arguments.form import Form
from tilewright.numeric.traced import is_traced

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

    from tilewright.lang.arguments.form import Leaves

__all__ = ["Group", "hints_of", "parts_of"]


class Group(Form):
    """A tuple, list, dict, dataclass, NamedTuple or namespace: its parts, one by one."""

    def __init__(self, name: str, parts: list[Form], kind: type, build: Callable[[list[Any]], Any], of: Any) -> None:
        self.name, self.parts, self.kind, self._build, self._of = name, parts, kind, build, of

    def key(self) -> Hashable:
        return ("group", self.kind, *(part.key() for part in self.parts))

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for part in self.parts:
            yield from part.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return self._build([part.build(symbols) for part in self.parts])

    def read(self, value: Any, leaves: Leaves) -> None:
        parts = self._of(value) if isinstance(value, self.kind) else None
        if parts is None or len(parts) != len(self.parts):
            raise TypeError(
                f"{self.name}: expected a {self.kind.__name__} of {len(self.parts)} parts, but got {value!r}"
            )
        for form, (_, part) in zip(self.parts, parts, strict=True):
            form.read(part, leaves)


def parts_of(value: Any) -> tuple[Callable[[Any], list[tuple[str, Any]]], Callable[[list[Any]], Any]] | None:
    """How a container is split into parts with their paths, and built again."""
    kind = type(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields: Any = value._fields
        return (lambda v: [(f".{f}", getattr(v, f)) for f in fields]), (lambda parts: kind(*parts))
    if isinstance(value, (tuple, list)):
        return (lambda v: [(f"[{i}]", x) for i, x in enumerate(v)]), (lambda parts: kind(parts))
    if isinstance(value, dict):
        keys = list(value)
        return (lambda v: [(f"[{k!r}]", v[k]) for k in keys]), (lambda parts: kind(zip(keys, parts, strict=True)))
    if isinstance(value, FastDivmodDivisor) and is_traced(value.divisor):
        return (lambda v: [(".divisor", v.divisor)]), (lambda parts: FastDivmodDivisor(parts[0]))
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]

        def build(parts: list[Any]) -> Any:
            made = object.__new__(kind)
            for field, part in zip(names, parts, strict=True):
                object.__setattr__(made, field, part)
            return made

        return (lambda v: [(f".{f}", getattr(v, f)) for f in names]), build
    if isinstance(value, python_types.SimpleNamespace):
        fields = list(vars(value))
        return (
            (lambda v: [(f".{f}", getattr(v, f)) for f in fields]),
            (lambda parts: kind(**dict(zip(fields, parts, strict=True)))),
        )
    return None


def hints_of(value: Any, annotation: Any) -> list[Any]:
    """The annotations of the parts of a value, None where there is none."""
    count = len(parts_of(value)[0](value))  # type: ignore[index]
    if dataclasses.is_dataclass(value):
        return [field.type for field in dataclasses.fields(value)]
    if hasattr(value, "_fields"):
        return [type(value).__annotations__.get(field) for field in value._fields]
    if isinstance(annotation, dict):  # of keyword arguments, by name
        return list(annotation.values())
    args = get_args(annotation)
    if isinstance(value, list) and len(args) == 1:
        return list(args) * count
    return list(args) if len(args) == count else [None] * count
