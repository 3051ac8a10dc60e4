"""A Hopper plan as tables for the CPU: where TMA writes, where descriptors read, which thread has which sums.

What TMA and the descriptors do is taken from the hardware's rules (`tma_offsets`, `descriptor_offsets`), not from the
plan's shared-memory layouts: that both meet at the same element is what running the tables shows.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.cute.atoms.wgmma_layout import descriptor_offsets, matrix_descriptor, tma_offsets
from tilewright.kernels.gemm.partitions import by_modes, operand_indices, tile_coordinates
from tilewright.kernels.gemm.sm90.conditions import run_columns
from tilewright.kernels.gemm.sm90.plan import GemmSm90
from tilewright.kernels.gemm.sm90.shared_operand import ATOM_ROWS, SPAN, SharedOperand
from tilewright.kernels.gemm.tables import GemmTables, LoadTable, MmaTable, OperandTable, Pipeline, StoreTable
from tilewright.numeric import TFloat32

if TYPE_CHECKING:
    from tilewright.kernels.gemm.tables import IntArray


def tables(plan: GemmSm90) -> GemmTables:
    """What the threads of a plan do."""
    p, (bM, bN, bK) = plan.problem, plan.tiler_mnk
    size = p.a_type.bits // 8
    a, b = plan.operands()
    mma = _mma_table(plan)
    warpgroups = int(plan.tiled_mma.size) // 128
    return GemmTables(
        tile=plan.tiler_mnk,
        a=OperandTable(_load_table(a, size), a.stage_bytes // size, fragments_of(plan, a))
        if plan.from_registers
        else _operand_table(a, size, ATOM_ROWS, warpgroups, bM // ATOM_ROWS // warpgroups, bK),
        b=_operand_table(b, size, bN, 1, 1, bK),
        mma=mma,
        store=_store_table(plan, mma.c_coord),
        pipeline=Pipeline(plan.stages, plan.stages - 2, 0, -1, 0) if plan.stages > 2 else Pipeline(2, 1),
        work=_split_work(plan) if plan.split_k > 1 else _shared_work(plan) if plan.stream_k_ctas else None,
        promote=plan.promote,
        rounding="tf32_rna" if p.a_type is TFloat32 else None,
    )


def _load_table(x: SharedOperand, size: int) -> LoadTable:
    inner, others = x.box[0], x.box[1] * x.parts
    rows = tma_offsets(inner, x.boxes * others, size, SPAN)  # all rows of 128 bytes of a stage, box after box
    count = np.arange(len(rows))
    if x.k_major:
        coord = np.stack([count, np.zeros_like(count)], axis=-1)
    else:
        coord = np.stack([count // others * inner, count % others], axis=-1)
    return LoadTable(
        coord[None].astype(np.int32), rows[None].astype(np.int32), int(x.k_major), kind="tma", predicate="element"
    )


def fragments_of(plan: GemmSm90, x: SharedOperand) -> IntArray:
    """A that goes through registers: where each thread reads what the TiledMma gives it, as sm90_fragment.cuh does."""
    bM, _, bK = plan.tiler_mnk
    index = operand_indices(plan.tiled_mma, "A", (bM, bK))
    m, k = index % bM, index // bM
    inner, others = x.box[0], x.box[1] * x.parts
    offsets = tma_offsets(inner, x.boxes * others, 4, SPAN)[m // inner * others + k, m % inner]
    return np.ascontiguousarray(offsets.astype(np.int32))


def _operand_table(x: SharedOperand, size: int, atom_rows: int, threads: int, blocks: int, bK: int) -> OperandTable:
    step = 32 // size  # elements of K of an instruction
    major = "k" if x.k_major else "mn"
    matrix = np.empty((threads, blocks, bK // step, atom_rows, step), np.int32)
    for thread, block, k in np.ndindex(*matrix.shape[:3]):
        start = (block * threads + thread) * x.block_bytes + k * x.step_bytes
        descriptor = matrix_descriptor(start, x.leading, x.stride, SPAN)
        matrix[thread, block, k] = descriptor_offsets(descriptor, (atom_rows, step), size, major)
    return OperandTable(_load_table(x, size), x.stage_bytes // size, matrix=matrix)


def sum_coordinates(plan: GemmSm90) -> IntArray:
    """`MmaTable.c_coord` of a plan."""
    tiled_mma, (bM, bN, _) = plan.tiled_mma, plan.tiler_mnk
    threads = int(tiled_mma.size)
    index = by_modes(tiled_mma.thrfrg_C(_core.make_layout((bM, bN))))  # (thread, values and the atoms along M and N)
    values = int(_core.size(tiled_mma.tv_layout_C, mode=[1]))
    index = index.reshape(threads, bM // (ATOM_ROWS * threads // 128), 1, values)  # values run fastest
    return np.ascontiguousarray(tile_coordinates(index, bM))


def _mma_table(plan: GemmSm90) -> MmaTable:
    tiled_mma = plan.tiled_mma
    lane = np.arange(int(tiled_mma.size))
    thread = np.stack([lane % 128, lane // 128, 0 * lane, 0 * lane], axis=-1).astype(np.int32)
    return MmaTable(
        shape_mnk=tiled_mma.op.shape_mnk,
        thread=thread,
        a=by_modes(tiled_mma.tv_layout_A) if plan.from_registers else None,
        c=by_modes(tiled_mma.tv_layout_C),
        c_coord=sum_coordinates(plan),
    )


def _store_table(plan: GemmSm90, c_coord: IntArray) -> StoreTable:
    threads, blocks, _, values, _ = c_coord.shape
    coord = c_coord.reshape(threads, blocks * values, 2)
    if plan.store == "columns":
        return _columns(plan, coord)
    if plan.store == "lines":
        return _lines(plan, coord)
    if plan.store != "boxes":
        width = 2 if plan.store == "pairs" else 1
        value = np.broadcast_to(np.arange(blocks * values, dtype=np.int32), coord.shape[:2]).reshape(threads, -1, width)
        return StoreTable(
            np.ascontiguousarray(coord[:, ::width]), mode=1, value=np.ascontiguousarray(value), predicate="element"
        )
    columns, size = plan.box_columns, plan.problem.c_type.bits // 8
    box = ATOM_ROWS * columns
    offsets = tma_offsets(columns, ATOM_ROWS, size, SPAN)
    m, n = coord[..., 0], coord[..., 1]
    group = n // columns
    count = plan.tiler_mnk[1] // columns
    warpgroups = threads // 128
    block = m // ATOM_ROWS // warpgroups
    turn = block * count + group
    buffers = plan.store_buffers
    image = (m // ATOM_ROWS % warpgroups) * buffers * box + turn % buffers * box
    write = image + offsets[m % ATOM_ROWS, n % columns]
    # A row of a box is one access of the copy engine: all boxes of all warpgroups, row by row.
    rows = [
        (warpgroup, b, g, row)
        for b in range(blocks) for g in range(count) for warpgroup in range(warpgroups) for row in range(ATOM_ROWS)
    ]  # fmt: skip
    w, b, g, r = np.array(rows).T
    turns = b * count + g
    read = (w * buffers * box + turns % buffers * box)[:, None] + offsets[r]
    place = np.stack([(b * warpgroups + w) * ATOM_ROWS + r, g * columns], axis=-1)
    return _by_tma(1, place, write, read, turn, turns, warpgroups * buffers * box)


def _by_tma(mode: int, place: Any, write: Any, read: Any, turn: Any, turns: Any, elements: int) -> StoreTable:
    """Sums that go to shared memory at `write` in the round `turn`, and from `read` to `place` of C in `turns`."""

    def table(x: Any) -> IntArray:
        return np.ascontiguousarray(x.astype(np.int32))

    return StoreTable(
        coord=table(place[None]), mode=mode, smem_write=table(write), smem_read=table(read[None]),
        image_elements=elements, round_write=table(turn), round_read=table(turns[None]), kind="tma",
        predicate="element",
    )  # fmt: skip


def _columns(plan: GemmSm90, coord: IntArray) -> StoreTable:
    """Boxes of C that lie along M, by a warpgroup at a time: 128 bytes of rows, and of 4 bytes two such parts."""
    columns, rows, threads = plan.box_columns, SPAN * 8 // plan.problem.c_type.bits, len(coord)
    warpgroups, buffers, count = threads // 128, plan.store_buffers, plan.tiler_mnk[1] // columns
    offsets = tma_offsets(rows, ATOM_ROWS // rows * columns, SPAN // rows, SPAN)
    size = offsets.size
    m, n = coord[..., 0], coord[..., 1]
    turn = m // ATOM_ROWS // warpgroups * count + n // columns
    image = (m // ATOM_ROWS % warpgroups) * buffers * size + turn % buffers * size
    write = image + offsets[m % ATOM_ROWS // rows * columns + n % columns, m % rows]
    blocks = plan.tiler_mnk[0] // ATOM_ROWS // warpgroups
    b, g, w, part, column = (x.ravel() for x in np.indices((blocks, count, warpgroups, ATOM_ROWS // rows, columns)))
    turns = b * count + g
    read = (w * buffers * size + turns % buffers * size)[:, None] + offsets[part * columns + column]
    place = np.stack([(b * warpgroups + w) * ATOM_ROWS + part * rows, g * columns + column], axis=-1)
    return _by_tma(0, place, write, read, turn, turns, warpgroups * buffers * size)


def _lines(plan: GemmSm90, coord: IntArray) -> StoreTable:
    """Rows that leave through two boxes of each consumer in turn, and out of them by the warps that filled them.

    Which lane writes which bytes of a row depends on the row's address: the table has each element alone, by the lane
    that has it where rows begin at lines, and a box's last bytes in its own round, not in the next one.
    """
    (bM, bN, _), size = plan.tiler_mnk, plan.problem.c_type.bits // 8
    columns, threads = plan.box_columns, len(coord)
    warpgroups, box, word = threads // 128, ATOM_ROWS * columns, 16 // size
    blocks = bM // ATOM_ROWS // warpgroups
    run = run_columns(bM, bN, plan.split_k, warpgroups)
    boxes = -(-run // columns)
    offsets = tma_offsets(columns, ATOM_ROWS, size, SPAN)

    def place(m: Any, n: Any) -> tuple[Any, Any]:
        """Where an element lies in shared memory, and in which round."""
        within = n % run // columns
        image = (m // ATOM_ROWS % warpgroups * 2 + within % 2) * box
        turn = (m // ATOM_ROWS // warpgroups * (bN // run) + n // run) * boxes + within
        return image + offsets[m % ATOM_ROWS, n % run % columns], turn

    write, written = place(coord[..., 0], coord[..., 1])
    thread = np.arange(threads)[:, None, None, None, None, None]
    block, start, which, turn, e = np.ogrid[:blocks, : bN // run, :boxes, :4, :word]
    lane = thread % 32
    m = (block * warpgroups + thread // 128) * ATOM_ROWS + thread % 128 // 32 * 16 + turn * 4 + lane // 8
    within = which * columns + lane % 8 * word + e
    n = np.where(within < run, start * run + within, -1)
    m, n = (x.reshape(threads, -1) for x in np.broadcast_arrays(m, n))
    read, taken = place(m, np.maximum(n, 0))
    at = np.stack([np.where(n < 0, -1, m), n], axis=-1)
    int32: Any = functools.partial(np.ascontiguousarray, dtype=np.int32)
    return StoreTable(
        coord=int32(at), mode=1, smem_write=int32(write), smem_read=int32(read[..., None]),
        image_elements=2 * warpgroups * box, round_write=int32(written), round_read=int32(taken), kind="shared",
        predicate="element",
    )  # fmt: skip


def _split_work(plan: GemmSm90) -> IntArray:
    """Every CTA of a split has its own tiles along K; their sums are added in the order of their ranks."""
    p, (bM, bN, bK) = plan.problem, plan.tiler_mnk
    tiles = -(-p.k // bK)
    begins = [tiles * rank // plan.split_k for rank in range(plan.split_k + 1)]
    units = [
        (m, n, batch, begins[rank], begins[rank + 1] - begins[rank])
        for batch in range(p.batches)
        for n in range(-(-p.n // bN))
        for m in range(-(-p.m // bM))
        for rank in range(plan.split_k)
    ]
    return np.array(units, np.int32)


def _shared_work(plan: GemmSm90) -> IntArray:
    """The tiles of C in the order of the kernel's numbers, those that clusters share in parts along K.

    Of a cluster's tiles, which have the same parts, those outside of C are left out.
    """
    shares = plan.stream_k
    rest = np.arange(shares.shared, shares.tiles)
    whole = np.stack([rest, np.zeros_like(rest), np.full_like(rest, shares.steps)], axis=-1)
    units = np.concatenate([np.array(shares.parts, np.int64).reshape(-1, 3), whole])
    m, n, matrix = _places(plan, units[:, 0])
    (along_m, along_n), (bM, bN, _), p = plan.cluster_mn, plan.tiler_mnk, plan.problem
    beside_n, beside_m = (x.ravel() for x in np.indices((along_n, along_m)))
    tiles = np.stack(
        [
            m[:, None] * along_m + beside_m,
            n[:, None] * along_n + beside_n,
            *(np.broadcast_to(x[:, None], (len(x), along_m * along_n)) for x in (matrix, units[:, 1], units[:, 2])),
        ],
        axis=-1,
    )
    inside = (tiles[..., 0] * bM < p.m) & (tiles[..., 1] * bN < p.n)
    return np.ascontiguousarray(tiles[inside], np.int32)


def _places(plan: GemmSm90, tile: Any) -> tuple[Any, Any, Any]:
    """Where in C the tiles of these numbers are, as place_of of the kernel says: along M, N and the batch."""
    tiles_m, tiles_n = plan.tiles()
    group = min(plan.tile_run, tiles_m)
    matrix, tile = np.divmod(tile, tiles_m * tiles_n)
    first, within = np.divmod(tile, group * tiles_n)
    rows = np.minimum(group, tiles_m - first * group)
    return first * group + within % rows, within // rows, matrix
