"""How long gemm_sm90 takes: the cost model by which configurations and plans are ranked.

It counts clocks of a step along K (128 bytes of each row): the tensor cores', those in which the step's rows come into
the multiprocessor, and those in which the L2 gives them. SM90_MODEL in a device's file has its numbers; where it errs,
`kernels.gemm.tune` measures.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.cost import Cost
from tilewright.kernels.gemm.sm90.cases import Cases, Config, Sm90Configs, cases_of, stored_by
from tilewright.kernels.gemm.sm90.shared_operand import ATOM_ROWS, SPAN
from tilewright.kernels.gemm.sm90.store_cost import store_clocks
from tilewright.kernels.gemm.stream_k import StreamK, has_long_rows

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.sm90.plan import GemmSm90

__all__ = ["Config", "Sm90Configs", "Sm90Model", "config_cost", "cost", "costs", "one_of", "seats"]


class Sm90Model(Section):
    """What the model counts with: SM90_MODEL in a device's file says what each number is."""

    SECTION: ClassVar[str] = "SM90_MODEL"
    clock: float
    ingest: float
    stream: float
    few_tiles: int
    broken_lines: float
    broken_rows: float
    broken_sectors: float
    latency: float
    launch: float
    fill: float
    cluster: float
    split: float
    exchange: float
    store: float
    box: float
    memory: float
    again: float
    asking: int
    written: float
    begun: float
    outstanding: int
    kept: float
    sharpness: float
    fetches: float
    l2: float
    hot: float
    hot_sectors: float
    lead: int
    direct: float
    across: float
    overlapped: float
    unused: float
    crowded: float
    crowding: int
    anew: float
    quads: float
    part: float
    joining: float


def config_cost(config: Config, problem: GemmProblem, facts: DeviceFacts, model: Sm90Model | None = None) -> Cost:
    """The time that a problem is expected to take with a configuration, by other numbers than the device's if given.

    >>> from tilewright import BFloat16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> found = config_cost(Config(128, 256), problem_of(4096, 4096, 4096, BFloat16), H200)
    >>> 160e-6 < found.seconds < 200e-6, found.bound
    (True, 'tensor cores')
    """
    return one_of(costs(cases_of((config,), problem, facts), facts, model), 0)


def one_of(costs: Cost, index: int) -> Cost:
    """One of the costs that costs() has given."""
    terms: Any = (float(x[index]) if isinstance(x, np.ndarray) else x for x in costs)
    return Cost(*terms)


def costs(cases: Cases, facts: DeviceFacts, model: Sm90Model | None = None) -> Cost:
    """The times that cases are expected to take: each term is an array, or one number for all."""
    x, model, size = cases, model or Sm90Model.of(facts), cases.size
    sms = np.where(x.cM * x.cN * x.split_k <= 2, seats(1, facts, model), seats(4, facts, model))
    steps, (rounded_m, rounded_n) = x.steps, x.rounded
    tiles = rounded_m * rounded_n * x.batches * x.split_k
    waves = np.ceil(tiles / (sms * x.resident))
    # CTAs that a multiprocessor really has.
    together = np.maximum(np.minimum(x.resident, np.ceil(tiles / sms)), 1)
    multiply, shared = x.bM * x.bN / 32, x.bM + x.bM * x.bN / 64
    comes = np.where(x.held > 0, 0, x.bN)  # rows of B for every tile
    broken = [np.choose(how, (1.0, model.broken_rows, model.broken_sectors)) for how in (x.broken_a, x.broken_b)]
    ingest = (x.bM + comes) * SPAN / model.ingest
    fetch = (x.bM * broken[0] / x.cN + comes * broken[1] / x.cM) * SPAN / model.ingest
    # Rows that few tiles share are read from memory, for all of these at the same time.
    few = model.few_tiles
    streamed = np.where(rounded_n <= few * x.cN, x.bM / x.cN, 0) + np.where(rounded_m <= few * x.cM, comes / x.cM, 0)
    late = model.latency / (together * (np.clip(x.stages, 2, model.outstanding) - model.kept))
    stored = store_clocks(x, model.store, model.broken_lines, model.across) + x.boxes * model.box
    is_direct = stored_by(x.store, ("lines", "pairs", "singles"))
    start = model.fill + np.where(x.cM * x.cN > 1, model.cluster, 0) + np.where(is_direct, model.direct, 0)
    is_split = x.split_k > 1  # nothing of the next tile is fetched before the sums are exchanged
    start = np.where(is_split, start * waves, start)
    exchange = np.where(is_split, model.split + 4 * x.bM * x.bN / model.exchange, 0)
    of_a, of_b = (x.batches * size * rows * x.k * 1.0 for rows in (x.m, x.n))
    # Of the rows that the memory brings, several clusters ask for the same ones at the same time.
    asking = np.minimum(rounded_n / x.cN, model.asking), np.minimum(rounded_m / x.cM, model.asking)
    again = of_a * (asking[0] - 1) + of_b * (asking[1] - 1)
    written = x.batches * x.m * x.n * x.out
    useful = (np.minimum(x.bM, x.m) + np.minimum(x.bN, x.n)) / (x.bM + x.bN)
    longer = 1 + model.unused * (1 - useful)
    joined, waves = _shared_tiles(x, model, tiles, steps, waves, stored)
    sums = x.bM * x.bN / ATOM_ROWS / np.where(x.ping_pong > 0, 1, x.consumers)  # columns of 64 rows, of a consumer
    each = 1 / model.clock
    clocks = together * steps / model.clock * np.where(sums > model.crowding, model.crowded, 1)
    return Cost(
        launch=model.launch + np.where(is_split, (model.split + model.anew * (waves - 1)) * each, 0),
        start=start * each,
        joined=joined * each,
        waves=waves,
        filled=tiles / (sms * together),
        multiply=clocks * multiply,
        shared=clocks * shared,
        l2=clocks * np.maximum(ingest, fetch),
        streamed=clocks * streamed * SPAN / model.stream,
        late=clocks * late,
        begun=together * model.begun * each,
        stored=together * stored * each * np.where((x.ping_pong > 0) & (waves > 1), model.overlapped, 1),
        summed=exchange * each,
        memory=longer * ((of_a + of_b) / model.memory + written / model.written) + again / model.again,
        sharpness=model.sharpness,
        traffic=model.fetches * tiles * steps * fetch * model.ingest / model.l2,
        hot=_hot(x, model, tiles * steps) * each,
    )


def seats(cluster: int, facts: DeviceFacts, model: Sm90Model | None = None) -> int:
    """The multiprocessors of a device that have a place in a cluster of so many CTAs."""
    share = (model or Sm90Model.of(facts)).quads if cluster > 2 else 1
    return int(facts.multiprocessors * share)


def _hot(x: Cases, model: Sm90Model, steps: Any) -> Any:
    """Clocks in which the L2 gives rows of A or B that all CTAs ask for at the same time, since they are few.

    Of an operand lines of `lead` steps are asked for at a time: the more there are, the more parts of the L2 give them.
    """
    found = []
    sides = (x.m, x.bM, x.cN, x.a_along_k, x.broken_a), (x.n, x.bN, x.cM, x.b_along_k, x.broken_b)
    for rows, tile, sharers, major, how in sides:
        inside = np.minimum(rows, tile)
        requests = steps * np.where(major, inside, SPAN / x.size * np.ceil(inside * x.size / SPAN)) / sharers
        requests = requests * np.where(how == 2, model.hot_sectors, 1)
        lines = np.maximum(rows * np.minimum(x.k * x.size, model.lead * SPAN) / SPAN, 1)
        found.append(requests / (model.hot * lines))
    return np.maximum(found[0], np.where(x.held > 0, 0, found[1]))


def _shared_tiles(x: Cases, model: Sm90Model, tiles: Any, steps: Any, waves: Any, stored: Any) -> tuple[Any, Any]:
    """Of tiles that are shared along K: clocks to join their sums, and the waves."""
    joined, waves = np.zeros(np.shape(waves)), np.array(waves, float)
    for i in np.flatnonzero(x.stream_k_ctas):
        bM, bN, cM, cN = (int(y[i]) for y in (x.bM, x.bN, x.cM, x.cN))
        count, own, k, size = (int(np.broadcast_to(y, waves.shape)[i]) for y in (tiles, steps, x.k, x.size))
        in_step = has_long_rows(k, 8 * size)
        shares = StreamK(int(x.stream_k_ctas[i]) // (cM * cN), count // (cM * cN), own, in_step)
        waves[i] = shares.longest / own + (shares.tiles - shares.shared) / shares.workers
        parts, moving = shares.parts_of_one, 4 * bM * bN / model.part
        # A share's sums are left once, and those of others are added; more tiles may be stored than are multiplied.
        joined[i] = (parts > 0) * (model.joining + moving) + parts * moving
        joined[i] += stored[i] * (math.ceil(waves[i]) - waves[i])
    return joined, waves


def cost(plan: GemmSm90, facts: DeviceFacts) -> Cost:
    """The time that a plan is expected to take on a device."""
    bM, bN, _ = plan.tiler_mnk
    resident = max(plan.workers // seats(math.prod(plan.cluster_mn), facts), 1)
    config = Config(
        bM, bN, plan.consumers, plan.ping_pong, plan.cluster_mn, plan.split_k, resident, plan.stages,
        stream_k_ctas=plan.stream_k_ctas,
    )  # fmt: skip
    case = cases_of((config,), plan.problem, facts)  # the plan may have been changed: it holds B, or does not
    return one_of(costs(case._replace(held=np.array([plan.held_b]), stages=np.array([plan.stages])), facts), 0)
