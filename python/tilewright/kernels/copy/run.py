"""Plans of copies on tensors: what the kernel's registration names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.kernels.common.operands import Operands
from tilewright.kernels.common.report import CopyReport
from tilewright.kernels.copy.host import run_on_host

if TYPE_CHECKING:
    from tilewright.kernels.copy.plan import CopyPlan

__all__ = ["conditions", "fit", "host"]


def fit(
    plan: CopyPlan, function: str, *tensors: Any, stream: int | None = None, check: bool = False
) -> tuple[CopyPlan, Operands]:
    """The plan for other tensors src and dst, and these; as CopyPlan.fit."""
    if len(tensors) != 2:
        raise TypeError(f"{function}: a copy has two tensors, src and dst, but {len(tensors)} are given")
    plan, src, dst = plan.fit(*tensors, stream, check)
    return plan, Operands((src, dst))


def conditions(plan: CopyPlan, addresses: tuple[int, int], function: str) -> None:
    """ValueError where the plan does not fit tensors at these addresses; as CopyPlan.require."""
    plan.require(*addresses, function)


def host(plan: CopyPlan, operands: Operands, check: bool) -> CopyReport | None:
    """Run a plan on the CPU; with `check`, the report of what it did to every element."""
    if not operands[1].size:
        return CopyReport(0, {})
    report: CopyReport | None = run_on_host(plan, *operands.addresses, check=check)
    return report
