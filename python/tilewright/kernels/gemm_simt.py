"""Plans of gemm_simt: the rule by which a tile is chosen, plans of given parts, and candidates to be measured.

Large tiles read less from shared memory for each multiplication, small ones keep more multiprocessors busy. The choice
is the tile with the least expected time: that of the multiprocessor which has most of the CTAs, at the tile's rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright.kernels.gemm_plan import H200
from tilewright.kernels.gemm_simt_layouts import (
    ACCESS,
    SimtTile,
    make_simt_copy,
    make_simt_mma,
    make_simt_smem,
    neighbours,
)
from tilewright.kernels.gemm_simt_plan import GemmSimt
from tilewright.numeric import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, Uint8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.kernels.gemm_plan import DeviceFacts
    from tilewright.kernels.gemm_problem import GemmProblem

__all__ = ["GemmSimt", "choose", "given", "variants"]

FUNCTION = "kernels.gemm"
TYPES = (Float32, Float64, Float16, BFloat16, Float8E4M3FN, Float8E5M2, Int8, Uint8)
#        warps    groups   CTAs  rate       with 4 neighbours   each thread   registers up to
TILES = (
    SimtTile(2, 2, 2, 4, 2, 0.90),  # 128 by 128          8 by 16       255
    SimtTile(2, 4, 2, 4, 1, 0.89),  # 128 by 256          8 by 16       255
    SimtTile(2, 2, 2, 2, 3, 0.82),  # 128 by 64           8 by 8        168
    SimtTile(1, 2, 2, 2, 6, 0.83),  # 64 by 64            8 by 8        168
    SimtTile(1, 2, 2, 1, 6, 0.64),  # 64 by 32            8 by 4        168
    SimtTile(1, 2, 1, 1, 8, 0.50),  # 32 by 32            4 by 4        128
)
NARROW = (2, 3, 4, 5)  # of these, the ones for elements of other sizes than 4 bytes
ALONE = 0.8  # the part of its rate that a multiprocessor reaches with one CTA of four warps
START = 24  # steps along K for which a CTA that starts or ends does not multiply
RESERVED = 1024  # bytes of shared memory that the system takes of every CTA


def _takes(problem: GemmProblem) -> bool:
    return problem.a_type in TYPES and problem.b_type in TYPES


def _width(problem: GemmProblem) -> int:
    """The neighbours in a group: 16 bytes of Float32 or Float64, 4 of narrower elements."""
    return 2 if problem.acc_type is Float64 else 4


class Access(NamedTuple):
    """How an operand comes: the mode of its accesses, their elements, and whether they go past the registers."""

    mode: int
    vector: int
    is_async: bool

    @staticmethod
    def of(mode: int, vector: int, size: int, has_cp_async: bool) -> Access:
        """Several elements along k are turned on their way, in registers; cp.async takes 4 bytes or more."""
        return Access(mode, vector, has_cp_async and not (mode == 1 and vector > 1) and vector * size >= 4)


def _depth(problem: GemmProblem, tile: SimtTile, accesses: list[Access], most: int) -> int:
    """The tile along K, at most `most` for Float32: deeper ones have fewer barriers for each product.

    What is in registers on its way takes too many of them in deep tiles, except where threads have few sums. What goes
    by cp.async, one element at a time, was the fastest in 16; by more at a time in 32, if threads have many sums.
    """
    if int(problem.a_type.bits) < 32:
        return 16
    if problem.a_type is not Float32:
        return 8
    groups = tile.groups_m * tile.groups_n
    if any(not x.is_async for x in accesses):
        depth = 16 if groups == 1 else 8
    elif any(x.vector == 1 for x in accesses):
        depth = 16
    else:
        depth = 32 if groups == 8 else 8
    return min(depth, most)


def _deepest(tile: SimtTile, facts: DeviceFacts) -> int:
    """The deepest of three stages of Float32 with which the tile's CTAs share a multiprocessor: 8, 16 or 32."""
    room = (facts.shared_bytes + RESERVED) // tile.ctas - RESERVED
    return next((depth for depth in (32, 16) if 3 * sum(tile.extents(4)) * depth * 4 <= room), 8)


def _vector(
    strides: tuple[int, ...], extents: tuple[int, ...], alignment: int, size: int, most: int
) -> tuple[int, int]:
    """The mode along which an operand is contiguous, and the elements of its widest aligned access, at most `most`.

    Such accesses divide the extent. Where it is contiguous along no mode: its first one, and one element.
    """
    mode = next((i for i in (1, 0) if strides[i] == 1 and extents[i] > 1), None)
    if mode is None:
        return 0, 1
    vector = min(ACCESS // size, most)
    others = [d for i, (d, e) in enumerate(zip(strides, extents, strict=True)) if i != mode and e > 1]
    while vector > 1 and (alignment % (vector * size) or any(d % vector for d in (extents[mode], *others))):
        vector //= 2
    return mode, vector


def _plan(
    problem: GemmProblem,
    alignments: tuple[int, int, int],
    tile: SimtTile,
    *,
    depth: int | None = None,
    stages: int | None = None,
    facts: DeviceFacts | None = None,
) -> GemmSimt:
    """The plan of a tile: the widest accesses that alignment allows, by cp.async wherever elements need no turning.

    Integers of 8 bits take more registers than floats: fewer CTAs share a multiprocessor.
    """
    from tilewright.cute.mma_ops import MmaUniversalOp

    p, width, facts = problem, _width(problem), facts or H200
    sides = (p.m, p.a_strides, p.a_type, alignments[0]), (p.n, p.b_strides, p.b_type, alignments[1])
    accesses = []
    for extent, strides, dtype, alignment in sides:
        size = int(dtype.bits) // 8
        mode, vector = _vector(strides, (extent, p.k, *p.batch), alignment, size, depth or ACCESS)
        accesses.append(Access.of(mode, vector, size, facts.capability >= 80))
    (m, n), k = tile.extents(width), depth or _depth(p, tile, accesses, _deepest(tile, facts))
    op = MmaUniversalOp(p.a_type, p.acc_type, None if p.b_type is p.a_type else p.b_type)
    a, b = (
        make_simt_copy(dtype, (rows, k), tile.threads, *access)
        for rows, dtype, access in zip((m, n), (p.a_type, p.b_type), accesses, strict=True)
    )
    if stages is None:
        stages = 3 if all(x.is_async for x in accesses) else 2
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
        ctas_per_sm=tile.ctas * 2 // 3 if p.acc_type is Int32 else tile.ctas,
    )
    return _with_wide_stores(plan, alignments[2])


def _with_wide_stores(plan: GemmSimt, alignment: int) -> GemmSimt:
    """The plan with the widest accesses of C that its alignment and a thread's neighbours allow."""
    p, mode = plan.problem, plan.out_mode
    size = int(p.c_type.bits) // 8
    along, vector = _vector(p.c_strides, (p.m, p.n, *p.batch), alignment, size, 16)
    if along != mode:
        return plan
    return plan.replace(out_vector=min(vector, neighbours(plan.columns if mode else plan.rows, vector)))


def _tiles_for(problem: GemmProblem) -> list[SimtTile]:
    return list(TILES) if problem.a_type is Float32 else [TILES[i] for i in NARROW]


def _seconds(problem: GemmProblem, tile: SimtTile, multiprocessors: int) -> float:
    """The expected time, in units of a multiprocessor's peak."""
    bm, bn = tile.extents(_width(problem))
    count = -(-problem.m // bm) * -(-problem.n // bn) * problem.batches
    busiest = -(-count // multiprocessors)  # its CTAs
    least = min(128 / tile.threads / ALONE, 4.0)  # one CTA that shares with no others takes as long as so many
    return max(busiest, least) * bm * bn * (problem.k + START) / tile.rate


def choose(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None) -> GemmSimt | None:
    """The plan for a problem whose A, B and C begin at multiples of `alignments` bytes; None if gemm_simt has no such.

    `facts` are the device's; None stands for an H200.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm_problem import problem_of
    >>> choose(problem_of(4096, 4096, 4096, Float32), (16, 16, 16)).tiler_mnk
    (128, 128, 8)
    >>> choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), (16, 16, 16)).tiler_mnk
    (128, 128, 32)
    """
    if not _takes(problem):
        return None
    return _plan(problem, alignments, _fastest(problem, facts), facts=facts)


def _fastest(problem: GemmProblem, facts: DeviceFacts | None = None) -> SimtTile:
    multiprocessors = (facts or H200).multiprocessors
    return min(_tiles_for(problem), key=lambda tile: _seconds(problem, tile, multiprocessors))


def variants(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None
) -> list[GemmSimt]:
    """Plans to be measured: all tiles by several depths and stages, and the chosen one in other orders.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm_problem import problem_of
    >>> plans = variants(problem_of(4096, 4096, 4096, Float32), (16, 16, 16))
    >>> len(plans) > 10, plans[0] == choose(plans[0].problem, (16, 16, 16))
    (True, True)
    """
    if not _takes(problem):
        return []
    return list(dict.fromkeys(_candidates(problem, alignments, facts or H200)))


def _candidates(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts) -> Iterator[GemmSimt]:
    chosen = _plan(problem, alignments, _fastest(problem, facts), facts=facts)
    yield chosen
    for tile in _tiles_for(problem):
        for depth in (8, 16, 32) if problem.a_type is Float32 else (chosen.tiler_mnk[2],):
            for stages in (2, 3):
                plan = _plan(problem, alignments, tile, depth=depth, stages=stages, facts=facts)
                if plan.shared_bytes <= facts.shared_bytes:
                    yield plan
    for group in (4, 8, 32):
        yield chosen.replace(group=group)


def given(
    problem: GemmProblem,
    tiled_mma: Any = None,
    tiled_copy_a: Any = None,
    tiled_copy_b: Any = None,
    tiler_mnk: tuple[int, int, int] | None = None,
    stages: int | None = None,
    alignments: tuple[int, int, int] = (ACCESS, ACCESS, ACCESS),
) -> GemmSimt:
    """The plan of given parts: exactly these threads, values and atoms. What is not given is chosen to go with them.

    Accesses of several elements that would be misaligned in a tensor, or do not lie together there, are made element
    by element. Shared memory has rows next to each other: (bM,bK):(1,bM), as in CuTe's SIMT examples. Raises TypeError
    or LayoutError where the parts do not fit together.
    """
    if not _takes(problem):
        raise TypeError(f"{FUNCTION}: gemm_simt has no products of {problem.a_type} and {problem.b_type}")
    base = _plan(problem, alignments, _fastest(problem))
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
        mode, vector = _vector(strides, (*extents, *problem.batch), alignment, size, k)
        if tiled_copy is None:
            tiled_copy = make_simt_copy(dtype, tile, threads, *Access.of(mode, vector, size, True))
        copies.append(tiled_copy)
        wide.append((mode, vector))
    count = 2 if stages is None else stages
    plan = GemmSimt(
        problem=problem,
        tiler_mnk=tiler,
        tiled_mma=mma,
        stages=count,
        tiled_copy_a=copies[0],
        tiled_copy_b=copies[1],
        smem_a=make_simt_smem((m, k), count, problem.a_type, 0),
        smem_b=make_simt_smem((n, k), count, problem.b_type, 0),
    )
    flags = {}
    for name, (mode, vector) in zip("ab", wide, strict=True):
        _, needed, along = plan.copy_layout(name)
        flags[f"wide_{name}"] = needed == 1 or (mode == along and vector % needed == 0)
    return _with_wide_stores(plan.replace(**flags), alignments[2])
