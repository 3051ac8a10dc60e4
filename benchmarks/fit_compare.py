"""GEMMs by the plans that a device's own file chooses, beside those by the H200's numbers, and cuBLAS, in one run.

python benchmarks/fit_compare.py [--quick] [--dry] [--only REGEX] [--out FOLDER]

The cases are those of benchmarks/gemm.py without epilogues; `--only` chooses among their names, such as
"bf16: 4096^3 bf16 A:k B:k". Where both choose one plan, nothing is measured. `--dry` takes the H200's file: all plans
are equal.
"""

from __future__ import annotations

import functools
import statistics
from typing import Any

import torch

import gemm
import gemm_cases
import gpu
from fit_device import compile_all
from gpu import Contestant, rotating
from tilewright import kernels
from tilewright.devices import H200
from tilewright.kernels.devices import file_of
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.operands import gemm_operands
from tilewright.kernels.gemm.request import GemmRequest


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
        found: list[tuple[gemm_cases.Case, Any, Any]] = []
        count = 0
        for section in gemm_cases.SECTIONS:
            for case in gemm_cases.cases(section, quick=options.quick, dry=options.dry):
                if case.epilogue or not options.pattern.search(f"{section}: {case.name}"):
                    continue
                first = [x[0] for x in bench.operands(case, 1)]
                own, h200 = plans_of(case, first, facts)
                count += 1
                if own != h200:
                    found.append((case, own, h200))
        if not options.dry:
            compile_all([one for _, *plans in found for plan in plans for one in singles(plan)], facts.arch)
        ratios, rivals = [], []
        for case, own, h200 in found:
            sets = gpu.sets_past_cache(case.bytes, options)
            operands = bench.operands(case, sets)
            torch.backends.cuda.matmul.allow_tf32 = case.type.tf32
            told = {"allow_tf32": True} if case.type.tf32 else {}
            calls = [functools.partial(kernels.gemm, plan=plan, **told) for plan in (own, h200)]
            calls.append(gemm.cublas(case, {"bias": torch.empty(0, device=bench.device)}))
            field = [Contestant(name, rotating(call, *operands)) for name, call in zip("ohc", calls, strict=True)]
            timings = gpu.race(field, sets, case.bytes, options, guess=case.guess)
            mine, theirs, rival = (timings[name] for name in "ohc")
            ratios.append(mine.over(theirs)[0])
            rivals.append((mine.over(rival)[0], theirs.over(rival)[0]))
            rates = [f"{case.flops / 1e12 / x.median:.4g}" for x in (mine, theirs, rival)]
            cells = [case.name, *rates, gpu.text(mine.over(theirs), ".3f"), gpu.text(mine.over(rival), ".3f")]
            report.add(f"| {' | '.join([*cells, name_of(own), name_of(h200)])} |")
        report.add("", f"{len(found)} of {count} cases have different plans.")
        if ratios:
            means = [statistics.geometric_mean(x) for x in (ratios, *zip(*rivals, strict=True))]
            report.add(
                f"Geometric means of these: {means[0]:.3f} own to H200's, {means[1]:.3f} own to cuBLAS, {means[2]:.3f} "
                "H200's to cuBLAS."
            )
    return 0


def singles(plan: Any) -> tuple[Any, ...]:
    """The plans of one kernel each that a plan consists of."""
    return getattr(plan, "single_plans", (plan,))


if __name__ == "__main__":
    raise SystemExit(main())
