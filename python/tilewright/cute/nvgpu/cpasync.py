"""Asynchronous copies: cp.async, and boxes by the tensor memory accelerator."""

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.atoms.copy_ops import (
    CopyBulkG2SOp,
    CopyBulkS2GOp,
    CopyBulkTensorTileG2SMulticastOp,
    CopyBulkTensorTileG2SOp,
    CopyBulkTensorTileS2GOp,
    CopyG2SOp,
    CopyReduceBulkTensorTileS2GOp,
)
from tilewright.cute.atoms.modifiers import LoadCacheMode, SwizzleMode
from tilewright.cute.tiled.tensor_maps import (
    copy_tensormap,
    cp_fence_tma_desc_release,
    fence_tma_desc_acquire,
    fence_tma_desc_release,
    update_tma_descriptor,
)
from tilewright.cute.tiled.tma import make_tiled_tma_atom, prefetch_descriptor, tma_partition

__all__ = [
    "CopyBulkG2SOp",
    "CopyBulkS2GOp",
    "CopyBulkTensorTileG2SMulticastOp",
    "CopyBulkTensorTileG2SOp",
    "CopyBulkTensorTileS2GOp",
    "CopyG2SOp",
    "CopyReduceBulkTensorTileS2GOp",
    "LoadCacheMode",
    "SwizzleMode",
    "copy_tensormap",
    "cp_fence_tma_desc_release",
    "fence_tma_desc_acquire",
    "fence_tma_desc_release",
    "make_tiled_tma_atom",
    "prefetch_descriptor",
    "tma_partition",
    "update_tma_descriptor",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
