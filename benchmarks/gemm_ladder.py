"""The road from a naive GEMM to the last one, each step measured beside cuBLAS in one run.

python benchmarks/gemm_ladder.py [--quick] [--dry] [--only REGEX] [--out FOLDER]
python benchmarks/gemm_ladder.py --docs       writes the newest results and the model's constants into docs/gemm.md
python benchmarks/gemm_ladder.py --pictures   draws docs/img/gemm_*.svg

The steps are those of gemm_ladder_steps.py. `--dry` compiles every plan for sm_90a, needs no GPU, and multiplies 256^3
by it on the CPU. `--only` matches the ladder's title and the step's name, "bf16, tensor cores: swizzle".
"""

from __future__ import annotations

import argparse
import re
import sys
import traceback
from pathlib import Path
from typing import Any

import torch

import gpu
from gemm_ladder_steps import LADDERS, Ladder, Step
from gpu import Contestant, rotating
from tilewright import kernels
from tilewright.kernels.gemm.banks import shared_accesses
from tilewright.kernels.gemm.composite.padded import PaddedGemm

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/gemm.md"
PICTURES = ROOT / "docs/img"
MODEL = ROOT / "python/tilewright/kernels/devices/h200.py"
FIGURES, CONSTANTS = ((f"<!-- {x}: begin -->", f"<!-- {x}: end -->") for x in ("gemm_ladder", "gemm_model"))
MARGIN = 1.1  # of cuBLAS's error
TF32_ERROR = 3e-4  # of products of rounded factors
SAMPLED = 64  # rows of C that are compared with float64
SMALL = 256  # extents of a dry run
HEADS = ["step", "its one idea", "kernel, tile, stages", "wavefronts", "TFLOP/s", "ratio to cuBLAS", "error / cuBLAS's"]


def described(plan: Any) -> str:
    if isinstance(plan, PaddedGemm):
        return f"copies, then {described(plan.gemm)}"
    stages = f"{plan.stages} stage{'s' * (plan.stages > 1)}"
    return f"{plan.kernel_name} {'x'.join(map(str, plan.tiler_mnk))}, {plan.threads} threads, {stages}"


def wavefronts(plan: Any) -> str:
    """What the first accesses of shared memory take, and where that is more than the least, the least too."""
    found, plan = [], getattr(plan, "kernel_plan", plan)
    for operand in "AB":
        parts = [x for x in shared_accesses(plan) if x.operand == operand]
        ways = [("write " if x.writes else "read ") + str(x.wavefronts) for x in parts if x.wavefronts > x.least]
        found += [f"{operand}: {', '.join(ways)}"] if ways else []
    return "; ".join(found) or "least"


def sampled_error(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> float:
    """The relative Frobenius error of some rows of C, against float64."""
    rows = torch.linspace(0, a.shape[0] - 1, min(SAMPLED, a.shape[0])).long().to(a.device)
    expected = a[rows].to(torch.float64) @ b.to(torch.float64).T
    return float((c[rows].to(torch.float64) - expected).norm() / expected.norm())


def seconds_of(call: Any, operands: list[torch.Tensor]) -> float:
    """About how long a launch takes."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call(*operands)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) * 1e-3


class Run:
    """A ladder's operands and what was measured."""

    def __init__(self, ladder: Ladder, options: argparse.Namespace) -> None:
        self.ladder, self.options = ladder, options
        m, n, k = ladder.extents
        moved = ladder.dtype.itemsize * (m * k + n * k + m * n)
        device, small = ("cpu", SMALL) if options.dry else ("cuda", 0)
        torch.manual_seed(0)
        self.sets = [ladder.operands(device, small) for _ in range(gpu.sets_past_cache(moved, options))]
        self.moved = moved
        self.full = ladder.operands("cpu", empty=True) if options.dry else self.sets[0]
        torch.backends.cuda.matmul.allow_tf32 = ladder.tf32
        # torch has no TF32 on the CPU.
        self.rival_error = (
            TF32_ERROR if ladder.tf32 and options.dry else self.error(lambda a, b, c: torch.mm(a, b.T, out=c))
        )
        self.seen: dict[Any, str] = {}

    def error(self, call: Any) -> float:
        a, b, c = self.sets[0]
        c.fill_(float("nan"))
        call(a, b, c)
        return sampled_error(a, b, c)

    def row(self, step: Step) -> str:
        plan = step.make(*self.full[:2])
        cells = [step.name, step.idea, described(plan), wavefronts(plan)]
        if plan in self.seen:
            return f"| {' | '.join([*cells, f'as in {self.seen[plan]}', '', ''])} |"
        if self.options.dry:
            plan.compile()

        def ours(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
            return kernels.gemm(a, b, c, plan=plan)

        error = self.error(ours)
        if not error <= 4 * MARGIN * self.rival_error:
            raise AssertionError(f"relative error {error:.3g}, where cuBLAS has {self.rival_error:.3g}")
        guess = None if self.options.dry else seconds_of(ours, list(self.sets[0]))
        columns = [list(x) for x in zip(*self.sets, strict=True)]
        field = [
            Contestant("tilewright", rotating(ours, *columns)),
            Contestant("cuBLAS", rotating(lambda a, b, c: torch.mm(a, b.T, out=c), *columns)),
        ]
        rounds = 5 if self.options.quick or (guess or 0) > 0.02 else 15
        timings = gpu.race(field, len(self.sets), self.moved, self.options, guess=guess, rounds=rounds)
        mine, rival = timings["tilewright"], timings["cuBLAS"]
        flops = self.ladder.flops / 1e12
        cells += [gpu.text(mine.rate(flops), ".4g"), gpu.text(mine.over(rival), ".3f")]
        cells.append(f"{error / self.rival_error:.2f}")
        self.seen[plan] = step.name
        return f"| {' | '.join(cells)} |"


def measure(options: argparse.Namespace) -> int:
    failed = []
    with gpu.Report("gemm_ladder", options) as report:
        report.add("# The road to a fast GEMM", "", *gpu.machine(options))
        report.add(
            "TFLOP/s: median (10th to 90th percentile) of samples of about 2.5 ms of launches, or of one launch, in a",
            "graph's replay between two events, in turn with cuBLAS (torch.mm), over operands rotated past the L2.",
            "'Ratio' is the median (10th to 90th percentile) of the ratios of throughput within rounds. Random normal",
            f"data. The relative Frobenius error of {SAMPLED} rows of C against float64 is compared with cuBLAS's.",
            "'Wavefronts' of the first warp's first accesses to shared memory: 'least', or what they take instead.",
        )
        for ladder in LADDERS:
            steps = [x for x in ladder.steps if options.pattern.search(f"{ladder.title}: {x.name}")]
            if not steps:
                continue
            m, n, k = ladder.extents
            report.add("", f"## {ladder.title}, {m} x {n} x {k}, B contiguous along {ladder.b_order.upper()}", "")
            report.add(f"| {' | '.join(HEADS)} |", "|" + " --- |" * len(HEADS))
            run = Run(ladder, options)
            for step in steps:
                try:
                    report.add(run.row(step))
                except Exception as error:  # one broken step must not cost the figures of the others
                    traceback.print_exc()
                    failed.append(step.name)
                    report.add(
                        f"| {step.name} | failed: {type(error).__name__}: {' '.join(str(error).split())[:120]} |"
                    )
            del run
        report.add("", f"Steps failed: {', '.join(failed) or 'none'}.")
    return 1 if failed else 0


# --- the page


def newest_results(folder: Path) -> Path | None:
    return max(folder.glob("gemm_ladder-*.md"), default=None)


def figures(text: str | None) -> str:
    """What the page says of the text of a result file; None: there is none yet."""
    if text is None:
        return "Not measured yet: `python benchmarks/gemm_ladder.py` on a GPU, then the same with `--docs`."
    head, *ladders = re.split(r"^## ", text, flags=re.M)
    parts = [" ".join(line for line in head.splitlines()[1:] if line)]
    for ladder in ladders:
        title, *rows = ladder.splitlines()
        parts.append(f"### {title}\n\n" + "\n".join(row for row in rows if row.startswith("|")))
    return "\n\n".join(parts)


def constants(source: str) -> str:
    """The numbers of the cost model of gemm_sm90, from a device's file, as a table."""
    lines = source.split("\nSM90_MODEL = {")[1].split("\n}")[0].splitlines()
    found = (re.fullmatch(r' {4}"(\w+)": ([^#]*?),(?:  # (.*))?', line) for line in lines)
    rows = [f"| `{x[1]}` | {x[2]} | {x[3] or ''} |" for x in found if x]
    return "\n".join(["| constant | value | |", "| --- | --- | --- |", *rows])


def between(page: str, marks: tuple[str, str], text: str) -> str:
    """The page with a text between two comments."""
    before, rest = page.split(marks[0])
    return f"{before}{marks[0]}\n{text}\n{marks[1]}{rest.split(marks[1])[1]}"


def written(page: str, results: str | None) -> str:
    """The page with the results of a file, and with the constants as they are."""
    page = between(page, FIGURES, figures(results))
    return between(page, CONSTANTS, constants(MODEL.read_text()))


def write_docs(folder: Path) -> int:
    path = newest_results(folder)
    if path is None:
        print(f"there is no gemm_ladder-*.md in {folder}: run this script on a GPU first", file=sys.stderr)
    PAGE.write_text(written(PAGE.read_text(), path.read_text() if path else None))
    return 0 if path else 1


def pictures() -> dict[str, str]:
    """Name and text of every picture of a step."""
    found = {}
    for ladder in LADDERS:
        a, b, _ = ladder.operands("cpu", empty=True)
        found |= {step.file: step.make(a, b).svg(step.picture) for step in ladder.steps if step.picture}
    return found


def main() -> int:
    if "--docs" in sys.argv[1:]:
        return write_docs(ROOT / "benchmarks/results")
    if "--pictures" in sys.argv[1:]:
        for name, text in pictures().items():
            (PICTURES / name).write_text(text)
        return 0
    return measure(gpu.arguments("The road to a fast GEMM"))


if __name__ == "__main__":
    raise SystemExit(main())
