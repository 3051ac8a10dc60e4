"""A GEMM of fp8 whose scales belong to blocks: each 128 of K are summed by wgmma, scaled, and added in fp32.

What to learn: 8 bits have too few values for a whole matrix, so each row of A has a scale for every 128 columns, and B
one for every 128 x 128 elements. Scales vary along K, so sums of one block of K are accumulators of their own; when
they are there, each is multiplied by its scale and added to the sum in fp32 (accumulator promotion), which also keeps
more bits than wgmma's adders of fp8 do. A warpgroup has 64 x 256 sums but multiplies a part of the columns at a time,
by two sets of accumulators in turn: while the tensor cores multiply one part, the one before is promoted. 128 registers
of sums and 80 of accumulators fit. Four parts of 64 columns would promote the last one beside the next block's first,
but read A once more from shared memory, and are slower (benchmarks/block_scaled.py).

The scales of a block come with it, by cp.async of the warp that asks TMA for the rest: warpgroups that read them from
global memory waited for them at each block, which cost a tenth of the time. Else it is gemm_tma_wgmma.

C (M, N) = sum over blocks b of K: SA (M, b) * SB (N / 128, b) * (A (M, K) B (N, K)^T over the block). A and B are e4m3
and contiguous along K, C is bf16 and contiguous along N. The scales are Float32 in any order: torch's scaled_mm wants
SA with the stride 1 along M and SB along K. A last block of less than 128 has scales, too.
"""

from __future__ import annotations

import torch

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils import LayoutEnum, PersistentTileSchedulerParams, StaticPersistentTileScheduler, hopper_helpers

PICTURE = "S<3,4,3> o 0 o ((8,8),128):((128,1024),1)"  # 64 rows of a stage of A
BLOCK = 128  # elements that share a scale: along K, and of B along N
TILE, STAGES = (128, 2 * BLOCK, BLOCK), 3
WARPGROUPS, CLUSTER = 2, (2, 1)  # that multiply; CTAs along M that share tiles of B
THREADS = 128 * (WARPGROUPS + 1)
PARTS = (96, 64, 96)  # columns that a warpgroup multiplies at once, every second by the same accumulators
OUT = (64, 64)  # of a warpgroup's sums that go out at once
BAND = 8  # tiles along N that clusters take before those of the next rows
K_MAJOR = warpgroup.OperandMajorMode.K

Scheduler = StaticPersistentTileScheduler


@cute.kernel
def gemm_kernel(
    load_A: cute.CopyAtom, gA: cute.Tensor, mSA: cute.Tensor, load_B: cute.CopyAtom, gB: cute.Tensor, mSB: cute.Tensor,
    store_C: cute.CopyAtom, gC: cute.Tensor, sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout,
    sC_layout: cute.ComposedLayout, tiles: PersistentTileSchedulerParams,
    parts: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    storage = cutlass.utils.SmemAllocator()
    sA = storage.allocate_tensor(load_A.value_type, sA_layout, 1024)
    sB = storage.allocate_tensor(load_B.value_type, sB_layout, 1024)
    sC = storage.allocate_tensor(store_C.value_type, sC_layout, 1024)
    scales = Scales(storage, STAGES)
    barriers = storage.allocate_array(cutlass.Int64, 2 * STAGES)

    group = pipeline.CooperativeGroup
    stages = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=group(pipeline.Agent.Thread, 1 + Scales.LANES),
        consumer_group=group(pipeline.Agent.Thread, 4 * WARPGROUPS * CLUSTER[0]), barrier_storage=barriers,
        tx_count=(TILE[0] + TILE[1]) * TILE[2], cta_layout_vmnk=cute.make_layout((1, *CLUSTER, 1)),
    )  # fmt: skip
    steps = cute.ceil_div(gA.shape[1], TILE[2])
    scheduler = Scheduler.create(tiles, cute.arch.block_idx(), cute.arch.grid_dim())
    work = scheduler.initial_work_tile_info()

    if warp_idx >= 4 * WARPGROUPS:
        cute.arch.setmaxregister_decrease(24)
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
                    scales.fetch(mSA, mSB, m * TILE[0], n * Scales.COLUMNS, step, state.index, barrier)
                    state.advance()
                scheduler.advance_to_next_work()
                work = scheduler.get_current_work()
            stages.producer_tail(state)
    else:
        cute.arch.setmaxregister_increase(240)
        product = ScaledProduct(sA, sB, scales, stages, tidx, parts)
        store = stores(product.sums, sC, store_C, gC, warp_idx, tidx % 128)
        while work.is_valid_tile:
            m, n, _ = work.tile_idx
            product.multiply(steps)
            store(m, n)
            scheduler.advance_to_next_work()
            work = scheduler.get_current_work()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


class Scales:
    """Stages in shared memory for the scales of a tile's rows, and of its columns, of which 128 share one."""

    LANES = 32  # that fetch them
    COLUMNS = TILE[1] // BLOCK

    def __init__(self, storage, stages):
        self.of_rows, self.of_columns = (
            storage.allocate_tensor(cutlass.Float32, cute.make_layout((count, stages)), 16)
            for count in (TILE[0], self.COLUMNS)
        )

    @cute.jit
    def fetch(self, mSA, mSB, row, column, block, stage, barrier):
        """A warp begins to copy those of a block of K; each lane's copies arrive at the barrier when they have landed.

        The first of them are at (row, block) and (column, block); those of what lies outside of A and B are not used.
        """
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
        for src, dst, first in ((mSA, self.of_rows, row), (mSB, self.of_columns, column)):
            count, last = dst.shape[0], src.shape[0] - 1
            for i in cutlass.range_constexpr(0, count, self.LANES):
                at = cute.arch.lane_idx() + i
                if cutlass.const_expr(count % self.LANES == 0) or at < count:
                    cute.copy(atom, element(src, cutlass.min(first + at, last), block), element(dst, at, stage))
        cute.arch.cp_async_mbarrier_arrive_noinc(barrier)


def element(tensor, *at):
    return cute.make_tensor(tensor.iterator + tensor.layout(at), cute.make_layout(1))


class ScaledProduct:
    """A warpgroup's 64 rows of a tile: its sums, and how they come about."""

    def __init__(self, sA, sB, scales, stages, tidx, parts=PARTS):
        self.scales, self.stages, self.parts = scales, stages, parts
        self.sums = cute.make_rmem_tensor(TILE[1] // 2, cutlass.Float32)
        held = [cute.make_rmem_tensor(max(parts[i::2]) // 2, cutlass.Float32) for i in range(2)]
        # The block that is multiplied, and the one whose stage is given back next.
        self.state, self.done = (
            pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, stages.num_stages) for _ in range(2)
        )
        self.mmas, self.tCrB, self.products = [], [], []
        dtype, first = sA.element_type, 0
        group_idx = cute.arch.make_warp_uniform(tidx // 128)  # as the compiler sees
        for part, count in enumerate(parts):
            mma = hopper_helpers.make_trivial_tiled_mma(
                dtype, dtype, K_MAJOR, K_MAJOR, cutlass.Float32, (WARPGROUPS, 1, 1), (64, count)
            )
            thr_mma = mma.get_slice(group_idx * 128)
            self.mmas.append(mma)
            self.tCrB.append(mma.make_fragment_B(thr_mma.partition_B(columns_of(sB, first, count))))
            layout = mma.make_fragment_C(mma.partition_shape_C((TILE[0], count))).layout
            self.products.append(cute.make_tensor(held[part % 2].iterator, layout))
            first += count
        self.tCrA = mma.make_fragment_A(thr_mma.partition_A(sA))
        self.row = mma.get_slice(tidx).partition_C(cute.make_identity_tensor((TILE[0], count)))[0][0]

    @cute.jit
    def multiply(self, steps):
        """The sums of the next tile, over so many blocks of K."""
        self.sums.fill(0.0)
        last = len(self.parts) - 1
        carries = last % 2 == 1  # the next block begins with other accumulators than this one ends with
        if cutlass.const_expr(carries):
            self.products[last].fill(0.0)  # before the first block, there is nothing to add
        zero = cutlass.Float32(0.0)
        before = [[zero, zero] for _ in range(Scales.COLUMNS)]
        for step in cutlass.range(steps, unroll=1):
            stage = self.state.index
            self.stages.consumer_wait(self.state)
            if cutlass.const_expr(carries):
                warpgroup.wait_group(0)
                if step != 0:
                    self.release()
            for part in cutlass.range_constexpr(len(self.parts)):
                self.begin(part, stage)
                if cutlass.const_expr(part == 0):
                    of_rows = [self.scales.of_rows[self.row + 8 * i, stage] for i in range(2)]
                    of_columns = [self.scales.of_columns[i, stage] for i in range(Scales.COLUMNS)]
                    factors = [[row * column for row in of_rows] for column in of_columns]
                    if cutlass.const_expr(carries):
                        self.promote(last, before)
                else:
                    warpgroup.wait_group(1)
                    self.promote(part - 1, factors)
            self.state.advance()
            if cutlass.const_expr(carries):
                before = factors
            else:
                self.end(last, factors)
        if cutlass.const_expr(carries):
            self.end(last, before)

    def end(self, part, factors):
        warpgroup.wait_group(0)
        self.release()
        self.promote(part, factors)

    def release(self):
        self.stages.consumer_release(self.done)
        self.done.advance()

    def begin(self, part, stage):
        mma, products, at = self.mmas[part], self.products[part], (None, None, None, stage)
        mma.set(warpgroup.Field.ACCUMULATE, False)
        warpgroup.fence()
        cute.gemm(mma, products, self.tCrA[at], self.tCrB[part][at], products)
        warpgroup.commit_group()

    def promote(self, part, factors):
        """Add what a block of K gives to a part's sums, each row by its scale, columns of each block by theirs."""
        first, end = sum(self.parts[:part]), sum(self.parts[: part + 1])
        for block in range(first // BLOCK, -(-end // BLOCK)):
            begin = max(first, block * BLOCK)
            count = min(end, (block + 1) * BLOCK) - begin
            # Accumulators ((2 columns, 2 rows, tiles of 8 columns), 1, 1) as (rows, columns).
            layout = cute.make_layout((2, (2, count // 8)), stride=(2, (1, 4)))
            new = cute.make_tensor(self.products[part].iterator + (begin - first) // 2, layout)
            old = cute.make_tensor(self.sums.iterator + begin // 2, layout)
            for row in range(2):
                old[row, None].store(cute.math.fma(new[row, None].load(), factors[block][row], old[row, None].load()))


def columns_of(sB, first, count):
    """Columns of the tile from this one on, rows of B: (rows, K, stages). They begin and end as the swizzle does."""
    shape = (8, count // 8), TILE[2], cute.size(sB, mode=[2])
    layout = cute.make_layout(shape, stride=((TILE[2], 8 * TILE[2]), 1, TILE[1] * TILE[2]))
    return cute.make_tensor(sB.iterator + first * TILE[2], cute.make_composed_layout(sB.layout.inner, 0, layout))


def stores(sums, sC, store_C, gC, warp_idx, tidx):
    """What brings a warpgroup's sums of tile (m, n) to C, through buffers of its own."""
    group_idx = warp_idx // 4
    asks = warp_idx % 4 == 0  # one warp of the group, as the compiler sees
    dtype = store_C.value_type
    # As the instruction that has as many columns as a part: its threads hold the same elements.
    part_mma = cute.make_tiled_mma(
        warpgroup.MmaF16BF16Op(dtype, cutlass.Float32, (*OUT, 16), warpgroup.OperandSource.SMEM, K_MAJOR, K_MAJOR)
    )
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    tiled_copy = cute.make_tiled_copy_C(atom, part_mma)
    buffers = tiled_copy.get_slice(tidx).partition_D(sC)
    held = part_mma.make_fragment_C(part_mma.partition_shape_C(OUT))
    rounded = cute.make_fragment_like(held, dtype)
    count = TILE[1] // OUT[1]
    parts = cute.local_tile(gC, OUT, (None, None))
    rows, columns = (cute.size(parts, mode=[i]) for i in (2, 3))
    tCsC, tCgC = cpasync.tma_partition(
        store_C, 0, cute.make_layout(1), cute.group_modes(sC, 0, 2), cute.group_modes(parts, 0, 2)
    )

    @cute.jit
    def store(m, n):
        if asks:
            cute.arch.cp_async_bulk_wait_group(0, read=True)
        cute.arch.barrier(barrier_id=1 + group_idx, number_of_threads=128)
        for part in cutlass.range_constexpr(count):
            own = cute.make_tensor(sums.iterator + part * cute.size(held), held.layout)
            rounded.store(own.load().to(dtype))
            buffer = buffers[None, None, None, group_idx * count + part]
            cute.copy(tiled_copy, tiled_copy.retile(rounded), buffer)
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.barrier(barrier_id=1 + group_idx, number_of_threads=128)
        if asks:
            row = m * (TILE[0] // OUT[0]) + group_idx
            for part in cutlass.range_constexpr(count):
                column = n * count + part
                if row < rows and column < columns:  # the last tile may have parts that C has not
                    cute.copy(store_C, tCsC[None, group_idx * count + part], tCgC[None, row, column])
            cute.arch.cp_async_bulk_commit_group()

    return store


@cute.jit
def gemm(
    mA: cute.Tensor, mSA: cute.Tensor, mB: cute.Tensor, mSB: cute.Tensor, mC: cute.Tensor,
    clusters: cutlass.Constexpr, parts: cutlass.Constexpr = PARTS,
):  # fmt: skip
    """clusters: how many of them the device runs at a time; parts: as PARTS, multiples of 8."""
    order = LayoutEnum.ROW_MAJOR
    sA_layout = hopper_helpers.make_smem_layout_a(order, TILE, mA.element_type, STAGES)
    sB_layout = hopper_helpers.make_smem_layout_b(order, TILE, mB.element_type, STAGES)
    sC_layout = hopper_helpers.make_smem_layout_epi(mC.element_type, order, OUT, TILE[1] // OUT[1] * WARPGROUPS)

    def stage(layout):
        return cute.slice_(layout, (None, None, 0))

    load_A, gA = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SOp(), mA, stage(sA_layout), (TILE[0], TILE[2])
    )
    load_B, gB = cpasync.make_tiled_tma_atom(
        cpasync.CopyBulkTensorTileG2SMulticastOp(), mB, stage(sB_layout), TILE[1:], num_multicast=CLUSTER[0]
    )
    store_C, gC = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), mC, stage(sC_layout), OUT)
    extents = (cute.ceil_div(mC.shape[0], TILE[0]), cute.ceil_div(mC.shape[1], TILE[1]), 1)
    tiles = PersistentTileSchedulerParams(extents, (*CLUSTER, 1), swizzle_size=BAND)
    gemm_kernel(load_A, gA, mSA, load_B, gB, mSB, store_C, gC, sA_layout, sB_layout, sC_layout, tiles, parts).launch(
        grid=Scheduler.get_grid_shape(tiles, clusters), block=[THREADS, 1, 1], cluster=[*CLUSTER, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip


def quantized(x, rows):
    """x as e4m3 and scales, (extent / rows, K / 128), such that the largest of each block becomes 448."""
    padded = torch.nn.functional.pad(x, (0, -x.shape[1] % BLOCK, 0, -x.shape[0] % rows))
    blocks = padded.unflatten(1, (-1, BLOCK)).unflatten(0, (-1, rows))  # (blocks, rows, blocks, 128)
    scales = blocks.abs().amax((1, 3), keepdim=True).clamp(min=1e-12) / 448
    values = (blocks / scales).flatten(2).flatten(0, 1)[: x.shape[0], : x.shape[1]]
    return values.contiguous().to(torch.float8_e4m3fn), scales[:, 0, :, 0]


def reference(a, scales_a, b, scales_b):
    """C in float64, of the elements as they were rounded to e4m3."""
    n, k = b.shape
    scales_a = scales_a.double().repeat_interleave(BLOCK, 1)[:, :k]
    scales_b = scales_b.double().repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)[:n, :k]
    return (a.double() * scales_a) @ (b.double() * scales_b).T


def arguments(a, scales_a, b, scales_b, c):
    """The tensors of torch as those of a kernel: A, its scales, B, its scales, C."""
    aligned = {"assumed_align": 16}  # what TMA copies
    made = ((a, aligned), (scales_a, {}), (b, aligned), (scales_b, {}), (c, aligned))
    return tuple(cute.runtime.from_dlpack(x, **how) for x, how in made)


CASES = ((128, 256, 256), (200, 136, 144), (72, 264, 128))


def problem(device: str):
    """A small one: two blocks of K."""
    a, scales_a = quantized(torch.randn(256, 256, device=device), 1)
    b, scales_b = quantized(torch.randn(256, 256, device=device), BLOCK)
    c = torch.empty(256, 256, device=device, dtype=torch.bfloat16)
    return gemm, *arguments(a, scales_a.T.contiguous().T, b, scales_b.contiguous(), c), 1


def check(device: str) -> None:
    is_gpu = device == "cuda"
    clusters = cutlass.utils.HardwareInfo().get_max_active_clusters(CLUSTER[0]) if is_gpu else 2
    for m, n, k in CASES:
        a, scales_a = quantized(torch.randn(m, k, device=device), 1)
        b, scales_b = quantized(torch.randn(n, k, device=device), BLOCK)
        scales_a = scales_a.T.contiguous().T  # neighbouring rows' scales side by side
        c = torch.full((m, n), float("nan"), device=device, dtype=torch.bfloat16)
        gemm(*arguments(a, scales_a, b, scales_b, c), clusters)
        torch.testing.assert_close(c, reference(a, scales_a, b, scales_b).bfloat16(), rtol=1e-2, atol=2e-2)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
