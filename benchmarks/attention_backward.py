"""Attention's backward pass, examples/attention_backward.py and .._256.py, beside the backends of torch's SDPA.

python benchmarks/attention_backward.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

16,384 tokens of a hidden size of 2,048: D 64, 128 and 256, S 1k to 8k, bf16, causal and not. A causal one counts half
of the operations. `--dry` runs small problems on the CPU: it tries the script, not the speed.
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

EXAMPLES = Path(__file__).parents[1] / "examples"
PROGRAM, DEEP = (runpy.run_path(str(EXAMPLES / f"attention_backward{x}.py")) for x in ("", "_256"))
PROGRAMS = {64: PROGRAM, 128: PROGRAM, 256: DEEP}
BACKENDS = {"cuDNN": SDPBackend.CUDNN_ATTENTION, "FlashAttention-2": SDPBackend.FLASH_ATTENTION}
OURS = {"tilewright": True, "tilewright, any order": False}
HOW = """\
TFLOP/s of the five products: median (10th to 90th percentile) of samples. A sample is about 2.5 ms of launches, or one
launch, between two events; contestants in turn, every second round the other way round. Random
normal data; the error is the greatest of those of dQ, dK and dV beside float64, norm of the difference over the norm.
Ratios say how many times faster ours, which gives the same bits always, is: median (10th to 90th percentile)."""

Tensors = tuple[torch.Tensor, ...]


def contestants(
    shape: tuple[int, ...], is_causal: bool, sets: int, options: argparse.Namespace
) -> tuple[dict[str, Callable[[int], Tensors]], list[Tensors], str]:
    """Calls that run on the i-th operands and give the gradients; the operands; what ours takes."""
    device, scale, right = "cpu" if options.dry else "cuda", shape[3] ** -0.5, 0 if is_causal else None
    backends = {"math": SDPBackend.MATH} if options.dry else BACKENDS
    forward = backends["math" if options.dry else "cuDNN"]
    operands, graphs = [], {name: [] for name in backends}
    for _ in range(sets):
        q, k, v, do = (torch.randn(shape, device=device).bfloat16() for _ in range(4))
        for name, backend in backends.items():
            leaves = [x.detach().requires_grad_() for x in (q, k, v)]
            with sdpa_kernel(backend):
                o = torch.nn.functional.scaled_dot_product_attention(*leaves, scale=scale, is_causal=is_causal)
            graphs[name].append((o, leaves, do))
            if backend is forward:
                output = o.detach()
        scores = torch.empty(shape[:3], device=device)
        for b in range(shape[0]):  # one at a time: all scores would not fit
            for h in range(shape[1]):
                s = scale * q[b, h].float() @ k[b, h].float().mT
                if is_causal:
                    s.masked_fill_(torch.ones_like(s, dtype=torch.bool).triu_(1), -math.inf)
                scores[b, h] = s.logsumexp(-1)
        operands.append((q, k, v, output, do, scores))
    calls: dict[str, Callable[[int], Tensors]] = {}
    took = []
    for name, is_ordered in OURS.items():
        found = [[torch.empty_like(x) for x in each[:3]] for each in operands]
        arguments = [
            list(map(PROGRAM["argument"], (*each, *gradients, *PROGRAMS[shape[3]]["workspace"](each[0]))))
            for each, gradients in zip(operands, found, strict=True)
        ]
        begin = time.perf_counter()
        function = PROGRAMS[shape[3]]["attention_backward"]
        compiled = cute.compile(function, *arguments[0], scale, None, right, is_ordered=is_ordered)
        took.append(
            "-" if options.dry else f"{compiled.registers}, {compiled.spills}, {time.perf_counter() - begin:.2f} s"
        )

        def ours(i, compiled=compiled, arguments=arguments, found=found):  # type: ignore[no-untyped-def]
            compiled(*arguments[i], scale, None, right)
            return tuple(found[i])

        calls[name] = ours
    for name in backends:

        def theirs(i, name=name):  # type: ignore[no-untyped-def]
            o, leaves, do = graphs[name][i]
            return torch.autograd.grad(o, leaves, do, retain_graph=True)

        calls[name] = theirs
    return calls, operands, took[0]


def main() -> None:
    options = gpu.arguments(__doc__ or "")
    tokens, hidden = (256, 128) if options.dry else (16384, 2048)
    lengths = (128, 256) if options.dry else (1024, 4096) if options.quick else (1024, 2048, 4096, 8192)
    ratios: list[dict[str, float]] = []
    with gpu.Report("attention_backward", options) as report:
        report.add("# Attention backward, bf16", "", *gpu.machine(options), "", HOW, "")
        report.add("| case | contestant | TFLOP/s | ours is faster by | error | registers, spills, first call |")
        report.add("| --- | --- | --- | --- | --- | --- |")
        for depth in PROGRAMS:
            for is_causal in (False, True):
                for length in lengths:
                    name = f"D {depth} S {length}{' causal' if is_causal else ''}"
                    if not options.pattern.search(name):
                        continue
                    shape = (tokens // length, max(hidden // depth, 1), length, depth)
                    flops = 10 * math.prod(shape) * length / (2 if is_causal else 1)
                    moved = 16 * math.prod(shape)
                    sets = gpu.sets_past_cache(moved, options)
                    calls, operands, took = contestants(shape, is_causal, sets, options)
                    q, k, v, _, do, _ = (x[:1, :1] for x in operands[0])
                    _, _, *expected = PROGRAM["reference"](q, k, v, do, depth**-0.5, None, 0 if is_causal else None)
                    errors = {
                        who: max(
                            float((x[:1, :1].double() - y).norm() / y.norm())
                            for x, y in zip(call(0), expected, strict=True)
                        )
                        for who, call in calls.items()
                    }

                    # autograd computes on the stream of the forward pass, which no graph captures.
                    field = [Contestant(who, gpu.by_number(call, sets), graph=False) for who, call in calls.items()]
                    times = gpu.race(field, sets, moved, options, guess=flops / 4e14)
                    ratios.append(gpu.add_case(report, name, times, flops * 1e-12, errors, took))
        gpu.add_means(report, ratios)


if __name__ == "__main__":
    main()
