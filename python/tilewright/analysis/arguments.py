"""What the predictor's functions are given: arrays of integers and bools, whole numbers, names; else errors."""

from __future__ import annotations

import inspect
import operator
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.numeric import Numeric

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

__all__ = ["bools", "element_bits", "integers", "named", "require_fitting", "whole"]


MOST_COUNTED = 1 << 20  # elements of an iterable without a length


def integers(operation: str, name: str, values: Any) -> npt.NDArray[np.integer[Any]]:
    """An argument as an array of integers; TypeError for other elements, also those that are more than 64 bits.

    >>> integers("f", "x", range(3)).tolist()
    [0, 1, 2]
    """
    if not hasattr(values, "__len__") and hasattr(values, "__iter__"):  # it may have no end
        values = [*islice(values, MOST_COUNTED + 1)]
        if len(values) > MOST_COUNTED:
            raise ValueError(f"{operation}: {name} has more than {MOST_COUNTED} elements; pass an array of so many")
    try:
        found = np.asarray(values if hasattr(values, "__array__") or not hasattr(values, "__iter__") else [*values])
    except ValueError as error:
        raise TypeError(f"{operation}: expected {name} to be an array of integers, but {error}") from None
    if found.dtype.kind in "iu" or (not found.size and found.dtype.kind == "f"):  # an empty list is one of floats
        return found
    kind = "integers beyond 64 bits, or no numbers" if found.dtype == object else str(found.dtype)
    raise TypeError(f"{operation}: expected {name} to be integers, not {kind}")


def whole(operation: str, name: str, value: Any) -> int:
    """An argument as an int; TypeError for what is none.

    >>> whole("f", "width", 4)
    4
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{operation}: expected {name} to be an integer, not {value!r}")
    found = operator.index(value)
    if not -(2**63) <= found < 2**63:
        raise ValueError(f"{operation}: {name} = {found} is beyond 64 bits")
    return found


def element_bits(operation: str, dtype: Any) -> int:
    """The bits of an element type; TypeError for what is none, also for a number of such a type.

    >>> from tilewright import Float16
    >>> element_bits("f", Float16)
    16
    """
    bits = getattr(dtype, "bits", None)
    if not isinstance(bits, int) or isinstance(dtype, Numeric):
        raise TypeError(f"{operation}: expected dtype to be an element type such as Float16, not {dtype!r}")
    return bits


def named(operation: str, name: str, value: Any) -> str:
    """An argument as a name; TypeError for what is none.

    >>> named("f", "memory", "shared")
    'shared'
    """
    if not isinstance(value, str):
        raise TypeError(f"{operation}: expected {name} to be a name, such as 'global' or 'load', not {value!r}")
    return value


def bools(operation: str, active: Any) -> npt.NDArray[np.bool_]:
    """A predicate as an array of bools; TypeError for other elements than bools, 0 and 1.

    >>> bools("f", [1, 0]).tolist()
    [True, False]
    """
    found = np.asarray(active)
    empty = not found.size  # of an empty list, the elements are floats
    if found.dtype == bool or empty or (found.dtype.kind in "iu" and set(np.unique(found)) <= {0, 1}):
        return found.astype(bool)
    if found.ndim == 0 and found.dtype.kind in "iu":
        raise TypeError(
            f"{operation}: expected active to be bools, one for each lane, not the number {found}; of a mask of bits "
            "take [mask >> lane & 1 for lane in range(32)]"
        )
    raise TypeError(f"{operation}: expected active to be bools, not {found.dtype}")


def require_fitting(
    operation: str, function: Callable[..., Any], x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """TypeError where a function of `x` does not take these arguments: which are missing, unknown or too many.

    >>> require_fitting("f", lambda x, y, *, z=0: 0, 1.5, (), {"w": 2})
    Traceback (most recent call last):
    ...
    TypeError: f: of a float there is no argument w, but there are y, z; y is missing
    """
    signature = inspect.signature(function)
    try:
        signature.bind(x, *args, **kwargs)
    except TypeError as error:
        _, *others = signature.parameters.values()
        places = [p for p in others if p.kind is p.POSITIONAL_OR_KEYWORD]
        known = [p.name for p in others]
        given = {p.name for p in places[: len(args)]} | set(kwargs)
        missing = [p.name for p in places if p.default is p.empty and p.name not in given]
        found = []
        if unknown := [name for name in kwargs if name not in known]:
            found.append(f"there is no argument {', '.join(unknown)}, but there are {', '.join(known)}")
        if len(args) > len(places) and not any(p.kind is p.VAR_POSITIONAL for p in others):
            by_name = ", ".join(p.name for p in others[len(places) :])
            found.append(
                f"at most {1 + len(places)} arguments are taken without a name, but {1 + len(args)} are given"
                + (f"; give {by_name} by name" if by_name else "")
            )
        if missing:
            found.append(f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} missing")
        said = "; ".join(found) or str(error)
        raise TypeError(f"{operation}: of a {type(x).__name__} {said}") from None
