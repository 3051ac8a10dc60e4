"""Plans on the CPU: the same plan, thread by thread, through the same layouts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from tilewright.kernels.copy.plan import CopyPlan


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
    from tilewright.kernels.common.report import CopyReport

    if not plan.src_aligned:  # its accesses are made of aligned ones
        found["misaligned_load"] = {"count": 0, "first": []}
    return CopyReport(math.prod(p.extents), found)
