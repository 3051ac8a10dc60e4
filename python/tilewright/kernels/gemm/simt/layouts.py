"""The layouts of gemm_simt: who multiplies which rows and columns, who brings which elements, shared memory.

A warp has 8 lanes along M and 4 along N, and every thread a few neighbours at a time: 4 rows of A are one access of 16
bytes. Bits 1 to 3 of the lane count along M, bits 0 and 4 along N, so that among any two neighbouring lanes, and among
any two lanes that are two apart, one pair reads the same address: shared memory then serves 16 lanes at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tilewright import _core
from tilewright._core import LayoutError
from tilewright.cute.int_tuple import text

if TYPE_CHECKING:
    from tilewright.cute.tiled.tiled_copy import TiledCopy
    from tilewright.cute.tiled.tiled_mma import TiledMma

ACCESS = 16  # bytes of the widest access
SECTOR = 32  # bytes that global memory gives at once
LANES_M = 8
LANES_N = 4


class SimtTile(NamedTuple):
    """A CTA's warps along M and N, and the groups of neighbours that a thread has along M and N.

    `ctas` share a multiprocessor, which bounds the registers; `rate` is the part of the multiprocessor's peak that is
    expected of them on large problems. `sliced_k` times as many warps share the steps along K. With `stages`, so many
    tiles along K are under way at a time, brought element by element by cp.async. `straight` is what the rate gains
    where one operand need not be turned on its way, and where both need not.
    """

    warps_m: int
    warps_n: int
    groups_m: int
    groups_n: int
    ctas: int
    rate: float
    sliced_k: int = 1
    stages: int = 0
    straight: tuple[float, float] = (0.0, 0.0)

    @property
    def threads(self) -> int:
        return 32 * self.warps_m * self.warps_n * self.sliced_k

    def sums(self, width: int) -> int:
        """Those of a thread, where a group has `width` neighbours.

        >>> SimtTile(2, 2, 2, 4, 2, 0.9).sums(4)
        128
        """
        return width * self.groups_m * width * self.groups_n

    def extents(self, width: int) -> tuple[int, int]:
        """The tile (bM, bN) where a group has `width` neighbours.

        >>> SimtTile(2, 2, 2, 4, 2, 0.9).extents(4)
        (128, 128)
        """
        return LANES_M * width * self.groups_m * self.warps_m, LANES_N * width * self.groups_n * self.warps_n


def make_simt_mma(op: Any, tile: SimtTile, width: int) -> TiledMma:
    """The TiledMma of a tile, whose permutation gives every thread `width` neighbours at a time.

    >>> from tilewright import Float32, cute
    >>> mma = make_simt_mma(cute.nvgpu.MmaUniversalOp(Float32), SimtTile(2, 2, 2, 4, 2, 0.9), 4)
    >>> print(mma.thr_layout_vmnk)
    (1,(8,2),(2,2,2),1):(0,(2,32),(1,16,64),0)
    >>> print(*mma.permutation_mnk[:2])
    ((8,2),(4,2)):((4,64),(1,32)) ((4,2),(4,4)):((4,64),(1,16))
    """
    from tilewright.cute.tiled.make_tiled_mma import make_tiled_mma

    warps = tile.warps_m * tile.warps_n
    atoms = _core.make_layout(
        ((LANES_M, tile.warps_m), (2, 2, tile.warps_n), tile.sliced_k),
        stride=((2, 32), (1, 16, 32 * tile.warps_m), 32 * warps if tile.sliced_k > 1 else 0),
    )

    def order(lanes: int, warps: int, groups: int) -> Any:
        step = lanes * width  # from one group of a thread to the next
        return _core.make_layout(((lanes, warps), (width, groups)), stride=((width, step * groups), (1, step)))

    permutation = (
        order(LANES_M, tile.warps_m, tile.groups_m),
        order(LANES_N, tile.warps_n, tile.groups_n),
        None,
    )
    return make_tiled_mma(op, atoms, permutation)


def make_simt_copy(
    dtype: Any, tile: tuple[int, int], threads: int, mode: int, vector: int, by_cp_async: bool
) -> TiledCopy:
    """The TiledCopy that brings a tile (rows, k) to shared memory by accesses of `vector` elements along a mode.

    Along the rows, neighbouring threads take neighbouring accesses. Along k, a sector of a row (32 bytes) goes to
    neighbouring threads, and the other lanes take further rows.

    >>> from tilewright import Float32
    >>> make_simt_copy(Float32, (128, 8), 128, 0, 4, True).layout_tv_tiled
    (128,4):(4,1)
    >>> make_simt_copy(Float32, (128, 8), 128, 1, 4, False).layout_tv_tiled
    ((2,64),4):((256,1),64)
    """
    from tilewright.cute.atoms.copy_atom import make_copy_atom
    from tilewright.cute.atoms.copy_ops import CopyUniversalOp
    from tilewright.cute.nvgpu.cpasync import CopyG2SOp
    from tilewright.cute.tiled.make_tiled_copy import make_tiled_copy_tv

    rows, depth = tile
    bytes_of = dtype.bits // 8
    op = CopyG2SOp() if by_cp_async else CopyUniversalOp()
    atom = make_copy_atom(op, dtype, num_bits_per_copy=vector * dtype.bits)
    if mode == 0:
        across = min(math.gcd(rows // vector, threads), max(32, threads // depth))
        deep = min(threads // across, depth)
        return make_tiled_copy_tv(atom, _core.make_layout((across, deep)), _core.make_layout((vector, 1)))
    deep = min(max(SECTOR // (vector * bytes_of), 1), depth // vector)
    across = min(threads // deep, rows)
    layout = _core.make_layout((across, deep), stride=(deep, 1))
    return make_tiled_copy_tv(atom, layout, _core.make_layout((1, vector), stride=(vector, 1)))


def make_simt_smem(tile: tuple[int, int], stages: int, dtype: Any, mode: int) -> Any:
    """Shared memory of an operand: rows next to each other, padded by 16 bytes where they come along k.

    The padding is what keeps lanes that have different k in different banks, and fragments aligned.

    >>> from tilewright import Float32
    >>> print(make_simt_smem((128, 8), 3, Float32, 0), make_simt_smem((128, 8), 2, Float32, 1))
    (128,8,3):(1,128,1024) (128,8,2):(1,132,1056)
    """
    rows, depth = tile
    padding = ACCESS * 8 // dtype.bits
    pitch = rows + (padding if mode == 1 else 0)
    return _core.make_layout((rows, depth, stages), stride=(1, pitch, pitch * depth))


def make_simt_image(tile: tuple[int, int], sliced_k: int, dtype: Any) -> Any:
    """Shared memory of the sums (row, column, slice): columns next to each other, rows padded by 16 bytes.

    >>> from tilewright import Float32
    >>> print(make_simt_image((64, 64), 4, Float32))
    (64,64,4):(68,1,4352)
    """
    rows, columns = tile
    pitch = columns + ACCESS * 8 // dtype.bits
    return _core.make_layout((rows, columns, sliced_k), stride=(pitch, 1, pitch * rows))


# ---- what the kernel gets ----


def store_tv(tile: tuple[int, int], threads: int, mode: int, vector: int) -> Any:
    """(thread, value) to the (row, column) that a thread writes: neighbouring threads write along the mode.

    >>> print(store_tv((64, 64), 256, 1, 4), store_tv((64, 64), 32, 1, 1))
    ((16,16),(4,4)):((4@1,1@0),(1@1,16@0)) ((32),(2,64)):((1@1),(32@1,1@0))
    """
    along, other = _core.E(mode), _core.E(1 - mode)
    accesses, lines = tile[mode] // vector, tile[1 - mode]
    threads = min(threads, accesses * lines)
    across = min(accesses, threads)
    down = threads // across
    if tile[mode] % vector or accesses % across or threads % across or lines % down:
        raise LayoutError(
            f"GemmSimt: {threads} threads do not divide the tile {text(tile)} of C with {vector} elements for each; "
            "use smem_c=None, or a tile that they divide"
        )
    thread = [(across, vector * along), (down, 1 * other)]
    value = [(vector, 1 * along), (accesses // across, vector * across * along), (lines // down, down * other)]

    def made(modes: list[tuple[int, Any]]) -> Any:
        kept = [x for x in modes if x[0] > 1] or [(1, 0)]
        return _core.make_layout(tuple(x[0] for x in kept), stride=tuple(x[1] for x in kept))

    return _core.make_layout([made(thread), made(value)])


def copy_tv(tiled_copy: TiledCopy, tile: tuple[int, int]) -> tuple[Any, int]:
    """(thread, value) to the coordinate (row, k) of a tile, the values of one call of the atom first; their number.

    >>> from tilewright import Float32
    >>> print(*copy_tv(make_simt_copy(Float32, (128, 8), 128, 0, 4, True), (128, 8)))
    ((32,4),(4,2)):((4@0,1@1),(1@0,4@1)) 4
    """
    identity = _core.make_layout(tile, stride=(1 * _core.E(0), 1 * _core.E(1)))
    threads, (call, calls), rest = (tiled_copy.tidfrg_S(identity)[mode] for mode in range(3))
    values = _core.make_layout([call, calls, *(rest[mode] for mode in range(_core.rank(rest)))])
    return _core.make_layout([_squeezed(threads), _squeezed(values)]), int(_core.size(call))


def _squeezed(layout: Any) -> Any:
    """A flat layout without modes of extent 1."""
    flat = _core.flatten(layout)
    modes = [flat[mode] for mode in range(_core.rank(flat)) if int(_core.size(flat, mode=[mode])) > 1]
    return _core.make_layout(modes) if modes else _core.make_layout((1,), stride=(0,))


def mma_rows(tiled_mma: TiledMma, tile: tuple[int, int], mode: int) -> Any:
    """(thread, value) to the row (mode 0) or column (mode 1) of the tile (bM, bN) that a thread computes.

    >>> from tilewright import Float32, cute
    >>> mma = make_simt_mma(cute.nvgpu.MmaUniversalOp(Float32), SimtTile(2, 2, 2, 4, 2, 0.9), 4)
    >>> print(mma_rows(mma, (128, 128), 0), mma_rows(mma, (128, 128), 1))
    ((2,8,2,2,2),(4,2)):((0,4,0,64,0),(1,32)) ((2,8,2,2,2),(4,4)):((4,0,8,0,64),(1,16))
    """
    parts = tiled_mma.thrfrg_C(_core.make_layout(tile, stride=(1, 0) if mode == 0 else (0, 1)))
    threads = tiled_mma.thr_layout_vmnk
    place_of = _core.right_inverse(_core.make_layout([threads, _core.complement(threads)]))
    of_place = parts[0]
    if (sliced_k := int(_core.size(threads, mode=[3]))) > 1:  # atoms along K have the same rows and columns
        of_place = _core.make_layout([of_place, _core.make_layout(sliced_k, stride=0)])
    of_thread = _core.coalesce(_core.composition(of_place, place_of))
    return _core.make_layout([_flat(of_thread), _flat(_core.coalesce(parts[1][1][mode]))])


def _flat(layout: Any) -> Any:
    return layout if isinstance(layout.shape, tuple) else _core.make_layout((layout.shape,), stride=(layout.stride,))


def neighbours(rows: Any, most: int) -> int:
    """How many values of every thread are neighbours, beginning at a multiple of their number; a power of two.

    >>> neighbours(_core.parse("((2,16),(4,2)):((0,4),(1,64))"), 4)
    4
    >>> neighbours(_core.parse("((16,16),8):((0,1),16)"), 4)
    1
    """
    threads, values = (int(_core.size(rows, mode=[mode])) for mode in (0, 1))
    offsets = rows.offsets()  # of the threads' first values, then of their second ones
    of_thread, of_value = offsets[:threads], offsets[::threads].tolist()

    def together(width: int) -> bool:
        starts = of_value[::width]
        return (
            values % width == 0
            and of_value == [start + i for start in starts for i in range(width)]
            and not any(start % width for start in starts)
            and not (of_thread % width).any()
        )

    width = 1
    while 2 * width <= most and together(2 * width):
        width *= 2
    return width


def require_linear(name: str, smem: Any, tile: tuple[int, int], stages: int) -> tuple[int, int, int]:
    """The strides of a shared-memory layout (rows, k, stages); LayoutError where the kernel cannot use it."""
    shape, stride = smem.shape, smem.stride
    wanted = (*tile, stages)
    flat = isinstance(smem, _core.Layout) and isinstance(shape, tuple) and _core.depth(shape) == 1
    if not flat or tuple(map(int, shape)) != wanted or any(int(d) < 0 for d in stride):
        raise LayoutError(
            f"GemmSimt: {name} is {smem}, but gemm_simt takes a Layout of three plain modes, (rows, k, stages) = "
            f"{text(wanted)}, with strides from 0 on"
        )
    stage = _core.make_layout(tuple(shape[:2]), stride=tuple(stride[:2]))
    if not _core.is_injective(stage) or int(stride[2]) < int(_core.cosize(stage)):
        raise LayoutError(
            f"GemmSimt: in {name}, {smem}, elements lie on top of each other; use strides such that a stage of "
            f"{int(_core.cosize(stage))} elements ends before the next one begins"
        )
    row, k, step = map(int, stride)
    return row, k, step
