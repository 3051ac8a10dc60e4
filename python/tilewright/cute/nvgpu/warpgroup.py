"""Multiplications of a warpgroup, and the shared memory that they read."""

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.mma_ops import Field
from tilewright.cute.mma_warpgroup import (
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaTF32Op,
    OperandMajorMode,
    OperandSource,
)
from tilewright.cute.smem_layout import SmemLayoutAtomKind, make_smem_layout_atom

__all__ = [
    "Field",
    "MmaF8Op",
    "MmaF16BF16Op",
    "MmaI8Op",
    "MmaTF32Op",
    "OperandMajorMode",
    "OperandSource",
    "SmemLayoutAtomKind",
    "make_smem_layout_atom",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
