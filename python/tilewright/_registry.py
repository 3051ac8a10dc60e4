"""Functions by the class of what they are given, named by their modules, which are imported when first needed.

So a package knows nothing of those above it: what they have for its objects, they register here.
"""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ANALYSES", "KERNELS", "Lazy", "entry_of", "function_of", "load"]

T = TypeVar("T")

ANALYSES: dict[str, str] = {}
"""What analyses an object, "module:function", by the full name of its class."""

KERNELS: dict[str, Any] = {}
"""The registered kernels (kernels/kernel.py), by the full names of the classes of their plans."""


def load(place: str) -> Callable[..., Any]:
    """The function at a place, "module:function" or "module:Class.method".

    >>> load("math:gcd")(12, 8)
    4
    """
    module, _, name = place.partition(":")
    return attrgetter(name)(import_module(module))  # type: ignore[no-any-return]


class Lazy:
    """The function at a place, which is imported when it is first called or asked for its signature.

    >>> Lazy("math:gcd")(12, 8)
    4
    """

    def __init__(self, place: str) -> None:
        self.place = place

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return load(self.place)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return load(self.place)(*args, **kwargs)


def entry_of(x: object, entries: Mapping[str, T]) -> T | None:
    """The entry for an object by the full name of its class, or of the nearest base that is listed.

    Of integers and tuples only those themselves: a bool, or a NamedTuple, means something else.

    >>> entry_of(3, {"builtins.int": "a number"}), entry_of(True, {"builtins.int": "a number"})
    ('a number', None)
    """
    kinds = type(x).__mro__
    for cls in kinds[:1] if issubclass(type(x), (int, tuple)) else kinds:
        entry = entries.get(f"{cls.__module__}.{cls.__qualname__}")
        if entry is not None:
            return entry
    return None


def function_of(x: object, places: Mapping[str, str]) -> Callable[..., Any] | None:
    """The function for an object, by the place that `entry_of` finds.

    >>> function_of(3, {"builtins.int": "math:gcd"})(12, 8)
    4
    """
    place = entry_of(x, places)
    return None if place is None else load(place)
