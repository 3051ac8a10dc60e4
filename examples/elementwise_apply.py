"""Apply any Python function to all elements of two matrices.

What to learn: a callable is an argument like another. It is traced into the kernel, which is compiled once for each.
"""

from __future__ import annotations

import operator

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "((32,4),(4,4)):((16,4),(4,1))"


@cute.kernel
def apply_kernel(
    op: cutlass.Constexpr, gA: cute.Tensor, gB: cute.Tensor, gC: cute.Tensor, cC: cute.Tensor,
    shape: cute.Shape, tv_layout: cute.Layout,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    block = ((None, None), bidx)
    tA, tB, tC, tCoord = (cute.composition(x[block], tv_layout)[tidx, None] for x in (gA, gB, gC, cC))
    inside = cute.make_rmem_tensor(tCoord.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(inside)):
        inside[i] = cute.elem_less(tCoord[i], shape)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), gA.element_type)
    a, b, c = (cute.make_fragment_like(x) for x in (tA, tB, tC))
    cute.copy(atom, tA, a, pred=inside)
    cute.copy(atom, tB, b, pred=inside)
    c.store(op(a.load(), b.load()))
    cute.copy(atom, c, tC, pred=inside)


@cute.jit
def apply(op: cutlass.Constexpr, mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    thr_layout = cute.make_ordered_layout((4, 32), order=(1, 0))
    val_layout = cute.make_ordered_layout((4, 4), order=(1, 0))
    tiler, tv_layout = cute.make_layout_tv(thr_layout, val_layout)
    gA, gB, gC = (cute.zipped_divide(x, tiler) for x in (mA, mB, mC))
    cC = cute.zipped_divide(cute.make_identity_tensor(mC.shape), tiler)
    apply_kernel(op, gA, gB, gC, cC, mC.shape, tv_layout).launch(
        grid=[cute.size(gC, mode=[1]), 1, 1], block=[cute.size(tv_layout, mode=[0]), 1, 1]
    )


def check(device: str) -> None:
    a, b = torch.randn(70, 301, device=device), torch.randn(70, 301, device=device)
    for op in (operator.mul, lambda x, y: x * 2 - y):
        c = torch.full_like(a, float("nan"))
        apply(op, a, b, c)
        torch.testing.assert_close(c, op(a, b), rtol=0, atol=0)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
