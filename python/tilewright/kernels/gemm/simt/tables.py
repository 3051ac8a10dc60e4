"""The tables by which the CPU runs a plan of gemm_simt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.kernels.gemm.partitions import by_modes, load_table, points, thread_coordinates
from tilewright.kernels.gemm.simt.plan import by_cp_async
from tilewright.kernels.gemm.simt.stream_k import stream_k_work
from tilewright.kernels.gemm.tables import GemmTables, MmaTable, OperandTable, Pipeline, StoreTable

if TYPE_CHECKING:
    from tilewright.kernels.gemm.simt.plan import GemmSimt
    from tilewright.kernels.gemm.tables import IntArray


def simt_tables(plan: GemmSimt) -> GemmTables:
    """Partitions of the plan's layouts, all threads at once.

    >>> from tilewright import Float32
    >>> from tilewright.kernels.gemm.problem import problem_of
    >>> from tilewright.kernels.gemm.simt.build import choose
    >>> tables = simt_tables(choose(problem_of(512, 512, 512, Float32), (16, 16, 16)))
    >>> tables.tile, tables.mma.c_coord.shape, tables.pipeline
    ((64, 32, 32), (128, 8, 8, 1, 2), Pipeline(stages=4, ahead=3, landed=0, first_read=0, last_read=0))
    """
    rows, columns = by_modes(plan.rows), by_modes(plan.columns)
    down, across = rows.shape[1], columns.shape[1]
    coordinates = np.stack(
        [np.repeat(rows[:, :, None], across, axis=2), np.repeat(columns[:, None, :], down, axis=1)], axis=-1
    )
    single = np.zeros((1, 1), np.int32)
    mma = MmaTable(
        shape_mnk=(1, 1, 1),
        thread=thread_coordinates(plan.tiled_mma),
        c=single,
        c_coord=np.ascontiguousarray(coordinates[:, :, :, None, :], np.int32),
        a=single,
        b=single,
    )
    # Fragments are read between the same two barriers as the step that loads the tile `ahead`.
    pipeline = Pipeline(plan.stages, plan.stages - 1)
    slice_of = mma.thread[:, 3]
    a, b = _operand(plan, "a", rows, slice_of), _operand(plan, "b", columns, slice_of)
    store = _store(plan, coordinates) if plan.smem_c is None else _shared_store(plan, rows, columns, slice_of)
    work = stream_k_work(plan) if plan.stream_k_ctas else None
    return GemmTables(plan.tiler_mnk, a, b, mma, store, pipeline, work=work, promote=plan.promote)


def _operand(plan: GemmSimt, name: str, rows: IntArray, slice_of: IntArray) -> OperandTable:
    tiled_copy, smem, wide, tile, _, dtype = plan.side(name)
    _, vector, mode = plan.copy_layout(name)
    row, k, stage = (int(d) for d in smem.stride)
    width = vector if wide else 1
    size = int(dtype.bits) // 8
    kind = "cp.async" if (by_cp_async(tiled_copy) if wide else size >= 4) else "registers"
    load = load_table(tiled_copy, tile, smem, width=width, mode=mode, kind=kind)
    load = load._replace(smem=np.ascontiguousarray(load.smem))
    depth = slice_of[:, None] + np.arange(0, tile[1], plan.sliced_k)  # (thread, step): the k of each
    fragment = rows[:, :, None, None] * row + (depth * k)[:, None, :, None]
    return OperandTable(load, stage, np.ascontiguousarray(fragment, np.int32))


def _store(plan: GemmSimt, coordinates: Any) -> StoreTable:
    """Each thread writes its sums directly, out_vector neighbours at once."""
    threads, down, across = coordinates.shape[:3]
    number = np.arange(down * across, dtype=np.int32).reshape(down, across)
    if plan.out_mode == 0:
        number, coordinates = number.T, coordinates.transpose(0, 2, 1, 3)
    value = np.ascontiguousarray(number).reshape(-1, plan.out_vector)
    first = coordinates.reshape(threads, -1, 2)[:, :: plan.out_vector]
    return StoreTable(
        coord=np.ascontiguousarray(first, np.int32),
        mode=plan.out_mode,
        value=np.ascontiguousarray(np.broadcast_to(value, (threads, *value.shape))),
    )


def _shared_store(plan: GemmSimt, rows: IntArray, columns: IntArray, slice_of: IntArray) -> StoreTable:
    """The sums by way of shared memory, where those of a tile's slices are added up."""
    assert plan.smem_c is not None
    row, column, step = (int(d) for d in plan.smem_c.stride)
    places = rows[:, :, None] * row + columns[:, None] * column + slice_of[:, None, None] * step
    threads, values = (points(plan.store_layout[i], 2) for i in (0, 1))
    index = (threads[:, None] + values).astype(np.int32)
    first = (index[..., 0] * row + index[..., 1] * column).reshape(len(threads), -1, plan.out_vector)
    sums = first[..., None] + np.arange(plan.sliced_k, dtype=np.int32) * step
    return StoreTable(
        coord=np.ascontiguousarray(index[:, :: plan.out_vector]),
        mode=plan.out_mode,
        smem_write=np.ascontiguousarray(places.reshape(len(places), -1)),
        smem_read=np.ascontiguousarray(sums[..., 0]),
        smem_added=np.ascontiguousarray(sums[..., 1:]) if plan.sliced_k > 1 else None,
        image_elements=int(_core.cosize(plan.smem_c)),
        kind="shared",
    )
