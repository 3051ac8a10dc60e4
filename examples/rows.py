"""Softmax, RMSNorm and layer norm over the rows of a matrix.

What to learn: the mathematics is plain Python, functions of the row's elements that are summed or stored. A thread
reads its part of the row once, 16 bytes an access, and keeps it as it came: in registers, and in shared memory what is
more.
"""

from __future__ import annotations

import math

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "(16,8,8):(8,1,128)"
BYTES = 16  # of one access
PARTS = 8  # accesses of a thread, while 512 threads do for a row
HELD, KEPT = 14, 2  # of them at most in shared memory, and more in registers
BLOCK = 128  # threads of a block, where rows need fewer
LOG2_E = 1.4426950408889634


def softmax(n, total, largest):
    """exp(x - max) over its sum, as powers of two."""
    shift = largest(lambda x: x) * LOG2_E
    logarithm = shift + cute.math.log2(total(lambda x: cute.math.exp2(cute.math.fma(x, LOG2_E, -shift), fastmath=True)))
    return lambda x: cute.math.exp2(cute.math.fma(x, LOG2_E, -logarithm), fastmath=True)


def rms_norm(n, total, largest):
    """x / sqrt(mean of x^2 + eps)."""
    scale = cute.math.rsqrt(total(lambda x: x * x) / n + 1e-6)
    return lambda x: x * scale


def layer_norm(n, total, largest):
    """(x - mean) / sqrt(variance + eps)."""
    mean = total(lambda x: x) / n
    scale = cute.math.rsqrt(total(lambda x: (x - mean) * (x - mean)) / n + 1e-5)
    return lambda x: (x - mean) * scale


@cute.jit
def row_reduce(value: cutlass.Float32, op: cutlass.Constexpr, threads: cutlass.Constexpr):
    """A value of each thread reduced over the threads of its row, in all of them."""
    value = cute.arch.warp_reduction(value, op, min(threads, 32))
    warps = threads // 32
    if cutlass.const_expr(warps > 1):
        partial = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(max(BLOCK, threads) // 32))
        warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
        if lane == 0:
            partial[warp] = value
        cute.arch.sync_threads()
        value = cute.arch.warp_reduction(partial[warp // warps * warps + lane % warps], op, warps)
    else:
        cute.arch.sync_warp()
    return value


@cute.kernel
def rows_kernel(
    op: cutlass.Constexpr, src: cute.Tensor, dst: cute.Tensor, weight: cute.Tensor | None, bias: cute.Tensor | None,
    tv_layout: cute.Layout, rows: cutlass.Constexpr, atom: cute.CopyAtom,
):  # fmt: skip
    tidx, tidy, _ = cute.arch.thread_idx()
    bidx, _, _ = cute.arch.block_idx()
    m, n = src.shape
    threads, vector, count = tv_layout.shape
    row = bidx * rows + tidy

    def mine(tensor):
        return cute.composition(tensor, tv_layout)[tidx, None, None]

    tS, tD = mine(src[min(row, m - 1), None]), mine(dst[row, None])
    is_ragged = n < threads * vector * count
    inside = cute.make_rmem_tensor(1, cutlass.Boolean)  # for the last part, where the row is ragged
    inside[0] = ((count - 1) * threads + tidx) * vector < n

    # Shared memory holds the last parts of the row, registers keep those before; what is left is read again.
    held = min(count, HELD)
    kept = min(count - held, KEPT)
    row_vectors = threads * vector
    layout = cute.make_layout((vector, held, threads, rows), stride=(1, row_vectors, vector, row_vectors * held))
    shared = cutlass.utils.SmemAllocator().allocate_tensor(src.element_type, layout, BYTES)[None, None, tidx, tidy]
    registers = cute.make_rmem_tensor((vector, max(kept, 1)), src.element_type)
    parts = [tS[None, k] for k in range(count)]
    for k in cutlass.range_constexpr(count - held, count):
        part = shared[None, k - (count - held)]
        cute.copy(atom, parts[k], part, pred=inside if is_ragged and k == count - 1 else None)
        parts[k] = part
    cute.arch.cp_async_commit_group()
    for k in cutlass.range_constexpr(count - held - kept, count - held):
        part = registers[None, k - (count - held - kept)]
        cute.autovec_copy(parts[k], part)
        parts[k] = part
    cute.arch.cp_async_wait_group(0)

    def reduced(function, join, vector_op, neutral):
        values = cute.full(vector, neutral, cutlass.Float32)
        for k, part in enumerate(parts):
            x = function(part.load().to(cutlass.Float32))
            if is_ragged and k == count - 1:
                x = cute.where(inside[0], x, neutral)
            values = join(values, x)
        return row_reduce(values.reduce(vector_op, neutral, 0), join, threads)

    def total(function):
        return reduced(function, lambda a, b: a + b, cute.ReductionOp.ADD, 0.0)

    def largest(function):
        return reduced(function, cute.math.max, cute.ReductionOp.MAX, -cutlass.Float32.inf)

    result = op(cutlass.Float32(n), total, largest)
    for k in cutlass.range_constexpr(count):
        y = result(parts[k].load().to(cutlass.Float32))
        if row < m and (not is_ragged or k < count - 1 or inside[0]):
            if cutlass.const_expr(weight is not None):
                y = y * mine(weight)[None, k].load().to(cutlass.Float32)
            if cutlass.const_expr(bias is not None):
                y = y + mine(bias)[None, k].load().to(cutlass.Float32)
            tD[None, k].store(y.to(dst.element_type))


@cute.jit
def rows(
    op: cutlass.Constexpr, src: cute.Tensor, dst: cute.Tensor,
    weight: cute.Tensor | None = None, bias: cute.Tensor | None = None,
):  # fmt: skip
    m, n = src.shape
    if cutlass.const_expr(not isinstance(n, int)):
        raise ValueError(f"rows: the length of a row has to be static, but src is {src}; use from_dlpack")
    width = src.element_type.width // 8
    access = math.gcd(BYTES, n * width, src.iterator.alignment, dst.iterator.alignment)
    if cutlass.const_expr(access < 4):
        raise ValueError(f"rows: rows begin at multiples of {access} bytes, and an asynchronous copy has 4 or more")
    vector = access // width
    threads = 1
    while cutlass.const_expr(threads < 512 and n > threads * vector * PARTS):
        threads *= 2
    if cutlass.const_expr(n > threads * vector * (HELD + KEPT)):
        threads *= 2
    count = -(-n // (threads * vector))
    tv_layout = cute.make_layout((threads, vector, count), stride=(vector, 1, threads * vector))
    modes = cute.nvgpu.cpasync.LoadCacheMode
    async_copy = cute.nvgpu.cpasync.CopyG2SOp(modes.GLOBAL if access == BYTES else modes.ALWAYS)
    atom = cute.make_copy_atom(async_copy, src.element_type, num_bits_per_copy=access * 8)
    per_block = max(1, BLOCK // threads)
    rows_kernel(op, src, dst, weight, bias, tv_layout, per_block, atom).launch(
        grid=[cute.ceil_div(m, per_block), 1, 1],
        block=[threads, per_block, 1],
        min_blocks_per_mp=1024 // (threads * per_block),  # at most 64 registers a thread
    )


def expected(op, x, weight=None, bias=None):
    x = x.double()
    if op is softmax:
        result = torch.softmax(x, 1)
    elif op is rms_norm:
        result = x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6)
    else:
        result = torch.nn.functional.layer_norm(x, x.shape[1:])
    return result * (1 if weight is None else weight) + (0 if bias is None else bias)


def check(device: str) -> None:
    for op in (softmax, rms_norm, layer_norm):
        for dtype, m, n in (
            (torch.float32, 3, 1024), (torch.float32, 17, 101), (torch.float32, 2, 1237),
            (torch.bfloat16, 9, 1024), (torch.bfloat16, 3, 4098), (torch.bfloat16, 2, 65536 - 8),
            (torch.bfloat16, 1, 131072),
        ):  # fmt: skip
            src = torch.randn(m, n, device=device).to(dtype)
            dst = torch.full_like(src, float("nan"))
            scales = [torch.randn(n, device=device).to(dtype) for _ in range(2)] if n % 100 == 98 else [None, None]
            tensors = [x if x is None else cute.runtime.from_dlpack(x, assumed_align=16) for x in (src, dst, *scales)]
            rows(op, *tensors)
            tolerance = 1e-5 if dtype is torch.float32 else 1e-2
            torch.testing.assert_close(dst.double(), expected(op, src, *scales), rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
