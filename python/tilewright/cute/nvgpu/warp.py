"""Copies and multiplications that the threads of a warp execute together."""

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.atoms.copy_ops import LdMatrix8x8x16bOp, LdMatrix8x16x8bOp, StMatrix8x8x16bOp
from tilewright.cute.atoms.mma_ops import Field, MmaF16BF16Op, MmaF64Op, MmaFP8Op, MmaI8Op, MmaTF32Op

__all__ = [
    "Field",
    "LdMatrix8x8x16bOp",
    "LdMatrix8x16x8bOp",
    "MmaF16BF16Op",
    "MmaF64Op",
    "MmaFP8Op",
    "MmaI8Op",
    "MmaTF32Op",
    "StMatrix8x8x16bOp",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
