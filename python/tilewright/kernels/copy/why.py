"""Why a copy got its plan: what was chosen from, how long each was expected to take, and what bounds it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tilewright.cute.int_tuple import text
from tilewright.devices import H200
from tilewright.kernels.common.why import Why, shown
from tilewright.kernels.copy.choose import copy_by_rows
from tilewright.kernels.copy.cost import Cost, cost_of_rows
from tilewright.kernels.copy.packing import choose_packing, cost_of_plan, packed_plan, packings
from tilewright.kernels.copy.plan import CopyPlan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.kernels.copy.problem import CopyProblem

__all__ = ["Candidate", "why"]

ALIGNED = (256, 256)  # of plans that were not chosen, nothing else is known
HEADS = ("", "kernel", "tile", "load", "store", "CTAs", "moved", "predicted", "bound by", "without it")


class Candidate(NamedTuple):
    """A plan that was chosen from, its cost, and whether it is the plan itself."""

    plan: CopyPlan
    cost: Cost
    chosen: bool

    @property
    def seconds(self) -> float:
        """The time that it is expected to take."""
        return self.cost.seconds

    @property
    def bound(self) -> str:
        """What would save most of the time if it took none, such as "memory" or "instructions"."""
        return self.cost.bound

    @property
    def moved(self) -> float:
        """The bytes of all sectors that are moved, as a multiple of those that are copied."""
        p = self.plan.problem
        return self.cost.sectors / (2 * p.element_bytes * math.prod(p.extents))

    def cells(self) -> tuple[str, ...]:
        """Its row of the table."""
        bits = 8 * self.plan.problem.element_bytes
        return (
            ">" if self.chosen else "",
            self.plan.kernel,
            text(self.plan.tile),
            f"{self.plan.load_vector * bits} bits",
            f"{self.plan.store_vector * bits} bits",
            str(self.plan.ctas),
            f"{self.moved:.2f}",
            shown(self.seconds),
            self.bound,
            shown(self.cost.without(self.bound)),
        )


def why(plan: CopyPlan) -> Why[Candidate]:
    """CopyPlan.why: see there."""
    costs = {plan: cost_of(plan)}
    for each, cost in _candidates(plan.problem, *vars(plan).get("chosen_for", ALIGNED)):
        costs.setdefault(each, cost)
    found = [Candidate(each, cost, each == plan) for each, cost in costs.items()]
    found.sort(key=lambda x: (not x.chosen, x.seconds))
    return Why(plan.problem, H200.name, HEADS, tuple(found))


def cost_of(plan: CopyPlan) -> Cost:
    """What a plan costs."""
    return cost_of_plan(plan) if plan.kernel == "packed" else cost_of_rows(plan)


def _candidates(problem: CopyProblem, src_align: int, dst_align: int) -> Iterator[tuple[CopyPlan, Cost]]:
    """What is chosen from: the plan by rows, and packed ones, of which the best one has further strides."""
    by_rows = copy_by_rows(problem, src_align, dst_align)
    yield by_rows, cost_of_rows(by_rows)
    best = choose_packing(problem, src_align, dst_align)
    for each in (*([] if best is None else [best]), *packings(problem, src_align, dst_align)):
        yield packed_plan(problem, each), each.cost
