"""Functions by the class of what they are given, named by their modules, which are imported when first needed.

So a package knows nothing of those above it: what they have for its objects, they register here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ANALYSES", "function_of", "load"]

ANALYSES: dict[str, str] = {}
"""What analyses an object, "module:function", by the full name of its class."""


def load(place: str) -> Callable[..., Any]:
    """The function at a place, "module:function".

    >>> load("math:gcd")(12, 8)
    4
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def function_of(x: object, places: Mapping[str, str]) -> Callable[..., Any] | None:
    """The function for an object by the full name of its class, or of the nearest base that is listed.

    Of integers and tuples only those themselves: a bool, or a NamedTuple, means something else.

    >>> function_of(3, {"builtins.int": "math:gcd"})(12, 8), function_of(True, {"builtins.int": "math:gcd"})
    (4, None)
    """
    kinds = type(x).__mro__
    for cls in kinds[:1] if issubclass(type(x), (int, tuple)) else kinds:
        place = places.get(f"{cls.__module__}.{cls.__qualname__}")
        if place is not None:
            return load(place)
    return None
