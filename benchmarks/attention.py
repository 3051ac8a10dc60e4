"""Attention forward, the program of examples/attention_forward.py, beside the backends of torch's SDPA, in one run.

python benchmarks/attention.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

16,384 tokens of a hidden size of 2,048: D 64, 128 and 256, S 1k, 4k and 8k, bf16, causal and not, then fp8 of D 128
beside our bf16, since torch has no attention of fp8 there. A causal one counts half of the operations. `--dry` runs
small problems on the CPU: it tries the script, not the speed.
"""

from __future__ import annotations

import argparse
import math
import runpy
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import gpu
from gpu import Contestant
from tilewright import cute

PROGRAM = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "attention_forward.py"))
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}
HOW = """\
TFLOP/s: median (10th to 90th percentile) of samples. A sample is about 2.5 ms of launches, or one launch, in a graph's
replay between two events; contestants in turn, every second round the other way round. Random normal data; each result
is compared with float64 first: its error is the norm of the difference over the norm. Ratios say how many times faster
ours is: median (10th to 90th percentile) within rounds."""
HOW_FP8 = """\
fp8: e4m3 with a scale for each batch and head of Q, K and V; the error is against float64 of these rounded operands.
The plain reference rounds the weights to e4m3, too, and computes all else in float64."""

Tensors = tuple[torch.Tensor, ...]


def ours(
    tensors: list[Tensors], scales: list[Tensors | None], scale: float, is_causal: bool, options: argparse.Namespace
) -> tuple[Callable[[int], torch.Tensor], str]:
    """A call that runs our program on the i-th operands and gives O, and what it takes."""
    begin = time.perf_counter()
    right = 0 if is_causal else None
    arguments = [
        PROGRAM["arguments"](*each, scale, None, right, **({"scales": of} if of else {}))
        for each, of in zip(tensors, scales, strict=True)
    ]
    compiled = cute.compile(PROGRAM["attention"], *arguments[0])

    def call(i: int) -> torch.Tensor:
        compiled(*arguments[i][:-1])  # all but the depth, which is compiled in
        return tensors[i][3]

    took = "-" if options.dry else f"{compiled.registers}, {compiled.spills}, {time.perf_counter() - begin:.2f} s"
    return call, took


def contestants(
    tensors: list[Tensors], scale: float, is_causal: bool, options: argparse.Namespace
) -> tuple[dict[str, Callable[[int], torch.Tensor]], str]:
    """Calls that run on the i-th operands and give O, and what ours takes."""
    own, took = ours(tensors, [None] * len(tensors), scale, is_causal, options)

    def by(backend: SDPBackend) -> Callable[[int], torch.Tensor]:
        def call(i: int) -> torch.Tensor:
            with sdpa_kernel(backend):
                q, k, v, _, _ = tensors[i]
                return torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale, is_causal=is_causal)

        return call

    backends = {"math": SDPBackend.MATH} if options.dry else BACKENDS
    return {"tilewright": own} | {name: by(backend) for name, backend in backends.items()}, took


def quantized(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x as e4m3, and the scale of each batch and head: the largest of it becomes 448."""
    scales = x.abs().amax((2, 3)) / 448
    return (x / scales[..., None, None]).to(torch.float8_e4m3fn), scales


def plain_fp8(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, is_causal: bool) -> torch.Tensor:
    """Attention in float64 whose weights, up to 256, are rounded to e4m3."""
    scores = scale * q @ k.mT
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -math.inf)
    weights = 256 * (scores - scores.amax(-1, keepdim=True)).exp()
    return weights.to(torch.float8_e4m3fn).double() @ v / weights.sum(-1, keepdim=True)


def fp8_case(
    shape: tuple[int, ...], is_causal: bool, options: argparse.Namespace
) -> tuple[dict[str, gpu.Timing], dict[str, float], str]:
    """Times of our program on e4m3 and on bf16, their errors, and what that of e4m3 takes."""
    device, sets = "cpu" if options.dry else "cuda", gpu.sets_past_cache(5 * math.prod(shape), options)
    tensors, scales, wide = [], [], []
    for _ in range(sets):
        given = [torch.randn(shape, device=device) for _ in range(3)]
        values, of = zip(*map(quantized, given), strict=True)
        out, lse = torch.empty(shape, device=device).bfloat16(), torch.empty(shape[:3], device=device)
        tensors.append((*values, out, lse))
        scales.append(of)
        wide.append((*(x.bfloat16() for x in given), torch.empty_like(out), lse))
    scale = shape[3] ** -0.5
    eight, took = ours(tensors, scales, scale, is_causal, options)
    calls = {"tilewright": eight, "tilewright in bf16": ours(wide, [None] * sets, scale, is_causal, options)[0]}
    errors = {}
    q, k, v = (x[:1, :2].double() * y[:1, :2, None, None] for x, y in zip(tensors[0], scales[0], strict=False))
    expected, _ = PROGRAM["reference"](q, k, v, scale, None, 0 if is_causal else None)
    for who, found in (("tilewright", eight(0)[:1, :2]), ("plain", plain_fp8(q, k, v, scale, is_causal))):
        errors[who] = float((found.double() - expected).norm() / expected.norm())
    q, k, v = (x[:1, :2] for x in wide[0][:3])
    expected, _ = PROGRAM["reference"](q, k, v, scale, None, 0 if is_causal else None)
    errors["tilewright in bf16"] = float(
        (calls["tilewright in bf16"](0)[:1, :2].double() - expected).norm() / expected.norm()
    )
    field = [Contestant(who, gpu.by_number(call, sets)) for who, call in calls.items()]
    flops = 4 * math.prod(shape) * shape[2] / (2 if is_causal else 1)
    return gpu.race(field, sets, 5 * math.prod(shape), options, guess=flops / 4e14), errors, took


def main() -> None:
    options = gpu.arguments(__doc__ or "")
    device = "cpu" if options.dry else "cuda"
    tokens, hidden = (256, 128) if options.dry else (16384, 2048)
    lengths = (128, 256) if options.dry else (1024, 4096) if options.quick else (1024, 4096, 8192)
    ratios: list[dict[str, float]] = []
    with gpu.Report("attention", options) as report:
        report.add("# Attention forward, bf16", "", *gpu.machine(options), "", HOW, "")
        report.add("| case | contestant | TFLOP/s | ours is faster by | error | registers, spills, first call |")
        report.add("| --- | --- | --- | --- | --- | --- |")
        for depth in (64, 128, 256):
            for is_causal in (False, True):
                for length in lengths:
                    name = f"D {depth} S {length}{' causal' if is_causal else ''}"
                    if not options.pattern.search(name):
                        continue
                    shape = (tokens // length, max(hidden // depth, 1), length, depth)
                    flops = 4 * math.prod(shape) * length / (2 if is_causal else 1)
                    sets = gpu.sets_past_cache(8 * math.prod(shape), options)

                    def operands(shape: tuple[int, ...] = shape) -> Tensors:
                        q, k, v, o = (torch.randn(shape, device=device).bfloat16() for _ in range(4))
                        return q, k, v, o, torch.empty(shape[:3], device=device)

                    tensors = [operands() for _ in range(sets)]
                    scale = depth**-0.5
                    calls, took = contestants(tensors, scale, is_causal, options)
                    q, k, v, _, _ = (x[:1, :2] for x in tensors[0])
                    expected, _ = PROGRAM["reference"](q, k, v, scale, None, 0 if is_causal else None)
                    errors = {
                        who: float((call(0)[:1, :2].double() - expected).norm() / expected.norm())
                        for who, call in calls.items()
                    }

                    field = [Contestant(who, gpu.by_number(call, sets)) for who, call in calls.items()]
                    times = gpu.race(field, sets, 8 * math.prod(shape), options, guess=flops / 4e14)
                    ratios.append(gpu.add_case(report, name, times, flops * 1e-12, errors, took))
        gpu.add_means(report, ratios)
        report.add(
            "",
            HOW_FP8,
            "",
            "| case | contestant | TFLOP/s | fp8 is faster by | error | registers, spills, first call |",
        )
        report.add("| --- | --- | --- | --- | --- | --- |")
        for is_causal in (False, True):
            for length in lengths:
                name = f"fp8 D 128 S {length}{' causal' if is_causal else ''}"
                if not options.pattern.search(name):
                    continue
                shape = (tokens // length, max(hidden // 128, 1), length, 128)
                flops = 4 * math.prod(shape) * length / (2 if is_causal else 1)
                times, errors, took = fp8_case(shape, is_causal, options)
                took += f"; plain reference errs by {errors.pop('plain'):.1e}"
                gpu.add_case(report, name, times, flops * 1e-12, errors, took)


if __name__ == "__main__":
    main()
