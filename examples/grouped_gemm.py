"""Several products in one launch: a GEMM whose rows of A belong to groups, each with a B of its own, by TMA and wgmma.

What to learn: how many rows a group has is known on the device only, so the grid is as large as the device and each CTA
finds its tiles itself. It goes through the groups once, counts their tiles, and takes each that is its turn; the host
waits for nothing. Tiles begin at their group's first row, wherever that is: TMA takes a box at any row. What a tile
computes behind its group's last row is another group's affair, so a group's ragged end goes out row by row, and
everything else by TMA. The mainloop is that of gemm_tma_wgmma.

For each group g: C_g (M_g, N) = A_g (M_g, K) B_g (N, K)^T, summed in fp32. Contiguous: A is (M, K), C (M, N), and ends
(G,) says before which row each group ends, as torch._grouped_mm's offs do. Masked: A is (G, M, K), C (G, M, N), and
counts (G,) says how many rows of each count. Rows of no group stay as they are. A and B are contiguous along either of
their last two modes, C along N. Gated: B_g has N rows for gates before as many for values, and what goes out is
silu(gate) * value; moe uses that.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from tilewright.examples.fp8_block_gemm import ScaledProduct, Scales

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warp, warpgroup
from tilewright.utils import LayoutEnum, PersistentTileSchedulerParams, hopper_helpers

PICTURE = "S<3,3,3> o 0 o ((8,8),64):((64,512),1)"  # 64 rows of a stage of A, where A lies along K
TILE, STAGES = (128, 256), 4
ROW = 128  # bytes of a stage along K
WARPGROUPS = 2  # that multiply
THREADS = 128 * (WARPGROUPS + 1)
PART, BUFFERS = (64, 64), 2  # of a warpgroup's sums that go out at once, and how many of these are under way
BAND = 8  # tiles along N that clusters take before those of the next rows
VECTOR = 8  # elements of 16 bytes
K_MAJOR = warpgroup.OperandMajorMode.K


class Found(NamedTuple):
    """A group, its rows from first to end, and which tiles of the launch are its."""

    group: cutlass.Int32
    first: cutlass.Int32
    end: cutlass.Int32
    before: cutlass.Int32  # clusters of tiles of all groups before
    clusters: cutlass.Int32  # and of this one


class Groups:
    """Where the groups' tiles are. Clusters are counted through all groups and ask for tiles in ascending order."""

    def __init__(self, ends, columns, cluster, is_masked):
        self.ends, self.is_masked, self.cluster = ends, is_masked, cluster
        self.groups = ends.shape[0]
        self.tiles_n = columns

    def at(self, group, before, last):
        """The group: its rows begin where the last one's end, or at 0 where each has rows of its own."""
        first = cutlass.Int32(0) if self.is_masked else last
        # One number for all threads, as the compiler sees: so all of them go the same way.
        end = cute.arch.make_warp_uniform(self.ends[group])
        m, n, _ = self.tiles(end - first).clusters_mnl
        return Found(cutlass.Int32(group), first, end, before, cutlass.Int32(m * n))

    def tiles(self, rows):
        extents = (cute.ceil_div(rows, TILE[0]), self.tiles_n, 1)
        return PersistentTileSchedulerParams(extents, (*self.cluster, 1), swizzle_size=BAND)

    def begin(self):
        return self.at(0, cutlass.Int32(0), cutlass.Int32(0))

    @cute.jit
    def find(self, cluster, found):
        """The group of a cluster of tiles; behind the last there is none."""
        while found.group < self.groups and cluster >= found.before + found.clusters:
            before = found.before + found.clusters
            if found.group + 1 < self.groups:
                found = self.at(found.group + 1, before, found.end)
            else:
                found = Found(found.group + 1, found.end, found.end, before, cutlass.Int32(0))
        return found

    def tile(self, cluster, found):
        """The tile of this CTA: (m, n) in tiles of the group."""
        m, n, _ = self.tiles(found.end - found.first).cluster_at(cluster - found.before)
        rank = cute.arch.block_idx_in_cluster()
        return m * self.cluster[0] + rank % self.cluster[0], n * self.cluster[1] + rank // self.cluster[0]


@cute.kernel
def grouped_kernel(
    load_A: cute.CopyAtom, gA: cute.Tensor, load_B: cute.CopyAtom, gB: cute.Tensor, store_C: cute.CopyAtom,
    gC: cute.Tensor, mC: cute.Tensor, ends: cute.Tensor, sA_layout: cute.ComposedLayout, sB_layout: cute.ComposedLayout,
    sC_layout: cute.ComposedLayout, tiled_mma: cute.TiledMma, columns: cutlass.Int32, scales: tuple | None,
    cluster: cutlass.Constexpr, is_masked: cutlass.Constexpr, is_gated: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    storage = cutlass.utils.SmemAllocator()
    dtype = load_A.value_type
    sA = storage.allocate_tensor(dtype, sA_layout, 1024)
    sB = storage.allocate_tensor(dtype, sB_layout, 1024)
    sC = storage.allocate_tensor(store_C.value_type, sC_layout, 1024)
    staged = Scales(storage, STAGES) if cutlass.const_expr(scales is not None) else None
    barriers = storage.allocate_array(cutlass.Int64, 2 * STAGES)

    agents = pipeline.CooperativeGroup
    sharing = cluster[0] + cluster[1] - 1  # CTAs to whose stages this one's consumers give way
    stages = pipeline.PipelineTmaAsync.create(
        num_stages=STAGES, producer_group=agents(pipeline.Agent.Thread, 1 if scales is None else 1 + Scales.LANES),
        consumer_group=agents(pipeline.Agent.Thread, 4 * WARPGROUPS * sharing), barrier_storage=barriers,
        tx_count=sum(cute.size_in_bytes(dtype, cute.slice_(x, (None, None, 0))) for x in (sA_layout, sB_layout)),
        cta_layout_vmnk=cute.make_layout((1, *cluster, 1)),
    )  # fmt: skip
    depth = ROW * 8 // dtype.bits
    steps = cute.ceil_div(gA.shape[1], depth)
    groups = Groups(ends, columns, cluster, is_masked)
    _, _, turn = cute.arch.block_idx()
    _, _, clusters = cute.arch.grid_dim()
    found = groups.find(turn, groups.begin())

    if warp_idx >= 4 * WARPGROUPS:
        cute.arch.setmaxregister_decrease(24)
        if warp_idx == 4 * WARPGROUPS:
            rank = cute.arch.block_idx_in_cluster()
            cpasync.prefetch_descriptor(load_A)
            cpasync.prefetch_descriptor(load_B)
            state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, STAGES)
            while found.group < groups.groups:
                m, n = groups.tile(turn, found)
                group = found.group if is_masked else 0
                # (box, step along K), (box, stage)
                rows = cute.domain_offset((found.first + m * TILE[0], 0, 0), gA)
                tA = cute.group_modes(cute.local_tile(rows, (TILE[0], depth), (0, None, group)), 0, 2)
                if cutlass.const_expr(is_gated):  # rows of gates and of values
                    tB = cute.local_tile(gB, (TILE[1] // 2, 2, depth), (n, 0, None, found.group))
                    tB = cute.group_modes(tB, 0, 3)
                else:
                    tB = cute.local_tile(gB, (TILE[1], depth), (n, None, found.group))
                    tB = cute.group_modes(tB, 0, 2)
                tAsA, tAgA = shared_tiles(load_A, rank, cluster[1], sA, tA)
                tBsB, tBgB = shared_tiles(load_B, rank, cluster[0], sB, tB)
                for step in cutlass.range(steps, unroll=1):
                    stages.producer_acquire(state)
                    barrier = stages.producer_get_barrier(state)
                    for load, src, dst, count in ((load_A, tAgA, tAsA, cluster[1]), (load_B, tBgB, tBsB, cluster[0])):
                        mask = {"mcast_mask": (1 << count) - 1} if count > 1 else {}
                        cute.copy(load, src[None, step], dst[None, state.index], tma_bar_ptr=barrier, **mask)
                    if cutlass.const_expr(scales is not None):
                        of_rows, of_blocks = scales[0][None, None, group], scales[1][None, None, found.group]
                        at = found.first + m * TILE[0], n * Scales.COLUMNS, step
                        staged.fetch(of_rows, of_blocks, *at, state.index, barrier)
                    state.advance()
                turn += clusters
                found = groups.find(turn, found)
            stages.producer_tail(state)
    else:
        cute.arch.setmaxregister_increase(240)
        group_idx = warp_idx // 4
        if cutlass.const_expr(scales is None):
            product = Product(tiled_mma, sA, sB, stages, tidx)
        else:
            product = ScaledProduct(sA, sB, staged, stages, tidx)
        store = stores(product.sums, sC, store_C, gC, mC, warp_idx, tidx % 128, is_gated)
        while found.group < groups.groups:
            m, n = groups.tile(turn, found)
            product.multiply(steps)
            row = found.first + m * TILE[0] + group_idx * PART[0]
            store(row, found.end - row, n, found.group if is_masked else 0)
            turn += clusters
            found = groups.find(turn, found)
        cute.arch.cp_async_bulk_wait_group(0, read=True)


class Product:
    """A warpgroup's 64 rows of a tile: its sums, and how they come about."""

    def __init__(self, tiled_mma, sA, sB, stages, tidx):
        self.mma, self.stages = tiled_mma, stages
        thr_mma = tiled_mma.get_slice(tidx // 128 * 128)
        self.tCrA = tiled_mma.make_fragment_A(thr_mma.partition_A(sA))
        self.tCrB = tiled_mma.make_fragment_B(thr_mma.partition_B(sB))
        self.tCrC = tiled_mma.make_fragment_C(tiled_mma.partition_shape_C(TILE))
        self.sums = self.tCrC
        self.state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)
        self.done = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, STAGES)  # one step behind

    @cute.jit
    def multiply(self, steps):
        for step in cutlass.range(steps, unroll=1):
            self.stages.consumer_wait(self.state)
            at = (None, None, None, self.state.index)
            self.mma.set(warpgroup.Field.ACCUMULATE, step != 0)
            warpgroup.fence()
            cute.gemm(self.mma, self.tCrC, self.tCrA[at], self.tCrB[at], self.tCrC)
            warpgroup.commit_group()
            warpgroup.wait_group(1)
            if step != 0:
                self.stages.consumer_release(self.done)
                self.done.advance()
            self.state.advance()
        warpgroup.wait_group(0)
        self.stages.consumer_release(self.done)
        self.done.advance()


def shared_tiles(load, rank, count, stages, tiles):
    """Stages and tiles as boxes; where CTAs of a cluster share a tile, this one's part of it."""
    layout = cute.make_layout(count)
    return cpasync.tma_partition(load, rank if count > 1 else 0, layout, cute.group_modes(stages, 0, 2), tiles)


def stores(sums, sC, store_C, gC, mC, warp_idx, tidx, is_gated):
    """What brings a warpgroup's sums to C, part after part through buffers of its own."""
    group_idx = warp_idx // 4
    asks = warp_idx % 4 == 0  # one warp of the group, as the compiler sees
    dtype = store_C.value_type
    # As the instruction that has as many columns as a part: its threads hold the same elements.
    part_mma = cute.make_tiled_mma(
        warpgroup.MmaF16BF16Op(dtype, cutlass.Float32, (*PART, 16), warpgroup.OperandSource.SMEM, K_MAJOR, K_MAJOR)
    )
    atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4), dtype)
    tiled_copy = cute.make_tiled_copy_C(atom, part_mma)
    buffers = tiled_copy.get_slice(tidx).partition_D(sC)
    held = part_mma.make_fragment_C(part_mma.partition_shape_C(PART))
    rounded = cute.make_fragment_like(held, dtype)
    parts = TILE[1] // PART[1]
    count = parts // 2 if is_gated else parts
    # Rows of a ragged end: eight threads have the 128 bytes of one.
    wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), dtype, num_bits_per_copy=8 * 16)
    threads = cute.make_layout((128 // (PART[1] // VECTOR), PART[1] // VECTOR), stride=(PART[1] // VECTOR, 1))
    by_rows = cute.make_tiled_copy_tv(wide, threads, cute.make_layout((1, VECTOR))).get_slice(tidx)
    own_rows = by_rows.partition_S(sC)
    own_at = by_rows.partition_D(cute.make_identity_tensor(PART))

    def part_of(part):
        return cute.make_tensor(sums.iterator + part * cute.size(held), held.layout).load()

    @cute.jit
    def store(row, left, n, group):
        for part in cutlass.range_constexpr(count):
            buffer = group_idx * BUFFERS + part % BUFFERS
            if asks:
                cute.arch.cp_async_bulk_wait_group(BUFFERS - 1, read=True)
            cute.arch.barrier(barrier_id=1 + group_idx, number_of_threads=128)
            values = part_of(part)
            if cutlass.const_expr(is_gated):
                values = silu(values) * part_of(part + count)
            rounded.store(values.to(dtype))
            cute.copy(tiled_copy, tiled_copy.retile(rounded), buffers[None, None, None, buffer])
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.barrier(barrier_id=1 + group_idx, number_of_threads=128)
            column = n * count + part
            is_whole = left >= PART[0]
            if asks:
                if is_whole and column * PART[1] < mC.shape[1]:
                    there = cute.group_modes(
                        cute.local_tile(cute.domain_offset((row, 0, 0), gC), PART, (0, None, group)), 0, 2
                    )
                    tCsC, tCgC = cpasync.tma_partition(
                        store_C, 0, cute.make_layout(1), cute.group_modes(sC, 0, 2), there
                    )
                    cute.copy(store_C, tCsC[None, buffer], tCgC[None, column])
                cute.arch.cp_async_bulk_commit_group()
            if not is_whole:
                there = cute.local_tile(cute.domain_offset((row, 0, 0), mC), PART, (0, None, group))
                own = by_rows.partition_D(there[None, None, column])
                for i in cutlass.range_constexpr(own.shape[1]):
                    at_row, at_column = own_at[0, i, 0]
                    if at_row < left and column * PART[1] + at_column < mC.shape[1]:
                        cute.copy(wide, own_rows[None, i, 0, buffer], own[None, i, 0])

    return store


def silu(x):
    """x / (1 + exp(-x))"""
    return x / (1.0 + cute.math.exp2(x * -1.4426950408889634, fastmath=True))


def by_group(tensor, order):
    """The tensor with its modes in this order; those that are missing have one element."""
    leaves = [(tensor.shape[i], tensor.stride[i]) if i is not None else (1, 0) for i in order]
    shape, stride = zip(*leaves, strict=True)
    return cute.make_tensor(tensor.iterator, cute.make_layout(shape, stride=stride))


@cute.jit
def grouped_gemm(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, ends: cute.Tensor, ctas: cutlass.Constexpr,
    cluster: cutlass.Constexpr = (1, 1), is_gated: cutlass.Constexpr = False, scales: tuple | None = None,
):  # fmt: skip
    """ends: of the groups' rows; counts of rows where A and C are (G, M, ..). ctas: how many the device runs at a time.

    cluster: CTAs along M that share tiles of B, along N that share tiles of A; choose_cluster says which is good.
    scales: those of A and B in fp8, as in grouped_fp8_gemm.
    """
    is_masked = len(mA.shape) == 3
    modes = (1, 2, 0) if is_masked else (0, 1, None)
    mA, mB, mC = by_group(mA, modes), by_group(mB, (1, 2, 0)), by_group(mC, modes)
    orders = [LayoutEnum.from_tensor(x) for x in (mA, mB)]
    tile = (*TILE, ROW * 8 // mA.element_type.bits)
    sA_layout = hopper_helpers.make_smem_layout_a(orders[0], tile, mA.element_type, STAGES)
    sB_layout = hopper_helpers.make_smem_layout_b(orders[1], tile, mB.element_type, STAGES)
    sC_layout = hopper_helpers.make_smem_layout_epi(mC.element_type, LayoutEnum.ROW_MAJOR, PART, BUFFERS * WARPGROUPS)
    tiled_mma = hopper_helpers.make_trivial_tiled_mma(
        mA.element_type, mB.element_type, *(x.sm90_mma_major_mode() for x in orders), cutlass.Float32,
        (WARPGROUPS, 1, 1), (64, TILE[1]),
    )  # fmt: skip

    def stage(layout):
        return cute.slice_(layout, (None, None, 0))

    def load(count):
        return cpasync.CopyBulkTensorTileG2SMulticastOp() if count > 1 else cpasync.CopyBulkTensorTileG2SOp()

    load_A, gA = cpasync.make_tiled_tma_atom(
        load(cluster[1]), mA, stage(sA_layout), (tile[0], tile[2]), num_multicast=cluster[1]
    )
    tile_B, stage_B = tile[1:], stage(sB_layout)
    if is_gated:  # (N, gates or values, K, group), of which a tile has as many of both
        n, k, count = mB.shape
        along, across, group = mB.stride
        halves = cute.make_layout((n // 2, 2, k, count), stride=(along, n // 2 * along, across, group))
        mB, tile_B = cute.make_tensor(mB.iterator, halves), (tile[1] // 2, 2, tile[2])
        stage_B = cute.composition(stage_B, cute.make_layout(tile_B))
    load_B, gB = cpasync.make_tiled_tma_atom(load(cluster[0]), mB, stage_B, tile_B, num_multicast=cluster[0])
    store_C, gC = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), mC, stage(sC_layout), PART)
    columns = cute.ceil_div(mC.shape[1], TILE[1] // 2 if is_gated else TILE[1])
    grouped_kernel(
        load_A, gA, load_B, gB, store_C, gC, mC, ends, sA_layout, sB_layout, sC_layout, tiled_mma, columns, scales,
        cluster, is_masked, is_gated,
    ).launch(
        grid=[*cluster, ctas // (cluster[0] * cluster[1])], block=[THREADS, 1, 1], cluster=[*cluster, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip


def choose_cluster(rows: int, groups: int, columns: int) -> tuple[int, int]:
    """Which CTAs share tiles: those along M where groups have many, those along N where these come in pairs."""
    if rows >= 8 * TILE[0] * groups:
        return (2, 1)
    return (1, 2) if -(-columns // TILE[1]) % 2 == 0 else (1, 1)


def reference(a, b, ends):
    """C in float64; rows of no group are zero."""
    c = torch.zeros(*a.shape[:-1], b.shape[1], dtype=torch.float64, device=a.device)
    first = 0
    for group, end in enumerate(ends.tolist()):
        if a.ndim == 3:
            c[group, :end] = a[group, :end].double() @ b[group].double().T
        else:
            c[first:end] = a[first:end].double() @ b[group].double().T
            first = end
    return c


# dtype, rows of the groups, N, K, rows that each could have (masked; None: contiguous), cluster
CASES = (
    (torch.bfloat16, (130, 0, 64, 1), 264, 136, None, (1, 1)),
    (torch.float16, (70, 300), 512, 64, None, (1, 2)),
    (torch.bfloat16, (257, 200), 136, 72, None, (2, 1)),
    (torch.bfloat16, (3, 0, 140), 264, 72, 192, (1, 1)),
)


def argument(tensor):
    return cute.runtime.from_dlpack(tensor, assumed_align=16)


def problem(device: str):
    """A small one: two groups, of which one ends inside of a tile."""
    a, c = (torch.randn(256, 256, device=device).bfloat16() for _ in range(2))
    b = torch.randn(2, 256, 256, device=device).bfloat16()
    ends = torch.tensor([100, 256], dtype=torch.int32, device=device)
    return grouped_gemm, *map(argument, (a, b, c)), cute.runtime.from_dlpack(ends), 2


def check(device: str) -> None:
    for dtype, rows, n, k, most, cluster in CASES:
        counts = torch.tensor(rows, dtype=torch.int32, device=device)
        ends = counts if most else counts.cumsum(0, dtype=torch.int32)
        leading = (len(rows), most) if most else (sum(rows),)
        a = torch.randn(*leading, k, device=device).to(dtype)
        b = torch.randn(len(rows), n, k, device=device).to(dtype)
        c = torch.zeros(*leading, n, device=device, dtype=dtype)
        ctas = cutlass.utils.HardwareInfo().get_max_active_clusters(1) if device == "cuda" else 4
        grouped_gemm(*map(argument, (a, b, c)), cute.runtime.from_dlpack(ends), ctas, cluster)
        torch.testing.assert_close(c, reference(a, b, ends).to(dtype), rtol=1e-2, atol=1e-3)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
