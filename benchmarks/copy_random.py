"""Random permutations and slices beside torch and memcpy; or, without a GPU, what is predicted of them.

python benchmarks/copy_random.py [SEED] [--cases N] [--packed] [--predict] [--quick] [--dry] [--only REGEX]
    [--out FOLDER]

The seed is today's date where none is given, so that nobody tunes for the cases of one.
"""

from __future__ import annotations

import argparse
import datetime
import random
import statistics
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import torch

import gpu
from gpu import GIB, MIB, Arena, Contestant, rotating
from tilewright import kernels
from tilewright.kernels.common.operands import CPU, Operand
from tilewright.kernels.copy.accesses import copy_instructions
from tilewright.kernels.copy.packing import packed_copy
from tilewright.kernels.copy.plan import CopyPlan
from tilewright.kernels.copy.planned import plan_operands

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}
SECTOR, LARGE = 32, 16 * MIB  # bytes: what memory moves at least, and the copies whose speed has a limit
MOST = 1 << 26  # elements of a copy


class Case(NamedTuple):
    """dst = src[slices].permute(axes), where src is a contiguous tensor of shape `shape`, and so is dst."""

    shape: tuple[int, ...]
    slices: tuple[tuple[int, int, int], ...]
    axes: tuple[int, ...]
    dtype: str

    def view(self, src: torch.Tensor) -> torch.Tensor:
        return src[tuple(slice(*each) for each in self.slices)].permute(self.axes)

    @property
    def like(self) -> torch.Tensor:
        """The view, of no memory."""
        return self.view(torch.empty(self.shape, dtype=DTYPES[self.dtype], device="meta"))

    @property
    def label(self) -> str:
        def one(extent: int, first: int, last: int, step: int) -> str:
            if (first, last, step) == (0, extent, 1):
                return str(extent)
            return f"{extent}[{first}:{last}{f':{step}' if step > 1 else ''}]"

        shape = " x ".join(one(n, *cut) for n, cut in zip(self.shape, self.slices, strict=True))
        return f"{shape} by ({','.join(map(str, self.axes))}) {self.dtype}"


def random_cases(seed: int, count: int, most: int = MOST) -> Iterator[Case]:
    """`count` copies in each of the types: rank 2 to 6, three of five permuted, one sliced, and one both."""
    choose = random.Random(seed)
    for number in range(count):
        rank = 2 + number % 5
        elements = 2 ** choose.uniform(min(21, most.bit_length() - 3), most.bit_length() - 1)
        shares = [choose.uniform(0.3, 1) for _ in range(rank)]
        shape = [max(2, round(elements ** (share / sum(shares)))) for share in shares]
        shape = [-(-n // 8) * 8 if n > 8 and choose.random() < 0.3 else n for n in shape]
        axes = list(range(rank))
        kind = choose.choice(("permuted",) * 3 + ("sliced", "both"))
        while kind != "sliced" and axes == sorted(axes):
            choose.shuffle(axes)
        whole, cuts = list(shape), [(0, n, 1) for n in shape]
        for mode in choose.sample(range(rank), min(rank, choose.randint(1, 2)) if kind != "permuted" else 0):
            n, step = shape[mode], choose.choice((1, 1, 1, 2))
            before, after = choose.randint(0, min(9, n)), choose.randint(0, min(9, n))
            whole[mode], cuts[mode] = before + n * step + after, (before, before + n * step, step)
        for dtype in DTYPES:
            yield Case(tuple(whole), tuple(cuts), tuple(axes), dtype)


# --- what is predicted


def plan_of(case: Case) -> tuple[CopyPlan, tuple[int, int]]:
    """The plan for tensors that begin where an allocator has them begin, and the addresses of both."""
    like = case.like
    size = like.dtype.itemsize
    shape, dst = tuple(like.shape), torch.empty(like.shape, device="meta").stride()

    def side(name: str, address: int, strides: tuple[int, ...]) -> Operand:
        return Operand(name, address, case.dtype, size, shape, strides, (CPU, 0), False, f"{shape}:{strides}", None)

    addresses = (1 << 60) + like.storage_offset() * size, 1 << 61
    plan = plan_operands("copy_random", side("src", addresses[0], like.stride()), side("dst", addresses[1], dst))[0]
    return plan, addresses


def packed_plan_of(case: Case, src: torch.Tensor, dst: torch.Tensor) -> CopyPlan | None:
    """The packed plan, if there is one, whatever the rule says."""
    plan = kernels.tiled_copy.plan(case.view(src), dst)
    return packed_copy(plan.problem, *(x & -x for x in (case.view(src).data_ptr(), dst.data_ptr())))


class Predicted(NamedTuple):
    """Of a copy: useful bytes in those of all sectors moved; wavefronts of shared memory, and memory instructions of
    warps, for each KiB copied."""

    efficiency: float
    wavefronts: float
    requests: float


def predicted(plan: CopyPlan, addresses: tuple[int, int]) -> Predicted:
    instructions = copy_instructions(plan, *addresses)
    size = plan.problem.element_bytes
    copied = torch.Size(plan.problem.extents).numel() * size
    # Of two accesses that are joined, the neighbouring thread has one as well: its sectors come from L1.
    joined = not plan.src_aligned and any(x.name == "load" and x.width > size for x in instructions)
    sectors = sum(x.sectors / (1 + (joined and x.name == "load")) for x in instructions if x.memory == "global")
    wavefronts = sum(x.wavefronts for x in instructions if x.memory == "shared")
    requests = sum(x.requests for x in instructions)
    return Predicted(2 * copied / (SECTOR * sectors), 1024 * wavefronts / copied, 1024 * requests / copied)


def predict(options: argparse.Namespace, report: gpu.Report, cases: Sequence[Case]) -> None:
    report.add(
        "Predicted from the plans, without a GPU: the useful part of the bytes in the sectors that warps ask for, and",
        "wavefronts of shared memory and memory instructions of warps for each KiB that is copied.",
        "",
        "| case | kernel | tile | efficiency | wavefronts a KiB | instructions a KiB |",
        "| --- | --- | --- | --- | --- | --- |",
    )
    found: dict[str, list[Predicted]] = {name: [] for name in DTYPES}
    for case in cases:
        plan, addresses = plan_of(case)
        one = predicted(plan, addresses)
        found[case.dtype].append(one)
        tile = "x".join(map(str, plan.tile))
        figures = f"{one.efficiency:.3f} | {one.wavefronts:.1f} | {one.requests:.1f}"
        report.add(f"| {case.label} | {plan.kernel} | {tile} | {figures} |")
    report.add("", "| type | cases | efficiency of 0.8 | least | median wavefronts | median instructions | most |")
    report.add("|" + " --- |" * 7)
    for name, some in [*found.items(), ("all", [x for each in found.values() for x in each])]:
        if some:
            share = statistics.mean(x.efficiency >= 0.8 for x in some)
            wavefronts = statistics.median(x.wavefronts for x in some)
            requests = [x.requests for x in some]
            figures = f"{share:.1%} | {min(x.efficiency for x in some):.3f} | {wavefronts:.1f}"
            report.add(
                f"| {name} | {len(some)} | {figures} | {statistics.median(requests):.1f} | {max(requests):.1f} |"
            )


# --- what is measured


class Bench:
    def __init__(self, options: argparse.Namespace, report: gpu.Report) -> None:
        self.options, self.report = options, report
        room, device = (64 * MIB, "cpu") if options.dry else (4 * GIB, "cuda")
        self.source = Arena(gpu.random_bytes(room, device))
        self.target = Arena(torch.empty(room, dtype=torch.uint8, device=device))
        self.bare = None if options.dry else gpu.Bare()
        if self.bare:
            self.bare.open()
        self.ratios: list[tuple[str, int, float, float]] = []  # label, bytes, over memcpy, over torch
        self.failed: list[str] = []

    def run(self, case: Case) -> str:
        dtype, like = DTYPES[case.dtype], case.like
        size = like.numel() * dtype.itemsize
        sets = gpu.sets_past_cache(2 * size, self.options)
        sources = self.source.tensors(sets, case.shape, dtype)
        targets = self.target.tensors(sets, tuple(like.shape), dtype)
        flat = [x.tensors(sets, (like.numel(),), dtype) for x in (self.source, self.target)]
        plan = packed_plan_of(case, sources[0], targets[0]) if self.options.packed else None
        calls: dict[str, Callable[[torch.Tensor, torch.Tensor], object]] = {
            "tilewright": lambda src, dst: kernels.tiled_copy(case.view(src), dst, plan=plan),
            "torch": lambda src, dst: dst.copy_(case.view(src)),
        }
        for src, dst in ((sources[0], targets[0]), (sources[-1], targets[-1])):
            gpu.bits(dst).fill_(0x5A)
            calls["tilewright"](src, dst)
            if not gpu.same(dst, case.view(src)):
                raise AssertionError("the result is wrong")
        field = [Contestant(name, rotating(call, sources, targets)) for name, call in calls.items()]
        copier = self.bare.copier(*flat) if self.bare else rotating(lambda src, dst: dst.copy_(src), *flat)
        field.append(Contestant("memcpy", copier, graph=size <= LARGE))
        times = gpu.race(field, sets, 2 * size, self.options)
        ours = times["tilewright"]
        ratios = ours.over(times["memcpy"]), ours.over(times["torch"])
        self.ratios.append((case.label, size, ratios[0][0], ratios[1][0]))
        speeds = [gpu.text(times[name].rate(2 * size / 1e9)) for name in ("tilewright", "memcpy", "torch")]
        cells = [case.label, f"{size / MIB:.0f}", *speeds, *(gpu.text(ratio, ".2f") for ratio in ratios)]
        return f"| {' | '.join(cells)} |"

    def table(self, cases: Sequence[Case]) -> None:
        heads = ["case", "MiB", "tilewright GB/s", "memcpy GB/s", "torch GB/s", "over memcpy", "over torch"]
        self.report.add("", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads))
        for case in cases:
            try:
                self.report.add(self.run(case))
            except Exception as error:  # one broken case must not cost the figures of the others
                traceback.print_exc()
                self.failed.append(case.label)
                self.report.add(f"| {case.label} | failed: {type(error).__name__}: {str(error).splitlines()[0]} |")

    def conclude(self) -> None:
        for what, some in (
            ("16 MiB and more", [x for x in self.ratios if x[1] >= LARGE]),
            ("less than 16 MiB", [x for x in self.ratios if x[1] < LARGE]),
        ):
            if some:
                share = statistics.mean(x[2] >= 0.8 for x in some)
                least, slowest = min(some, key=lambda x: x[2]), min(some, key=lambda x: x[3])
                self.report.add(
                    "", f"{len(some)} copies of {what}: {share:.1%} at 0.80 of memcpy or more, least {least[2]:.2f}",
                    f"({least[0]}); least beside torch {slowest[3]:.2f} ({slowest[0]}).",
                )  # fmt: skip
        self.report.add("", f"Cases failed: {', '.join(self.failed) or 'none'}.")


def more(parser: argparse.ArgumentParser) -> None:
    today = int(datetime.date.today().strftime("%Y%m%d"))
    parser.add_argument("seed", nargs="?", type=int, default=today, help="of the random cases, default today's date")
    parser.add_argument("--cases", type=int, default=300, help="copies in each type")
    parser.add_argument(
        "--packed", action="store_true", help="packed plans wherever there are any, whatever the rule says"
    )
    parser.add_argument("--predict", action="store_true", help="what is predicted of the plans, without a GPU")


def main() -> int:
    options = gpu.arguments("Random copies beside torch and memcpy", more=more)
    name = "copy_random-predicted" if options.predict else "copy_random"
    most = 1 << 14 if options.dry else MOST
    drawn = random_cases(options.seed, min(options.cases, 15) if options.dry else options.cases, most)
    cases = [case for case in drawn if options.pattern.search(case.label)]
    with gpu.Report(name, options) as report:
        report.add("# Random permutations and slices", "")
        if options.predict:
            report.add(f"tilewright {gpu.version('tilewright')}, seed {options.seed}.")
            predict(options, report, cases)
            return 0
        report.add(*gpu.machine(options), f"Seed {options.seed}.")
        report.add(
            "GB/s read and written: median (10th to 90th percentile) of the samples, contestants in turn; operands",
            "rotated past the L2; random bits; every result compared first, bit by bit. Ratios say how many times",
            "faster tilewright is. memcpy moves the bytes that are copied; from C++, to 16 MiB in a graph.",
        )
        bench = Bench(options, report)
        bench.table(cases)
        bench.conclude()
    return 1 if bench.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
