"""What one launch costs the host: ours beside a bare C++ cuLaunchKernel of the same kernel, torch, CuPy and Triton.

python benchmarks/launch.py [--quick] [--dry] [--out FOLDER]
"""

from __future__ import annotations

import argparse
import timeit
import traceback
from collections.abc import Callable

import torch

import gpu
from tilewright import kernels

BARE = "C++ cuLaunchKernel"
BATCH = 200  # launches between two synchronisations: far fewer than the device's queue holds
CUPY_SOURCE = """
extern "C" __global__ void copy(const float* src, float* dst, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) dst[i] = src[i];
}
"""


class Loop:
    """A statement that Python runs n times with its names as local variables, as a user's own loop would."""

    def __init__(self, statement: str, **names: object) -> None:
        setup = "; ".join(f"{name} = _{name}" for name in names)
        self.timer = timeit.Timer(statement, setup, globals={f"_{name}": value for name, value in names.items()})

    def __call__(self, count: int) -> float:
        """Seconds of one pass."""
        return self.timer.timeit(count) / count


def measure(loops: dict[str, Callable[[int], float]], options: argparse.Namespace) -> dict[str, gpu.Timing]:
    """Batches of all loops in turn; the device is idle when a batch begins."""
    rounds = 3 if options.dry else 40 if options.quick else 200
    samples: dict[str, list[float]] = {name: [] for name in loops}
    for loop in loops.values():
        loop(10)
    for _ in range(rounds):
        for name, loop in loops.items():
            if not options.dry:
                torch.cuda.synchronize()
            samples[name].append(loop(BATCH if not options.dry else 5))
    return {name: gpu.Timing(tuple(kept)) for name, kept in samples.items()}


def ours(src: torch.Tensor, dst: torch.Tensor) -> dict[str, Callable[[int], float]]:
    plan = kernels.tiled_copy.plan(src, dst)
    loops: dict[str, Callable[[int], float]] = {
        "kernels.tiled_copy(src, dst)": Loop("f(src, dst)", f=kernels.tiled_copy, src=src, dst=dst),
        "plan.run(src, dst)": Loop("f(src, dst)", f=plan.run, src=src, dst=dst),
    }
    if src.is_cuda:  # a bound plan is a prepared launch
        loops["plan.bind(src, dst)()"] = Loop("f()", f=plan.bind(src, dst))
    return loops


def bare(src: torch.Tensor, dst: torch.Tensor) -> dict[str, Callable[[int], float]]:
    """The same kernel with the same parameters, launched by C++; run once to see that it is."""
    if not src.is_cuda:
        return {}
    library = gpu.Bare()
    library.open()
    bound = kernels.tiled_copy.plan(src, dst).bind(src, dst)
    bound()
    loop = library.launcher(bound)
    gpu.bits(dst).fill_(0x5A)
    loop(1)
    if not gpu.same(dst, src):
        raise AssertionError("the bare launch gave a wrong result: it is not the same launch")
    return {BARE: loop}


def rivals(src: torch.Tensor, dst: torch.Tensor) -> dict[str, Callable[[int], float]]:
    """The launches that users of other libraries make, on tensors of the same size."""
    a, b, c = (torch.rand(src.numel(), device=src.device) for _ in range(3))
    loops: dict[str, Callable[[int], float]] = {
        "torch.add(a, b, out=c)": Loop("f(a, b, out=c)", f=torch.add, a=a, b=b, c=c),
        "c.copy_(a)": Loop("f(a)", f=c.copy_, a=a),
        "dst.copy_(src)": Loop("f(src)", f=dst.copy_, src=src),
    }
    if src.is_cuda and (triton := gpu.triton_rivals()):
        grid = (-(-a.numel() // 1024),)
        statement = "f[grid](a, c, n, BLOCK=1024)"
        loops["Triton, copy"] = Loop(statement, f=triton.copy_kernel, grid=grid, a=a, c=c, n=a.numel())
    if src.is_cuda:
        try:
            import cupy
        except ImportError:
            return loops
        kernel = cupy.RawKernel(CUPY_SOURCE, "copy")
        blocks = (-(-a.numel() // 128),)  # on the default stream, as torch here
        arguments = (cupy.from_dlpack(a), cupy.from_dlpack(c), cupy.int32(a.numel()))
        loops["CuPy RawKernel, copy"] = Loop("f(b, (128,), t)", f=kernel, b=blocks, t=arguments)
    return loops


def section(title: str, src: torch.Tensor, dst: torch.Tensor, options: argparse.Namespace, report: gpu.Report) -> int:
    report.add("", f"## {title}", "", "| launch | us a call | ratio to bare | limit | met |", "|" + " --- |" * 5)
    gpu.bits(dst).fill_(0x5A)
    kernels.tiled_copy(src, dst)
    if not gpu.same(dst, src):
        raise AssertionError(f"{title}: the result is wrong")
    loops: dict[str, Callable[[int], float]] = {}
    failed = 0
    for make in (bare, ours, rivals):
        try:
            loops |= make(src, dst)
        except Exception as error:  # the others' figures are still worth having
            traceback.print_exc()
            failed += make is not rivals
            report.add(f"| {make.__name__} | failed: {type(error).__name__}: {' '.join(str(error).split())[:120]} |")
    timings = measure(loops, options)
    empty = Loop("pass")
    nothing = min(empty(1000) for _ in range(5))
    reference = timings.get(BARE)
    limits = {"kernels.tiled_copy(src, dst)": 1.4, "plan.bind(src, dst)()": 1.1}
    for name, timing in timings.items():
        net = timing if name == BARE else gpu.Timing(tuple(s - nothing for s in timing.samples))
        cells = [name, gpu.text(gpu.spread([s * 1e6 for s in net.samples]), ".2f"), "", "", ""]
        if reference:
            ratio = reference.over(net)
            cells[2] = gpu.text(ratio, ".2f")
            if limit := limits.get(name):
                cells[3:] = [str(limit), "yes" if ratio[0] <= limit else "**no**"]
        report.add(f"| {' | '.join(cells)} |")
    return failed


def main() -> int:
    options = gpu.arguments("Host time of a launch")
    device = "cpu" if options.dry else "cuda"
    with gpu.Report("launch", options) as report:
        report.add("# Host time of a launch", "", *gpu.machine(options))
        report.add(
            f"Microseconds of the host a call, median (10th to 90th percentile) over batches of {BATCH} launches, the",
            "device idle when a batch begins; contestants in turn; Python's empty loop is taken off. The bare launch",
            "is the plan's own: kernel, grid and parameters read from a graph that captured it, launched by C++.",
        )
        small = torch.rand(1024, device=device)
        failed = section("1024 floats, contiguous", small, torch.empty_like(small), options, report)
        square = torch.rand(64, 64, device=device)
        transposed = square.t()
        failed += section("64 x 64 floats, transposed", transposed, torch.empty_like(square), options, report)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
