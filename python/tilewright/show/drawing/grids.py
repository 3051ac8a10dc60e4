"""How coordinates of any shape are laid out on paper: mode 0 down, mode 1 across, a panel for each of the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CELLS", "Grid", "grids_of"]

CELLS = 64 * 64  # a picture draws about so many
Grid = _core.picture.Grid
grids_of: Callable[..., tuple[tuple[Grid, ...], tuple[str, ...]]] = _core.picture.grids_of
