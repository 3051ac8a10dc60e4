"""Linear layers of a large language model as DTensors over GPUs: tilewright's and torch's GEMM, the same collectives.

python benchmarks/sharded_gemm.py [--ranks 2] [--quick] [--rounds 40] [--dry | --host-time] [--out FOLDER]

Each case runs both by turns on all ranks, over NCCL; a time is that of the slowest rank. `--dry` takes small CPU
tensors and gloo: it tries the script, not the speed. `--host-time` times what a call costs the host before it launches
a kernel, without a GPU: our multiplication of a part is left out, torch's is of 8 x 8 numbers.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist
from torch.distributed.tensor import Partial, Placement, Replicate, Shard, distribute_tensor, init_device_mesh

import gpu
import table
from tilewright import kernels
from tilewright import torch as twt

# Of a model with 70 billion parameters: hidden units, those of an MLP, and heads for Q, K and V beside one another.
HIDDEN, MLP, QKV = 8192, 28672, 10240
R, P = Replicate(), Partial()
MODULES = {"tilewright": twt.linear, "torch": torch.nn.functional.linear}

# Tokens of a prompt, of a long one, and of many users who wait for a word each.
TOKENS = (4096, 16384, 64)
# Name: (N, K), placements of x and the weight, and of the result after its collective.
LAYERS = {
    "QKV, columns, no collective": ((QKV, HIDDEN), R, Shard(0), None),
    "MLP up, columns, no collective": ((MLP, HIDDEN), R, Shard(0), None),
    "MLP up, columns, all-gather of x": ((MLP, HIDDEN), Shard(0), Shard(0), None),
    "attention out, K, all-reduce": ((HIDDEN, HIDDEN), Shard(1), Shard(1), R),
    "MLP down, K, all-reduce": ((HIDDEN, MLP), Shard(1), Shard(1), R),
    "MLP down, K, reduce-scatter": ((HIDDEN, MLP), Shard(1), Shard(1), Shard(0)),
    "MLP up, rows (batches), no collective": ((MLP, HIDDEN), Shard(0), R, None),
}
MOST_ERROR = 0.05  # in standard deviations of the result; both round to bfloat16, whose step is 2^-8


def random(shape: tuple[int, ...], scale: float, device: str, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape, device=device, dtype=torch.float32).mul_(scale).to(dtype)


class Rank:
    """One process of the run."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.dry, self.rounds = options.dry, 3 if options.dry else 10 if options.quick else options.rounds
        self.device = "cpu" if options.dry else f"cuda:{dist.get_rank()}"
        self.kind = self.device.partition(":")[0]
        self.mesh = init_device_mesh(self.kind, (options.ranks,))

    def seconds(self, call: Callable[[], object], count: int) -> float:
        """Of one call, of the slowest rank."""
        dist.barrier()
        if self.kind == "cuda":
            torch.cuda.synchronize()
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            for _ in range(count):
                call()
            end.record()
            torch.cuda.synchronize()
            taken = begin.elapsed_time(end) / 1e3
        else:
            start = time.perf_counter()
            for _ in range(count):
                call()
            taken = time.perf_counter() - start
        slowest = torch.tensor([taken / count], dtype=torch.float64, device=self.device)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return float(slowest)

    def calls(self, name: str, tokens: int) -> tuple[dict[str, Callable[[], torch.Tensor]], int]:
        """The layer by each of the two, and what one of them multiplies."""
        (n, k), x_place, weight_place, wanted = LAYERS[name]
        if self.dry:
            n, k, tokens = n // 64, k // 64, max(8, tokens // 256)
        dtype = torch.float32 if self.dry else torch.bfloat16
        torch.manual_seed(0)
        x = distribute_tensor(random((tokens, k), 1.0, self.device, dtype), self.mesh, [x_place])
        weight = distribute_tensor(random((n, k), k**-0.5, self.device, dtype), self.mesh, [weight_place])

        def layer(linear: Callable[..., torch.Tensor]) -> torch.Tensor:
            y = linear(x.redistribute(placements=[R]) if x_place == weight_place == Shard(0) else x, weight)
            return y if wanted is None else y.redistribute(placements=[wanted])

        return {key: lambda f=f: layer(f) for key, f in MODULES.items()}, 2 * tokens * n * k

    @torch.no_grad()
    def case(self, name: str, tokens: int) -> str:
        """A row of the table."""
        calls, work = self.calls(name, tokens)
        found, expected = (call().to_local().float() for call in calls.values())
        error = float((found - expected).abs().max() / expected.std())
        if not error < MOST_ERROR:
            raise AssertionError(f"{name}, {tokens} tokens: {error} standard deviations from torch's result")
        once = max(self.seconds(call, 2) for call in calls.values())
        count = 1 if self.dry else min(200, max(3, math.ceil(0.02 / once)))
        samples: dict[str, list[float]] = {key: [] for key in calls}
        for turn in range(self.rounds):
            for key in sorted(calls, reverse=turn % 2 == 1):  # each goes first as often
                samples[key].append(self.seconds(calls[key], count))
        ours, theirs = (gpu.Timing(tuple(samples[key])) for key in MODULES)
        rates = [f"{work / dist.get_world_size() / t.median / 1e12:.1f}" for t in (ours, theirs)]
        times = [f"{t.median * 1e6:.1f}" for t in (ours, theirs)]
        (n, k), *_ = LAYERS[name]
        cells = [name, f"{tokens}x{n}x{k}", *times, *rates, gpu.text(ours.over(theirs), ".3f"), f"{error:.4f}"]
        return f"| {' | '.join(cells)} |"


# Name: placements of x and the weight, whether there are gradients. The sizes say nothing of the host's time.
HOST_CASES = {
    "columns": (R, Shard(0), False),
    "K": (Shard(1), Shard(1), False),
    "rows (batches)": (Shard(0), R, False),
    "columns, forward and back": (R, Shard(0), True),
    "K, forward and back": (Shard(1), Shard(1), True),
    "rows (batches), forward and back": (Shard(0), R, True),
}


def host_calls(x_place: Placement, weight_place: Placement, has_gradients: bool) -> dict[str, Callable[[], object]]:
    """The layer by each of the two, on a mesh of this process alone."""
    mesh = init_device_mesh("cpu", (1,))
    x, weight = (distribute_tensor(torch.randn(8, 8), mesh, [place]) for place in (x_place, weight_place))
    if not has_gradients:
        return {key: lambda f=f: f(x, weight) for key, f in MODULES.items()}
    for operand in (x, weight):
        operand.requires_grad_()
    start = torch.ones_like(MODULES["torch"](x, weight))

    def layer(linear: Callable[..., torch.Tensor]) -> object:
        return torch.autograd.grad(linear(x, weight), (x, weight), start)

    return {key: lambda f=f: layer(f) for key, f in MODULES.items()}


def no_kernel(*operands: torch.Tensor, **options: object) -> None:
    """In place of kernels.gemm: a Mock would take longer than all the rest."""


def host_row(name: str, rounds: int) -> str:
    """A row of the table of the host's time: that of this thread on a core, which other work does not count in."""
    x_place, weight_place, has_gradients = HOST_CASES[name]
    count = 50
    samples: dict[str, list[float]] = {key: [] for key in MODULES}
    with torch.set_grad_enabled(has_gradients), mock.patch.object(kernels, "gemm", no_kernel):
        calls = host_calls(x_place, weight_place, has_gradients)
        for turn in range(-2, rounds):  # two that do not count
            for key in sorted(calls, reverse=turn % 2 == 1):
                begin = time.thread_time()
                for _ in range(count):
                    calls[key]()
                if turn >= 0:
                    samples[key].append((time.thread_time() - begin) / count)
    ours, theirs = (gpu.Timing(tuple(samples[key])) for key in MODULES)
    times = [gpu.text(gpu.spread([x * 1e6 for x in t.samples]), ".1f") for t in (ours, theirs)]
    return f"| {name} | {' | '.join(times)} | {gpu.text(ours.over(theirs), '.2f')} |"


def host_time(options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder, gpu.Report("sharded_gemm_host", options) as report:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        report.add(
            "# Sharded linear layers: the host's time",
            "",
            f"{table.machine()}, tilewright {gpu.version('tilewright')}, torch {torch.__version__}.",
            "",
        )
        report.add("Microseconds of a call on the host, median (10th to 90th percentile), without the kernel.", "")
        report.add("| layer | tilewright, us | torch, us | times as fast as torch |", "| --- | --- | --- | --- |")
        for name in HOST_CASES:
            report.add(host_row(name, 10 if options.quick else 4 * options.rounds))
        dist.destroy_process_group()


HEAD = (
    "| layer | M x N x K | tilewright, us | torch, us | TFLOP/s a GPU | torch's | times as fast as torch | error |",
    "| --- | --- | --- | --- | --- | --- | --- | --- |",
)


def work(rank: int, options: argparse.Namespace, store: str) -> None:
    if not options.dry:
        torch.cuda.set_device(rank)
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo" if options.dry else "nccl", init_method=f"file://{store}", rank=rank, world_size=options.ranks
    )
    here = Rank(options)
    tokens = TOKENS[:1] if options.dry or options.quick else TOKENS
    rows = [(name, count) for count in tokens for name in LAYERS]
    if rank == 0:
        with gpu.Report("sharded_gemm", options) as report:
            over = "gloo" if options.dry else f"NCCL {'.'.join(map(str, torch.cuda.nccl.version()))}"
            report.add("# Sharded linear layers", "", *gpu.machine(options), f"{options.ranks} ranks, {over}.", "")
            report.add(__doc__.strip().partition("\n")[0], "")
            report.add("bfloat16; times are medians of the rounds; errors in standard deviations of the result.", "")
            report.add(*HEAD)
            for row in rows:
                report.add(here.case(*row))
    else:
        for row in rows:
            here.case(*row)
    dist.destroy_process_group()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a prompt's tokens alone, and fewer rounds")
    parser.add_argument("--rounds", type=int, default=40, help="of a full run: in each both are timed by turns")
    parser.add_argument("--dry", action="store_true", help="small CPU tensors and gloo")
    parser.add_argument("--out", type=Path, default=gpu.HERE / "results", help="folder for the result file")
    parser.add_argument("--host-time", action="store_true", help="what a call costs the host before a kernel; no GPU")
    options = parser.parse_args()
    if options.dry or options.host_time:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if options.host_time:
        host_time(options)
        return 0
    if not options.dry and torch.cuda.device_count() < options.ranks:
        parser.error(f"{options.ranks} ranks need as many GPUs, but there are {torch.cuda.device_count()}; try --dry")
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(work, (options, f"{folder}/store"), nprocs=options.ranks)
    return 0


if __name__ == "__main__":
    sys.exit(main())
