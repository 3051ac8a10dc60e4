"""The tables of gemm_sm80, from which the CPU runs its plans.

What a lane gets of its fragments is taken from the addresses that its warp gives to ldmatrix, and from how that deals
rows of 16 bytes out, not from the TiledMma: where the two disagree, the CPU gets wrong products.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.kernels.gemm.partitions import by_modes, direct_store, mma_table, stage_image
from tilewright.kernels.gemm.sm80.fragments import WARP
from tilewright.kernels.gemm.sm80.operand import coordinates_of
from tilewright.kernels.gemm.tables import GemmTables, LoadTable, OperandTable, Pipeline, StoreTable
from tilewright.numeric import TFloat32

if TYPE_CHECKING:
    from tilewright.kernels.gemm.sm80.operand import Side
    from tilewright.kernels.gemm.sm80.plan import GemmSm80
    from tilewright.kernels.gemm.tables import IntArray


def tables_of(plan: GemmSm80) -> GemmTables:
    """All tables of a plan."""
    a, b = plan.sides
    mma = mma_table(plan.tiled_mma, plan.tiler_mnk[:2])
    return GemmTables(
        plan.tiler_mnk,
        _operand(a),
        _operand(b),
        mma,
        store_of(plan, mma.c_coord),
        Pipeline(plan.stages, plan.stages - 1),
        promote=plan.promote,
        rounding="tf32_rna" if plan.problem.a_type is TFloat32 else None,
    )


def _operand(side: Side) -> OperandTable:
    image = stage_image(side.smem, *side.tile)
    return OperandTable(load_of(side, image), side.stage_elements, _fragment(side, image))


def load_of(side: Side, image: IntArray) -> LoadTable:
    """How an operand gets into a stage, in which `image` has the place of each element."""
    thread, value = coordinates_of(side.load_tv[0]), coordinates_of(side.load_tv[1])
    coord = (thread[:, None] + value[None]).reshape(len(thread), -1, side.vector, 2)
    smem = image[coord[..., 0], coord[..., 1]]
    kind = "cp.async" if side.is_async else "registers"
    return LoadTable(_int32(coord[:, :, 0]), _int32(smem), side.mode, kind)


def _fragment(side: Side, image: IntArray) -> IntArray:
    """(threads, atoms along rows, atoms along k, values): the offset that each register value is read from."""
    copy = side.fragment
    thread = coordinates_of(copy.thread)
    accesses, k_blocks = (int(_core.size(copy.access, mode=[mode])) for mode in (0, 1))
    step = coordinates_of(copy.access).reshape(k_blocks, accesses, 2)
    place = by_modes(copy.register)  # (unit, access)
    at = thread[:, None, None] + step[None]
    address = image[at[..., 0], at[..., 1]]  # (thread, k block, access)
    held = 32 // side.bits if copy.kind != "plain" else 1  # elements of a unit
    units = _units(copy.kind, address, copy.units, held)  # (thread, k block, access, unit, element)
    parts = getattr(side.mma, f"thrfrg_{side.operand}")(_core.make_layout(side.tile))
    values, rows = int(_core.size(parts[1][0])), int(_core.size(parts[1][1][0]))
    found = np.full((len(thread), k_blocks, rows * values), -1, np.int64)
    for access in range(accesses):
        for unit in range(copy.units):
            first = int(place[unit, access]) * held
            found[:, :, first : first + held] = units[:, :, access, unit]
    return _int32(found.reshape(len(thread), k_blocks, rows, values).transpose(0, 2, 1, 3))


def _units(kind: str, address: Any, units: int, held: int) -> Any:
    """The offsets of the elements that each lane gets by each access."""
    if kind == "plain":  # neighbours
        return (address[..., None] + np.arange(units))[..., None]
    lane = np.arange(address.shape[0])
    first, group, in_group = lane // WARP * WARP, lane % WARP // 4, lane % 4

    def row(matrix: int, index: Any) -> Any:
        return address[first + 8 * matrix + index]

    def shifted(rows: Any, by: Any) -> Any:
        return rows + np.asarray(by)[:, None, None]

    if kind == "ldmatrix":
        words = [[shifted(row(j, group), in_group * held + e) for e in range(held)] for j in range(units)]
    elif kind == "transposed":
        words = [[shifted(row(j, 2 * in_group + e), group) for e in range(2)] for j in range(units)]
    else:  # bytes e of rows 2t and 2t + 1 of two matrices, of which the permutations take every other one
        words = [
            [shifted(row(j // 2 * 2 + e // 2, 2 * in_group + e % 2), 2 * group + j % 2) for e in range(4)]
            for j in range(units)
        ]
    return np.moveaxis(np.array(words), (0, 1), (-2, -1))


def store_of(plan: GemmSm80, sums: IntArray) -> StoreTable:
    """How the sums, at the coordinates of `MmaTable.c_coord`, leave."""
    return direct_store(sums) if plan.store_tv is None else _shared_store(plan, sums)


def _shared_store(plan: GemmSm80, sums: IntArray) -> StoreTable:
    """Round by round through two buffers, which take turns."""
    rows, vector = int(plan.smem_c.shape[0]), plan.store_vector
    pitch = int(plan.smem_c.stride[0])
    buffer = rows * pitch
    m, n = (np.ascontiguousarray(sums[..., mode]).reshape(len(sums), -1) for mode in (0, 1))
    rounds = m // rows
    write = (rounds & 1) * buffer + (m - rounds * rows) * pitch + n
    assert plan.store_tv is not None
    thread, value = coordinates_of(plan.store_tv[0]), coordinates_of(plan.store_tv[1])
    coord = _int32(thread[:, None] + value[None]).reshape(len(thread), 1, -1, vector, 2)
    turn = np.arange(plan.tiler_mnk[0] // rows, dtype=np.int32)[None, :, None]
    read = (turn & 1)[..., None] * buffer + coord[..., 0] * pitch + coord[..., 1]
    placed = np.empty((*read.shape[:3], 2), np.int32)  # the first element of each access
    placed[..., 0] = coord[:, :, :, 0, 0] + turn * rows
    placed[..., 1] = coord[:, :, :, 0, 1]
    order = np.broadcast_to(turn, read.shape[:3]).reshape(len(thread), -1)
    return StoreTable(
        placed.reshape(len(thread), -1, 2),
        1,
        smem_write=_int32(write),
        smem_read=_int32(read.reshape(len(thread), -1, vector)),
        image_elements=2 * buffer,
        round_write=_int32(rounds),
        round_read=_int32(order),
        kind="shared",
    )


def _int32(array: Any) -> IntArray:
    return np.ascontiguousarray(array, np.int32)
