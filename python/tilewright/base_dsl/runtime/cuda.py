"""What CUDA's Python bindings return, as a value or an exception."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright._core.cuda import DriverError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["checkCudaErrors"]


def checkCudaErrors(result: Sequence[Any]) -> Any:
    """The values of what a function of `cuda.bindings` returned: None, one, or a tuple of several.

    DriverError, with `code` and `name`, where its first element is no success.

    >>> checkCudaErrors((0, 7))
    7
    """
    status, *values = result
    if int(status) != 0:
        name = getattr(status, "name", str(status))
        error = DriverError(f"{name} ({int(status)})")
        for attribute, value in (("code", int(status)), ("error_code", int(status)), ("name", name)):
            setattr(error, attribute, value)
        raise error
    return None if not values else values[0] if len(values) == 1 else tuple(values)
