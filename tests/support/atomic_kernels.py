"""Kernels whose blocks hand something over by atomics with an order of their own, for a CPU and a GPU."""

from __future__ import annotations

import tilewright as cutlass
from tilewright import cute

THREADS = 128


@cute.kernel
def chained_sums_kernel(x: cute.Tensor, y: cute.Tensor, turn: cute.Tensor, flags: cute.Tensor, totals: cute.Tensor):
    """Running sums over all blocks: each waits for the total of the one before, in the order in which they begin."""
    thread, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    values = memory.allocate_tensor(cutlass.Int32, cute.make_layout(THREADS))
    shared = memory.allocate_tensor(cutlass.Int32, cute.make_layout(2))
    if thread == 0:
        shared[0] = cute.arch.atomic_add(turn.iterator, 1)
    cute.arch.sync_threads()
    block = shared[0]
    i = block * THREADS + thread
    value = x[i] if i < cute.size(x) else cutlass.Int32(0)
    for step in cutlass.range_constexpr(7):
        values[thread] = value
        cute.arch.sync_threads()
        if thread >= 1 << step:
            value += values[thread - (1 << step)]
        cute.arch.sync_threads()
    if thread == THREADS - 1:
        before = cutlass.Int32(0)
        if block > 0:
            while cute.arch.atomic_add(flags.iterator + (block - 1), 0, sem="acquire", scope="gpu") == 0:
                pass
            before = totals[block - 1]
        totals[block] = before + value
        cute.arch.atomic_exch(flags.iterator + block, 1, sem="release", scope="gpu")
        shared[1] = before
    cute.arch.sync_threads()
    if i < cute.size(x):
        y[i] = value + shared[1]


@cute.jit
def chained_sums(x: cute.Tensor, y: cute.Tensor, turn: cute.Tensor, flags: cute.Tensor, totals: cute.Tensor):
    chained_sums_kernel(x, y, turn, flags, totals).launch(
        grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1]
    )


@cute.kernel
def narrow_kernel(x: cute.Tensor, blocks: cutlass.Int32):
    """Elements of 16 bits side by side: all threads of all blocks add 1 to each, and the last one marks the end."""
    for i in range(4):
        before = cute.arch.atomic_add(x.iterator + i, 1)
        if before == blocks * 32 - 1:
            cute.arch.atomic_cas(x.iterator + i, blocks * 32, 7)


@cute.jit
def narrow(x: cute.Tensor, blocks: cutlass.Int32):
    narrow_kernel(x, blocks).launch(grid=[blocks, 1, 1], block=[32, 1, 1])


def run(torch, device: str, blocks: int) -> None:
    """Both on a device, beside torch."""
    n = blocks * THREADS - 5
    x = torch.randint(-100, 100, (n,), dtype=torch.int32).to(device)
    y, turn, flags, totals = (torch.zeros(size, dtype=torch.int32, device=device) for size in (n, 1, blocks, blocks))
    chained_sums(x, y, turn, flags, totals)
    assert torch.equal(y, torch.cumsum(x, 0, dtype=torch.int32))
    for dtype in (torch.int16, torch.uint16, torch.float16):
        halves = torch.zeros(4, dtype=dtype, device=device)
        narrow(halves, min(blocks, 30))
        assert halves.tolist() == [7] * 4
