"""The sums of dQ in attention's backward pass for D 256: how they lie in the workspace, and how a warp adds to them."""

from __future__ import annotations

from tilewright.examples.attention.backward_blocks import QUERIES
from tilewright.examples.attention.pairs import DEPTH, ROW, ROWS, TURNS, added_by, handed_on
from tilewright.examples.attention.stages import PRODUCER, visit

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync


def adding(mSums, dtype):
    """How TMA stores rows of the workspace, and adds to them."""
    _, _, rows = handed_on(dtype)
    part = cute.make_layout((rows, ROW), stride=(ROW, 1))
    put_dQ, gSums = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), mSums, part, part.shape)
    add_dQ, _ = cpasync.make_tiled_tma_atom(cpasync.CopyReduceBulkTensorTileS2GOp(), mSums, part, part.shape)
    return put_dQ, add_dQ, gSums


class Sums:
    """The way of a warp's part of dQ to the workspace: rows in shared memory, which TMA stores or adds, some at once.

    Plain reductions would need no shared memory, but a fence that waits for them stops all warps of a multiprocessor.
    """

    def __init__(self, work, turns, adds, put_dQ, add_dQ, gSums, sSums, warp):
        """turns: told by watch; adds: told to publish; sSums: (what TMA adds at once, warps)."""
        self.work, self.turns, self.adds, self.warp = work, turns, adds, warp
        self.put_dQ, self.add_dQ, self.rows = put_dQ, add_dQ, cute.size(sSums, mode=[0]) // ROW
        rows = cute.make_layout((self.rows, ROW, 4), stride=(ROW, 1, self.rows * ROW))
        rows, to = cute.make_tensor(sSums.iterator, rows), cute.local_tile(gSums, (self.rows, ROW), (None, 0))
        rows, to = (cute.group_modes(x, 0, 2) for x in (rows, to))
        rows, self.to = cpasync.tma_partition(put_dQ, 0, cute.make_layout(1), rows, to)
        self.src = rows[None, warp]
        self.own = of_lane(sSums[None, warp].iterator, self.rows, cute.arch.lane_idx())

    def place(self, rank, i):
        """What a round adds to, as added_by says it: it is found once for all chunks."""
        return added_by(self.work, rank, i)

    @cute.jit
    def add(self, dQ, i, there, chunk):
        """A chunk of dQ of round i, when it is the block's turn: the first block stores."""
        pieces = cute.make_tensor(dQ.iterator, cute.make_layout((*self.own.shape, ROWS // self.rows)))
        at, before, is_seen = there
        if cutlass.const_expr(self.work.is_ordered) and chunk == 0:
            self.turns.consumer_wait(visit(TURNS, i))
            self.turns.consumer_release(visit(TURNS, i))
            cute.arch.fence_proxy("async.global")
        for piece in cutlass.range_constexpr(ROWS // self.rows):
            cute.arch.cp_async_bulk_wait_group(0, read=True)
            cute.arch.sync_warp()
            cute.autovec_copy(pieces[None, None, piece], self.own)
            cute.arch.fence_proxy("async.shared", space="cta")
            cute.arch.sync_warp()
            row = row_of(at, chunk, self.warp) // self.rows + piece
            if cutlass.and_(is_seen, before == 0):
                cute.copy(self.put_dQ, self.src, self.to[None, row])
            elif is_seen:
                cute.copy(self.add_dQ, self.src, self.to[None, row])
            cute.arch.cp_async_bulk_commit_group()
        if cutlass.const_expr(self.work.is_ordered) and chunk == 0 and i != 0:
            self.tell(i - 1, ROWS // self.rows)  # by now they have arrived: to wait before would cost time

    @cute.jit
    def tell(self, i, later):
        """The sums of round i have arrived when no more is under way than what came later."""
        cute.arch.cp_async_bulk_wait_group(later)
        cute.arch.sync_warp()
        self.adds.producer_acquire(visit(TURNS, i, PRODUCER))
        self.adds.producer_commit(visit(TURNS, i, PRODUCER))

    @cute.jit
    def finish(self):
        """All have arrived."""
        if cutlass.const_expr(self.work.is_ordered):
            self.tell(self.work.total - 1, 0)
        cute.arch.cp_async_bulk_wait_group(0)


def of_lane(first, rows, lane):
    """A lane's vectors in some rows of a warp: beside its neighbours'."""
    return cute.make_tensor(first, cute.make_layout((4, rows * ROW // 128, 32), stride=(1, 128, 4)))[None, None, lane]


def row_of(at, chunk, warp):
    """The first row of the workspace that has a chunk of a warp's."""
    return at * (QUERIES * DEPTH // ROW) + (chunk * 4 + warp) * ROWS
