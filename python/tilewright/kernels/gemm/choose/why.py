"""Why a GEMM got its plan: what was chosen from, how long each was expected to take, and what bounds it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from tilewright.cute.int_tuple import text
from tilewright.devices import DEVICES, H200
from tilewright.kernels.common.why import Candidate, Why
from tilewright.kernels.gemm.choose.candidates import considered
from tilewright.kernels.gemm.choose.choose import RECIPES, Rule, Search, choose_whole
from tilewright.kernels.gemm.choose.split_k import cost_of, in_parts, sum_seconds
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import pad, padding_seconds
from tilewright.kernels.gemm.composite.residue import ResidueGemm
from tilewright.kernels.gemm.composite.split_k import SplitKGemm
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.choose.cost import Cost
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.run import Plan

    Alignments = tuple[int, int, int]

__all__ = ["GemmCandidate", "why", "why_on"]

SHOWN = 6  # of the plans in parts along K, of which there are many
ALIGNED = (256, 256, 256)  # of plans that were not chosen, nothing else is known


class GemmCandidate(Candidate["Plan", "Cost"]):
    """A plan of a GEMM that was chosen from."""

    HEADS = ("kernel", "tile", "cluster", "split-K", "stages", "CTAs")

    @property
    def kernel(self) -> str:
        """Its kernel, with what else tells it from others."""
        plan: Any = self.plan
        one = plan.kernel_plan
        words = [one.kernel_name]
        if getattr(one, "ping_pong", False):
            words.append("ping-pong")
        if one.swapped:
            words.append("C transposed")
        if isinstance(plan, SplitKGemm):
            words.append(f"{plan.parts} parts of K")
            plan = plan.gemm
        if isinstance(plan, PaddedGemm):
            words.append("copies of " + " and ".join(x for x, wanted in zip("AB", plan.sides, strict=True) if wanted))
        if isinstance(plan, ResidueGemm):
            words.append(f"rest of {('rows', 'columns')[plan.along]} from {plan.begin}")
        return ", ".join(words)

    @property
    def tile(self) -> tuple[int, int, int]:
        """The tile (bM,bN,bK) of a CTA."""
        return self.plan.tiler_mnk

    @property
    def cluster(self) -> tuple[int, int]:
        """The CTAs of a cluster that share rows."""
        return getattr(self.plan.kernel_plan, "cluster_mn", (1, 1))

    @property
    def split_k(self) -> int:
        """How many CTAs of a cluster share a tile along K."""
        return getattr(self.plan.kernel_plan, "split_k", 1)

    @property
    def shares(self) -> int:
        """How many CTAs share tiles along K (stream-K); 0: none."""
        return getattr(self.plan.kernel_plan, "stream_k_ctas", 0)

    @property
    def stages(self) -> int:
        """The tiles of A and B that shared memory holds."""
        return self.plan.stages

    def described(self) -> tuple[str, ...]:
        """As Candidate.described."""
        split = f"{self.shares} shares" if self.shares else str(self.split_k)
        cluster, ctas = text(self.cluster), str(self.plan.kernel_plan.ctas)
        return self.kernel, text(self.tile), cluster, split, str(self.stages), ctas


def why_on(plan: Plan, arch: str | None) -> Why[GemmCandidate]:
    """plan.why: see there."""
    if arch is not None and (not isinstance(arch, str) or arch not in DEVICES):
        raise ValueError(f"plan.why: arch is {arch!r}, but it must be one of {', '.join(DEVICES)}")
    return why(plan, None if arch is None else DEVICES[arch])


def why(plan: Plan, facts: DeviceFacts | None = None) -> Why[GemmCandidate]:
    """The same; `facts` are of the device to ask for, by default that of the choice, else an H200."""
    alignments, known = vars(plan).get("chosen_for", (ALIGNED, H200))
    facts = facts or known
    problem = plan.problem.swapped() if plan.swapped else plan.problem
    costs: dict[Plan, Cost] = {}
    for x, cost in _candidates(plan, problem, alignments, facts):
        costs.setdefault(x, cost)
    found = [GemmCandidate(x, cost, x == plan) for x, cost in costs.items()]
    if not any(x.chosen for x in found):
        found.append(GemmCandidate(plan, _cost(plan, alignments, facts), True))
    found.sort(key=lambda x: (not x.chosen, x.seconds))
    return Why(problem, facts.name, tuple(found))


def _candidates(
    plan: Plan, problem: GemmProblem, alignments: Alignments, facts: DeviceFacts
) -> Iterator[tuple[Plan, Cost]]:
    """What was chosen from."""
    if isinstance(plan, SplitKGemm):
        for each, _ in islice(in_parts(Search(problem, alignments, facts), choose_whole), SHOWN):
            yield each, _cost(each, alignments, facts)
        yield from _candidates(choose_whole(problem, alignments, facts), problem, alignments, facts)
    elif isinstance(plan, ResidueGemm):
        yield plan, _cost(plan, alignments, facts)
        whole = _without_residue(problem, alignments, facts)
        yield from () if whole is None else _candidates(whole, problem, alignments, facts)
    elif isinstance(plan, PaddedGemm):
        copying = padding_seconds(problem, plan.sides, facts, plan.is_turned)
        padded, aligned = pad(problem, alignments, plan.sides, plan.is_turned)
        turned = plan.sides if plan.is_turned else None
        for run in considered(kernel_of(plan.gemm), padded, aligned, facts, turned):
            yield from ((plan.replace(gemm=each), cost._replace(beside=copying)) for each, cost in run)
        direct = Search(problem, alignments, facts).plan
        if direct is not None:
            yield direct, kernel_of(direct).expected(direct, facts)
    else:
        for run in considered(kernel_of(plan), problem, alignments, facts):
            yield from run


def _without_residue(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> Plan | None:
    """The plan that there would be if the last rows or columns were not a GEMM of their own."""
    search = Search(problem, alignments, facts)
    plans = (x.build(search) for x in RECIPES if x.name != "residue tile" and x.applies(search))
    return next((plan for plan in plans if plan is not None), None)


def _cost(plan: Plan, alignments: Alignments, facts: DeviceFacts) -> Cost:
    """The cost of a plan by itself; of a plan of several launches, that of the largest with the others beside it."""
    if isinstance(plan, SplitKGemm):
        parts = _cost(plan.gemm, alignments, facts)
        return parts._replace(beside=parts.beside + sum_seconds(plan.problem, plan.parts, facts))
    if isinstance(plan, ResidueGemm):
        gemm, residue = (why(x, facts).rows[0].cost for x, _ in plan.parts)
        rest = residue.without("launch") + Rule.of(facts).residue_launch
        return gemm._replace(beside=gemm.beside + rest)
    if isinstance(plan, PaddedGemm):
        copying = padding_seconds(plan.problem, plan.sides, facts, plan.is_turned)
        return why(plan.gemm, facts).rows[0].cost._replace(beside=copying)
    return cost_of(plan.kernel_plan, facts)
