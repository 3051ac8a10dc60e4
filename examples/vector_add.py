"""Add two vectors of any length.

What to learn: zipped_divide cuts a tensor into tiles, a TV layout gives each thread its part of a tile, and coordinates
beside the data say which elements of the last tile are there. A thread has 16 bytes of each vector, side by side where
the alignment is known to allow one access.
"""

from __future__ import annotations

import math

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "(128,4):(4,1)"
THREADS, BYTES = 128, 16


@cute.kernel
def add_kernel(tA: cute.Tensor, tB: cute.Tensor, tC: cute.Tensor, tCoord: cute.Tensor, n: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    thread = ((tidx, None), bidx)
    a, b, c, coord = tA[thread], tB[thread], tC[thread], tCoord[thread]
    last = cute.size(coord) - 1
    if coord[last] < n:
        c.store(a.load() + b.load())
    else:
        for i in cutlass.range_constexpr(last + 1):
            if coord[i] < n:
                c[i] = a[i] + b[i]


@cute.jit
def add(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    width = mC.element_type.width // 8
    values = BYTES // width
    vector = math.gcd(BYTES, *(x.iterator.alignment for x in (mA, mB, mC))) // width
    tv_layout = cute.make_layout((THREADS, (vector, values // vector)), stride=(vector, (1, THREADS * vector)))
    tile = cute.make_layout(THREADS * values)
    coordinates = cute.make_identity_tensor(cute.size(mA))
    parts = [cute.composition(cute.zipped_divide(x, tile), (tv_layout, None)) for x in (mA, mB, mC, coordinates)]
    blocks = cute.ceil_div(cute.size(mC), THREADS * values)
    add_kernel(*parts, cute.size(mC)).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(4096, device=device) for _ in range(3))
    return add, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors)


def check(device: str) -> None:
    for n in (1, 511, 512, 4099):
        a, b = torch.randn(n, device=device), torch.randn(n, device=device)
        for aligned in (False, True):
            c = torch.full((n,), float("nan"), device=device)
            tensors = [a, b, c]
            if aligned:
                tensors = [cute.runtime.from_dlpack(x, assumed_align=16).mark_layout_dynamic() for x in tensors]
            add(*tensors)
            torch.testing.assert_close(c, a + b, rtol=0, atol=0)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
