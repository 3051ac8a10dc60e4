"""Kernels that multiply by wgmma, for the tests of the language: a tile through shared memory, with planted defects."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import warpgroup


@cute.kernel
def tile_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor, sA_layout: cutlass.Constexpr,
    sB_layout: cutlass.Constexpr, tiled_mma: cute.TiledMma, accumulate: cutlass.Constexpr, defect: cutlass.Constexpr,
):  # fmt: skip
    """D = A B^T, or C + A B^T: A and B lie in shared memory as the layouts say, or A goes to registers."""
    tidx, _, _ = cute.arch.thread_idx()
    threads = tiled_mma.size
    storage = cutlass.utils.SmemAllocator()
    sA = storage.allocate_tensor(mA.element_type, sA_layout, 1024)
    sB = storage.allocate_tensor(mB.element_type, sB_layout, 1024)
    for shared, tensor in ((sA, mA), (sB, mB)):
        for i in cutlass.range(tidx, cute.size(tensor), threads):
            shared[i] = tensor[i]
    if cutlass.const_expr(defect != "no proxy fence"):
        cute.arch.fence_proxy("async.shared", space="cta")
    if cutlass.const_expr(defect != "no barrier"):
        cute.arch.sync_threads()
    thread = tiled_mma.get_slice(tidx)
    tC, tD = thread.partition_C(mC), thread.partition_C(mD)
    rC = tiled_mma.make_fragment_C(tC)
    if cutlass.const_expr(tiled_mma.op.a_src is warpgroup.OperandSource.RMEM):
        tA = thread.partition_A(sA)
        rA = tiled_mma.make_fragment_A(tA)
        cute.autovec_copy(tA, rA)
    else:
        rA = tiled_mma.make_fragment_A(thread.partition_A(sA))
    rB = tiled_mma.make_fragment_B(thread.partition_B(sB))
    if cutlass.const_expr(accumulate):
        cute.autovec_copy(tC, rC)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, accumulate)
    if cutlass.const_expr(defect != "no fence"):
        warpgroup.fence()
    for k in cutlass.range_constexpr(cute.size(rB, mode=[2])):
        cute.gemm(tiled_mma, rC, rA[None, None, k], rB[None, None, k], rC)
        tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    if cutlass.const_expr(defect == "touched in between"):
        rC[0] = rC[0]
    if cutlass.const_expr(defect == "a written"):
        rA[0] = rA[0]
    if cutlass.const_expr(defect == "overwritten"):
        sB[tidx] = mB[tidx]
    if cutlass.const_expr(defect != "no commit"):
        warpgroup.commit_group()
    warpgroup.wait_group(1 if cutlass.const_expr(defect == "waits too little") else 0)
    if cutlass.const_expr(defect == "no second fence"):
        rC.store(rC.load())
        cute.gemm(tiled_mma, rC, rA[None, None, 0], rB[None, None, 0], rC)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
    cute.autovec_copy(rC, tD)


@cute.jit
def tile(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor, sA_layout: cutlass.Constexpr,
    sB_layout: cutlass.Constexpr, tiled_mma: cute.TiledMma, accumulate: cutlass.Constexpr, defect: cutlass.Constexpr,
):  # fmt: skip
    tile_kernel(mA, mB, mC, mD, sA_layout, sB_layout, tiled_mma, accumulate, defect).launch(
        block=[tiled_mma.size, 1, 1]
    )


def smem_layouts(op, m, n, k, span=None):
    """Those of A (m, k) and B (n, k), with the widest swizzle that fits or the span in bytes."""
    layouts = []
    for extent, mode, dtype in ((m, op.a_major_mode, op.a_dtype), (n, op.b_major_mode, op.b_dtype)):
        along_k = mode is warpgroup.OperandMajorMode.K
        size = (k if along_k else extent) * dtype.bits // 8
        chosen = span or next(s for s in (128, 64, 32, 16) if size % s == 0)
        name = f"{'K' if along_k else 'MN'}_{'INTER' if chosen == 16 else f'SW{chosen}'}"
        atom = warpgroup.make_smem_layout_atom(getattr(warpgroup.SmemLayoutAtomKind, name), dtype)
        layouts.append(cute.tile_to_shape(atom, (extent, k), (0, 1) if along_k else (1, 0)))
    return layouts
