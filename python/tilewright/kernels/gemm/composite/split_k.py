"""A GEMM in parts along K, whose sums are added up by a second launch: split-K over the grid.

Where C has few tiles and K is long, most multiprocessors would have nothing to do. The parts are one batch more: each
has sums of its own in a workspace, in the accumulators' type. Then they are added in the order of the parts, so that
the bits are the same each time, and finished by the epilogue.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.int_tuple import text
from tilewright.kernels.common.launch import PADDED, KernelLaunch, Place
from tilewright.kernels.common.plan_value import unchanging
from tilewright.kernels.gemm.composite.padded import WORKSPACE, PaddedGemm
from tilewright.kernels.gemm.composite.plan import CompositeGemm, beside
from tilewright.kernels.gemm.composite.sum_parts import ROW, SumParts, sums_of
from tilewright.kernels.gemm.epilogue import compute_type
from tilewright.kernels.gemm.plan import GemmPlan
from tilewright.kernels.gemm.problem import Epilogue
from tilewright.kernels.gemm.report import GemmReport
from tilewright.kernels.kernel import kernel_of

if TYPE_CHECKING:
    from tilewright.analysis.totals.accesses import Accesses
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["SplitKGemm", "length_of_parts", "parts_problem"]


def parts_problem(problem: GemmProblem, k: int) -> GemmProblem:
    """The problem whose last batch mode are parts of K with k products each, and whose C are their sums.

    Law: C(m, n, l) = epilogue(sum over s of parts_problem(p, k).C(m, n, l, s)). The last part has what is left of K.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> print(parts_problem(problem_of(64, 32, 4096, Float16), 512))
    C (64,32,8):(32,1,2048) = A (64,512,8):(4096,1,512) B (32,512,8):(4096,1,512), Float16, summed in Float32, \
stored as Float32
    >>> print(parts_problem(problem_of(64, 32, 1000, Float16), 384))
    C (64,32,3):(32,1,2048) = A (64,384,3):(1000,1,384) B (32,384,3):(1000,1,384), Float16, summed in Float32, \
stored as Float32, parts of K = 1000
    """
    if k < 1:
        raise ValueError(f"SplitKGemm: parts of {k} products along K; a part has at least one")
    p, sums, parts = problem, sums_of(problem), -(-problem.k // k)
    batch, step = [], sums.pitch * sums.rows
    for extent in p.batch:
        batch.append(step)
        step *= extent
    return p._replace(
        c_type=p.acc_type,
        k=k,
        batch=(*p.batch, parts),
        a_strides=(*p.a_strides, k * p.a_strides[1]),
        b_strides=(*p.b_strides, k * p.b_strides[1]),
        c_strides=(*sums.strides, *batch, sums.step),
        epilogue=Epilogue(),
        whole_k=p.k if p.k % k else 0,
    )


def length_of_parts(k: int, parts: int, unit: int) -> int:
    """The products of each of at most so many parts of K, in multiples of a unit.

    >>> length_of_parts(1000, 4, 1), length_of_parts(1000, 4, 64), length_of_parts(1000, 100, 64)
    (250, 256, 64)
    """
    return -(-k // (unit * parts)) * unit


@unchanging
@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SplitKGemm(CompositeGemm):
    """A plan of two kernels: `gemm`, a plan for the parts of K, and `sum`, by which their sums become C."""

    gemm: GemmPlan | PaddedGemm
    sum: SumParts

    def require_fields(self) -> None:
        """ValueError where a plan is not that of the problem's parts."""
        own = self._own
        wanted = parts_problem(self.problem, own.k)
        if own != wanted or self.sum.problem != self.problem:
            name, found, due = ("gemm", own, wanted) if own != wanted else ("sum", self.sum.problem, self.problem)
            raise ValueError(
                f"SplitKGemm: {name} is a plan of {found}, but with parts of {own.k} along K it has to be one of "
                f"{due}; replace gemm and sum together"
            )
        if own.batch[-1] != self.parts:
            raise ValueError(
                f"SplitKGemm: sum adds {self.parts} parts up, but gemm has {own.batch[-1]} of {own.k} along K; replace "
                "gemm and sum together"
            )

    @property
    def _own(self) -> GemmProblem:
        """The problem of the parts, as A, B and C are."""
        return self.gemm.problem.swapped() if self.gemm.swapped else self.gemm.problem

    @property
    def parts(self) -> int:
        """The parts of K."""
        return self.sum.parts

    def for_problem(self, problem: GemmProblem) -> SplitKGemm:
        """The plan for other sizes, with as many parts, or fewer where K has fewer steps.

        ValueError where parts are equal and K is no multiple of them, and where K is 0.
        """
        if problem == self.problem:
            return self
        unit = self.kernel_plan.part_of_k
        if problem.k == 0 or (unit == 0 and problem.k % self.parts):
            raise ValueError(
                f"plan.run: K is {problem.k}, but the plan is of {self.parts}{'' if unit else ' equal'} parts of it; "
                "let kernels.gemm choose a plan"
            )
        parts = parts_problem(problem, length_of_parts(problem.k, self.parts, unit or 1))
        gemm = self.gemm.for_problem(parts.swapped() if self.gemm.swapped else parts)
        return SplitKGemm(problem=problem, gemm=gemm, sum=self.sum.replace(problem=problem, parts=parts.batch[-1]))

    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """As CompositeGemm.require."""
        ab = (b_address, a_address) if self.gemm.swapped else (a_address, b_address)
        self.gemm.require(*ab, WORKSPACE, function)
        self.sum.require(c_address, function)

    def require_device(self, facts: DeviceFacts, function: str = "kernels.gemm") -> None:
        """ValueError or LayoutError where a device lacks what a kernel needs."""
        self.gemm.require_device(facts, function)
        self.sum.require_device(facts, function)

    @property
    def single_plans(self) -> tuple[Any, ...]:
        """As CompositeGemm.single_plans: those of `gemm`, then `sum`."""
        plans = self.gemm.single_plans if isinstance(self.gemm, CompositeGemm) else (self.gemm,)
        return *plans, self.sum

    @property
    def workspace(self) -> tuple[int, int]:
        """Where the parts' sums begin in the workspace, behind copies of A and B, and its size, in bytes."""
        copies = self.gemm.workspace[2] if isinstance(self.gemm, PaddedGemm) else 0
        begin = -(-copies // ROW) * ROW
        return begin, begin + sums_of(self.problem).step * self.parts * int(self.problem.acc_type.bits) // 8

    def launches(self, tensors: tuple[Place | None, ...]) -> tuple[KernelLaunch, ...]:
        """As CompositeGemm.launches: those of `gemm`, then the sum."""
        a, b, c, bias = tensors
        begin, size = self.workspace
        sums = Place(PADDED, begin, WORKSPACE + begin)
        found = (*self.gemm.launches((a, b, sums, None)), *self.sum.launches((sums, c, bias)))
        return tuple(one._replace(workspace=(*one.workspace[:2], size)) for one in found)

    def run_on_host(self, a: int, b: int, c: int, bias: int, check: bool) -> Any:
        """As CompositeGemm.run_on_host; the report is that of the parts, or of all of C where they are sound."""
        begin, size = self.workspace
        memory = _core.Memory.allocate(size - begin, ROW)
        report = self.gemm.run_on_host(a, b, memory.address, 0, check)
        p, strides = self.problem, self._own.c_strides
        _core.host.finish_sums(p, compute_type(p), memory.address, strides[:-1], self.parts, strides[-1], c, bias)
        del memory  # it had to live until here
        if check and not report:
            return report
        return GemmReport(p.m * p.n * p.batches, {}) if check else None

    def accesses(self, addresses: tuple[int, int, int, int]) -> Accesses:
        """As CompositeGemm.accesses."""
        a, b, c, bias = addresses
        gemm = kernel_of(self.gemm).accesses(self.gemm, (a, b, 0, 0))
        sums = kernel_of(self.sum).accesses(self.sum, (0, c, bias))
        return beside(gemm, behind=sums.instructions)

    def __str__(self) -> str:
        p = self.problem
        k = f"{self.parts} parts of {self._own.k} along K"
        return f"gemm of {k}, {text((p.m, p.n, *p.batch))} sums each: {p}\n{self.gemm}\n{self.sum}"
