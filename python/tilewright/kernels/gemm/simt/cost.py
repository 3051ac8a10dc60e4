"""How long gemm_simt takes: a plan beside those of other kernels, and its tiles beside each other.

The first is the model of waves. By the second a tile is chosen, and whether CTAs share tiles along K: a
tile takes what its rate says, a launch as long as the multiprocessor that has most of the CTAs; where all CTAs have
equal shares along K (stream_k.py), a share, and the time in which sums of parts are left and added up. SIMT_MODEL in a
device's file has its numbers. Plans of other depths and stages, and those of gemv.py, are not told apart by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.cost import Cost
from tilewright.kernels.gemm.choose.estimate import Waves, estimate
from tilewright.kernels.gemm.choose.promotion import REGISTER_SUMS, can_promote
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.kernels.gemm.choose.short_sums import terms_allowed
from tilewright.kernels.gemm.simt.layouts import ACCESS, SimtTile
from tilewright.kernels.gemm.simt.plan import by_cp_async
from tilewright.kernels.gemm.simt.stream_k import counts_steps
from tilewright.kernels.gemm.simt.tiles import SimtTiles, accesses_of, loose_tiles, tiles_for, width_of
from tilewright.numeric import Float32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.simt.plan import GemmSimt

    Alignments = tuple[int, int, int]

__all__ = ["Choice", "SimtModel", "by_time", "choice_cost", "cost", "fastest", "least_seconds", "tile_cost", "weighed"]


class SimtModel(Section):
    """What the model counts with: SIMT_MODEL in a device's file says what each number is."""

    SECTION: ClassVar[str] = "SIMT_MODEL"
    occupied: float
    occupied_sliced: float
    start: float
    adding: float
    products: int
    sharing: float
    part: float
    part_sum: float
    few_sums: int
    own_sum: float
    least_terms: int
    most_parts: int
    totals: float


def cost(plan: GemmSimt, facts: DeviceFacts) -> Cost:
    """The time that a plan is expected to take on a device, beside plans of other kernels."""
    return estimate(plan.problem, plan.tiler_mnk, "simt", facts)


def tile_cost(plan: GemmSimt, facts: DeviceFacts) -> Cost:
    """The time that a plan is expected to take by the model of its tile, which knows stream-K.

    That of `cost` for tiles that are none of the device's, such as those of gemv.py.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> problem = problem_of(512, 512, 4096, Float32)
    >>> plan = choose(problem, (16, 16, 16), H200)
    >>> tile_cost(plan, H200).without("launch") == least_seconds(problem, (16, 16, 16), H200)
    True
    """
    copies = (plan.tiled_copy_a, plan.tiled_copy_b)
    straight = sum(by_cp_async(x) and plan.copy_layout(name)[1] > 1 for x, name in zip(copies, "ab", strict=True))
    shared = SimtTiles.of(facts).shared if plan.stream_k_ctas else ()
    for tile in (*_own_tiles(plan.problem, facts, (plan.padded_a, plan.padded_b)), *shared):
        own = (*tile.extents(width_of(plan.problem)), tile.threads, tile.sliced_k, tile.ctas)
        if own == (*plan.tiler_mnk[:2], plan.threads, plan.sliced_k, plan.ctas_per_sm):
            choice = Choice(tile, plan.stream_k_ctas)
            return choice_cost(plan.problem, choice, facts, straight, is_promoted=plan.promote > 0)
    return cost(plan, facts)


class Choice(NamedTuple):
    """A tile, and the CTAs that share tiles of C along K; 0: none do."""

    tile: SimtTile
    stream_k_ctas: int = 0


def choice_cost(
    problem: GemmProblem,
    choice: Choice,
    facts: DeviceFacts,
    straight: int = 0,
    model: SimtModel | None = None,
    is_promoted: bool = False,
) -> Cost:
    """The time that a tile is expected to take, beside others; `straight` operands are not turned on their way.

    A `model` has other numbers than the device's. `is_promoted`: sums are added to totals.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> tile = SimtTiles.of(H200).tiles[0]
    >>> costs = [choice_cost(problem_of(n, n, 4096, Float32), Choice(tile), H200) for n in (256, 8192)]
    >>> [(cost.bound, cost.seconds > 2 * cost.without("last wave")) for cost in costs]
    [('FMA', True), ('FMA', False)]
    """
    numbers, multiprocessors = model or SimtModel.of(facts), facts.multiprocessors
    tile, stream_k_ctas = choice
    bm, bn = tile.extents(width_of(problem))
    count, k = _tiles(problem, tile), problem.k
    rate = tile.rate * (1 + (0.0, *tile.straight)[straight])
    if is_promoted and count < stream_k_ctas and tile.sums(width_of(problem)) > REGISTER_SUMS:
        rate *= 1 - numbers.totals
    idle = numbers.start + (numbers.adding * tile.sliced_k if tile.sliced_k > 1 else 0)
    product = 1e-6 / numbers.products  # seconds of one of Float32 at a multiprocessor's peak
    if problem.acc_type.bits == 64:
        product *= Rates.of(facts).fma / Rates.of(facts).fma64
    step = bm * bn / rate * product

    def made(ctas: int, steps: float, begun: float, joined: float = 0.0) -> Cost:
        return Cost(
            launch=Waves.of(facts).launch,
            waves=_waves(-(-ctas // multiprocessors), tile, numbers),
            filled=ctas / multiprocessors,
            multiply=step * steps,
            begun=step * begun,
            joined=joined,
            by_fma=True,
        )

    if stream_k_ctas == 0:
        return made(count, k, idle)
    rounds = max(count // stream_k_ctas - 1, 0)  # of whole tiles, behind the shares
    shared = count - rounds * stream_k_ctas
    parts = shared / stream_k_ctas
    sums = bm * bn * tile.sliced_k
    alone = numbers.part if sums > numbers.few_sums * tile.threads else numbers.part // 2
    added = max(stream_k_ctas / shared, 1) * (alone + numbers.part_sum * sums)
    steps, begun = (parts + rounds) * k, (1 + parts + rounds) * idle
    joined = (numbers.sharing + added + numbers.own_sum * sums) * product
    return made(stream_k_ctas, steps, begun, joined)


def _waves(together: int, tile: SimtTile, numbers: SimtModel) -> float:
    """How many CTAs' time a multiprocessor takes for so many of a tile, of which some are left alone in the end.

    CTAs of tiles with slices of K, that come through registers, begin and end together, in rounds.
    """
    if tile.sliced_k == 1 or tile.stages:
        return max(together, numbers.occupied * tile.ctas)
    rounds, rest = divmod(together, tile.ctas)
    return rounds * tile.ctas + (max(rest, numbers.occupied_sliced * tile.ctas) if rest else 0)


def _tiles(problem: GemmProblem, tile: SimtTile) -> int:
    bm, bn = tile.extents(width_of(problem))
    return -(-problem.m // bm) * -(-problem.n // bn) * problem.batches


def _choices(problem: GemmProblem, tile: SimtTile, facts: DeviceFacts) -> Iterator[Choice]:
    """The tile without shares, and for Float32 with one for each place on the device.

    Where there are fewer tiles than places and the tile's CTAs fill a multiprocessor each, or nearly, also with 2, 4,
    8.. shares of every tile.
    """
    yield Choice(tile)
    numbers = SimtModel.of(facts)
    count, places = _tiles(problem, tile), facts.multiprocessors * tile.ctas
    if problem.a_type is not Float32 or count == 0:
        return
    found = {places}
    if tile.ctas == 1 or tile.sliced_k > 1:
        found |= {count << i for i in range(1, numbers.most_parts.bit_length()) if count << i <= places}
    steps = -(-problem.k // 8)
    for stream_k_ctas in sorted(found):
        shared = min(count, 2 * stream_k_ctas) * problem.k // stream_k_ctas
        if shared >= numbers.least_terms and counts_steps(count, steps, stream_k_ctas):
            yield Choice(tile, stream_k_ctas)


def fastest(
    problem: GemmProblem,
    alignments: Alignments,
    facts: DeviceFacts,
    padded: tuple[bool, bool] = (False, False),
    may_be_loose: bool = True,
) -> Choice:
    """What takes the least expected time on a device; without `may_be_loose`, a tile by the widest accesses, unshared.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> fastest(problem_of(4096, 16, 4096, Float32), (16, 16, 16), H200).tile
    SimtTile(warps_m=1, warps_n=1, groups_m=1, groups_n=1, ctas=1, rate=0.31, sliced_k=8, stages=6, straight=(0.0, 0.0))
    >>> [fastest(problem_of(n, n, n, Float32), (16, 16, 16), H200).stream_k_ctas for n in (512, 3000)]
    [0, 264]
    """
    choice, _ = min(weighed(problem, alignments, facts, padded, may_be_loose), key=by_time)
    return choice


def least_seconds(
    problem: GemmProblem, alignments: Alignments, facts: DeviceFacts, padded: tuple[bool, bool] = (False, False)
) -> float:
    """The expected time of what `fastest` chooses, without that of the launch.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> 2500e-6 < least_seconds(problem_of(4096, 4096, 4096, Float32), (16, 16, 16), H200) < 2700e-6
    True
    """
    return float(min(cost.without("launch") for _, cost in weighed(problem, alignments, facts, padded)))


def by_time(found: tuple[Choice, Cost]) -> tuple[float, Choice]:
    """The key that choices are sorted by."""
    return found[1].seconds, found[0]


def weighed(
    problem: GemmProblem,
    alignments: Alignments,
    facts: DeviceFacts,
    padded: tuple[bool, bool] = (False, False),
    may_be_loose: bool = True,
) -> list[tuple[Choice, Cost]]:
    """What `fastest` chooses from, with the time that each is expected to take."""
    size = int(problem.a_type.bits) // 8
    accesses = accesses_of(problem, alignments, padded, ACCESS, facts.capability >= 80)
    straight = sum(x.is_async and x.vector > 1 for x in accesses)
    tiles = _own_tiles(problem, facts, padded) if may_be_loose else tiles_for(problem, facts)
    choices = [x for tile in tiles for x in _choices(problem, tile, facts)]
    if not may_be_loose:
        choices = [x for x in choices if x.stream_k_ctas == 0]
    elif all(x.vector * size == ACCESS for x in accesses):
        shared = (x for tile in SimtTiles.of(facts).shared for x in _choices(problem, tile, facts))
        choices += [x for x in shared if x.stream_k_ctas > 0]
    allowed = terms_allowed(problem, facts)
    lengths = [(x, _longest(problem, x)) for x in choices]
    exact = [x for x in lengths if x[1] <= allowed or _can_promote(problem, x[0].tile, facts)] or lengths
    return [(x, choice_cost(problem, x, facts, straight, is_promoted=longest > allowed)) for x, longest in exact]


def _own_tiles(problem: GemmProblem, facts: DeviceFacts, padded: tuple[bool, bool]) -> list[SimtTile]:
    """The tiles that are chosen from: those of the element type, some of them loose where A and B lie along K."""
    tiles, loose = tiles_for(problem, facts), loose_tiles(problem, (ACCESS, ACCESS, ACCESS), facts, padded)
    if not loose:
        return tiles
    return [*(x for x in tiles if x.sliced_k < SimtTiles.of(facts).loose[0].sliced_k), *loose]


def _can_promote(problem: GemmProblem, tile: SimtTile, facts: DeviceFacts) -> bool:
    """Whether the threads of a tile have room for totals."""
    return can_promote(problem, tile.sums(width_of(problem)), tile.threads * tile.ctas, facts)


def _longest(problem: GemmProblem, choice: Choice) -> float:
    """The terms of a choice's longest sum, and the sums that are added to it."""
    tile, stream_k_ctas = choice
    count = _tiles(problem, tile)
    terms = min(problem.k, problem.k * count / stream_k_ctas) if count < 2 * stream_k_ctas else problem.k
    beside = sum(x for x in (tile.sliced_k, -(-problem.k // max(int(terms), 1))) if x > 1)
    return terms / tile.sliced_k + beside
