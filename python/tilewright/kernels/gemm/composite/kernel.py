"""Plans of several launches, which are registered as kernels are: they are analysed, drawn and run like others.

The launch by which sums of parts become C is a kernel of its own.
"""

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

SPLIT_K = Kernel(
    "split_k",
    plan=f"{HERE}.split_k:SplitKGemm",
    accesses=f"{HERE}.split_k:SplitKGemm.accesses",
    draw=f"{SHOW}:split_k_gemm_picture",
    **GEMM,
)

SUM_PARTS = Kernel(
    "sum_parts",
    plan=f"{HERE}.sum_parts:SumParts",
    tensors=("parts", "C", "bias"),
    source="sum_parts.cuh",
    accesses=f"{HERE}.sum_accesses:accesses",
)
