"""Pictures of layouts and what is made of them: `cute.show(x)` draws an object, `cute.show(op, ...)` an operation."""

from __future__ import annotations

from tilewright.show.picture import (
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
