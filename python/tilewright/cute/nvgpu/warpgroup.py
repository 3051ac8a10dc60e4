"""Multiplications of a warpgroup, and the shared memory that they read."""

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.atoms.mma_ops import Field
from tilewright.cute.atoms.mma_warpgroup import (
    MmaF8Op,
    MmaF16BF16Op,
    MmaI8Op,
    MmaTF32Op,
    OperandMajorMode,
    OperandSource,
)
from tilewright.cute.atoms.smem_layout import SmemLayoutAtomKind, make_smem_layout_atom
from tilewright.cute.execute.wgmma import commit_group, fence, wait_group

__all__ = [
    "Field",
    "MmaF8Op",
    "MmaF16BF16Op",
    "MmaI8Op",
    "MmaTF32Op",
    "OperandMajorMode",
    "OperandSource",
    "SmemLayoutAtomKind",
    "commit_group",
    "fence",
    "make_smem_layout_atom",
    "wait_group",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
