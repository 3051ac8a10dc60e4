"""What the kernels of GEMMs have in common: how their plans meet tensors, and their pictures."""

from __future__ import annotations

from typing import Any

__all__ = ["GEMM", "TILED"]

HERE, SHOW = "tilewright.kernels.gemm", "tilewright.show.kernels"

# Of a kernel whose plans do a GEMM, in however many launches.
GEMM: dict[str, Any] = {
    "problem": f"{HERE}.problem:GemmProblem",
    "tensors": ("A", "B", "C", "bias"),
    "fit": f"{HERE}.run:fit",
    "conditions": f"{HERE}.run:conditions",
    "host": f"{HERE}.run:host",
    "launch": "tilewright.kernels.common.launch:launch",
}

# Of one whose plans are GemmPlans.
TILED: dict[str, Any] = {
    **GEMM,
    "draw": f"{SHOW}.gemm_plan:gemm_plan_picture",
    # The tile of a CTA by who brings and who multiplies it, with the banks of shared memory; its stages step by step;
    # the order of the tiles of C.
    "pictures": {
        "tile": f"{SHOW}.gemm_tile:gemm_tile_picture",
        "stages": f"{SHOW}.gemm_order:gemm_stages_picture",
        "order": f"{SHOW}.gemm_order:gemm_order_picture",
    },
}
