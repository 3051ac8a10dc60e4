"""Softmax, RMSNorm and layer norm over the rows of a matrix, one block a row, the row kept in registers.

What to learn: three kernels differ in a few lines of arithmetic on TensorSSA; how a row is spread over threads, read in
16-byte accesses and reduced over the block is written once.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute

PICTURE = "(128,(8,2)):(8,(1,1024))"
BYTES = 16  # of one access


@cute.jit
def block_reduce(value: cutlass.Float32, op: cutlass.Constexpr, partial: cute.Tensor):
    """A value of each thread reduced over the block, in all of its threads; partial has an element for each warp."""
    warp, lane = cute.arch.warp_idx(), cute.arch.lane_idx()
    value = cute.arch.warp_reduction(value, op)
    if lane == 0:
        partial[warp] = value
    cute.arch.sync_threads()
    total = partial[0]
    for i in cutlass.range_constexpr(1, cute.size(partial)):
        total = op(total, partial[i])
    return total


def maximum(a, b):
    return cute.arch.fmax(a, b)


def plus(a, b):
    return a + b


def softmax(x, n, reduce):
    """exp(x - max) / sum of the same."""
    largest = reduce(x.reduce(cute.ReductionOp.MAX, -cutlass.Float32.inf, 0), maximum)
    e = cute.math.exp2((x - largest) * 1.4426950408889634, fastmath=True)
    return e / reduce(e.reduce(cute.ReductionOp.ADD, 0.0, 0), plus)


def rms_norm(x, n, reduce):
    """x / sqrt(mean of x^2 + eps)."""
    squares = reduce((x * x).reduce(cute.ReductionOp.ADD, 0.0, 0), plus)
    return x * cute.math.rsqrt(squares / n + 1e-6)


def layer_norm(x, n, reduce):
    """(x - mean) / sqrt(variance + eps)."""
    mean = reduce(x.reduce(cute.ReductionOp.ADD, 0.0, 0), plus) / n
    centred = x - mean
    variance = reduce((centred * centred).reduce(cute.ReductionOp.ADD, 0.0, 0), plus) / n
    return centred * cute.math.rsqrt(variance + 1e-5)


@cute.kernel
def rows_kernel(op: cutlass.Constexpr, src: cute.Tensor, dst: cute.Tensor, threads: cutlass.Constexpr):
    tidx, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    n = cute.size(src, mode=[1])
    vector = BYTES * 8 // src.element_type.width
    tv_layout = cute.make_layout((threads, (vector, n // (threads * vector))), stride=(vector, (1, threads * vector)))
    tS, tD = (cute.composition(x[row, None], tv_layout)[tidx, None] for x in (src, dst))
    storage = cutlass.utils.SmemAllocator()

    def reduce(value, combine):
        partial = storage.allocate_tensor(cutlass.Float32, cute.make_layout(threads // 32))
        return block_reduce(value, combine, partial)

    fragment = cute.make_fragment_like(tS)
    cute.autovec_copy(tS, fragment)
    x = fragment.load().to(cutlass.Float32)
    result = cute.make_fragment_like(tD)
    result.store(op(x, cutlass.Float32(n), reduce).to(dst.element_type))
    cute.autovec_copy(result, tD)


@cute.jit
def rows(op: cutlass.Constexpr, src: cute.Tensor, dst: cute.Tensor):
    n = cute.size(src, mode=[1])
    vector = BYTES * 8 // src.element_type.width
    threads = 32
    while cutlass.const_expr(threads < 1024 and n % (threads * 2 * vector) == 0 and n > threads * vector * 4):
        threads *= 2
    rows_kernel(op, src, dst, threads).launch(grid=[cute.size(src, mode=[0]), 1, 1], block=[threads, 1, 1])


def expected(op, x):
    x = x.double()
    if op is softmax:
        return torch.softmax(x, 1)
    if op is rms_norm:
        return x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6)
    return torch.nn.functional.layer_norm(x, x.shape[1:])


def check(device: str) -> None:
    for op in (softmax, rms_norm, layer_norm):
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 1e-2)):
            src = torch.randn(3, 1024, device=device).to(dtype)
            dst = torch.full_like(src, float("nan"))
            rows(op, cute.runtime.from_dlpack(src, assumed_align=16), cute.runtime.from_dlpack(dst, assumed_align=16))
            torch.testing.assert_close(dst.double(), expected(op, src), rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
