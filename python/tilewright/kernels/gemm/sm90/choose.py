"""Which plan of the Hopper kernel for which problem: the device's configurations, ranked by the cost model."""

from __future__ import annotations

import functools
import math
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright._core import LayoutError
from tilewright.cute.atoms.mma_traits import MMA_TRAITS
from tilewright.cute.atoms.mma_warpgroup import WarpgroupMmaOp
from tilewright.cute.int_tuple import text
from tilewright.devices import H200, DeviceFacts
from tilewright.kernels.gemm.choose.promotion import promotion_by_wgmma, with_promotion
from tilewright.kernels.gemm.sm90.cases import Config, Sm90Configs, cases_of, few_steps
from tilewright.kernels.gemm.sm90.conditions import paired_rows, received_bytes, refusal, too_many_sums
from tilewright.kernels.gemm.sm90.cost import costs, one_of, seats
from tilewright.kernels.gemm.sm90.plan import N_EXTENTS, GemmSm90
from tilewright.kernels.gemm.sm90.shared_operand import ATOM_ROWS, SPAN, majors_of, shares_boxes, smem_layout
from tilewright.kernels.gemm.sm90.stores import STORES
from tilewright.kernels.gemm.stream_k import StreamK, has_long_rows
from tilewright.numeric import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int32, TFloat32, Uint8

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tilewright.kernels.gemm.choose.cost import Cost
    from tilewright.kernels.gemm.problem import GemmProblem

BYTES = (Int8, Uint8)
FLOAT8 = (Float8E4M3FN, Float8E5M2)
HALF = (Float16, BFloat16)
MOST = 2**31 - 1024


def _majors(problem: GemmProblem, alignments: tuple[int, int, int]) -> tuple[bool, bool] | None:
    """Whether A and B are K-major; None where TMA or wgmma takes one of them in neither way."""
    p, found = problem, []
    for i, (dtype, rows, strides, alignment) in enumerate(
        ((p.a_type, p.m, p.a_strides, alignments[0]), (p.b_type, p.n, p.b_strides, alignments[1]))
    ):
        for k_major in (True, False):
            if refusal(dtype, rows, p.k, p.batch, strides, k_major, alignment, is_a=i == 0) is None:
                found.append(k_major)
                break
        else:
            return None
    return found[0], found[1]


def _takes(problem: GemmProblem) -> bool:
    p = problem
    pair = (p.a_type, p.b_type)
    known = (
        (p.a_type is p.b_type and p.a_type in (*HALF, TFloat32))
        or all(x in FLOAT8 for x in pair)
        or all(x in BYTES for x in pair)
    )
    small = max(p.m, p.n, p.k) < MOST  # coordinates of boxes have 32 bits
    return known and small and p.acc_type in (Float32, Int32) and p.k > 0 and len(p.batch) <= 3


def _fits(config: Config, problem: GemmProblem, k_major: tuple[bool, bool]) -> bool:
    if problem.a_type in BYTES and config.bN not in MMA_TRAITS["wgmma.k32.i8.ss"].n_extents:
        return False  # an instruction of integers has fewer widths
    unit = SPAN * 8 // problem.a_type.bits
    for rows, major, sharers in (
        (config.bM, k_major[0], config.cluster[1]),
        (config.bN, k_major[1], config.cluster[0]),
    ):
        if rows % (sharers if major else unit) or not (major or shares_boxes(rows, unit, sharers)):
            return False
    return True


def tiled_mma_of(problem: GemmProblem, bN: int, warpgroups: int, k_major: tuple[bool, bool]) -> Any:
    """The TiledMma of a problem's types: 64 rows by bN columns for each of so many warpgroups along M."""
    from tilewright.cute.atoms.mma_warpgroup import (
        MmaF8Op,
        MmaF16BF16Op,
        MmaI8Op,
        MmaTF32Op,
        OperandMajorMode,
        OperandSource,
    )
    from tilewright.cute.tiled.make_tiled_mma import make_tiled_mma

    p = problem
    shape = (ATOM_ROWS, bN, 256 // p.a_type.bits)
    majors = [OperandMajorMode.K if major else OperandMajorMode.MN for major in k_major]
    op: Any
    if p.a_type in HALF:
        op = MmaF16BF16Op(p.a_type, Float32, shape, OperandSource.SMEM, *majors)
    elif p.a_type is TFloat32 and not k_major[0]:
        op = MmaTF32Op(shape, OperandSource.RMEM)
        return make_tiled_mma(op, (warpgroups, 1, 1), (paired_rows(warpgroups), None, None))
    elif p.a_type is TFloat32:
        op = MmaTF32Op(shape, OperandSource.SMEM)
    elif p.a_type in BYTES:
        op = MmaI8Op(p.a_type, p.b_type, Int32, shape, OperandSource.SMEM)
    else:
        op = MmaF8Op(p.a_type, p.b_type, Float32, shape, OperandSource.SMEM)
    return make_tiled_mma(op, (warpgroups, 1, 1))


def _group(problem: GemmProblem, bM: int, facts: DeviceFacts) -> int:
    """The tiles along M that are taken together; where C is what takes time, few."""
    numbers = Sm90Configs.of(facts)
    if not few_steps(problem, facts):
        return max(numbers.group_rows // bM, 1)
    return numbers.few_group if problem.m < numbers.many_rows * bM else numbers.many_group


def _workers(config: Config, facts: DeviceFacts) -> int:
    """The CTAs of a configuration that are resident at a time: with more, the last ones begin when others have ended.

    >>> from tilewright.devices import H200
    >>> [_workers(Config(128, 128, cluster=cluster), H200) for cluster in ((2, 1), (2, 2), (2, 4))]
    [132, 120, 120]
    """
    return seats(math.prod(config.cluster), facts) * config.resident


def plan_of(
    config: Config, problem: GemmProblem, k_major: tuple[bool, bool], alignments: tuple[int, int, int],
    facts: DeviceFacts,
) -> GemmSm90 | None:  # fmt: skip
    """The plan of a configuration; None where it does not fit the problem or shared memory."""
    p, bM, bN = problem, config.bM, config.bN
    if not _fits(config, problem, k_major) or config.split_k > max(p.k * p.a_type.bits // (8 * SPAN), 1):
        return None
    case = cases_of((config,), p, facts, alignments)
    store, stages, held = STORES[int(case.store[0])], int(case.stages[0]), int(case.held[0])
    got = received_bytes(bM, bN, config.split_k, config.consumers)
    if stages < 2 or got > (bM + bN) * SPAN:
        return None
    bK = SPAN * 8 // p.a_type.bits
    warpgroups = 1 if config.ping_pong else config.consumers
    paired = p.a_type is TFloat32 and not k_major[0]
    beside = math.prod(config.cluster) * config.split_k
    if paired and too_many_sums(p, bM, bN, warpgroups, config.ping_pong, beside, store, config.stream_k_ctas):
        return None
    plan = GemmSm90(
        problem=p,
        tiler_mnk=(bM, bN, bK),
        tiled_mma=tiled_mma_of(p, bN, warpgroups, k_major),
        stages=stages,
        smem_a=smem_layout(p.a_type, bM, bK, stages, k_major[0]),
        smem_b=smem_layout(p.b_type, bN, bK, held or stages, k_major[1]),
        cluster_mn=config.cluster,
        split_k=config.split_k,
        ping_pong=config.ping_pong,
        store=store,
        store_buffers=config.buffers,
        workers=_workers(config, facts),
        group=_group(p, bM, facts),
        stream_k_ctas=config.stream_k_ctas,
        held_b=held,
    )
    return with_promotion(plan, promotion_by_wgmma(plan, facts))


def shared(config: Config, problem: GemmProblem, facts: DeviceFacts) -> Config | None:
    """The configuration with tiles that all CTAs share along K; None where it, or the problem, is none for that."""
    numbers, cluster = Sm90Configs.of(facts), math.prod(config.cluster)
    alone = config.split_k == config.resident == 1 and not config.ping_pong and config.consumers <= 2
    fits = numbers.shared_sums <= config.bM * config.bN <= numbers.most_shared_sums
    if not (alone and fits) or cluster > 2 or problem.whole_k:
        return None
    workers, steps = facts.multiprocessors // cluster, -(-problem.k * problem.a_type.bits // (8 * SPAN))
    along = zip((problem.m, problem.n), (config.bM, config.bN), config.cluster, strict=True)
    tiles = math.prod(-(-extent // (tile * beside)) for extent, tile, beside in along) * problem.batches
    shares = StreamK(workers, tiles, steps, has_long_rows(problem.k, problem.a_type.bits))
    few = 0 < shares.parts_of_one <= numbers.shared_parts
    if tiles < workers or steps < numbers.shared_steps or not few or not shares.is_counted:
        return None
    return config._replace(stream_k_ctas=workers * cluster)


def _with_shares(
    configs: tuple[Config, ...], alone: Cost, least: float, problem: GemmProblem, facts: DeviceFacts
) -> Iterator[Config]:
    """The configurations that may be much faster if tiles are shared along K: whose last wave is nearly empty.

    alone: what they cost if none are shared, least: the seconds of the fastest plan then.
    """
    numbers = Sm90Configs.of(facts)
    may_gain = alone.without("last wave") < numbers.shared_gain * least
    for i in np.flatnonzero((alone.filled < numbers.shared_full * alone.waves) & may_gain):
        one = shared(configs[i], problem, facts)
        if one is not None:
            yield one


def _rank(stream_k_ctas: int, seconds: float, numbers: Sm90Configs) -> float:
    """By what configurations are sorted: their time, of which sharing must save so much that it is clear."""
    return seconds / numbers.shared_gain if stream_k_ctas else seconds


def rank(plan: GemmSm90, cost: Cost, facts: DeviceFacts) -> float:
    """By what plans for a problem and for C transposed are compared: see `_rank`."""
    return _rank(plan.stream_k_ctas, cost.seconds, Sm90Configs.of(facts))


def _ranked(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts
) -> Iterator[tuple[GemmSm90, Cost]]:
    if not _takes(problem):
        return
    k_major = _majors(problem, alignments)
    if k_major is None:
        return
    numbers = Sm90Configs.of(facts)
    configs = numbers.configs
    if problem.whole_k:  # what is a part already is not shared any more
        configs = tuple(config for config in configs if config.split_k == 1)
    plan = functools.cache(lambda config: plan_of(config, problem, k_major, alignments, facts))
    alone = costs(cases_of(configs, problem, facts, alignments), facts)
    seconds = alone.seconds
    by_time = np.argsort(seconds, kind="stable")
    least = next((seconds[i] for i in by_time if plan(configs[i]) is not None), math.inf)
    sharing = tuple(_with_shares(configs, alone, least, problem, facts))
    configs += sharing
    found = costs(cases_of(configs, problem, facts, alignments), facts) if sharing else alone
    seconds = found.seconds
    ranks = [_rank(config.stream_k_ctas, seconds[i], numbers) for i, config in enumerate(configs)]
    for i in np.argsort(ranks, kind="stable"):
        if (made := plan(configs[i])) is not None:
            yield made, one_of(found, i)


def choose(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None) -> GemmSm90 | None:
    """The plan that is expected to be the fastest; None where the kernel does not take the problem."""
    return next((plan for plan, _ in _ranked(problem, alignments, facts or H200)), None)


def considered(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None
) -> Iterator[tuple[GemmSm90, Cost]]:
    """What `choose` chooses from, with the time that each is expected to take, the best first."""
    return _ranked(problem, alignments, facts or H200)


def considered_in_parts(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts,
    divide: Callable[[Config], Iterable[tuple[GemmProblem, float]]],
) -> Iterator[tuple[GemmSm90, float]]:  # fmt: skip
    """The plans of parts of K with the seconds that they and what comes behind are expected to take, the best first.

    `divide`: for a configuration the problems of parts to be considered, and the seconds of what comes behind.
    """
    k_major = _majors(problem, alignments) if _takes(problem) else None
    if k_major is None:
        return
    found: dict[GemmProblem, list[tuple[Config, float]]] = {}
    for config in Sm90Configs.of(facts).configs:
        if config.split_k == 1 and not config.ping_pong:  # a CTA has hardly more than one tile
            for parts, behind in divide(config):
                found.setdefault(parts, []).append((config, behind))
    ranked: list[tuple[float, Config, GemmProblem]] = []
    for parts, ways in found.items():
        configs, behind_them = zip(*ways, strict=True)
        seconds = costs(cases_of(configs, parts, facts, alignments), facts).seconds + np.array(behind_them)
        ranked += zip(seconds.tolist(), configs, [parts] * len(configs), strict=True)
    for seconds, config, parts in sorted(ranked, key=lambda x: x[0]):
        plan = plan_of(config, parts, k_major, alignments, facts)
        if plan is not None:
            yield plan, seconds


def variants(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None, most: int = 16
) -> list[GemmSm90]:
    """The plans that are worth measuring, the one that is expected to be the fastest first."""
    return [plan for plan, _ in islice(_ranked(problem, alignments, facts or H200), most)]


def given(
    problem: GemmProblem, tiled_mma: Any, tiled_copy_a: Any, tiled_copy_b: Any,
    tiler_mnk: tuple[int, int, int] | None, stages: int | None, alignments: tuple[int, int, int],
) -> GemmSm90 | None:  # fmt: skip
    """The plan of a user's TiledMma; its warpgroups share a tile. None where it multiplies by another operation."""
    if not isinstance(tiled_mma.op, WarpgroupMmaOp):
        return None
    if tiled_copy_a is not None or tiled_copy_b is not None:
        raise TypeError("kernels.gemm: wgmma reads what TMA brings, so tiled_copy_a and tiled_copy_b must be None")
    p, op = problem, tiled_mma.op
    for name, got, wanted in (("mA", p.a_type, op.a_dtype), ("mB", p.b_type, op.b_dtype)):
        if got is not wanted:
            raise TypeError(f"kernels.gemm: {name} has elements of {got}, but tiled_mma multiplies {wanted}")
    majors = majors_of(op)
    for name, dtype, rows, strides, k_major, alignment in (
        ("mA", p.a_type, p.m, p.a_strides, majors[0], alignments[0]),
        ("mB", p.b_type, p.n, p.b_strides, majors[1], alignments[1]),
    ):
        why = refusal(dtype, rows, p.k, p.batch, strides, k_major, alignment, is_a=name == "mA")
        if why:
            raise LayoutError(f"kernels.gemm: {name} {text((rows, p.k, *p.batch))}:{text(strides)}: {why}")
    warpgroups = int(tiled_mma.size) // 128
    bN, bK = op.shape_mnk[1], SPAN * 8 // p.a_type.bits
    tiler = tiler_mnk or (ATOM_ROWS * warpgroups, bN, bK)
    if tiler[1] not in N_EXTENTS or tiler[1] != bN:
        raise LayoutError(
            f"kernels.gemm: tiler_mnk {text(tiler)}: bN must be the {bN} columns of the instruction, and one of "
            f"{text(N_EXTENTS)}"
        )
    config = Config(tiler[0], tiler[1], warpgroups)
    case = cases_of((config,), p, H200, alignments)
    count = stages if stages is not None else max(int(case.stages[0]), 2)
    held = int(case.held[0]) if stages is None else 0
    return GemmSm90(
        problem=p,
        tiler_mnk=tiler,
        tiled_mma=tiled_mma,
        stages=count,
        smem_a=smem_layout(p.a_type, tiler[0], tiler[2], count, majors[0]),
        smem_b=smem_layout(p.b_type, tiler[1], tiler[2], held or count, majors[1]),
        store=STORES[int(case.store[0])],
        workers=H200.multiprocessors,
        held_b=held,
    )
