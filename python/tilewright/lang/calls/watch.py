"""What functions read by names that may be bound again: programs that were traced with other values are traced anew."""

from __future__ import annotations

import enum
import types
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright._traceback import is_package
from tilewright.lang.global_names import global_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["has_changed", "watched"]

# Rebinding the name is how these change.
_PLAIN = (bool, int, float, complex, str, bytes, type, types.NoneType, enum.Enum, _core.Layout, _core.ComposedLayout)


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
    for name in global_names(code)[0]:
        if name in namespace:
            yield namespace, name, namespace[name]
    for cell in function.__closure__ or ():
        try:
            yield cell, None, cell.cell_contents
        except ValueError:  # it is empty
            continue
