"""GEMMs of shapes that nobody tuned for, beside torch's cuBLAS in one run; or the kernels that they need.

python benchmarks/gemm_random.py [--seed SEED] [--count N] [--types bf16,fp32] [--listed] [--dry] [--out FOLDER]
python benchmarks/gemm_random.py --plans [--seed SEED] [--count N] [--types bf16,fp32]

The seed is today's date unless one is given; 300 shapes a type are measured, and 2000 planned. `--listed` measures the
shapes that issue 24 names instead. Plans are compiled ahead, on all cores. `--plans` needs no GPU:
it counts the kernels that the plans for an H200 consist of, by what makes them different, and what bounds each plan.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import datetime
import math
import statistics
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any

import torch

import gemm_cases
import gpu
from gemm import Bench
from gemm_cases import Case
from gemm_random_shapes import TYPES, Shape, listed, shapes
from tilewright.devices import H200
from tilewright.kernels.common.ahead import compile_ahead, kernels_of
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.kernel import kernel_of

WORST = 20
# Of issue 24, by type: the least geometric mean, the share that reaches so much of cuBLAS, the least of all.
LIMITS: dict[str, tuple[float | None, tuple[float, float] | None, float]] = {
    "bf16": (1.12, (0.92, 0.97), 0.85),
    "fp16": (1.12, (0.92, 0.97), 0.85),
    "fp32": (1.05, (0.9, 0.95), 0.85),
    "fp64": (0.95, None, 0.85),
    **dict.fromkeys(("tf32", "fp8", "int8"), (1.0, None, 0.85)),
}
LEAST_LISTED = 0.95
MOST_KERNELS = 40  # of a type


@dataclasses.dataclass(frozen=True)
class RandomCase(Case):
    """A case whose A and B have rows that are longer than need be, or begin at an address that is not aligned."""

    pad: int = 0
    offset: int = 0


class RandomBench(Bench):
    """A bench without Triton."""

    def operands(self, case: Case, sets: int) -> list[list[torch.Tensor]]:
        assert isinstance(case, RandomCase)
        sides = super().operands(self._longer(case), sets)
        for i, rows in enumerate((case.m, case.n)):
            along_k = case.orders[i] == "k"
            extents = (rows, case.k)
            strides = (case.k + case.pad, 1) if along_k else (1, rows + case.pad)
            sides[i] = [x.as_strided(extents, strides, x.storage_offset() + case.offset) for x in sides[i]]
        return [*sides[:2], super().operands(case, sets)[2]]

    @staticmethod
    def _longer(case: RandomCase) -> Case:
        """The compact case that has room for rows that are longer and begin later."""
        more = case.offset and 8
        return dataclasses.replace(case, m=case.m + more, n=case.n + case.pad + more, k=case.k + case.pad)

    def fastest_triton(self, *_: Any) -> None:
        return None


def case_of(name: str, shape: Shape, dry: bool) -> RandomCase:
    kind = gemm_cases.TYPES[name]
    case = RandomCase(kind, shape.m, shape.n, shape.k, ("k", shape.b), pad=shape.pad, offset=shape.offset)
    return gemm_cases.small(case) if dry else case  # type: ignore[return-value]


# --- measured


def measure(bench: RandomBench, name: str, found: list[Shape], report: gpu.Report) -> None:
    """A type's table: all ratios in a few numbers, and the worst shapes."""
    rows: list[tuple[float, float, float, Shape, Any]] = []
    for shape in found:
        try:
            result = bench.run(case_of(name, shape, bench.options.dry))
        except Exception as error:  # one broken case must not cost the figures of the others
            traceback.print_exc()
            bench.failed.append(f"{shape.name} {name}: {type(error).__name__}: {' '.join(str(error).split())[:120]}")
            continue
        ours, rival = (result["timings"].get(x) for x in ("tilewright", "cuBLAS"))
        error = relative(result["errors"])
        if rival:
            rows.append((ours.over(rival)[0], ours.median, error, shape, result["plan"]))
    report.add("", f"## {name}", "")
    if not rows:
        report.add(f"{len(found)} shapes, none measured.")
        return
    rows.sort(key=lambda row: row[0])
    summary(report, bench, name, rows)
    which = "all" if bench.options.listed else f"the {WORST} worst"
    heads = (which, "kind", "ratio", "us", "error / cuBLAS's", "plan", "bound by")
    report.add("", f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads))
    shown = rows if bench.options.listed else rows[:WORST]
    for ratio, seconds, _, shape, _ in rows:
        print(f"{name} {shape.name}: {ratio:.3f}, {seconds * 1e6:.4g} us")
    for ratio, seconds, error, shape, plan in shown:
        tile = "x".join(map(str, plan.tiler_mnk))
        cells = (shape.name, shape.kind, f"{ratio:.3f}", f"{seconds * 1e6:.4g}", f"{error:.2f}")
        report.add(f"| {' | '.join(cells)} | {plan.kernel_name} {tile} | {plan.why()[0].bound} |")


def compile_for(name: str, found: Iterable[Shape]) -> None:
    """Compile the kernels of a type's shapes, on all cores."""
    from tilewright.kernels.common.launch import facts_of

    facts = facts_of(0)
    plans = (choose_gemm(*shape.problem(TYPES[name]), facts) for shape in found)
    compile_ahead(plans, facts.arch, f"compiling for {name}")


def relative(errors: dict[str, float]) -> float:
    """The error beside cuBLAS's: 1 where both are exact."""
    ours, rival = errors["tilewright"], errors.get("cuBLAS", 0.0)
    return ours / rival if rival else 1.0 if ours == 0 else math.inf


def summary(report: gpu.Report, bench: RandomBench, name: str, rows: list[Any]) -> None:
    ratios = [row[0] for row in rows]
    mean, share, least = (None, None, LEAST_LISTED) if bench.options.listed else LIMITS[name]
    found = [("geometric mean", statistics.geometric_mean(ratios), mean)]
    if share is not None:
        found.append((f"share that reaches {share[1]}", share_of(ratios, share[1]), share[0]))
    found += [("share that reaches 0.97", share_of(ratios, 0.97), None)] * (share is None or share[1] != 0.97)
    found += [("share that reaches 0.85", share_of(ratios, 0.85), 1.0), ("least", ratios[0], least)]
    report.add(f"| of {len(rows)} shapes | tilewright / cuBLAS | limit | met |", "| --- | --- | --- | --- |")
    for what, value, limit in found:
        met = "" if limit is None else "yes" if value >= limit else "**no**"
        bench.missed += [f"{name}: {what} {value:.3f} of {limit:g}"] if met == "**no**" and limit else []
        report.add(f"| {what} | {value:.3f} | {'' if limit is None else f'{limit:g}'} | {met} |")
    worst = max(row[2] for row in rows)
    report.add(f"| largest error / cuBLAS's | {worst:.2f} | 1.1 | {'yes' if worst <= 1.1 else '**no**'} |")


def share_of(ratios: list[float], least: float) -> float:
    return sum(x >= least for x in ratios) / len(ratios)


# --- planned


def features(plan: Any) -> dict[str, Any]:
    """What makes the instantiation of a plan of one kernel differ from others of a type, in words."""
    kernel = plan.kernel_name
    if kernel == "tiled_copy":
        return {"tile of a copy": plan.tile, "rest of a copy": plan.name}
    p = plan.problem
    if kernel == "sum_parts":
        return {"sum of parts": (plan.wide, plan.vector, len(p.batch))}
    found = {"kernel": kernel, "tile": plan.tiler_mnk, "stages": plan.stages, "promotion": plan.promote}
    if kernel == "sm90":
        found |= {"cluster, split-K": (plan.cluster_mn, plan.split_k), "warpgroups": (plan.consumers, plan.ping_pong)}
        found |= {"store": (plan.store, plan.store_buffers), "ragged end": plan.ragged}
        return found | {"order of A and B": tuple(x.k_major for x in plan.operands())}
    found["order of A, B, C"] = tuple(0 if d[1] == 1 else 1 for d in (p.a_strides, p.b_strides, p.c_strides))
    if kernel == "sm80":
        # Behind the layouts of a load: values, the width of an access, modes, whether by cp.async, a rest of K.
        found["accesses"] = tuple(side.load_type()[:-1].rpartition(">")[2] for side in plan.sides)
        return found | {"rest of K": p.k % plan.tiler_mnk[2] != 0, "store": (plan.store_vector, p.n % 8 != 0)}
    found["accesses"] = tuple((*plan.copy_layout(x)[1:], str(plan.side(x)[0].op), plan.side(x)[2]) for x in "ab")
    shares = plan.stream_k_ctas > 0
    return found | {"store": (plan.out_vector, plan.smem_c is None), "shares, long K": (shares, p.k >= 2**31)}


def count(name: str, found: Iterable[Shape]) -> tuple[dict[str, Any], collections.Counter[str], list[Any]]:
    """The kernels by name, how many plans each bound has, and the plans."""
    kernels: dict[str, Any] = {}
    bounds: collections.Counter[str] = collections.Counter()
    plans = []
    for shape in found:
        problem, alignments = shape.problem(TYPES[name])
        plan = choose_gemm(problem, alignments, H200)
        plans.append(plan)
        for one in kernels_of([plan]):
            kernels.setdefault(f"{one.kernel_name}: {one.name}", one)
        bounds[kernel_of(plan.kernel_plan).expected(plan.kernel_plan, H200).bound] += 1
    return kernels, bounds, plans


def left_without(kernels: Iterable[Any]) -> list[tuple[str, int]]:
    """How many kernels there would be if features made no difference, one after another, the one first that makes most.

    The first entry is with all of them.
    """
    all_of = [{name: str(value) for name, value in features(one).items()} for one in kernels]

    def distinct(without: str) -> int:
        return len({tuple(sorted((k, v) for k, v in x.items() if k != without)) for x in all_of})

    found = [("all", distinct(""))]
    while names := dict.fromkeys(name for x in all_of for name in x):
        name = min(names, key=distinct)
        found.append((name, distinct(name)))
        all_of = [{k: v for k, v in x.items() if k != name} for x in all_of]
    return found


def planned(options: argparse.Namespace, types: list[str], add: Callable[..., None]) -> int:
    """The table of --plans; 1 where a type needs more than MOST_KERNELS kernels."""
    add(f"{options.count} shapes a type by seed {options.seed}, planned for an {H200.name}.")
    missed = False
    for name in types:
        kernels, bounds, plans = count(name, shapes(options.seed, name, options.count))
        missed |= len(kernels) > MOST_KERNELS
        by_kernel = collections.Counter(one.kernel_name for one in kernels.values())
        said = ", ".join(f"{kernel} {n}" for kernel, n in by_kernel.most_common())
        met = "yes" if len(kernels) <= MOST_KERNELS else "**no**"
        add(
            "",
            f"## {name}",
            "",
            f"{len(kernels)} kernels ({said}) for {len(plans)} plans; at most {MOST_KERNELS}: {met}.",
        )
        add("Bound by: " + ", ".join(f"{bound} {n}" for bound, n in bounds.most_common()) + ".")
        (_, every), *left = left_without(kernels.values())
        add(f"{every} by features; without a difference by one after another: ", "")
        add(", ".join(f"{what} {n}" for what, n in left) + ".")
    return int(missed)


def more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seed", default=datetime.date.today().isoformat(), help="default: today's date")
    parser.add_argument("--count", type=int, help="shapes a type; default: 300, with --plans 2000")
    parser.add_argument("--types", default=",".join(TYPES), help=f"of {','.join(TYPES)}; default: all")
    parser.add_argument("--listed", action="store_true", help="the shapes that issue 24 names")
    parser.add_argument("--plans", action="store_true", help="count the kernels that the plans need; without a GPU")


def main() -> int:
    options = gpu.arguments("GEMMs of random shapes beside cuBLAS", more=more)
    types = options.types.split(",")
    if unknown := [name for name in types if name not in TYPES]:
        sys.exit(f"gemm_random.py: there is no type {unknown[0]}; there are {', '.join(TYPES)}")
    options.count = options.count or (2000 if options.plans else 20 if options.quick or options.dry else 300)
    if options.plans:
        return planned(options, types, lambda *lines: print(*lines, sep="\n", flush=True))
    with gpu.Report("gemm_listed" if options.listed else "gemm_random", options) as report:
        report.add("# GEMM of random shapes", "", *gpu.machine(options))
        report.add(
            "The shapes that issue 24 names (gemm_random_shapes.py). A and B lie along K (kk), or"
            if options.listed
            else f"{options.count} shapes a type by seed {options.seed} (gemm_random_shapes.py): a large model's,\n"
            "squares, long K, tall and thin ones, and any, drawn logarithmically. A and B lie along K (kk), or",
            "B along N (kn); +n: rows are n elements longer; at n: addresses are n elements behind an aligned one.",
            "Ratios are throughputs, tilewright's to cuBLAS's, timed as benchmarks/gemm.py does; each result is",
            "compared with float64 first.",
        )
        bench = RandomBench(options, report)
        for name in types:
            found = listed(name) if options.listed else shapes(options.seed, name, options.count)
            if found and not options.dry:
                compile_for(name, found)
            if found:
                measure(bench, name, found, report)
        report.add("", f"Limits missed: {'; '.join(bench.missed) or 'none'}.")
        report.add(f"Cases failed: {'; '.join(bench.failed) or 'none'}.")
    return 1 if bench.failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
