"""Asynchronous copies: cp.async, and boxes by the tensor memory accelerator."""

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.atoms.copy_ops import CopyBulkTensorTileG2SOp, CopyBulkTensorTileS2GOp, CopyG2SOp
from tilewright.cute.atoms.modifiers import LoadCacheMode, SwizzleMode

__all__ = ["CopyBulkTensorTileG2SOp", "CopyBulkTensorTileS2GOp", "CopyG2SOp", "LoadCacheMode", "SwizzleMode"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
