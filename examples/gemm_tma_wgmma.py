"""A persistent GEMM of bf16 or fp16 by TMA and wgmma: one warp fetches, two warpgroups multiply, and all keep going.

What to learn: a pipeline of mbarriers is between the warp that asks TMA for stages and the warpgroups that multiply
them. Two CTAs of a cluster need the same tile of B; each brings half of it to both. CTAs stay and take tile after tile
of C, in an order in which the tiles that are computed at a time share operands in the L2 cache, so that the next tile's
stages arrive while this one's sums go out: by stmatrix into shared memory, by TMA from there. C (M, N) = A (M, K)
B (N, K)^T is summed in fp32. A and B are contiguous along either mode, C along N; what lies outside of them is zero.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils import LayoutEnum, PersistentTileSchedulerParams, StaticPersistentTileScheduler, hopper_helpers

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # 64 rows of a stage of A, where A lies along K
TILE, STAGES = (128, 256, 64), 4
WARPGROUPS, CLUSTER = 2, (2, 1)  # that multiply; CTAs along M that share tiles of B
THREADS = 128 * (WARPGROUPS + 1)
PART, BUFFERS = (64, 64), 2  # of a warpgroup's sums that go out at once, and how many of these are under way
BAND = 8  # tiles along N that clusters take before those of the next rows

Scheduler = StaticPersistentTileScheduler


@cute.kernel
def gemm_kernel(
    load_A: cute.CopyAtom, gA: cute.Tensor, load_B: cute.CopyAtom, gB: cute.Tensor, store_C: cute.CopyAtom,
    gC: cute.Tensor, sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout, sC_layout: cute.ComposedLayout,
    tiled_mma: cute.TiledMma, tiles: PersistentTileSchedulerParams,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    storage = cutlass.utils.SmemAllocator()
    dtype = load_A.value_type
    sA = storage.allocate_tensor(dtype, sA_layout, 1024)
    sB = storage.allocate_tensor(dtype, sB_layout, 1024)
    sC = storage.allocate_tensor(store_C.value_type, sC_layout, 1024)
    barriers = storage.allocate_array(cutlass.Int64, 2 * STAGES)

    group = pipeline.CooperativeGroup
    sharing = CLUSTER[0] + CLUSTER[1] - 1  # CTAs to whose stages this one's consumers give way
    stages = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=group(pipeline.Agent.Thread),
        consumer_group=group(pipeline.Agent.Thread, 4 * WARPGROUPS * sharing), barrier_storage=barriers,
        tx_count=sum(cute.size_in_bytes(dtype, cute.slice_(x, (None, None, 0))) for x in (sA_layout, sB_layout)),
        cta_layout_vmnk=cute.make_layout((1, *CLUSTER, 1)),
    )  # fmt: skip
    steps = cute.ceil_div(gA.shape[1], TILE[2])
    scheduler = Scheduler.create(tiles, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()

    if warp_idx >= 4 * WARPGROUPS:
        cute.arch.setmaxregister_decrease(40)
        if warp_idx == 4 * WARPGROUPS:
            # (box, tile along M or N, tile along K), (box, stage)
            rank = cute.arch.block_idx_in_cluster()
            alone, pair = cute.make_layout(1), cute.make_layout(CLUSTER[0])
            tA = cute.local_tile(gA, TILE, (None, None, None), proj=(1, None, 1))
            tB = cute.local_tile(gB, TILE, (None, None, None), proj=(None, 1, 1))
            first, second = cute.group_modes(sA, 0, 2), cute.group_modes(sB, 0, 2)
            tAsA, tAgA = cpasync.tma_partition(load_A, 0, alone, first, cute.group_modes(tA, 0, 2))
            tBsB, tBgB = cpasync.tma_partition(load_B, rank, pair, second, cute.group_modes(tB, 0, 2))
            cpasync.prefetch_descriptor(load_A)
            cpasync.prefetch_descriptor(load_B)
            state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
            while work.is_valid_tile:
                m, n, _ = work.tile_idx
                for step in cutlass.range(steps, unroll=1):
                    stages.producer_acquire(state)
                    barrier = stages.producer_get_barrier(state)
                    cute.copy(load_A, tAgA[None, m, step], tAsA[None, state.index], tma_bar_ptr=barrier)
                    cute.copy(
                        load_B, tBgB[None, n, step], tBsB[None, state.index], tma_bar_ptr=barrier,
                        mcast_mask=(1 << CLUSTER[0]) - 1,
                    )  # fmt: skip
                    state.advance()
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
            stages.producer_tail(state)
    else:
        cute.arch.setmaxregister_increase(232)
        group_idx = warp_idx // 4
        thr_mma = tiled_mma.get_slice(group_idx * 128)
        tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))
        tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB))
        tCrC = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE[:2]))
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        done = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)  # one step behind
        store = stores(tCrC, sC, store_C, gC, tiled_mma.op, warp_idx, tidx % 128)
        while work.is_valid_tile:
            m, n, _ = work.tile_idx
            for step in cutlass.range(steps, unroll=1):
                stages.consumer_wait(state)
                at = (None, None, None, state.index)
                tiled_mma.set(warpgroup.Field.ACCUMULATE, step != 0)
                warpgroup.fence()
                cute.gemm(tiled_mma, tCrC, tCrA[at], tCrB[at], tCrC)
                warpgroup.commit_group()
                warpgroup.wait_group(1)
                if step != 0:
                    stages.consumer_release(done)
                    done.advance()
                state.advance()
            warpgroup.wait_group(0)
            stages.consumer_release(done)
            done.advance()
            store(m, n)
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


def stores(tCrC, sC, store_C, gC, mma, warp_idx, tidx):
    """What brings a warpgroup's sums of tile (m, n) to C, part after part through buffers of its own."""
    group_idx = warp_idx // 4
    asks = warp_idx % 4 == 0  # one warp of the group, as the compiler sees
    dtype = store_C.value_type
    # As the instruction that has as many columns as a part: its threads hold the same elements.
    k = warpgroup.OperandMajorMode.K
    part_mma = cute.make_tiled_mma(
        warpgroup.MmaF16BF16Op(mma.a_dtype, cutlass.Float32, (*PART, 16), warpgroup.OperandSource.SMEM, k, k)
    )
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    tiled_copy = cute.make_tiled_copy_C(atom, part_mma)
    buffers = tiled_copy.get_slice(tidx).partition_D(sC)
    held = part_mma.make_fragment_C(part_mma.partition_shape_C(PART))
    rounded = cute.make_fragment_like(held, dtype)
    count = TILE[1] // PART[1]
    sums = cute.make_tensor(tCrC.iterator, cute.make_layout((cute.size(held), count)))
    parts = cute.local_tile(gC, PART, (None, None))
    rows, columns = (cute.size(parts, mode=[i]) for i in (2, 3))
    tCsC, tCgC = cpasync.tma_partition(
        store_C, 0, cute.make_layout(1), cute.group_modes(sC, 0, 2), cute.group_modes(parts, 0, 2)
    )

    @cute.jit
    def store(m, n):
        for part in cutlass.range_constexpr(count):
            buffer = group_idx * BUFFERS + part % BUFFERS
            if asks:
                cute.arch.cp_async_bulk_wait_group(BUFFERS - 1, read=True)
            cute.arch.barrier(barrier_id=1 + group_idx, number_of_threads=128)
            rounded.store(cute.make_tensor(sums[None, part].iterator, held.layout).load().to(dtype))
            cute.copy(tiled_copy, tiled_copy.retile(rounded), buffers[None, None, None, buffer])
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier(barrier_id=1 + group_idx, number_of_threads=128)
            row, column = m * (TILE[0] // PART[0]) + group_idx, n * count + part
            if asks:
                if row < rows and column < columns:  # the last tile may have parts that C has not
                    cute.copy(store_C, tCsC[None, buffer], tCgC[None, row, column])
                cute.arch.cp_async_bulk_commit_group()

    return store


@cute.jit
def gemm(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, clusters: cutlass.Constexpr):
    """clusters: how many of them the device runs at a time."""
    orders = [LayoutEnum.from_tensor(x) for x in (mA, mB)]
    sA_layout = hopper_helpers.make_smem_layout_a(orders[0], TILE, mA.element_type, STAGES)
    sB_layout = hopper_helpers.make_smem_layout_b(orders[1], TILE, mB.element_type, STAGES)
    sC_layout = hopper_helpers.make_smem_layout_epi(mC.element_type, LayoutEnum.ROW_MAJOR, PART, BUFFERS * WARPGROUPS)
    tiled_mma = hopper_helpers.make_trivial_tiled_mma(
        mA.element_type, mB.element_type, *(x.sm90_mma_major_mode() for x in orders), cutlass.Float32,
        (WARPGROUPS, 1, 1), (64, TILE[1]),
    )  # fmt: skip

    def stage(layout):
        return cute.slice_(layout, (None, None, 0))

    load_A, gA = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), mA, stage(sA_layout), (TILE[0], TILE[2])
    )
    load_B, gB = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SMulticastOp(), mB, stage(sB_layout), TILE[1:], num_multicast=CLUSTER[0]
    )
    store_C, gC = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), mC, stage(sC_layout), PART)
    extents = (cute.ceil_div(mC.shape[0], TILE[0]), cute.ceil_div(mC.shape[1], TILE[1]), 1)
    tiles = PersistentTileSchedulerParams(extents, (*CLUSTER, 1), swizzle_size=BAND)
    gemm_kernel(load_A, gA, load_B, gB, store_C, gC, sA_layout, sB_layout, sC_layout, tiled_mma, tiles).launch(
        grid=Scheduler.get_grid_shape(tiles, clusters), block=[THREADS, 1, 1], cluster=[*CLUSTER, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip


def problem(device: str):
    """A small one."""
    tensors = (torch.randn(256, 256, device=device).bfloat16() for _ in range(3))
    return gemm, *(cute.runtime.from_dlpack(x, assumed_align=16) for x in tensors), 1


def check(device: str) -> None:
    is_gpu = device == "cuda"
    clusters = cutlass.utils.HardwareInfo().get_max_active_clusters(CLUSTER[0]) if is_gpu else 2
    for dtype, m, n, k in ((torch.bfloat16, 320, 520, 136), (torch.float16, 64, 256, 72), (torch.float16, 64, 40, 72)):
        for along_k_A, along_k_B in ((False, False), (False, True), (True, False), (True, True)):
            a = torch.randn(m, k, device=device) if along_k_A else torch.randn(k, m, device=device).T
            b = torch.randn(n, k, device=device) if along_k_B else torch.randn(k, n, device=device).T
            a, b = a.to(dtype), b.to(dtype)
            c = torch.full((m, n), float("nan"), device=device, dtype=dtype)
            gemm(*(cute.runtime.from_dlpack(x, assumed_align=16) for x in (a, b, c)), clusters)
            torch.testing.assert_close(c, (a.double() @ b.double().T).to(dtype), rtol=1e-2, atol=1e-3)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
