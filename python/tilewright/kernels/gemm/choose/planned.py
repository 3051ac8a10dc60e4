"""The plan of a call of kernels.gemm: a given one, one of given parts, a tuned or a chosen one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright.cute.int_tuple import text
from tilewright.devices import DEVICES, H200
from tilewright.kernels.common.launch import facts_of, require_stream
from tilewright.kernels.common.operands import CUDA, CUDA_MANAGED
from tilewright.kernels.gemm.choose.choose import choose_gemm, ranked
from tilewright.kernels.gemm.operands import gemm_operands, number
from tilewright.kernels.gemm.output import empty_output
from tilewright.kernels.gemm.run import fitted
from tilewright.kernels.kernel import kernels_for
from tilewright.numeric import Float32, TFloat32

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.operands import GemmOperands
    from tilewright.kernels.gemm.request import GemmRequest
    from tilewright.kernels.gemm.run import Plan

__all__ = ["output_for", "planned"]


def planned(
    function: str, mA: Any, mB: Any, mC: Any, request: GemmRequest, arch: str | None = None
) -> tuple[GemmOperands, Any]:
    """The operands of a call and its plan; None in place of the plan where C has no elements."""
    require_stream(function, request.stream)
    if mC is None:
        mC = output_for(function, mA, mB, request.beta, request.plan, request.out_dtype)
    request.require(function)
    operands = gemm_operands(function, mA, mB, mC, request)
    return operands, None if operands.empty else _plan_for(function, operands, request, arch)


def output_for(function: str, mA: Any, mB: Any, beta: Any, plan: Any, out_dtype: Any) -> Any:
    """The array for the result where none is given."""
    if number(function, "beta", beta) != 0:
        raise ValueError(f"{function}: beta is {beta}, but there is no mC to read; pass mC")
    return empty_output(function, mA, mB, plan.problem.c_type if hasattr(plan, "problem") else out_dtype)


def _plan_for(function: str, operands: GemmOperands, request: GemmRequest, arch: str | None) -> Plan:
    """The plan for these operands; it fits them and their device."""
    facts = _facts_for(function, operands, arch)
    if request.plan is not None:
        plan: Plan = fitted(request.plan, operands, function)
    elif request.tiled_mma is not None:
        plan = _of_parts(function, operands, request.tiled_mma.op, request.parts)
        plan.require(*operands.addresses[:3], function)
    elif request.tiler_mnk is not None or request.stages is not None:
        plan = _among(function, operands, facts, request.tiler_mnk, request.stages)
    else:
        return _tuned(operands) or choose_gemm(operands.problem, operands.alignments, facts)
    plan.require_device(facts, function)
    return plan


def _facts_for(function: str, operands: GemmOperands, arch: str | None = None) -> DeviceFacts:
    """The device to plan for: that of the tensors, or the usual one of an architecture."""
    if arch is not None:
        if not isinstance(arch, str) or arch not in DEVICES:
            raise ValueError(f"{function}: arch is {arch!r}, but it must be one of {', '.join(DEVICES)}")
        return DEVICES[arch]
    if operands.c.device[0] in (CUDA, CUDA_MANAGED):
        return facts_of(operands.c.device[1])
    return H200


def _of_parts(function: str, operands: GemmOperands, op: Any, parts: dict[str, Any]) -> Plan:
    problem = operands.problem
    for name, wanted, found in (("mA", op.a_dtype, problem.a_type), ("mB", op.b_dtype, problem.b_type)):
        if wanted is not found:
            shown = Float32 if found is TFloat32 else found
            raise TypeError(
                f"{function}: the TiledMma multiplies {op.a_dtype} by {op.b_dtype}, but {name} has elements of {shown}"
            )
    if op.acc_dtype is not problem.acc_type:
        raise TypeError(
            f"{function}: the TiledMma adds up in {op.acc_dtype}, but products of {op.a_dtype} are summed in "
            f"{problem.acc_type}; use an atom that accumulates in {problem.acc_type}"
        )
    plans = (kernel.given(problem, *parts.values(), operands.alignments) for kernel in kernels_for(problem))
    plan: Plan | None = next((plan for plan in plans if plan is not None), None)
    if plan is None:
        raise TypeError(f"{function}: no kernel multiplies by {op}")
    return plan


def _among(function: str, operands: GemmOperands, facts: DeviceFacts, tiler: Any, stages: Any) -> Plan:
    """The best of the plans with this tiler and so many stages."""
    found = ranked(operands.problem, operands.alignments, facts)
    fitting = [
        plan
        for plan in found
        if (tiler is None or plan.tiler_mnk == tiler) and (stages is None or plan.stages == stages)
    ]
    if not fitting:
        alike = [plan for plan in found if tiler in (None, plan.tiler_mnk)]
        if alike:
            known = ", ".join(map(str, sorted({plan.stages for plan in alike})))
            tile = "" if tiler is None else f" with tiler_mnk {text(tiler)}"
            raise ValueError(
                f"{function}: no kernel has a plan of {stages} stages{tile} for these tensors, but of {known}; with a "
                "tiled_mma others are possible"
            )
        known = ", ".join(map(text, sorted({plan.tiler_mnk for plan in found})))
        raise ValueError(
            f"{function}: no kernel has a plan with tiler_mnk {text(tiler)} for these tensors, but with {known}; with "
            "a tiled_mma others are possible"
        )
    return fitting[0]


def _tuned(operands: GemmOperands) -> Plan | None:
    """The plan that was measured to be the fastest on the tensors' device, if one was."""
    if operands.c.device[0] not in (CUDA, CUDA_MANAGED):
        return None
    from tilewright.kernels.gemm.choose.tune import stored

    return stored(operands)
