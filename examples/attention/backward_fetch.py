"""What the loading warp of attention's backward pass asks TMA for, and how a warp waits for its block's turn."""

from __future__ import annotations

from tilewright.examples.attention.backward_blocks import QUERIES

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync, warpgroup


def layouts(dtype, depth, keys, stages, kept):
    """Of shared memory: stages of Q and dO, a block's keys, and dS of so many rounds."""
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, dtype)
    shapes = (QUERIES, depth, stages), (keys, depth), (keys, QUERIES, kept)
    return [cute.tile_to_shape(atom, shape, tuple(range(len(shape)))) for shape in shapes]


def product(dtype, n, a, b, source=warpgroup.OperandSource.SMEM, atoms=(1, 1, 1)):
    """wgmma of n columns, whose operands lie along K or MN, A in shared memory or in registers."""
    op = warpgroup.MmaF16BF16Op(dtype, cutlass.Float32, (64, n, 16), source, a, b)
    return cute.make_tiled_mma(op, atoms)


def loads(tensor, layout, ctas=1):
    """TMA of a tensor's rows into a tile of shared memory, a part by each of so many blocks of a cluster."""
    layout = cute.slice_(layout, (None, None, 0)) if cute.rank(layout) == 3 else layout
    rows_first = cute.make_tensor(tensor.iterator, cute.select(tensor.layout, [2, 3, 1, 0]))
    op = cpasync.CopyBulkTensorTileG2SMulticastOp() if ctas > 1 else cpasync.CopyBulkTensorTileG2SOp()
    return cpasync.make_tiled_tma_atom(op, rows_first, layout, cute.product_each(layout.shape), num_multicast=ctas)


def tiles_of(atom, tensor, shared, first, head, batch, ctas=1, rank=0):
    """A head's tiles of rows from `first` on, and where they go: what this block of a cluster fetches of them."""
    tensor = cute.domain_offset((first, 0), tensor[None, None, head, batch])
    tensor = cute.local_tile(tensor, cute.product_each(shared.shape)[:2], (None, 0))
    shared, tensor = (cute.group_modes(x, 0, 2) for x in (shared, tensor))
    return cpasync.tma_partition(atom, rank if ctas > 1 else 0, cute.make_layout(ctas), shared, tensor)


class Fetched:
    """Tiles of Q or of dO, each with log2(e) L (which: 0) or delta (1) of its rows, which come in stages."""

    def __init__(self, stages, atom, tensor, shared, mRows, sRows, which, blocks, ctas=1, rank=0):
        self.stages, self.atom, self.tensor, self.shared, self.blocks = stages, atom, tensor, shared, blocks
        self.rows, self.to, self.which, self.ctas, self.rank = mRows, sRows, which, ctas, rank

    @cute.jit
    def of(self, head):
        """What fetches a tile of a head, with the numbers of a row of the workspace."""
        first, batch = self.blocks.first_q, self.blocks.batch
        there, from_ = tiles_of(self.atom, self.tensor, self.shared, first, head, batch, self.ctas, self.rank)
        numbers = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
        mask = (1 << self.ctas) - 1 if self.ctas > 1 else None

        def fetch(state, tile, row):
            self.stages.producer_acquire(state)
            barrier = self.stages.producer_get_barrier(state)
            cute.copy(self.atom, from_[None, tile], there[None, state.index], tma_bar_ptr=barrier, mcast_mask=mask)
            cute.copy(
                numbers, self.rows[row, self.which, None], self.to[None, self.which, state.index], mbar_ptr=barrier
            )

        return fetch


@cute.jit
def wait_for_turn(mTurns, at, before, is_seen=None):
    """A warp waits until so many blocks have added their parts, where a tile is seen at all."""
    if cute.arch.lane_idx() == 0 if is_seen is None else cutlass.and_(cute.arch.lane_idx() == 0, is_seen):
        while cute.arch.atomic_add(mTurns.iterator + at, 0, sem="acquire", scope="gpu") < before:
            pass
    cute.arch.sync_warp()
