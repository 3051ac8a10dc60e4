"""Plans of several launches, which are registered as kernels are: they are analysed, drawn and run like others."""

from __future__ import annotations

from tilewright.kernels.gemm.kernel import GEMM
from tilewright.kernels.kernel import Kernel

HERE, SHOW = "tilewright.kernels.gemm.composite", "tilewright.show.kernels.gemm_plan"

PACKED = Kernel(
    "padded",
    plan=f"{HERE}.padded:PaddedGemm",
    accesses=f"{HERE}.padded:PaddedGemm.accesses",
    draw=f"{SHOW}:padded_gemm_picture",
    **GEMM,
)

EDGED = Kernel(
    "residue",
    plan=f"{HERE}.residue:ResidueGemm",
    accesses=f"{HERE}.residue:ResidueGemm.accesses",
    draw=f"{SHOW}:residue_gemm_picture",
    **GEMM,
)
