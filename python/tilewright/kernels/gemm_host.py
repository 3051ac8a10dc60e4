"""GEMM plans on the CPU: the same plan, thread by thread, through its tables."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from tilewright.kernels.gemm_plan import GemmPlan
    from tilewright.kernels.gemm_report import GemmReport

MAX_PROGRAMS = 32  # plans whose tables are kept


class Programs:
    """The programs of the plans that were run last, for a plan is mostly run again."""

    def __init__(self) -> None:
        self._programs: OrderedDict[Any, Any] = OrderedDict()
        self._lock = Lock()

    def of(self, plan: GemmPlan) -> Any:
        """The plan's tables in the form in which C++ runs them."""
        with self._lock:
            if plan in self._programs:
                self._programs.move_to_end(plan)
                return self._programs[plan]
        program = _core.host.GemmProgram(plan.tables())
        with self._lock:
            self._programs[plan] = program
            while len(self._programs) > MAX_PROGRAMS:
                self._programs.popitem(last=False)
        return program


PROGRAMS = Programs()


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
    from tilewright.kernels.epilogue import compute_type

    problem, program = plan.problem, PROGRAMS.of(plan)
    arguments = (problem, compute_type(problem), a_address, b_address, c_address, bias_address)
    if not check:
        program.run(*arguments, threads=threads)
        return None
    from tilewright.kernels.gemm_report import GemmReport

    return GemmReport(problem.m * problem.n * problem.batches, program.check(*arguments, move=move))
