"""The kernel of GEMMs by universal FMA: kernels/gemm_simt.cuh."""

from __future__ import annotations

from tilewright.kernels.gemm.kernel import TILED
from tilewright.kernels.kernel import Kernel

HERE = "tilewright.kernels.gemm.simt"

SIMT = Kernel(
    "simt",
    plan=f"{HERE}.plan:GemmSimt",
    source="gemm_simt.cuh",
    archs=(75, None),
    choose=f"{HERE}.build:choose",
    variants=f"{HERE}.build:variants",
    considered=f"{HERE}.build:considered",
    given=f"{HERE}.build:given",
    expected=f"{HERE}.cost:cost",
    tables=f"{HERE}.tables:simt_tables",
    accesses=f"{HERE}.accesses:accesses",
    **TILED,
)
