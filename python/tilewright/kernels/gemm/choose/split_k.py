"""In how many parts along K a GEMM is done whose C has few tiles, if they are faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.gemm.choose.few_tiles import SplitK, tiles_of
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.composite.padded import PaddedGemm, padding_seconds
from tilewright.kernels.gemm.composite.plan import CompositeGemm
from tilewright.kernels.gemm.composite.split_k import SplitKGemm, parts_problem
from tilewright.kernels.gemm.composite.sum_parts import SumParts, takes_accesses
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.run import Plan

    Alignments = tuple[int, int, int]

__all__ = ["in_parts", "seconds_of", "split_k", "sum_seconds"]

ROW = 16  # bytes of whose multiple the kernels want a part's rows to begin


def split_k(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, whole: Plan,
    choose: Callable[[GemmProblem, Alignments, DeviceFacts], Plan],
) -> SplitKGemm | None:  # fmt: skip
    """The plan in parts along K; None where no number of parts is expected to be much faster than the `whole`.

    `choose` gives the plan of a problem whose K is not split.
    """
    limit = SplitK.of(facts).gain * seconds_of(whole, facts)
    best = None
    for plan in in_parts(problem, alignments, facts, choose):
        taken = seconds_of(plan.gemm, facts) + sum_seconds(plan, facts)
        if taken < limit:
            best, limit = plan, taken
    return best


def in_parts(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts,
    choose: Callable[[GemmProblem, Alignments, DeviceFacts], Plan],
) -> Iterator[SplitKGemm]:  # fmt: skip
    """The plans in parts along K that are looked at, those of few parts first."""
    for parts in _candidates(problem, facts):
        gemm = choose(parts_problem(problem, parts), (*alignments[:2], ROW), facts)
        if isinstance(gemm, PaddedGemm) or not isinstance(gemm, CompositeGemm):
            yield _plan(problem, alignments, facts, gemm, parts)


def _plan(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, gemm: GemmPlan | PaddedGemm, parts: int
) -> SplitKGemm:
    early = facts.capability >= 90
    sums = SumParts(problem=problem, parts=parts, wide=False, early=early)
    sums = sums.replace(wide=takes_accesses(problem, sums.vector, alignments[2]))
    return SplitKGemm(problem=problem, gemm=gemm, sum=sums)


def _candidates(problem: GemmProblem, facts: DeviceFacts) -> Iterator[int]:
    """The numbers of parts that come nearest to filling the device twice, once, by a half and by a quarter."""
    p, numbers = problem, SplitK.of(facts)
    size = p.a_type.bits // 8
    most = min(numbers.most_parts, p.k * size // numbers.least_bytes)
    along_k = p.a_strides[1] == 1 or p.b_strides[1] == 1
    fitting = [n for n in range(2, most + 1) if p.k % n == 0 and not (along_k and p.k // n * size % ROW)]
    if not fitting:  # rows that are copied first anyway begin where they like
        fitting = [n for n in range(2, most + 1) if p.k % n == 0]
    filling = facts.multiprocessors / tiles_of(p, numbers)
    found = {min(fitting, key=lambda n: abs(n - part * filling)) for part in (2, 1, 0.5, 0.25) if fitting}
    yield from sorted(found)


def sum_seconds(plan: SplitKGemm, facts: DeviceFacts) -> float:
    """The time of the second launch: its start, and what it reads and writes."""
    p, numbers = plan.problem, SplitK.of(facts)
    moved = p.m * p.n * p.batches * (plan.parts * int(p.acc_type.bits) + int(p.c_type.bits)) / 8
    return numbers.launch + moved / (numbers.share * Rates.of(facts).bandwidth * 1e12)


def seconds_of(plan: Plan, facts: DeviceFacts) -> float:
    """The seconds that a plan is expected to take, with the copies before it."""
    if isinstance(plan, PaddedGemm):
        return padding_seconds(plan.problem, plan.sides, facts) + seconds_of(plan.gemm, facts)
    single = plan.kernel_plan
    return kernel_of(single).expected(single, facts).seconds  # type: ignore[no-any-return]
