"""Plans on tensors: whether they fit, and running them where the tensors are."""

from __future__ import annotations

from typing import Any, TypeAlias

from tilewright.kernels.common.launch import bind, launch, require_stream
from tilewright.kernels.copy.problem import CPU, CUDA_HOST
from tilewright.kernels.gemm.composite.plan import CompositeGemm
from tilewright.kernels.gemm.operands import GemmOperands, gemm_operands
from tilewright.kernels.gemm.plan import GemmPlan
from tilewright.numeric import TFloat32

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
    plan = plan.for_problem(problem.swapped() if plan.swapped else problem)
    if not operands.empty:
        a, b, c, _ = operands.addresses
        plan.require(*((b, a) if plan.swapped else (a, b)), c, function)
    return plan


def execute(
    plan: Plan, operands: GemmOperands, stream: int | None = None, positions: tuple[int, ...] | None = None
) -> Any:
    """Run a plan that fits where the tensors are; the launch if it can be repeated, else None."""
    if operands.c.device[0] in (CPU, CUDA_HOST):
        _on_host(plan, operands, False)
        return None
    return launch(plan, operands, stream, positions)


def _on_host(plan: Plan, operands: GemmOperands, check: bool) -> Any:
    """Run a plan on the CPU; its report if `check`."""
    from tilewright.kernels.gemm.host import run_on_host

    a, b, c, bias = operands.addresses
    if isinstance(plan, CompositeGemm):
        return plan.run_on_host(a, b, c, bias, check)
    return run_on_host(plan, *((b, a) if plan.swapped else (a, b)), c, bias, check=check)


def _operands(function: str, plan: Plan, mA: Any, mB: Any, mC: Any, bias: Any, stream: int | None) -> GemmOperands:
    """The operands of plan.run and plan.bind, whose epilogue is the plan's."""
    epilogue = plan.problem.epilogue
    if (bias is None) != (epilogue.bias is None):
        raise ValueError(
            f"{function}: the plan {'adds a' if bias is None else 'has no'} bias; "
            + ("pass bias=..." if bias is None else "make a plan with one")
        )
    return gemm_operands(
        function,
        mA,
        mB,
        mC,
        alpha=epilogue.alpha,
        beta=epilogue.beta,
        bias=bias,
        activation=epilogue.activation,
        tf32=TFloat32 in plan.problem[:2],
        stream=stream,
    )


def run_plan(plan: Plan, mA: Any, mB: Any, mC: Any, bias: Any, stream: int | None, check: bool) -> Any:
    """plan.run: see there."""
    require_stream("plan.run", stream)
    if type(check) is not bool:
        raise TypeError(f"plan.run: expected check to be True or False, but got {check!r}")
    if mC is None:
        from tilewright.kernels.gemm.output import empty_output

        mC = empty_output("plan.run", mA, mB, plan.problem.c_type)
    operands = _operands("plan.run", plan, mA, mB, mC, bias, stream)
    plan = fitted(plan, operands, "plan.run")
    if check:
        if operands.c.device[0] not in (CPU, CUDA_HOST):
            raise ValueError("plan.run: check=True runs on the CPU; pass CPU tensors of the same shape and strides")
        return _on_host(plan, operands, True)
    if not operands.empty:
        execute(plan, operands, stream)
    return mC


def bind_plan(plan: Plan, mA: Any, mB: Any, mC: Any, bias: Any) -> Any:
    """plan.bind: see there."""
    operands = _operands("plan.bind", plan, mA, mB, mC, bias, None)
    plan = fitted(plan, operands, "plan.bind")
    if operands.empty or operands.c.device[0] in (CPU, CUDA_HOST):

        def bound() -> None:
            if not operands.empty:
                execute(plan, operands)

        return bound
    return bind(plan, operands)
