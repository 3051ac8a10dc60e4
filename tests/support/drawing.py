"""Strategies of Hypothesis that cost little to draw from.

Most strategies are made lazily: each draw from one looks for the strategy below it, which costs as much as the draw. So
those from which one example draws many times are taken out of that wrapping, and kept.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st


def unwrapped(strategy: Any) -> Any:
    """The strategy below the lazy ones: it draws the same."""
    while hasattr(strategy, "wrapped_strategy"):
        strategy = strategy.wrapped_strategy
    return strategy


def composite(function: Callable[..., Any]) -> Callable[..., Any]:
    """st.composite, unwrapped."""
    lazy = st.composite(function)
    return functools.wraps(function)(lambda *args, **options: unwrapped(lazy(*args, **options)))


@functools.cache
def integers(least: int, most: int) -> Any:
    """st.integers, unwrapped and kept."""
    return unwrapped(st.integers(least, most))


booleans = unwrapped(st.booleans())
