"""Asynchronous copies: cp.async, and boxes by the tensor memory accelerator."""

from tilewright.cute.atom import (
    CopyBulkTensorTileG2SOp,
    CopyBulkTensorTileS2GOp,
    CopyG2SOp,
    LoadCacheMode,
    SwizzleMode,
)

__all__ = ["CopyBulkTensorTileG2SOp", "CopyBulkTensorTileS2GOp", "CopyG2SOp", "LoadCacheMode", "SwizzleMode"]
