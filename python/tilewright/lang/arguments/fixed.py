"""Arguments that are fixed in a program: constants, types, static layouts, and what lists and arrays hold."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tilewright.cute.tensors.tensor import Tensor
from tilewright.lang.arguments.form import Form
from tilewright.lang.arguments.parts import parts_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from tilewright.lang.arguments.form import Leaves

__all__ = ["Static"]


class Static(Form):
    """Something that the program has fixed: a type, a callable, a static layout, a Constexpr value, None."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value

    def key(self) -> Hashable:
        try:
            hash(self.value)
        except TypeError:
            return ("contents", _contents(self.value))
        if _is_array(self.value):  # which has a hash, but for where it lies
            return ("contents", _contents(self.value))
        return ("static", type(self.value), self.value)

    @property
    def holds_arrays(self) -> bool:
        """Whether it has arrays, whose elements are in the program."""
        return _has_arrays(self.value)

    def build(self, symbols: Iterator[Any]) -> Any:
        return self.value

    def read(self, value: Any, leaves: Leaves) -> None:
        same = value is self.value
        if not same:
            try:
                same = type(value) is type(self.value) and bool(value == self.value)
            except Exception:
                same = False
        if not same:
            raise ValueError(
                f"{self.name} is {value!r}, but the function was compiled for {self.value!r}, which is fixed in it; "
                "compile it for the new value"
            )


def _contents(value: Any) -> Hashable:
    """What a list, a dict or another object without a hash holds now: after a change it is another constant."""
    kind = type(value)
    if isinstance(value, (tuple, list)):
        return kind, tuple(map(_contents, value))
    if isinstance(value, dict):
        return kind, tuple([(key, _contents(x)) for key, x in value.items()])
    if isinstance(value, set):
        return kind, frozenset(value)
    if dataclasses.is_dataclass(value):
        return kind, tuple([_contents(getattr(value, field.name)) for field in dataclasses.fields(value)])
    if isinstance(value, bytearray):
        return kind, bytes(value)
    if _is_array(value):
        return kind, str(value.dtype), tuple(value.shape), _bytes(value)
    try:
        hash(value)
    except TypeError:
        return kind, id(value)
    return kind, value


def _has_arrays(value: Any) -> bool:
    parts = parts_of(value)
    return _is_array(value) if parts is None else any(_has_arrays(part) for _, part in parts[0](value))


def _is_array(value: Any) -> bool:
    return hasattr(value, "__dlpack__") and hasattr(value, "dtype") and not isinstance(value, Tensor)


def _bytes(array: Any) -> Any:
    """What an array of NumPy or torch holds; of another one, which it is."""
    try:
        return (array if hasattr(array, "tobytes") else array.detach().cpu().numpy()).tobytes()
    except (AttributeError, TypeError, RuntimeError):
        return id(array)
