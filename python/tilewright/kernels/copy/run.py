"""Plans of copies on tensors: what the kernel's registration names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.kernels.common.operands import Operands

if TYPE_CHECKING:
    from tilewright.kernels.common.report import CopyReport
    from tilewright.kernels.copy.plan import CopyPlan

__all__ = ["conditions", "fit", "host", "run_on_host"]


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
        return _report(0, {})
    report: CopyReport | None = run_on_host(plan, *operands.addresses, check=check)
    return report


def run_on_host(plan: CopyPlan, src_address: int, dst_address: int, *, check: bool = False) -> Any:
    """Run a plan between two addresses in CPU memory; with `check`, the report of what it did to every element."""
    p = plan.problem
    function: Any = _core.host.check_copy if check else _core.host.run_copy
    packed = plan.kernel == "packed"  # whose accesses are aligned wherever rows begin: element by element here
    found = function(
        src_address + p.src_offset * p.element_bytes,
        dst_address + p.dst_offset * p.element_bytes,
        element_bytes=p.element_bytes,
        extents=p.extents,
        src_strides=p.src_strides,
        dst_strides=p.dst_strides,
        tile=plan.tile,
        load_tv=plan.load_tv,
        store_tv=plan.store_tv,
        load_vector=plan.load_vector if plan.src_step == 1 and not packed else 1,
        store_vector=1 if packed else plan.store_vector,
        smem=plan.smem,
        src_mode=plan.src_mode,
        dst_mode=plan.dst_mode,
        dst_shift=plan.dst_shift,
    )
    if not check:
        return None
    if not plan.src_aligned:  # its accesses are made of aligned ones
        found["misaligned_load"] = {"count": 0, "first": []}
    return _report(math.prod(p.extents), found)


def _report(elements: int, found: dict[str, Any]) -> CopyReport:
    from tilewright.kernels.common.report import CopyReport

    return CopyReport(elements, found)
