"""How long gemm_sm90 takes: the cost model by which configurations and plans are ranked.

It counts clocks of a step along K (128 bytes of each row): the tensor cores', those in which the step's rows come into
the multiprocessor, and those in which the L2 gives them. SM90_MODEL in a device's file has its numbers; where it errs,
`kernels.gemm.tune` measures.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.choose.cost import Cost
from tilewright.kernels.gemm.sm90.build import beside_stages
from tilewright.kernels.gemm.sm90.conditions import store_of
from tilewright.kernels.gemm.sm90.shared_operand import SPAN
from tilewright.kernels.gemm.sm90.store_cost import store_clocks
from tilewright.kernels.gemm.stream_k import StreamK
from tilewright.numeric import TFloat32

if TYPE_CHECKING:
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem
    from tilewright.kernels.gemm.sm90.build import GemmSm90

__all__ = ["Config", "Sm90Configs", "Sm90Model", "config_cost", "cost", "few_steps", "smem_stages", "store_for"]


class Config(NamedTuple):
    """A configuration of the kernel: what a plan adds to its problem."""

    bM: int
    bN: int
    consumers: int = 2
    ping_pong: bool = False
    cluster: tuple[int, int] = (1, 1)
    split_k: int = 1
    resident: int = 1  # CTAs of a multiprocessor
    stages: int = 8  # at most
    buffers: int = 2  # boxes of C of a consumer
    stream_k_ctas: int = 0  # CTAs whose clusters share tiles along K; 0: none do


class Sm90Configs(Section):
    """The configurations, and what plans of few steps along K have: SM90_CONFIGS in a device's file says more."""

    SECTION: ClassVar[str] = "SM90_CONFIGS"
    configs: tuple[Config, ...]
    few_steps: int
    few_group: int
    many_group: int
    many_rows: int
    group_rows: int
    broken_stages: int
    shared_full: float
    shared_steps: int
    shared_parts: int
    shared_gain: float


class Sm90Model(Section):
    """What the model counts with: SM90_MODEL in a device's file says what each number is."""

    SECTION: ClassVar[str] = "SM90_MODEL"
    clock: float
    ingest: float
    stream: float
    few_tiles: int
    broken_rows: float
    latency: float
    launch: float
    fill: float
    cluster: float
    split: float
    exchange: float
    store: float
    memory: float
    written: float
    begun: float
    outstanding: int
    sharpness: float
    fetches: float
    l2: float
    direct: float
    overlapped: float
    unused: float
    starved: float
    starving: float
    quads: float
    part: float
    joining: float
    l2_bytes: float


def few_steps(problem: GemmProblem, facts: DeviceFacts) -> bool:
    """Whether K has so few steps that to write C is what takes time."""
    return problem.k * int(problem.a_type.bits) <= Sm90Configs.of(facts).few_steps * SPAN * 8


def smem_stages(config: Config, problem: GemmProblem, facts: DeviceFacts, store: str) -> int:
    """The stages that fit a multiprocessor with as many CTAs, beside boxes of C and the bias."""
    beside = beside_stages(problem, config.bN, config.consumers, config.buffers, store)
    free = ((facts.shared_bytes + 1024) // config.resident // 1024 - 1) * 1024 - beside
    most = config.stages
    if few_steps(problem, facts):
        most = min(most, Sm90Configs.of(facts).few_steps - 1)
    if {config.bM, config.bN} == {64, 128} and all(_breaks(x, problem) for x in (problem.a_strides, problem.b_strides)):
        most = min(most, Sm90Configs.of(facts).broken_stages)
    return min(free // ((config.bM + config.bN) * SPAN + 16), most)


def _breaks(strides: tuple[int, ...], problem: GemmProblem) -> bool:
    """Whether rows of an operand do not begin at the L2's lines."""
    return (strides[0] if strides[1] == 1 else strides[1]) * problem.a_type.bits // 8 % SPAN != 0


@lru_cache(maxsize=4096)  # a model is fitted by asking for the same costs thousands of times
def store_for(config: Config, problem: GemmProblem, alignment: int) -> str:
    """How a plan of a configuration stores C, at an address of this alignment."""
    sharing = 1 if config.ping_pong else config.consumers
    paired = problem.a_type is TFloat32 and problem.a_strides[1] != 1
    return store_of(problem, config.bM, config.bN, config.split_k, sharing, alignment, paired)


def config_cost(config: Config, problem: GemmProblem, facts: DeviceFacts, model: Sm90Model | None = None) -> Cost:
    """The time that a problem is expected to take with a configuration, by other numbers than the device's if given.

    >>> from tilewright import BFloat16
    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> found = config_cost(Config(128, 256), problem_of(4096, 4096, 4096, BFloat16), H200)
    >>> 160e-6 < found.seconds < 200e-6, found.bound
    (True, 'tensor cores')
    """
    p, size, model = problem, problem.a_type.bits // 8, model or Sm90Model.of(facts)
    bM, bN, (cM, cN) = config.bM, config.bN, config.cluster
    sms = facts.multiprocessors if cM * cN * config.split_k <= 2 else int(facts.multiprocessors * model.quads)
    steps = -(-p.k * size // SPAN)
    steps = -(-steps // config.split_k)
    rounded_m, rounded_n = -(-p.m // (bM * cM)) * cM, -(-p.n // (bN * cN)) * cN
    tiles = rounded_m * rounded_n * p.batches * config.split_k
    waves: float = -(-tiles // (sms * config.resident))
    together = max(min(config.resident, -(-tiles // sms)), 1)  # CTAs that a multiprocessor really has
    multiply, shared = bM * bN / 32, bM + bM * bN / 64
    broken = [model.broken_rows if _breaks(strides, p) else 1.0 for strides in (p.a_strides, p.b_strides)]
    ingest = (bM + bN) * SPAN / model.ingest
    fetch = (bM * broken[0] / cN + bN * broken[1] / cM) * SPAN / model.ingest
    # Rows that few tiles share are read from memory, for all of these at the same time.
    few = model.few_tiles
    streamed = (bM / cN if rounded_n <= few * cN else 0) + (bN / cM if rounded_m <= few * cM else 0)
    store = store_for(config, p, SPAN)
    late = model.latency / (together * min(max(smem_stages(config, p, facts, store), 1), model.outstanding))
    stored = store_clocks(p, bM, bN, config.split_k, config.consumers, store, model.store)
    start = model.fill + (model.cluster if cM * cN > 1 else 0)
    if store in ("pairs", "singles"):
        start += model.direct
    exchange = 0.0
    if config.split_k > 1:  # nothing of the next tile is fetched before the sums are exchanged
        start *= waves
        exchange = model.split + 4 * bM * bN / model.exchange
    moved: float = p.batches * size * (p.m * p.k + p.n * p.k)
    written = p.batches * p.m * p.n * p.c_type.bits / 8
    useful = (min(bM, p.m) + min(bN, p.n)) / (bM + bN)
    longer = 1 + model.unused * (1 - useful)
    joined = 0.0
    if config.stream_k_ctas:
        shares = StreamK(config.stream_k_ctas // (cM * cN), tiles // (cM * cN), steps)
        waves = shares.longest / steps + (shares.tiles - shares.shared) / shares.workers
        parts, moving = shares.parts_of_one, 4 * bM * bN / model.part
        # A share's sums are left once, and those of others are added; more tiles may be stored than are multiplied.
        joined = (parts > 0) * moving + parts * (model.joining + moving)
        joined += stored * (math.ceil(waves) - waves)
        # Shares are at other steps of their tiles: what of A and B the L2 does not hold until then is read again.
        group = max(min(Sm90Configs.of(facts).group_rows // (bM * cM), rounded_m // cM), 1)
        held = (bM * cM * min(group, shares.shared) + bN * cN * -(-shares.shared // group)) * size * p.k
        again = shares.shared * cM * cN * steps * fetch * model.ingest * max(1 - model.l2_bytes / held, 0)
        moved += again
    elif tiles < model.starving * sms:
        longer *= 1 + model.starved
    each, clocks = 1 / model.clock, together * steps / model.clock
    return Cost(
        launch=model.launch + (model.split * each if config.split_k > 1 else 0),
        start=start * each,
        joined=joined * each,
        waves=waves,
        filled=tiles / (sms * together),
        multiply=clocks * multiply,
        shared=clocks * shared,
        l2=clocks * max(ingest, fetch),
        streamed=clocks * streamed * SPAN / model.stream,
        late=clocks * late,
        begun=together * model.begun * each,
        stored=together * stored * each * (model.overlapped if config.ping_pong and waves > 1 else 1),
        summed=exchange * each,
        memory=longer * (moved / model.memory + written / model.written),
        sharpness=model.sharpness,
        traffic=model.fetches * tiles * steps * fetch * model.ingest / model.l2,
    )


def cost(plan: GemmSm90, facts: DeviceFacts) -> Cost:
    """The time that a plan is expected to take on a device."""
    bM, bN, _ = plan.tiler_mnk
    resident = max(plan.workers // facts.multiprocessors, 1)
    config = Config(
        bM, bN, plan.consumers, plan.ping_pong, plan.cluster_mn, plan.split_k, resident, plan.stages,
        stream_k_ctas=plan.stream_k_ctas,
    )  # fmt: skip
    return config_cost(config, plan.problem, facts)
