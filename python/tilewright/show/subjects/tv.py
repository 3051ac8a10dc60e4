"""Pictures of thread-value layouts, both ways: the tile by thread, and the table from (thread, value) to the tile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.show.drawing.axes import MOST
from tilewright.show.drawing.memory import memory_of, memory_or_usual
from tilewright.show.subjects.layouts import index_of
from tilewright.show.subjects.tensors import short

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilewright.show.drawing.picture import Panel, Picture

__all__ = ["Owners", "owners_of", "tile_panel", "tv_picture", "values_picture"]

Owners = dict[int, "list[tuple[int, int]]"]
"""For each index of a tile the (thread, value) pairs that have it, in order of threads."""

owners_of: Callable[..., Owners] = _core.picture.owners_of
tile_panel: Callable[..., Panel] = _core.picture.tile_panel


def tv_picture(tv: Any, tile: Any, *, dtype: Any = None, base: int = 0, at: Any = None, most: int = MOST) -> Picture:
    """A thread-value layout: the tile with the thread and value of each element, and the table the other way round.

    `tile` is a shape, or the layout of the tile in memory (a Layout, swizzled or not, a Tensor), by which hovering
    shows the offset as well. `at` is the (thread, value) to mark in both. Raises LayoutError where TV is not a layout
    of two modes into the tile.

    >>> picture = tv_picture(_core.parse("(2,2):(2,1)"), (2, 2), at=(1, 0))
    >>> print(picture.text(color=False).split("\\n\\n")[1])
    tile (2,2)                                     from (thread, value) to the tile
    2 threads, 2 values each; each element once    the index in the tile, below it the coordinate
         0      1                                        V0      V1
      +------+------+                                 +-------+-------+
    0 |   T0 | [T1] |                              T0 |     0 |     1 |
      |   V0 |   V0 |                                 | (0,0) | (1,0) |
      +------+------+                                 +-------+-------+
    1 |   T0 |   T1 |                              T1 |   [2] |     3 |
      |   V1 |   V1 |                                 | (0,1) | (1,1) |
      +------+------+                                 +-------+-------+
    """
    data = None
    if not isinstance(tile, (int, tuple, list)):
        if not hasattr(getattr(tile, "layout", tile), "shape"):
            raise TypeError(f"show: expected tile to be a shape, a Layout or a Tensor, not {tile!r}")
        data = getattr(tile, "layout", tile)
        dtype = getattr(tile, "element_type", None) if dtype is None else dtype
        tile = data.shape
    memory = memory_of(dtype, base) if data is None else memory_or_usual(dtype, base)
    drawn: Picture = _core.picture.tv(tv, tile, data, memory, index_of(at, tv.shape), most)
    return drawn


def values_picture(result: Any, *, most: int = MOST) -> Picture:
    """What `kernels.visualize_tv` returns: the elements of the tensor with the thread and value that read each.

    >>> import numpy
    >>> from tilewright import cute, kernels
    >>> tv = cute.parse("((2,2),(2,3)):((2,12),(1,4))")
    >>> picture = values_picture(kernels.visualize_tv(numpy.arange(24), tv))
    >>> [placed.panel.cells[5].lines for placed in picture.panels]
    [('5', 'T0V3'), ('9',)]
    """
    values, covered = result.values, str(result.coverage)
    drawn: Picture = _core.picture.tv_values(
        result.tv_layout, result.tensor.layout, covered, lambda *pair: short(values[pair]), most
    )
    return drawn
