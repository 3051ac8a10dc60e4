"""How long the sums of a product of Float64 may be: about as long as those of cuBLAS, which often shares K.

Each addition rounds to the nearest, so the error of a sum of n terms, added one after the other, grows with sqrt(n).
Where C has few tiles cuBLAS gives parts of K to several CTAs; n / s terms of each of s parts, and then s, leave

    sqrt(n / s + s)    instead of    sqrt(n)

In how many parts it does so was told by the errors of its results: DOUBLE_SUMS in a device's file has the rule that was
fitted to them. Parts of K cost plans less than promotion does, which takes registers for a second set of sums: only
tiles with few sums of a thread are promoted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tilewright.kernels.devices import Section
from tilewright.numeric import Float64

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["has_short_doubles", "parts_of_cublas"]


class DoubleSums(Section):
    """In how many parts cuBLAS is expected to have K: DOUBLE_SUMS in a device's file says what each number is."""

    SECTION: ClassVar[str] = "DOUBLE_SUMS"
    tile: int
    most_tiles: int
    least_k: int
    few: tuple[float, float]
    long: tuple[int, float, float]
    some: tuple[int, int]
    least_terms: int
    tolerated: float


def parts_of_cublas(problem: GemmProblem, facts: DeviceFacts) -> float:
    """The parts of K that cuBLAS is expected to have of one product of Float64; 1 where it does not share K.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> shapes = ((64, 64, 4096), (384, 896, 8064), (1536, 1536, 4096), (2048, 3072, 8192))
    >>> [round(parts_of_cublas(problem_of(*shape, Float64), H200), 1) for shape in shapes]
    [30.0, 10.3, 4.7, 1.0]
    """
    p, numbers = problem, DoubleSums.of(facts)
    tiles = -(-p.m // numbers.tile) * -(-p.n // numbers.tile)
    if p.a_type is not Float64 or p.batch or p.k < numbers.least_k or not 0 < tiles <= numbers.most_tiles:
        return 1.0
    (parts, power), (terms, most, falling), (from_terms, some) = numbers.few, numbers.long, numbers.some
    shared = parts / tiles**power
    if p.k >= from_terms:
        shared = max(shared, min(p.k / terms, most / tiles**falling), some)
    shared = min(shared, p.k / numbers.least_terms)
    return shared if shared >= 2 else 1.0


def has_short_doubles(plan: GemmPlan, whole: GemmProblem, facts: DeviceFacts) -> bool:
    """Whether a plan for a whole problem, or for parts of its K, leaves no larger error than cuBLAS's sums do.

    It is so for all but Float64, whose sums other rules promote.
    """
    shared = parts_of_cublas(whole, facts)
    if shared == 1:
        return True
    k, terms = plan.problem.k, plan.promote * plan.tiler_mnk[2]
    chain = terms + k / terms if 0 < terms < k else k
    parts = -(-whole.k // k) if k < whole.k else 0
    return chain + parts <= DoubleSums.of(facts).tolerated * whole.k / shared
