"""Pictures of swizzle modes: the swizzle of byte offsets that a tile or a box has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.show.drawing.axes import MOST
from tilewright.show.drawing.picture import Picture
from tilewright.show.subjects.swizzle import swizzle_picture

if TYPE_CHECKING:
    from tilewright.analysis.swizzle_modes import SwizzleMode as TileMode
    from tilewright.cute.atoms.modifiers import SwizzleMode as BoxMode

CORE = 16  # bytes: what a swizzle of shared memory keeps together

__all__ = ["box_mode_picture", "tile_mode_picture"]


def box_mode_picture(mode: BoxMode, *, at: Any = None, most: int = MOST) -> Picture:
    """How TMA permutes the 16-byte chunks of a box; `at` is a byte offset to mark.

    >>> from tilewright.cute.nvgpu.cpasync import SwizzleMode
    >>> picture = box_mode_picture(SwizzleMode.B32)
    >>> picture.title, picture.notes[-1]
    ('B32: S<1,4,3>', 'boxes of up to 32 bytes in a row, at a multiple of 256 bytes')
    """
    room = f"up to {mode.span_bytes}" if mode.span_bytes else "any number of"
    note = f"boxes of {room} bytes in a row, at a multiple of {mode.alignment} bytes"
    return _of_bytes(mode.name, mode.swizzle, note, at, most)


def tile_mode_picture(mode: TileMode, *, at: Any = None, most: int = MOST) -> Picture:
    """The swizzle of a tile's kind, or of the nearest one, with what keeps the tile from it; `at` is a byte offset.

    >>> from tilewright import Float16, analysis, cute
    >>> picture = tile_mode_picture(analysis.swizzle_mode(cute.parse("(64,64):(64,1)"), Float16))
    >>> picture.title, picture.notes[-1].partition(";")[0]
    ('not K_SW128: S<3,4,3>', 'not K_SW128, the nearest: element (1,0) lies at 64, not at 72')
    """
    swizzle = _core.Swizzle((mode.span // CORE).bit_length() - 1 if mode.span else 0, 4, 3)
    return _of_bytes(("" if mode else "not ") + mode.nearest.name, swizzle, str(mode), at, most)


def _of_bytes(name: str, swizzle: Any, note: str, at: Any, most: int) -> Picture:
    drawn = swizzle_picture(swizzle, at=at, most=most)
    return Picture(f"{name}: {drawn.title}", drawn.panels, (*drawn.notes, note), drawn.links)
