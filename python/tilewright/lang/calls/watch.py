"""What functions read by names that may be bound again: programs that were traced with other values are traced anew."""

from __future__ import annotations

import dis
import enum
import sys
import types
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._traceback import is_package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["has_changed", "watched"]

# Rebinding the name is how these change.
_PLAIN = (bool, int, float, complex, str, bytes, type, types.NoneType, enum.Enum, _core.Layout, _core.ComposedLayout)
_EXTENDED_ARG, _LOAD_GLOBAL, _LOAD_NAME = (dis.opmap[x] for x in ("EXTENDED_ARG", "LOAD_GLOBAL", "LOAD_NAME"))
_FLAGS = 1 if sys.version_info >= (3, 11) else 0  # bits of LOAD_GLOBAL's argument below the name's number


def watched(functions: Iterable[Any]) -> tuple[Any, ...]:
    """Where plain values and functions lie that these functions read, or functions of their package that they call.

    Of each there is a namespace, a name and the value, one behind the other. A cell of a closure has no name.

    >>> watched([lambda: len(_PLAIN)]) == (globals(), "_PLAIN", _PLAIN)
    True
    """
    found: dict[tuple[int, Any], tuple[Any, Any, Any]] = {}
    left, seen = list(functions), set()
    while left:
        function = left.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        package = (function.__module__ or "").partition(".")[0]
        for namespace, name, value in _read(function):
            if isinstance(value, types.FunctionType):
                if (value.__module__ or "").partition(".")[0] != package or is_package(value.__module__ or ""):
                    continue
                left.append(value)
            elif not _is_plain(value):
                continue
            found[id(namespace), name] = namespace, name, value
    return tuple(x for one in found.values() for x in one)


def has_changed(watched: tuple[Any, ...]) -> bool:
    """Whether one of the names means another value now."""
    for namespace, name, value in zip(watched[::3], watched[1::3], watched[2::3], strict=True):
        if name is None:
            try:
                if namespace.cell_contents is not value:
                    return True
            except ValueError:  # it is empty
                return True
        elif namespace.get(name, _NOTHING) is not value:
            return True
    return False


_NOTHING = object()


def _is_plain(value: Any) -> bool:
    return all(map(_is_plain, value)) if type(value) is tuple else isinstance(value, _PLAIN)


def _read(function: types.FunctionType) -> Iterator[tuple[Any, Any, Any]]:
    """What a function reads by names that are not its own: the namespaces, the names, the values."""
    code, namespace = function.__code__, function.__globals__
    for name in _global_names(code):
        if name in namespace:
            yield namespace, name, namespace[name]
    for cell in function.__closure__ or ():
        try:
            yield cell, None, cell.cell_contents
        except ValueError:  # it is empty
            continue


def _global_names(code: types.CodeType) -> set[str]:
    """The names that are loaded as globals; co_names has attributes, too. `dis` takes as long as the tracing itself."""
    names, text, before = set(), code.co_code, 0
    for i in range(0, len(text), 2):
        operation, argument = text[i], text[i + 1] | before
        before = argument << 8 if operation == _EXTENDED_ARG else 0
        if operation == _LOAD_GLOBAL:
            names.add(code.co_names[argument >> _FLAGS])
        elif operation == _LOAD_NAME:
            names.add(code.co_names[argument])
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            names |= _global_names(inner)
    return names
