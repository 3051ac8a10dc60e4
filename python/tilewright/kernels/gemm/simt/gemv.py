"""Plans of gemm_simt for up to four columns of C: a matrix times a few vectors, the time of reading the matrix.

The tiles of tiles.py are for products. Here what counts is that enough of A is on its way, and that little else is
done for each element of it: accesses are as wide as they can be, a tile has no columns that are not there, and its
steps along K are shared by 16 groups of 8 threads, four of them in a warp. Each group has all rows of the tile, every
eighth of which is a thread's; or four neighbours of every 32, where A lies along M.

A that lies along K stays so in shared memory, in rows of PAD elements more than a tile has along K: a sector more. With
half of that the 8 rows and 4 steps that a warp reads at once would be in all 32 banks, where now every bank is asked
twice; but every other row would begin in the middle of a sector, for which cp.async moves half as many again. On an
H200 that was slower in six of seven shapes, by 2 to 21 % (docs/notes/gemm.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from tilewright import _core
from tilewright.kernels.devices import Section
from tilewright.kernels.gemm.simt.layouts import ACCESS, LANES_M, make_simt_copy, make_simt_image, make_simt_smem
from tilewright.kernels.gemm.simt.plan import GemmSimt
from tilewright.kernels.gemm.simt.stream_k import counts_steps, whole_group
from tilewright.kernels.gemm.simt.tiles import RESERVED, Access, accesses_of
from tilewright.numeric import Float32

if TYPE_CHECKING:
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.devices import DeviceFacts
    from tilewright.kernels.gemm.problem import GemmProblem

__all__ = ["GemvTile", "gemv_plan", "is_gemv"]

SLICED_K = 16
DEPTH = 128  # of a tile along K
PAD = 8  # elements behind the rows of shared memory that lie along K


class GemvTile(NamedTuple):
    """`groups` of `width` neighbouring rows for each of 8 threads along M; stages, and CTAs of a multiprocessor."""

    width: int
    groups: int
    stages: int
    ctas: int

    @property
    def rows(self) -> int:
        """Of the tile.

        >>> GemvTile(1, 4, 6, 2).rows
        32
        """
        return LANES_M * self.width * self.groups


class Gemv(Section):
    """The tiles of matrices along K and along M, and when they are taken: GEMV in a device's file says how."""

    SECTION: ClassVar[str] = "GEMV"
    most_columns: int
    least_rows: int
    least_depth: int
    least_stages: int
    full: float
    half: float
    long: int
    along_k: tuple[GemvTile, ...]
    along_m: tuple[GemvTile, ...]


def gemv_plan(problem: GemmProblem, alignments: tuple[int, int, int], facts: DeviceFacts) -> GemmSimt | None:
    """The plan for up to four columns; None where there are more, or several and A lies along M in unaligned rows.

    Its sums are not promoted, and C is written element by element.

    >>> from tilewright.devices import H200
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> [gemv_plan(problem_of(m, 1, 4096, Float32), (16, 16, 4), H200).tiler_mnk for m in (4096, 1024, 512)]
    [(32, 1, 128), (16, 1, 128), (8, 1, 128)]
    >>> gemv_plan(problem_of(4096, 3, 4096, Float32, a="m"), (16, 16, 4), H200).tiler_mnk
    (32, 4, 128)
    >>> print(gemv_plan(problem_of(4096, 5, 4096, Float32), (16, 16, 4), H200))
    None
    """
    p, numbers = problem, Gemv.of(facts)
    if {p.a_type, p.b_type, p.acc_type} != {Float32} or facts.capability < 80:
        return None
    if not 0 < p.n <= numbers.most_columns or p.m < numbers.least_rows or p.k < numbers.least_depth:
        return None
    a, b = accesses_of(p, alignments, (False, False), ACCESS, True)
    b = b if b.mode == 1 else Access(1, 1, True)  # few elements, which are turned on their way
    if a.mode == 0 and a.vector * Float32.bits // 8 < ACCESS and p.n > 1:  # not faster there
        return None
    columns = 1 << (p.n - 1).bit_length()
    tile = _tile(p, columns, numbers.along_k if a.mode == 1 else numbers.along_m, facts)
    return _shared(_plan(p, tile, _stages(tile, columns, facts), columns, a, b), facts)


def is_gemv(plan: Any) -> bool:
    """Whether a plan is one of gemv_plan's: no other tile is sliced so often along K."""
    return isinstance(plan, GemmSimt) and plan.sliced_k == SLICED_K


def _tile(p: GemmProblem, columns: int, tiles: tuple[GemvTile, ...], facts: DeviceFacts) -> GemvTile:
    """The largest tile of which there are enough for the device, and that it has room for; else the smallest one."""

    numbers = Gemv.of(facts)

    def is_taken(tile: GemvTile, part: float) -> bool:
        count = -(-p.m // tile.rows) * p.batches
        return (
            count >= part * facts.multiprocessors and _bytes(tile, columns, numbers.least_stages) <= facts.shared_bytes
        )

    found = (tile for tile, part in zip(tiles[:-1], (numbers.full, numbers.half), strict=False) if is_taken(tile, part))
    return next(found, tiles[-1])


def _bytes(tile: GemvTile, columns: int, stages: int) -> int:
    """Of shared memory at most."""
    return (tile.rows + columns) * (DEPTH + PAD) * stages * 4


def _stages(tile: GemvTile, columns: int, facts: DeviceFacts) -> int:
    """Those of the tile, or as many as its CTAs have room for on a multiprocessor."""

    least = Gemv.of(facts).least_stages

    def fits(stages: int) -> bool:
        return (_bytes(tile, columns, stages) + RESERVED) * tile.ctas <= facts.shared_bytes + RESERVED

    return next((n for n in range(tile.stages, least, -1) if fits(n)), least)


def _plan(p: GemmProblem, tile: GemvTile, stages: int, columns: int, a: Access, b: Access) -> GemmSimt:
    mma = _mma(tile, columns)
    threads = int(mma.size)
    return GemmSimt(
        problem=p,
        tiler_mnk=(tile.rows, columns, DEPTH),
        tiled_mma=mma,
        stages=stages,
        tiled_copy_a=_copy(tile.rows, threads, a),
        tiled_copy_b=_copy(columns, threads, b),
        smem_a=_smem(tile.rows, stages, a.mode),
        smem_b=_smem(columns, stages, 1),
        wide_a=True,
        wide_b=True,
        ctas_per_sm=tile.ctas,
        smem_c=make_simt_image((tile.rows, columns), SLICED_K, Float32),
    )


def _mma(tile: GemvTile, columns: int) -> TiledMma:
    """8 threads along M, each with all columns, SLICED_K times along K."""
    from tilewright.cute.atoms.mma_ops import MmaUniversalOp
    from tilewright.cute.tiled.make_tiled_mma import make_tiled_mma

    atoms = _core.make_layout((LANES_M, 1, SLICED_K), stride=(1, LANES_M, LANES_M))
    rows = _core.make_layout((LANES_M, (tile.width, tile.groups)), stride=(tile.width, (1, LANES_M * tile.width)))
    return make_tiled_mma(MmaUniversalOp(Float32, Float32), atoms, (rows, _core.make_layout(columns), None))


def _copy(rows: int, threads: int, access: Access) -> TiledCopy:
    """By cp.async. Along K neighbouring threads take neighbouring accesses, of as many rows as there are threads."""
    from tilewright.cute.atoms.copy_atom import make_copy_atom
    from tilewright.cute.nvgpu.cpasync import CopyG2SOp
    from tilewright.cute.tiled.make_tiled_copy import make_tiled_copy_tv

    mode, vector = access.mode, access.vector
    if mode == 0:
        return make_simt_copy(Float32, (rows, DEPTH), threads, mode, vector, True)
    deep = min(DEPTH // vector, threads)
    across = max(min(threads // deep, rows), 1)
    atom = make_copy_atom(CopyG2SOp(), Float32, num_bits_per_copy=vector * int(Float32.bits))
    layout = _core.make_layout((across, deep), stride=(deep, 1))
    return make_tiled_copy_tv(atom, layout, _core.make_layout((1, vector), stride=(vector, 1)))


def _smem(rows: int, stages: int, mode: int) -> Any:
    """As the operand lies: rows along K, or as make_simt_smem has them.

    >>> print(_smem(32, 6, 1), _smem(32, 4, 0))
    (32,128,6):(136,1,4352) (32,128,4):(1,32,4096)
    """
    if mode == 0:
        return make_simt_smem((rows, DEPTH), stages, Float32, mode)
    pitch = DEPTH + PAD
    return _core.make_layout((rows, DEPTH, stages), stride=(pitch, 1, pitch * rows))


def _shared(plan: GemmSimt, facts: DeviceFacts) -> GemmSimt:
    """The plan with its tiles shared along K, where they are few and long."""
    stream_k_ctas = facts.multiprocessors * plan.ctas_per_sm
    if 2 * plan.places > facts.multiprocessors or plan.steps * (1 - plan.places / stream_k_ctas) < Gemv.of(facts).long:
        return plan
    if not counts_steps(plan.places, plan.steps, stream_k_ctas):
        return plan
    return plan.replace(stream_k_ctas=stream_k_ctas, group=whole_group(plan.tiles[0]))
