"""Values that are made of others: Python's containers, dataclasses, objects with the protocol of values."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Parts", "python_parts", "slots_of"]


class Parts(NamedTuple):
    """How a type is made of other values.

    `split(value)` gives (static, parts): what has to be equal, and the values inside. `build(value, parts)`: a value
    such as the one given, with these parts. A type whose objects change in place (a pipeline's state) has
    `assign(value, parts)`, which puts parts into the object. Its objects go round every loop that mentions them, or,
    with `if_called`, every loop that calls a method of theirs. `weaker(first, second)`: a value of which less is known
    while tracing, such as both are (None where there is none).
    """

    split: Callable[[Any], tuple[Any, Sequence[Any]]]
    build: Callable[[Any, Sequence[Any]], Any]
    assign: Callable[[Any, Sequence[Any]], None] | None = None
    describe: Callable[[Any], str] | None = None
    if_called: bool = False
    weaker: Callable[[Any, Any], Any] | None = None


def python_parts(kind: type) -> Parts | None:
    if issubclass(kind, tuple):
        fields = getattr(kind, "_fields", None)
        make: Callable[[Any, Any], Any] = lambda v, parts: type(v)(*parts)  # noqa: E731
        if fields is None:
            make = lambda v, parts: type(v)(parts)  # noqa: E731
        return Parts(lambda v: ((type(v), len(v)), v), make)
    if kind is list:
        return Parts(lambda v: ((list, len(v)), v), lambda v, parts: list(parts))
    if kind is dict:
        return Parts(lambda v: ((dict, tuple(v)), list(v.values())), lambda v, parts: dict(zip(v, parts, strict=True)))
    if kind is SimpleNamespace:
        return Parts(
            lambda v: ((kind, tuple(vars(v))), list(vars(v).values())),
            lambda v, parts: SimpleNamespace(**dict(zip(vars(v), parts, strict=True))),
        )
    if hasattr(kind, "__extract_mlir_values__") and hasattr(kind, "__new_from_mlir_values__"):
        return Parts(_split_protocol, _build_protocol, None if _is_frozen(kind) else _assign_protocol)
    if dataclasses.is_dataclass(kind):
        names = tuple(field.name for field in dataclasses.fields(kind))
        return Parts(lambda v: ((kind, names), [getattr(v, name) for name in names]), _build_dataclass)
    return None


def _is_frozen(kind: type) -> bool:
    parameters = getattr(kind, "__dataclass_params__", None)
    return issubclass(kind, tuple) or (parameters is not None and parameters.frozen)


def _build_dataclass(value: Any, parts: Sequence[Any]) -> Any:
    """A copy with other fields; __init__ and __post_init__ are the user's and do not run again."""
    new = object.__new__(type(value))
    _copy_state(value, new)
    for field, part in zip(dataclasses.fields(value), parts, strict=True):
        object.__setattr__(new, field.name, part)
    return new


def slots_of(kind: type) -> Iterator[str]:
    """The names of a class's slots, without those that are no attributes."""
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__"):
                yield name


def _copy_state(source: Any, target: Any) -> None:
    """The attributes of one object into another of the same class."""
    if hasattr(source, "__dict__"):
        vars(target).clear()
        vars(target).update(vars(source))
    for name in slots_of(type(source)):
        if hasattr(source, name):
            object.__setattr__(target, name, getattr(source, name))


def _flat(tree: Any, out: list[Any]) -> Any:
    """The leaves of what __extract_mlir_values__ gives, a tree of lists and dicts, and its shape."""
    if isinstance(tree, dict):
        return ("dict", tuple((key, _flat(part, out)) for key, part in tree.items()))
    if isinstance(tree, (list, tuple)):
        return (type(tree).__name__, tuple(_flat(part, out) for part in tree))
    out.append(tree)
    return None


def _shaped(tree: Any, parts: Iterator[Any]) -> Any:
    if isinstance(tree, dict):
        return {key: _shaped(part, parts) for key, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [_shaped(part, parts) for part in tree]
    return next(parts)


def _split_protocol(value: Any) -> tuple[Any, Sequence[Any]]:
    out: list[Any] = []
    shape = _flat(value.__extract_mlir_values__(), out)
    return (type(value), shape), out


def _build_protocol(value: Any, parts: Sequence[Any]) -> Any:
    return value.__new_from_mlir_values__(_shaped(value.__extract_mlir_values__(), iter(parts)))


def _assign_protocol(value: Any, parts: Sequence[Any]) -> None:
    _copy_state(_build_protocol(value, parts), value)
