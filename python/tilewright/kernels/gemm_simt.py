"""Plans of gemm_simt: the rule by which a tile is chosen, plans of given parts, and candidates to be measured.

Large tiles read less from shared memory for each multiplication, small ones keep more multiprocessors busy. Where there
are so few of these that a multiprocessor's warps are too few to hide latency, several groups of warps share the steps
along K of a tile: slices. The choice is the tile with the least expected time: that of the multiprocessor which has
most of the CTAs, at the tile's rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright.kernels.gemm_plan import H200
from tilewright.kernels.gemm_simt_layouts import (
    ACCESS,
    SimtTile,
    make_simt_copy,
    make_simt_image,
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
#        warps    groups   CTAs  rate  slices            with 4 neighbours   each thread   registers up to
TILES = (
    SimtTile(2, 2, 2, 4, 2, 0.90),  # 128 by 128          8 by 16       255
    SimtTile(2, 4, 2, 4, 1, 0.89),  # 128 by 256          8 by 16       255
    SimtTile(2, 2, 2, 2, 3, 0.82),  # 128 by 64           8 by 8        168
    SimtTile(1, 2, 2, 2, 6, 0.74),  # 64 by 64            8 by 8        168
    SimtTile(1, 2, 2, 1, 6, 0.57),  # 64 by 32            8 by 4        168
    SimtTile(1, 2, 1, 1, 8, 0.45),  # 32 by 32            4 by 4        128
    SimtTile(1, 2, 2, 2, 2, 0.80, 2),  # 64 by 64         8 by 8        255
    SimtTile(1, 2, 2, 2, 1, 0.80, 4),  # 64 by 64         8 by 8        255
    SimtTile(1, 1, 1, 2, 4, 0.62, 4),  # 32 by 32         4 by 8        128
    SimtTile(1, 1, 1, 1, 2, 0.40, 8),  # 32 by 16         4 by 4        128
)
LOADING = TILES[2]  # reached 0.56 only where elements came one by one
OTHERS = (  # for elements of other sizes than 4 bytes
    SimtTile(2, 2, 2, 2, 3, 0.82),
    SimtTile(1, 2, 2, 2, 6, 0.83),
    SimtTile(1, 2, 2, 1, 6, 0.64),
    SimtTile(1, 2, 1, 1, 8, 0.50),
)
ALONE = 0.8  # the part of its rate that a multiprocessor reaches with one CTA of four warps
START = 24  # steps along K for which a CTA that starts or ends does not multiply
ADDING = 8  # and so many more for each slice, while sums go through shared memory and are added up
STEPS = 8  # along K, of each slice of a tile
PADDED_DEPTH = 16  # at most, which was the fastest for turned copies
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
    Slices share the steps of a tile.
    """
    if int(problem.a_type.bits) < 32:
        return 16
    if problem.a_type is not Float32:
        return 8
    groups = tile.groups_m * tile.groups_n
    if tile.slices > 1:
        return min(STEPS * tile.slices, most)
    if any(not x.is_async for x in accesses):
        depth = 16 if groups == 1 else 8
    elif any(x.vector == 1 for x in accesses):
        depth = 16
    else:
        depth = 32 if groups == 8 else 8
    return min(depth, most)


def _fits(shared_bytes: int, tile: SimtTile, facts: DeviceFacts) -> bool:
    """Whether the tile's CTAs share a multiprocessor with so many bytes of shared memory each."""
    return (shared_bytes + RESERVED) * tile.ctas <= facts.shared_bytes + RESERVED


def _deepest(tile: SimtTile, facts: DeviceFacts) -> int:
    """The deepest of three stages of Float32 with which the tile's CTAs share a multiprocessor: 8, 16, 32 or 64."""
    return next((depth for depth in (64, 32, 16) if _fits(3 * sum(tile.extents(4)) * depth * 4, tile, facts)), 8)


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


def _accesses(
    problem: GemmProblem, alignments: tuple[int, int, int], padded: tuple[bool, bool], most: int, has_cp_async: bool
) -> list[Access]:
    """How A and B come: by the widest accesses that alignment allows, of at most so many elements."""
    p, found = problem, []
    sides = (p.m, p.a_strides, p.a_type, alignments[0]), (p.n, p.b_strides, p.b_type, alignments[1])
    for (extent, strides, dtype, alignment), is_padded in zip(sides, padded, strict=True):
        size = int(dtype.bits) // 8
        extents = (strides[1] if is_padded else extent, p.k, *p.batch)
        mode, vector = _vector(strides, extents, alignment, size, most)
        found.append(Access.of(mode, vector, size, has_cp_async))
    return found


def _plan(
    problem: GemmProblem,
    alignments: tuple[int, int, int],
    tile: SimtTile,
    *,
    depth: int | None = None,
    stages: int | None = None,
    facts: DeviceFacts | None = None,
    padded: tuple[bool, bool] = (False, False),
) -> GemmSimt:
    """The plan of a tile: the widest accesses that alignment allows, by cp.async wherever elements need no turning.

    Integers of 8 bits take more registers than floats: fewer CTAs share a multiprocessor.
    """
    from tilewright.cute.mma_ops import MmaUniversalOp

    p, width, facts = problem, _width(problem), facts or H200
    accesses = _accesses(p, alignments, padded, depth or ACCESS, facts.capability >= 80)
    most = min(_deepest(tile, facts), PADDED_DEPTH if any(padded) else ACCESS * 8)
    (m, n), k = tile.extents(width), depth or _depth(p, tile, accesses, most)
    op = MmaUniversalOp(p.a_type, p.acc_type, None if p.b_type is p.a_type else p.b_type)
    a, b = (
        make_simt_copy(dtype, (rows, k), tile.threads, *access)
        for rows, dtype, access in zip((m, n), (p.a_type, p.b_type), accesses, strict=True)
    )
    if stages is None:
        stages = 3 if all(x.is_async for x in accesses) or tile.slices == 2 else 2
    image = make_simt_image((m, n), tile.slices, p.acc_type)
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
        smem_c=image if tile.slices > 1 else None,
    )
    plan = _with_wide_stores(plan, alignments[2])
    narrow = tile.slices == 1 and plan.out_vector == 1 and p.c_strides[plan.out_mode] == 1
    if p.c_type is Float32 and narrow and _fits(int(_core.cosize(image)) * 4, tile, facts):
        return plan.replace(smem_c=image)
    return plan


def _with_wide_stores(plan: GemmSimt, alignment: int) -> GemmSimt:
    """The plan with the widest accesses of C that its alignment and a thread's neighbours allow."""
    p, mode = plan.problem, plan.out_mode
    size = int(p.c_type.bits) // 8
    along, vector = _vector(p.c_strides, (p.m, p.n, *p.batch), alignment, size, 16)
    if along != mode:
        return plan
    if plan.smem_c is None:
        vector = min(vector, neighbours(plan.columns if mode else plan.rows, vector))
    return plan.replace(out_vector=vector)


def _tiles_for(problem: GemmProblem, facts: DeviceFacts) -> list[SimtTile]:
    """Those of the element type; of the ones in slices, those whose sums the shared memory has room for."""

    def fits(tile: SimtTile) -> bool:
        image = make_simt_image(tile.extents(_width(problem)), tile.slices, problem.acc_type)
        return int(_core.cosize(image)) * int(problem.acc_type.bits) // 8 <= facts.shared_bytes

    return [x for x in (TILES if problem.a_type is Float32 else OTHERS) if x.slices == 1 or fits(x)]


def _seconds(problem: GemmProblem, tile: SimtTile, multiprocessors: int) -> float:
    """The expected time, in units of a multiprocessor's peak."""
    bm, bn = tile.extents(_width(problem))
    count = -(-problem.m // bm) * -(-problem.n // bn) * problem.batches
    busiest = -(-count // multiprocessors)  # its CTAs
    least = min(128 / tile.threads / ALONE, 4.0)  # one CTA that shares with no others takes as long as so many
    idle = START + (ADDING * tile.slices if tile.slices > 1 else 0)
    return max(busiest, least) * bm * bn * (problem.k + idle) / tile.rate


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
    >>> from tilewright.kernels.gemm_problem import problem_of
    >>> choose(problem_of(4096, 4096, 4096, Float32), (16, 16, 16)).tiler_mnk
    (128, 128, 8)
    >>> choose(problem_of(4096, 4096, 4096, Float32, a="m", b="n"), (16, 16, 16)).tiler_mnk
    (128, 128, 32)
    """
    if not _takes(problem):
        return None
    tile = _fastest(problem, alignments, facts or H200, padded)
    return _plan(problem, alignments, tile, facts=facts, padded=padded)


def _fastest(
    problem: GemmProblem,
    alignments: tuple[int, int, int],
    facts: DeviceFacts,
    padded: tuple[bool, bool] = (False, False),
) -> SimtTile:
    tiles = _tiles_for(problem, facts)
    accesses = _accesses(problem, alignments, padded, ACCESS, facts.capability >= 80)
    if problem.a_type is Float32 and any(x.vector == 1 for x in accesses):
        tiles.remove(LOADING)
    return min(tiles, key=lambda tile: _seconds(problem, tile, facts.multiprocessors))


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
    chosen = _plan(problem, alignments, _fastest(problem, alignments, facts), facts=facts)
    yield chosen
    for tile in _tiles_for(problem, facts):
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
    base = _plan(problem, alignments, _fastest(problem, alignments, H200))
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
    slices = int(_core.size(mma.thr_layout_vmnk, mode=[3]))
    plan = GemmSimt(
        problem=problem,
        tiler_mnk=tiler,
        tiled_mma=mma,
        stages=count,
        tiled_copy_a=copies[0],
        tiled_copy_b=copies[1],
        smem_a=make_simt_smem((m, k), count, problem.a_type, 0),
        smem_b=make_simt_smem((n, k), count, problem.b_type, 0),
        smem_c=make_simt_image((m, n), slices, problem.acc_type) if slices > 1 else None,
    )
    flags = {}
    for name, (mode, vector) in zip("ab", wide, strict=True):
        _, needed, along = plan.copy_layout(name)
        flags[f"wide_{name}"] = needed == 1 or (mode == along and vector % needed == 0)
    return _with_wide_stores(plan.replace(**flags), alignments[2])
