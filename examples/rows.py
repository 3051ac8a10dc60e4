"""Softmax, RMSNorm and layer norm over the rows of a matrix.

What to learn: the mathematics is plain Python, functions of the row's elements that are summed or stored. A row is read
once, 16 bytes an access, all of it on its way before the first element is needed, and stays on the chip as it came.
"""

from __future__ import annotations

import math

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "(16,8,8):(8,1,128)"
BYTES = 16  # of one access
PARTS = 8  # accesses of a thread, as long as 512 threads are enough for a row
HELD, KEPT = 14, 2  # how many of them shared memory holds at most, and how many more registers keep
BLOCK = 128  # threads of a block that has several rows
LOG2_E = 1.4426950408889634
LOWEST = -2.0e38  # in place of -inf, from which nothing can be subtracted


# An operation reduces a row, and gives the function of its elements that is stored. `fold(step, *state)` is a thread's
# state after step(x, *state) for all of its elements, some at a time. `total` and `largest` join a number of each
# thread.


def sum_of(function, fold):
    (sums,) = fold(lambda x, sums: (sums + function(x),), 0.0)
    return sums.reduce(cute.ReductionOp.ADD, 0.0, 0)


def power(x, shift):
    """exp(x) / 2^shift."""
    return cute.math.exp2(cute.math.fma(x, LOG2_E, -shift), fastmath=True)


def softmax(n, fold, total, largest):
    """exp(x - max) over its sum; a thread finds both in one pass."""

    def step(x, shift, sums):
        after = cute.math.max(shift, x.reduce(cute.ReductionOp.MAX, LOWEST, 0) * LOG2_E)
        fewer = sums * cute.math.exp2(shift - after, fastmath=True)
        return after, fewer + power(x, after).reduce(cute.ReductionOp.ADD, 0.0, 0)

    own, sums = fold(step, cutlass.Float32(LOWEST), cutlass.Float32(0.0))
    shift = largest(own)
    sums = total(sums * cute.math.exp2(own - shift, fastmath=True))
    logarithm = shift + cute.math.log2(sums)
    return lambda x: power(x, logarithm)


def rms_norm(n, fold, total, largest):
    """x / sqrt(mean of x^2 + eps)."""
    scale = cute.math.rsqrt(total(sum_of(lambda x: x * x, fold)) / n + 1e-6)
    return lambda x: x * scale


def layer_norm(n, fold, total, largest):
    """(x - mean) / sqrt(variance + eps)."""
    mean = total(sum_of(lambda x: x, fold)) / n
    scale = cute.math.rsqrt(total(sum_of(lambda x: (x - mean) * (x - mean), fold)) / n + 1e-5)
    return lambda x: (x - mean) * scale


@cute.jit
def row_reduce(value: cutlass.Float32, op: cutlass.Constexpr, threads: cutlass.Constexpr):
    """A value of each thread reduced over the threads of its row, in all of them."""
    value = cute.arch.warp_reduction(value, op, min(threads, 32))
    warps = threads // 32
    if cutlass.const_expr(warps > 1):
        partial = cutlass.utils.SmemAllocator().allocate_tensor(
            cutlass.Float32, cute.make_layout(max(BLOCK, threads) // 32)
        )
        warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
        if lane == 0:
            partial[warp] = value
        cute.arch.sync_threads()
        value = cute.arch.warp_reduction(partial[warp // warps * warps + lane % warps], op, warps)
    else:
        cute.arch.sync_warp()  # behind any barrier the row is read again, rather than kept in more registers
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
        cute.arch.cp_async_commit_group()
        parts[k] = part
    for k in cutlass.range_constexpr(count - held - kept, count - held):
        part = registers[None, k - (count - held - kept)]
        cute.autovec_copy(parts[k], part)
        parts[k] = part
    awaited = set()

    def elements(k):
        """Part k as numbers. The first time it is needed, those behind it may be on their way still."""
        if k >= count - held and k not in awaited:
            cute.arch.cp_async_wait_group(count - 1 - k)
            awaited.add(k)
        return parts[k].load().to(cutlass.Float32)

    def fold(step, *state):
        for k in cutlass.range_constexpr(count):
            after = step(elements(k), *state)
            if is_ragged and k == count - 1:
                after = [cute.where(inside[0], x, y) for x, y in zip(after, state, strict=True)]
            state = after
        return state

    def total(value):
        return row_reduce(value, lambda a, b: a + b, threads)

    def largest(value):
        return row_reduce(value, cute.arch.fmax, threads)

    result = op(cutlass.Float32(n), fold, total, largest)

    def store(k):
        y = result(elements(k))
        if cutlass.const_expr(weight is not None):
            y = y * mine(weight)[None, k].load().to(cutlass.Float32)
        if cutlass.const_expr(bias is not None):
            y = y + mine(bias)[None, k].load().to(cutlass.Float32)
        tD[None, k].store(y.to(dst.element_type))

    if rows == 1 or row < m:
        for k in cutlass.range_constexpr(count - is_ragged):
            store(k)
        if is_ragged and inside[0]:
            store(count - 1)


@cute.jit
def rows(
    op: cutlass.Constexpr, src: cute.Tensor, dst: cute.Tensor,
    weight: cute.Tensor | None = None, bias: cute.Tensor | None = None,
):  # fmt: skip
    m, n = src.shape
    lengths = (n, src.stride[0], dst.stride[0])
    if cutlass.const_expr(not all(isinstance(x, int) for x in lengths)):
        raise ValueError(f"rows: length and stride of rows have to be static, but src is {src}; use from_dlpack")
    width = src.element_type.width // 8
    access = math.gcd(BYTES, src.iterator.alignment, dst.iterator.alignment, *(x * width for x in lengths))
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


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(16, 4096, device=device).bfloat16() for _ in range(2))
    return rows, softmax, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors)


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
