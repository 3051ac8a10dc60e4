"""The backward pass of attention for D 256: warpgroups that have different products, and pairs of blocks.

What to learn: the sums dK and dV of 64 keys and D 256 fill half of the registers of a multiprocessor. So three
warpgroups have a product each that stays in registers, and hand on what the others need:

    dV += P^T dO    with P = exp(scale S - L), S = Q K^T, hands P on in fp32: a thread's numbers to the same thread
    dK += dS^T Q    with dS = P (dP - delta), dP = dO V^T, hands dS on in 16 bits
    dQ  = dS K      in quarters, which it adds to the sums in global memory

The first two are one loop: the next scores are begun beside the sums with these, so that the tensor cores always have
something to do. Their scores are transposed, as in attention_backward, whose other parts this program shares.

Few keys for many queries mean much traffic with the L2 cache. So two blocks are a cluster: each fetches half of a tile
of Q and of dO for both. Each of the two adds to sums of its own, which are added up at the end: that halves the length
of the queue in which blocks wait for their turns.
"""

from __future__ import annotations

import math

import torch
from tilewright.examples.attention_backward import (
    LOG2_E,
    QUERIES,
    STAGES,
    Blocks,
    Order,
    argument,
    operands,
    order_of,
    prepare_kernel,
    store,
    transposed,
    workspace_tiles,
)

import tilewright as cutlass
from tilewright import cute, pipeline
from tilewright.cute.nvgpu import cpasync, warpgroup
from tilewright.utils.accumulators import as_operand_a, rows_and_columns

PICTURE = "S<3,3,3> o 0 o (8,64):(64,1)"  # 8 rows of 64 elements of Q, K, V, dO or dS in shared memory
DEPTH = 256
KEYS = 64  # of a block of threads
CTAS = 2  # of a cluster: neighbouring blocks of keys
KEPT = 2  # stages of dS
CHUNK = 64  # of the depth, of which dQ is computed at a time
PARTS = 1  # of the depth that have turns of their own: each costs two fences, which wait for all that was added before
TURNS = 4  # that are known ahead
NUMBERS = QUERIES * CHUNK // 128  # that a thread has of a chunk, or of scores
THREADS = 512
REGISTERS = 216, 208, 64, 24  # of a thread that has dV, that has dK, that has dQ, and of the others

K, MN = warpgroup.OperandMajorMode.K, warpgroup.OperandMajorMode.MN
SMEM, RMEM = warpgroup.OperandSource.SMEM, warpgroup.OperandSource.RMEM
PRODUCER, CONSUMER = 1, 0  # parities of the first visit to a stage


def visit(stages, n, parity=CONSUMER):
    """The n-th visit to some stages, a power of two: it is found anew each time, for registers are few."""
    phase = (n >> (stages.bit_length() - 1)) & 1 ^ parity
    return pipeline.PipelineState(stages, 0, n & (stages - 1), phase)


@cute.kernel
def backward_kernel(
    load_Q: cute.CopyAtom, gQ: cute.Tensor, load_dO: cute.CopyAtom, gdO: cute.Tensor, load_K: cute.CopyAtom,
    gK: cute.Tensor, load_V: cute.CopyAtom, gV: cute.Tensor, mRows: cute.Tensor, mSums: cute.Tensor,
    mTurns: cute.Tensor, mQ: cute.Tensor, mK: cute.Tensor, mdK: cute.Tensor, mdV: cute.Tensor, scale: cutlass.Float32,
    left, right, starts_q, starts_k, order: Order, sQ_layout: cute.ComposedLayout, sK_layout: cute.ComposedLayout,
    sdS_layout: cute.ComposedLayout, mma_S: cute.TiledMma, mma_dV: cute.TiledMma, mma_dQ: cute.TiledMma,
    is_ordered: cutlass.Constexpr,
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
    sP = storage.allocate_tensor(cutlass.Float32, sP, 128)
    sRows = storage.allocate_tensor(cutlass.Float32, cute.make_layout((QUERIES, 2, STAGES)), 128)
    sNumber = storage.allocate_tensor(cutlass.Int32, cute.make_layout(1))

    if tidx == 0 and rank == 0:
        number, _, _ = cute.arch.cluster_idx()
        if cutlass.const_expr(is_ordered):
            # In whatever order a device starts clusters: those whose turn is before have begun.
            number = cute.arch.atomic_add(mTurns.iterator + (cute.size(mTurns) - 1), cutlass.Int32(1))
        sNumber[0] = number

    cluster = cute.make_layout((1, CTAS, 1, 1))

    def threads(count):
        return pipeline.CooperativeGroup(pipeline.Agent.Thread, count)

    def fetched(count, size, ctas):
        return pipeline.PipelineTmaAsync.create(
            num_stages=count, producer_group=threads(1), consumer_group=threads(8 * ctas), tx_count=size,
            barrier_storage=storage.allocate_array(cutlass.Int64, 2 * count),
            cta_layout_vmnk=cluster if ctas > 1 else None, defer_sync=True,
        )  # fmt: skip

    def handed(count, producers, consumers):
        return pipeline.PipelineAsync.create(
            num_stages=count, producer_group=threads(producers), consumer_group=threads(consumers),
            barrier_storage=storage.allocate_array(cutlass.Int64, 2 * count), defer_sync=True,
        )  # fmt: skip

    round_bytes = cute.size_in_bytes(dtype, sQ_layout) // STAGES + 4 * QUERIES
    loads_Q, loads_dO = (fetched(STAGES, round_bytes, CTAS) for _ in range(2))
    loads_K, loads_V = (fetched(1, cute.size_in_bytes(dtype, sK_layout), 1) for _ in range(2))
    hands_P, hands_dS = handed(1, 128, 128), handed(KEPT, 128, 128)
    turns, adds = handed(TURNS, 32, 128), handed(TURNS, 128, 32)
    pipeline.pipeline_init_arrive(cluster)
    pipeline.pipeline_init_wait(cluster)

    def place():
        """The first block of keys of the cluster, the head and the batch."""
        number = cute.make_tensor(cute.arch.mapa(sNumber.iterator, 0), cute.make_layout(1))
        pair, key_head, batch = order.of(cute.arch.make_warp_uniform(number[0]), is_ordered)
        return pair * CTAS, key_head, batch

    first_block, key_head, batch = place()
    block = first_block + rank
    blocks = Blocks(mQ, mK, left, right, starts_q, starts_k, batch, KEYS)
    first, last = blocks.tiles_that_see(first_block, CTAS)
    rounds = cutlass.max(0, last - first + 1)
    total = group * rounds

    def load():
        """A warp brings K and V once, and for each round half of Q and dO, and all of their rows' numbers."""

        def tiles(atom, tensor, shared, first, head, ctas):
            tensor = cute.domain_offset((first, 0), tensor[None, None, head, blocks.batch])
            tensor = cute.local_tile(tensor, cute.product_each(shared.shape)[:2], (None, 0))
            part = rank if ctas > 1 else 0
            shared, tensor = (cute.group_modes(x, 0, 2) for x in (shared, tensor))
            return cpasync.tma_partition(atom, part, cute.make_layout(ctas), shared, tensor)

        numbers = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)

        def fetch_block(pipe, atom, tensor, shared):
            state = visit(1, 0, PRODUCER)
            pipe.producer_acquire(state)
            to, at = tiles(atom, tensor, shared, blocks.first_k, key_head, 1)
            cute.copy(atom, at[None, block], to, tma_bar_ptr=pipe.producer_get_barrier(state))

        def fetch(pipe, atom, to, at, which, tile, row, state):
            pipe.producer_acquire(state)
            barrier = pipe.producer_get_barrier(state)
            mask = (1 << CTAS) - 1
            cute.copy(atom, at[None, tile], to[None, state.index], tma_bar_ptr=barrier, mcast_mask=mask)
            cute.copy(numbers, mRows[row, which, None], sRows[None, which, state.index], mbar_ptr=barrier)

        fetch_block(loads_K, load_K, gK, sK)
        fetch_block(loads_V, load_V, gV, sV)
        for member in cutlass.range(group, unroll=1):
            head = key_head * group + member
            sQ_to, sQ_at = tiles(load_Q, gQ, sQ, blocks.first_q, head, CTAS)
            sdO_to, sdO_at = tiles(load_dO, gdO, sdO, blocks.first_q, head, CTAS)
            for i in cutlass.range(rounds, unroll=1):
                row, state = blocks.workspace_tile(head, first + i), visit(STAGES, member * rounds + i, PRODUCER)
                fetch(loads_Q, load_Q, sQ_to, sQ_at, 0, first + i, row, state)
                fetch(loads_dO, load_dO, sdO_to, sdO_at, 1, first + i, row, state)

    def added_by(i):
        """Which sums round i adds to, how many blocks add before this one, and whether it sees the tile at all."""
        tile = first + i % rounds
        low, high = blocks.blocks_seen_by(tile)
        at = blocks.workspace_tile(key_head * group + i // rounds, tile) * CTAS + rank
        before = (high - block) // CTAS if is_ordered else cutlass.Int32(1)
        return at, before, cutlass.and_(low <= block, block <= high)

    def watch():
        """A warp waits for the turns of each round, and tells the warpgroup that adds."""
        for i in cutlass.range(total, unroll=1):
            at, before, is_seen = added_by(i)
            for part in cutlass.range_constexpr(PARTS):
                state = visit(TURNS, i * PARTS + part, PRODUCER)
                turns.producer_acquire(state)
                if cutlass.and_(cute.arch.lane_idx() == 0, is_seen):
                    while cute.arch.atomic_add(mTurns.iterator + (at * PARTS + part), 0) < before:
                        pass
                    cute.arch.fence_acq_rel_gpu()
                cute.arch.sync_warp()
                turns.producer_commit(state)

    def publish(part):
        """A warp tells the blocks whose turn is next that a part has been added."""
        for i in cutlass.range(total, unroll=1):
            at, _, is_seen = added_by(i)
            state = visit(TURNS, i * PARTS + part)
            adds.consumer_wait(state)
            if cutlass.and_(cute.arch.lane_idx() == 0, is_seen):
                cute.arch.fence_acq_rel_gpu()
                cute.arch.atomic_add(mTurns.iterator + (at * PARTS + part), 1)
            cute.arch.sync_warp()
            adds.consumer_release(state)

    def thread():
        """The thread's number in its warpgroup, found where it is needed: registers are few."""
        return warp_idx % 4 * 32 + cute.arch.lane_idx()

    def queries():
        """dQ = dS K, a chunk at a time, which is added to the sums in the workspace: the first block stores."""
        thr_dQ, own = mma_dQ.get_slice(0), thread()
        tQrdS = mma_dQ.make_fragment_A(thr_dQ.partition_A(transposed(sdS)))
        chunks = cute.local_tile(transposed(sK), (CHUNK, KEYS), (None, 0))
        tQrK = mma_dQ.make_fragment_B(thr_dQ.partition_B(chunks))
        dQ = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((QUERIES, CHUNK)))
        mma_dQ.set(warpgroup.Field.ACCUMULATE, False)
        loads_K.consumer_wait(visit(1, 0))

        @cute.jit
        def add(sums, before, is_seen):
            if cutlass.and_(is_seen, before == 0):
                for j in cutlass.range_constexpr(NUMBERS):
                    sums[j] = dQ[j]
            elif is_seen:
                for j in cutlass.range_constexpr(NUMBERS):
                    cute.arch.atomic_add(sums.iterator + sums.layout(j), dQ[j])

        for i in cutlass.range(total, unroll=1):
            at, before, is_seen = added_by(i)
            state = visit(KEPT, i)
            hands_dS.consumer_wait(state)
            for chunk in cutlass.range(DEPTH // CHUNK, unroll=1):
                part, within = chunk // (DEPTH // CHUNK // PARTS), chunk % (DEPTH // CHUNK // PARTS)
                warpgroup.fence()
                cute.gemm(mma_dQ, dQ, tQrdS[None, None, None, state.index], tQrK[None, None, None, chunk], dQ)
                warpgroup.commit_group()
                warpgroup.wait_group(0)
                if chunk == DEPTH // CHUNK - 1:
                    hands_dS.consumer_release(state)
                if cutlass.const_expr(is_ordered) and within == 0:
                    turn = visit(TURNS, i * PARTS + part)
                    turns.consumer_wait(turn)
                    turns.consumer_release(turn)
                add(of_thread(mSums, at, chunk, own), before, is_seen)
                if cutlass.const_expr(is_ordered) and within == DEPTH // CHUNK // PARTS - 1:
                    done = visit(TURNS, i * PARTS + part, PRODUCER)
                    adds.producer_acquire(done)
                    adds.producer_commit(done)

    def rows_of(which):
        """What gives log2(e) L (0) or delta (1) of two of the thread's columns of scores."""
        # The numbers of queries are the same for each key.
        spread = cute.make_layout((KEYS, QUERIES, 2, STAGES), stride=(0, 1, QUERIES, 2 * QUERIES))
        spread = mma_S.get_slice(thread()).partition_C(cute.make_tensor(sRows.iterator, spread))

        def numbers(i, tile):
            row = rows_and_columns(spread[None, None, None, which, i & 1])[0, (None, tile)]
            held = cute.make_fragment_like(row)
            cute.autovec_copy(row, held)
            return held.load()

        return numbers

    def multiply(sStays, loads_stays, sFirst, loads_first, sSecond, loads_second, weigh, mSum, factor):
        """A warpgroup's products: scores of what stays with the first, and sums += weights by the second.

        `weigh(scores, weights, i, tile)` is what becomes of the scores of round i; its result is called with the
        weights when the registers of those before are free.
        """
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
        tile = first
        hand_on = weigh(scores, found, 0, tile)
        loads_first.consumer_release(visit(STAGES, 0))
        packed.store(found.load())
        hand_on(packed)
        for i in cutlass.range(total - 1, unroll=1):
            loads_second.consumer_wait(visit(STAGES, i))
            begin_scores(i + 1)
            begin_sums(i)
            warpgroup.wait_group(1)  # for the scores
            tile = cute.where(tile == last, first, tile + 1)
            hand_on = weigh(scores, found, i + 1, tile)
            loads_first.consumer_release(visit(STAGES, i + 1))
            warpgroup.wait_group(0)  # for the sums
            loads_second.consumer_release(visit(STAGES, i))
            packed.store(found.load())
            hand_on(packed)
        loads_second.consumer_wait(visit(STAGES, total - 1))
        warpgroup.fence()
        begin_sums(total - 1)
        warpgroup.wait_group(0)
        # Where it is, once more: registers are few.
        pair, key_head, batch = place()
        there = Blocks(mQ, mK, left, right, starts_q, starts_k, batch, KEYS)
        there = cute.domain_offset((there.first_k, 0), mSum[there.batch, key_head, None, None])
        store(sums, factor, there, pair + rank, (KEYS, DEPTH), blocks.keys, mma_dV.get_slice(thread()))

    def values():
        """P = exp(scale S - L), and dV += P^T dO."""
        log2_sums, own = rows_of(0), thread()
        places = rows_and_columns(mma_S.get_slice(own).partition_C(cute.make_identity_tensor((KEYS, QUERIES))))

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
                subtracted, weights = log2_sums(i, t), cute.make_rmem_tensor(4, cutlass.Float32)
                for r in cutlass.range_constexpr(2):
                    for c in cutlass.range_constexpr(2):
                        score = cute.math.fma(scores[2 * r + c, t], scale * LOG2_E, -subtracted[c])
                        weights[2 * r + c] = cute.math.exp2(score, fastmath=True)
                        if cutlass.const_expr(sees is not None):
                            key, query = places[r, (c, t)]
                            weights[2 * r + c] = cute.where(sees(query, key), weights[2 * r + c], 0.0)
                cute.autovec_copy(weights, sP[None, t, own])
                found[None, t].store(weights.load().to(dtype))

        multiply(sK, loads_K, sQ, loads_Q, sdO, loads_dO, weigh, mdV, 1.0)

    def keys():
        """dS = P (dP - delta), and dK += dS^T Q."""
        deltas, own = rows_of(1), thread()
        store_op = cute.nvgpu.warp.StMatrix8x8x16bOp(transpose=False, num_matrices=4)
        store_dS = cute.make_tiled_copy_C(cute.make_copy_atom(store_op, dtype), mma_S)
        dS_to = store_dS.get_slice(own).partition_D(sdS)

        def weigh(slopes, found, i, tile):
            slopes, weights = fours(slopes), fours(found)
            hands_P.consumer_wait(visit(1, i))
            for t in cutlass.range_constexpr(QUERIES // 8):
                subtracted, four = deltas(i, t), cute.make_rmem_tensor(4, cutlass.Float32)
                cute.autovec_copy(sP[None, t, own], four)
                for r in cutlass.range_constexpr(2):
                    for c in cutlass.range_constexpr(2):
                        four[2 * r + c] = four[2 * r + c] * (slopes[2 * r + c, t] - subtracted[c])
                weights[None, t].store(four.load().to(dtype))
            hands_P.consumer_release(visit(1, i))

            def hand_on(packed):
                state = visit(KEPT, i, PRODUCER)
                hands_dS.producer_acquire(state)
                cute.copy(store_dS, store_dS.retile(packed), dS_to[None, None, None, state.index])
                cute.arch.fence_proxy("async.shared", space="cta")
                hands_dS.producer_commit(state)

            return hand_on

        multiply(sV, loads_V, sdO, loads_dO, sQ, loads_Q, weigh, mdK, scale)

    if first_block < blocks.tiles_k:
        if total == 0:
            if warp_idx < 4:
                zeros = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((KEYS, CHUNK)))
                zeros.fill(0.0)
                for tensor in (mdK, mdV):
                    there = cute.domain_offset((blocks.first_k, 0), tensor[blocks.batch, key_head, None, None])
                    for chunk in cutlass.range(DEPTH // CHUNK, unroll=1):
                        own = mma_dQ.get_slice(thread())
                        store(zeros, 1.0, there, block, (KEYS, CHUNK), blocks.keys, own, chunk)
        elif warp_idx < 4:
            cute.arch.setmaxregister_increase(REGISTERS[0])
            values()
        elif warp_idx < 8:
            cute.arch.setmaxregister_increase(REGISTERS[1])
            keys()
        elif warp_idx < 12:
            cute.arch.setmaxregister_decrease(REGISTERS[2])
            queries()
        else:
            cute.arch.setmaxregister_decrease(REGISTERS[3])
            if warp_idx == 12:
                load()
            if cutlass.const_expr(is_ordered):
                if warp_idx == 13:
                    watch()
                for part in cutlass.range_constexpr(PARTS):
                    if warp_idx == 14 + part:
                        publish(part)
    # The other block may still fetch for this one, and tell its barriers.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


def fours(acc):
    """Accumulators as vectors of 16 bytes: two rows of two columns."""
    return cute.make_tensor(acc.iterator, cute.make_layout((4, cute.size(acc) // 4)))


def of_thread(mSums, at, chunk, tidx):
    """Where a thread's accumulators of a chunk lie in the workspace: beside its neighbours'."""
    layout = cute.make_layout((NUMBERS, 128, DEPTH // CHUNK), stride=(128, 1, QUERIES * CHUNK))
    first = mSums.iterator + cutlass.Int64(at) * (QUERIES * DEPTH)
    return cute.make_tensor(first, layout)[None, tidx, chunk]


@cute.kernel
def finish_kernel(
    mSums: cute.Tensor, mdQ: cute.Tensor, mQ: cute.Tensor, mK: cute.Tensor, scale: cutlass.Float32, left, right,
    starts_q, starts_k, mma_dQ: cute.TiledMma,
):  # fmt: skip
    """dQ from the sums of the two blocks of clusters, which lie as the threads of the product had them."""
    tidx, _, _ = cute.arch.thread_idx()
    tile, head, batch = cute.arch.block_idx()
    blocks = Blocks(mQ, mK, left, right, starts_q, starts_k, batch, KEYS)
    if tile < blocks.tiles_q:
        low, high = blocks.blocks_seen_by(tile)
        found = cute.domain_offset((blocks.first_q, 0), mdQ[blocks.batch, head, None, None])
        for chunk in cutlass.range_constexpr(DEPTH // CHUNK):
            dQ = mma_dQ.make_fragment_C(mma_dQ.partition_shape_C((QUERIES, CHUNK)))
            dQ.fill(0.0)
            for rank in cutlass.range_constexpr(CTAS):
                if high - (high - rank) % CTAS >= low:  # the last block of that rank
                    sums = of_thread(mSums, blocks.workspace_tile(head, tile) * CTAS + rank, chunk, tidx)
                    for j in cutlass.range_constexpr(NUMBERS):
                        dQ[j] = dQ[j] + sums[j]
            store(dQ, scale, found, tile, (QUERIES, CHUNK), blocks.queries, mma_dQ.get_slice(tidx), chunk)


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
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, dtype)
    sQ_layout = cute.tile_to_shape(atom, (QUERIES, DEPTH, STAGES), (0, 1, 2))
    sK_layout = cute.tile_to_shape(atom, (KEYS, DEPTH), (0, 1))
    sdS_layout = cute.tile_to_shape(atom, (KEYS, QUERIES, KEPT), (0, 1, 2))

    def product(n, a, source=SMEM, b=MN):
        return cute.make_tiled_mma(warpgroup.MmaF16BF16Op(dtype, cutlass.Float32, (64, n, 16), source, a, b))

    # Half of the depth at a time: all of it would be an instruction with more registers than a thread begins with.
    mma_S, mma_dV, mma_dQ = product(QUERIES, K, b=K), product(DEPTH // 2, K, RMEM), product(CHUNK, MN)

    def loads(tensor, layout, ctas=1):
        layout = cute.slice_(layout, (None, None, 0)) if cute.rank(layout) == 3 else layout
        rows_first = cute.make_tensor(tensor.iterator, cute.select(tensor.layout, [2, 3, 1, 0]))
        op = cpasync.CopyBulkTensorTileG2SMulticastOp() if ctas > 1 else cpasync.CopyBulkTensorTileG2SOp()
        shape = cute.product_each(layout.shape)
        return cpasync.make_tiled_tma_atom(op, rows_first, layout, shape, num_multicast=ctas)

    load_Q, gQ = loads(mQ, sQ_layout, CTAS)
    load_dO, gdO = loads(mdO, sQ_layout, CTAS)
    load_K, gK = loads(mK, sK_layout)
    load_V, gV = loads(mV, sK_layout)
    (batches, heads, queries, _), (_, key_heads, keys, _) = mQ.shape, mK.shape
    if cutlass.const_expr(starts_q is not None):
        batches, queries, keys = cute.size(starts_q) - 1, max_q, max_k
    tiles = [cute.ceil_div(queries, QUERIES), heads, batches]
    prepare_kernel(mO, mdO, mL, mRows, mSums, mTurns, mQ, mK, starts_q, starts_k, is_ordered).launch(
        grid=tiles, block=[256, 1, 1]
    )
    pairs = cute.ceil_div(keys, KEYS * CTAS)
    order = order_of(mQ, mK, queries, batches, pairs, is_ordered)
    arguments = (
        load_Q, gQ, load_dO, gdO, load_K, gK, load_V, gV, mRows, mSums, mTurns, mQ, mK, mdK, mdV, scale, left, right,
        starts_q, starts_k, order, sQ_layout, sK_layout, sdS_layout, mma_S, mma_dV, mma_dQ, is_ordered,
    )  # fmt: skip
    backward_kernel(*arguments).launch(
        grid=[CTAS * pairs * key_heads * batches, 1, 1], block=[THREADS, 1, 1], cluster=[CTAS, 1, 1],
        min_blocks_per_mp=1,
    )  # fmt: skip
    finish_kernel(mSums, mdQ, mQ, mK, scale, left, right, starts_q, starts_k, mma_dQ).launch(
        grid=tiles, block=[128, 1, 1]
    )


def workspace(q, starts_q=None):
    """What the kernels keep between them: numbers of queries, sums of dQ, whose turn it is to add, who has begun."""
    tiles, depth = workspace_tiles(q, starts_q), q.shape[3]
    return (
        torch.empty(tiles, 2, QUERIES, device=q.device),
        torch.empty(tiles * CTAS * QUERIES, depth, device=q.device),
        torch.empty(tiles * CTAS * PARTS + 1, device=q.device, dtype=torch.int32),
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
        (q, *_), expected = tensors, expected = operands(*case, device)
        gradients = [torch.full_like(x, math.nan) for x in tensors[:3]]
        arguments = map(argument, (*tensors, *gradients, *workspace(q)))
        attention_backward(*arguments, DEPTH**-0.5, *case[7:])
        for found, wanted in zip(gradients, expected, strict=True):
            torch.testing.assert_close(found, wanted.to(found.dtype), rtol=2e-2, atol=1e-2)


if __name__ == "__main__":
    check("cuda" if torch.cuda.is_available() else "cpu")
