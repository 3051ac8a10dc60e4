"""Why a copy got its plan: what was chosen from, how long each was expected to take, and what bounds it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tilewright.cute.int_tuple import text
from tilewright.devices import H200
from tilewright.kernels.common.why import Candidate, Why
from tilewright.kernels.copy.choose import copy_by_rows
from tilewright.kernels.copy.cost import Cost
from tilewright.kernels.copy.packing import cost_of_plan, fastest, packed_plan, packings
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.rows_cost import cost_of_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.kernels.copy.problem import CopyProblem

__all__ = ["CopyCandidate", "why"]

ALIGNED = (256, 256)  # of plans that were not chosen, nothing else is known


class CopyCandidate(Candidate[CopyPlan, Cost]):
    """A plan of a copy that was chosen from."""

    HEADS = ("kernel", "tile", "load", "store", "CTAs", "moved")

    @property
    def moved(self) -> float:
        """The bytes of all sectors that are moved, as a multiple of those that are copied."""
        p = self.plan.problem
        return self.cost.sectors / (2 * p.element_bytes * math.prod(p.extents))

    def described(self) -> tuple[str, ...]:
        """As Candidate.described."""
        plan, bits = self.plan, 8 * self.plan.problem.element_bytes
        widths = (f"{vector * bits} bits" for vector in (plan.load_vector, plan.store_vector))
        return plan.kernel, text(plan.tile), *widths, str(plan.ctas), f"{self.moved:.2f}"


def why(plan: CopyPlan) -> Why[CopyCandidate]:
    """CopyPlan.why: see there."""
    costs = {plan: cost_of(plan)}
    for each, cost in _candidates(plan.problem, *vars(plan).get("chosen_for", ALIGNED)):
        costs.setdefault(each, cost)
    found = [CopyCandidate(each, cost, each == plan) for each, cost in costs.items()]
    found.sort(key=lambda x: (not x.chosen, x.seconds))
    return Why(plan.problem, H200.name, tuple(found))


def cost_of(plan: CopyPlan) -> Cost:
    """What a plan costs."""
    return cost_of_plan(plan) if plan.kernel == "packed" else cost_of_rows(plan)


def _candidates(problem: CopyProblem, src_align: int, dst_align: int) -> Iterator[tuple[CopyPlan, Cost]]:
    """What is chosen from: the plan by rows, and packed ones, of which the best one has further strides."""
    by_rows = copy_by_rows(problem, src_align, dst_align)
    yield by_rows, cost_of_rows(by_rows)
    found = packings(problem, src_align, dst_align)
    for each in (*fastest(problem, found), *found):
        yield packed_plan(problem, each), each.cost
