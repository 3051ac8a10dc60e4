"""How many examples a property has whose examples are long."""

from __future__ import annotations

from hypothesis import settings


def one_in(count: int) -> settings:
    """One example where the profile has `count`, for examples that take many times as long as others."""
    return settings(max_examples=settings.default.max_examples // count)
