"""The rows of O of attention's forward pass on their way to memory."""

from __future__ import annotations

from tilewright.examples.attention.forward_tiles import ROWS

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync, warp


def stores(tOrO, sO, store_O, gO, mO, tiled_mma, problem, group, warp_idx, tidx, plan):
    """What brings a warpgroup's rows of O to memory: by stmatrix into shared memory, by TMA from there."""
    dtype, shape = store_O.value_type, cute.product_each(sO.shape)[:2]
    asks = warp_idx % 4 == 0  # one warp of the group
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    tiled_copy = cute.make_tiled_copy_C(atom, tiled_mma)
    buffer = tiled_copy.get_slice(tidx).partition_D(sO)[None, None, None, group]
    rounded = cute.make_fragment_like(tOrO, dtype)
    across = shape[1] // 8
    universal = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=128)
    threads = cute.make_layout((128 // across, across), stride=(across, 1))
    copy_rows = cute.make_tiled_copy_tv(universal, threads, cute.make_layout((1, 8)))
    by_rows = copy_rows.get_slice(tidx)

    @cute.jit
    def send(block, exists, rows):
        """A block of 64 rows by TMA, which leaves out those that the tensor does not have."""
        if asks and exists:
            blocks = cute.local_tile(rows, shape, (None, 0))
            tOsO, tOgO = cpasync.tma_partition(
                store_O, 0, cute.make_layout(1), cute.group_modes(sO, 0, 2), cute.group_modes(blocks, 0, 2)
            )
            cute.copy(store_O, tOsO[None, group], tOgO[None, block])

    @cute.jit
    def store(block, head, batch, sequence):
        # The last O has left, and all warps have read Q where O takes its place.
        if asks:
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.barrier(barrier_id=5 + group, number_of_threads=128)
        rounded.store(tOrO.load().to(dtype))
        cute.copy(tiled_copy, tiled_copy.retile(rounded), buffer)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=5 + group, number_of_threads=128)
        left = sequence.queries - block * ROWS
        rows = cute.domain_offset((sequence.start_q, 0), gO[None, None, head, batch])
        if cutlass.const_expr(problem.starts_q is None):
            send(block, left > 0, rows)
        else:
            # A box would reach into the next sequence: rows that are no whole block go element by element.
            send(block, left >= ROWS, rows)
            if left > 0 and left < ROWS:
                begin = sequence.start_q + block * ROWS
                target = cute.local_tile(cute.domain_offset((begin, 0), mO[batch, head, None, None]), shape, (0, 0))
                dst = by_rows.partition_D(target)
                at = by_rows.partition_D(cute.make_identity_tensor(shape))
                exists = cute.make_rmem_tensor(cute.make_layout((1, *dst.shape[1:]), stride=(0, 1, 0)), cutlass.Boolean)
                for i in cutlass.range_constexpr(dst.shape[1]):
                    exists[0, i, 0] = at[0, i, 0][0] < left
                cute.copy(copy_rows, by_rows.partition_S(sO[None, None, group]), dst, pred=exists)
        if asks:
            cute.arch.cp_async_bulk_commit_group()
            if cutlass.const_expr(not plan.overlaps):
                cute.arch.cp_async_bulk_wait_group(0, read=True)

    return store
