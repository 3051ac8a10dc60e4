"""How long a plan is expected to take: by it plans are ranked. A model of waves of tiles, not of a clock.

The tiles of C are done in waves, one tile on each multiprocessor at a time. A tile takes the time of its products at
the kernel's rate, less what its shape costs: (bM + bN) bK elements are fetched for bM bN bK products, so that a small
tile waits for shared memory and L2. All of it is bounded below by what the memory moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.gemm.choose.devices import generation_of

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.plan import GemmPlan
    from tilewright.kernels.gemm.problem import GemmProblem

LAUNCH = 3e-6  # seconds of a launch, from its first CTA to its last
FILL = 0.7e-6  # seconds in which a CTA fills its pipeline
HALF = 12  # bM bN / (bM + bN) at which fetching takes as long as multiplying


def expected(plan: GemmPlan, facts: DeviceFacts) -> float:
    """The seconds that a plan of one launch is expected to take on a device."""
    return seconds(plan.problem, plan.tiler_mnk, plan.kernel_name, facts)


def seconds(
    problem: GemmProblem, tiler_mnk: tuple[int, int, int], kernel: str, facts: DeviceFacts, splits: int = 1
) -> float:
    """The expected time of a problem with tiles (bM,bN,bK) by "simt", "sm80" or "sm90"; K is split among so many CTAs.

    >>> from tilewright import Float16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> p = problem_of(4096, 4096, 4096, Float16)
    >>> seconds(p, (128, 256, 64), "sm90", H200) < seconds(p, (64, 64, 64), "sm90", H200)
    True
    """
    generation = generation_of(facts)
    bM, bN, bK = tiler_mnk
    if kernel == "simt":
        rate = generation.fma64 if problem.acc_type.bits == 64 else generation.fma
    else:
        rate = generation.rates.get(problem.a_type, 0)
    rate *= 1e12 * generation.kernels.get(kernel, 0.1) / facts.multiprocessors
    if not rate:
        return float("inf")
    tiles = -(-problem.m // bM) * -(-problem.n // bN) * problem.batches * splits
    steps = max(-(-problem.k // (bK * splits)), 1)
    reuse = bM * bN / (bM + bN)
    tile = FILL + 2 * bM * bN * bK * steps / rate * (1 + HALF / reuse)
    waves = -(-tiles // facts.multiprocessors)
    moved = problem.moved_bytes / (generation.bandwidth * 1e12)
    return LAUNCH + max(waves * tile, moved)
