"""The scores and sums of a thread in decoding by latent attention: a block's softmax, and its rows on their way out."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import warpgroup


def save(sums, row, column, lane):
    """A thread's sums of a row, pairs of columns 8 apart, to a row of which the quad of lanes has all from `column` on.

    Where 4 pairs are 16 bytes, the lanes exchange them first, so that each has 8 columns side by side.
    """
    quad, row = lane % 4, cute.domain_offset((column,), row)
    if cutlass.const_expr(row.element_type.width == 16):
        words = cute.make_rmem_tensor(4, cutlass.Int32)
        values = cute.recast_tensor(words, row.element_type)
        for i in cutlass.range_constexpr(cute.size(sums) // 8):
            for e in cutlass.range_constexpr(8):
                values[e] = sums[8 * i + e].to(row.element_type)
            transpose_quad(words, quad)
            cute.local_tile(cute.recast_tensor(row, cutlass.Int32), (4,), (4 * i + quad,)).store(words.load())
    else:
        for i in cutlass.range_constexpr(cute.size(sums) // 2):
            pair = cute.make_rmem_tensor(2, row.element_type)
            for e in cutlass.range_constexpr(2):
                pair[e] = sums[2 * i + e].to(row.element_type)
            cute.local_tile(row, (2,), (4 * i + quad,)).store(pair.load())


def transpose_quad(words, quad):
    """Of four lanes with four words each: lane i gets the i-th words of all."""
    for step in (1, 2):
        is_upper = quad & step != 0
        for i in (i for i in range(4) if not i & step):
            low, high = words[i], words[i + step]
            other = cute.arch.shuffle_sync_bfly(cute.where(is_upper, low, high), step)
            words[i] = cute.where(is_upper, other, low)
            words[i + step] = cute.where(is_upper, high, other)


def opaque(place):
    """A place that the compiler does not know: it would compute descriptors ahead that no registers are left for."""
    return cute.arch.make_warp_uniform(cutlass.Int32(place))


def quad_max(value):
    """The greatest of four lanes, which have a row together."""
    return cute.arch.warp_reduction(value, cute.arch.fmax, threads_in_group=4)


def multiply(tiled_mma, acc, a, b, accumulate):
    """wgmma that begin now."""
    warpgroup.fence()
    tiled_mma.set(warpgroup.Field.ACCUMULATE, accumulate)
    cute.gemm(tiled_mma, acc, a, b, acc)


@cute.jit
def rescale(sums, shrink):
    """Bring the sums to new maxima, where a row of the warp has one."""
    if cute.arch.vote_any_sync(cute.arch.fmin(shrink[0], shrink[1]) < 1.0):
        for r in cutlass.range_constexpr(2):
            sums[r, None].store(sums[r, None].load() * shrink[r])
