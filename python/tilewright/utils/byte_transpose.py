"""Tiles of 8-bit elements transposed in shared memory, for wgmma, which wants both operands of 8 bits along K."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewright import _core
from tilewright.cute.atoms.copy_atom import make_copy_atom
from tilewright.cute.atoms.copy_ops import LdMatrix8x8x16bOp, StMatrix8x8x16bOp
from tilewright.cute.execute.copy import copy
from tilewright.cute.tensors.rmem import make_rmem_tensor
from tilewright.cute.tensors.tensor import recast_tensor
from tilewright.cute.vectors.choose import where
from tilewright.lang import arch
from tilewright.numeric import Uint16, Uint32

if TYPE_CHECKING:
    from tilewright.cute.tensors.tensor import Tensor

__all__ = ["transpose_bytes"]

_ROWS, _COLUMNS = 32, 32  # of the source that a warp transposes at a time
_EVEN, _ODD = 0x6420, 0x7531  # bytes of two registers


def transpose_bytes(src: Tensor, dst: Tensor, warp: Any, warps: int) -> None:
    """dst[c, j] = src[k, c] for elements of 8 bits in shared memory, by `warps` warps, of which this one is `warp`.

    src is (K, C) with neighbours along C, dst (C, K) with neighbours along K, as `make_smem_layout_b` makes them. In
    each 32 of K the order is that in which `as_operand_a` has 8-bit accumulators: j = 16 a + 4 t + 2 b + e is row
    k = 16 a + 8 b + 2 t + e, for a, b, e < 2 and t < 4. Raises ValueError unless K is a multiple of 32 and C one of 32
    for each warp.
    """
    k_extent, c_extent = (int(_core.size(src.shape[i])) for i in range(2))
    if k_extent % _ROWS or c_extent % (_COLUMNS * warps):
        raise ValueError(
            f"transpose_bytes: src has ({k_extent},{c_extent}) elements and {warps} warps; expected a multiple of "
            f"{_ROWS} rows, and of {_COLUMNS} columns for each warp"
        )
    lane = arch.lane_idx()
    load = make_copy_atom(LdMatrix8x8x16bOp(transpose=True, num_matrices=4), Uint16)
    store = make_copy_atom(StMatrix8x8x16bOp(transpose=False, num_matrices=4), Uint16)
    rows = _core.flat_divide(recast_tensor(src, Uint16), (_ROWS, 8))
    columns = _core.flat_divide(recast_tensor(dst, Uint16), (16, 8))
    # A lane names row `lane` of the source, 16 of its columns. From ldmatrix it has, in register m, columns 2p and
    # 2p + 1, p = lane / 4, of rows 8m + 2t and 8m + 2t + 1, t = lane mod 4. Two registers have four neighbours along K
    # of either column. Lanes 0 to 15 send those of the even column first, the others those of the odd one: the rows of
    # an 8 x 8 matrix then differ in their last three bits, by which the swizzle tells banks apart.
    is_early, row = lane < 16, lane % 8
    selectors = [where(is_early, Uint32(x), Uint32(y)) for x, y in ((_EVEN, _ODD), (_ODD, _EVEN))]
    first = 2 * row + row // 4
    places = [first, first + 1 - 2 * (row // 4)]
    for k in range(k_extent // _ROWS):
        for part in range(c_extent // (_COLUMNS * warps)):
            block = 2 * (part * warps + warp)
            held = [make_rmem_tensor(8, Uint16) for _ in range(2)]
            for i in range(2):
                copy(load, rows[lane, None, k, block + i], held[i])
            words = [recast_tensor(x, Uint32) for x in held]
            for selector, place in zip(selectors, places, strict=True):
                sent = make_rmem_tensor(8, Uint16)
                to = recast_tensor(sent, Uint32)
                for i in range(2):
                    for half in range(2):
                        to[2 * i + half] = arch.prmt(words[i][2 * half], words[i][2 * half + 1], selector)
                copy(store, sent, columns[place, None, block + lane // 16, 2 * k + lane // 8 % 2])
