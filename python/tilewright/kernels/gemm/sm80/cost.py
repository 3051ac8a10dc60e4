"""How long gemm_sm80 takes: the model by which its tiles are ranked, and its plans beside those of other kernels.

It counts clocks of a step along K: those of the tensor cores, those in which the accesses of A and B are issued, and
those until a step's elements have arrived. SM80 in a device's file has its numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.cost import Cost
from tilewright.kernels.gemm.choose.rates import Rates
from tilewright.numeric import Float8E4M3FN, Float8E5M2, Float64

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.sm80.plan import GemmSm80

__all__ = ["LINE", "Accesses", "Sm80Numbers", "Sm80Tile", "cost", "tile_cost", "tiles_for"]

WARP = 32  # lanes
WIDEST, LINE = 16, 128  # bytes of an access and of a line
BLACKWELL = 100  # a capability


class Sm80Tile(NamedTuple):
    """A CTA's tile, its warps along M and N, stages, CTAs of a multiprocessor, and its speed on large problems."""

    bm: int
    bn: int
    bytes_k: int  # of a row of a step along K
    warps: tuple[int, int]
    stages: int
    ctas: int
    rate: float

    def held(self, size: int, accesses: Accesses) -> float:
        """Elements of a step, of `size` bytes, that each thread has in registers on their way to shared memory."""
        sides = zip((self.bm, self.bn), accesses.by_cp_async, strict=True)
        rows = sum(extent for extent, by_cp_async in sides if not by_cp_async)
        return rows * self.bytes_k / size / (WARP * math.prod(self.warps))


class Sm80Numbers(Section):
    """The tiles, by types and accesses, and the numbers of the model: SM80 in a device's file says what each is."""

    SECTION: ClassVar[str] = "SM80"
    tiles: tuple[Sm80Tile, ...]
    narrow: tuple[Sm80Tile, ...]
    narrow8: tuple[Sm80Tile, ...]
    float64: tuple[Sm80Tile, ...]
    float8: tuple[Sm80Tile, ...]
    occupied: float
    held: int
    few_steps: int
    clock: float
    launch: float
    converted: float
    issue: float
    half_lines: float
    single: float
    arrival: float
    load: float
    at_ease: int
    crowded: float
    begin: float
    store: float
    narrow_store: float
    single_store: float


class Accesses(NamedTuple):
    """Bytes of an access of A and of B, and whether by cp.async; elements of C that are stored by one access."""

    widths: tuple[int, int]
    by_cp_async: tuple[bool, bool]
    stored: int


def tiles_for(problem: GemmProblem, is_wide: bool, facts: DeviceFacts) -> tuple[Sm80Tile, ...]:
    """The tiles for a problem's types; `is_wide`: where cp.async brings 16 bytes of both operands at a time."""
    numbers = Sm80Numbers.of(facts)
    if problem.a_type is Float64:  # from Blackwell on the compiler finds no registers for the largest
        return tuple(tile for tile in numbers.float64 if facts.capability < BLACKWELL or tile.bm < 128)
    if problem.a_type in (Float8E4M3FN, Float8E5M2):
        return numbers.float8 if is_wide else tuple(tile._replace(bytes_k=64) for tile in numbers.float8)
    if is_wide:
        return numbers.tiles
    return numbers.narrow8 if problem.a_type.bits == 8 else numbers.narrow


def cost(plan: GemmSm80, facts: DeviceFacts) -> Cost:
    """The time that a plan is expected to take on a device."""
    bm, bn, bk = plan.tiler_mnk
    size = int(plan.problem.a_type.bits) // 8
    sides = plan.sides
    accesses = Accesses(
        (sides[0].vector * size, sides[1].vector * size), (sides[0].is_async, sides[1].is_async), plan.store_vector
    )
    is_wide = accesses.widths == (WIDEST, WIDEST) and all(accesses.by_cp_async)
    known = tiles_for(plan.problem, is_wide, facts)
    alike = [x for x in known if (x.bm, x.bn) == (bm, bn)]
    alike = [x for x in alike if x.bytes_k == bk * size] or alike
    rate = max((x.rate for x in alike), default=min(x.rate for x in known))
    tile = Sm80Tile(bm, bn, bk * size, (plan.threads // WARP, 1), plan.stages, plan.min_ctas, rate)
    return tile_cost(plan.problem, tile, accesses, facts)


def tile_cost(problem: GemmProblem, tile: Sm80Tile, accesses: Accesses, facts: DeviceFacts) -> Cost:
    """The time that a tile is expected to take: full waves, and the last one as far as it is filled.

    >>> from tilewright import Float16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> tile, wide = Sm80Numbers.of(H200).tiles[0], Accesses((16, 16), (True, True), 8)
    >>> [tile_cost(problem_of(n, n, n, Float16), tile, wide, H200).bound for n in (512, 8192)]
    ['last wave', 'tensor cores']
    >>> narrow = Accesses((4, 4), (True, True), 1)
    >>> tile_cost(problem_of(8191, 8191, 8190, Float16), tile, narrow, H200).bound
    'shared memory'
    """
    p, numbers, rates = problem, Sm80Numbers.of(facts), Rates.of(facts)
    rate = _rate(problem, facts) * tile.rate
    if not rate:
        return Cost(multiply=float("inf"))
    size, sms = int(p.a_type.bits) // 8, facts.multiprocessors
    tiles = max(-(-p.m // tile.bm) * -(-p.n // tile.bn) * p.batches, 1)
    steps = -(-p.k * size // tile.bytes_k)
    full, rest = divmod(tiles, sms * tile.ctas)
    last = -(-rest // sms) / tile.ctas
    # Tensor cores do more for a CTA that is alone on a multiprocessor than for each of two.
    occupied = numbers.occupied + (1 - numbers.occupied) * last if rest else 0.0
    waves = full + (rest > 0)
    each = steps * tile.ctas / numbers.clock / waves
    multiply = tile.bm * tile.bn * tile.bytes_k / size / rate
    issued = []
    for rows, width, by_cp_async in zip((tile.bm, tile.bn), accesses.widths, accesses.by_cp_async, strict=True):
        clocks = numbers.issue if by_cp_async else numbers.single
        lines = numbers.half_lines if by_cp_async and width < WIDEST and tile.bytes_k < LINE else 1.0
        issued.append(rows * tile.bytes_k / width / WARP * clocks * lines)
    multiplied, loaded = each * multiply * (full + occupied), each * sum(issued) * (full + last)
    # Elements that go through registers are waited for before any of them is stored, while other CTAs do their part.
    waits, together = not all(accesses.by_cp_async), tile.ctas if full else max(last * tile.ctas, 1)
    meanwhile = max(multiplied, loaded) * (1 - 1 / together)
    crowd = max(tile.held(size, accesses) - numbers.at_ease, 0)
    waited = steps * (numbers.load + numbers.crowded * crowd) / numbers.clock
    stored = tile.bm * tile.bn * p.c_type.bits / 8 / _stores(accesses.stored, p.c_type.bits // 8, numbers)
    return Cost(
        launch=numbers.launch,
        waves=waves,
        filled=tiles / (sms * tile.ctas),
        multiply=multiplied,
        shared=loaded,
        late=0.0 if waits else steps * numbers.arrival / numbers.clock,
        fetched=max(waited - meanwhile, 0.0) if waits else 0.0,
        begun=numbers.begin / together / numbers.clock,
        stored=tile.ctas * stored * (full + last) / waves / numbers.clock,
        memory=p.moved_bytes / (rates.bandwidth * 1e12),
    )


def _stores(vector: int, size: int, numbers: Sm80Numbers) -> float:
    """Bytes of C that a multiprocessor stores in a clock, `vector` elements of `size` bytes at a time."""
    if vector == 1:
        return numbers.single_store
    return numbers.store if vector * size == WIDEST else numbers.narrow_store


def _rate(problem: GemmProblem, facts: DeviceFacts) -> float:
    """Products of a multiprocessor in a clock, in a tile whose rate is 1."""
    rates, numbers = Rates.of(facts), Sm80Numbers.of(facts)
    reached = rates.kernels.get("sm80", 0.0)
    if problem.a_type in (Float8E4M3FN, Float8E5M2):
        reached *= numbers.converted
    elif problem.a_type is Float64 and reached:
        reached = 1.0  # the rates of its tiles are shares of what the tensor cores can do
    return rates.of_tensor_cores(problem.a_type) * 1e12 * reached / facts.multiprocessors / 2 / numbers.clock
