"""Defects of order that no value shows, each found with the first seed: more than two readers, fences for other memory
or other threads, barriers still in use, registers that a block does not have."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright.cute.nvgpu import cpasync
from tilewright.cute.runtime import from_dlpack


def kinds_of(run, *arguments, seed=0):
    """The kinds of what is found."""
    try:
        with cute.on_cpu(check=True, seed=seed):
            run(*arguments)
    except cute.KernelError as error:
        return {finding.kind for finding in error.findings}
    return set()


# ---- more than two readers ----


@cute.kernel
def readers_kernel(y: cute.Tensor, readers: cutlass.Constexpr, forgets: cutlass.Constexpr):
    """Warps read what another one overwrites, when all but one have told it that they have."""
    i, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32))
    if warp == readers:
        shared[i % 32] = cutlass.Int32(1)
    cute.arch.sync_threads()
    if warp < readers:
        y[i] = shared[i % 32]
        if warp != forgets:
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=32 * readers)
    else:
        told = readers if cutlass.const_expr(forgets is None) else readers - 1
        cute.arch.barrier(barrier_id=1, number_of_threads=32 * (told + 1))
        shared[i % 32] = cutlass.Int32(2)


@cute.jit
def readers_of(y: cute.Tensor, readers: cutlass.Constexpr, forgets: cutlass.Constexpr):
    readers_kernel(y, readers, forgets).launch(block=[32 * (readers + 1), 1, 1])


@cute.kernel
def told_kernel(y: cute.Tensor, readers: cutlass.Constexpr):
    """All of them have told it."""
    i, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32))
    for _ in range(3):
        if warp == readers:
            shared[i % 32] = cutlass.Int32(1)
        cute.arch.sync_threads()
        if warp < readers:
            y[i] = shared[31 - i % 32]
            cute.arch.barrier_arrive(barrier_id=1, number_of_threads=32 * (readers + 1))
        else:
            cute.arch.barrier(barrier_id=1, number_of_threads=32 * (readers + 1))


@cute.jit
def told(y: cute.Tensor, readers: cutlass.Constexpr):
    told_kernel(y, readers).launch(block=[32 * (readers + 1), 1, 1])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("readers", "forgets"), [(n, w) for n in (2, 3, 4, 6) for w in range(n)])
def test_each_of_many_readers_counts(readers, forgets, seed):
    assert kinds_of(readers_of, np.zeros(32 * (readers + 1), np.int32), readers, forgets, seed=seed) == {"race"}


@pytest.mark.parametrize("readers", [1, 2, 3, 6])
def test_readers_that_have_told_are_in_order(readers):
    assert kinds_of(told, np.zeros(32 * (readers + 1), np.int32), readers) == set()


# ---- fences ----

TILE = cute.make_ordered_layout((8, 4), order=(1, 0))
ALONE = cute.make_layout(1)


@cute.kernel
def stored_kernel(atom: cute.CopyAtom, gY: cute.Tensor, space: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, TILE, 128)
    tile[i // 4, i % 4] = cutlass.Float32(1)
    if cutlass.const_expr(space is not None):
        cute.arch.fence_proxy(space)
    cute.arch.sync_warp()
    to = cute.local_tile(gY, (8, 4), (0, 0))
    here, there = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(tile, 0, 2), cute.group_modes(to, 0, 2))
    cute.copy(atom, here, there)
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def stored(y: cute.Tensor, space: cutlass.Constexpr):
    atom, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, TILE, (8, 4))
    stored_kernel(atom, gY, space).launch(block=[32, 1, 1])


@pytest.mark.parametrize(
    ("space", "found"),
    [("async", set()), ("async.shared", set()), ("async.global", {"missing fence"}), (None, {"missing fence"})],
)
def test_a_fence_is_for_the_memory_that_it_names(space, found):
    y = from_dlpack(np.zeros((8, 4), np.float32), assumed_align=16)
    assert kinds_of(stored, y, space) == found


@cute.kernel
def loaded_kernel(atom: cute.CopyAtom, gX: cute.Tensor, y: cute.Tensor, who: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    tile = memory.allocate_tensor(cutlass.Float32, TILE, 128)
    barrier = memory.allocate_array(cutlass.Int64)
    if i == 0:
        cute.arch.mbarrier_init(barrier, 1)
        if cutlass.const_expr(who == "same"):
            cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if cute.arch.make_warp_uniform(cute.arch.warp_idx()) == 1:
        if cutlass.const_expr(who == "other"):
            cute.arch.mbarrier_init_fence()
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(barrier, 128)
        there = cute.local_tile(gX, (8, 4), (0, 0))
        to, boxes = cpasync.tma_partition(atom, 0, ALONE, cute.group_modes(tile, 0, 2), cute.group_modes(there, 0, 2))
        cute.copy(atom, boxes, to, tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    if i < 32:
        y[i] = tile[i // 4, i % 4]


@cute.jit
def loaded(x: cute.Tensor, y: cute.Tensor, who: cutlass.Constexpr):
    atom, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, TILE, (8, 4))
    loaded_kernel(atom, gX, y, who).launch(block=[64, 1, 1])


@pytest.mark.parametrize(("who", "is_found"), [("same", False), ("other", True), ("nobody", True)])
def test_the_fence_of_an_initialisation_is_that_threads_own(who, is_found):
    x = from_dlpack(np.ones((8, 4), np.float32), assumed_align=16)
    found = kinds_of(loaded, x, np.zeros(32, np.float32), who)
    assert found == ({"missing fence"} if is_found else set())


@cute.kernel
def lanes_kernel(y: cute.Tensor, order: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64)
    if i == 0:
        cute.arch.mbarrier_init(barrier, 32)
        cute.arch.mbarrier_init_fence()
    if cutlass.const_expr(order):
        cute.arch.sync_warp()
    cute.arch.mbarrier_arrive(barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    y[i] = cutlass.Float32(1)


@cute.jit
def lanes(y: cute.Tensor, order: cutlass.Constexpr):
    lanes_kernel(y, order).launch(block=[32, 1, 1])


@pytest.mark.parametrize(("order", "found"), [(True, set()), (False, {"race"})])
def test_lanes_wait_for_the_one_that_initialises(order, found):
    assert kinds_of(lanes, np.zeros(32, np.float32), order) == found


# ---- named barriers ----


@cute.kernel
def groups_kernel(x: cute.Tensor, y: cute.Tensor, own: cutlass.Constexpr):
    """Two groups of warps exchange numbers among themselves."""
    i, _, _ = cute.arch.thread_idx()
    group, j = i // 128, i % 128
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout((128, 2)))
    for _ in range(3):
        shared[j, group] = x[i]
        cute.arch.barrier(barrier_id=1 + (group if own else 0), number_of_threads=128)
        y[i] = shared[127 - j, group]
        cute.arch.barrier(barrier_id=3 + (group if own else 0), number_of_threads=128)


@cute.jit
def groups(x: cute.Tensor, y: cute.Tensor, own: cutlass.Constexpr):
    groups_kernel(x, y, own).launch(block=[256, 1, 1])


@pytest.mark.parametrize("seed", range(4))
def test_a_barrier_belongs_to_those_who_know_that_its_last_use_has_ended(seed):
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    assert kinds_of(groups, x, y, True, seed=seed) == set()
    assert "barrier" in kinds_of(groups, x, y, False, seed=seed)


# ---- registers ----


@cute.kernel
def registers_kernel(x: cute.Tensor, gives_up: cutlass.Constexpr):
    i, _, _ = cute.arch.thread_idx()
    if cute.arch.make_warp_uniform(cute.arch.warp_idx()) >= 4:
        cute.arch.setmaxregister_increase(232)
    elif cutlass.const_expr(gives_up is not None):
        cute.arch.setmaxregister_decrease(gives_up)
    x[i] = cutlass.Float32(1)


@cute.jit
def registers(x: cute.Tensor, gives_up: cutlass.Constexpr):
    registers_kernel(x, gives_up).launch(block=[384, 1, 1], min_blocks_per_mp=1)


@pytest.mark.parametrize(("gives_up", "found"), [(40, set()), (56, {"deadlock"}), (None, {"deadlock"})])
def test_a_block_has_the_registers_that_its_threads_ask_for(gives_up, found):
    assert kinds_of(registers, np.zeros(384, np.float32), gives_up) == found


def test_the_registers_are_counted():
    with pytest.raises(
        cute.KernelError, match=r"ask for 80896 registers in all, and it has 64512 \(384 threads of 168\)"
    ):
        registers(np.zeros(384, np.float32), None)


# ---- locks ----


@cute.kernel
def tried_kernel(lock: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    """A lock that is taken where it is free, and not waited for where it is not."""
    i, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    z[block, i] = cutlass.Float32(1)
    if i == 0:
        cute.arch.atomic_cas(lock.iterator, cutlass.Int32(0), cutlass.Int32(1), sem="acquire", scope="gpu")
    cute.arch.sync_threads()
    y[i] = y[i] + 1
    cute.arch.sync_threads()
    if i == 0:
        cute.arch.atomic_exch(lock.iterator, cutlass.Int32(0), sem="release", scope="gpu")


@cute.jit
def tried(lock: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    tried_kernel(lock, y, z).launch(grid=[12, 1, 1], block=[64, 1, 1])


def test_a_lock_that_is_not_waited_for():
    """Some seeds let one block run at a time."""

    def found(seed):
        arguments = np.zeros(1, np.int32), np.zeros(64, np.float32), np.zeros((12, 64), np.float32)
        return "race" in kinds_of(tried, *arguments, seed=seed)

    assert sum(map(found, range(1, 9))) >= 4


@cute.jit
def acquire(lock):
    while cute.arch.atomic_cas(lock, cutlass.Int32(0), cutlass.Int32(1), sem="acquire", scope="gpu") != 0:
        pass


def release(lock):
    cute.arch.atomic_exch(lock, cutlass.Int32(0), sem="release", scope="gpu")


@cute.kernel
def two_locks_kernel(locks: cute.Tensor, y: cute.Tensor, ordered: cutlass.Constexpr):
    """Two locks for each block, of which every other block takes the second one first, or all the first one first."""
    block, _, _ = cute.arch.block_idx()
    first = 0 if ordered else block % 2
    acquire(locks.iterator + first)
    y[first] = y[first] + 1
    acquire(locks.iterator + 1 - first)
    y[1 - first] = y[1 - first] + 1
    release(locks.iterator + 1 - first)
    release(locks.iterator + first)


@cute.jit
def two_locks(locks: cute.Tensor, y: cute.Tensor, ordered: cutlass.Constexpr):
    two_locks_kernel(locks, y, ordered).launch(grid=[4, 1, 1], block=[1, 1, 1])


def test_locks_that_are_taken_in_both_orders():
    def found(ordered):
        locks = np.zeros(2, np.int32), np.zeros(2, np.float32)
        return set().union(*(kinds_of(two_locks, *locks, ordered, seed=seed) for seed in range(1, 7)))

    assert found(True) == set()
    assert found(False) == {"deadlock"}


@cute.kernel
def late_kernel(y: cute.Tensor, readers: cutlass.Constexpr, turns: cutlass.Int32):
    """The last reader tells the writer before it reads."""
    i, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(32))
    if warp == readers:
        shared[i % 32] = cutlass.Int32(1)
    cute.arch.sync_threads()
    if warp < readers - 1:
        y[i] = shared[i % 32]
        cute.arch.barrier(barrier_id=2, number_of_threads=32 * (readers - 1))
        cute.arch.barrier_arrive(barrier_id=1, number_of_threads=32 * (readers + 1))
    elif warp == readers - 1:
        cute.arch.barrier_arrive(barrier_id=1, number_of_threads=32 * (readers + 1))
        y[i] = shared[i % 32]
    else:
        cute.arch.barrier(barrier_id=1, number_of_threads=32 * (readers + 1))
        for j in range(turns):
            y[i] = y[i] + j
        shared[i % 32] = cutlass.Int32(2)


@cute.jit
def late(y: cute.Tensor, readers: cutlass.Constexpr, turns: cutlass.Int32):
    late_kernel(y, readers, turns).launch(block=[32 * (readers + 1), 1, 1])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("readers", [3, 6])
def test_a_reader_that_tells_too_early(readers, seed):
    assert kinds_of(late, np.zeros(32 * (readers + 1), np.int32), readers, 300, seed=seed) == {"race"}
