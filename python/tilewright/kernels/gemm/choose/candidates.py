"""The plans that are worth measuring for a problem, by what the kernels' models expect of them."""

from __future__ import annotations

from heapq import merge
from itertools import chain
from typing import TYPE_CHECKING, Any

from tilewright.kernels.gemm.choose.choose import asks_both_ways, choose_gemm, expected, orientations
from tilewright.kernels.gemm.choose.short_sums import has_short_sums
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.kernel import kernel_of, kernels_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.choose.cost import Cost
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.run import Plan
    from tilewright.kernels.kernel import Kernel

    Alignments = tuple[int, int, int]

__all__ = ["CANDIDATES", "candidates", "considered", "text_of"]

CANDIDATES = 12  # plans that are measured at most, each of which is compiled
HOPELESS = 4.0  # a kernel that is expected to take so many times the time of the best one is not measured


def candidates(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> list[Plan]:
    """The chosen plan, then those that are expected to be the fastest, CANDIDATES together.

    The best plan of every kernel that is not hopeless is among them. Where the kernels have fewer tiles, their plans of
    other depths and stages follow. No more plans are built than are returned, or hardly. Of Float64 only those are
    among them whose sums are short.

    >>> from tilewright import BFloat16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> found = candidates(problem_of(4096, 4096, 4096, BFloat16), (256, 256, 256), H200)
    >>> len(found), found[0].tiler_mnk, {plan.kernel_name for plan in found} == {"sm90", "sm80"}
    (12, (128, 256, 64), True)
    """
    chosen = choose_gemm(problem, alignments, facts)
    kernels = kernels_for(problem, facts.capability)
    runs = [run for kernel in kernels for run in considered(kernel, problem, alignments, facts)]
    heads = [(next(run), run) for run in runs]
    least = min((expected(plan, facts) for (plan, _), _ in heads), default=0.0)
    kept = [(head, run) for head, run in heads if expected(head[0], facts) <= HOPELESS * least]
    kinds = {kernel_of(plan): plan for (plan, _), _ in reversed(kept)}
    by_time = merge(*(chain([head], run) for head, run in kept), key=lambda found: found[1].seconds)
    others = (
        plan.replace(swapped=True) if swapped else plan
        for kernel in kernels
        if kernel in kinds
        for view, aligned, swapped in orientations(problem, alignments)
        for plan in kernel.variants(view, aligned, facts)
        if plan.shared_bytes <= facts.shared_bytes
    )
    found: dict[str, Plan] = {}
    for plan in chain([chosen], kinds.values(), (plan for plan, _ in by_time), others):
        if plan is chosen or has_short_sums(plan.kernel_plan, problem, facts):
            found.setdefault(text_of(plan), plan)
        if len(found) == CANDIDATES:
            break
    return list(found.values())


def considered(
    kernel: Kernel, problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, padded: Any = None
) -> list[Iterator[tuple[Any, Cost]]]:
    """What a kernel chooses from, the best first, in the orientation in which it is asked, or in both.

    `padded`: which of A and B are turned copies, for gemm_simt. No iterator is empty.
    """
    runs: list[Iterator[tuple[Any, Cost]]] = []
    for view, aligned, swapped in orientations(problem, alignments):
        sides = () if padded is None or kernel is not SIMT else (padded[::-1] if swapped else padded,)
        run = _swapped(kernel.considered(view, aligned, facts, *sides), swapped)
        head = next(run, None)
        if head is not None:
            runs.append(chain([head], run))
            if not asks_both_ways(kernel, problem, alignments):
                break
    return runs


def _swapped(found: Iterator[tuple[Any, Cost]], swapped: bool) -> Iterator[tuple[Any, Cost]]:
    return ((plan.replace(swapped=True) if swapped else plan, cost) for plan, cost in found)


def text_of(plan: Plan) -> str:
    """What tells a plan from all others for one problem."""
    return f"{plan}\n{plan.kernel_plan.name}"
