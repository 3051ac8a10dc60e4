"""Decoding by latent attention, the program of examples/mla_decode.py, beside torch's products and softmax, in one run.

python benchmarks/mla.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

bf16, 128 heads of one query, 576 numbers a key, pages of 64 keys, batches 1 to 128, S 4k to 32k and mixed lengths.
torch has no such attention: its contestant multiplies, takes the softmax and multiplies again, of keys side by side.
`--dry` runs small problems on the CPU: it tries the script, not the speed.
"""

from __future__ import annotations

import argparse
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import gpu
from gpu import Contestant
from tilewright import cute

PROGRAM = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "mla_decode.py"))
HEADS, DEPTH, LATENT, PAGE = 128, 576, 512, 64
LIMIT = 24 << 30  # bytes of keys
SCALE = DEPTH**-0.5
HOW = """\
TFLOP/s, 2 (576 + 512) 128 operations a key. Median (10th to 90th
percentile) of samples. A sample is a graph's replay between two events; contestants in turn, every second round the
other way round. Random normal data; each result is compared with float64 first: its error is the norm of the difference
over the norm. Ratios say how many times faster ours is: median (10th to 90th percentile) within rounds."""

Tensors = tuple[Any, ...]


def cases(options: argparse.Namespace) -> list[tuple[str, list[int]]]:
    """Names and lengths of the sequences."""
    if options.dry:
        return [("B 1 S 256", [256]), ("B 3 mixed", [64, 200, 130])]
    found = [
        (f"B {batches} S {length}", [length] * batches)
        for batches in ((128,) if options.quick else (1, 16, 64, 128))
        for length in ((4096, 32768) if options.quick else (4096, 8192, 16384, 32768))
        if 2 * batches * length * DEPTH <= LIMIT
    ]
    torch.manual_seed(0)
    return [*found, ("B 128 mixed", [int(x) for x in torch.randint(1, 16384, (128,))])]


def operands(lengths: list[int], device: str, processors: int) -> Tensors:
    """As operands of the example, with pages filled at once."""
    counts = [-(-length // PAGE) for length in lengths]
    order = torch.randperm(sum(counts), device=device).int()
    table = torch.zeros(len(lengths), max(counts), device=device, dtype=torch.int32)
    for row, pages in zip(table, order.split(counts), strict=True):
        row[: len(pages)] = pages
    cache = torch.empty(sum(counts), PAGE, DEPTH, device=device, dtype=torch.bfloat16).normal_()
    q = torch.randn(len(lengths), 1, HEADS, DEPTH, device=device).bfloat16()
    held = torch.tensor(lengths, device=device, dtype=torch.int32)
    o = torch.empty(*q.shape[:3], LATENT, device=device, dtype=torch.bfloat16)
    return q, cache, table, held, o, torch.empty(q.shape[:3], device=device), PROGRAM["workspace"](device, processors)


def contestants(
    made: list[Tensors], arguments: list[Any], compiled: Any, lengths: list[int]
) -> dict[str, Callable[[int], torch.Tensor]]:
    """Calls that run on the i-th operands and give O."""

    def ours(i: int) -> torch.Tensor:
        compiled(*arguments[i], SCALE)
        out: torch.Tensor = made[i][4]
        return out

    if len(set(lengths)) > 1:  # products in batches have one length
        return {"tilewright": ours}
    cache, table = made[0][1:3]
    dense = cache[table.long().flatten()].view(len(lengths), -1, DEPTH)[:, : lengths[0]]

    def products(i: int) -> torch.Tensor:
        weights = (made[i][0][:, 0] @ dense.mT * SCALE).softmax(-1)
        return (weights @ dense[..., :LATENT])[:, None]

    return {"tilewright": ours, "torch's products": products}


def main() -> None:
    options = gpu.arguments(__doc__ or "")
    device = "cpu" if options.dry else "cuda"
    processors = 4 if options.dry else torch.cuda.get_device_properties(0).multi_processor_count
    ratios: list[dict[str, float]] = []
    with gpu.Report("mla", options) as report:
        report.add("# Decoding by latent attention, bf16, 128 heads", "", *gpu.machine(options), "", HOW, "")
        report.add("| case | contestant | TFLOP/s | ours is faster by | error | registers, spills, first call |")
        report.add("| --- | --- | --- | --- | --- | --- |")
        for name, lengths in cases(options):
            if not options.pattern.search(name):
                continue
            size, work = 2 * sum(lengths) * DEPTH, 2 * (DEPTH + LATENT) * HEADS * sum(lengths)
            sets = gpu.sets_past_cache(size, options)
            made = [operands(lengths, device, processors) for _ in range(sets)]
            arguments = [PROGRAM["arguments"](*each) for each in made]
            begin = time.perf_counter()
            compiled = cute.compile(PROGRAM["mla_decode"], *arguments[0], SCALE)
            took = (
                "-" if options.dry else f"{compiled.registers}, {compiled.spills}, {time.perf_counter() - begin:.2f} s"
            )
            calls = contestants(made, arguments, compiled, lengths)
            q, cache, table, *_ = made[0]
            some = slice(0, 2)
            expected, _ = PROGRAM["reference"](q[some], cache, table[some], lengths[some], SCALE)
            errors = {
                who: float((call(0)[some].double() - expected).norm() / expected.norm()) for who, call in calls.items()
            }
            field = [Contestant(who, gpu.by_number(call, sets)) for who, call in calls.items()]
            times = gpu.race(field, sets, size, options, guess=work / 5e14)
            ratios.append(gpu.add_case(report, name, times, work * 1e-12, errors, took))
        report.add("", f"GB/s of keys: TFLOP/s times {2000 * DEPTH / (2 * (DEPTH + LATENT) * HEADS):.3f}.")
        gpu.add_means(report, ratios)


if __name__ == "__main__":
    main()
