"""Apply any Python function to all elements of two matrices.

What to learn: a callable is an argument like another. It is traced into the kernel, which is compiled once for each.
"""

from __future__ import annotations

import math
import operator

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "((32,4),4):((16,1),4)"
THREADS, BYTES = (4, 32), 16


@cute.kernel
def apply_kernel(
    op: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor, cC: cute.Tensor,
    shape: cute.Shape, tv_layout: cute.Layout,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    in_row = cute.size(gC, mode=[1, 1])
    block = ((None, None), (bidx // in_row, bidx % in_row))
    tA, tB, tC, tCoord = (cute.composition(x[block], tv_layout)[tidx, None] for x in (gA, gB, gC, cC))
    last = cute.size(tCoord) - 1
    if cute.elem_less(tCoord[last], shape):
        tC.store(op(tA.load(), tB.load()))
    else:
        for i in cutlass.range_constexpr(last + 1):
            if cute.elem_less(tCoord[i], shape):
                tC[i] = op(tA[i], tB[i])


@cute.jit
def apply(op: cutlass.Constexpr, mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    width = mC.element_type.width // 8
    values = BYTES // width
    # Side by side where rows are known to begin at multiples of 16 bytes, else below each other.
    row = mC.stride[0] if isinstance(mC.stride[0], int) else 1
    vector = math.gcd(BYTES, row * width, *(x.iterator.alignment for x in (mA, mB, mC))) // width
    thr_layout = cute.make_ordered_layout(THREADS, order=(1, 0))
    val_layout = cute.make_ordered_layout((values // vector, vector), order=(1, 0))
    tiler, tv_layout = cute.make_layout_tv(thr_layout, val_layout)
    gA, gB, gC = (cute.zipped_divide(x, tiler) for x in (mA, mB, mC))
    cC = cute.zipped_divide(cute.make_identity_tensor(mC.shape), tiler)
    apply_kernel(op, gA, gB, gC, cC, mC.shape, tv_layout).launch(
        grid=[cute.size(gC, mode=[1]), 1, 1], block=[cute.size(tv_layout, mode=[0]), 1, 1]
    )


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(64, 256, device=device) for _ in range(3))
    return apply, operator.mul, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors)


def check(device: str) -> None:
    a, b = (torch.randn(70, 304, device=device)[:, :301] for _ in range(2))  # rows begin at multiples of 16 bytes
    for op in (operator.mul, lambda x, y: x * 2 - y):
        for aligned in (False, True):
            c = torch.full((70, 304), float("nan"), device=device)[:, :301]
            apply(op, *(cute.runtime.from_dlpack(x, assumed_align=16) if aligned else x for x in (a, b, c)))
            torch.testing.assert_close(c, op(a, b), rtol=0, atol=0)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
