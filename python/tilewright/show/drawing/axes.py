"""Axes: which rows or columns of a large panel are drawn, their labels level by level, the rules between tiles.

The compiled core has them; here they have their types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tilewright.show.drawing.picture import Axis, Rule

__all__ = ["MOST", "Shown", "axis_of", "cut_note", "rules_of", "shown_of"]

MOST = _core.picture.MOST

Shown = tuple["int | None", ...]
"""The indices that are drawn, in order; None stands for those that are left out."""

shown_of: Callable[..., Shown] = _core.picture.shown_of
cut_note: Callable[..., str] = _core.picture.cut_note
axis_of: Callable[..., Axis] = _core.picture.axis_of
rules_of: Callable[[Any, Shown], tuple[Rule, ...]] = _core.picture.rules_of
