"""GEMM plans on the CPU: the same plan, thread by thread, through its tables."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.report import GemmReport

MAX_PROGRAMS = 32  # plans whose tables are kept


@lru_cache(MAX_PROGRAMS)  # which holds no lock that a fork could leave locked in the child
def program_of(plan: GemmPlan) -> Any:
    """A plan's tables in the form in which C++ runs them; kept, for a plan is mostly run again."""
    return _core.host.GemmProgram(plan.tables())


def run_on_host(
    plan: GemmPlan,
    a_address: int,
    b_address: int,
    c_address: int,
    bias_address: int = 0,
    *,
    check: bool = False,
    move: bool = True,
    threads: int = 0,
) -> GemmReport | None:
    """Run a plan on tensors in CPU memory, the addresses being those of the elements 0 of `plan.problem`.

    The same bits come out with any number of threads (0: one for each core). With `check`, the report of what the plan
    did, with marks on shared memory and on C; then, without `move`, nothing is computed, and the addresses only say how
    the tensors are aligned. ValueError where the plan's tables do not fit together.
    """
    from tilewright.kernels.gemm.epilogue import compute_type

    problem, program = plan.problem, program_of(plan)
    arguments = (problem, compute_type(problem), a_address, b_address, c_address, bias_address)
    if not check:
        program.run(*arguments, threads=threads)
        return None
    from tilewright.kernels.gemm.report import GemmReport

    return GemmReport(problem.m * problem.n * problem.batches, program.check(*arguments, move=move))
