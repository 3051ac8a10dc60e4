"""The rule by which a GEMM's plan is chosen: RECIPES, tried in order. See docs/gemm.md.

A and B change places (C transposed) where C's rows are few, or where C is contiguous along M: `turned`. Of wgmma both
ways are asked for, unless they are few, and the one that is expected to be faster is taken.
"""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilewright._cached import cached_property
from tilewright._registry import Lazy
from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.few_tiles import has_few_tiles
from tilewright.kernels.gemm.choose.promotion import promotion_by_mma
from tilewright.kernels.gemm.choose.short_sums import parts_of_cublas
from tilewright.kernels.gemm.composite.padding import pad, padding_seconds
from tilewright.kernels.gemm.simt.build import promoted
from tilewright.kernels.gemm.simt.cost import least_seconds
from tilewright.kernels.gemm.simt.gemv import is_gemv
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.gemm.sm80.kernel import SM80
from tilewright.kernels.gemm.sm90.kernel import SM90
from tilewright.kernels.kernel import kernel_of, kernels_for
from tilewright.numeric import Float32, Float64, TFloat32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.run import Plan
    from tilewright.kernels.kernel import Kernel
    from tilewright.numeric import Numeric

    Alignments = tuple[int, int, int]

ROW = 16  # bytes of whose multiple TMA wants rows to begin
FEW = 64  # rows of C: the other side takes the rows of an MMA, which are 64 for wgmma


class Rule(Section):
    """When both ways are asked for, and what copies and residue tiles may cost: RULE in a device's file says more."""

    SECTION: ClassVar[str] = "RULE"
    loose: float
    loose_across: float
    turning_gain: float
    residue_tile: int
    most_of_residue: int
    residue_launch: float
    residue_gain: float


def turned(problem: GemmProblem) -> bool:
    """Whether to plan for C transposed: where C has few rows and more columns, or else where it is contiguous along M.

    >>> from tilewright import Float16
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> [turned(problem_of(m, 256, 64, Float16, c=c)) for m, c in ((16, "n"), (256, "n"), (256, "m"))]
    [True, False, True]
    """
    if min(problem.m, problem.n) <= FEW and problem.m != problem.n:
        return problem.m < problem.n
    return problem.c_strides[0] == 1 and problem.c_strides[1] != 1


def orientations(problem: GemmProblem, alignments: Alignments) -> Iterator[tuple[GemmProblem, Alignments, bool]]:
    """The problem and that of C transposed, with the alignments and whether it is swapped; the preferred one first."""
    a, b, c = alignments
    both = ((problem, alignments, False), (problem.swapped(), (b, a, c), True))
    yield from reversed(both) if turned(problem) else both


class Search:
    """A problem with tensors at addresses of these alignments, on a device; what is found of it is found once."""

    def __init__(self, problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> None:
        self.problem, self.alignments, self.facts = problem, alignments, facts
        self._built: dict[str, Plan | None] = {}

    def by(self, recipe: Recipe) -> Plan | None:
        """The plan of a recipe; None where it does not apply, or has none."""
        if recipe.name not in self._built:
            self._built[recipe.name] = recipe.build(self) if recipe.applies(self) else None
        return self._built[recipe.name]

    @cached_property
    def _direct(self) -> tuple[tuple[Kernel, ...], GemmPlan | None]:
        kernels = tuple(kernels_for(self.problem, self.facts.capability))
        for i, kernel in enumerate(kernels):
            plan = ask(kernel, self.problem, self.alignments, self.facts)
            if plan is not None:
                return kernels[:i], plan
        return kernels, None

    @property
    def refused(self) -> tuple[Kernel, ...]:
        """The kernels that refuse the operands as they lie in memory, before one that does not."""
        return self._direct[0]

    @property
    def plan(self) -> GemmPlan | None:
        """That of the first kernel that takes the operands as they lie in memory; None where none does."""
        return self._direct[1]

    @property
    def is_float32_by_fma(self) -> bool:
        """Whether the plan is of gemm_simt, for products of Float32."""
        plan, p = self.plan, self.problem
        return plan is not None and kernel_of(plan) is SIMT and p.a_type is Float32 and p.k > 0

    @cached_property
    def copied_sides(self) -> tuple[float, tuple[bool, bool]]:
        """Which of A and B gemm_simt is given as copies along M and N, and the seconds that all takes."""
        return _copied_sides(self.problem, self.alignments, self.facts)

    @cached_property
    def padded_sides(self) -> tuple[bool, bool]:
        """Which of A and B TMA does not take as they lie; the smaller one, where it would take either, but not both."""
        p = self.problem
        lie = _lies(p.a_strides, p.a_type, self.alignments[0]), _lies(p.b_strides, p.b_type, self.alignments[1])
        if lie == ("through registers",) * 2:  # of one operand only
            return min(((False, True), (True, False)), key=lambda x: padding_seconds(p, x, self.facts))
        return lie[0] is None, lie[1] is None


class Recipe(NamedTuple):
    """A way to a plan, `when` it is the way, whether it `applies` to a search, and what it builds: None if slower."""

    name: str
    when: str
    applies: Callable[[Search], bool]
    build: Callable[[Search], Plan | None]


def _padded(search: Search) -> Plan | None:
    """The plan by copies of what TMA does not take, and a kernel that refused them; None if it is slower."""
    from tilewright.kernels.gemm.composite.padded import PaddedGemm

    p, alignments, facts, sides = search.problem, search.alignments, search.facts, search.padded_sides
    plan = search.plan
    bound = float("inf") if plan is None else expected(plan, facts)
    copying = padding_seconds(p, sides, facts)
    padded, aligned = pad(p, alignments, sides)
    for kernel in search.refused:
        gemm = ask(kernel, padded, aligned, facts) if copying < bound else None
        if gemm is not None and copying + expected(gemm, facts) < bound:
            return PaddedGemm.of(p, alignments, sides, gemm)
    return None


def _residue(search: Search) -> Plan | None:
    """The plan whose last few columns, or rows, are a GEMM of their own; None where that is not faster."""
    from tilewright.kernels.gemm.composite.residue import ResidueGemm, split

    p, alignments, facts, rule = search.problem, search.alignments, search.facts, Rule.of(search.facts)
    for along, begin in _residues(search):
        parts = split(p, along, begin)
        times = [_copied_sides(part.problem, part.alignments(alignments), facts)[0] for part in parts]
        if sum(times) + rule.residue_launch < rule.residue_gain * search.copied_sides[0]:
            gemm, residue = (choose_whole(part.problem, part.alignments(alignments), facts) for part in parts)
            return ResidueGemm(problem=p, gemm=as_of(gemm, p, facts), residue=residue, along=along, begin=begin)
    return None


def _residues(search: Search) -> list[tuple[int, int]]:
    """The modes, columns first, that end in a few rows of a tile, and where these begin."""
    p, rule = search.problem, Rule.of(search.facts)
    tile = rule.residue_tile
    ends = ((1, p.n), (0, p.m))
    return [(along, n // tile * tile) for along, n in ends if n >= tile and 0 < n % tile <= rule.most_of_residue]


def _turned_copies(search: Search) -> Plan | None:
    """The plan of gemm_simt by copies in whole accesses; None where they take too much time."""
    from tilewright.kernels.gemm.composite.padded import PaddedGemm

    p, alignments, facts, plan = search.problem, search.alignments, search.facts, search.plan
    assert plan is not None
    _, sides = search.copied_sides
    if not any(sides):
        return None
    view, aligned, swapped = next(orientations(*pad(p, alignments, sides, is_turned=True)))
    padded = (sides[1], sides[0]) if swapped else sides
    gemm = SIMT.choose(view, aligned, facts, padded)
    return PaddedGemm.of(p, alignments, sides, gemm.replace(swapped=swapped))


_rank = Lazy("tilewright.kernels.gemm.sm90.choose:rank")
_in_parts = Lazy("tilewright.kernels.gemm.choose.split_k:split_k")


def _split_k(search: Search) -> Plan | None:
    """The plan in parts along K, whose sums a second launch adds up; None where that is not much faster."""
    return _in_parts(search, _first(RECIPES[1:], search), choose_whole)  # type: ignore[no-any-return]


def _is_split(search: Search) -> bool:
    """Whether C has a few tiles, and sums are long; a GEMV shares its K already."""
    p, facts = search.problem, search.facts
    is_shared = p.a_type is Float64 and parts_of_cublas(p, facts) > 1
    may_be = (has_few_tiles(p, facts) or is_shared) and search.plan is not None
    return may_be and not (search.is_float32_by_fma and is_gemv(search.plan))


RECIPES = (
    Recipe(
        "split K",
        "C has tiles for at most a third of the device, and parts of K with sums of their own take less than the "
        "whole; of fp64 also where cuBLAS is expected to have parts, and so short sums",
        _is_split,
        _split_k,
    ),
    Recipe(
        "padded operand",
        "a faster kernel refuses A or B as they lie in memory, and copies cost less than the slower kernel loses",
        lambda search: bool(search.refused) and any(search.padded_sides),
        _padded,
    ),
    Recipe(
        "residue tile",
        "FMA would multiply the last few rows or columns in tiles of their own, and a GEMM of their own is faster",
        lambda search: search.is_float32_by_fma and bool(_residues(search)),
        _residue,
    ),
    Recipe(
        "turned operand",
        "copies of A or B along M and N take less time than FMA of fp32 loses by how they lie",
        lambda search: search.is_float32_by_fma and not is_gemv(search.plan),
        _turned_copies,
    ),
    Recipe(
        "one kernel",
        "a kernel of the device takes the operands as they lie in memory; the first one does it",
        lambda search: search.plan is not None,
        lambda search: search.plan,
    ),
    Recipe(
        "fp32",
        "TF32 is allowed, and no kernel of the device has it",
        lambda search: search.problem.a_type is TFloat32,
        lambda search: choose_gemm(_without_tf32(search.problem), search.alignments, search.facts),
    ),
)


def choose_gemm(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> Plan:
    """The plan for a problem with tensors at addresses of these alignments, on a device.

    It is that of the first of RECIPES that has one. ValueError where none has.
    """
    return _first(RECIPES, Search(problem, alignments, facts))


def choose_whole(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> Plan:
    """The same without splitting K."""
    return _first(RECIPES[1:], Search(problem, alignments, facts))


def _first(recipes: tuple[Recipe, ...], search: Search) -> Plan:
    for recipe in recipes:
        plan = search.by(recipe)
        if plan is not None:
            # plan.why() asks; no part of its value
            plan.__dict__.setdefault("chosen_for", (search.alignments, search.facts))
            return plan
    raise ValueError(f"kernels.gemm: no kernel of sm_{search.facts.capability} takes {search.problem}")


def _without_tf32(problem: GemmProblem) -> GemmProblem:
    return problem._replace(a_type=Float32, b_type=Float32)


def ask(kernel: Kernel, problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> GemmPlan | None:
    """The plan of one kernel in the orientation that is preferred, else in the other one.

    Of wgmma the one that is expected to be faster, by much if it shares tiles along K, unless one side has so few rows
    that it is clear, or C is read, which was not measured across its rows. Of gemm_sm80 the faster one for elements of
    16 bits in rows that are not aligned.
    """
    both = asks_both_ways(kernel, problem, alignments)
    found: list[tuple[float, bool, GemmPlan]] = []
    for view, aligned, swapped in orientations(problem, alignments):
        if both:
            found += [
                (_rank(plan, cost, facts) if kernel is SM90 else cost.seconds, swapped, plan)
                for plan, cost in itertools.islice(kernel.considered(view, aligned, facts), 1)
            ]
        elif (chosen := kernel.choose(view, aligned, facts)) is not None:
            found.append((0.0, swapped, chosen))
            break
    if not found:
        return None
    _, swapped, plan = min(found, key=itemgetter(0))  # of two that are equally fast the preferred one
    return plan.replace(swapped=True) if swapped else plan


def asks_both_ways(kernel: Kernel, problem: GemmProblem, alignments: Alignments) -> bool:
    """Whether a kernel is asked in both orientations, though it takes the preferred one."""
    p = problem
    if p.epilogue.beta:
        return False
    if kernel is SM80:  # others were not measured both ways
        sides = ((p.m, p.a_strides, alignments[0]), (p.n, p.b_strides, alignments[1]))
        return p.a_type.bits == 16 and any(_is_loose(rows, p.k, d, p.a_type, at) for rows, d, at in sides)
    return kernel is SM90 and min(p.m, p.n) > FEW


def expected(plan: GemmPlan, facts: DeviceFacts) -> float:
    """The seconds that a plan is expected to take on a device, by its kernel's cost model."""
    return kernel_of(plan).expected(plan, facts).seconds  # type: ignore[no-any-return]


def _copied_sides(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> tuple[float, tuple[bool, bool]]:
    """Which of A and B gemm_simt is given as copies along M and N, and the seconds that all takes but for one launch.

    What lies along K need not be turned on its way then, and what has no accesses of 16 bytes has them.
    """
    p, rule = problem, Rule.of(facts)
    sides = ((p.m, p.a_strides, alignments[0]), (p.n, p.b_strides, alignments[1]))
    along = [d[1] == 1 for _, d, _ in sides]
    loose = [_is_loose(rows, p.k, d, p.a_type, at) for rows, d, at in sides]
    found: list[tuple[float, tuple[bool, bool]]] = []
    for wanted in ((False, False), (False, True), (True, False), (True, True)):
        copying = padding_seconds(p, wanted, facts, is_turned=True)
        gains_nothing = any(x and not (y or z) for x, y, z in zip(wanted, along, loose, strict=True))
        if gains_nothing or (found and copying > found[0][0]):
            continue
        rest = [lies for x, y, lies in zip(wanted, loose, along, strict=True) if y and not x]
        slower = (rule.loose if any(rest) else rule.loose_across) if rest else 0.0
        seconds = copying + (1 + slower) * _least_seconds(p, alignments, wanted, facts)
        found.append((seconds if any(wanted) or rest else rule.turning_gain * seconds, wanted))
    return min(found)


def _least_seconds(problem: GemmProblem, alignments: Alignments, sides: tuple[bool, bool], facts: DeviceFacts) -> float:
    """The seconds that gemm_simt is expected to take, with copies of these sides in their place, without the launch."""
    padded, aligned = pad(problem, alignments, sides, is_turned=True) if any(sides) else (problem, alignments)
    view, aligned, swapped = next(orientations(padded, aligned))
    return least_seconds(view, aligned, facts, (sides[1], sides[0]) if swapped else sides)


def as_of(plan: Plan, whole: GemmProblem, facts: DeviceFacts) -> Plan:
    """The plan with sums as short as those of the whole problem, of which it does most, or parts of K."""
    from tilewright.kernels.gemm.composite.plan import CompositeGemm
    from tilewright.kernels.gemm.simt.plan import GemmSimt

    if isinstance(plan, CompositeGemm):
        return plan.replace(gemm=as_of(plan.gemm, whole, facts))
    if kernel_of(plan) is SM80:
        return plan.replace(promote=promotion_by_mma(plan, facts, whole))
    return promoted(plan, facts, whole) if isinstance(plan, GemmSimt) else plan


def _is_loose(rows: int, k: int, strides: tuple[int, ...], dtype: type[Numeric], alignment: int) -> bool:
    """Whether an operand does not lie so that it is loaded by accesses of 16 bytes."""
    along = 1 if strides[1] == 1 else 0
    elements = ((rows, k)[along], *(d for mode, d in enumerate(strides) if mode != along))
    return strides[along] != 1 or any(x % ROW for x in (alignment, *(d * dtype.bits // 8 for d in elements)))


def _lies(strides: tuple[int, ...], dtype: type[Numeric], alignment: int) -> str | None:
    """How TMA and wgmma take an operand as it lies: None where its rows are not contiguous or not aligned.

    "as it is" along K, or of 16 bits along M or N; TFloat32 along M or N "through registers".
    """
    size = dtype.bits // 8
    along = 1 if strides[1] == 1 else 0 if strides[0] == 1 and (size == 2 or dtype is TFloat32) else None
    others = [d for mode, d in enumerate(strides) if mode != along]
    if along is None or alignment % ROW or any(d < 0 or d * size % ROW for d in others):
        return None
    return "through registers" if along == 0 and size == 4 else "as it is"


def ranked(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts) -> list[GemmPlan]:
    """All plans that the device's kernels offer for a problem, the one that is expected to be the fastest first."""
    found = []
    for kernel in kernels_for(problem, facts.capability):
        for view, aligned, swapped in orientations(problem, alignments):
            for plan in kernel.variants(view, aligned, facts):
                if plan.shared_bytes <= facts.shared_bytes:
                    found.append(plan.replace(swapped=True) if swapped else plan)
    if not found and problem.a_type is TFloat32:
        return ranked(_without_tf32(problem), alignments, facts)
    return sorted(found, key=lambda plan: expected(plan, facts))
