"""A GEMM whose last rows or columns, few of them, are a GEMM of their own.

4097 columns are 33 tiles of 128, of which the last one has one column and takes as long as the others. In two launches,
4096 columns in whole tiles and one in a tile for few, it takes the time of 32 and of reading A once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.kernels.common.plan_value import Positive, unchanging
from tilewright.kernels.gemm.composite.plan import CompositeGemm, beside
from tilewright.kernels.gemm.plan import GemmPlan
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from tilewright.analysis.totals.accesses import Accesses
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.common.launch import KernelLaunch, Place
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["Part", "ResidueGemm", "split"]


class Part:
    """The rows, or columns, of C from `begin` on: their problem, and what begins where, in bytes."""

    def __init__(self, problem: GemmProblem, along: int, begin: int, count: int) -> None:
        p = problem
        self.problem = p._replace(m=count) if along == 0 else p._replace(n=count)
        types = p.a_type, p.b_type, p.c_type
        strides = (p.a_strides[0], 0, p.c_strides[0]) if along == 0 else (0, p.b_strides[0], p.c_strides[1])
        a, b, c = (begin * d * int(t.bits) // 8 for d, t in zip(strides, types, strict=True))
        e = p.epilogue
        moved = e.bias is not None and (e.bias == "m") == (along == 0)
        self.shifts = a, b, c, begin * e.bias_stride * int(e.bias_type.bits) // 8 if moved and e.bias_type else 0

    def alignments(self, whole: tuple[int, int, int]) -> tuple[int, int, int]:
        """Of A, B and C from here on, where those of the whole tensors are these powers of two."""
        a, b, c = (min(x, shift & -shift) if shift else x for x, shift in zip(whole, self.shifts, strict=False))
        return a, b, c


def split(problem: GemmProblem, along: int, begin: int) -> tuple[Part, Part]:
    """What comes before `begin` rows (along 0) or columns (1) of C, and what from there on."""
    extent = problem.n if along else problem.m
    return Part(problem, along, 0, begin), Part(problem, along, begin, extent - begin)


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ResidueGemm(CompositeGemm):
    """A plan of two, `gemm` for the first `begin` rows (along 0) or columns (along 1) of C, `residue` for the rest.

    Both may be plans of any kind.
    """

    residue: GemmPlan | CompositeGemm
    along: int
    begin: Positive

    def require_fields(self) -> None:
        """ValueError where there is no such residue, or a plan is not that of its part."""
        extent = self.problem.n if self.along == 1 else self.problem.m
        if self.along not in (0, 1) or self.begin >= extent:
            raise ValueError(
                f"ResidueGemm: along is {self.along} and begin {self.begin}, but a residue "
                f"lies along 0 (M) or 1 (N) and begins behind the first of {extent} and before the last"
            )
        for name, (plan, part) in zip(("gemm", "residue"), self.parts, strict=True):
            own = plan.problem.swapped() if plan.swapped else plan.problem
            if own != part.problem:
                raise ValueError(
                    f"ResidueGemm: {name} is a plan of {own}, but with along {self.along} and begin {self.begin} its "
                    f"part is {part.problem}; replace the plans, along and begin together"
                )

    @property
    def parts(self) -> tuple[tuple[Any, Part], tuple[Any, Part]]:
        """The plans, each with its part of the problem."""
        first, second = split(self.problem, self.along, self.begin)
        return (self.gemm, first), (self.residue, second)

    def for_problem(self, problem: GemmProblem) -> ResidueGemm:
        """The plan for other sizes; the residue begins at whole tiles of `gemm`, as far as there are such."""
        if problem == self.problem:
            return self
        extent, tile = (problem.n, self.tiler_mnk[1]) if self.along else (problem.m, self.tiler_mnk[0])
        begin = min(self.begin, extent - 1) if extent <= tile else (extent - 1) // tile * tile
        if begin < 1:
            raise ValueError(
                f"plan.run: C has {extent} {'columns' if self.along else 'rows'}, but the plan is of two parts of "
                "them; let kernels.gemm choose a plan"
            )
        gemm, residue = (
            old.for_problem(part.problem.swapped() if old.swapped else part.problem)
            for old, part in zip((self.gemm, self.residue), split(problem, self.along, begin), strict=True)
        )
        return ResidueGemm(problem=problem, gemm=gemm, residue=residue, along=self.along, begin=begin)

    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """As CompositeGemm.require."""
        for plan, part in self.parts:
            a, b, c = (x + y for x, y in zip((a_address, b_address, c_address), part.shifts, strict=False))
            plan.require(*((b, a) if plan.swapped else (a, b)), c, function)

    def require_device(self, facts: DeviceFacts, function: str = "kernels.gemm") -> None:
        """ValueError or LayoutError where a device lacks what a part needs."""
        for plan, _ in self.parts:
            plan.require_device(facts, function)

    @property
    def single_plans(self) -> tuple[Any, ...]:
        """As CompositeGemm.single_plans: those of `gemm`, then those of `residue`."""
        both = (self.gemm, self.residue)
        return tuple(x for plan in both for x in (plan.single_plans if isinstance(plan, CompositeGemm) else (plan,)))

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """As CompositeGemm.launches: those of `gemm`, then those of `residue`."""
        found: list[KernelLaunch] = []
        for plan, part in self.parts:
            moved = (None if x is None else x.moved(by) for x, by in zip(tensors, part.shifts, strict=True))
            found += plan.launches(tuple(moved))
        return tuple(found)

    def run_on_host(self, a: int, b: int, c: int, bias: int, check: bool) -> Any:
        """As CompositeGemm.run_on_host; the report is that of the first part which is not sound, or of all of C."""
        from tilewright.kernels.gemm.report import GemmReport

        for plan, part in self.parts:
            x, y, z, v = (at + shift for at, shift in zip((a, b, c, bias), part.shifts, strict=True))
            report = plan.run_on_host(x, y, z, v, check)
            if check and not report:
                return report
        return GemmReport(self.problem.m * self.problem.n * self.problem.batches, {}) if check else None

    def accesses(self, addresses: tuple[int, int, int, int]) -> Accesses:
        """As CompositeGemm.accesses."""
        gemm, residue = (
            kernel_of(plan).accesses(plan, tuple(x + y for x, y in zip(addresses, part.shifts, strict=True)))
            for plan, part in self.parts
        )
        return beside(gemm, behind=[x._replace(name=f"the residue: {x.name}") for x in residue.instructions])

    def __str__(self) -> str:
        what = ("rows", "columns")[self.along]
        return f"gemm of {self.begin} {what}, and of those behind them: {self.problem}\n{self.gemm}\n{self.residue}"
