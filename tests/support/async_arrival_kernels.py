"""Rows that cp.async brings and bulk copies send on, for the CPU and a GPU; the kernel takes a defect to plant."""

from __future__ import annotations

import tilewright as cutlass
from pipeline_kernels import LANES, group
from tilewright import cute
from tilewright.cute.nvgpu import cpasync
from tilewright.pipeline import PipelineCpAsync

__all__ = ["ITEMS", "LANES", "rows"]

ITEMS, STAGES = 6, 3


@cute.kernel
def rows_kernel(x: cute.Tensor, y: cute.Tensor, arrivals: cutlass.Constexpr, defect: cutlass.Constexpr):
    """Warp 0 brings rows of 128 floats, STAGES of them at once; warp 1 sends each on in bulk."""
    lane = cute.arch.lane_idx()
    memory = cutlass.utils.SmemAllocator()
    data = memory.allocate_tensor(cutlass.Float32, cute.make_layout((4 * LANES, STAGES)), 128)
    pipe = PipelineCpAsync.create(
        num_stages=STAGES, producer_group=group(arrivals), consumer_group=group(),
        barrier_storage=memory.allocate_array(cutlass.Int64, 2 * STAGES),
    )  # fmt: skip
    producer, consumer = pipe.make_participants()
    if cute.arch.warp_idx() == 0:
        copy = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
        for i in range(ITEMS):
            handle = producer.acquire_and_advance()
            stage = data[None, handle.index]
            if cutlass.const_expr(defect == "own store"):
                stage[4 * lane] = x[4 * lane, i]
            else:
                cute.copy(copy, cute.local_tile(x[None, i], (4,), (lane,)), cute.local_tile(stage, (4,), (lane,)))
            handle.commit()
            if cutlass.const_expr(defect == "no wait"):
                y[4 * lane, i] = stage[4 * lane]
        producer.tail()
    else:
        store = cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32)
        for i in range(ITEMS):
            handle = consumer.wait_and_advance()
            if cutlass.const_expr(defect == "no wait"):
                pass
            elif cutlass.const_expr(defect == "own store"):
                y[4 * lane, i] = data[4 * lane, handle.index]
            else:
                if cutlass.const_expr(defect != "no fence"):
                    cute.arch.fence_proxy("async.shared", space="cta")
                cute.copy(store, data[None, handle.index], y[None, i])
                cute.arch.cp_async_bulk_commit_group()
                cute.arch.cp_async_bulk_wait_group(0, read=True)
                cute.arch.sync_warp()
            handle.release()


@cute.jit
def rows(x: cute.Tensor, y: cute.Tensor, arrivals: cutlass.Constexpr, defect: cutlass.Constexpr):
    rows_kernel(x, y, arrivals, defect).launch(grid=1, block=2 * LANES)
