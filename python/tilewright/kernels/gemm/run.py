"""Plans on tensors: whether they fit, and running them where the tensors are."""

from __future__ import annotations

from typing import Any, TypeAlias

from tilewright.kernels.common.launch import launch
from tilewright.kernels.common.operands import CPU, CUDA_HOST
from tilewright.kernels.gemm.composite.plan import CompositeGemm
from tilewright.kernels.gemm.operands import GemmOperands, gemm_operands
from tilewright.kernels.gemm.plan import GemmPlan
from tilewright.kernels.gemm.request import GemmRequest

Plan: TypeAlias = GemmPlan | CompositeGemm


def fitted(plan: Plan, operands: GemmOperands, function: str) -> Plan:
    """The plan for these tensors: sizes may differ, what the kernel relies on must not. ValueError otherwise."""
    problem = operands.problem
    own = plan.problem.swapped() if plan.swapped else plan.problem
    for name, mine, theirs in zip("ABC", own[:3], problem[:3], strict=True):
        if mine is not theirs:
            raise ValueError(
                f"{function}: the plan is for an {name} of {mine}, but m{name} has elements of {theirs}; make a plan "
                "for them"
            )
    if problem != own:  # else what the plan has made is kept
        plan = plan.for_problem(problem.swapped() if plan.swapped else problem)
    if not operands.empty:
        conditions(plan, operands.addresses, function)
    return plan


def execute(
    plan: Plan, operands: GemmOperands, stream: int | None = None, positions: tuple[int, ...] | None = None
) -> Any:
    """Run a plan that fits where the tensors are; the launch if it can be repeated, else None."""
    if operands.c.device[0] in (CPU, CUDA_HOST):
        host(plan, operands, False)
        return None
    return launch(plan, operands, stream, positions)


def host(plan: Plan, operands: GemmOperands, check: bool) -> Any:
    """Run a plan on the CPU; its report if `check`."""
    return plan.run_on_host(*operands.addresses, check)


def conditions(plan: Plan, addresses: tuple[int, int, int, int], function: str) -> None:
    """ValueError where the plan's kernel relies on what does not hold for A, B, C and bias at these addresses."""
    a, b, c, _ = addresses
    plan.require(*((b, a) if plan.swapped else (a, b)), c, function)


def fit(
    plan: Plan, function: str, *tensors: Any, bias: Any = None, stream: int | None = None, check: bool = False
) -> tuple[Plan, GemmOperands]:
    """The plan for these tensors mA, mB and mC, which is made where it is not given, and the operands."""
    if len(tensors) not in (2, 3):
        raise TypeError(
            f"{function}: a GEMM has the tensors mA, mB and, if it exists, mC, but {len(tensors)} are given"
        )
    mA, mB, *given = tensors
    if not given:
        from tilewright.kernels.gemm.output import empty_output

        given = [empty_output(function, mA, mB, plan.problem.c_type)]
    (mC,) = given
    operands = _operands(function, plan, mA, mB, mC, bias, stream)
    return fitted(plan, operands, function), operands


def _operands(function: str, plan: Plan, mA: Any, mB: Any, mC: Any, bias: Any, stream: int | None) -> GemmOperands:
    """The operands of plan.run and plan.bind, whose epilogue is the plan's."""
    epilogue = plan.problem.epilogue
    if (bias is None) != (epilogue.bias is None):
        raise ValueError(
            f"{function}: the plan {'adds a' if bias is None else 'has no'} bias; "
            + ("pass bias=..." if bias is None else "make a plan with one")
        )
    request = GemmRequest(
        alpha=epilogue.alpha, beta=epilogue.beta, bias=bias, activation=epilogue.activation, plan=plan, stream=stream
    )
    return gemm_operands(function, mA, mB, mC, request)
