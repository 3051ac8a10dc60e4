"""The rows of a tile of attention's decoding: Q into shared memory, what warps and parts have of O brought together."""

from __future__ import annotations

import math

import tilewright as cutlass
from tilewright import cute
from tilewright.utils.softmax import merge_states

ROWS, WARPS = 16, 4  # of a tile: heads and queries; that attend
VECTOR, WIDE = 4, 8  # columns of a row that a thread has when warps meet, and when parts do: one pass for 8 rows of 128
LOG2_E = math.log2(math.e)


def synchronize():
    """A barrier of the warps that attend."""
    cute.arch.barrier(barrier_id=1, number_of_threads=32 * WARPS)


@cute.jit
def load_rows(
    mQ: cute.Tensor, head: cutlass.Int32, tile: cutlass.Int32, group: cutlass.Int32, sQ: cute.Tensor,
    tidx: cutlass.Int32,
):  # fmt: skip
    """The rows of a tile into shared memory, with zeros for those that do not exist."""
    across = mQ.shape[2] // 8  # threads of a row, each 16 bytes of it
    for i in cutlass.range_constexpr(ROWS * across // (32 * WARPS)):
        row = tidx // across + i * (32 * WARPS // across)
        query, which = divide(tile * ROWS + row, group)
        values = cute.make_rmem_tensor(8, mQ.element_type)
        values.fill(0.0)
        if query < mQ.shape[1]:
            source = cute.local_tile(mQ[head * group + which, query, None], (8,), (tidx % across,))
            values.store(source.load())
        cute.local_tile(sQ, (1, 8), (row, tidx % across))[0, None].store(values.load())


def divide(row, group):
    """(query, head of the group) of a row."""
    return row // group, row % group


def columns(row, column, count):
    """So many columns of a row, in vectors as far apart as they are in the whole row."""
    vectors = count // VECTOR
    return cute.local_tile(cute.logical_divide(row, cute.size(row) // vectors), (VECTOR, vectors), (column, 0))


def read_state(mSums, mStats, head, tile, row, column):
    """What gives the state of a row that a part has left."""
    return lambda slot: (
        mStats[slot, head, tile, row],
        columns(mSums[slot, head, tile, row, None], column, WIDE).load(),
    )


@cute.jit
def finish(logarithm, values, mO, mL, batch, head, tile, group, row, column):
    """O and L of a row."""
    query, which = divide(tile * ROWS + row, group)
    to = columns(mO[batch, head * group + which, query, None], column, cute.size(values.shape))
    to.store(values.to(mO.element_type))
    if column == 0:
        mL[batch, head * group + which, query] = logarithm * (1 / LOG2_E)


@cute.jit
def save(segment, out, kept, sStats, sSums, head, tile, group, queries, tidx):
    """What a row has seen: a sequence that parts share has such a state of each."""
    (mO, mL), (mSums, mStats), depth = out, kept, cute.size(sSums, mode=[1])
    for i in cutlass.range(ROWS * depth // (32 * WARPS * VECTOR), unroll=1):
        row, column = divide(tidx + i * 32 * WARPS, depth // VECTOR)
        if tile * ROWS + row < queries * group:
            logarithm, values = merge_states(
                [(sStats[row, w], columns(sSums[row, None, w], column, VECTOR).load()) for w in range(WARPS)]
            )
            if segment.is_whole:
                finish(logarithm, values, mO, mL, segment.item, head, tile, group, row, column)
            else:
                columns(mSums[segment.slot, head, tile, row, None], column, VECTOR).store(values)
                if column == 0:
                    mStats[segment.slot, head, tile, row] = logarithm


@cute.jit
def join(segment, splits, out, kept, mArrivals, sArrived, head, tile, group, queries, tidx):
    """Who arrives last at a sequence combines what is there, in the order of the keys."""
    (mO, mL), (mSums, mStats), depth = out, kept, cute.size(out[0], mode=[3])
    synchronize()
    arrivals = mArrivals[segment.first_part, head, None]
    if tidx == 0:
        # What the block has written comes before its arrival, and what it reads behind those of others.
        sArrived[0] = cute.arch.atomic_add(arrivals.iterator + tile, 1, sem="acq_rel", scope="gpu")
    synchronize()
    if sArrived[0] == segment.last_part - segment.first_part:
        for i in cutlass.range(ROWS * depth // (32 * WARPS * WIDE), unroll=1):
            row, column = divide(tidx + i * 32 * WARPS, depth // WIDE)
            if tile * ROWS + row < queries * group:
                read = read_state(mSums, mStats, head, tile, row, column)
                logarithm, values = splits.merge(segment.first_part, segment.last_part, read)
                finish(logarithm, values, mO, mL, segment.item, head, tile, group, row, column)
        if tidx == 0:
            cute.arch.atomic_exch(arrivals.iterator + tile, 0)  # for the next call
