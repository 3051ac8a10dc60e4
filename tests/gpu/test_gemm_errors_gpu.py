"""The errors of fp32 GEMMs beside cuBLAS's, over random shapes: what docs/gemm.md promises."""

from __future__ import annotations

import math
import random

import pytest

from tilewright import _core, kernels

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not (_core.cuda.driver_path() and _core.cuda.device_count()), reason="no CUDA device"),
]

torch = pytest.importorskip("torch", reason="torch is not installed")

from compile_plans import SANITIZED, compile_all  # noqa: E402
from gemm_samples import MARGIN, Sample, exact  # noqa: E402

SHAPES = 200
# An error that is small enough whatever cuBLAS's is: two and a half roundings of a number in float32.
SMALL_ENOUGH = 2.5 * 2.0**-24
POOL = 16384  # elements of C over which errors are averaged: of fewer, one rounding may go the other way


def random_sample(number: int) -> Sample:
    """Any extents, evenly over their logarithms, in any order in memory, rows aligned or not."""
    choose = random.Random(f"fp32 {number}")
    m, n = (round(math.exp(choose.uniform(0, math.log(5000)))) for _ in range(2))
    k = round(math.exp(choose.uniform(math.log(16), math.log(16384))))
    orders = choose.choice("km"), choose.choice("kn"), choose.choice("nnnm")
    inner = (k if orders[0] == "k" else m, k if orders[1] == "k" else n, n if orders[2] == "n" else m)
    rows = choose.choice(("compact", "compact", "aligned", "anywhere"))
    pads = (0, 0, 0)
    if rows == "aligned":
        pads = tuple(-extent % 4 for extent in inner)
    if rows == "anywhere":
        pads = tuple(choose.choice((0, 1, 8, 13)) for _ in range(3))
    return Sample("fp32", m, n, k, orders, pads)


SAMPLES = [Sample("fp32", 777, 1777, 2777), *(random_sample(number) for number in range(SHAPES - 1))]


@pytest.fixture(scope="module")
def compiled():
    """All kernels of the samples are in the cache."""
    compile_all([kernels.gemm.plan(*one.operands(filled=False)[:3]) for one in SAMPLES])


def errors(one, *runs):
    """The root mean square of the errors of each run(a, b, c), relative to that of C, over draws that fill POOL."""
    squares, norm = [0.0] * len(runs), 0.0
    for _ in range(-(-POOL // (one.m * one.n))):
        a, b, c, _ = one.operands()
        expected = exact(a, b)
        norm += float(expected.square().sum())
        for place, run in enumerate(runs):
            squares[place] += float((run(a, b, c).double() - expected).square().sum())
    return [math.sqrt(x / norm) for x in squares]


@pytest.mark.skipif(SANITIZED, reason="the tools look at memory, not at numbers")
@pytest.mark.parametrize("one", SAMPLES, ids=str)
def test_error_beside_cublas(compiled, one):
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    plan = kernels.gemm.plan(*one.operands(filled=False)[:3])
    ours, theirs = errors(one, lambda a, b, c: kernels.gemm(a, b, c, plan=plan), lambda a, b, c: torch.mm(a, b.t()))
    assert ours <= max(MARGIN * theirs, SMALL_ENOUGH), (ours / theirs, ours * 2**24)
