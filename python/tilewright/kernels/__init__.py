"""Kernels that run on tensors of any library that speaks DLPack, on the GPU and on the CPU."""

from __future__ import annotations

from tilewright._boundary import guard
from tilewright.kernels.gemm import gemm
from tilewright.kernels.tiled_copy import permute, tiled_copy, transpose
from tilewright.kernels.visualize_tv import visualize_tv

__all__ = ["gemm", "permute", "tiled_copy", "transpose", "visualize_tv"]

guard(globals(), __all__)
