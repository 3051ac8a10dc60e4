"""How long the sums of a product of Float32 or Float64 may be: about as long as those of cuBLAS, which often shares K.

Each addition rounds to the nearest, so the error of a sum of n terms, added one after the other, grows with sqrt(n).
n / s terms of each of s parts, and then the s sums of these, leave

    sqrt(n / s + s)    instead of    sqrt(n)

Where C has few tiles cuBLAS gives parts of K to several CTAs, warps or threads, the more the longer K is. In how many
parts was told by the errors of its results: CUBLAS_PARTS in a device's file has the rule that was fitted to them.
What is rounded to 16 bits in the end does not show the difference.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tilewright.kernels.devices import Section
from tilewright.numeric import Float32, Float64

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.numeric import Numeric

__all__ = ["CublasParts", "has_short_sums", "longest_sum", "parts_of_cublas", "sums_beside", "terms_allowed"]


class PartsRule(NamedTuple):
    """When K is in parts, and in how many: CUBLAS_PARTS in a device's file says what each number is."""

    least_k: int
    most_tiles: int
    scale: float
    power_of_k: float
    power_of_tiles: float
    least_parts: float
    few_rows: int
    scale_of_few: float
    more_of_few: float
    terms_of_many: tuple[int, int]
    most_of_many: float


class CublasParts(Section):
    """In how many parts cuBLAS is expected to have K: CUBLAS_PARTS in a device's file says what each number is."""

    SECTION: ClassVar[str] = "CUBLAS_PARTS"
    tile: int
    round: int
    full: float
    most_full: int
    terms_of_full: int
    float32: PartsRule
    float64: PartsRule
    tolerated: float


def parts_of_cublas(problem: GemmProblem, facts: DeviceFacts) -> float:
    """The parts of K that cuBLAS is expected to have; 1 where it does not share K, and where C shows no difference.

        scale k^p / tiles^q

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> for dtype in (Float32, Float64):
    ...     shapes = ((64, 64, 4096), (384, 896, 8064), (1536, 1536, 4096), (4096, 4096, 4096))
    ...     print([round(parts_of_cublas(problem_of(*shape, dtype), H200), 1) for shape in shapes])
    [41.7, 20.9, 7.3, 1.0]
    [24.3, 9.1, 3.3, 1.0]
    """
    p, numbers = problem, CublasParts.of(facts)
    rules: dict[type[Numeric], PartsRule] = {Float32: numbers.float32, Float64: numbers.float64}
    rule = rules.get(p.a_type) if p.b_type is p.a_type is p.acc_type is p.c_type else None
    tiles = -(-p.m // numbers.tile) * -(-p.n // numbers.tile)
    if rule is None or p.batch or tiles == 0:
        return 1.0
    if p.c_strides[0] == 1 != p.c_strides[1]:
        p = p.swapped()  # C lies along N
    across = [d[1] != 1 for d in (p.a_strides, p.b_strides)]
    is_few = min(p.m, p.n) <= rule.few_rows
    is_full = tiles >= numbers.full * numbers.round * -(-tiles // numbers.round)
    if tiles > numbers.most_full and (p.m % numbers.tile or p.n % numbers.tile):
        is_full = False
    if is_few and not any(across):
        parts = rule.scale_of_few * p.k**rule.power_of_k
    elif p.k < rule.least_k:
        parts = 1.0
    elif tiles > rule.most_tiles:
        ways = [p.k / terms for terms, x in zip(rule.terms_of_many, across, strict=True) if x]
        shared = min(max(ways, default=1), rule.most_of_many)
        parts = 1.0 + (all(across) and min(ways) > 1) if is_full else shared
    elif is_full:
        parts = p.k / numbers.terms_of_full
    else:
        parts = rule.scale * p.k**rule.power_of_k / tiles**rule.power_of_tiles
        parts *= rule.more_of_few if is_few and across[1] else 1
    return parts if parts >= rule.least_parts else 1.0


def terms_allowed(problem: GemmProblem, facts: DeviceFacts) -> float:
    """How many terms added one after the other leave no larger error than cuBLAS does; infinity where it shares not.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> [round(terms_allowed(problem_of(n, n, 8192, Float32), H200)) for n in (128, 1024)]
    [154, 661]
    """
    parts = parts_of_cublas(problem, facts)
    return CublasParts.of(facts).tolerated * problem.k / parts if parts > 1 else math.inf


def has_short_sums(plan: Any, whole: GemmProblem, facts: DeviceFacts) -> bool:
    """Whether a plan for a whole problem, or for parts of its K, leaves no larger error than cuBLAS does, or promotes.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.sm80.build import choose
    >>> problem = problem_of(640, 640, 4096, Float64)
    >>> plan = choose(problem, (16, 16, 16))
    >>> has_short_sums(plan, problem, H200), has_short_sums(plan.replace(promote=8), problem, H200)
    (False, True)
    """
    return plan.promote > 0 or longest_sum(plan) + sums_beside(plan, whole) <= terms_allowed(whole, facts)


def longest_sum(plan: Any) -> float:
    """The terms of the longest sum of a thread."""
    return float(getattr(plan, "longest_sum", plan.problem.k) / getattr(plan, "sliced_k", 1))


def sums_beside(plan: Any, whole: GemmProblem) -> float:
    """How many sums of other threads, CTAs and parts are added to one; 0: none."""
    longest = max(getattr(plan, "longest_sum", plan.problem.k), 1)
    ways = (int(getattr(plan, "sliced_k", 1)), -(-plan.problem.k // longest), -(-whole.k // max(plan.problem.k, 1)))
    return sum(x for x in ways if x > 1)
