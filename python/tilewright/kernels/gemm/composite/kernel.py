"""Plans of several launches, which are registered as kernels are: they are analysed, drawn and run like others."""

from __future__ import annotations

from tilewright.kernels.gemm.kernel import GEMM
from tilewright.kernels.kernel import Kernel

HERE, SHOW = "tilewright.kernels.gemm.composite", "tilewright.show.kernels.gemm_plan"

PACKED = Kernel(
    "packed",
    plan=f"{HERE}.padded:PackedGemm",
    accesses=f"{HERE}.padded:PackedGemm.accesses",
    draw=f"{SHOW}:packed_gemm_picture",
    **GEMM,
)

EDGED = Kernel(
    "edged",
    plan=f"{HERE}.residue:EdgedGemm",
    accesses=f"{HERE}.residue:EdgedGemm.accesses",
    draw=f"{SHOW}:edged_gemm_picture",
    **GEMM,
)
