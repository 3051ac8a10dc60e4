"""The kernel of GEMMs by mma.sync and cp.async: kernels/gemm_sm80.cuh."""

from __future__ import annotations

from tilewright.kernels.gemm.kernel import TILED
from tilewright.kernels.kernel import Kernel

HERE = "tilewright.kernels.gemm.sm80"

SM80 = Kernel(
    "sm80",
    plan=f"{HERE}.plan:GemmSm80",
    source="gemm_sm80.cuh",
    archs=(80, None),
    choose=f"{HERE}.choose:choose",
    variants=f"{HERE}.choose:variants",
    considered=f"{HERE}.choose:considered",
    given=f"{HERE}.choose:given",
    expected=f"{HERE}.cost:cost",
    tables=f"{HERE}.tables:tables_of",
    accesses=f"{HERE}.accesses:accesses",
    **TILED,
)
