"""After how many steps along K a plan adds its sums to totals, so that no sum has many terms: its `promote`.

Each addition rounds. Of a sum of n terms, added one after the other, rounding to the nearest leaves an error that grows
with sqrt(n), cutting off, as tensor cores do, one that grows with n. n / c sums of c terms each leave about

    sqrt(c + n / c)    instead of    sqrt(n)

cuBLAS has short sums where C has few tiles, since it shares K among more CTAs than there are tiles. Plans for such
problems wait for memory and have few sums in registers, so that a second set of them costs little; where threads have
many, gemm_simt has the totals in shared memory, and adds to them seldom. What is rounded to 16 bits in the end does not
show the difference.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.double_sums import parts_of_cublas
from tilewright.numeric import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem

Plan = TypeVar("Plan", bound="GemmPlan")

__all__ = [
    "accumulators",
    "has_short_sums",
    "is_exact",
    "promotion_by_mma",
    "promotion_by_simt",
    "promotion_by_wgmma",
    "require_promotion",
    "with_promotion",
]

REGISTERS, OF_THREAD = 65536, 255
REGISTER_SUMS = 64  # of a thread of gemm_simt at most, where the totals are in registers; gemm_simt.cuh has the same


class Promotion(Section):
    """After how many terms sums are promoted: PROMOTION in a device's file says what each number is."""

    SECTION: ClassVar[str] = "PROMOTION"
    least_terms: int
    of_sliced_k: int
    chunks: int
    sliced_k: int
    long: int
    beside: int
    mma_terms: int
    sums_of_doubles: int
    mma_block: int
    most_sums: int
    short: int
    long_of_few: tuple[int, int]
    long_of_shares: int
    tile: int
    round: int
    few_rounds: int
    full: float
    short_sum: int
    medium_sum: int
    long_sum: int
    tolerated: float


def with_promotion(plan: Plan, promote: int) -> Plan:
    """The plan with sums promoted every so many steps."""
    return plan.replace(promote=promote) if promote else plan


def accumulators(plan: GemmPlan) -> int:
    """The sums of a thread that multiplies."""
    sliced_k = int(getattr(plan, "sliced_k", 1))
    return math.prod(plan.tiler_mnk[:2]) * sliced_k // int(plan.tiled_mma.size)


def _shows(problem: GemmProblem) -> bool:
    """Whether C has as many bits as the sums."""
    return problem.c_type in (Float32, Float64)


def promotion_by_simt(plan: Any, facts: DeviceFacts, whole: GemmProblem | None = None) -> int:
    """The `promote` of a plan of gemm_simt: where the totals fit beside the sums of a thread, and these are long.

    `whole` is the problem that the plan's own is most of, or parts of K of, whose sums are shares.

    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> [choose(problem_of(4096, n, 4096, Float32), (16, 16, 16)).promote for n in (16, 4096)]
    [2, 0]
    >>> choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), (16, 16, 16)).promote
    96
    """
    p, numbers = plan.problem, Promotion.of(facts)
    whole = whole or p
    if not _shows(p) or p.acc_type not in (Float32, Float64):
        return 0
    sums, terms_of_step = accumulators(plan), max(plan.tiler_mnk[2] // plan.sliced_k, 1)
    chain = plan.longest_sum // plan.sliced_k  # terms of a thread's sum
    if sums > REGISTER_SUMS:
        terms = _terms_in_shared(plan, whole, numbers)
        return terms // terms_of_step if plan.reads_early and 0 < numbers.tolerated * terms < chain else 0
    if not _has_registers(p, sums, plan.threads * plan.ctas_per_sm, numbers):
        return 0
    few = sums <= numbers.most_sums and plan.sliced_k >= numbers.sliced_k
    least = min(numbers.least_terms, numbers.of_sliced_k // plan.sliced_k)
    if chain >= least * numbers.least_terms:  # from here on sqrt(chain) is nearer to the larger of the two
        least = numbers.least_terms
    terms = max(least, math.isqrt(chain)) if few else max(2 * numbers.least_terms, chain // numbers.chunks)
    long = numbers.long
    if p.a_type is Float32 and is_shared(whole, facts):
        is_along = plan.unit("a") == plan.unit("b") == 0
        long = numbers.long_of_shares if plan.stream_k_ctas or p.k < whole.k else numbers.long_of_few[is_along]
    promotes = chain > terms if plan.sliced_k >= numbers.sliced_k else chain >= long
    return max(terms // terms_of_step, 1) if promotes else 0


def _rounds(problem: GemmProblem, numbers: Promotion) -> tuple[bool, bool]:
    """Whether C has few tiles of 128 by 128, and whether the last round of them fills the device."""
    tiles = -(-problem.m // numbers.tile) * -(-problem.n // numbers.tile) * problem.batches
    rounds = -(-tiles // numbers.round)
    return tiles <= numbers.few_rounds * numbers.round, tiles >= numbers.full * numbers.round * rounds


def is_shared(problem: GemmProblem, facts: DeviceFacts) -> bool:
    """Whether cuBLAS is expected to share K, so that its sums are short: those of Float32 and Float64.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> [is_shared(problem_of(n, n, 4096, Float32), H200) for n in (512, 2048, 2560, 4096)]
    [True, False, True, False]
    """
    is_few, is_full = _rounds(problem, Promotion.of(facts))
    return is_few and not is_full


def _terms_in_shared(plan: Any, p: GemmProblem, numbers: Promotion) -> int:
    """The terms after which a plan of gemm_simt with many sums of a thread promotes; 0: never."""
    if p.a_type is not Float32:
        return 0
    is_few, is_full = _rounds(p, numbers)
    if is_few:
        return numbers.long_sum if is_full else numbers.short_sum
    along = [plan.unit(name) == 0 and not padded for name, padded in (("a", plan.padded_a), ("b", plan.padded_b))]
    some = along[plan.out_mode] or plan.padded_a or plan.padded_b
    return numbers.medium_sum if all(along) or (some and not is_full) else 0


def _has_registers(problem: GemmProblem, sums: int, threads: int, numbers: Promotion) -> bool:
    """Whether the threads of a multiprocessor have registers for their sums and as many totals."""
    words = sums * int(problem.acc_type.bits) // 32
    return 2 * words + numbers.beside <= min(REGISTERS // threads, OF_THREAD)


def is_exact(problem: GemmProblem, sums: int, threads: int, terms: float, facts: DeviceFacts) -> bool:
    """Whether sums of gemm_simt are short, or can be promoted, or cuBLAS's are expected to be as long.

    `sums` of a thread, of so many `threads` on a multiprocessor and `terms` each.
    """
    numbers = Promotion.of(facts)
    as_short = terms <= numbers.tolerated * numbers.short_sum or not is_shared(problem, facts) or not _shows(problem)
    return as_short or sums > REGISTER_SUMS or _has_registers(problem, sums, threads, numbers)


def has_short_sums(plan: Any, whole: GemmProblem, facts: DeviceFacts) -> bool:
    """Whether the sums of a plan of gemm_simt for parts of a whole are short, or promoted, as is_exact wants it.

    Those of the parts, which are added one after the other, are terms, too.
    """
    numbers, terms = Promotion.of(facts), plan.longest_sum / plan.sliced_k + whole.k / plan.problem.k
    as_short = terms <= numbers.tolerated * numbers.short_sum or not is_shared(whole, facts) or not _shows(whole)
    return as_short or plan.promote > 0


def promotion_by_mma(plan: Any, facts: DeviceFacts, whole: GemmProblem | None = None) -> int:
    """The `promote` of a plan of gemm_sm80: where blocks of C do not fill the device, and a thread has few sums.

    `whole` is the problem of Float64 of which the plan's own has parts of K.

    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.sm80.build import choose
    >>> [choose(problem_of(n, n, 4096, Float64), (16, 16, 16)).promote for n in (64, 4096)]
    [2, 0]
    """
    p, bk, numbers = plan.problem, plan.tiler_mnk[2], Promotion.of(facts)
    if not _shows(p) or p.k <= numbers.mma_terms:
        return 0
    if p.a_type is Float64:
        is_short = parts_of_cublas(whole or p, facts) == 1
        return 0 if is_short or accumulators(plan) > numbers.sums_of_doubles else max(numbers.mma_terms // bk, 1)
    blocks = math.ceil(p.m / numbers.mma_block) * math.ceil(p.n / numbers.mma_block) * p.batches
    known = p.a_type in (Float16, BFloat16, Float8E4M3FN, Float8E5M2) and accumulators(plan) <= numbers.most_sums
    if not known or blocks > facts.multiprocessors:
        return 0
    return 1 if p.k <= numbers.short * bk else max(numbers.mma_terms // bk, 1)


def promotion_by_wgmma(plan: Any, facts: DeviceFacts) -> int:
    """The `promote` of a plan of gemm_sm90: where a thread has few sums.

    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.sm90.build import choose
    >>> [choose(problem_of(4096, n, 4096, BFloat16, out=Float32), (16, 16, 16)).promote for n in (16, 4096)]
    [1, 0]
    """
    p, bk, numbers = plan.problem, plan.tiler_mnk[2], Promotion.of(facts)
    known = p.a_type in (Float16, BFloat16, Float8E4M3FN, Float8E5M2)
    sums, steps = accumulators(plan), -(-p.k // (bk * plan.split_k))
    if not (known and _shows(p)) or sums > numbers.most_sums * min(plan.split_k, 2) or steps < 2:
        return 0
    return 1 if 4 * sums <= numbers.most_sums or steps <= numbers.short else 2


def require_promotion(plan: GemmPlan) -> None:
    """ValueError where sums cannot be promoted: those of integers, which are exact."""
    if plan.promote and plan.problem.acc_type not in (Float32, Float64):
        raise ValueError(
            f"{type(plan).__name__}: promote is {plan.promote}, but sums of {plan.problem.acc_type} are exact and have "
            "no totals; use promote=0"
        )
