"""Dicts that keep what was made last."""

from __future__ import annotations

from typing import Any

__all__ = ["make_room"]


def make_room(kept: dict[Any, Any], most: int) -> None:
    """Forget the oldest entries until there is room for one more. Several threads may do so at once.

    >>> kept = {"a": 1, "b": 2, "c": 3}
    >>> make_room(kept, 2)
    >>> kept
    {'c': 3}
    """
    keys = list(kept)
    for key in keys[: max(0, len(keys) - most + 1)]:
        kept.pop(key, None)
