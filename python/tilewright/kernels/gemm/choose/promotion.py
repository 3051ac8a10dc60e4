"""After how many steps along K a plan adds its sums to totals, so that no sum has many terms: its `promote`.

Each addition rounds. Of a sum of n terms, added one after the other, rounding to the nearest leaves an error that grows
with sqrt(n), cutting off, as tensor cores do, one that grows with n. n / c sums of c terms each leave about

    sqrt(c + n / c)    instead of    sqrt(n)

A second set of sums takes registers, and time: FMA promotes only what is longer than sums of cuBLAS, and as seldom as
leaves no larger error (short_sums.py), but after one of few numbers of steps, since each makes another kernel. Where
threads have many sums, gemm_simt has the totals in shared memory. Tensor cores promote where threads have few sums.
What is rounded to 16 bits in the end does not show the difference.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.short_sums import longest_sum, parts_of_cublas, sums_beside, terms_allowed
from tilewright.numeric import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem

Plan = TypeVar("Plan", bound="GemmPlan")

__all__ = [
    "accumulators",
    "can_promote",
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
    beside: int
    mma_terms: int
    sums_of_doubles: int
    mma_block: int
    most_sums: int
    short: int
    promoted: float


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


@functools.cache
def _few_numbers() -> tuple[int, ...]:
    """1, 2, 3, 4, 6, 8, 12 and so on: from each to the next there is at most a half more."""
    return (1, *sorted(n << i for n in (2, 3) for i in range(24)))


def promotion_by_simt(plan: Any, facts: DeviceFacts, whole: GemmProblem | None = None) -> int:
    """The `promote` of a plan of gemm_simt: 0 where its sums are as short as cuBLAS's, or have no room for totals.

    `whole` is the problem that the plan's own is most of, or parts of K of.

    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> [choose(problem_of(n, 2048, 8192, Float32), (16, 16, 16)).promote for n in (128, 1536, 4096)]
    [32, 64, 256]
    """
    whole = whole or plan.problem
    allowed, beside = terms_allowed(whole, facts), sums_beside(plan, whole)
    terms = longest_sum(plan)
    if terms + beside <= allowed:
        return 0
    sums = accumulators(plan)
    if sums > REGISTER_SUMS and not plan.reads_early:
        return 0
    if not can_promote(plan.problem, sums, plan.threads * plan.ctas_per_sm, facts):
        return 0
    step = max(int(plan.tiler_mnk[2]) // int(plan.sliced_k), 1)

    def left_by(promote: int) -> float:
        return promote * step + terms / (promote * step)

    for most in (Promotion.of(facts).promoted * allowed, allowed):
        enough = [promote for promote in _few_numbers() if left_by(promote) <= most - beside]
        if enough:
            return max(enough)
    return min(_few_numbers(), key=left_by)


def can_promote(problem: GemmProblem, sums: int, threads: int, facts: DeviceFacts) -> bool:
    """Whether `threads` on a multiprocessor have room for totals beside so many sums: in registers or shared memory."""
    return sums > REGISTER_SUMS or _has_registers(problem, sums, threads, Promotion.of(facts))


def _has_registers(problem: GemmProblem, sums: int, threads: int, numbers: Promotion) -> bool:
    """Whether the threads of a multiprocessor have registers for their sums and as many totals."""
    words = sums * int(problem.acc_type.bits) // 32
    return 2 * words + numbers.beside <= min(REGISTERS // threads, OF_THREAD)


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
