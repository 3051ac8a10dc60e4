"""Decoding, the program of examples/attention_decode.py, beside a copy of as many bytes and torch's SDPA, in one run.

python benchmarks/decode.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

bf16, D 128, 64 heads of Q and 8 of K and V, pages of 64 keys, batches 1 to 128, S 1k to 131,072 and mixed lengths. SDPA
reads keys and values that lie side by side, as it knows no pages. `--dry` runs small problems on the CPU: it tries the
script, not the speed.
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
import tilewright as cutlass
from gpu import Contestant
from tilewright import cute, kernels

PROGRAM = runpy.run_path(str(Path(__file__).parents[1] / "examples" / "attention_decode.py"))
HEADS, KEY_HEADS, DEPTH, PAGE = 64, 8, 128, 64
LIMIT = 40 << 30  # bytes of keys and values
HOW = """\
GB/s of keys and values read; the copy reads half of as many bytes and writes the other half. Median (10th to 90th
percentile) of samples. A sample is a graph's replay between two events; contestants in turn, every second round the
other way round. Random normal data; each result is compared with float64 first: its error is the norm of the difference
over the norm. Ratios say how many times faster ours is: median (10th to 90th percentile) within rounds."""

Tensors = tuple[torch.Tensor, ...]


def cases(options: argparse.Namespace) -> list[tuple[str, list[int]]]:
    """Names and lengths of the sequences."""
    if options.dry:
        return [("B 1 S 256", [256]), ("B 3 mixed", [64, 200, 130])]
    lengths = (1024, 8192, 131072) if options.quick else (1024, 4096, 8192, 32768, 131072)
    found = [
        (f"B {batches} S {length}", [length] * batches)
        for batches in ((1, 16, 128) if options.quick else (1, 4, 16, 64, 128))
        for length in lengths
        if 4 * batches * length * KEY_HEADS * DEPTH <= LIMIT
    ]
    torch.manual_seed(0)
    return [*found, ("B 64 mixed", [int(x) for x in torch.randint(1, 16384, (64,))])]


def operands(lengths: list[int], heads: int, key_heads: int, device: str, processors: int) -> Tensors:
    """As operands of the example, with pages filled at once."""
    counts = [-(-length // PAGE) for length in lengths]
    order = torch.randperm(sum(counts), device=device).int()
    table = torch.zeros(len(lengths), max(counts), device=device, dtype=torch.int32)
    for row, pages in zip(table, order.split(counts), strict=True):
        row[: len(pages)] = pages
    k, v = (
        torch.empty(sum(counts), PAGE, key_heads, DEPTH, device=device, dtype=torch.bfloat16).normal_()
        for _ in range(2)
    )
    q = torch.randn(len(lengths), heads, 1, DEPTH, device=device).bfloat16()
    held = torch.tensor(lengths, device=device, dtype=torch.int32)
    space = PROGRAM["workspace"](q, key_heads, processors)
    return q, k, v, table, held, torch.empty_like(q), torch.empty(q.shape[:3], device=device), space


def contestants(
    made: list[Tensors], arguments: list[Any], compiled: Any, lengths: list[int], scale: float, copies: int
) -> dict[str, Callable[[int], Any]]:
    """Calls that run on the i-th operands and give O. The copy comes last, for it writes K over V.

    copies: how many of the operands are copied for SDPA, side by side.
    """

    def ours(i: int) -> torch.Tensor:
        compiled(*arguments[i], scale)
        return made[i][5]

    def copy(i: int) -> None:
        kernels.tiled_copy(made[i][1].flatten(), made[i][2].flatten())

    if len(set(lengths)) > 1:  # SDPA has one length
        return {"tilewright": ours, "copy": copy}
    dense = [
        [
            x[table.long().flatten()].view(len(lengths), -1, *x.shape[2:])[:, : lengths[0]].transpose(1, 2)
            for x in (k, v)
        ]
        for _, k, v, table, *_ in made[:copies]
    ]

    def sdpa(i: int) -> torch.Tensor:
        k, v = dense[i % len(dense)]
        return torch.nn.functional.scaled_dot_product_attention(made[i][0], k, v, scale=scale, enable_gqa=True)

    return {"tilewright": ours, "torch's SDPA": sdpa, "copy": copy}


@cute.kernel
def nothing_kernel() -> None:
    cute.arch.sync_threads()


@cute.jit
def nothing(blocks: cutlass.Int32) -> None:
    nothing_kernel().launch(grid=[blocks, 1, 1], block=[160, 1, 1])


def main() -> None:
    options = gpu.arguments(__doc__ or "")
    device = "cpu" if options.dry else "cuda"
    heads, key_heads = (8, 2) if options.dry else (HEADS, KEY_HEADS)
    processors = 2 if options.dry else torch.cuda.get_device_properties(0).multi_processor_count
    scale = DEPTH**-0.5
    ratios: list[dict[str, float]] = []
    took_each: list[str] = []
    with gpu.Report("decode", options) as report:
        report.add("# Decoding, bf16, D 128, 8 heads of Q for one of K and V", "", *gpu.machine(options), "", HOW, "")
        report.add("| case | contestant | GB/s | ours is faster by | error | registers, spills, first call |")
        report.add("| --- | --- | --- | --- | --- | --- |")
        for name, lengths in cases(options):
            if not options.pattern.search(name):
                continue
            size = 4 * sum(lengths) * key_heads * DEPTH
            sets = gpu.sets_past_cache(size, options)
            made = [operands(lengths, heads, key_heads, device, processors) for _ in range(sets)]
            arguments = [PROGRAM["arguments"](*each) for each in made]
            begin = time.perf_counter()
            compiled = cute.compile(PROGRAM["decode"], *arguments[0], scale)
            took = (
                "-" if options.dry else f"{compiled.registers}, {compiled.spills}, {time.perf_counter() - begin:.2f} s"
            )

            copies = max(1, (2 * LIMIT - sets * size) // size)
            calls = contestants(made, arguments, compiled, lengths, scale, copies)
            q, k, v, table, *_ = made[0]
            some = slice(0, 2)
            expected, _ = PROGRAM["reference"](q[some], k, v, table[some], lengths[some], scale)
            errors = {
                who: float((call(0)[some].double() - expected).norm() / expected.norm())
                for who, call in calls.items()
                if who != "copy"
            }

            field = [Contestant(who, gpu.by_number(call, sets)) for who, call in calls.items()]
            times = gpu.race(field, sets, size, options, guess=size / 4e12)
            ratios.append(gpu.add_case(report, name, times, size * 1e-9, errors, took))
            took_each.append(f"{name} {times['tilewright'].median * 1e6:.1f}")
        gpu.add_means(report, ratios)
        empty = Contestant("empty", gpu.by_number(lambda _: nothing(2 * processors), 1))
        took_empty = gpu.race([empty], 1, 0, options, guess=1e-6)["empty"].median
        report.add("", f"Ours in microseconds: {', '.join(took_each)}.")
        report.add(f"A kernel that does nothing, with as many blocks: {took_empty * 1e6:.2f}.")


if __name__ == "__main__":
    main()
