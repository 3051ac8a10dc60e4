"""How long gemm_sm80 takes: a plan beside those of other kernels, and its tiles beside each other.

The first is the model of waves. The second takes each tile's own rate, which the first does not know, and does not
count how a pipeline fills and what the memory moves: they disagree where these take most of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.cost import Cost
from tilewright.kernels.gemm.choose.estimate import Waves, estimate
from tilewright.kernels.gemm.choose.rates import Rates

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.sm80.plan import GemmSm80

__all__ = ["Sm80Numbers", "Sm80Tile", "cost", "tile_cost"]


def cost(plan: GemmSm80, facts: DeviceFacts) -> Cost:
    """The time that a plan is expected to take on a device, beside plans of other kernels."""
    return estimate(plan.problem, plan.tiler_mnk, "sm80", facts)


class Sm80Tile(NamedTuple):
    """A CTA's tile, its warps along M and N, stages, CTAs of a multiprocessor, and its speed on large problems."""

    bm: int
    bn: int
    bytes_k: int  # of a row of a step along K
    warps: tuple[int, int]
    stages: int
    ctas: int
    rate: float


class Sm80Numbers(Section):
    """The tiles, by types and accesses, and what a multiprocessor takes for few of its CTAs."""

    SECTION: ClassVar[str] = "SM80"
    tiles: tuple[Sm80Tile, ...]
    narrow: tuple[Sm80Tile, ...]
    float64: tuple[Sm80Tile, ...]
    float8: tuple[Sm80Tile, ...]
    occupied: float


def tile_cost(problem: GemmProblem, tile: Sm80Tile, facts: DeviceFacts) -> Cost:
    """The time that a tile is expected to take, beside others: full waves, and the last one as far as it is filled.

    >>> from tilewright import Float16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> tiles = Sm80Numbers.of(H200).tiles
    >>> costs = [tile_cost(problem_of(n, n, n, Float16), tiles[0], H200) for n in (512, 8192)]
    >>> [(cost.bound, cost.seconds > 2 * cost.without("last wave")) for cost in costs]
    [('tensor cores', True), ('tensor cores', False)]
    """
    tiles = -(-problem.m // tile.bm) * -(-problem.n // tile.bn) * problem.batches
    at_once = facts.multiprocessors * tile.ctas
    waves, rest = divmod(tiles, at_once)
    last = -(-rest // facts.multiprocessors) / tile.ctas if rest else 0.0
    occupied = Sm80Numbers.of(facts).occupied
    # A CTA alone on a multiprocessor is faster than half of two.
    fewer = occupied + (1 - occupied) * last if 0 < last < 1 else last
    rate = Rates.of(facts).of_tensor_cores(problem.a_type) * 1e12 * Rates.of(facts).kernels.get("sm80", 0)
    clock = facts.multiprocessors * 2 * problem.k / rate if rate else float("inf")  # seconds of an element of C
    return Cost(
        launch=Waves.of(facts).launch,
        waves=waves + fewer,
        filled=tiles / at_once,
        multiply=tile.bm * tile.bn * tile.ctas / tile.rate * clock,
    )
