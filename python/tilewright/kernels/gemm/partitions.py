"""Tables of partitions: which thread has which elements, all threads at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright import _core
from tilewright.kernels.gemm.tables import GemmTables, LoadTable, MmaTable, OperandTable, Pipeline, StoreTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma
    from tilewright.kernels.gemm.tables import IntArray


def by_modes(layout: Any) -> IntArray:
    """All offsets of a layout as an array with one axis for each of its modes.

    >>> by_modes(_core.parse("((2,2),3):((1,10),100)")).tolist()
    [[0, 100, 200], [1, 101, 201], [10, 110, 210], [11, 111, 211]]
    """
    sizes = [int(_core.size(layout, mode=[mode])) for mode in range(_core.rank(layout))]
    offsets: IntArray = layout.offsets().reshape(sizes, order="F").astype(np.int32, order="C")
    return offsets


def points(layout: Any, rank: int) -> NDArray[np.int64]:
    """(n, rank): the coordinates of a layout of basis strides.

    >>> points(_core.make_layout((2, 2), stride=(_core.ScaledBasis(1, 1), _core.ScaledBasis(3, 0))), 2).tolist()
    [[0, 0], [0, 1], [3, 0], [3, 1]]
    """
    flat = _core.flatten(layout)
    shape, stride = ((x if isinstance(x, tuple) else (x,)) for x in (flat.shape, flat.stride))
    found = np.zeros((1, rank), np.int64)
    for extent, step in zip(shape, stride, strict=True):
        unit = np.zeros(rank, np.int64)
        if isinstance(step, _core.ScaledBasis):
            unit[next(iter(step.mode))] = int(step.value)
        found = (found[None] + np.arange(int(extent))[:, None, None] * unit).reshape(-1, rank)
    return found


def stage_image(smem: Any, rows: int, k: int) -> IntArray:
    """(rows, k): the offset of each element of a tile in the first stage of a layout (rows, k[, stages]).

    >>> stage_image(_core.parse("(4,2,3):(2,1,8)"), 4, 2).tolist()
    [[0, 1], [2, 3], [4, 5], [6, 7]]
    """
    image: IntArray = smem.offsets()[: rows * k].reshape(rows, k, order="F").astype(np.int32)
    return image


def tile_coordinates(index: Any, rows: int) -> IntArray:
    """(..., 2): the coordinates of colexicographic indices in a tile with so many rows."""
    columns = index // rows
    coordinates: IntArray = np.stack([index - columns * rows, columns], axis=-1).astype(np.int32, copy=False)
    return coordinates


def load_table(
    tiled_copy: TiledCopy, tile: tuple[int, int], smem: Any, *, width: int = 0, mode: int = 1, **options: Any
) -> LoadTable:
    """The table of a tiled copy of a tile (rows, k) to the first stage of a shared-memory layout.

    `width` is the number of elements of an access along `mode`; 0: the values of one call of the atom. The other
    options are those of LoadTable.

    >>> from tilewright import Float32, cute
    >>> atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float32, num_bits_per_copy=32)
    >>> tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((2, 4), stride=(4, 1)), cute.make_layout((1, 1)))
    >>> table = load_table(tiled, (4, 4), cute.make_layout((4, 4, 3)), kind="registers")
    >>> table.coord[5].tolist(), table.smem[5].tolist()  # thread 5 of 8 copies two elements
    ([[1, 1], [3, 1]], [[5], [7]])
    """
    rows, k = tile
    parts = tiled_copy.tidfrg_S(_core.make_layout(tile))  # (thread, (values of a call, calls), (rest rows, rest k))
    width = width or int(_core.size(parts, mode=[1, 0]))
    index = by_modes(parts)
    index = index.reshape(len(index), -1, order="F").reshape(len(index), -1, width)
    coord = tile_coordinates(index, rows)
    image = stage_image(smem, rows, k)
    return LoadTable(
        np.ascontiguousarray(coord[:, :, 0]), image[coord[..., 0], coord[..., 1]].astype(np.int32), mode, **options
    )


OPERAND_MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}  # of (M, N, K)


def thread_coordinates(tiled_mma: TiledMma) -> IntArray:
    """(threads, 4): the lane of each thread in its atom, and the atom's m, n and k.

    >>> from tilewright import Float32, cute
    >>> thread_coordinates(cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 3, 1))).tolist()
    [[0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 2, 0], [0, 1, 2, 0]]
    """
    layout = tiled_mma.thr_layout_vmnk
    extents = [int(_core.size(layout, mode=[mode])) for mode in range(4)]
    threads = layout.offsets()  # of each place, the first mode running fastest
    places = np.empty((threads.size, 4), np.int32)
    places[threads] = np.stack(np.unravel_index(np.arange(threads.size), extents, order="F"), axis=-1)
    return places


def operand_indices(tiled_mma: TiledMma, operand: str, tile: tuple[int, int]) -> IntArray:
    """(threads, atoms along the first mode, atoms along the second, values): what each thread has of a tile.

    The index counts colexicographically over the tile, which has the modes (M,K), (N,K) or (M,N) of "A", "B" or "C".

    >>> from tilewright import Float32, cute
    >>> tiled = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(Float32), (2, 2, 1))
    >>> operand_indices(tiled, "A", (4, 3))[1].tolist()  # thread 1 has the rows 1 and 3
    [[[1], [5], [9]], [[3], [7], [11]]]
    """
    parts = getattr(tiled_mma, f"thrfrg_{operand}")(_core.make_layout(tile))
    (lane, groups), (values, rest) = parts[0], parts[1]
    first, second = OPERAND_MODES[operand]
    place = thread_coordinates(tiled_mma)
    index = by_modes(_core.make_layout([lane, *groups, *rest, values]))
    return np.ascontiguousarray(index[place[:, 0], place[:, 1 + first], place[:, 1 + second]])


def fragment_table(tiled_mma: TiledMma, operand: str, tile: tuple[int, int], smem: Any) -> IntArray:
    """`OperandTable.fragment` of "A" or "B" with a tile (rows, k) in the first stage of a shared-memory layout."""
    index = operand_indices(tiled_mma, operand, tile)
    image = stage_image(smem, *tile)
    return np.ascontiguousarray(image[index % tile[0], index // tile[0]])


def sum_coordinates(tiled_mma: TiledMma, tile: tuple[int, int]) -> IntArray:
    """`MmaTable.c_coord` for a tile (M, N) of C."""
    return tile_coordinates(operand_indices(tiled_mma, "C", tile), tile[0])


def mma_table(tiled_mma: TiledMma, tile: tuple[int, int], *, a: bool = True, b: bool = True) -> MmaTable:
    """The MmaTable for a tile (M, N) of C; `a` and `b` say whether the operands have fragments.

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> table = mma_table(cute.make_tiled_mma(op, (2, 2, 1), (32, 32, 16)), (64, 64))
    >>> table.shape_mnk, table.a.shape, table.c_coord.shape, table.c_coord[5, 0, 0].tolist()
    ((16, 8, 16), (32, 8), (128, 2, 4, 4, 2), [[1, 2], [1, 3], [9, 2], [9, 3]])
    """
    held = {name: by_modes(getattr(tiled_mma, f"tv_layout_{name}")) for name in "ABC"}
    return MmaTable(
        tiled_mma.shape_mnk,
        thread_coordinates(tiled_mma),
        held["C"],
        sum_coordinates(tiled_mma, tile),
        held["A"] if a else None,
        held["B"] if b else None,
    )


def direct_store(sums: IntArray, mode: int = 1) -> StoreTable:
    """Each thread stores its accumulators, at the coordinates of `MmaTable.c_coord`, one by one."""
    threads = len(sums)
    coord = sums.reshape(threads, -1, 2)
    value = np.tile(np.arange(coord.shape[1], dtype=np.int32)[None, :, None], (threads, 1, 1))
    return StoreTable(coord, mode, value=value)


def direct_tables(
    tiled_mma: TiledMma, tile: tuple[int, int, int], tiled_copies: tuple[Any, Any], smem: tuple[Any, Any]
) -> GemmTables:
    """The tables of the simplest kernel: one stage, element by element through registers, as ._core.host shows."""
    m, n, k = tile
    mma = mma_table(tiled_mma, (m, n))
    a, b = (
        OperandTable(
            load_table(copy, (rows, k), layout, kind="registers"),
            int(_core.cosize(layout)),
            fragment_table(tiled_mma, operand, (rows, k), layout),
        )
        for operand, rows, copy, layout in zip("AB", (m, n), tiled_copies, smem, strict=True)
    )
    return GemmTables(tile, a, b, mma, direct_store(mma.c_coord), Pipeline(1, 0))
