"""Transpose a matrix through shared memory in three ways: plain, padded, swizzled.

What to learn: only the layout of the shared tile differs. Threads write rows of it and read columns, 16 bytes of global
memory at a time. Plain, lanes that read a column meet in one bank; a padding or a swizzle spreads them over all.
"""

from __future__ import annotations

import math

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "S<3,2,6> o 0 o (64,64):(64,1)"
THREADS, BYTES = 256, 16  # of a block, and of an access
# The tile of so many rows and columns; accesses have so many elements, and a column's lanes read so many of them.
LAYOUTS = {
    "plain": lambda tile, vector, lanes: cute.make_layout((tile, tile), stride=(tile, 1)),
    "padded": lambda tile, vector, lanes: cute.make_layout(
        ((vector, tile // vector), tile), stride=((tile, vector * tile + vector), 1)
    ),
    "swizzled": lambda tile, vector, lanes: cute.make_composed_layout(
        cute.make_swizzle(log2(lanes), log2(vector), log2(tile)), 0, cute.make_layout((tile, tile), stride=(tile, 1))
    ),
}


def log2(x: int) -> int:
    return x.bit_length() - 1


@cute.kernel
def transpose_kernel(
    src: cute.Tensor, dst: cute.Tensor, shared_layout: cute.Layout, load_tv: cute.Layout, store_tv: cute.Layout
):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    tile = (cute.size(shared_layout, mode=[0]), cute.size(shared_layout, mode=[1]))
    shared = cutlass.utils.SmemAllocator().allocate_tensor(src.element_type, shared_layout, BYTES)
    transposed = cute.make_tensor(dst.iterator, cute.select(dst.layout, [1, 0]))
    coordinates = cute.make_identity_tensor(src.shape)
    is_ragged = cutlass.const_expr(not all(isinstance(x, int) and x % tile[0] == 0 for x in src.shape))
    bits = cute.size(load_tv, mode=[1]) * src.element_type.width
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), src.element_type, num_bits_per_copy=bits)

    def mine(tensor, tv_layout):
        return cute.composition(cute.local_tile(tensor, tile, (bidx, bidy)), tv_layout)[tidx, None, None]

    def inside(tv_layout):
        if cutlass.const_expr(not is_ragged):
            return None
        first = mine(coordinates, tv_layout)[0, None]
        result = cute.make_rmem_tensor((1, cute.size(first)), cutlass.Boolean)
        for i in cutlass.range_constexpr(cute.size(first)):
            result[i] = cute.elem_less(first[i], src.shape)
        return result

    rows = cute.make_rmem_tensor(load_tv.shape[1:], src.element_type)
    cute.copy(atom, mine(src, load_tv), rows, pred=inside(load_tv))
    cute.autovec_copy(rows, cute.composition(shared, load_tv)[tidx, None, None])
    cute.arch.sync_threads()
    columns = cute.make_rmem_tensor(store_tv.shape[1:], src.element_type)
    columns.store(cute.composition(shared, store_tv)[tidx, None, None].load())
    cute.copy(atom, columns, mine(transposed, store_tv), pred=inside(store_tv))


@cute.jit
def transpose(src: cute.Tensor, dst: cute.Tensor, kind: cutlass.Constexpr):
    m, n = src.shape
    width = src.element_type.width // 8
    vector, tile = 1, 256 // width
    if cutlass.const_expr(isinstance(m, int) and isinstance(n, int)):
        vector = math.gcd(BYTES, m * width, n * width, src.iterator.alignment, dst.iterator.alignment) // width
    # Loads: lanes along a row of the tile. Stores: lanes along a column, and along the rows as many as banks are left.
    along = tile // vector
    load_tv = cute.make_layout(
        ((along, THREADS // along), vector, tile * along // THREADS),
        stride=((vector * tile, 1), tile, THREADS // along),
    )
    down, word = min(32, 128 // (vector * width)), max(1, 4 // width)
    across, warps = 32 // down * word, tile // (down * vector)
    pass_of = across * (THREADS // 32 // warps)
    store_tv = cute.make_layout(
        ((down, 32 // down, warps, THREADS // 32 // warps), vector, (word, tile // pass_of)),
        stride=((vector, word * tile, down * vector, across * tile), 1, (tile, pass_of * tile)),
    )
    transpose_kernel(src, dst, LAYOUTS[kind](tile, vector, down), load_tv, store_tv).launch(
        grid=[cute.ceil_div(m, tile), cute.ceil_div(n, tile), 1], block=[THREADS, 1, 1]
    )


def problem(device: str):
    """A small one."""
    src, dst = torch.randn(128, 256, device=device), torch.empty(256, 128, device=device)
    return transpose, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in (src, dst)), "swizzled"


def check(device: str) -> None:
    for kind in LAYOUTS:
        for dtype, m, n in (
            (torch.float32, 64, 128), (torch.float32, 68, 132), (torch.float32, 45, 101),
            (torch.bfloat16, 128, 136), (torch.bfloat16, 45, 101),
        ):  # fmt: skip
            src = torch.randn(m, n, device=device).to(dtype)
            dst = torch.full((n, m), float("nan"), device=device).to(dtype)
            transpose(*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (src, dst)), kind)
            torch.testing.assert_close(dst, src.T, rtol=0, atol=0)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
