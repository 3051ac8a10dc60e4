"""Blocks that wait for each other: CUDA promises neither their order nor that all are there at once."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute

BLOCKS = 12


@cute.kernel
def in_turn(y: cute.Tensor, turns: cute.Tensor, numbered: cutlass.Constexpr):
    """Block b adds to the sum behind block b - 1, or behind whoever began before."""
    block, _, _ = cute.arch.block_idx()
    if cute.arch.thread_idx()[0] == 0:
        number = cute.arch.atomic_add(turns.iterator, cutlass.Int32(1)) if numbered else block
        while cute.arch.atomic_add(turns.iterator + 1, cutlass.Int32(0)) < number:  # the turn
            pass
        cute.arch.fence_acq_rel_gpu()
        y[0] = 2 * y[0] + number
        cute.arch.fence_acq_rel_gpu()
        cute.arch.atomic_add(turns.iterator + 1, cutlass.Int32(1))


@cute.kernel
def all_at_once(y: cute.Tensor, count: cute.Tensor):
    """A barrier of the whole grid."""
    block, _, _ = cute.arch.block_idx()
    if cute.arch.thread_idx()[0] == 0:
        cute.arch.fence_acq_rel_gpu()
        cute.arch.atomic_add(count.iterator, cutlass.Int32(1))
        while cute.arch.atomic_add(count.iterator, cutlass.Int32(0)) < BLOCKS:
            pass
        cute.arch.fence_acq_rel_gpu()
        y[block] = block


@cute.jit
def take_turns(y: cute.Tensor, turns: cute.Tensor, numbered: cutlass.Constexpr):
    in_turn(y, turns, numbered).launch(grid=BLOCKS, block=32)


@cute.jit
def meet(y: cute.Tensor, count: cute.Tensor, cooperative: cutlass.Constexpr):
    all_at_once(y, count).launch(grid=BLOCKS, block=32, cooperative=cooperative)


def turns(numbered, **options):
    y = np.zeros(1, np.int32)
    with cute.on_cpu(check=True, **options):
        take_turns(y, np.zeros(2, np.int32), numbered)
    return int(y[0])


EXPECTED = sum(b << (BLOCKS - 1 - b) for b in range(BLOCKS))


def test_without_a_seed_blocks_begin_in_order():
    assert turns(False) == EXPECTED
    assert turns(False, resident=1) == EXPECTED


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_block_that_took_its_number_when_it_began_has_its_turn(seed):
    assert turns(True, seed=seed) == EXPECTED


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_block_that_waits_for_one_that_has_not_begun_is_found(seed):
    with pytest.raises(cute.KernelError) as error:
        turns(False, seed=seed)
    (found,) = error.value.findings
    assert found.kind == "deadlock"
    assert "the thread loops for ever" in found.message
    assert "take its number from a counter in global memory" in found.message
    assert found.line in range(
        in_turn.__wrapped__.__code__.co_firstlineno + 5, in_turn.__wrapped__.__code__.co_firstlineno + 8
    )


def test_more_blocks_at_once_let_it_pass():
    assert turns(False, seed=1, resident=BLOCKS) == EXPECTED


def test_a_barrier_of_the_grid_needs_a_cooperative_launch():
    y = np.zeros(BLOCKS, np.int32)
    with cute.on_cpu(check=True, seed=5):
        meet(y, np.zeros(1, np.int32), True)
    assert y.tolist() == list(range(BLOCKS))
    with cute.on_cpu(check=True, seed=5), pytest.raises(cute.KernelError, match="cooperative=True"):
        meet(y, np.zeros(1, np.int32), False)


def test_no_blocks_at_once_is_refused():
    with pytest.raises(ValueError, match="resident is 0"), cute.on_cpu(resident=0):
        pass
