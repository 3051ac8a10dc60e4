"""The kernel of GEMMs by wgmma and TMA: kernels/gemm_sm90.cuh."""

from __future__ import annotations

from tilewright.kernels.gemm.kernel import TILED
from tilewright.kernels.kernel import Kernel

HERE = "tilewright.kernels.gemm.sm90"

SM90 = Kernel(
    "sm90",
    plan=f"{HERE}.plan:GemmSm90",
    source="gemm_sm90.cuh",
    archs=(90, 90),
    choose=f"{HERE}.choose:choose",
    variants=f"{HERE}.choose:variants",
    considered=f"{HERE}.choose:considered",
    given=f"{HERE}.choose:given",
    expected=f"{HERE}.cost:cost",
    tables=f"{HERE}.tables:tables",
    accesses=f"{HERE}.accesses:accesses",
    **TILED,
)
