"""The rule by which gemm_sm80 gets its tile, its instruction and its accesses.

The widest cp.async that the alignment allows; an operand without one goes element by element through registers. Large
tiles where they fill the device, smaller ones where they do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.mma_ops import MmaF16BF16Op, MmaF64Op, MmaFP8Op, MmaI8Op, MmaTF32Op
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.promotion import promotion_by_mma, with_promotion
from tilewright.kernels.gemm.sm80.cost import LINE, Accesses, Sm80Numbers, Sm80Tile, tile_cost, tiles_for
from tilewright.kernels.gemm.sm80.fragments import modes_of
from tilewright.kernels.gemm.sm80.layouts import smem_layout, tiled_load, tiled_mma, tiled_store
from tilewright.kernels.gemm.sm80.plan import GemmSm80
from tilewright.numeric import (
    BFloat16,
    Float8E4M3FN,
    Float8E5M2,
    Float16,
    Float32,
    Float64,
    Int8,
    Int32,
    TFloat32,
    Uint8,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.choose.cost import Cost
    from tilewright.kernels.gemm.problem import GemmProblem

WIDTHS = (16, 8, 4)  # bytes of a cp.async
ADA = 89  # the first capability with float8
HOPPER = 90
FLOAT8 = (Float8E4M3FN, Float8E5M2)
OPERATIONS = (MmaF16BF16Op, MmaF64Op, MmaFP8Op, MmaI8Op, MmaTF32Op)
INTEGERS = (Int8, Uint8)


def operation(problem: GemmProblem, capability: int) -> Any:
    """The warp's instruction for a problem's types; None where a device has none.

    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> operation(problem_of(64, 64, 64, Float64), 90), operation(problem_of(64, 64, 64, Float32), 90)
    (MmaF64Op((16,8,4)), None)
    """
    a, b = problem.a_type, problem.b_type
    if a in (Float16, BFloat16) and b is a:
        return MmaF16BF16Op(a, Float32, (16, 8, 16))
    if a is TFloat32 and b is a:
        return MmaTF32Op((16, 8, 8))
    if a is Float64 and b is a:
        return MmaF64Op((16, 8, 4) if capability >= HOPPER else (8, 8, 4))  # of the larger ones none was faster
    if a in INTEGERS and b in INTEGERS:
        return MmaI8Op(a, Int32, (16, 8, 32), b)
    if a in FLOAT8 and b in FLOAT8 and capability >= ADA:
        return MmaFP8Op(a, Float32, (16, 8, 32), b)
    return None


def choose(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None) -> GemmSm80 | None:
    """The plan for a problem whose tensors have these alignments in bytes; None where the kernel does not take it.

    It is the one that is expected to be the fastest.

    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> plan = choose(problem_of(4096, 4096, 4096, Float64), (16, 16, 16))
    >>> plan.tiler_mnk, plan.stages, plan.threads
    ((128, 64, 16), 4, 128)
    """
    return next((plan for plan, _ in considered(problem, alignments, facts)), None)


def _ranked(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts) -> list[tuple[Sm80Tile, Cost]]:
    """The tiles that shared memory holds, with the time that each is expected to take, the fastest first."""
    tiles = [tile for tile in _tiles(problem, alignments, facts) if _bytes(tile) <= facts.shared_bytes]
    costs = [(tile, tile_cost(problem, tile, _kinds(problem, tile, alignments), facts)) for tile in tiles]
    return sorted(costs, key=lambda found: found[1].seconds)


def _kinds(problem: GemmProblem, tile: Sm80Tile, alignments: tuple[int, int, int]) -> Accesses:
    """How A and B are loaded, and C is stored."""
    (_, a, a_async), (_, b, b_async) = _accesses(problem, tile, alignments)
    size = problem.a_type.bits // 8
    along_n = problem.c_strides[1] == 1 or problem.n == 1
    stored = _store_vector(problem, alignments[2]) if along_n else 1
    return Accesses((a * size, b * size), (a_async, b_async), stored)


def considered(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None
) -> Iterator[tuple[GemmSm80, Cost]]:
    """What `choose` chooses from, with the time that each is expected to take, the best first."""
    facts = facts or H200
    op = operation(problem, facts.capability)
    for tile, cost in _ranked(problem, alignments, facts) if op is not None else ():
        plan = build(problem, op, tile, alignments)
        yield with_promotion(plan, promotion_by_mma(plan, facts)), cost


def variants(
    problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts | None = None
) -> list[GemmSm80]:
    """Plans to choose from by measuring: all tiles, more stages, other instructions."""
    facts = facts or H200
    op = operation(problem, facts.capability)
    found: list[GemmSm80] = []
    if op is None:
        return found
    ops = [op]
    if problem.a_type is Float64 and facts.capability >= HOPPER:
        ops = [MmaF64Op((16, 8, k)) for k in (4, 8, 16)]
    for tile in _tiles(problem, alignments, facts):
        for each in ops:
            for stages in (tile.stages, tile.stages + 1):
                if _bytes(tile) // tile.stages * stages * tile.ctas <= facts.shared_bytes:
                    plan = build(problem, each, tile._replace(stages=stages), alignments)
                    found.append(with_promotion(plan, promotion_by_mma(plan, facts)))
    return list(dict.fromkeys(found))


def given(
    problem: GemmProblem,
    mma: Any,
    tiled_copy_a: Any = None,
    tiled_copy_b: Any = None,
    tiler_mnk: tuple[int, int, int] | None = None,
    stages: int | None = None,
    alignments: tuple[int, int, int] | None = None,
) -> GemmSm80 | None:
    """The plan of a user's objects; what is not given is chosen. Errors name what does not fit.

    Without alignments, the tensors are taken to begin at multiples of their elements only. None where the TiledMma
    multiplies by another operation than mma.sync.
    """
    if not isinstance(mma.op, OPERATIONS):
        return None
    bits = problem.a_type.bits
    extents = [mma.get_tile_size(mode) for mode in range(3)]
    if tiler_mnk is None:
        wanted = (128, 128, 64 * 8 // bits)
        tiler_mnk = (
            _multiple(extents[0], wanted[0]), _multiple(extents[1], wanted[1]), _multiple(extents[2], wanted[2])
        )  # fmt: skip
    aligned = alignments or (bits // 8, problem.b_type.bits // 8, problem.c_type.bits // 8)
    tile = Sm80Tile(tiler_mnk[0], tiler_mnk[1], tiler_mnk[2] * bits // 8, (0, 0), stages or 3, 1, 1.0)
    return assemble(problem, mma, tile, aligned, (tiled_copy_a, tiled_copy_b))


def build(problem: GemmProblem, op: Any, tile: Sm80Tile, alignments: tuple[int, int, int]) -> GemmSm80:
    """The plan of a tile."""
    accesses = _accesses(problem, tile, alignments)
    mma = tiled_mma(op, tile.warps, (accesses[0][0], accesses[1][0]))
    return assemble(problem, mma, tile, alignments, (None, None))


def assemble(
    problem: GemmProblem, mma: Any, tile: Sm80Tile, alignments: tuple[int, int, int], copies: tuple[Any, Any]
) -> GemmSm80:
    """The plan of a TiledMma, with copies and shared memory for it."""
    accesses = _accesses(problem, tile, alignments)
    threads = int(mma.size)
    bk = tile.bytes_k * 8 // problem.a_type.bits
    # Where warps do not divide the bits of an offset evenly, shared memory cannot be swizzled.
    even = all(_is_power(int(_core.size(mma.thr_layout_vmnk, mode=[mode]))) for mode in (1, 2))
    fields: dict[str, Any] = {}
    for name, rows, dtype, (mode, vector, by_cp_async), copy in zip(
        "ab", (tile.bm, tile.bn), problem[:2], accesses, copies, strict=True
    ):
        if copy is None:
            copy = tiled_load(dtype, (rows, bk), mode, vector, threads, by_cp_async)
        else:
            mode = _mode_of(copy, (rows, bk), mode)
        fields[f"tiled_copy_{name}"] = copy
        fields[f"smem_{name}"] = smem_layout((rows, bk), dtype.bits, mode, tile.stages, even)
    rows = int(mma.get_tile_size(0))
    if problem.c_strides[1] == 1 or problem.n == 1:
        vector = _store_vector(problem, alignments[2])
        while tile.bn % vector:
            vector //= 2
        if _stores_evenly(rows, tile.bn, vector, threads):
            fields.update(store_tv=tiled_store(rows, tile.bn, vector, threads), store_vector=vector)
    return GemmSm80(
        problem=problem,
        tiler_mnk=(tile.bm, tile.bn, bk),
        tiled_mma=mma,
        stages=tile.stages,
        min_ctas=tile.ctas,
        **fields,
    )


def _mode_of(copy: Any, tile: tuple[int, int], mode: int) -> int:
    """Where a given copy has accesses of several elements, shared memory is contiguous along them."""
    if int(_core.size(copy.layout_src_tv, mode=[1])) == 1:
        return mode
    values = modes_of(copy.tidfrg_S(_core.make_identity_layout(tile))[1])
    return 0 if values[0][1] else 1


def _is_wide(problem: GemmProblem, tile: Sm80Tile, alignments: tuple[int, int, int]) -> bool:
    """Whether both operands are read 16 bytes at a time."""
    accesses = zip(_accesses(problem, tile, alignments), problem[:2], strict=True)
    return all(by_cp_async and vector * dtype.bits == 8 * WIDTHS[0] for (_, vector, by_cp_async), dtype in accesses)


def _tiles(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts) -> tuple[Sm80Tile, ...]:
    numbers = Sm80Numbers.of(facts)
    is_wide = _is_wide(problem, numbers.tiles[0], alignments)
    found = tiles_for(problem, is_wide, facts)
    if is_wide or problem.a_type.bits == 8:
        return found
    size = problem.a_type.bits // 8
    fitting = []
    for tile in found:
        held = tile.held(size, _kinds(problem, tile, alignments))
        staged = tile._replace(stages=_held_stages(problem, tile, numbers.few_steps)) if held else tile
        if held <= numbers.held and staged.ctas * _bytes(staged) <= facts.shared_bytes:
            fitting.append(staged)
    return tuple(fitting)


def _held_stages(problem: GemmProblem, tile: Sm80Tile, few_steps: int) -> int:
    """Stages where elements wait in registers for theirs: a third one is as good as more.

    Of 24 shapes, 2026-11-30, two were better in few steps, by up to 1.3 times, and for most tiles with rows of a whole
    line where K has a rest, by up to 1.5 times; three in nearly all others, by up to 1.9 times.
    """
    bk = tile.bytes_k * 8 // problem.a_type.bits
    is_short = problem.k <= few_steps * bk
    return 2 if is_short or (tile.bytes_k == LINE and problem.k % bk != 0) else 3


def _bytes(tile: Sm80Tile) -> int:
    return (tile.bm + tile.bn) * tile.bytes_k * tile.stages


def _accesses(
    problem: GemmProblem, tile: Sm80Tile, alignments: tuple[int, int, int]
) -> tuple[tuple[int, int, bool], tuple[int, int, bool]]:
    """Of A and B: the mode along which shared memory is contiguous, elements of an access, whether by cp.async."""
    bk = tile.bytes_k * 8 // problem.a_type.bits
    p = problem
    return (
        _access((p.m, p.k, *p.batch), p.a_strides, p.a_type.bits // 8, alignments[0], (tile.bm, bk)),
        _access((p.n, p.k, *p.batch), p.b_strides, p.b_type.bits // 8, alignments[1], (tile.bn, bk)),
    )


def _access(
    extents: tuple[int, ...], strides: tuple[int, ...], size: int, alignment: int, tile: tuple[int, int]
) -> tuple[int, int, bool]:
    mode = 1 if strides[1] == 1 or strides[0] != 1 else 0
    for width in WIDTHS:
        vector = width // size
        if vector < 1 or tile[mode] % vector or alignment % width:
            continue
        if vector > 1 and strides[mode] != 1:
            continue
        others = [(e, d) for i, (e, d) in enumerate(zip(extents, strides, strict=True)) if i != mode or vector == 1]
        if all(e == 1 or d * size % width == 0 for e, d in others):
            return mode, vector, True
    return mode, 1, False


def _store_vector(problem: GemmProblem, alignment: int) -> int:
    """Elements of the widest aligned store along n."""
    size = problem.c_type.bits // 8
    vector = 16 // size
    others = [problem.c_strides[0] if problem.m > 1 else 0]
    others += [d for e, d in zip(problem.batch, problem.c_strides[2:], strict=True) if e > 1]
    while vector > 1 and (alignment % (vector * size) or any(d % vector for d in others)):
        vector //= 2
    return vector


def _stores_evenly(rows: int, columns: int, vector: int, threads: int) -> bool:
    """Whether threads can be dealt out to a round of sums, all of them with as many accesses."""
    along = min(columns // vector, threads)
    across = min(max(threads // along, 1), rows)
    return (columns // vector) % along == 0 and rows % across == 0


def _is_power(n: int) -> bool:
    return n & (n - 1) == 0


def _multiple(of: int, near: int) -> int:
    return max(near // of, 1) * of
