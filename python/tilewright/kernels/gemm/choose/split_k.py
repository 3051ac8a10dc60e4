"""In how many parts along K a GEMM is done whose C has few tiles, if they are faster."""

from __future__ import annotations

import math
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, TypeGuard

from tilewright._registry import Lazy
from tilewright.kernels.gemm.choose.choose import Rule, as_of, ask, orientations
from tilewright.kernels.gemm.choose.estimate import Waves
from tilewright.kernels.gemm.choose.few_tiles import SplitK, tiles_of
from tilewright.kernels.gemm.choose.promotion import promotion_by_mma
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.choose.short_sums import has_short_sums, parts_of_cublas
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import pad, padding_seconds
from tilewright.kernels.gemm.composite.plan import CompositeGemm
from tilewright.kernels.gemm.composite.residue import ResidueGemm
from tilewright.kernels.gemm.composite.split_k import SplitKGemm, length_of_parts, parts_problem
from tilewright.kernels.gemm.composite.sum_parts import SumParts, takes_accesses
from tilewright.kernels.gemm.simt.build import promoted
from tilewright.kernels.gemm.simt.cost import tile_cost
from tilewright.kernels.gemm.simt.kernel import SIMT
from tilewright.kernels.gemm.simt.plan import GemmSimt
from tilewright.kernels.gemm.sm80.kernel import SM80
from tilewright.kernels.gemm.sm90.kernel import SM90
from tilewright.kernels.gemm.sm90.shared_operand import SPAN
from tilewright.kernels.kernel import kernel_of
from tilewright.numeric import Float32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.choose.choose import Search
    from tilewright.kernels.gemm.choose.cost import Cost
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.run import Plan
    from tilewright.kernels.gemm.sm90.cost import Config

    Alignments = tuple[int, int, int]
    Found = tuple[SplitKGemm, float]  # a plan, and the seconds that it is expected to take

__all__ = ["cost_of", "in_parts", "seconds_of", "split_k", "sum_seconds"]

ROW = 16  # bytes of whose multiple the kernels want a part's rows to begin
FILLS = (2, 1, 0.5)  # how often the CTAs of all parts fill the device
FILLS_BY_ASKING = (2, 1, 0.5, 0.25)  # the same of kernels that are asked for a plan of each
SHARES = (0.9, 1.2)  # times as many parts as cuBLAS is expected to have
STEP = 256  # bytes: of all tiles of gemm_sm80 parts have whole steps

_seats = Lazy("tilewright.kernels.gemm.sm90.cost:seats")
_by_sm90 = Lazy("tilewright.kernels.gemm.sm90.choose:considered_in_parts")


def split_k(search: Search, whole: Plan, choose: Callable[[GemmProblem, Alignments, DeviceFacts], Plan]) -> Plan | None:
    """The plan in parts along K; None where no number of parts is expected to be much faster than the `whole`.

    Sums of Float64 that are too long in the whole are shorter in parts, however fast they are. `choose` gives the plan
    of a problem whose K is not split.
    """
    is_short = has_short_sums(whole.kernel_plan, search.problem, search.facts)
    limit = SplitK.of(search.facts).gain * seconds_of(whole, search.facts) if is_short else math.inf
    best, seconds = next(in_parts(search, choose), (None, limit))
    return best if seconds < limit else None


def in_parts(search: Search, choose: Callable[[GemmProblem, Alignments, DeviceFacts], Plan]) -> Iterator[Found]:
    """The plans in parts along K, with the seconds that they are expected to take, the best first.

    Those of gemm_sm90 have any number of parts, each the one that suits its tiles, those of gemm_sm80 any number that
    fills the device, and those of gemm_simt equal parts.
    """
    problem, alignments, facts = search.problem, search.alignments, search.facts
    if search.plan is not None and kernel_of(search.plan) is SM90:
        yield from _of_any_length(problem, alignments, facts)
        return
    refused = SM90 in search.refused and any(search.padded_sides)
    copied = _of_any_length(problem, alignments, facts, search.padded_sides) if refused else iter(())
    equal = _sorted(_equal(problem, alignments, facts, choose))
    yield from merge(equal, copied, _sorted(_by_mma_sync(search)), key=itemgetter(1))


def _sorted(found: Iterable[Found]) -> Iterator[Found]:
    return iter(sorted(found, key=itemgetter(1)))


def _of_any_length(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, sides: tuple[bool, bool] = (False, False)
) -> Iterator[Found]:
    """Those of gemm_sm90, of copies of the operands of `sides`."""
    copying = padding_seconds(problem, sides, facts)
    runs = [_one_way(*way, sides, facts) for way in orientations(problem, alignments)]
    for plan, seconds in merge(*runs, key=itemgetter(1)):
        gemm: GemmPlan | PaddedGemm = plan
        if any(sides):
            gemm = PaddedGemm.of(parts_problem(problem, plan.problem.k), alignments, sides, plan)
        yield _plan(problem, alignments, facts, gemm), seconds + copying


def _one_way(
    problem: GemmProblem, alignments: Alignments, swapped: bool, sides: tuple[bool, bool], facts: DeviceFacts
) -> Iterator[tuple[GemmPlan, float]]:
    """The plans of the parts of a problem in one orientation, with the seconds that they and the sum take."""
    sides = sides[::-1] if swapped else sides
    copied, (a, b, _) = pad(problem, alignments, sides)

    def divide(config: Config) -> Iterator[tuple[GemmProblem, float]]:
        for k in _lengths(problem, config, facts):
            parts, _ = pad(parts_problem(problem, k), alignments, sides)
            yield parts, sum_seconds(problem, parts.batch[-1], facts)

    for plan, seconds in _by_sm90(copied, (a, b, ROW), facts, divide):
        yield plan.replace(swapped=True) if swapped else plan, seconds


def _lengths(problem: GemmProblem, config: Config, facts: DeviceFacts) -> list[int]:
    """How long parts are that fill the device twice, once and by a half with the tiles of a configuration."""
    p = problem
    along = zip((p.m, p.n), (config.bM, config.bN), config.cluster, strict=True)
    tiles = p.batches * math.prod(-(-extent // (tile * beside)) * beside for extent, tile, beside in along)
    ctas, most = _seats(math.prod(config.cluster), facts) * config.resident, _most_parts(p, facts)
    counts = {min(int(fill * ctas / tiles), most) for fill in FILLS}
    return sorted({length_of_parts(p.k, count, SPAN * 8 // p.a_type.bits) for count in counts if count > 1})


def _most_parts(problem: GemmProblem, facts: DeviceFacts) -> int:
    """Of which each has rows that are long enough, and which one sum has."""
    numbers = SplitK.of(facts)
    return min(numbers.most_parts, problem.k * problem.a_type.bits // 8 // numbers.least_bytes)


def _equal(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts,
    choose: Callable[[GemmProblem, Alignments, DeviceFacts], Plan],
) -> Iterator[Found]:  # fmt: skip
    """Those of any kernel whose parts are equal, and sums short."""
    for count in _divisors(problem, facts):
        parts, aligned = parts_problem(problem, problem.k // count), (*alignments[:2], ROW)
        gemm = as_of(choose(parts, aligned, facts), problem, facts)
        if isinstance(gemm, CompositeGemm) and not isinstance(gemm, PaddedGemm):
            continue
        short = gemm if has_short_sums(gemm.kernel_plan, problem, facts) else None
        if short is None and isinstance(gemm, GemmSimt):
            short = _shorter(parts, aligned, problem, facts)
        if short is not None:
            yield _found(problem, alignments, facts, short)


def _shorter(parts: GemmProblem, alignments: Alignments, whole: GemmProblem, facts: DeviceFacts) -> GemmPlan | None:
    """The fastest plan of gemm_simt whose sums are as short as the whole's are to be; None without one."""
    view, aligned, swapped = next(orientations(parts, alignments))
    for plan, _ in SIMT.considered(view, aligned, facts):
        short = promoted(plan.replace(swapped=swapped), facts, whole)
        if has_short_sums(short, whole, facts):
            return short
    return None


def _by_mma_sync(search: Search) -> Iterator[Found]:
    """Those of gemm_sm80 that are not among the equal ones, where that kernel does the whole."""
    p, alignments, facts = search.problem, search.alignments, search.facts
    if search.plan is None or kernel_of(search.plan) is not SM80:
        return
    equal = _divisors(p, facts)
    for k in sorted({length_of_parts(p.k, count, STEP * 8 // p.a_type.bits) for count in _counts(p, facts)}):
        parts = parts_problem(p, k)
        if not parts.whole_k and parts.batch[-1] in equal:
            continue
        gemm = ask(SM80, parts, (*alignments[:2], ROW), facts)
        if gemm is None:
            continue
        gemm = gemm.replace(promote=promotion_by_mma(gemm, facts, p))
        if has_short_sums(gemm, p, facts):
            yield _found(p, alignments, facts, gemm)


def _counts(problem: GemmProblem, facts: DeviceFacts) -> set[int]:
    """The numbers of parts, 2 or more, that fill the device, and of Float64 those that are as short as cuBLAS's."""
    filling, most = facts.multiprocessors / tiles_of(problem, SplitK.of(facts)), _most_parts(problem, facts)
    shared = parts_of_cublas(problem, facts)
    wanted = [round(fill * filling) for fill in FILLS_BY_ASKING]
    wanted += [math.ceil(fill * shared) for fill in SHARES if shared > 1]
    return {min(count, most) for count in wanted if min(count, most) > 1}


def _found(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, gemm: GemmPlan | PaddedGemm) -> Found:
    seconds = seconds_of(gemm, facts) + sum_seconds(problem, gemm.problem.batch[-1], facts)
    return _plan(problem, alignments, facts, gemm), seconds


def _plan(problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, gemm: GemmPlan | PaddedGemm) -> SplitKGemm:
    sums = SumParts(problem=problem, parts=gemm.problem.batch[-1], wide=False)
    sums = sums.replace(wide=takes_accesses(problem, sums.vector, alignments[2]))
    return SplitKGemm(problem=problem, gemm=gemm, sum=sums)


def _divisors(problem: GemmProblem, facts: DeviceFacts) -> list[int]:
    """The numbers of equal parts that come nearest to filling the device."""
    p, size, most = problem, problem.a_type.bits // 8, _most_parts(problem, facts)
    along_k = p.a_strides[1] == 1 or p.b_strides[1] == 1
    fitting = [n for n in range(2, most + 1) if p.k % n == 0 and not (along_k and p.k // n * size % ROW)]
    if not fitting:  # rows that are copied first anyway begin where they like
        fitting = [n for n in range(2, most + 1) if p.k % n == 0]
    filling = facts.multiprocessors / tiles_of(p, SplitK.of(facts))
    return sorted({min(fitting, key=lambda n: abs(n - fill * filling)) for fill in FILLS_BY_ASKING if fitting})


def sum_seconds(problem: GemmProblem, parts: int, facts: DeviceFacts) -> float:
    """The time of the second launch: its start, and what it reads and writes."""
    p, numbers = problem, SplitK.of(facts)
    moved = p.m * p.n * p.batches * (parts * int(p.acc_type.bits) + int(p.c_type.bits)) / 8
    return numbers.launch + moved / (numbers.share * Rates.of(facts).bandwidth * 1e12)


def seconds_of(plan: Plan, facts: DeviceFacts) -> float:
    """The seconds that a plan is expected to take, with the copies before it."""
    if isinstance(plan, PaddedGemm):
        return padding_seconds(plan.problem, plan.sides, facts, plan.is_turned) + seconds_of(plan.gemm, facts)
    if isinstance(plan, ResidueGemm):
        rest = seconds_of(plan.residue, facts) - Waves.of(facts).launch + Rule.of(facts).residue_launch
        return seconds_of(plan.gemm, facts) + rest
    return float(cost_of(plan.kernel_plan, facts).seconds)


def cost_of(plan: GemmPlan, facts: DeviceFacts) -> Cost:
    """The time of a plan of one kernel; of fp32 by FMA by the model of its tiles, which knows how K is shared."""
    if _is_by_fma(plan):
        return tile_cost(plan, facts)
    return kernel_of(plan).expected(plan, facts)  # type: ignore[no-any-return]


def _is_by_fma(plan: GemmPlan) -> TypeGuard[GemmSimt]:
    return kernel_of(plan) is SIMT and plan.problem.a_type is Float32
