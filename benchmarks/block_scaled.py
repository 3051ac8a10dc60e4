"""fp8 with scales of blocks, the program of examples/fp8_block_gemm.py, beside torch's scaled_mm, in one run.

python benchmarks/block_scaled.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

M x N x K; A has scales of 1x128, B of 128x128, C is bf16. "in quarters" is the same program with four parts of 64
columns in place of its three. DeepGEMM runs, too, where its wheel (deep_gemm) is installed.
`--dry` runs small problems on the CPU without a rival: it tries the script, not the speed.
"""

from __future__ import annotations

import importlib
import importlib.util
import runpy
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F

import gpu
import tilewright as cutlass
from gpu import Contestant
from tilewright import cute

PROGRAM = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "fp8_block_gemm.py"))
CASES = ((4096, 7168, 16384), (4096, 4096, 7168), (4096, 24576, 1536), (8192, 8192, 8192))
DRY = ((130, 256, 256), (64, 136, 128))
HOW = """\
TFLOP/s: median (10th to 90th percentile). A sample is about 2.5 ms of launches between two events; contestants
in turn, every second round the other way round. Random normal data, quantized; each result's first rows are compared
with float64: the error is the norm of the difference over the norm. Ratios say how many times faster ours is."""

Tensors = tuple[torch.Tensor, ...]


def operands(m: int, n: int, k: int, device: str) -> Tensors:
    """A, its scales, B, its scales, C: the scales in the order that torch's scaled_mm wants."""
    a, scales_a = PROGRAM["quantized"](torch.randn(m, k, device=device), 1)
    b, scales_b = PROGRAM["quantized"](torch.randn(n, k, device=device), 128)
    c = torch.empty(m, n, device=device, dtype=torch.bfloat16)
    return a, scales_a.T.contiguous().T, b, scales_b.contiguous(), c


def rivals(tensors: list[Tensors], is_dry: bool) -> dict[str, Callable[[int], torch.Tensor]]:
    """Calls that run on the i-th operands and give C."""
    if is_dry:
        return {}

    def by_torch(i: int) -> torch.Tensor:
        a, scales_a, b, scales_b, _ = tensors[i]
        rows, blocks = F.ScalingType.BlockWise1x128, F.ScalingType.BlockWise128x128
        return F.scaled_mm(a, b.T, scales_a, rows, scales_b.T, blocks, output_dtype=torch.bfloat16)

    found = {"torch": by_torch}
    if importlib.util.find_spec("deep_gemm"):
        deep_gemm = importlib.import_module("deep_gemm")

        def by_deep_gemm(i: int) -> torch.Tensor:
            a, scales_a, b, scales_b, c = tensors[i]
            deep_gemm.fp8_gemm_nt((a, scales_a), (b, scales_b), c)
            return c

        found["DeepGEMM"] = by_deep_gemm
    return found


def main() -> None:
    options = gpu.arguments(__doc__ or "")
    device = "cpu" if options.dry else "cuda"
    clusters = 2 if options.dry else cutlass.utils.HardwareInfo().get_max_active_clusters(2)
    ratios: list[dict[str, float]] = []
    with gpu.Report("block_scaled", options) as report:
        report.add("# fp8 with scales of blocks", "", *gpu.machine(options), "", HOW, "")
        report.add("| case | contestant | TFLOP/s | ours is faster by | error | registers, spills, first call |")
        report.add("| --- | --- | --- | --- | --- | --- |")
        for m, n, k in DRY if options.dry else CASES:
            name = f"{m}x{n}x{k}"
            if not options.pattern.search(name):
                continue
            flops, moved = 2 * m * n * k, m * k + n * k + 2 * m * n
            sets = gpu.sets_past_cache(moved, options)
            tensors = [operands(m, n, k, device) for _ in range(sets)]
            begin = time.perf_counter()
            each = [PROGRAM["arguments"](*x) for x in tensors]
            compiled = cute.compile(PROGRAM["gemm"], *each[0], clusters)
            took = f"{time.perf_counter() - begin:.2f} s"
            took = "-" if options.dry else f"{compiled.registers}, {compiled.spills}, {took}"

            def ours(i: int) -> torch.Tensor:
                compiled(*each[i])  # noqa: B023 - called before the next case
                return tensors[i][4]  # noqa: B023

            quarters = cute.compile(PROGRAM["gemm"], *each[0], clusters, (64,) * 4)

            def in_quarters(i: int) -> torch.Tensor:
                quarters(*each[i])  # noqa: B023
                return tensors[i][4]  # noqa: B023

            calls = {"tilewright": ours, "in quarters": in_quarters, **rivals(tensors, options.dry)}
            a, scales_a, b, scales_b, _ = tensors[0]
            expected = PROGRAM["reference"](a[:256], scales_a[:256], b, scales_b)
            errors = {
                who: float((call(0)[:256].double() - expected).norm() / expected.norm()) for who, call in calls.items()
            }
            field = [Contestant(who, gpu.by_number(call, sets)) for who, call in calls.items()]
            times = gpu.race(field, sets, moved, options, guess=flops / 1e15)
            ratios.append(gpu.add_case(report, name, times, flops * 1e-12, errors, took))
        gpu.add_means(report, ratios)


if __name__ == "__main__":
    main()
