"""Transpose a matrix through shared memory in three ways: plain, padded, swizzled.

What to learn: only the layout of the shared tile differs. Threads write rows of it and read columns, 16 bytes of global
memory at a time. Plain, lanes that read a column meet in one bank; a padding or a swizzle spreads them over all.
Rows may begin at any address: a block moves whole accesses and sectors of memory, so a row of its tile begins where one
does, up to one earlier than the tile, and it stores as much less than it loads.
"""

from __future__ import annotations

import math

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "S<3,2,7> o 0 o (64,128):(128,1)"
TILE, THREADS = (64, 128), 256  # the tile that is loaded, and threads of a block
BYTES, SECTOR = 16, 32  # of an access, and what memory writes at once
# The tile in shared memory, of which a column's accesses have so many elements, and 8 lanes read neighbouring ones.
LAYOUTS = {
    "plain": lambda m, n, vector, lanes: cute.make_layout((m, n), stride=(n, 1)),
    "padded": lambda m, n, vector, lanes: cute.make_layout(
        ((vector, m // vector), n), stride=((n, vector * n + vector), 1)
    ),
    "swizzled": lambda m, n, vector, lanes: cute.make_composed_layout(
        cute.make_swizzle(log2(lanes), log2(vector), log2(n)), 0, cute.make_layout((m, n), stride=(n, 1))
    ),
}


def log2(x: int) -> int:
    return x.bit_length() - 1


@cute.kernel
def transpose_kernel(
    src: cute.Tensor, dst: cute.Tensor, shared_layout: cute.Layout, load_tv: cute.Layout, store_tv: cute.Layout,
    steps: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, bidy, _ = cute.arch.block_idx()
    vector, passes = load_tv.shape[1:]
    sector = SECTOR * 8 // src.element_type.width
    shared = cutlass.utils.SmemAllocator().allocate_tensor(src.element_type, shared_layout, BYTES)
    # A row of dst, which is a column of the tile, may begin a sector earlier: from there on rows of src are loaded.
    m0, n0 = bidx * steps[0] - (TILE[0] - steps[0]), bidy * steps[1]
    divides = all(isinstance(x, int) and x % extent == 0 for x, extent in zip(src.shape, TILE, strict=True))
    is_whole = cutlass.const_expr(steps == TILE and divides)

    def memory(tensor):
        """All elements as they lie in memory, and the same by accesses."""
        elements = cute.make_tensor(tensor.iterator, cute.make_layout(cute.cosize(tensor.layout)))
        return elements, cute.zipped_divide(elements, (vector,))

    def begin(tensor, row, unit):
        """In which access a row begins, of those at multiples of a unit, and by how many elements behind it."""
        offset = cute.crd2idx((row, 0), tensor.layout)
        return offset // unit * (unit // vector), offset % unit

    def mine(tv_layout):
        return cute.composition(cute.make_identity_tensor(TILE), tv_layout)[tidx, None, None]

    elements, accesses = memory(src)
    at, to = mine(load_tv), cute.composition(shared, load_tv)[tidx, None, None]
    held = cute.make_rmem_tensor((vector, passes), src.element_type)
    is_held = cute.make_rmem_tensor(passes, cutlass.Boolean)
    for i in cutlass.range_constexpr(passes):
        row = m0 + at[0, i][0]
        access = begin(src, row, vector)[0] + (n0 + at[0, i][1]) // vector
        is_held[i] = is_whole or (row >= 0 and row < src.shape[0] and access < cute.size(elements) // vector)
        if is_held[i]:
            held[None, i].store(accesses[None, access].load())
    for i in cutlass.range_constexpr(passes):
        if is_held[i]:
            cute.autovec_copy(held[None, i], to[None, i])
        else:  # memory may end inside of this access
            row = m0 + at[0, i][0]
            first = n0 + at[0, i][1] - begin(src, row, vector)[1]
            for j in cutlass.range(vector, unroll=1):
                if row >= 0 and row < src.shape[0] and first + j >= 0 and first + j < src.shape[1]:
                    to[j, i] = src[row, first + j]
    cute.arch.sync_threads()

    _, accesses = memory(dst)
    at = mine(store_tv)
    for i in cutlass.range_constexpr(cute.size(at, mode=[1])):
        row, behind = n0 + at[0, i][1], m0 + (TILE[0] - steps[0]) + at[0, i][0]
        access, gap = begin(dst, row, sector)
        first = behind - gap  # the row of src whose element is the first of the access
        if is_whole or (at[0, i][0] < steps[0] and at[0, i][1] < steps[1] and row < dst.shape[0]):
            column = cute.make_rmem_tensor(vector, src.element_type)
            for j in cutlass.range_constexpr(vector):
                column[j] = shared[first + j - m0, at[0, i][1] + begin(src, first + j, vector)[1]]
            if is_whole or (first >= 0 and first + vector <= dst.shape[1]):
                accesses[None, access + behind // vector].store(column.load())
            else:
                for j in cutlass.range_constexpr(vector):
                    if first + j >= 0 and first + j < dst.shape[1]:
                        dst[row, first + j] = column[j]


@cute.jit
def transpose(src: cute.Tensor, dst: cute.Tensor, kind: cutlass.Constexpr):
    width = src.element_type.width // 8
    vector = math.gcd(BYTES, src.iterator.alignment, dst.iterator.alignment) // width

    def step(extent, pitch, unit):
        """How much of a tile's extent is stored: a unit less where the rows of memory begin inside of units."""
        return extent if isinstance(pitch, int) and pitch % unit == 0 else extent - unit

    steps = step(TILE[0], dst.stride[0], SECTOR // width), step(TILE[1], src.stride[0], vector)
    # Loads: lanes along a row of the tile. Stores: 8 lanes along a column, which write 128 bytes, and 4 along a row.
    along, down = TILE[1] // vector, TILE[0] // vector
    lanes = min(8, down)
    load_tv = cute.make_layout(
        ((along, THREADS // along), vector, TILE[0] * along // THREADS),
        stride=((vector * TILE[0], 1), TILE[0], THREADS // along),
    )
    store_tv = cute.make_layout(
        ((lanes, 32 // lanes, down // lanes, THREADS * lanes // 32 // down), vector, TILE[1] * down // THREADS),
        stride=((vector, TILE[0], lanes * vector, 32 // lanes * TILE[0]), 1, THREADS // down * TILE[0]),
    )
    transpose_kernel(src, dst, LAYOUTS[kind](*TILE, vector, lanes), load_tv, store_tv, steps).launch(
        grid=[
            cute.ceil_div(src.shape[0] + max(TILE[0] - steps[0] - 1, 0), steps[0]),
            cute.ceil_div(src.shape[1], steps[1]),
            1,
        ],
        block=[THREADS, 1, 1],
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
