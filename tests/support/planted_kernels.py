"""Kernels in Python with one defect each, at the lines that end in `# defect`; run as a script, one of them on a GPU.

`tool` is the tool of compute-sanitizer that can see the defect, or "".
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import tilewright as cutlass
from tilewright import cute

THREADS = 64
MARK = "# defect"


def shared(kind: Any = cutlass.Float32, count: int = THREADS) -> cute.Tensor:
    return cutlass.utils.SmemAllocator().allocate_tensor(kind, cute.make_layout(count), 16)


@cute.kernel
def no_barrier(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    kept = shared()
    kept[i] = x[i]  # defect
    y[i] = kept[THREADS - 1 - i]  # defect


@cute.kernel
def refilled_too_early(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    kept = shared()
    for _ in range(2):
        kept[i] = x[i]  # defect
        cute.arch.sync_threads()
        y[i] = kept[THREADS - 1 - i]  # defect


@cute.kernel
def no_sync_warp(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    kept = shared()
    if i < 32:
        kept[i] = x[i]  # defect
        y[i] = kept[i ^ 1]  # defect


@cute.kernel
def never_written(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    kept = shared()
    if i < 32:
        kept[i] = x[i]
    cute.arch.sync_threads()
    y[i] = kept[i]  # defect


@cute.kernel
def not_waited_for(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    kept = shared()
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout(THREADS), cute.make_layout(1))
    mine = tiled.get_slice(i)
    cute.copy(tiled, mine.partition_S(cute.local_tile(x, (THREADS,), (0,))), mine.partition_D(kept))  # defect
    cute.arch.cp_async_commit_group()
    cute.arch.sync_threads()
    y[i] = kept[i ^ 1]  # defect


@cute.kernel
def beyond_the_tensor(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    y[i] = x[i + 2**20]  # defect


@cute.kernel
def beyond_shared_memory(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    kept = shared()
    kept[i + 2**18] = x[i]  # defect
    y[i] = x[i]


@cute.kernel
def misaligned(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    start = cute.make_ptr(cutlass.Float32, (x.iterator + i).toint(), cute.AddressSpace.gmem, assumed_align=16)
    four = cute.make_tensor(start, cute.make_layout(4)).load()  # defect
    y[i] = four.reduce(cute.ReductionOp.ADD, 0.0, 0)  # of all, or one load of 4 bytes is left


@cute.kernel
def barrier_in_a_branch(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    if i % 2 == 0:
        cute.arch.sync_threads()  # defect
    y[i] = x[i]


@cute.kernel
def mask_of_others(x: cute.Tensor, y: cute.Tensor):
    i, _, _ = cute.arch.thread_idx()
    value = x[i]
    if i % 32 < 16:
        value = cute.arch.shuffle_sync_bfly(value, 1, mask=0xFFFF0000)  # defect
    y[i] = value


class Planted(NamedTuple):
    """A kernel, the kinds of findings that the CPU gives, and who can see it on a GPU with what text."""

    kernel: Callable[..., Any]
    kinds: tuple[str, ...]
    tool: str = ""
    says: str = ""

    @property
    def name(self) -> str:
        return str(self.kernel.__name__)

    @property
    def lines(self) -> set[int]:
        """Those with the defect."""
        text, first = inspect.getsourcelines(inspect.unwrap(self.kernel))
        return {first + i for i, line in enumerate(text) if line.rstrip().endswith(MARK)}


KERNELS = [
    Planted(no_barrier, ("race", "not written"), "racecheck", "hazard"),
    Planted(refilled_too_early, ("race",), "racecheck", "hazard"),
    Planted(no_sync_warp, ("race",), "racecheck", "hazard"),
    Planted(never_written, ("not written",)),
    Planted(not_waited_for, ("not landed",)),
    Planted(beyond_the_tensor, ("out of bounds",), "memcheck", "Invalid __global__ read"),
    Planted(beyond_shared_memory, ("out of bounds",), "memcheck", "Invalid __shared__ write"),
    Planted(misaligned, ("misaligned",), "memcheck", "misaligned"),
    Planted(barrier_in_a_branch, ("barrier",), "synccheck", "Divergent thread"),
    Planted(mask_of_others, ("lane",), "synccheck", "Invalid"),
]


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, kernel: cutlass.Constexpr):
    kernel(x, y).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


if __name__ == "__main__":
    import torch

    (planted,) = (one for one in KERNELS if one.name == sys.argv[1])
    source = torch.randn(THREADS + 4, device="cuda")
    launch(source, torch.zeros(THREADS, device="cuda"), planted.kernel)
    torch.cuda.synchronize()
