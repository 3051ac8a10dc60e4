"""Kernels that run on tensors of any library that speaks DLPack, on the GPU and on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._names import names_of
from tilewright.kernels.copy.api import permute, tiled_copy, transpose
from tilewright.kernels.copy.kernel import TILED_COPY
from tilewright.kernels.gemm.api import gemm
from tilewright.kernels.gemm.composite.kernel import EDGED, PACKED, SPLIT_K, SUM_PARTS
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.gemm.sm80.kernel import SM80
from tilewright.kernels.gemm.sm90.kernel import SM90
from tilewright.kernels.kernel import register
from tilewright.kernels.visualize.kernel import VISUALIZE_TV

if TYPE_CHECKING:
    from tilewright.kernels.visualize.tv import visualize_tv

__all__ = ["gemm", "permute", "tiled_copy", "transpose", "visualize_tv"]

for _kernel in (TILED_COPY, SIMT, SM80, SM90, PACKED, EDGED, SPLIT_K, SUM_PARTS, VISUALIZE_TV):
    register(_kernel)

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__, {"visualize_tv": "tilewright.kernels.visualize.tv"})
