"""Kernels that multiply by mma.sync, for the tests of the language: one tile, and tiles through shared memory."""

from __future__ import annotations

import numpy as np

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import warp

# What elements are kept as where NumPy lacks their type.
KEPT = {
    cutlass.BFloat16: np.uint16,
    cutlass.Float8E4M3FN: np.uint8,
    cutlass.Float8E5M2: np.uint8,
    cutlass.TFloat32: np.float32,
}


@cute.kernel
def tile_kernel(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor, tiled_mma: cute.TiledMma):
    """D = A B^T + C of one tile: each thread reads its elements from global memory."""
    tidx, _, _ = cute.arch.thread_idx()
    thread = tiled_mma.get_slice(tidx)
    tA, tB, tC, tD = thread.partition_A(mA), thread.partition_B(mB), thread.partition_C(mC), thread.partition_C(mD)
    rA = tiled_mma.make_fragment_A(tA)
    rB = tiled_mma.make_fragment_B(tB)
    rC = tiled_mma.make_fragment_C(tC)
    rD = cute.make_fragment_like(rC)
    for src, dst in ((tA, rA), (tB, rB), (tC, rC)):
        cute.autovec_copy(src, dst)
    cute.gemm(tiled_mma, rD, rA, rB, rC)
    cute.autovec_copy(rD, tD)


@cute.jit
def tile(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, mD: cute.Tensor, tiled_mma: cute.TiledMma):
    tile_kernel(mA, mB, mC, mD, tiled_mma).launch(block=[tiled_mma.size, 1, 1])


def tensor(array, dtype):
    """A view of an array as elements of a type."""
    found = cute.from_dlpack(array, assumed_align=16)
    return found if found.element_type is dtype else cute.recast_tensor(found, dtype)


def elements(rng, shape, dtype):
    """(an array of random elements of a type, what they are as doubles)"""
    if dtype in (cutlass.Int8, cutlass.Uint8, cutlass.Int32):
        low, high = {cutlass.Int8: (-128, 128), cutlass.Uint8: (0, 256)}.get(dtype, (-(2**31), 2**31))
        values = rng.integers(low, high, shape)
        return values.astype(dtype.numpy), values
    values = rng.normal(size=shape)
    if dtype is cutlass.TFloat32:
        kept = values.astype(np.float32)  # the instruction cuts off what it does not read
        return kept, (kept.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32).astype(np.float64)
    kept = nearest(values, dtype)
    return kept, np.asarray(tensor(kept, dtype)._elements(), np.float64).reshape(shape, order="F")


def nearest(values, dtype):
    """The bits of the elements next to doubles; Tensor.store rounds one at a time and takes over 100 times as long."""
    if dtype.numpy is not None:
        return values.astype(dtype.numpy)
    if dtype is cutlass.BFloat16:  # the upper half of a float32
        bits = values.astype(np.float32).view(np.uint32)
        return (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)
    numbers = np.array([dtype._decode(bits) for bits in range(256)])
    order = np.argsort(numbers)
    order = order[np.isfinite(numbers[order])]
    between = (numbers[order][1:] + numbers[order][:-1]) / 2
    return order[np.searchsorted(between, values)].astype(np.uint8)


# ---- matrices between shared memory and registers --------------------------------------------------------------------


PLAIN, SWIZZLED = cute.make_swizzle(0, 3, 3), cute.make_swizzle(2, 3, 3)
FORMS = [(n, transpose) for n in (1, 2, 4) for transpose in (False, True)]


def copies(matrices, transpose):
    """Tiled copies of two warps by ldmatrix and by stmatrix: of (16, 8 * matrices) elements, 8 rows a warp."""
    # A lane has neighbours along mode 1, in which ldmatrix reads rows; those along mode 0 it transposes.
    layout = cute.make_layout(((4, 8, 2), (2, matrices)), stride=((32, 1, 8), (16, 128)))
    atoms = (op(transpose, matrices) for op in (warp.LdMatrix8x8x16bOp, warp.StMatrix8x8x16bOp))
    return [cute.make_tiled_copy(cute.make_copy_atom(op, cutlass.Float16), layout, (16, 8 * matrices)) for op in atoms]


@cute.kernel
def through_matrices_kernel(
    src: cute.Tensor, dst: cute.Tensor, layout: cute.Layout, load: cute.TiledCopy, store: cute.TiledCopy
):
    """src to shared memory, to registers by `load`, to shared memory by `store`, to dst."""
    tidx, _, _ = cute.arch.thread_idx()
    storage = cutlass.utils.SmemAllocator()
    first = storage.allocate_tensor(src.element_type, layout, 128)
    second = storage.allocate_tensor(src.element_type, layout, 128)
    threads = load.size
    for i in cutlass.range(tidx, cute.size(src), threads):
        first[i] = src[i]
    cute.arch.sync_threads()
    tS = load.get_slice(tidx).partition_S(first)
    tR = cute.make_fragment_like(load.get_slice(tidx).partition_D(second), src.element_type)
    cute.copy(load, tS, tR)
    cute.copy(store, store.retile(tR), store.get_slice(tidx).partition_D(second))
    cute.arch.sync_threads()
    for i in cutlass.range(tidx, cute.size(src), threads):
        dst[i] = second[i]


@cute.jit
def through_matrices(
    src: cute.Tensor, dst: cute.Tensor, layout: cute.Layout, load: cute.TiledCopy, store: cute.TiledCopy
):
    through_matrices_kernel(src, dst, layout, load, store).launch(block=[load.size, 1, 1])


# ---- a product through shared memory, with defects that can be planted -----------------------------------------------


@cute.kernel
def staged_kernel(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, swizzle: cutlass.Constexpr, defect: cutlass.Constexpr
):
    tidx, _, _ = cute.arch.thread_idx()
    storage = cutlass.utils.SmemAllocator()
    layout = cute.make_composed_layout(swizzle, 0, cute.make_layout((32, 32), stride=(32, 1)))
    sA = storage.allocate_tensor(cutlass.BFloat16, layout, 128)
    sB = storage.allocate_tensor(cutlass.BFloat16, layout, 128)
    copy = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.BFloat16, num_bits_per_copy=128),
        cute.make_layout((16, 4), stride=(4, 1)),
        cute.make_layout((1, 8)),
    ).get_slice(tidx)
    tiled_mma = cute.make_tiled_mma(
        warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16)), (2, 1, 1), (32, 16, 16)
    )
    thread = tiled_mma.get_slice(tidx)
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(num_matrices=4), cutlass.BFloat16)
    load_A = cute.make_tiled_copy_A(atom, tiled_mma)
    load_B = cute.make_tiled_copy_B(atom, tiled_mma)
    rA = tiled_mma.make_fragment_A(thread.partition_A(sA))
    rB = tiled_mma.make_fragment_B(thread.partition_B(sB))
    tC = thread.partition_C(mC)
    rC = tiled_mma.make_fragment_C(tC)
    rC.fill(0.0)
    tiles = cute.size(mA, mode=[1]) // 32
    for k in cutlass.range(tiles):
        cute.copy(copy, copy.partition_S(cute.local_tile(mA, (32, 32), (0, k))), copy.partition_D(sA))
        cute.copy(copy, copy.partition_S(cute.local_tile(mB, (32, 32), (0, k))), copy.partition_D(sB))
        cute.arch.cp_async_commit_group()
        if cutlass.const_expr(defect != "no wait"):
            cute.arch.cp_async_wait_group(0)
        if cutlass.const_expr(defect != "no barrier before"):
            cute.arch.sync_threads()
        cute.copy(load_A, load_A.get_slice(tidx).partition_S(sA), load_A.retile(rA))
        if cutlass.const_expr(defect == "divergent ldmatrix"):
            if tidx % 32 < 24:
                cute.copy(load_B, load_B.get_slice(tidx).partition_S(sB), load_B.retile(rB))
        else:
            cute.copy(load_B, load_B.get_slice(tidx).partition_S(sB), load_B.retile(rB))
        if cutlass.const_expr(defect == "divergent mma"):
            if tidx % 32 != 5:
                cute.gemm(tiled_mma, rC, rA, rB, rC)
        else:
            cute.gemm(tiled_mma, rC, rA, rB, rC)
        if cutlass.const_expr(defect != "no barrier behind"):
            cute.arch.sync_threads()
    cute.autovec_copy(rC, tC)


@cute.jit
def staged(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, swizzle: cutlass.Constexpr, defect: cutlass.Constexpr):
    staged_kernel(mA, mB, mC, swizzle, defect).launch(block=[64, 1, 1])
