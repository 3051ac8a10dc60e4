"""The kernel of `tiled_copy`, `transpose` and `permute`: kernels/tiled_copy.cuh."""

from __future__ import annotations

from tilewright.kernels.kernel import Kernel

HERE = "tilewright.kernels.copy"

TILED_COPY = Kernel(
    "tiled_copy",
    plan=f"{HERE}.plan:CopyPlan",
    problem=f"{HERE}.problem:CopyProblem",
    tensors=("src", "dst"),
    source="tiled_copy.cuh",
    choose=f"{HERE}.choose:choose_copy",
    given=f"{HERE}.given:given_copy",
    fit=f"{HERE}.run:fit",
    conditions=f"{HERE}.run:conditions",
    host=f"{HERE}.run:host",
    launch="tilewright.kernels.common.launch:launch",
    accesses=f"{HERE}.accesses:accesses",
    draw="tilewright.show.kernels.copy_plan:copy_plan_picture",
    pictures={"tile": "tilewright.show.kernels.copy_plan:copy_plan_picture"},
)
