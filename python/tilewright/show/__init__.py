"""Pictures of layouts and what is made of them: `cute.show(x)` draws an object, `cute.show(op, ...)` an operation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.show.drawing.picture import (
    Axis,
    Cell,
    Entry,
    Hover,
    Label,
    Link,
    Panel,
    Picture,
    Placed,
    Rule,
    below,
    beside,
)
from tilewright.show.registry import show

__all__ = [
    "Axis",
    "Cell",
    "Entry",
    "Hover",
    "Label",
    "Link",
    "Panel",
    "Picture",
    "Placed",
    "Rule",
    "below",
    "beside",
    "show",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
