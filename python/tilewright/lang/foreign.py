"""Arguments of classes that are not the package's, by the protocols that CuTeDSL has for them.

A class with __c_pointers__ and __get_mlir_types__ says where its values lie in memory, as a struct of C, and what they
are. One with __extract_mlir_values__ gives values of the program, as in a loop (carry/containers.py). Both make the
object that the traced function sees by __new_from_mlir_values__.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

from tilewright import numeric
from tilewright.lang.arguments import Form, Leaves, form_of
from tilewright.lang.carry.values import extract_mlir_values, new_from_mlir_values
from tilewright.lang.trace import current

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

__all__ = ["foreign_form"]


def foreign_form(value: Any, name: str, in_kernel: bool) -> Form:
    """The form of an argument whose class has one of the protocols."""
    if current() is None and hasattr(value, "__c_pointers__") and hasattr(value, "__get_mlir_types__"):
        return StructForm(name, value)
    return ValuesForm(name, value, in_kernel)


class ValuesForm(Form):
    """An object that gives its values itself."""

    def __init__(self, name: str, value: Any, in_kernel: bool) -> None:
        self.name, self.value = name, value
        self.parts = [
            form_of(part, None, f"{name}[{i}]", in_kernel) for i, part in enumerate(extract_mlir_values(value))
        ]

    def key(self) -> Hashable:
        return ("values", id(self.value), *(part.key() for part in self.parts))

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for part in self.parts:
            yield from part.parameters()

    def build(self, symbols: Iterator[Any]) -> Any:
        return new_from_mlir_values(self.value, [part.build(symbols) for part in self.parts])

    def read(self, value: Any, leaves: Leaves) -> None:
        parts = extract_mlir_values(value)
        if type(value) is not type(self.value) or len(parts) != len(self.parts):
            raise TypeError(f"{self.name}: expected a {type(self.value).__name__} such as it was compiled for")
        for form, part in zip(self.parts, parts, strict=True):
            form.read(part, leaves)


class StructForm(Form):
    """An object whose values lie in memory, a piece for each of its types; a struct's fields are parameters."""

    def __init__(self, name: str, value: Any) -> None:
        self.name, self.value = name, value
        self.types = list(value.__get_mlir_types__())

    def key(self) -> Hashable:
        return ("struct", id(self.value))

    def parameters(self) -> Iterator[tuple[str, Any]]:
        for kind in self.types:
            for i, (_, leaf) in enumerate(_fields(kind, 0)[0]):
                yield f"{self.name}[{i}]", leaf

    def build(self, symbols: Iterator[Any]) -> Any:
        from tilewright._mlir.ir import Value  # lazy: few programs have such arguments

        def held(kind: Any) -> Any:
            return tuple(map(held, kind.fields)) if hasattr(kind, "fields") else next(symbols)

        values = [held(kind) for kind in self.types]
        return self.value.__new_from_mlir_values__([Value(x) if isinstance(x, tuple) else x for x in values])

    def read(self, value: Any, leaves: Leaves) -> None:
        if type(value) is not type(self.value) or list(value.__get_mlir_types__()) != self.types:
            raise TypeError(f"{self.name}: expected a {type(self.value).__name__} of the types it was compiled for")
        for kind, pointer in zip(self.types, value.__c_pointers__(), strict=True):
            begin = pointer if isinstance(pointer, int) else ctypes.cast(pointer, ctypes.c_void_p).value or 0
            for offset, leaf in _fields(kind, 0)[0]:
                bits = int.from_bytes(ctypes.string_at(begin + offset, _size(leaf)), "little")
                if leaf.kind == "pointer" and leaf.space == "gmem":
                    leaves.addresses.append((bits, self.name))
                leaves.add(bits)


def _size(kind: Any) -> int:
    return 8 if kind.kind == "pointer" else max(int(getattr(numeric, kind.scalar).bits) // 8, 1)


def _fields(kind: Any, offset: int) -> tuple[list[tuple[int, Any]], int, int]:
    """The leaves of a type with their offsets in bytes, where it ends, and its alignment, as in C."""
    if not hasattr(kind, "fields"):
        size = _size(kind)
        begin = -(-offset // size) * size
        return [(begin, kind)], begin + size, size
    alignment = max((_fields(field, 0)[2] for field in kind.fields), default=1)
    end = -(-offset // alignment) * alignment
    leaves: list[tuple[int, Any]] = []
    for field in kind.fields:
        inner, end, _ = _fields(field, end)
        leaves += inner
    return leaves, -(-end // alignment) * alignment, alignment
