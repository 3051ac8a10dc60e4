"""Element types by their names."""

from __future__ import annotations

from tilewright import numeric
from tilewright._names import did_you_mean
from tilewright.numeric.base import Numeric

__all__ = ["dtype"]


def dtype(name: str | type[Numeric]) -> type[Numeric]:
    """The element type of a name, as `type=` of an argparse argument wants it; a type is itself.

    Raises ValueError for a name that no type has.

    >>> dtype("Float16"), dtype("BFloat16").width
    (Float16, 16)
    """
    if isinstance(name, type) and issubclass(name, Numeric):
        return name
    found = getattr(numeric, str(name), None)
    if isinstance(found, type) and issubclass(found, Numeric) and hasattr(found, "bits"):
        return found
    types = [x for x in numeric.__all__ if hasattr(getattr(numeric, x), "bits")]
    hint = did_you_mean(str(name), types)
    raise ValueError(f"dtype: {name!r} names no element type{hint}; types are {', '.join(types)}")
