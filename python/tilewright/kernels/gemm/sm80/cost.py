"""How long gemm_sm80 takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.gemm.choose.estimate import seconds

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.sm80.plan import GemmSm80


def cost(plan: GemmSm80, facts: DeviceFacts) -> float:
    """The seconds that a plan is expected to take on a device."""
    return seconds(plan.problem, plan.tiler_mnk, "sm80", facts)
