"""Kernels that run on tensors of any library that speaks DLPack, on the GPU and on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._boundary import guard
from tilewright._names import names_of
from tilewright._registry import ANALYSES
from tilewright.kernels.copy.api import permute, tiled_copy, transpose
from tilewright.kernels.gemm.api import gemm
from tilewright.kernels.visualize.tv import visualize_tv

__all__ = ["gemm", "permute", "tiled_copy", "transpose", "visualize_tv"]

ANALYSES.update(
    dict.fromkeys(
        (
            f"{__name__}.copy.plan.CopyPlan",
            f"{__name__}.gemm.plan.GemmPlan",
            f"{__name__}.gemm.composite.plan.CompositeGemm",
        ),
        f"{__name__}.analyze.plans:analyze_plan",
    )
)

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(__name__)

guard(globals(), ["visualize_tv"])  # the others are called again and again, and name the call themselves
