"""Names for annotations: element types, tensors, pointers, layouts, nested integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._core import ComposedLayout, Layout, ScaledBasis, Swizzle
from tilewright._names import names_of
from tilewright.cute.int_tuple import Coord, Shape, Stride, Tile, Tiler, XTuple
from tilewright.cute.tensors.pointer import AddressSpace, Pointer
from tilewright.cute.tensors.tensor import Tensor
from tilewright.numeric import *  # noqa: F403
from tilewright.numeric import Int32, Int64
from tilewright.numeric import __all__ as _numbers

# An integer of a layout or of a call: Python's, or one that is known at run time only.
Int = int | Int32 | Int64
IntTuple = Shape

__all__ = [
    *_numbers,
    "AddressSpace",
    "ComposedLayout",
    "Coord",
    "Int",
    "IntTuple",
    "Layout",
    "Pointer",
    "ScaledBasis",
    "Shape",
    "Stride",
    "Swizzle",
    "Tensor",
    "Tile",
    "Tiler",
    "XTuple",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
