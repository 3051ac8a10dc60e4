"""Which parameters of a function its kernels write: by each operation that writes, through what pointers come from."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as cutlass
from tilewright import cute
from tilewright._core import program
from tilewright.cute.nvgpu import cpasync
from tilewright.cute.runtime import from_dlpack

X, Y, N = np.zeros(64, np.float32), np.zeros(64, np.float32), 2


def written(kernel) -> set[str]:
    """Those of a launch of kernel(x, y, n)."""

    @cute.jit
    def launch(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
        kernel(x, y, n).launch(grid=1, block=32)

    traced = cute.compile(launch, X, Y, N).traced
    found = program.written_parameters(traced.program, traced.host)
    assert all(file == __file__ and line > 0 for file, line in found.values())
    return set(found)


@cute.kernel
def reads(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    cute.printf("{}", x[0] + y[n])


@cute.kernel
def stores(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    if n > 1:
        for i in range(n):
            y[i] = x[i]


@cute.kernel
def copies(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    cute.copy(atom, cute.make_tensor(x.iterator, 64), cute.make_tensor(y.iterator, 64))


@cute.kernel
def adds(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    cute.arch.atomic_add((y.iterator + n).llvm_ptr, x[0])


@cute.kernel
def goes_through_registers(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    sums = cute.make_rmem_tensor(64, cutlass.Float32)
    sums.store(cute.make_tensor(x.iterator, 64).load())
    cute.make_tensor(y.iterator, 64).store(sums.load())


@cute.kernel
def writes_one_or_the_other(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    target = x.iterator
    if n > 1:
        target = y.iterator
    target.store(cutlass.Float32(1))


@cute.kernel
def walks(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    target = y.iterator
    for _ in range(n):
        target = target + 1
    while target.toint() < n:
        target = target + 1
    cute.make_tensor(cute.recast_ptr(target, dtype=cutlass.Int32), 1)[0] = cutlass.Int32(x[0])


@cute.kernel
def makes_an_address(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    address = y.iterator.toint() + 4 * n
    cute.make_ptr(cutlass.Float32, address, cute.AddressSpace.gmem, assumed_align=4).store(x[0])


@cute.kernel
def waits_for_a_flag(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    flag = cute.recast_ptr(x.iterator, dtype=cutlass.Int32)
    while cute.arch.atomic_add(flag, cutlass.Int32(0), sem="acquire", scope="gpu") == 0:
        pass
    y[0] = cutlass.Float32(n)


@cute.kernel
def begins_where_another_ends(x: cute.Tensor, y: cute.Tensor, n: cutlass.Int32):
    address = y.iterator.toint() + x.iterator.toint() % 16
    cute.make_ptr(cutlass.Float32, address, cute.AddressSpace.gmem, assumed_align=4).store(cutlass.Float32(n))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (reads, set()),
        (stores, {"y"}),
        (copies, {"y"}),
        (adds, {"y"}),
        (goes_through_registers, {"y"}),
        (writes_one_or_the_other, {"x", "y"}),
        (walks, {"y"}),
        (makes_an_address, {"y"}),
        (waits_for_a_flag, {"y"}),
        (begins_where_another_ends, {"y"}),
    ],
    ids=lambda it: getattr(it, "__name__", None),
)
def test_what_a_kernel_writes(kernel, expected):
    assert written(kernel) == expected


@cute.kernel
def boxes(load: cute.CopyAtom, gX: cute.Tensor, store: cute.CopyAtom, gY: cute.Tensor):
    memory = cutlass.utils.SmemAllocator()
    tile = memory.allocate_tensor(cutlass.Float32, cute.make_layout(64), 128)
    barrier = memory.allocate_array(cutlass.Int64, 1)
    parts = [cpasync.tma_partition(atom, 0, cute.make_layout(1), tile, g) for atom, g in ((load, gX), (store, gY))]
    with cute.arch.elect_one():
        cute.arch.mbarrier_init(barrier, 1)
    cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    with cute.arch.elect_one():
        cute.arch.mbarrier_arrive_and_expect_tx(barrier, 256)
    cute.copy(load, parts[0][1], parts[0][0], tma_bar_ptr=barrier)
    cute.arch.mbarrier_wait(barrier, 0)
    cute.copy(store, parts[1][0], parts[1][1])
    cute.arch.cp_async_bulk_commit_group()
    cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def boxes_of(x: cute.Tensor, y: cute.Tensor):
    layout = cute.make_layout(64)
    load, gX = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, (64,))
    store, gY = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, layout, (64,))
    boxes(load, gX, store, gY).launch(grid=1, block=32)


def test_what_boxes_of_tma_write():
    traced = cute.compile(boxes_of, *(from_dlpack(each, assumed_align=16) for each in (X, Y))).traced
    assert set(program.written_parameters(traced.program, traced.host)) == {"y"}
