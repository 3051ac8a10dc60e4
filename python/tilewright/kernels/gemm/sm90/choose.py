"""Which plan of the Hopper kernel for which problem: a table of configurations and a model that ranks them.

The model counts clocks of a step along K (128 bytes of each row): the tensor cores', those in which the step's rows
come into the multiprocessor, and those in which the L2 gives them. Its constants were fitted to times on an H200
(docs/gemm.md); where it errs, `kernels.gemm.tune` measures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright._core import LayoutError
from tilewright.cute.atoms.mma_warpgroup import WarpgroupMmaOp
from tilewright.cute.int_tuple import text
from tilewright.devices import H200, DeviceFacts
from tilewright.kernels.gemm.choose.promotion import promotion_by_wgmma, with_promotion
from tilewright.kernels.gemm.sm90.build import (
    ATOM_ROWS,
    BY_BOXES,
    N_EXTENTS,
    SPAN,
    GemmSm90,
    beside_stages,
    majors_of,
    smem_layout,
)
from tilewright.kernels.gemm.sm90.conditions import paired_rows, received_bytes, refusal, store_of
from tilewright.numeric import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Int8, Int32, TFloat32, Uint8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.kernels.gemm.problem import GemmProblem

BYTES = (Int8, Uint8)
FLOAT8 = (Float8E4M3FN, Float8E5M2)
HALF = (Float16, BFloat16)
MOST = 2**31 - 1024


class Config(NamedTuple):
    """A configuration of the kernel: what a plan adds to its problem."""

    bM: int
    bN: int
    consumers: int = 2
    ping_pong: bool = False
    cluster: tuple[int, int] = (1, 1)
    splits: int = 1
    resident: int = 1  # CTAs of a multiprocessor
    stages: int = 8  # at most
    buffers: int = 2  # boxes of C of a consumer


# The first of two that are expected to be equally fast is taken.
CONFIGS = (
    Config(128, 256, cluster=(2, 1)),
    Config(128, 256),
    Config(128, 128, ping_pong=True, cluster=(2, 1)),
    Config(128, 192, cluster=(2, 1)),
    Config(256, 128, cluster=(2, 1)),
    Config(256, 128),
    Config(128, 128, cluster=(2, 1)),
    Config(128, 128),
    Config(128, 128, ping_pong=True),
    Config(64, 256, ping_pong=True, cluster=(2, 1)),
    Config(64, 128, 1),
    Config(64, 128, 1, cluster=(2, 1)),
    Config(128, 128, cluster=(1, 2)),
    Config(128, 256, cluster=(1, 2)),
    Config(64, 128, 1, cluster=(2, 2)),
    Config(128, 64, splits=2),
    Config(64, 128, 1, splits=2),
    Config(128, 64, cluster=(1, 2)),
    Config(128, 64),
    Config(64, 64, 1),
    Config(64, 64, 1, splits=2),
    Config(64, 32, 1, resident=2),
    *(
        Config(64, bN, 1, splits=splits, resident=resident, stages=stages)
        for bN in (8, 16, 32, 64)
        for splits, resident, stages in ((1, 2, 12), (1, 4, 6), (2, 1, 20), (2, 2, 12), (4, 4, 6))
    ),
    *(Config(128, bN, splits=splits) for bN in (8, 16, 32) for splits in (1, 2)),
)
# Besides, where one side has at most so many rows, which may be the columns of a few tiles. More rows were measured
# with the tiles above only.
MOST_OF_FEW = 1024
CONFIGS_OF_FEW = (
    *(Config(64, bN, 1, splits=2) for bN in (80, 96, 160, 192, 224, 256)),
    *(Config(64, bN, 1, splits=4) for bN in (80, 96)),
    Config(64, 160, 1),
    Config(64, 48, 1, splits=2, stages=20),
    Config(64, 80, 1, splits=2, resident=2, stages=6),
    Config(128, 24, splits=4),
    Config(128, 128, splits=2),
    *(Config(128, bN, cluster=cluster) for bN in (96, 160) for cluster in ((1, 2), (2, 1))),
    Config(128, 80, cluster=(1, 2)),
    Config(128, 160),
    Config(128, 192),
    Config(128, 224, cluster=(2, 1)),
    Config(192, 96, 3, cluster=(1, 2)),
    Config(192, 192, 3),
)

FEW_STEPS = 4  # along K: what takes time is to write C, whose rows are then written together, by CTAs that go alone and
# do not run ahead

FEW_GROUP, MANY_GROUP, MANY_ROWS = 2, 8, 32  # tiles along M taken together there, and from how many on
# Where rows do not begin at the L2's lines, fewer stages of 64 by 128 are on their way: 1000^3 took 3 % longer with 8.
# Where they do, 1024^3 in the same clusters took 5 % longer with 6 than with 7.
BROKEN_STAGES = 6

# The model's constants, in clocks unless said otherwise.
CLOCK = 1.7e9
INGEST = 48.0  # bytes a clock that come into a multiprocessor
STREAM = 30.0  # the same of rows of FEW_TILES or less, which come from memory
FEW_TILES = 2
BROKEN_ROWS = 1.7  # how much more the L2 gives where rows do not begin at its lines of 128 bytes
LATENCY = 1900  # of a stage, from asking for it until it may be asked for again
LAUNCH = 1.2e-6  # seconds
FILL = 1700
CLUSTER = 850
SPLIT = 700
EXCHANGE = 11.0  # bytes a clock, of sums that are read from other CTAs of a cluster
STORE = 64.0  # bytes a clock
MEMORY = 4.2e12  # bytes a second
HIDDEN = 0.03  # of the shorter of two times that overlap
FETCHES = 0.03  # of the time that the L2 needs at L2 bytes a second
L2 = 7e12
DIRECT = 1000  # clocks, to store from registers
OVERLAPPED = 0.75  # of storing a tile, in ping-pong
UNUSED = 0.3  # how much longer the memory takes where stages hold rows outside of the tensors only
STARVED = 0.2  # and where some multiprocessors ask for nothing
QUADS = 120 / 132  # of the multiprocessors have a place in a cluster of more than two
FETCHED = 0.03  # how much slower the clock is where as many clocks go to fetching as to multiplying: power is limited


def _smem_stages(config: Config, problem: GemmProblem, facts: DeviceFacts, store: str) -> int:
    """The stages that fit a multiprocessor with as many CTAs, beside boxes of C and the bias."""
    beside = beside_stages(problem, config.bN, config.consumers, config.buffers, store)
    free = ((facts.shared_bytes + 1024) // config.resident // 1024 - 1) * 1024 - beside
    most = config.stages
    if {config.bM, config.bN} == {64, 128} and all(_breaks(x, problem) for x in (problem.a_strides, problem.b_strides)):
        most = min(most, BROKEN_STAGES)
    return min(free // ((config.bM + config.bN) * SPAN + 16), most)


def _breaks(strides: tuple[int, ...], problem: GemmProblem) -> bool:
    """Whether rows of an operand do not begin at the L2's lines."""
    return (strides[0] if strides[1] == 1 else strides[1]) * problem.a_type.bits // 8 % SPAN != 0


def _store_of(config: Config, problem: GemmProblem, alignment: int) -> str:
    sharing = 1 if config.ping_pong else config.consumers
    paired = problem.a_type is TFloat32 and problem.a_strides[1] != 1
    return store_of(problem, config.bM, config.bN, config.splits, sharing, alignment, paired)


def seconds(config: Config, problem: GemmProblem, facts: DeviceFacts) -> float:
    """The expected time of a problem with a configuration."""
    p, size = problem, problem.a_type.bits // 8
    bM, bN, (cM, cN) = config.bM, config.bN, config.cluster
    sms = facts.multiprocessors if cM * cN * config.splits <= 2 else int(facts.multiprocessors * QUADS)
    steps = -(-p.k * size // SPAN)
    steps = -(-steps // config.splits)
    rounded_m, rounded_n = -(-p.m // (bM * cM)) * cM, -(-p.n // (bN * cN)) * cN
    tiles = rounded_m * rounded_n * p.batches * config.splits
    waves = -(-tiles // (sms * config.resident))
    together = max(min(config.resident, -(-tiles // sms)), 1)  # CTAs that a multiprocessor really has
    multiply = max(bM * bN / 32, bM + bM * bN / 64)
    broken = [BROKEN_ROWS if _breaks(strides, p) else 1.0 for strides in (p.a_strides, p.b_strides)]
    ingest = (bM + bN) * SPAN / INGEST
    fetch = (bM * broken[0] / cN + bN * broken[1] / cM) * SPAN / INGEST
    # Rows that few tiles share are read from memory, for all of these at the same time.
    streamed = (bM / cN if rounded_n <= FEW_TILES * cN else 0) + (bN / cM if rounded_m <= FEW_TILES * cM else 0)
    store = _store_of(config, p, SPAN)
    late = LATENCY / (together * max(_smem_stages(config, p, facts, store), 1))
    step = max(multiply, ingest, fetch, streamed * SPAN / STREAM, late)
    stored = bM * bN * p.c_type.bits / 8 / config.splits / STORE
    step *= 1 + FETCHED * fetch / multiply
    wave = together * (steps * step + stored * (OVERLAPPED if config.ping_pong and waves > 1 else 1))
    start = FILL + (CLUSTER if cM * cN > 1 else 0)
    if store not in BY_BOXES:
        start += DIRECT
    clocks: float = start + waves * wave
    if config.splits > 1:  # nothing of the next tile is fetched before the sums are exchanged
        clocks += (waves - 1) * start + waves * (SPLIT + 4 * bM * bN / EXCHANGE)
    moved: float = p.batches * size * (p.m * p.k + p.n * p.k) + p.batches * p.m * p.n * p.c_type.bits // 8
    useful = (min(bM, p.m) + min(bN, p.n)) / (bM + bN)
    moved *= 1 + UNUSED * (1 - useful)
    if tiles < 0.95 * sms:
        moved *= 1 + STARVED
    own, memory = clocks / CLOCK, moved / MEMORY
    fixed = LAUNCH + (SPLIT / CLOCK if config.splits > 1 else 0)
    return fixed + max(own, memory) + HIDDEN * min(own, memory) + FETCHES * tiles * steps * fetch * INGEST / L2


def expected(plan: GemmSm90, facts: DeviceFacts) -> float:
    """The expected time of a plan."""
    bM, bN, _ = plan.tiler_mnk
    resident = max(plan.workers // facts.multiprocessors, 1)
    config = Config(bM, bN, plan.consumers, plan.ping_pong, plan.cluster_mn, plan.splits, resident, plan.stages)
    return seconds(config, plan.problem, facts)


def _few_steps(problem: GemmProblem) -> bool:
    return problem.k * problem.a_type.bits <= FEW_STEPS * SPAN * 8


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
    unit = SPAN * 8 // problem.a_type.bits
    for rows, major, sharers in (
        (config.bM, k_major[0], config.cluster[1]),
        (config.bN, k_major[1], config.cluster[0]),
    ):
        if rows % ((8 if major else unit) * sharers):
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


def _group(problem: GemmProblem, bM: int) -> int:
    """The tiles along M that are taken together: 2048 rows; where C is what takes time, few."""
    if not _few_steps(problem):
        return max(2048 // bM, 1)
    return FEW_GROUP if problem.m < MANY_ROWS * bM else MANY_GROUP


def plan_of(
    config: Config, problem: GemmProblem, k_major: tuple[bool, bool], alignments: tuple[int, int, int],
    facts: DeviceFacts,
) -> GemmSm90 | None:  # fmt: skip
    """The plan of a configuration; None where it does not fit the problem or shared memory."""
    p, bM, bN = problem, config.bM, config.bN
    if not _fits(config, problem, k_major) or config.splits > max(p.k * p.a_type.bits // (8 * SPAN), 1):
        return None
    store = _store_of(config, p, alignments[2])
    stages = _smem_stages(config, p, facts, store)
    if _few_steps(p):
        stages = min(stages, FEW_STEPS - 1)
    got = received_bytes(bM, bN, config.splits, config.consumers)
    if stages < 2 or got > (bM + bN) * SPAN:
        return None
    bK = SPAN * 8 // p.a_type.bits
    warpgroups = 1 if config.ping_pong else config.consumers
    plan = GemmSm90(
        problem=p,
        tiler_mnk=(bM, bN, bK),
        tiled_mma=tiled_mma_of(p, bN, warpgroups, k_major),
        stages=stages,
        smem_a=smem_layout(p.a_type, bM, bK, stages, k_major[0]),
        smem_b=smem_layout(p.b_type, bN, bK, stages, k_major[1]),
        cluster_mn=config.cluster,
        splits=config.splits,
        ping_pong=config.ping_pong,
        store=store,
        store_buffers=config.buffers,
        workers=facts.multiprocessors * config.resident,
        group=_group(p, bM),
    )
    return with_promotion(plan, promotion_by_wgmma(plan))


def _ranked(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts) -> Iterator[GemmSm90]:
    if not _takes(problem):
        return
    k_major = _majors(problem, alignments)
    if k_major is None:
        return
    alone = _few_steps(problem)
    configs = CONFIGS + CONFIGS_OF_FEW if min(problem.m, problem.n) <= MOST_OF_FEW else CONFIGS
    configs = tuple(config for config in configs if not alone or config.cluster == (1, 1))
    for config in sorted(configs, key=lambda config: seconds(config, problem, facts)):
        plan = plan_of(config, problem, k_major, alignments, facts)
        if plan is not None:
            yield plan


def choose(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None) -> GemmSm90 | None:
    """The plan that is expected to be the fastest; None where the kernel does not take the problem."""
    return next(_ranked(problem, alignments, facts or H200), None)


def variants(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None, most: int = 16
) -> list[GemmSm90]:
    """The plans that are worth measuring, the one that is expected to be the fastest first."""
    found = []
    for plan in _ranked(problem, alignments, facts or H200):
        found.append(plan)
        if len(found) == most:
            break
    return found


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
    store = _store_of(config, p, alignments[2])
    count = stages if stages is not None else max(_smem_stages(config, p, H200, store), 2)
    return GemmSm90(
        problem=p,
        tiler_mnk=tiler,
        tiled_mma=tiled_mma,
        stages=count,
        smem_a=smem_layout(p.a_type, tiler[0], tiler[2], count, majors[0]),
        smem_b=smem_layout(p.b_type, tiler[1], tiler[2], count, majors[1]),
        store=store,
        workers=H200.multiprocessors,
    )
