"""Kernels written in Python beside torch, torch.compile, Triton, tilewright's templates and bare CUDA C++, in one run.

python benchmarks/lang.py [--quick] [--dry] [--cpu] [--only SECTION,SECTION or REGEX] [--out FOLDER]

The sections are those of lang_problems.SECTIONS, "launch", "first call" and "cpu". `--only` also takes a regular
expression that "section: case" matches. `--cpu` measures what needs no GPU: the section "cpu". `--dry` runs everything
on small CPU tensors, and compiles the CUDA C++ for sm_90a: it tries the script, not the speed.
"""

from __future__ import annotations

import argparse
import re
import time
import traceback
from collections.abc import Callable

import torch

import gpu
import lang_cpu
import lang_first_call
import lang_launch
import lang_problems
from gpu import MIB, Arena, Contestant, rotating
from lang_problems import COPY, Case
from tiled_copy import torch_copy_kernel

OTHERS = ("launch", "first call", "cpu")


class Bench:
    """Cases one after another: each result is compared first, then all contestants are raced."""

    def __init__(self, options: argparse.Namespace, report: gpu.Report) -> None:
        self.options, self.report = options, report
        self.rivals = lang_problems.rivals_of(options.dry)
        self.missed: list[str] = []
        self.failed: list[str] = []
        self.bare: gpu.Bare | None = None
        self.arenas: list[Arena] | None = None

    def section(self, title: str) -> None:
        cases = [
            (name, make)
            for name, make in lang_problems.SECTIONS[title](self.rivals, self.options.dry)
            if self.options.wanted(title, name)
        ]
        if not cases:
            return
        begin = time.perf_counter()
        for number, (name, make) in enumerate(cases):
            try:
                case = make()
                found = self.run(case)
                rows = self.rows(case, found)
            except Exception as error:  # one broken case must not cost the figures of the others
                traceback.print_exc()
                self.failed.append(f"{title}: {name}")
                rows = [f"| {name} | failed: {type(error).__name__}: {' '.join(str(error).split())[:160]} |"]
            if number == 0:
                heads = ["case", "contestant", "speed", "ratio of ours to it", "limit", "met", "registers, spills"]
                self.report.add("", f"## {title}", "", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads))
            self.report.add(*rows)
            case = found = None  # its memory is free again
        print(f"({title} took {time.perf_counter() - begin:.1f} s)", flush=True)

    def run(self, case: Case) -> dict[str, gpu.Timing]:
        moved = sum(x.numel() * x.element_size() for x in case.operands)
        sets = gpu.sets_past_cache(moved, self.options)
        operands = [[x] + [_alike(x) for _ in range(sets - 1)] for x in case.operands]
        expected = case.expected()
        field = []
        for name, call in case.calls.items():
            try:
                self.check(case, call, expected)
            except Exception as error:
                if name.startswith("tilewright"):
                    raise
                print(f"{case.name}, {name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
                continue
            field.append(Contestant(name, rotating(call, *operands)))
        del expected
        if COPY in case.limits or case.unit == "GB/s":
            field += self.copies(int(case.amount) // 2)
        return gpu.race(field, sets, moved, self.options, guess=case.guess)

    def check(self, case: Case, call: Callable[..., object], expected: torch.Tensor) -> None:
        result = case.operands[-1]
        gpu.bits(result).fill_(0x5A)
        given = call(*case.operands)
        if isinstance(given, torch.Tensor) and given.shape == result.shape:  # torch's own may return it
            result = given
        if case.tolerance == 0:
            if not gpu.same(result.contiguous(), expected.contiguous()):
                raise AssertionError("the result is wrong")
            return
        error = float((result.double() - expected).norm() / expected.norm())
        if not error <= case.tolerance:
            raise AssertionError(f"relative error {error:.3g}, but at most {case.tolerance:.3g} is right")

    def copies(self, size: int) -> list[Contestant]:
        """Contiguous copies of so many bytes: torch's copy kernel, and memcpy called by C++."""
        if self.options.dry:
            a, b = torch.rand(max(size // 4, 1)), torch.empty(max(size // 4, 1))
            return [Contestant("copy, torch kernel", rotating(torch_copy_kernel, [a], [b]))]
        if self.arenas is None:
            most = 3 * (1 << 28) * 4 // 2 + MIB
            target = torch.empty(most, dtype=torch.uint8, device="cuda")
            self.arenas = [Arena(gpu.random_bytes(most, "cuda")), Arena(target)]
            self.bare = gpu.Bare()
            self.bare.open()
        flat = [arena.tensors(1, (size // 4,), torch.float32) for arena in self.arenas]
        return [
            Contestant("copy, torch kernel", rotating(torch_copy_kernel, *flat)),
            Contestant("copy, memcpy", self.bare.copier(*flat), graph=False),
        ]

    def rows(self, case: Case, timings: dict[str, gpu.Timing]) -> list[str]:
        """A row a contestant. Ours is the fastest of ours; the copy is the fastest one."""
        ours = min((name for name in timings if name.startswith("tilewright")), key=lambda name: timings[name].median)
        copies = [name for name in timings if name.startswith("copy")]
        fastest = min(copies, key=lambda name: timings[name].median) if copies else None
        scale = 1e9 if case.unit == "GB/s" else 1e12
        lines = []
        costs = {name: (c.registers, c.spills) for name, c in _named(case, timings).items()}
        for name, timing in timings.items():
            if name in copies and name != fastest:
                continue
            limit = case.limits.get(COPY if name == fastest else name)
            ratio = timings[ours].over(timing)
            met = "" if limit is None or self.options.dry else "yes" if ratio[0] >= limit else "**no**"
            if met == "**no**":
                self.missed.append(f"{case.name}: {ratio[0]:.3f} of {name}, asked {limit:g}")
            cells = [case.name, name, f"{gpu.text(timing.rate(case.amount / scale), '.4g')} {case.unit}"]
            cells += ["" if name == ours else gpu.text(ratio, ".3f"), "" if limit is None else f"{limit:g}", met]
            cells.append("{}, {}".format(*costs[name]) if name in costs else "")
            lines.append(f"| {' | '.join(cells)} |")
        return lines


def _alike(x: torch.Tensor) -> torch.Tensor:
    """A copy with the same strides."""
    made = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device)
    return made.copy_(x)


def _named(case: Case, timings: dict[str, gpu.Timing]) -> dict[str, object]:
    """Our compiled functions by their names in the race."""
    ours = [name for name in case.calls if name.startswith("tilewright")]
    return {name: c for name, c in zip(ours, case.compiled, strict=True) if name in timings}


def wanted(only: str) -> Callable[[str, str], bool]:
    """Whether a section's case is to run: sections by name, or a regular expression."""
    names = only.split(",")
    if not only or set(names) <= {*lang_problems.SECTIONS, *OTHERS}:
        return lambda section, case: not only or section in names
    pattern = re.compile(only)
    return lambda section, case: bool(pattern.search(f"{section}: {case}"))


def main() -> int:
    options = gpu.arguments("Kernels written in Python beside their rivals", cpu="only what needs no GPU")
    if options.child:
        return lang_first_call.child(options.child, options.dry)
    options.wanted = wanted("cpu" if options.cpu else options.only)
    with gpu.Report("lang_cpu" if options.cpu else "lang", options) as report:
        report.add("# Kernels written in Python", "", *(lang_cpu.machine() if options.cpu else gpu.machine(options)))
        report.add(
            "Speeds: median (10th to 90th percentile) of samples. A sample is about 2.5 ms of launches, or one launch,",
            "in a graph's replay between two events; contestants in turn, every second round the other way round.",
            "Random normal data; each result is compared first. Ratios say how many times faster the fastest of ours",
            "is: median (10th to 90th percentile) within rounds. GB/s count what has to be read and written; 'copy' is",
            "the fastest contiguous copy of as many bytes.",
        )
        failed, missed = [], []
        if not options.cpu:
            bench = Bench(options, report)
            for title in lang_problems.SECTIONS:
                bench.section(title)
            failed, missed = bench.failed, bench.missed
        for title, module in zip(OTHERS, (lang_launch, lang_first_call, lang_cpu), strict=True):
            if not options.wanted(title, ""):
                continue
            try:
                missed += module.section(options, report)
            except Exception as error:
                traceback.print_exc()
                failed.append(f"{title}: {type(error).__name__}: {' '.join(str(error).split())[:200]}")
        report.add("", f"Limits missed: {'; '.join(missed) or 'none'}.")
        report.add(f"Failed: {'; '.join(failed) or 'none'}.")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
