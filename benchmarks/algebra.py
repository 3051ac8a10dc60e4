"""The layout algebra from Python, beside tensor-layouts in one run; and all offsets of a layout, beside writing memory.

python benchmarks/algebra.py
"""

from __future__ import annotations

import importlib.metadata
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import tensor_layouts as rival
import tensor_layouts.analysis as rival_analysis

import table
import tilewright
import tilewright.cute as cute


@dataclass(frozen=True)
class Case:
    """One operation, ours and the rival's on the same operands, with the limit in microseconds, if there is one.

    The rival may have no such operation, or no answer.
    """

    name: str
    ours: Callable[[], object]
    theirs: Callable[[], object] | None
    limit: float | None = None
    same: Callable[[object], object] = str


def plain(layout: object) -> str:
    """CuTe's text of a layout of either library."""
    return str(layout).replace(" ", "")


def refused(operation: Callable[..., object], *operands: object) -> Callable[[], object]:
    """The call, which ends with an error; its text."""

    def call() -> object:
        try:
            operation(*operands)
        except tilewright.LayoutError as error:
            return error
        raise AssertionError(f"{operation} has an answer")

    return call


def pair_of_images(rng: random.Random, meet: bool) -> tuple[object, object, int]:
    """Two layouts of rank 4 with 2^40 elements each, and an offset at which they meet, or any."""
    a, b = (cute.make_layout((1024,) * 4, stride=tuple(rng.randint(1, 1 << 36) for _ in range(4))) for _ in range(2))
    met = int(a(rng.randrange(1 << 40))) - int(b(rng.randrange(1 << 40)))
    return a, b, met if meet else rng.randint(-(1 << 44), 1 << 44)


def cases() -> list[Case]:
    a, b = cute.make_layout((6, 2), stride=(8, 2)), cute.make_layout((4, 3), stride=(3, 1))
    ra, rb = rival.Layout((6, 2), (8, 2)), rival.Layout((4, 3), (3, 1))
    big, rbig = cute.make_layout((256, 512), stride=(512, 1)), rival.Layout((256, 512), (512, 1))
    tiler = (32, 64)
    row, rrow = cute.make_layout((128, 128), stride=(128, 1)), rival.Layout((128, 128), (128, 1))
    nested = cute.make_layout(((2, (3, 4)), (3, 2), 1), stride=((4, (8, 24)), (2, 6), 12))
    rnested = rival.Layout(((2, (3, 4)), (3, 2), 1), ((4, (8, 24)), (2, 6), 12))
    atom, ratom = cute.make_layout((2, 5), stride=(5, 1)), rival.Layout((2, 5), (5, 1))
    copies, rcopies = cute.make_layout((3, 4)), rival.Layout((3, 4), (1, 3))
    swizzled = cute.composition(cute.make_swizzle(3, 4, 3), row)
    rswizzled = rival.compose(rival.Swizzle(3, 4, 3), rrow)
    parse = cute.parse
    carried = parse("((2,5),((4,3),2)):((1,3),((15,61),183))"), parse("((4,2),((2,3),2)):((3,20),((40,80),240))")
    single = parse("(2,5):(1,3)"), parse("4:3")
    nesting = cute.make_layout((1024,) * 4, stride=(1, 2048, 1 << 22, 1 << 33))
    # Random strides have no order: the search goes to the lattice. Half of the pairs meet.
    rng = random.Random(0)
    loose = itertools.cycle([pair_of_images(rng, k % 2 == 0) for k in range(32)])
    return [
        Case("composition, rank 2 with rank 2", lambda: cute.composition(a, b), lambda: rival.compose(ra, rb), 1.0),
        Case("composition, carries of A decide", lambda: cute.composition(*single), None, 10.0),
        Case("composition, rank 5 nested, carries of A decide", lambda: cute.composition(*carried), None, 10.0),
        Case(
            "refusal of a composition with its certificate",
            refused(cute.composition, parse("(3,4):(4,1)"), parse("4:2")),
            None,
            20.0,
        ),
        Case(
            "refusal, carries between two modes",
            refused(cute.composition, parse("(6,2):(1,7)"), parse("(3,2):(2,3)")),
            None,
            20.0,
        ),
        Case(
            "is_disjoint, two images of 2^40, strides that nest",
            lambda: cute.is_disjoint(nesting, nesting, 1024),
            None,
            50.0,
        ),
        Case(
            "is_disjoint, two images of 2^40, random strides up to 2^36",
            lambda: cute.is_disjoint(*next(loose)),
            None,
            50.0,
        ),
        Case("coalesce, nested", lambda: cute.coalesce(nested), lambda: rival.coalesce(rnested)),
        Case("complement in 120", lambda: cute.complement(atom, 120), lambda: rival.complement(ratom, 120)),
        Case(
            "logical_divide, two modes",
            lambda: cute.logical_divide(big, tiler),
            lambda: rival.logical_divide(rbig, tiler),
            2.5,
        ),
        Case(
            "zipped_divide, two modes", lambda: cute.zipped_divide(big, tiler), lambda: rival.zipped_divide(rbig, tiler)
        ),
        Case(
            "logical_product", lambda: cute.logical_product(atom, copies), lambda: rival.logical_product(ratom, rcopies)
        ),
        Case(
            "blocked_product", lambda: cute.blocked_product(atom, copies), lambda: rival.blocked_product(ratom, rcopies)
        ),
        Case("right_inverse", lambda: cute.right_inverse(big), lambda: rival.right_inverse(rbig)),
        Case("layout(i)", lambda: a(7), lambda: ra(7), 0.2),
        Case(
            "is_bijective, swizzled 128x128",
            lambda: cute.is_bijective(swizzled),
            lambda: rival_analysis.is_bijective(rswizzled),
            20.0,
        ),
    ]


def empty() -> None:
    """What a lambda and a call cost by themselves: taken off every figure."""


def offsets() -> list[str]:
    layout = cute.make_layout(((256, 32), (64, 128)), stride=((128, 64 * 32768), (32768, 1)))
    count = cute.size(layout)
    out = np.random.default_rng(0).integers(0, 1 << 40, count)
    fresh, into, fill, touch = table.side_by_side(
        [
            lambda: layout.offsets(),
            lambda: layout.offsets(out),
            lambda: out.fill(7),
            lambda: np.full(count, 7, dtype=np.int64),
        ],
        repeats=7,
        seconds=0.5,
    )
    assert np.array_equal(np.sort(layout.offsets()), np.arange(count))
    rows = [
        ("layout.offsets(out), memory in hand", into),
        ("out.fill(7): writing the same memory", fill),
        ("layout.offsets(), new memory", fresh),
        ("np.full(n, 7): new memory", touch),
    ]
    lines = [f"All 2^{round(math.log2(count))} offsets of `{layout}` on one core (int64):", ""]
    lines += ["| what | 10^9 elements/s, median (quartiles) |", "| --- | --- |"]
    for name, t in rows:
        rates = [count / s / 1e9 for s in (t.median, t.high, t.low)]
        lines.append(f"| {name} | {rates[0]:.3f} ({rates[1]:.3f} to {rates[2]:.3f}) |")
    return lines


def main() -> None:
    lines = [
        "# Layout algebra from Python",
        "",
        f"{table.machine()}; tilewright {tilewright.__version__},",
        f"tensor-layouts {importlib.metadata.version('tensor-layouts')}, NumPy {np.__version__}.",
        "Microseconds a call, median (quartiles) of 15 repeats, both libraries in turn; the cost of the empty call",
        "around each is taken off.",
        "",
        "| operation | tilewright | limit | tensor-layouts | ratio |",
        "| --- | --- | --- | --- | --- |",
    ]
    (base,) = table.side_by_side([empty])
    ratios = []
    for case in cases():
        timed = table.side_by_side([call for call in (case.ours, case.theirs) if call is not None])
        figures = []
        for t in timed:
            net = [max(s - base.median, 1e-9) * 1e6 for s in (t.median, t.low, t.high)]
            figures.append((net[0], f"{net[0]:.3g} ({net[1]:.3g} to {net[2]:.3g})"))
        limit = "" if case.limit is None else f"{case.limit:g}"
        if case.theirs is None:
            lines.append(f"| {case.name} | {figures[0][1]} | {limit} | | |")
            continue
        mine, theirs = plain(case.ours()), plain(case.theirs())
        note = "" if mine == theirs else f" (answers `{theirs}`)"
        ratio = figures[1][0] / figures[0][0]
        ratios.append(ratio)
        lines.append(f"| {case.name} | {figures[0][1]} | {limit} | {figures[1][1]}{note} | {ratio:.0f} |")
    lines += ["", f"Geometric mean of the ratios: {math.exp(sum(map(math.log, ratios)) / len(ratios)):.0f}", ""]
    lines += offsets()
    table.write("algebra", lines)


if __name__ == "__main__":
    main()
