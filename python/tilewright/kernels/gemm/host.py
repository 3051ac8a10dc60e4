"""GEMM plans on the CPU: the same plan, thread by thread, through its tables."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tilewright import _core

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem
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

    program, addresses = program_of(plan), (a_address, b_address, c_address)
    problems = list(_equal_parts(plan.problem, addresses))
    if not check:
        for problem, places in problems:
            program.run(problem, compute_type(problem), *places, bias_address, threads=threads)
        return None
    from tilewright.kernels.gemm.report import GemmReport

    reports = [
        GemmReport(
            problem.m * problem.n * problem.batches,
            program.check(problem, compute_type(problem), *places, bias_address, move=move),
        )
        for problem, places in problems
    ]
    return next((report for report in reports if not report), GemmReport(sum(x.size for x in reports), {}))


def _equal_parts(
    problem: GemmProblem, addresses: tuple[int, int, int]
) -> Iterator[tuple[GemmProblem, tuple[int, int, int]]]:
    """The problem and where its tensors are; of parts of K of which the last one is shorter, the others, then that."""
    p = problem
    if not p.whole_k:
        yield p, addresses
        return
    count, rest = divmod(p.whole_k, p.k)
    yield p._replace(batch=(*p.batch[:-1], count), whole_k=0), addresses
    sides = zip(addresses, (p.a_type, p.b_type, p.c_type), (p.a_strides, p.b_strides, p.c_strides), strict=True)
    a, b, c = (address + count * strides[-1] * int(dtype.bits) // 8 for address, dtype, strides in sides)
    yield p._replace(batch=(*p.batch[:-1], 1), k=rest, whole_k=0), (a, b, c)
