"""The plan of a call of a copy, and its run; loaded with the first copy."""

from __future__ import annotations

from typing import Any

from tilewright.kernels.common.launch import launch
from tilewright.kernels.common.operands import CPU, CUDA, CUDA_HOST, CUDA_MANAGED, Operand, Operands, operand
from tilewright.kernels.copy.choose import choose_copy
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.problem import copy_problem
from tilewright.kernels.copy.run import run_on_host

__all__ = ["make_plan", "plan_operands", "require_plan", "run_plan"]


def require_plan(function: str, plan: object) -> None:
    """TypeError where `plan` is not a plan of a copy."""
    if not isinstance(plan, CopyPlan):
        raise TypeError(f"{function}: expected plan to be a CopyPlan, but got {type(plan).__name__}")


def make_plan(function: str, src: Any, dst: Any, tiled_copy: Any = None, stream: int | None = None) -> Any:
    """The plan of a copy and its operands; None in place of the plan where there is nothing to copy."""
    return plan_operands(
        function, operand(src, function, "src", stream), operand(dst, function, "dst", stream), tiled_copy
    )


def plan_operands(function: str, src: Operand, dst: Operand, tiled_copy: Any = None) -> Any:
    """As make_plan, for operands."""
    problem = copy_problem(src, dst, function, tiled_copy is None)
    if src.size == 0:
        return None, src, dst
    addresses = (
        src.address + problem.src_offset * problem.element_bytes,
        dst.address + problem.dst_offset * problem.element_bytes,
    )
    if tiled_copy is None:
        alignments = tuple(address & -address for address in addresses)
        plan = choose_copy(problem, *alignments)
        plan.__dict__["chosen_for"] = alignments  # plan.why() asks; no part of its value
    else:
        plan = _given(function, src, problem, tiled_copy)
    plan.require(src.address, dst.address, function)
    return plan, src, dst


def _given(function: str, src: Operand, problem: Any, tiled_copy: Any) -> CopyPlan:
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.kernels.copy.given import given_copy

    if not isinstance(tiled_copy, TiledCopy):
        raise TypeError(f"{function}: expected tiled_copy to be a TiledCopy, but got {type(tiled_copy).__name__}")
    bits = tiled_copy.value_type.bits
    if bits != 8 * src.element_bytes:
        raise TypeError(
            f"{function}: the TiledCopy's atom has values of {bits} bits ({tiled_copy.value_type}), but src has "
            f"elements of {8 * src.element_bytes} bits ({src.element_type}); make the atom for {src.element_type}"
        )
    return given_copy(problem, tiled_copy)


def run_plan(plan: CopyPlan, src: Operand, dst: Operand, stream: int | None) -> Any:
    """Run a plan where its tensors are; the prepared launch on a GPU, None on the CPU."""
    if src.device[0] in (CPU, CUDA_HOST):
        run_on_host(plan, src.address, dst.address)
        return None
    if src.device[0] in (CUDA, CUDA_MANAGED):
        return launch(plan, Operands((src, dst)), stream)
    raise ValueError(f"kernels.tiled_copy: src lies on {src.place}; copies run on the CPU and on CUDA devices")
