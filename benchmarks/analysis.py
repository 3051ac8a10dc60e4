"""What a prediction costs: one access of a warp in C++, a search over all swizzles, a whole plan.

python benchmarks/analysis.py
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import table
from tilewright import BFloat16, Float16, Float32, _core, analysis, cute
from tilewright.devices import H200
from tilewright.kernels.gemm import accesses as gemm_plans
from tilewright.kernels.gemm.choose.choose import choose_gemm
from tilewright.kernels.gemm.problem import problem_of

WARPS = 2000  # of a call
CASES = 100_000  # of the comparison of the two methods
REPEATS = 15


class Row(NamedTuple):
    """A line of the table: a time and its limit in seconds."""

    name: str
    seconds: float
    low: float
    high: float
    limit: float | None

    def __str__(self) -> str:
        unit, scale = ("µs", 1e6) if self.seconds < 1e-4 else ("ms", 1e3)
        shown = f"{self.seconds * scale:.3g} ({self.low * scale:.3g} to {self.high * scale:.3g}) {unit}"
        if self.limit is None:
            return f"| {self.name} | {shown} | | |"
        met = "yes" if self.seconds <= self.limit else "**no**"
        return f"| {self.name} | {shown} | {self.limit * scale:g} {unit} | {met} |"


def timed(
    name: str,
    call: Callable[..., object],
    limit: float | None,
    count: int = 1,
    given: Callable[[], object] | None = None,
) -> Row:
    """The median of the repeats and their quartiles, for each of `count` things that a call does.

    `given` makes what a call is for, each time and before it is timed.
    """
    taken = []
    for _ in range(1 + REPEATS):
        of = [] if given is None else [given()]
        begin = time.perf_counter()
        call(*of)
        taken.append((time.perf_counter() - begin) / count)
    taken = taken[1:]  # the first one imports what is needed
    low, median, high = statistics.quantiles(taken, n=4)
    return Row(name, median, low, high, limit)


def accesses() -> list[Row]:
    rng = np.random.default_rng(0)
    rows = []
    for memory, width in (("global", 4), ("global", 16), ("shared", 1), ("shared", 4), ("shared", 8), ("shared", 16)):
        for name, addresses in (
            ("side by side", np.broadcast_to(width * np.arange(32), (WARPS, 32)).copy()),
            ("random", width * rng.integers(0, 4096, (WARPS, 32))),
        ):
            call = lambda a=addresses, m=memory, w=width: _core.analysis.requests(a, memory=m, op="load", width=w)  # noqa: E731
            rows.append(timed(f"{memory}, accesses of {8 * width} bits, {name}", call, 2e-6, WARPS))
    rows_of_matrices = 16 * rng.integers(0, 4096, (WARPS, 32))
    call = lambda: _core.analysis.requests(rows_of_matrices, memory="shared", op="ldmatrix", width=16, matrices=4)  # noqa: E731
    rows.append(timed("ldmatrix.x4, random", call, 2e-6, WARPS))
    lanes = 4 * np.arange(32)
    rows.append(timed("`warp_access` from Python, one warp", lambda: analysis.warp_access(lanes, 4), None))
    columns = 4 << rng.integers(0, 10, (CASES, 5))
    ranks = lambda: _core.analysis.requests_by_rank(columns, memory="shared", op="load", width=4)  # noqa: E731
    rows.append(timed("the same by ranks over F2", ranks, 2e-6, CASES))
    return rows


def searches() -> list[Row]:
    tile = cute.make_layout((128, 64), stride=(64, 1))
    store = analysis.Access(cute.parse("((8,32),(8,4)):((8@1,1@0),(1@1,32@0))"), "store")
    load = analysis.Access(cute.parse("(32,8):(1@0,1@1)"), "ldmatrix")
    single = analysis.Access(cute.parse("(128,64):(1@0,1@1)"), "load", 2)
    rows = analysis.suggest_padding(tile, store, load, dtype=Float16)
    found = analysis.suggest_swizzle(tile, single, dtype=Float16)
    return [
        timed(
            "`suggest_swizzle`, 128x64 halves, a store and ldmatrix",
            lambda: analysis.suggest_swizzle(tile, store, load, dtype=Float16),
            10e-3,
        ),
        timed(
            f"`suggest_swizzle`, 128x64 halves, one at a time ({len(found)} swizzles)",
            lambda: analysis.suggest_swizzle(tile, single, dtype=Float16),
            10e-3,
        ),
        timed(
            f"`suggest_padding` of the same tile ({len(rows)} paddings are legal)",
            lambda: analysis.suggest_padding(tile, store, load, dtype=Float16),
            None,
        ),
        timed("`analyze` of a layout, 128 threads of 64 values", lambda: analysis.analyze(tile, Float16), None),
    ]


def plans() -> list[Row]:
    """Each when others of its kind have been analysed, of which tables and parts are kept, and when none has."""
    from tilewright.kernels.kernel import registered

    found: list[tuple[str, Callable[[], Any]]] = []
    for stem, dtype in (("gemm_simt", Float32), ("gemm_sm80", Float16), ("gemm_sm90", BFloat16)):
        problem = problem_of(4096, 4096, 4096, dtype)
        choose = next(kernel for kernel in registered() if kernel.stem == stem).choose
        found.append((f"a {stem} plan, 4096 cubed", lambda c=choose, p=problem: c(p, (16, 16, 16), H200)))
    ragged = problem_of(4095, 4097, 4103, BFloat16)
    found.append(("a plan that copies A and B before, 4095x4097x4103", lambda: choose_gemm(ragged, (2, 2, 2), H200)))
    parts = problem_of(8192, 8192, 8192, Float32, a="m", b="n")
    found.append(("a plan in four parts along K, 8192 cubed", lambda: choose_gemm(parts, (16, 16, 16), H200)))
    rows = []
    for name, make in found:
        plan = make()
        rows.append(timed(f"`analyze` of {name}", lambda p=plan: analysis.analyze(p), 5e-3))
        rows.append(timed(f"the first of its kind: {name}", analysis.analyze, 5e-3, given=lambda m=make: anew(m)))
    return rows


def anew(make: Callable[[], Any]) -> Any:
    """A plan that is new, made when nothing is known of any other one: plans keep some of what follows from them."""
    for name, module in list(sys.modules.items()):
        for x in list(vars(module).values()) if name.startswith("tilewright.") else ():
            if hasattr(x, "cache_clear"):
                x.cache_clear()
    gemm_plans._kept.clear()
    return make()


def main() -> None:
    lines = [
        "# Prediction",
        "",
        f"{table.machine()}.",
        f"Median (quartiles) of {REPEATS} runs. Accesses are those of one warp, in calls of {WARPS}.",
        "",
        "| what | time | limit | met |",
        "| --- | --- | --- | --- |",
        *map(str, [*accesses(), *searches(), *plans()]),
    ]
    table.write("analysis", lines)


if __name__ == "__main__":
    main()
