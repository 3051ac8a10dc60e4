"""plan.why() of copies: what was chosen from, and the times by which it was."""

from __future__ import annotations

import math

import pytest

from copy_plans import instantiations
from tilewright.kernels.copy.choose import choose_copy, copy_by_rows
from tilewright.kernels.copy.cost import BOUNDS, Cost
from tilewright.kernels.copy.numbers import COST
from tilewright.kernels.copy.packing import choose_packing, cost_of_plan, packed_plan
from tilewright.kernels.copy.rows_cost import cost_of_rows
from tilewright.kernels.copy.why import why

PLANS = dict(instantiations())
ALIGNED = (256, 256)


@pytest.mark.parametrize("name", PLANS)
def test_the_chosen_plan_stands_first_and_the_others_by_their_times(name):
    plan = PLANS[name]
    found = why(plan)
    assert [row.chosen for row in found] == [True] + [False] * (len(found) - 1)
    assert found[0].plan == plan
    assert len({row.plan for row in found}) == len(found)
    others = [row.seconds for row in found][1:]
    assert others == sorted(others)
    for row in found:
        assert row.bound in BOUNDS
        assert row.moved >= 0.5  # a source that is one element for all has hardly any
        assert 0 <= row.cost.without(row.bound) == min(map(row.cost.without, BOUNDS)) <= row.seconds


def test_the_times_are_those_by_which_it_was_chosen():
    """A packed plan is taken where its time is clearly less than that of rows."""
    kinds = set()
    for plan in PLANS.values():
        p = plan.problem
        chosen, rows, packing = choose_copy(p, *ALIGNED), copy_by_rows(p, *ALIGNED), choose_packing(p, *ALIGNED)
        if packing is None or chosen.tiled_copy is not None:
            continue
        costs = {row.plan: row.cost for row in why(chosen)}
        assert costs[rows] == cost_of_rows(rows)
        assert costs[packed_plan(p, packing)] == packing.cost
        if chosen.kernel == "packed":
            assert costs[chosen].seconds < COST.clearly * costs[rows].seconds
        kinds.add(chosen.kernel)
    assert kinds == {"direct", "staged", "packed"}


def test_a_packed_plan_costs_what_its_packing_does():
    plan = PLANS["packed, 5 modes, 8-bit"]
    packing = choose_packing(plan.problem, *ALIGNED)
    assert packed_plan(plan.problem, packing) == plan
    assert cost_of_plan(plan) == packing.cost


@pytest.mark.parametrize(
    ("cost", "bound"),
    [
        (Cost(1e9, 1e6, 1e5, 10**6), "memory"),
        (Cost(1e6, 1e9, 1e5, 10**6), "instructions"),
        (Cost(1e6, 1e6, 1e9, 10**6), "shared memory"),
        (Cost(1e9, 1.4e8, 3e7, 133), "last wave"),
        (Cost(1e3, 1e2, 0, 132), "launch"),
        (Cost(1e6, 1e6, 0, 132, waits=1e5), "waiting"),
        (Cost(1e3, 1e2, 0, 132, program=1e4), "first instructions"),
    ],
)
def test_the_bound_is_what_would_save_most(cost, bound):
    assert cost.bound == bound
    assert cost.seconds == COST.launch + cost.clocks / COST.clock
    assert cost.without("launch") == pytest.approx(cost.clocks / COST.clock)
    even = cost._replace(ctas=132 * math.ceil(cost.ctas / 132))
    assert cost.without("last wave") == pytest.approx(even.seconds)


def test_it_prints_as_a_table():
    lines = str(why(PLANS["packed, 5 modes, 8-bit"])).splitlines()
    assert lines[0].endswith("on NVIDIA H200")
    assert " ".join(lines[1].split()) == "kernel tile load store CTAs moved predicted bound by without it"
    assert lines[2].startswith(">  packed  (75,88,1,3)  128 bits  128 bits  480   1.05")
    assert any(line.split()[0] == "staged" for line in lines[3:])
