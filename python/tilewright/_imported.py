"""Libraries that the program has imported, without importing any."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["imported_torch"]


def imported_torch() -> Any:
    """torch, if it is imported to its end, else None.

    A file or folder of that name beside the program is imported in its place. Another thread may be on its way through
    torch's own import. Both have the name, and not what torch has.

    >>> imported_torch() is None or hasattr(imported_torch(), "Tensor")
    True
    """
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "Tensor") and hasattr(torch, "cuda") else None
