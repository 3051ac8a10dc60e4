"""In how many parts cuBLAS has K, told by the errors of its results, beside the rule by which ours are promoted.

python benchmarks/cublas_parts.py [--quick] [--dry] [--seconds S] [--seed SEED] [--out FOLDER]

The error of a sum of n terms, added one after the other, is ROUNDING[type] sqrt(n); that of s parts as if it had n / s
terms. So an error tells s. CUBLAS_PARTS in a device's file was fitted to such numbers. Random shapes in all orders of A
and B. `--dry` takes small ones on the CPU, whose sums are not cuBLAS's.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from statistics import quantiles

import torch

import gemm_cases
import gpu
from gemm import cublas
from gemm_expected import Expected
from gemm_random import RandomBench, RandomCase
from tilewright import Float32, Float64
from tilewright.devices import H200
from tilewright.kernels.gemm.choose.short_sums import parts_of_cublas
from tilewright.kernels.gemm.problem import problem_of

ROUNDING = {"fp32": 1.79e-8, "fp64": 3.32e-17}  # relative, of one term: what unshared sums of an H200 have
MARGIN = 1.1  # of cuBLAS's error, which ours may have
MOST = {"fp32": 2.5e11, "fp64": 1.5e11}  # products of a shape
MODELS = ((4096, 4096), (5120, 5120), (8192, 8192), (14336, 4096), (4096, 14336), (3072, 8192))  # N, K
TILES = (1, 2, 4, 8, 16, 32, 64, 128, 264, 528)  # up to so many of 128 x 128


def drawn(kind: str, choose: random.Random, dry: bool) -> RandomCase:
    """A shape, logarithmically, a square, or one of a large model's, in any order."""

    def log(least: int, most: int) -> int:
        return round(2 ** choose.uniform(math.log2(least), math.log2(most)))

    while True:
        m, n, k = log(16, 5000), log(16, 5000), log(256, 30000)
        which = choose.random()
        if which < 0.2:
            (n, k), m = choose.choice(MODELS), log(1, 3000)
        elif which < 0.4:
            m = n
        if choose.random() < 0.6:
            m, n, k = (max(x // 8 * 8, 8) for x in (m, n, k))
        orders = choose.choice("kkkm"), choose.choice("kkn")
        if m * n * k <= (1e6 if dry else MOST[kind]) and max(m, n) * k * 8 <= (1 << 19 if dry else 1 << 30):
            return RandomCase(gemm_cases.TYPES[kind], m, n, k, orders)


def measured(bench: RandomBench, case: RandomCase) -> tuple[float, float]:
    """The parts that cuBLAS has of a case, and those of the rule."""
    operands = [x[0] for x in bench.operands(case, 1)]
    error = bench.error(case, cublas(case, {}), operands, Expected(case, *operands[:2], {}))
    own = case.k / max((error / ROUNDING[case.type.name]) ** 2, 1)
    dtype = {"fp32": Float32, "fp64": Float64}[case.type.name]
    problem = problem_of(case.m, case.n, case.k, dtype, a=case.orders[0], b=case.orders[1])
    return own, parts_of_cublas(problem, H200)


def is_short(own: float, rule: float, k: int) -> bool:
    """Whether sums of as many parts as the rule has leave no more than MARGIN of cuBLAS's error."""
    ours = k / rule + (rule if rule > 1 else 0)
    return min(ours, k) <= MARGIN**2 * k / own


def table(bench: RandomBench, kind: str, options: argparse.Namespace) -> None:
    choose, begin = random.Random(f"{options.seed} {kind}"), time.perf_counter()
    found: dict[int, list[tuple[float, float, int]]] = {}
    while time.perf_counter() - begin < options.seconds:
        case = drawn(kind, choose, options.dry)
        tiles = -(-case.m // 128) * -(-case.n // 128)
        place = next((x for x in TILES if tiles <= x), 0)
        found.setdefault(place, []).append((*measured(bench, case), case.k))
    count = sum(map(len, found.values()))
    bench.report.add("", f"## {kind}: {count} shapes", "")
    bench.report.add(
        "| tiles up to | shapes | parts, measured / rule: 10 % | median | 90 % | short |", "|" + " --- |" * 6
    )
    for place in (*TILES, 0):
        rows = found.get(place, [])
        if len(rows) > 9:
            tenths = quantiles([own / rule for own, rule, _ in rows], n=10)
            short = sum(is_short(*row) for row in rows) / len(rows)
            cells = (place or "more", len(rows), *(f"{tenths[i]:.2f}" for i in (0, 4, 8)), f"{short:.3f}")
            bench.report.add(f"| {' | '.join(map(str, cells))} |")
    every = [is_short(*row) for rows in found.values() for row in rows]
    bench.report.add(
        "", f"Short: parts of the rule leave at most {MARGIN} of cuBLAS's error: {sum(every) / count:.3f} of all."
    )


def more(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--seconds", type=float, help="for each type; default: 40, with --quick 10, with --dry 1")
    parser.add_argument("--seed", default="0", help="of the shapes")


def main() -> None:
    options = gpu.arguments("cuBLAS's parts of K by its errors", more=more)
    options.seconds = options.seconds or (1 if options.dry else 10 if options.quick else 40)
    torch.backends.cuda.matmul.allow_tf32 = False
    with gpu.Report("cublas_parts", options) as report:
        report.add("# In how many parts cuBLAS has K", "", *gpu.machine(options))
        report.add("Of sums in fp32 and fp64, told by errors beside float64, or numbers of 64 bits for fp64.")
        bench = RandomBench(options, report)
        for kind in ROUNDING:
            table(bench, kind, options)


if __name__ == "__main__":
    main()
