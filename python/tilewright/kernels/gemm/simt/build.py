"""Plans of gemm_simt: the one that is chosen, plans of given parts, and candidates to be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.promotion import promotion_by_simt, with_promotion
from tilewright.kernels.gemm.simt.cost import by_time, cost, fastest, weighed
from tilewright.kernels.gemm.simt.gemv import gemv_plan
from tilewright.kernels.gemm.simt.layouts import (
    ACCESS,
    SimtTile,
    make_simt_copy,
    make_simt_image,
    make_simt_mma,
    make_simt_smem,
    neighbours,
)
from tilewright.kernels.gemm.simt.plan import GemmSimt
from tilewright.kernels.gemm.simt.stream_k import counts_steps, whole_group
from tilewright.kernels.gemm.simt.tiles import (
    LOOSELY,
    RESERVED,
    Access,
    SimtTiles,
    accesses_of,
    deepest,
    depth_of,
    fits,
    loose_tiles,
    stages_of,
    tiles_for,
    vector_of,
    width_of,
)
from tilewright.numeric import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, Uint8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.choose.cost import Cost
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["GemmSimt", "choose", "considered", "given", "plan_of_tile", "promoted", "restaged", "variants"]

FUNCTION = "kernels.gemm"
TYPES = (Float32, Float64, Float16, BFloat16, Float8E4M3FN, Float8E5M2, Int8, Uint8)


def _takes(problem: GemmProblem) -> bool:
    return problem.a_type in TYPES and problem.b_type in TYPES


def _plan(
    problem: GemmProblem,
    alignments: tuple[int, int, int],
    tile: SimtTile,
    stream_k_ctas: int = 0,
    *,
    depth: int | None = None,
    stages: int | None = None,
    facts: DeviceFacts | None = None,
    padded: tuple[bool, bool] = (False, False),
) -> GemmSimt:
    """The plan of a tile: the widest accesses that alignment allows, by cp.async wherever elements need no turning.

    Integers of 8 bits take more registers than floats: fewer CTAs share a multiprocessor.
    """
    from tilewright.cute.atoms.mma_ops import MmaUniversalOp

    p, width, facts = problem, width_of(problem), facts or H200
    numbers = SimtTiles.of(facts)
    accesses = accesses_of(p, alignments, padded, depth or ACCESS, facts.capability >= 80)
    if tile.stages:
        accesses = [LOOSELY, LOOSELY]
    most = min(deepest(tile, facts), numbers.padded_depth if any(padded) else ACCESS * 8)
    (m, n), k = tile.extents(width), depth or depth_of(p, tile, accesses, most, numbers.steps)
    op = MmaUniversalOp(p.a_type, p.acc_type, None if p.b_type is p.a_type else p.b_type)
    a, b = (
        make_simt_copy(dtype, (rows, k), tile.threads, *access)
        for rows, dtype, access in zip((m, n), (p.a_type, p.b_type), accesses, strict=True)
    )
    stages = stages or stages_of(tile, k, accesses, facts)
    image = make_simt_image((m, n), tile.sliced_k, p.acc_type)
    plan = GemmSimt(
        problem=p,
        tiler_mnk=(m, n, k),
        tiled_mma=make_simt_mma(op, tile, width),
        stages=stages,
        tiled_copy_a=a,
        tiled_copy_b=b,
        smem_a=make_simt_smem((m, k), stages, p.a_type, accesses[0].mode),
        smem_b=make_simt_smem((n, k), stages, p.b_type, accesses[1].mode),
        wide_a=True,
        wide_b=True,
        ctas_per_sm=max(tile.ctas * 2 // 3, 1) if p.acc_type is Int32 else tile.ctas,
        padded_a=padded[0],
        padded_b=padded[1],
        smem_c=image if tile.sliced_k > 1 else None,
    )
    plan = _with_wide_stores(plan, alignments[2])
    if stream_k_ctas:
        plan = plan.replace(stream_k_ctas=stream_k_ctas, group=whole_group(plan.tiles[0]))
    narrow = tile.sliced_k == 1 and plan.out_vector == 1 and p.c_strides[plan.out_mode] == 1
    if p.c_type is Float32 and narrow and fits(int(_core.cosize(image)) * 4, tile, facts):
        plan = plan.replace(smem_c=image)
    return promoted(plan, facts)


def promoted(plan: GemmSimt, facts: DeviceFacts, whole: GemmProblem | None = None) -> GemmSimt:
    """The plan with sums promoted as promotion_by_simt says; it has fewer stages where totals need the room.

    Beside totals, single elements come faster in two stages: more of the L1 cache is left for the sectors that they
    share.
    """
    found = with_promotion(plan, promotion_by_simt(plan, facts, whole))
    if not found.totals:
        return found
    is_single = any(found.copy_layout(name)[1] == 1 for name in "ab")
    for stages in range(min(found.stages, 2) if is_single else found.stages, 1, -1):
        smaller = restaged(found, stages)
        if (smaller.shared_bytes + RESERVED) * plan.ctas_per_sm <= facts.shared_bytes + RESERVED:
            return smaller
    return plan


def restaged(plan: GemmSimt, stages: int) -> GemmSimt:
    """The plan with another number of stages in shared memory."""

    def images(layout: Any) -> Any:
        return _core.make_layout((*layout.shape[:2], stages), stride=layout.stride)

    return plan.replace(stages=stages, smem_a=images(plan.smem_a), smem_b=images(plan.smem_b))


def _with_wide_stores(plan: GemmSimt, alignment: int) -> GemmSimt:
    """The plan with the widest accesses of C that its alignment and a thread's neighbours allow."""
    p, mode = plan.problem, plan.out_mode
    size = int(p.c_type.bits) // 8
    along, vector = vector_of(p.c_strides, (p.m, p.n, *p.batch), alignment, size, 16)
    if along != mode:
        return plan
    if plan.smem_c is None:
        vector = min(vector, neighbours(plan.columns if mode else plan.rows, vector))
    return plan.replace(out_vector=vector)


def choose(
    problem: GemmProblem,
    alignments: tuple[int, int, int],
    facts: DeviceFacts | None = None,
    padded: tuple[bool, bool] = (False, False),
) -> GemmSimt | None:
    """The plan for a problem whose A, B and C begin at multiples of `alignments` bytes; None if gemm_simt has no such.

    `facts` are the device's; None stands for an H200. `padded`: whether memory is there behind the rows of A and B, up
    to whole tiles, as GemmSimt's fields say.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> choose(problem_of(4096, 4096, 4096, Float32), (16, 16, 16)).tiler_mnk
    (128, 128, 8)
    >>> choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), (16, 16, 16)).stages
    3
    """
    if not _takes(problem):
        return None
    gemv = None if any(padded) else _gemv(problem, alignments, facts or H200)
    return gemv or _plan(
        problem, alignments, *fastest(problem, alignments, facts or H200, padded), facts=facts, padded=padded
    )


def considered(
    problem: GemmProblem,
    alignments: tuple[int, int, int],
    facts: DeviceFacts | None = None,
    padded: tuple[bool, bool] = (False, False),
) -> Iterator[tuple[GemmSimt, Cost]]:
    """What `choose` chooses from, with the time that each is expected to take, the best first.

    A matrix times a few vectors has the tile of gemv.py and no other.
    """
    facts = facts or H200
    if not _takes(problem):
        return
    gemv = None if any(padded) else _gemv(problem, alignments, facts)
    if gemv is not None:
        yield gemv, cost(gemv, facts)
        return
    for choice, each in sorted(weighed(problem, alignments, facts, padded), key=by_time):
        yield _plan(problem, alignments, *choice, facts=facts, padded=padded), each


def _gemv(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts) -> GemmSimt | None:
    """The plan for a few columns, ready to be run; None if it takes the problem not."""
    plan = gemv_plan(problem, alignments, facts)
    return None if plan is None else promoted(_with_wide_stores(plan, alignments[2]), facts)


def plan_of_tile(
    problem: GemmProblem, alignments: tuple[int, int, int], tile: SimtTile, facts: DeviceFacts, stream_k_ctas: int = 0
) -> GemmSimt:
    """The plan in a tile, which so many CTAs share along K."""
    return _plan(problem, alignments, tile, stream_k_ctas, facts=facts)


def variants(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None
) -> list[GemmSimt]:
    """Plans to be measured: all tiles by several depths and stages, and the chosen one in other orders.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> plans = variants(problem_of(4096, 4096, 4096, Float32), (16, 16, 16))
    >>> len(plans) > 10, plans[0] == choose(plans[0].problem, (16, 16, 16))
    (True, True)
    """
    if not _takes(problem):
        return []
    return list(dict.fromkeys(_candidates(problem, alignments, facts or H200)))


def _candidates(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts) -> Iterator[GemmSimt]:
    gemv = _gemv(problem, alignments, facts)
    if gemv is not None:
        yield gemv
    chosen = _plan(problem, alignments, *fastest(problem, alignments, facts), facts=facts)
    yield chosen
    for tile in tiles_for(problem, facts):
        for depth in (8, 16, 32) if problem.a_type is Float32 else (chosen.tiler_mnk[2],):
            for stages in (2, 3):
                plan = _plan(problem, alignments, tile, depth=depth, stages=stages, facts=facts)
                if plan.shared_bytes <= facts.shared_bytes:
                    yield plan
    for tile in loose_tiles(problem, alignments, facts):
        yield _plan(problem, alignments, tile, facts=facts)
    if problem.a_type is Float32 and problem.k:
        for tile in tiles_for(problem, facts):
            plan = _plan(problem, alignments, tile, facts=facts)
            stream_k_ctas = facts.multiprocessors * tile.ctas
            if counts_steps(plan.places, plan.steps, stream_k_ctas):
                yield _plan(problem, alignments, tile, stream_k_ctas, facts=facts)
    for group in (4, 8, 32):
        yield chosen.replace(group=group, stream_k_ctas=0)


def given(
    problem: GemmProblem,
    tiled_mma: Any = None,
    tiled_copy_a: Any = None,
    tiled_copy_b: Any = None,
    tiler_mnk: tuple[int, int, int] | None = None,
    stages: int | None = None,
    alignments: tuple[int, int, int] = (ACCESS, ACCESS, ACCESS),
) -> GemmSimt | None:
    """The plan of given parts: exactly these threads, values and atoms. What is not given is chosen to go with them.

    Accesses of several elements that would be misaligned in a tensor, or do not lie together there, are made element
    by element. Shared memory has rows next to each other: (bM,bK):(1,bM), as in CuTe's SIMT examples. None where the
    TiledMma multiplies by another operation than FMA. Raises TypeError or LayoutError where the parts do not fit
    together.
    """
    from tilewright.cute.atoms.mma_ops import MmaUniversalOp

    if tiled_mma is not None and not isinstance(tiled_mma.op, MmaUniversalOp):
        return None
    if not _takes(problem):
        raise TypeError(f"{FUNCTION}: gemm_simt has no products of {problem.a_type} and {problem.b_type}")
    base = _plan(problem, alignments, *fastest(problem, alignments, H200, may_be_loose=False))
    mma = base.tiled_mma if tiled_mma is None else tiled_mma
    tiler = tiler_mnk or base.tiler_mnk
    m, n, k = tiler
    threads = -(-int(mma.size) // 32) * 32
    copies, wide = [], []
    sides = (
        (tiled_copy_a, (m, k), (problem.m, problem.k), problem.a_strides, problem.a_type, alignments[0]),
        (tiled_copy_b, (n, k), (problem.n, problem.k), problem.b_strides, problem.b_type, alignments[1]),
    )
    for tiled_copy, tile, extents, strides, dtype, alignment in sides:
        size = int(dtype.bits) // 8
        mode, vector = vector_of(strides, (*extents, *problem.batch), alignment, size, k)
        if tiled_copy is None:
            tiled_copy = make_simt_copy(dtype, tile, threads, *Access.of(mode, vector, size, True))
        copies.append(tiled_copy)
        wide.append((mode, vector))
    count = 2 if stages is None else stages
    sliced_k = int(_core.size(mma.thr_layout_vmnk, mode=[3]))
    plan = GemmSimt(
        problem=problem,
        tiler_mnk=tiler,
        tiled_mma=mma,
        stages=count,
        tiled_copy_a=copies[0],
        tiled_copy_b=copies[1],
        smem_a=make_simt_smem((m, k), count, problem.a_type, 0),
        smem_b=make_simt_smem((n, k), count, problem.b_type, 0),
        smem_c=make_simt_image((m, n), sliced_k, problem.acc_type) if sliced_k > 1 else None,
    )
    flags = {}
    for name, (mode, vector) in zip("ab", wide, strict=True):
        _, needed, along = plan.copy_layout(name)
        flags[f"wide_{name}"] = needed == 1 or (mode == along and vector % needed == 0)
    return _with_wide_stores(plan.replace(**flags), alignments[2])
