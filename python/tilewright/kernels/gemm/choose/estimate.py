"""How long a plan is expected to take: by it plans are ranked. A model of waves of tiles, not of a clock.

The tiles of C are done in waves, one tile on each multiprocessor at a time. A tile takes the time of its products at
the kernel's rate, less what its shape costs: (bM + bN) bK elements are fetched for bM bN bK products, so that a small
tile waits for shared memory and L2. All of it is bounded below by what the memory moves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.cost import Cost
from tilewright.kernels.gemm.choose.rates import Rates

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem


class Waves(Section):
    """Seconds of a launch, and in which a CTA fills its pipeline; `half` of fetching is as long as multiplying."""

    SECTION: ClassVar[str] = "WAVES"
    launch: float
    fill: float
    half: int


def estimate(
    problem: GemmProblem, tiler_mnk: tuple[int, int, int], kernel: str, facts: DeviceFacts, split_k: int = 1
) -> Cost:
    """The expected time of a problem with tiles (bM,bN,bK) by "simt", "sm80" or "sm90"; K is split among so many CTAs.

    >>> from tilewright import Float16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> p = problem_of(4096, 4096, 4096, Float16)
    >>> [estimate(p, tile, "sm90", H200).bound for tile in ((128, 256, 64), (16, 16, 64))]
    ['tensor cores', 'latency']
    """
    rates, waves_of = Rates.of(facts), Waves.of(facts)
    bM, bN, bK = tiler_mnk
    if kernel == "simt":
        rate = rates.fma64 if problem.acc_type.bits == 64 else rates.fma
    else:
        rate = rates.of_tensor_cores(problem.a_type)
    rate *= 1e12 * rates.kernels.get(kernel, 0) / facts.multiprocessors
    by_fma = kernel == "simt"
    if not rate:
        return Cost(multiply=float("inf"), by_fma=by_fma)
    tiles = -(-problem.m // bM) * -(-problem.n // bN) * problem.batches * split_k
    steps = max(-(-problem.k // (bK * split_k)), 1)
    multiply = 2 * bM * bN * bK * steps / rate
    return Cost(
        launch=waves_of.launch,
        waves=-(-tiles // facts.multiprocessors),
        filled=tiles / facts.multiprocessors,
        multiply=multiply,
        fetched=multiply * waves_of.half * (bM + bN) / (bM * bN),
        begun=waves_of.fill,
        memory=problem.moved_bytes / (rates.bandwidth * 1e12),
        by_fma=by_fma,
    )
