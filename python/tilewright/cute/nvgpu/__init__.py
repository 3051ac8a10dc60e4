"""Operations of NVIDIA GPUs: those of one thread here, asynchronous copies in `cpasync`, those of a warp in `warp`, and
of a warpgroup in `warpgroup`."""

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.cute.atoms.copy_ops import CopyG2ROp, CopyR2GOp, CopyR2SOp, CopyS2ROp, CopyUniversalOp
from tilewright.cute.atoms.mma_ops import MmaUniversalOp
from tilewright.cute.atoms.mma_warpgroup import OperandMajorMode
from tilewright.cute.atoms.modifiers import LoadCacheMode
from tilewright.cute.nvgpu import common, cpasync, warp, warpgroup

__all__ = [
    "CopyG2ROp",
    "CopyR2GOp",
    "CopyR2SOp",
    "CopyS2ROp",
    "CopyUniversalOp",
    "LoadCacheMode",
    "MmaUniversalOp",
    "OperandMajorMode",
    "common",
    "cpasync",
    "warp",
    "warpgroup",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)
