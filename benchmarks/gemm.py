"""GEMMs on the GPU beside torch's cuBLAS and Triton in one run.

python benchmarks/gemm.py [--quick] [--dry] [--only SECTION,SECTION] [--out FOLDER]

The sections are those of gemm_cases.SECTIONS and "compile". `--only` also takes a regular expression that a section and
a case's name, "bf16: 4096^3 bf16 A:k B:k", match.
"""

from __future__ import annotations

import argparse
import functools
import re
import statistics
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch

import gemm_cases
import gemm_compile
import gpu
from gemm_cases import Case, Type
from gemm_expected import Expected
from gpu import MIB, Arena, Contestant, Timing, rotating
from tilewright import kernels

Call = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], object]
MARGIN = 1.1  # of cuBLAS's error
FLOORS = {"tf32": 4e-4}  # errors that are right whatever cuBLAS's is, which multiplies vectors without TF32
SHORT = 40e-6  # seconds: launches of such a length are also timed one by one, with what the host does for each


# --- contestants


def cublas(case: Case, extra: dict[str, torch.Tensor]) -> Call:
    """What torch offers for this case: each is one call of cuBLAS, but for gelu_tanh with more than a bias."""
    if case.type.name == "fp8":
        one = torch.ones((), device=extra["bias"].device)
        return lambda a, b, c: torch._scaled_mm(
            a, b.t(), scale_a=one, scale_b=one, out_dtype=c.dtype, use_fast_accum=True, out=c
        )
    if case.type.name == "int8":
        return lambda a, b, c: torch._int_mm(a, b.t(), out=c)
    if case.batch:
        return lambda a, b, c: torch.bmm(a.permute(2, 0, 1), b.permute(2, 1, 0), out=c.permute(2, 0, 1))
    if case.epilogue == "bias":
        return lambda a, b, c: torch.addmm(extra["bias"], a, b.t(), out=c)
    if case.epilogue.startswith("bias "):
        gelu = case.epilogue == "bias gelu_tanh"
        return lambda a, b, c: torch._addmm_activation(extra["bias"], a, b.t(), use_gelu=gelu, out=c)
    if case.epilogue == "residual":
        return lambda a, b, c: torch.addmm(c, a, b.t(), out=c)
    return lambda a, b, c: torch.mm(a, b.t(), out=c)


def keywords(case: Case, extra: dict[str, torch.Tensor]) -> dict[str, Any]:
    """What kernels.gemm is told beside the tensors."""
    told: dict[str, Any] = {"allow_tf32": True} if case.type.tf32 else {}
    if case.epilogue.startswith("bias"):
        told["bias"] = extra["bias"]
    if case.epilogue.startswith("bias "):
        told["activation"] = case.epilogue.removeprefix("bias ")
    if case.epilogue == "residual":
        told["beta"] = 1
    return told


def fill(data: torch.Tensor, kind: Type) -> None:
    """Random normal numbers; for integers of deviation 32."""
    for part in data.view(kind.ab).split(1 << 26):
        normal = torch.randn(part.shape, dtype=torch.float64 if kind.ab == torch.float64 else None, device=part.device)
        part.copy_((normal * 32).round().clamp(-127, 127) if kind.ab == torch.int8 else normal)


# --- one case


class Bench:
    def __init__(self, options: argparse.Namespace, report: gpu.Report) -> None:
        self.options, self.report = options, report
        self.device = "cpu" if options.dry else "cuda"
        sizes = (MIB, MIB, MIB) if options.dry else (768 * MIB, 1280 * MIB, 1152 * MIB)
        self.a, self.b, self.c = (Arena(torch.zeros(size, dtype=torch.uint8, device=self.device)) for size in sizes)
        self.filled: Type | None = None
        self.ratios: dict[str, list[float]] = {}
        self.best: dict[tuple[object, ...], str] = {}  # of Triton's ways, by what decides
        self.missed: list[str] = []
        self.failed: list[str] = []
        self.triton = None
        if not options.dry and gpu.version("triton") != "none":
            import triton_gemm

            self.triton = triton_gemm

    def operands(self, case: Case, sets: int) -> list[list[torch.Tensor]]:
        """Lists of A (M,K[,L]), B (N,K[,L]) and C (M,N[,L])."""
        if self.filled != case.type:
            for arena in (self.a, self.b):
                fill(arena.data, case.type)
            self.filled = case.type

        def side(arena: Arena, rows: int, columns: int, dtype: torch.dtype, transposed: bool) -> list[torch.Tensor]:
            shape = (columns, rows) if transposed else (rows, columns)
            found = arena.tensors(sets, (*((case.batch,) if case.batch else ()), *shape), dtype)
            found = [x.mT if transposed else x for x in found]
            return [x.permute(1, 2, 0) for x in found] if case.batch else found

        return [
            side(self.a, case.m, case.k, case.type.ab, case.orders[0] == "m"),
            side(self.b, case.n, case.k, case.type.ab, case.orders[1] == "n"),
            side(self.c, case.m, case.n, case.type.c, False),
        ]

    def error(self, case: Case, call: Call, operands: list[torch.Tensor], expected: Expected) -> float:
        """The relative Frobenius error of a call, whose C held ones where it is read, else NaNs or ones."""
        a, b, c = operands
        c.fill_(1 if case.epilogue == "residual" or c.dtype == torch.int32 else float("nan"))
        call(a, b, c)
        return expected.error(c)

    def run(self, case: Case) -> dict[str, Any]:
        torch.backends.cuda.matmul.allow_tf32 = case.type.tf32
        sets = gpu.sets_past_cache(case.bytes, self.options)
        operands = self.operands(case, sets)
        first = [x[0] for x in operands]
        extra = {"bias": torch.randn(case.n, device=self.device).to(case.type.c)}
        told = keywords(case, extra)
        plan = kernels.gemm.plan(*first, **told)
        calls: dict[str, Call] = {"tilewright": functools.partial(kernels.gemm, **told)}
        if not self.options.dry:
            calls["cuBLAS"] = cublas(case, extra)
        expected = Expected(case, *first[:2], extra)
        errors = {name: self.error(case, call, first, expected) for name, call in calls.items()}
        bound = max(MARGIN * errors.get("cuBLAS", 1e-2), FLOORS.get(case.type.name, 0.0))
        if not errors["tilewright"] <= 4 * bound:
            raise AssertionError(f"relative error {errors['tilewright']:.3g}, but at most {bound:.3g} is right")
        if errors["tilewright"] > bound:
            self.missed.append(f"{case.name} (error {errors['tilewright']:.3g}, at most {bound:.3g})")
        field = [Contestant(name, rotating(call, *operands)) for name, call in calls.items()]
        best = self.fastest_triton(case, operands, sets, expected)
        del expected
        if best:
            field.append(best)
        timings = gpu.race(field, sets, case.bytes, self.options, guess=case.guess)
        found = {"timings": timings, "plan": plan, "errors": errors, "triton": best.name if best else ""}
        if case.guess < SHORT:
            alone = [Contestant(c.name, c.issue, graph=False) for c in field]
            found["launched"] = gpu.race(alone, sets, case.bytes, self.options, guess=max(case.guess, 10e-6))
        return found

    def fastest_triton(
        self, case: Case, operands: list[list[torch.Tensor]], sets: int, expected: Expected
    ) -> Contestant | None:
        """The fastest of Triton's ways, tried in a short race; a way that a device lacks the memory for is left out.

        Of float16 the way is taken that was the fastest for bfloat16: they take as long, and compiling takes longer.
        """
        if self.triton is None or case.epilogue or case.type.name in ("fp32", "fp64"):
            return None
        first = [x[0] for x in operands]
        alike = (
            "half" if case.type.ab.itemsize == 2 else case.type.name,
            case.m,
            case.n,
            case.k,
            case.orders,
            case.batch,
        )
        ctas = torch.cuda.get_device_properties(0).multi_processor_count
        field = []
        for name, call in self.triton.candidates(*first, ctas, tf32=case.type.tf32).items():
            if self.best.get(alike, name) != name:
                continue
            try:
                if self.error(case, call, first, expected) < 0.02:
                    field.append(Contestant(name, rotating(call, *operands)))
            except Exception as error:  # a rival's configuration that does not run here must not cost our figures
                print(f"Triton, {name}, {case.name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
        if not field:
            return None
        if len(field) > 1:
            tried = gpu.race(field, sets, case.bytes, self.options, guess=case.guess, rounds=5, sample=5e-4)
            field.sort(key=lambda c: tried[c.name].median)
        self.best[alike] = field[0].name
        return field[0]

    def section(self, title: str) -> None:
        cases = gemm_cases.cases(title, quick=self.options.quick, dry=self.options.dry)
        cases = [c for c in cases if self.options.wanted(title, c.name)]
        if not cases:
            return
        begin = time.perf_counter()
        heads = ["case", "tilewright TFLOP/s", "cuBLAS", "Triton", "ratio to cuBLAS", "limit", "met", "to Triton"]
        heads += ["ratio, launched", "µs", "error / cuBLAS's", "plan"]
        self.report.add("", f"## {title}", "", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads))
        for case in cases:
            try:
                found = self.run(case)
            except Exception as error:  # one broken case must not cost the figures of the others
                traceback.print_exc()
                self.failed.append(case.name)
                reason = " ".join(str(error).split())[:120]
                self.report.add(f"| {case.name} | failed: {type(error).__name__}: {reason} |")
                continue
            self.report.add(self.row(case, found))
        print(f"({title} took {time.perf_counter() - begin:.1f} s)", flush=True)

    def row(self, case: Case, found: dict[str, Any]) -> str:
        timings: dict[str, Timing] = found["timings"]
        ours, rival, triton = timings["tilewright"], timings.get("cuBLAS"), timings.get(found["triton"])
        cells = [case.name, gpu.text(ours.rate(case.flops / 1e12), ".4g")]
        cells.append(f"{case.flops / 1e12 / rival.median:.4g}" if rival else "")
        cells.append(f"{case.flops / 1e12 / triton.median:.4g} ({found['triton']})" if triton else "")
        if rival:
            ratio = ours.over(rival)
            met = case.limit is None or ratio[0] >= case.limit
            if not met:
                self.missed.append(f"{case.name} ({ratio[0]:.3f} of {case.limit:g})")
            self.ratios.setdefault(case.group, []).append(ratio[0])
            self.ratios.setdefault(f"all of {case.type.name}", []).append(ratio[0])
            cells.append(gpu.text(ratio, ".3f"))
            cells += ["", ""] if case.limit is None else [f"{case.limit:g}", "yes" if met else "**no**"]
        else:
            cells += ["", "", ""]
        cells.append(f"{ours.over(triton)[0]:.3f}" if triton else "")
        launched = found.get("launched")
        cells.append(f"{launched['tilewright'].over(launched['cuBLAS'])[0]:.3f}" if launched and rival else "")
        alone = f", {launched['tilewright'].median * 1e6:.3g} launched" if launched else ""
        cells.append(f"{ours.median * 1e6:.3g}{alone}")
        errors = found["errors"]
        exact = "exact" if errors["tilewright"] == 0 else ""
        cells.append(f"{errors['tilewright'] / errors['cuBLAS']:.2f}" if errors.get("cuBLAS") else exact)
        plan = found["plan"]
        tile = "x".join(map(str, getattr(plan, "tiler_mnk", ())))
        name = getattr(plan, "kernel_name", type(plan).__name__)
        cells.append(f"{name} {tile}, {getattr(plan, 'stages', '')} stages")
        return f"| {' | '.join(cells)} |"

    def means(self) -> None:
        self.report.add("", "## Geometric means of the ratios to cuBLAS", "", "| of | mean | limit | met |")
        self.report.add("| --- | --- | --- | --- |")
        for group, ratios in self.ratios.items():
            if not group:
                continue
            mean, limit = statistics.geometric_mean(ratios), gemm_cases.MEANS.get(group)
            met = "" if limit is None else "yes" if mean >= limit else "**no**"
            if met == "**no**":
                self.missed.append(f"{group}, geometric mean")
            self.report.add(f"| {group}, {len(ratios)} cases | {mean:.3f} | {limit or ''} | {met} |")


def wanted(only: str) -> Callable[[str, str], bool]:
    """Whether a section's case is to run: sections by name, or a regular expression."""
    names = only.split(",")
    if not only or set(names) <= {*gemm_cases.SECTIONS, "compile"}:
        return lambda section, case: not only or section in names
    pattern = re.compile(only)
    return lambda section, case: bool(pattern.search(f"{section}: {case}"))


def main() -> int:
    options = gpu.arguments("GEMMs beside their rivals")
    options.wanted = wanted(options.only)
    with gpu.Report("gemm", options) as report:
        report.add("# GEMM", "", *gpu.machine(options))
        report.add(
            "TFLOP/s: median (10th to 90th percentile) of samples. A is (M,K), B is (N,K), C is (M,N) with N",
            "contiguous; A:m says that M is contiguous in A. A sample is about 2.5 ms of launches or one launch,",
            "in a graph's replay between two events, over operands rotated past the L2; contestants in turn, the",
            "other way round in every second round. 'Ratio' is the median (10th to 90th percentile) of the ratios",
            "within rounds; 'launched' the same for calls from Python one by one, where a launch takes under",
            f"{SHORT * 1e6:.0f} µs. Random normal data. Before it is timed each result is compared with float64,",
            "a few elements of fp64 with more bits: its relative Frobenius error is to be at most",
            f"{MARGIN} of cuBLAS's. cuBLAS through torch: mm, bmm, addmm, _addmm_activation, _int_mm,",
            "and _scaled_mm with fast accumulation. Triton: the fastest of",
            "triton_gemm.py's for each case.",
        )
        bench = Bench(options, report)
        for title in gemm_cases.SECTIONS:
            bench.section(title)
        if bench.ratios:
            bench.means()
        if options.wanted("compile", ""):
            short = options.quick or options.dry
            bench.missed += gemm_compile.table(report.add, "sm_90a" if options.dry else None, 1 if short else 5)
        report.add("", f"Limits missed: {'; '.join(bench.missed) or 'none'}.")
        report.add(f"Cases failed: {'; '.join(bench.failed) or 'none'}.")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
