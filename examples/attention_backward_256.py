"""The backward pass of attention for D 256: warpgroups that have different products, and pairs of blocks.

What to learn: the sums dK and dV of 64 keys and D 256 fill half of the registers of a multiprocessor. So three
warpgroups have a product each that stays in registers, and hand on what the others need:

    dV += P^T dO    with P = exp(scale S - L), S = Q K^T, hands P on: a thread's numbers to the same thread
    dK += dS^T Q    with dS = P (dP - delta), dP = dO V^T, hands dS on in 16 bits
    dQ  = dS K      in quarters, which TMA adds to the sums in global memory

The first two are one loop: the next scores are begun beside the sums with these, so that the tensor cores always have
something to do. Their scores are transposed, as in attention_backward, whose other parts this program shares.

Few keys for many queries mean much traffic with the L2 cache. So two blocks are a cluster: each fetches half of a tile
of Q and of dO for both. Each of the two adds to sums of its own, which are added up at the end: that halves the length
of the queue in which blocks wait for their turns.
"""

from __future__ import annotations

import torch
from tilewright.examples.attention.backward_blocks import QUERIES, Blocks, Order, Work, order_of
from tilewright.examples.attention.backward_fetch import Fetched, layouts, loads, product
from tilewright.examples.attention.backward_operands import argument, compare, operands, workspace_tiles
from tilewright.examples.attention.backward_rows import LOG2_E, RowNumbers, fours, prepare_kernel, store
from tilewright.examples.attention.pair_sums import Sums, adding
from tilewright.examples.attention.pair_warps import finish_kernel, load, publish, watch
from tilewright.examples.attention.pairs import CHUNK, CTAS, DEPTH, KEYS, NUMBERS, ROW, STAGES, TURNS, handed_on, place
from tilewright.examples.attention.stages import PRODUCER, filled, handed, visit

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import warpgroup
from tilewright.utils.accumulators import as_operand_a, rows_and_columns
from tilewright.utils.shared_matrices import transposed

PICTURE = "S<3,3,3> o 0 o (8,64):(64,1)"  # 8 rows of 64 elements of Q, K, V, dO or dS in shared memory
KEPT = 1  # stages of dS
REGISTERS = 216, 208, 64, 24  # of a thread that has dV, that has dK, that has dQ, and of the others
K, MN = warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.MN
RMEM = warpgroup.OperandSource.RMEM


@cute.kernel
def backward_kernel(
    load_Q: cute.CopyAtom, gQ: cute.Tensor, load_dO: cute.CopyAtom, gdO: cute.Tensor, load_K: cute.CopyAtom,
    gK: cute.Tensor, load_V: cute.CopyAtom, gV: cute.Tensor, mRows: cute.Tensor, put_dQ: cute.CopyAtom,
    add_dQ: cute.CopyAtom, gSums: cute.Tensor, mTurns: cute.Tensor, mQ: cute.Tensor, mK: cute.Tensor, mdK: cute.Tensor,
    mdV: cute.Tensor, scale: cutlass.Float32, left, right, starts_q, starts_k, order: Order,
    sQ_layout: cute.ComposedLayout, sK_layout: cute.ComposedLayout, sdS_layout: cute.ComposedLayout,
    mma_S: cute.TiledMma, mma_dV: cute.TiledMma, mma_dQ: cute.TiledMma, is_ordered: cutlass.Constexpr,
):  # fmt: skip
    tidx, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.block_idx_in_cluster()
    dtype = load_Q.value_type
    group = mQ.shape[1] // mK.shape[1]  # heads of queries that share one of keys, whose dK and dV are summed here

    storage = cutlass.utils.SmemAllocator()
    sK, sV = (storage.allocate_tensor(dtype, sK_layout, 1024) for _ in range(2))
    sQ, sdO = (storage.allocate_tensor(dtype, sQ_layout, 1024) for _ in range(2))
    sdS = storage.allocate_tensor(dtype, sdS_layout, 1024)
    # A thread's vectors lie beside its neighbours', so no banks conflict.
    sP = cute.make_layout((4, NUMBERS // 4, 128), stride=(1, 512, 4))
    weights, _, rows = handed_on(dtype)
    sP = storage.allocate_tensor(weights, sP, 128)
    sSums = storage.allocate_tensor(cutlass.Float32, cute.make_layout((rows * ROW, 4)), 128)
    sRows = storage.allocate_tensor(cutlass.Float32, cute.make_layout((QUERIES, 2, STAGES)), 128)
    sNumber = storage.allocate_tensor(cutlass.Int32, cute.make_layout(1))

    if tidx == 0 and rank == 0:
        number, _, _ = cute.arch.cluster_idx()
        if cutlass.const_expr(is_ordered):
            # In whatever order a device starts clusters: those whose turn is before have begun.
            number = cute.arch.atomic_add(mTurns.iterator + (cute.size(mTurns) - 1), cutlass.Int32(1))
        sNumber[0] = number

    cluster = cute.make_layout((1, CTAS, 1, 1))

    def barriers(count):
        return storage.allocate_array(cutlass.Int64, 2 * count)

    round_bytes = cute.size_in_bytes(dtype, sQ_layout) // STAGES + 4 * QUERIES
    loads_Q, loads_dO = (filled(STAGES, round_bytes, 8 * CTAS, barriers(STAGES), cluster, True) for _ in range(2))
    loads_K, loads_V = (filled(1, cute.size_in_bytes(dtype, sK_layout), 8, barriers(1), None, True) for _ in range(2))
    hands_P, hands_dS = (handed(count, 128, 128, barriers(count), True) for count in (1, KEPT))
    turns, adds = (handed(TURNS, *threads, barriers(TURNS), True) for threads in ((32, 128), (128, 32)))
    pipeline.pipeline_init_arrive(cluster)
    pipeline.pipeline_init_wait(cluster)

    first_block, key_head, batch = place(sNumber, order, is_ordered)
    block = first_block + rank
    blocks = Blocks(mQ, mK, left, right, starts_q, starts_k, batch, KEYS)
    first, last = blocks.tiles_that_see(first_block, CTAS)
    rounds = cutlass.max(0, last - first + 1)
    total = group * rounds
    work = Work(blocks, block, key_head, group, first, last, rounds, is_ordered)

    def sums_at():
        """Where dK and dV are stored, found once more: registers are few."""
        pair, key_head, batch = place(sNumber, order, is_ordered)
        there = Blocks(mQ, mK, left, right, starts_q, starts_k, batch, KEYS)
        return pair, key_head, there

    if first_block < blocks.tiles_k:
        mmas = mma_S, mma_dV, mma_dQ
        roles = Warpgroups(work, rank, warp_idx, mmas, (sP, hands_P), (sdS, hands_dS), sRows, sums_at)
        if total == 0:
            if warp_idx < 4:
                roles.clear(mdK, mdV)
        elif warp_idx < 4:
            cute.arch.setmaxregister_increase(REGISTERS[0])
            roles.values((sK, loads_K), (sQ, loads_Q), (sdO, loads_dO), mdV, scale)
        elif warp_idx < 8:
            cute.arch.setmaxregister_increase(REGISTERS[1])
            roles.keys((sV, loads_V), (sdO, loads_dO), (sQ, loads_Q), mdK, scale)
        elif warp_idx < 12:
            cute.arch.setmaxregister_decrease(REGISTERS[2])
            sums = Sums(work, turns, adds, put_dQ, add_dQ, gSums, sSums, warp_idx % 4)
            roles.queries((sK, loads_K), sums)
        else:
            cute.arch.setmaxregister_decrease(REGISTERS[3])
            if warp_idx == 12:
                of_Q = Fetched(loads_Q, load_Q, gQ, sQ, mRows, sRows, 0, blocks, CTAS, rank)
                of_dO = Fetched(loads_dO, load_dO, gdO, sdO, mRows, sRows, 1, blocks, CTAS, rank)
                load(work, (loads_K, load_K, gK, sK), (loads_V, load_V, gV, sV), of_Q, of_dO)
            if cutlass.const_expr(is_ordered):
                if warp_idx == 13:
                    watch(work, rank, turns, mTurns)
                if warp_idx == 14:
                    publish(work, rank, adds, mTurns)
    # The other block may still fetch for this one, and tell its barriers.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


class Warpgroups:
    """The warpgroups that multiply: one has dV, one has dK, one has dQ."""

    def __init__(self, work, rank, warp_idx, mmas, of_P, of_dS, sRows, sums_at):
        """of_P, of_dS: each a tensor in shared memory and the stages by which one hands it to another."""
        self.work, self.rank, self.warp_idx, self.sRows, self.sums_at = work, rank, warp_idx, sRows, sums_at
        self.mma_S, self.mma_dV, self.mma_dQ = mmas
        (self.sP, self.hands_P), (self.sdS, self.hands_dS) = of_P, of_dS

    def thread(self):
        """The thread's number in its warpgroup, found where it is needed: registers are few."""
        return self.warp_idx % 4 * 32 + cute.arch.lane_idx()

    @cute.jit
    def clear(self, mdK, mdV):
        """dK and dV where no query sees a key of the block."""
        blocks, mma_dQ = self.work.blocks, self.mma_dQ
        zeros = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((KEYS, CHUNK)))
        zeros.fill(0.0)
        for tensor in (mdK, mdV):
            there = cute.domain_offset((blocks.first_k, 0), tensor[blocks.batch, self.work.key_head, None, None])
            for chunk in cutlass.range(DEPTH // CHUNK, unroll=1):
                own = mma_dQ.get_slice(self.thread())
                store(zeros, 1.0, there, self.work.block, (KEYS, CHUNK), blocks.keys, own, chunk)

    @cute.jit
    def queries(self, of_K, sums):
        """dQ = dS K, a chunk at a time, which is added to the sums in the workspace."""
        work, mma_dQ, (sK, loads_K) = self.work, self.mma_dQ, of_K
        thr_dQ = mma_dQ.get_slice(0)
        tQrdS = mma_dQ.make_fragment_A(thr_dQ.partition_A(transposed(self.sdS)))
        chunks = cute.local_tile(transposed(sK), (CHUNK, KEYS), (None, 0))
        tQrK = mma_dQ.make_fragment_B(thr_dQ.partition_B(chunks))
        dQ = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((QUERIES, CHUNK)))
        mma_dQ.set(warpgroup.Field.ACCUMULATE, False)
        loads_K.consumer_wait(visit(1, 0))
        for i in cutlass.range(work.total, unroll=1):
            state, there = visit(KEPT, i), sums.place(self.rank, i)
            self.hands_dS.consumer_wait(state)
            for chunk in cutlass.range(DEPTH // CHUNK, unroll=1):
                warpgroup.fence()
                cute.gemm(mma_dQ, dQ, tQrdS[None, None, None, state.index], tQrK[None, None, None, chunk], dQ)
                warpgroup.commit_group()
                warpgroup.wait_group(0)
                if chunk == DEPTH // CHUNK - 1:
                    self.hands_dS.consumer_release(state)
                sums.add(dQ, i, there, chunk)
        sums.finish()

    def rows_of(self):
        """What gives log2(e) L (0) or delta (1) of two of the thread's columns of scores."""
        return RowNumbers(self.sRows, self.mma_S.get_slice(self.thread()), KEYS)

    @cute.jit
    def multiply(self, stays, first, second, weigh, mSum, factor):
        """A warpgroup's products: scores of what stays with the first, and sums += weights by the second.

        Each is a tensor in shared memory and its stages. `weigh(scores, weights, i, tile)` is what becomes of the
        scores of round i; its result is called with the weights when the registers of those before are free.
        """
        (sStays, loads_stays), (sFirst, loads_first), (sSecond, loads_second) = stays, first, second
        work, mma_S, mma_dV, dtype = self.work, self.mma_S, self.mma_dV, sFirst.element_type
        thr_S, thr_dV = mma_S.get_slice(0), mma_dV.get_slice(0)
        tSrA = mma_S.make_fragment_A(thr_S.partition_A(sStays))
        tSrB = mma_S.make_fragment_B(thr_S.partition_B(sFirst))
        tVrB = mma_dV.make_fragment_B(thr_dV.partition_B(transposed(sSecond)))
        scores = mma_S.make_fragment_C(mma_S.partition_shape_C((KEYS, QUERIES)))
        sums = mma_dV.make_fragment_C(mma_dV.partition_shape_C((KEYS, DEPTH)))
        # Operand A belongs to the product under way, so the next weights have registers of their own.
        packed, found = (cute.make_fragment_like(scores, dtype) for _ in range(2))
        mma_S.set(warpgroup.Field.ACCUMULATE, False)

        def begin_scores(i):
            loads_first.consumer_wait(visit(STAGES, i))
            warpgroup.fence()
            cute.gemm(mma_S, scores, tSrA, tSrB[None, None, None, i & 1], scores)
            warpgroup.commit_group()

        def begin_sums(i):
            mma_dV.set(warpgroup.Field.ACCUMULATE, i != 0)
            cute.gemm(mma_dV, sums, as_operand_a(packed), tVrB[None, None, None, i & 1], sums)
            warpgroup.commit_group()

        loads_stays.consumer_wait(visit(1, 0))
        begin_scores(0)
        warpgroup.wait_group(0)
        tile = work.first
        hand_on = weigh(scores, found, 0, tile)
        loads_first.consumer_release(visit(STAGES, 0))
        packed.store(found.load())
        hand_on(packed)
        for i in cutlass.range(work.total - 1, unroll=1):
            loads_second.consumer_wait(visit(STAGES, i))
            begin_scores(i + 1)
            begin_sums(i)
            warpgroup.wait_group(1)  # for the scores
            tile = cute.where(tile == work.last, work.first, tile + 1)
            hand_on = weigh(scores, found, i + 1, tile)
            loads_first.consumer_release(visit(STAGES, i + 1))
            warpgroup.wait_group(0)  # for the sums
            loads_second.consumer_release(visit(STAGES, i))
            packed.store(found.load())
            hand_on(packed)
        loads_second.consumer_wait(visit(STAGES, work.total - 1))
        warpgroup.fence()
        begin_sums(work.total - 1)
        warpgroup.wait_group(0)
        pair, key_head, there = self.sums_at()
        there = cute.domain_offset((there.first_k, 0), mSum[there.batch, key_head, None, None])
        own = mma_dV.get_slice(self.thread())
        store(sums, factor, there, pair + self.rank, (KEYS, DEPTH), work.blocks.keys, own)

    @cute.jit
    def values(self, stays, first, second, mdV, scale):
        """P = exp(scale S - L), and dV += P^T dO."""
        blocks, block, hands_P, sP = self.work.blocks, self.work.block, self.hands_P, self.sP
        log2_sums, own = self.rows_of(), self.thread()
        _, power, _ = handed_on(first[0].element_type)
        places = rows_and_columns(self.mma_S.get_slice(own).partition_C(cute.make_identity_tensor((KEYS, QUERIES))))

        def weigh(scores, found, i, tile):
            state = visit(1, i, PRODUCER)
            hands_P.producer_acquire(state)
            exponentials(fours(scores), fours(found), i, block * KEYS, tile * QUERIES + blocks.shift)
            hands_P.producer_commit(state)
            return lambda packed: None

        @cute.jit
        def exponentials(scores, found, i, first_key, first_query):
            def sees(query, key):
                return blocks.sees(first_query + query, first_key + key)

            # The first round needs no second program.
            if cutlass.const_expr(isinstance(i, int)) or blocks.hides(first_key, first_query, KEYS):
                each(scores, found, i, sees)
            else:
                each(scores, found, i, None)

        def each(scores, found, i, sees):
            for t in cutlass.range_constexpr(QUERIES // 8):
                subtracted, weights = log2_sums.of(0, i & 1, t) - power, cute.make_rmem_tensor(4, cutlass.Float32)
                for r in cutlass.range_constexpr(2):
                    for c in cutlass.range_constexpr(2):
                        score = cute.math.fma(scores[2 * r + c, t], scale * LOG2_E, -subtracted[c])
                        weights[2 * r + c] = cute.math.exp2(score, fastmath=True)
                        if cutlass.const_expr(sees is not None):
                            key, query = places[r, (c, t)]
                            weights[2 * r + c] = cute.where(sees(query, key), weights[2 * r + c], 0.0)
                handed = cute.make_fragment_like(weights, sP.element_type)
                handed.store(weights.load().to(sP.element_type))
                cute.autovec_copy(handed, sP[None, t, own])
                found[None, t].store(weights.load().to(found.element_type))

        self.multiply(stays, first, second, weigh, mdV, 2.0**-power)

    @cute.jit
    def keys(self, stays, first, second, mdK, scale):
        """dS = P (dP - delta), and dK += dS^T Q."""
        hands_P, hands_dS, sP, sdS = self.hands_P, self.hands_dS, self.sP, self.sdS
        deltas, own = self.rows_of(), self.thread()
        store_op = cute.nvgpu.warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4)
        store_dS = cute.make_tiled_copy_C(cute.make_copy_atom(store_op, sdS.element_type), self.mma_S)
        dS_to = store_dS.get_slice(own).partition_D(sdS)

        def weigh(slopes, found, i, tile):
            slopes, weights = fours(slopes), fours(found)
            hands_P.consumer_wait(visit(1, i))
            for t in cutlass.range_constexpr(QUERIES // 8):
                subtracted, four = deltas.of(1, i & 1, t), cute.make_rmem_tensor(4, cutlass.Float32)
                handed = cute.make_fragment_like(four, sP.element_type)
                cute.autovec_copy(sP[None, t, own], handed)
                four.store(handed.load().to(cutlass.Float32))
                for r in cutlass.range_constexpr(2):
                    for c in cutlass.range_constexpr(2):
                        four[2 * r + c] = four[2 * r + c] * (slopes[2 * r + c, t] - subtracted[c])
                weights[None, t].store(four.load().to(weights.element_type))
            hands_P.consumer_release(visit(1, i))

            def hand_on(packed):
                state = visit(KEPT, i, PRODUCER)
                hands_dS.producer_acquire(state)
                cute.copy(store_dS, store_dS.retile(packed), dS_to[None, None, None, state.index])
                cute.arch.fence_proxy("async.shared", space="cta")
                hands_dS.producer_commit(state)

            return hand_on

        _, power, _ = handed_on(sdS.element_type)
        self.multiply(stays, first, second, weigh, mdK, scale * 2.0**-power)


@cute.jit
def attention_backward(
    mQ: cute.Tensor, mK: cute.Tensor, mV: cute.Tensor, mO: cute.Tensor, mdO: cute.Tensor, mL: cute.Tensor,
    mdQ: cute.Tensor, mdK: cute.Tensor, mdV: cute.Tensor, mRows: cute.Tensor, mSums: cute.Tensor, mTurns: cute.Tensor,
    scale: cutlass.Float32, left, right, starts_q=None, starts_k=None, max_q=None, max_k=None,
    is_ordered: cutlass.Constexpr = True,
):  # fmt: skip
    """The arguments are those of attention_backward's function."""
    dtype = mQ.element_type
    if mQ.shape[3] != DEPTH:
        raise ValueError(f"attention_backward: mQ has D = {mQ.shape[3]}; expected {DEPTH}, known while tracing")
    sQ_layout, sK_layout, sdS_layout = layouts(dtype, DEPTH, KEYS, STAGES, KEPT)
    # Half of the depth at a time: all of it would be an instruction with more registers than a thread begins with.
    mma_S, mma_dV = product(dtype, QUERIES, K, K), product(dtype, DEPTH // 2, K, MN, RMEM)
    mma_dQ = product(dtype, CHUNK, MN, MN)

    (load_Q, gQ), (load_dO, gdO) = (loads(x, sQ_layout, CTAS) for x in (mQ, mdO))
    (load_K, gK), (load_V, gV) = (loads(x, sK_layout) for x in (mK, mV))
    put_dQ, add_dQ, gSums = adding(mSums, dtype)
    (batches, heads, queries, _), (_, key_heads, keys, _) = mQ.shape, mK.shape
    if cutlass.const_expr(starts_q is not None):
        batches, queries, keys = cute.size(starts_q) - 1, max_q, max_k
    tiles = [cute.ceil_div(queries, QUERIES), heads, batches]
    prepare_kernel(mO, mdO, mL, mRows, mSums, mTurns, mQ, mK, starts_q, starts_k, is_ordered).launch(
        grid=tiles, block=[256, 1, 1]
    )
    pairs = cute.ceil_div(keys, KEYS * CTAS)
    order = order_of(mQ, mK, queries, batches, pairs, is_ordered, CTAS)
    backward_kernel(
        load_Q, gQ, load_dO, gdO, load_K, gK, load_V, gV, mRows, put_dQ, add_dQ, gSums, mTurns, mQ, mK, mdK, mdV,
        scale, left, right, starts_q, starts_k, order, sQ_layout, sK_layout, sdS_layout, mma_S, mma_dV, mma_dQ,
        is_ordered,
    ).launch(
        grid=[CTAS * pairs * key_heads * batches, 1, 1], block=[512, 1, 1], cluster=[CTAS, 1, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip
    finish_kernel(mSums, mdQ, mQ, mK, scale, left, right, starts_q, starts_k, mma_dQ).launch(
        grid=tiles, block=[128, 1, 1]
    )


def workspace(q, starts_q=None):
    """What the kernels keep between them: numbers of queries, sums of dQ, whose turn it is to add, who has begun."""
    tiles, depth = workspace_tiles(q, starts_q), q.shape[3]
    return (
        torch.empty(tiles, 2, QUERIES, device=q.device, dtype=torch.float32),
        torch.empty(tiles * CTAS * QUERIES * depth // ROW, ROW, device=q.device, dtype=torch.float32),
        torch.empty(tiles * CTAS + 1, device=q.device, dtype=torch.int32),
    )


# dtype, batches, heads, heads of keys, queries, keys, depth, left, right
CASES = (
    (torch.bfloat16, 1, 2, 1, 100, 150, 256, None, 0),
    (torch.float16, 1, 1, 1, 130, 200, 256, 40, 10),
)


def problem(device):
    """A small call of the host function, for a look at it."""
    tensors, _ = operands(*CASES[0], device)
    gradients = [torch.empty_like(x) for x in tensors[:3]]
    arguments = map(argument, (*tensors, *gradients, *workspace(tensors[0])))
    return attention_backward, *arguments, DEPTH**-0.5, None, 0


def check(device: str) -> None:
    for case in CASES:
        compare(attention_backward, workspace, case, device)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
