"""Operations of NVIDIA GPUs: vectors here, asynchronous copies in `cpasync`, those of a whole warp in `warp`."""

from tilewright.cute.atom import CopyG2ROp, CopyR2GOp, CopyR2SOp, CopyS2ROp, CopyUniversalOp
from tilewright.cute.nvgpu import common, cpasync, warp

__all__ = [
    "CopyG2ROp",
    "CopyR2GOp",
    "CopyR2SOp",
    "CopyS2ROp",
    "CopyUniversalOp",
    "common",
    "cpasync",
    "warp",
]
