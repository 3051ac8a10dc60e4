"""The builder of the trace in progress."""

from __future__ import annotations

from typing import Any

from tilewright._core.program import current as _current

__all__ = ["current"]


def current() -> Any:
    """The builder of this thread's trace, None at the prompt."""
    return _current()
