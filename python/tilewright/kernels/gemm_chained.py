"""A GEMM whose K is taken part by part, each a launch that adds to what the one before has left in C.

The launches are chained: one begins as soon as all CTAs of the one before are under way, multiplies, and waits for the
end of that one only before it reads C. So the multiprocessors that have nothing more to do for one part already work
on the next: of one launch, whose last round of tiles seldom fills them, they would be idle; where there are fewer tiles
than multiprocessors, several parts are multiplied at once. And sums are shorter, so that they are more exact. Each part
costs the start and the end of every tile once more, and another way to C and back.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright._notebook import drawn
from tilewright.kernels.gemm_composite import CompositeGemm
from tilewright.kernels.gemm_composite_run import CompositeLaunch
from tilewright.kernels.gemm_plan import GemmPlan
from tilewright.kernels.gemm_simt_plan import GemmSimt
from tilewright.numeric import Float32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.analysis.instructions import MemoryInstruction
    from tilewright.kernels.gemm_operands import GemmOperands
    from tilewright.kernels.gemm_plan import DeviceFacts
    from tilewright.kernels.gemm_problem import GemmProblem

__all__ = ["ChainedGemm", "chained"]

HOPPER = 90  # the first capability with programmatic launches
ROUNDS = 8  # of tiles at least, for which the last one is worth filling
TERMS = 4096  # of a part, about
LEAST = 8192  # of K
PARTS = (2, 4, 8)  # of few tiles
FEWEST_TERMS = 512  # of a part of few tiles
LINK = 280_000  # products that a multiprocessor makes at its peak in 1.1 us: what each part costs besides
GAIN = 0.85  # of the expected time is little enough for parts
MOST_TERMS = 1 << 31
LINE = 128  # bytes


@drawn
class ChainedGemm(CompositeGemm):
    """A plan of a launch for each part of K, `terms` long, or somewhat less: steps of a tile are shared out evenly.

    `gemm` is the plan for all of K, which each part is like. C has Float32, as the sums.
    """

    __slots__ = ("_parts", "terms")
    FIELDS: ClassVar[tuple[str, ...]] = ("problem", "gemm", "terms")
    KERNEL = "chained"
    gemm: GemmSimt
    terms: int
    _parts: list[tuple[GemmSimt, int, int]]

    def __init__(self, problem: GemmProblem, gemm: GemmSimt, terms: int) -> None:
        from tilewright.kernels.gemm_fields import POSITIVE

        if not POSITIVE[1](terms):
            raise TypeError(f"ChainedGemm: terms is {terms!r}, but it must be {POSITIVE[0]}")
        object.__setattr__(self, "problem", problem)
        object.__setattr__(self, "terms", terms)
        object.__setattr__(self, "_parts", [])
        self._set((("gemm", gemm, GemmSimt),))
        if problem.c_type is not Float32 or problem.acc_type is not Float32:
            raise TypeError(
                f"ChainedGemm: C has elements of {problem.c_type}, but sums of {problem.acc_type} are left there; they "
                "must be Float32"
            )

    @property
    def cuts(self) -> tuple[int, ...]:
        """Where along K the parts begin, and K."""
        k, step = self.problem.k, self.gemm.tiler_mnk[2]
        steps, count = -(-k // step), max(-(-k // self.terms), 1)
        return (*(min(steps * i // count * step, k) for i in range(count)), k)

    @property
    def parts(self) -> list[tuple[GemmSimt, int, int]]:
        """The plan of each part, and where its A and B begin, in bytes from the plan's own.

        The first one's epilogue has alpha and beta, those behind it add to C, and the last one does the rest.
        """
        if not self._parts:
            self._parts.extend(self._made_parts())
        return self._parts

    def _made_parts(self) -> Iterator[tuple[GemmSimt, int, int]]:
        cuts, problem = self.cuts, self.gemm.problem
        whole, last = problem.epilogue, len(cuts) - 2
        plans: dict[Any, GemmSimt] = {}  # those in the middle are alike
        for i, (begin, end) in enumerate(itertools.pairwise(cuts)):
            epilogue = whole if i == last else whole._replace(bias=None, bias_type=None, bias_stride=0, activation=None)
            if i > 0:
                epilogue = epilogue._replace(beta=1.0)
            own = problem._replace(k=end - begin, epilogue=epilogue)
            if own not in plans:
                plans[own] = self.gemm.replace(problem=own, chained=last > 0)
            sides = (problem.a_strides[1], problem.a_type), (problem.b_strides[1], problem.b_type)
            a, b = (begin * stride * int(dtype.bits) // 8 for stride, dtype in sides)
            yield plans[own], *((b, a) if self.gemm.swapped else (a, b))

    def for_problem(self, problem: GemmProblem) -> ChainedGemm:
        """The plan for other sizes."""
        gemm = self.gemm.for_problem(problem.swapped() if self.gemm.swapped else problem)
        return self.replace(problem=problem, gemm=gemm)

    def require(self, a_address: int, b_address: int, c_address: int, function: str) -> None:
        """As CompositeGemm.require."""
        for part, a, b in self.parts:
            places = (a_address + a, b_address + b)
            part.require(*(places[::-1] if part.swapped else places), c_address, function)

    def require_device(self, facts: DeviceFacts, function: str = "kernels.gemm") -> None:
        """ValueError or LayoutError where a device lacks what the parts need."""
        for part, _, _ in self.parts:
            part.require_device(facts, function)

    def compile(self, arch: str = "sm_90a") -> Any:
        """The compiled program of the last part; `parts` has the plans of the others."""
        return self.parts[-1][0].compile(arch)

    def prepare(self, operands: GemmOperands) -> ChainedLaunch:
        """As CompositeGemm.prepare."""
        return ChainedLaunch(self, operands)

    def run_on_host(self, a: int, b: int, c: int, bias: int, check: bool) -> Any:
        """As CompositeGemm.run_on_host; the report is that of the first part which is not sound, else the last's."""
        from tilewright.kernels.gemm_host import run_on_host

        report = None
        for part, at_a, at_b in self.parts:
            places = (a + at_a, b + at_b)
            own = bias if part.problem.epilogue.bias is not None else 0
            report = run_on_host(part, *(places[::-1] if part.swapped else places), c, own, check=check)
            if check and not report:
                break
        return report

    def instructions(
        self, a: int, b: int, c: int, bias: int
    ) -> tuple[list[MemoryInstruction], list[MemoryInstruction], tuple[int, int]]:
        """As CompositeGemm.instructions."""
        from tilewright.analysis.gemm_plans import gemm_instructions

        found: list[MemoryInstruction] = []
        own: list[MemoryInstruction] = []
        known: dict[Any, list[MemoryInstruction]] = {}  # counts repeat after a line
        places, parts = (a, b), self.parts
        for i, (part, at_a, at_b) in enumerate(parts):
            places = (b + at_b, a + at_a) if part.swapped else (a + at_a, b + at_b)
            key = part, *(x % LINE for x in places)
            if key not in known:
                v = bias if part.problem.epilogue.bias is not None else 0
                known[key] = list(gemm_instructions(part, (*places, c, v)))
            own = known[key]
            found += [x._replace(name=f"part {i + 1} of {len(parts)}: {x.name}") for x in own]
        return found, own, places

    def __str__(self) -> str:
        shown = ", ".join(str(end - begin) for begin, end in itertools.pairwise(self.cuts))
        return f"gemm in parts along K, {shown}, each of which adds to C: {self.problem}\n{self.gemm}"


class ChainedLaunch(CompositeLaunch):
    """The parts, of which all but the first begin before the one before has ended."""

    def __init__(self, plan: ChainedGemm, operands: GemmOperands) -> None:
        from tilewright.kernels import gemm_launch

        super().__init__(operands)
        self.parts = []
        for i, (part, a, b) in enumerate(plan.parts):
            shifts = operands.shifts
            moved = operands._replace(shifts=(shifts[0] + a, shifts[1] + b, *shifts[2:]))
            self.parts.append(gemm_launch.prepare(part, moved, (0, 1, 2, 3), result=False, programmatic=i > 0))

    def launch(self, addresses: list[int], stream: int) -> None:
        """As CompositeLaunch.launch."""
        for part in self.parts:
            part.launch(addresses, stream)


def chained(plan: GemmPlan, alignments: tuple[int, int, int], facts: DeviceFacts) -> ChainedGemm | None:
    """The plan in parts that is faster than a plan of gemm_simt; None where it is not.

    >>> from tilewright.kernels.choose_gemm import choose_gemm
    >>> from tilewright.kernels.gemm_plan import H200
    >>> from tilewright.kernels.gemm_problem import problem_of
    >>> sizes = (8192, 8192, 8192), (4096, 4096, 4096), (64, 64, 4096)
    >>> plans = [choose_gemm(problem_of(*size, Float32), (16, 16, 16), H200) for size in sizes]
    >>> [plan.KERNEL for plan in plans], plans[0].cuts, plans[2].cuts
    (['chained', 'simt', 'chained'], (0, 4096, 8192), (0, 1024, 2048, 3072, 4096))
    """
    p = plan.problem
    floats = p.a_type is p.c_type is Float32
    if not isinstance(plan, GemmSimt) or not floats or facts.capability < HOPPER:
        return None
    return _of_many_tiles(plan, alignments, facts) or _of_few_tiles(plan, alignments, facts)


def _of_many_tiles(plan: GemmSimt, alignments: tuple[int, int, int], facts: DeviceFacts) -> ChainedGemm | None:
    """In the largest tile, for a last round that fills the device."""
    from tilewright.kernels.gemm_simt import plan_of_tile
    from tilewright.kernels.gemm_simt_tiles import tiles_for

    p = plan.problem
    if p.k < LEAST:
        return None
    whole = plan_of_tile(p, alignments, tiles_for(p, facts)[0], facts)
    tiles = whole.ctas
    is_large = plan.tiler_mnk[:2] == whole.tiler_mnk[:2] and tiles >= ROUNDS * facts.multiprocessors * whole.ctas_per_sm
    if not is_large:
        return None
    terms = whole.promote * whole.tiler_mnk[2] or TERMS  # parts as short as the sums would be that are promoted
    return ChainedGemm(p.swapped() if plan.swapped else p, whole.replace(swapped=plan.swapped, promote=0), terms)


def _of_few_tiles(plan: GemmSimt, alignments: tuple[int, int, int], facts: DeviceFacts) -> ChainedGemm | None:
    """In the tile and the number of parts that are expected to take the least time, if that is less by enough."""
    from tilewright.kernels.gemm_simt import plan_of_tile
    from tilewright.kernels.gemm_simt_tiles import candidate_tiles, expected_time

    p, count = plan.problem, facts.multiprocessors
    parts = [n for n in PARTS if p.k >= n * FEWEST_TERMS]
    tiles = candidate_tiles(p, alignments, facts) if parts else []
    alone = min((expected_time(p, tile, count) for tile in tiles), default=0.0)
    found = min(
        ((expected_time(p, tile, count, n) + n * LINK, i, n) for i, tile in enumerate(tiles) for n in parts),
        default=None,
    )
    if found is None or found[0] > GAIN * alone:
        return None
    _, i, n = found
    terms = -(-p.k // n)
    if terms >= MOST_TERMS:
        return None
    gemm = plan_of_tile(p, alignments, tiles[i], facts).replace(swapped=plan.swapped)
    if gemm.promote * gemm.tiler_mnk[2] >= terms:  # sums of a part are as short without
        gemm = gemm.replace(promote=0)
    return ChainedGemm(p.swapped() if plan.swapped else p, gemm, terms)
