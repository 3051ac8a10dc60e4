"""TMA adds to global memory from several CTAs: in any order among themselves, but not with what else is done there."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from test_tma import at, findings_of, line_of
from tilewright import cute
from tilewright.cute.nvgpu import cpasync

CTAS, TILE = 3, (4, 32)


@cute.kernel
def kernel(put: cute.CopyAtom, add: cute.CopyAtom, gY: cute.Tensor, y: cute.Tensor, turns: cute.Tensor, how: str):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    number = smem.allocate_tensor(cutlass.Int32, 1)
    if tidx == 0:  # in whatever order CTAs begin: those whose turn is before have begun
        number[0] = cute.arch.atomic_add(turns.iterator + 1, 1)
    cute.arch.sync_warp()
    block = number[0]
    shared = smem.allocate_tensor(cutlass.Float32, cute.make_ordered_layout(TILE, order=(1, 0)), 128)
    for row in cutlass.range_constexpr(TILE[0]):
        shared[row, tidx] = cutlass.Float32(block + 1)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_warp()
    from_, to = (cute.group_modes(x, 0, 2) for x in (shared, cute.local_tile(gY, TILE, (0, 0))))
    from_, to = cpasync.tma_partition(put, 0, cute.make_layout(1), from_, to)
    if cutlass.const_expr(how in ("in turn", "told early")):
        if tidx == 0:
            while cute.arch.atomic_add(turns.iterator, 0) < block:
                pass
            cute.arch.fence_acq_rel_gpu()
        cute.arch.sync_warp()
        cute.arch.fence_proxy("async.global")
    if cutlass.const_expr(how in ("any order", "read early", "read")):
        cute.copy(add, from_, to)  # any
    elif block == 0:
        cute.copy(put, from_, to)  # first
    else:
        cute.copy(add, from_, to)  # later
    cute.arch.cp_async_bulk_commit_group()
    if cutlass.const_expr(how not in ("told early", "read early")):
        cute.arch.cp_async_bulk_wait_group(0)
    if cutlass.const_expr(how in ("in turn", "told early")):
        cute.arch.sync_warp()
        if tidx == 0:
            cute.arch.fence_acq_rel_gpu()
            cute.arch.atomic_add(turns.iterator, 1)
    if cutlass.const_expr(how in ("read early", "read")):
        cute.arch.sync_warp()
        turns[2 + 32 * block + tidx] = cutlass.Int32(y[0, tidx])  # read
    if cutlass.const_expr(how in ("told early", "read early")):
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def run(y: cute.Tensor, turns: cute.Tensor, how: cutlass.Constexpr, ctas: cutlass.Constexpr = CTAS):
    layout = cute.make_ordered_layout(TILE, order=(1, 0))
    put, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, layout, TILE)
    add, _ = cpasync.make_tiled_tma_atom(cpasync.CopyReduceBulkTensorTileS2GOp(), y, layout, TILE)
    kernel(put, add, gY, y, turns, how).launch(grid=[ctas, 1, 1], block=[32, 1, 1])


def arguments():
    y, turns = np.full(TILE, 10, np.float32), np.zeros(2 + 32 * CTAS, np.int32)
    return y, turns, cute.from_dlpack(y, assumed_align=16), cute.from_dlpack(turns)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("how", "wanted"), [("any order", 16), ("in turn", 6)])
def test_sums(how, wanted, seed):
    y, _, *args = arguments()
    with cute.on_cpu(check=True, seed=seed):
        run(*args, how)
    np.testing.assert_array_equal(y, wanted)


def test_a_thread_reads_what_has_arrived():
    _, turns, *args = arguments()
    with cute.on_cpu(check=True):
        run(*args, "read", 1)
    assert (turns[2:34] == 11).all()


@pytest.mark.parametrize(
    ("how", "ctas", "where"),
    [
        ("store among them", CTAS, {"first", "later"}),
        ("told early", CTAS, {"first", "later"}),
        ("read", CTAS, {"any", "read"}),
        ("read early", 1, {"read"}),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_what_is_in_no_order(how, ctas, where, seed):
    *_, y, turns = arguments()
    found = findings_of(run, y, turns, how, ctas, seed=seed)
    lines = at(found, "race") | at(found, "not landed")
    assert lines
    assert lines <= {line_of(kernel, text) for text in where}, found
