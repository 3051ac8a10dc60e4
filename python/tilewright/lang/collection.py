"""No garbage collection while a function is traced or compiled."""

from __future__ import annotations

import gc

__all__ = ["Uncollected"]


class Uncollected:
    """A context in which Python does not look for cycles of garbage.

    Parsing and tracing make thousands of objects, nearly all of which stay. They would set off a collection of all
    objects there are: with torch imported it takes longer than the tracing itself.

    >>> with Uncollected():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """

    def __enter__(self) -> None:
        self._was = gc.isenabled()
        gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was:
            gc.enable()
