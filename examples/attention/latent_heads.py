"""The scores and sums of a thread in decoding by latent attention: a block's softmax, and its rows on their way out."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import warpgroup


def save(sums, row, column):
    """A thread's pairs of columns of a row, 8 apart."""
    row = cute.domain_offset((column,), row)
    for i in cutlass.range_constexpr(cute.size(sums) // 2):
        pair = cute.make_rmem_tensor(2, row.element_type)
        for e in cutlass.range_constexpr(2):
            pair[e] = sums[2 * i + e].to(row.element_type)
        cute.local_tile(row, (2,), (4 * i,)).store(pair.load())


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
