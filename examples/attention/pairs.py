"""Pairs of blocks of keys in attention's backward pass for D 256: their sizes, and whose turn it is to add."""

from __future__ import annotations

from tilewright.examples.attention.backward_blocks import QUERIES

import tilewright as cutlass
from tilewright import cute

DEPTH = 256
KEYS = 64  # of a block of threads
STAGES = 2
CTAS = 2  # of a cluster: neighbouring blocks of keys
CHUNK = 64  # of the depth, of which dQ is computed at a time
TURNS = 4  # that are known ahead
NUMBERS = QUERIES * CHUNK // 128  # that a thread has of a chunk, or of scores
ROW = 256  # sums of dQ in a row of the workspace
ROWS = NUMBERS * 32 // ROW  # of a warp's part of a chunk


def handed_on(dtype):
    """In which type P is handed on, times which power of two, and how many rows TMA adds at once.

    P in 16 bits leaves memory for more rows; fp16 has an eighth of bf16's error, from 2^-28 on by that power.
    """
    return (cutlass.Float16, 14, ROWS) if dtype is cutlass.BFloat16 else (cutlass.Float32, 0, ROWS // 2)


@cute.jit
def place(sNumber, order, is_ordered):
    """The first block of keys of the cluster, the head and the batch."""
    number = cute.make_tensor(cute.arch.mapa(sNumber.iterator, 0), cute.make_layout(1))
    pair, key_head, batch = order.of(cute.arch.make_warp_uniform(number[0]), is_ordered)
    return pair * CTAS, key_head, batch


@cute.jit
def added_by(work, rank, i):
    """Which sums round i adds to, how many blocks add before this one, and whether it sees the tile at all."""
    block = work.block
    tile = work.first + i % work.rounds
    low, high = work.blocks.blocks_seen_by(tile)
    at = work.blocks.workspace_tile(work.key_head * work.group + i // work.rounds, tile) * CTAS + rank
    before = (high - block) // CTAS if work.is_ordered else cutlass.Int32(1)
    return at, before, cutlass.and_(low <= block, block <= high)
