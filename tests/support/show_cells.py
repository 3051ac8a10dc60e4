"""What tests ask of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.show import Cell, Picture


def by_place(picture: Picture, panel: int) -> dict[tuple[int, int], Cell]:
    """The cells of a panel by row and column; no place has two."""
    cells = picture.panels[panel].panel.cells
    found = {(cell.row, cell.column): cell for cell in cells}
    assert len(found) == len(cells)
    return found


def owners_by_offset(picture: Picture, panel: int) -> dict[int, int | None]:
    """The colour of each cell by the number in it."""
    return {int(cell.lines[0]): cell.owner for cell in picture.panels[panel].panel.cells}


def panel(picture: Picture, start: str) -> int:
    """The number of the panel whose title begins so."""
    (found,) = (i for i, placed in enumerate(picture.panels) if placed.panel.title.startswith(start))
    return found
