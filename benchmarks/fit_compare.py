"""GEMMs by the plans that a device's own file chooses, beside those by the H200's numbers, and cuBLAS, in one run.

python benchmarks/fit_compare.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

The cases are those of benchmarks/gemm.py without epilogues, and UNALIGNED, of which kernels that load by TMA need
copies; `--only` chooses among their names, such as "bf16: 4096^3 bf16 A:k B:k". Where both choose one plan, nothing is
measured. `--dry` takes the H200's file: all plans are equal.
"""

from __future__ import annotations

import argparse
import functools
import statistics
from collections.abc import Iterator
from typing import Any

import torch

import gemm
import gemm_cases
import gpu
from tilewright import kernels
from tilewright.devices import H200
from tilewright.kernels.common.ahead import compile_ahead
from tilewright.kernels.devices import file_of
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.operands import gemm_operands
from tilewright.kernels.gemm.request import GemmRequest

UNALIGNED = tuple(
    gemm_cases.Case(gemm_cases.TYPES[name], *shape, orders=orders)
    for name in ("bf16", "tf32", "int8", "fp8", "fp64")
    for shape in (
        (64, 2048, 1001), (500, 1000, 500), (500, 2048, 4100), (1000, 1000, 1001), (2048, 1000, 1020), (4096, 500, 1001)
    )
    for orders in (("k", "k"), ("m", "n"))
)  # fmt: skip


def cases(options: argparse.Namespace) -> Iterator[gemm_cases.Case]:
    """Those that are chosen."""
    sections = {x: gemm_cases.cases(x, quick=options.quick, dry=options.dry) for x in gemm_cases.SECTIONS}
    sections["unaligned"] = [gemm_cases.small(x) for x in UNALIGNED] if options.dry else list(UNALIGNED)
    for section, found in sections.items():
        yield from (x for x in found if not x.epilogue and options.pattern.search(f"{section}: {x.name}"))


def rival(case: gemm_cases.Case, operands: list[list[torch.Tensor]]) -> gpu.Contestant | None:
    """cuBLAS, or None where it does not take the operands."""
    call = gemm.cublas(case, {"bias": operands[2][0]})
    try:
        call(*(x[0] for x in operands))
    except (RuntimeError, ValueError):
        return None
    return gpu.Contestant("cuBLAS", gpu.rotating(call, *operands))


def plans_of(case: gemm_cases.Case, first: list[torch.Tensor], facts: Any) -> tuple[Any, Any]:
    """The plan by the device's file, and that by the H200's numbers for the same device."""
    operands = gemm_operands("fit_compare", *first, GemmRequest(allow_tf32=case.type.tf32))
    by_own, by_h200 = (
        choose_gemm(operands.problem, operands.alignments, x) for x in (facts, facts._replace(name=H200.name))
    )
    return by_own, by_h200


def name_of(plan: Any) -> str:
    """The kernel, tile and stages of a plan."""
    extra = [
        f"{name} {x}" for name in ("stages", "cluster", "split_k", "stream_k_ctas") if (x := getattr(plan, name, 0))
    ]
    return ", ".join([f"{plan.kernel_name} {'x'.join(map(str, plan.tiler_mnk))}", *extra])


def main() -> int:
    options = gpu.arguments("Plans by a device's own numbers beside those by the H200's")
    if options.dry:
        facts = H200
    else:
        from tilewright.kernels.common.launch import facts_of

        facts = facts_of(0)
    with gpu.Report(f"fit_{file_of(facts.name, facts.capability)}", options) as report:
        bench = gemm.Bench(options, report)
        report.add(f"# Plans by {file_of(facts.name, facts.capability)}.py beside those by h200.py", "")
        report.add(
            *gpu.machine(options),
            "TFLOP/s: medians. Ratios: median (10th to 90th percentile) within rounds, as in benchmarks/gemm.py. Only",
            "cases for which the two choose different plans.",
            "",
            "| case | own | H200's | cuBLAS | own to H200's | own to cuBLAS | own plan | plan by the H200's |",
            "|" + " --- |" * 8,
        )
        found, count = [], 0
        for case in cases(options):
            own, h200 = plans_of(case, [x[0] for x in bench.operands(case, 1)], facts)
            count += 1
            if own != h200:
                found.append((case, own, h200))
        if not options.dry:
            compile_ahead([plan for _, *plans in found for plan in plans], facts.arch, "compiling")
        ratios = []
        for case, own, h200 in found:
            sets = gpu.sets_past_cache(case.bytes, options)
            operands = bench.operands(case, sets)
            torch.backends.cuda.matmul.allow_tf32 = case.type.tf32
            told = {"allow_tf32": True} if case.type.tf32 else {}
            field = [
                gpu.Contestant(name, gpu.rotating(functools.partial(kernels.gemm, plan=plan, **told), *operands))
                for name, plan in (("own", own), ("H200's", h200))
            ]
            cublas = rival(case, operands)
            timings = gpu.race([*field, *([cublas] if cublas else [])], sets, case.bytes, options, guess=case.guess)
            mine, theirs = timings["own"], timings["H200's"]
            ratios.append(mine.over(theirs)[0])
            rates = [f"{case.flops / 1e12 / x.median:.4g}" for x in timings.values()]
            beside = gpu.text(mine.over(timings["cuBLAS"]), ".3f") if cublas else ""
            cells = [case.name, *rates, *([] if cublas else [""]), gpu.text(mine.over(theirs), ".3f"), beside]
            report.add(f"| {' | '.join([*cells, name_of(own), name_of(h200)])} |")
        report.add("", f"{len(found)} of {count} cases have different plans.")
        if ratios:
            report.add(f"Geometric mean of these: {statistics.geometric_mean(ratios):.3f} own to H200's.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
