"""The layouts of gemm_sm80: tiled MMAs, swizzled shared memory, and who loads and stores what.

All are made by the public API, from the element's size and the mode along which an operand is contiguous.
"""

from __future__ import annotations

from typing import Any

from tilewright import _core
from tilewright.cute.atoms.copy_atom import make_copy_atom
from tilewright.cute.atoms.copy_ops import CopyG2SOp, CopyUniversalOp
from tilewright.cute.tiled.make_tiled_copy import make_tiled_copy_tv
from tilewright.cute.tiled.make_tiled_mma import make_tiled_mma
from tilewright.kernels.gemm.sm80.fragments import coordinates

ACCESS = 16  # bytes
ROW = 128  # bytes of a row of the swizzled atom: all banks once
PAD = 32  # bytes behind a row of sums: the rows of a warp's store then begin at different banks

_layout = _core.make_layout


def tiled_mma(op: Any, warps: tuple[int, int], majors: tuple[int, int]) -> Any:
    """Warps side by side along M and N; two atoms along N for each, so that one ldmatrix serves both.

    `majors`: the modes along which A and B are contiguous, 1 for K. Where that is M or N and no ldmatrix transposes the
    elements, neighbouring rows go to one thread: row 2g + j of a tile takes the place of row g + 8j of the atom (A), or
    of row g of atom j (B; not for Float64, whose two values of k must lie in neighbouring registers).

    >>> from tilewright import Float16, Float32, cute
    >>> op = cute.nvgpu.warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
    >>> tiled_mma(op, (2, 4), (1, 1)).permutation_mnk
    (32, 64, 16)
    """
    m, n, k = op.shape_mnk
    bits = op.a_dtype.bits
    along_m: Any = m * warps[0]
    along_n: Any = 2 * n * warps[1]
    if bits != 16 and majors[0] == 0 and m == 16:
        along_m = _layout((8, 2, warps[0]), stride=(2, 1, 16))
    if bits in (8, 32) and majors[1] == 0:
        along_n = _layout((8, warps[1], 2), stride=(2, 16, 1))
    return make_tiled_mma(op, (*warps, 1), (along_m, along_n, k))


def smem_layout(tile: tuple[int, int], bits: int, mode: int, stages: int, swizzled: bool = True) -> Any:
    """(row, k, stage) to the offset in shared memory, contiguous along `mode` in rows of up to 128 bytes, swizzled.

    The swizzle spreads over the banks what a warp reads at once: by ldmatrix 8 rows of 16 bytes; by plain accesses of
    elements that lie along M or N, or of 8 bytes, 32 bytes of each of 4 rows.

    >>> print(smem_layout((128, 32), 16, 1, 3))
    S<2,3,3> o 0 o ((8,16),(32,1),(1,3)):((32,256),(1,0),(0,4096))
    >>> print(smem_layout((128, 16), 64, 0, 3))
    S<2,2,2> o 0 o ((16,8),(8,2),(1,3)):((1,128),(16,1024),(0,2048))
    """
    if not swizzled:
        return _core.make_ordered_layout((*tile, stages), (0, 1, 2) if mode == 0 else (1, 0, 2))
    extent = tile[mode]
    row = min(extent, ROW * 8 // bits)
    while extent % row:
        row //= 2
    chunk = ACCESS * 8 // bits
    chunks = max((row // chunk).bit_length() - 1, 0)
    first = chunk.bit_length() - 1
    lines = min(8, tile[1 - mode])
    swizzle = _core.make_swizzle(chunks, first, 3)
    if bits == 64 or (bits == 32 and mode == 0):
        swizzle = _core.make_swizzle(min(2, max(chunks - 1, 0)), first + 1, max(chunks - 1, 0))
    if mode == 1:
        atom = _layout((lines, row), stride=(row, 1))
    elif bits == 8 and tile[1] % 16 == 0:  # the rows of a matrix are k = 0, 1, 4, 5, 8, 9, 12, 13: they lie together
        atom = _layout((row, (2, 2, 4)), stride=(1, (row, 8 * row, 2 * row)))
    else:
        atom = _layout((row, lines), stride=(1, row))
    order = (0, 1, 2) if mode == 0 else (1, 0, 2)
    return _core.tile_to_shape(_core.make_composed_layout(swizzle, 0, atom), (*tile, stages), order=order)


def tiled_load(dtype: Any, tile: tuple[int, int], mode: int, vector: int, threads: int, by_cp_async: bool) -> Any:
    """The tiled copy of a tile (rows, k): threads along `mode`, of `vector` elements each, then along the other.

    >>> from tilewright import Float16
    >>> print(tiled_load(Float16, (128, 32), 1, 8, 256, True).layout_tv_tiled)
    ((4,64),8):((512,1),64)
    """
    along = min(tile[mode] // vector, threads)
    across = 1  # a power of two, so that a thread's offset and what its values add to it have no bit in common
    while 2 * across * along <= threads and tile[1 - mode] % (2 * across) == 0:
        across *= 2
    atom = make_copy_atom(
        CopyG2SOp() if by_cp_async else CopyUniversalOp(), dtype, num_bits_per_copy=vector * dtype.bits
    )
    if mode == 1:
        return make_tiled_copy_tv(atom, _layout((across, along), stride=(along, 1)), _layout((1, vector)))
    return make_tiled_copy_tv(atom, _layout((along, across)), _layout((vector, 1)))


def tiled_store(rows: int, columns: int, vector: int, threads: int) -> Any:
    """(thread, value) to the coordinate (row, n) of a round of sums: neighbouring threads along n, of a vector each.

    >>> print(tiled_store(32, 256, 8, 256))
    ((32,8),(8,4)):((8@1,1@0),(1@1,8@0))
    """
    along = min(columns // vector, threads)
    across = min(threads // along, rows)
    return coordinates(
        [
            [mode for mode in group if mode[0] > 1]
            for group in (
                [(along, 0, vector), (across, 1, 0)],
                [(vector, 0, 1), (columns // vector // along, 0, along * vector), (rows // across, across, 0)],
            )
        ]
    )
