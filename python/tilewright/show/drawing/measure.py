"""Where everything of a picture stands, in pixels: panels level with each other, nothing over anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright import _core

if TYPE_CHECKING:
    from tilewright.show.drawing.picture import Entry, Panel, Picture

__all__ = ["Box", "Place", "Sheet", "measure"]

Place = tuple[float, float]


class Box(NamedTuple):
    """A panel with the left upper corner of its heading (x, y) and of its cells (left, top), and the size of a cell.

    Levels: of the labels of each level where they stand, y above the cells or x to the left of them, and its height or
    width.
    """

    panel: Panel
    x: float
    y: float
    left: float
    top: float
    cell: Place
    title: tuple[str, ...]
    subtitle: tuple[str, ...]
    legend: tuple[tuple[float, float, Entry], ...]
    column_levels: tuple[Place, ...]
    row_levels: tuple[Place, ...]

    def middle(self, row: int, column: int) -> Place:
        """The middle of a cell."""
        return self.left + (column + 0.5) * self.cell[0], self.top + (row + 0.5) * self.cell[1]


class Sheet(NamedTuple):
    """The size of a picture, its boxes, whether its cells are too many to be large, and the lines below, from y on."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    dense: bool
    title: tuple[str, ...]
    notes: tuple[str, ...]
    notes_y: float


def measure(picture: Picture, dense: bool | None = None) -> Sheet:
    """Give everything its place; `dense` makes the cells small or large, whatever their number.

    >>> from tilewright.show import Picture
    >>> measure(Picture("nothing", ())).width
    88.0
    """
    width, height, dense, title, notes, notes_y, placements = _core.picture.measure(picture, dense)
    boxes = []
    for placed, (x, y, left, top, cell, heading, subtitle, places, *levels) in zip(
        picture.panels, placements, strict=True
    ):
        legend = tuple((*place, entry) for place, entry in zip(places, placed.panel.legend, strict=True))
        boxes.append(Box(placed.panel, x, y, left, top, cell, heading, subtitle, legend, *map(tuple, levels)))
    return Sheet(width, height, tuple(boxes), dense, title, notes, notes_y)
