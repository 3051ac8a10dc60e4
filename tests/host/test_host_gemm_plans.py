"""Plans of all three kernels on the CPU: what their layouts compute, and that the check finds nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from host_gemms import STORED, Gemm, decoded, encoded
from tilewright import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, TFloat32, Uint8
from tilewright.kernels.gemm.host import MAX_PROGRAMS, program_of, run_on_host
from tilewright.kernels.gemm.problem import Epilogue
from tilewright.kernels.gemm.simt import build as gemm_simt
from tilewright.kernels.gemm.sm80 import build as gemm_sm80
from tilewright.kernels.gemm.sm90 import build as gemm_sm90

KERNELS = {
    gemm_simt: (Float32, Float64, Float16, BFloat16, Int8, Uint8, Float8E4M3FN),
    gemm_sm80: (Float16, BFloat16, TFloat32, Float8E4M3FN, Int8, Float64),
    gemm_sm90: (Float16, BFloat16, TFloat32, Float8E4M3FN, Float8E5M2, Int8),
}
SIZES = [(33, 70, 45), (257, 130, 72), (5, 7, 0)]
ALIGNED = (16, 16, 16)  # bytes


def run(plan, gemm, **options):
    addresses = [0 if x is None else x.ctypes.data for x in (gemm.a, gemm.b, gemm.c, gemm.bias)]
    return run_on_host(plan, *addresses, **options)


def assert_runs(plan, gemm):
    """The plan computes the problem on both ways, with the same bits, and the check finds nothing."""
    results = []
    for check in (False, True):
        gemm.c[...] = encoded(gemm.before, gemm.problem.c_type)
        report = run(plan, gemm, check=check)
        results.append(gemm.c.copy())
        np.testing.assert_array_equal(decoded(gemm.c, gemm.problem.c_type), gemm.expected())
    assert report, f"{plan}\n{report}"
    assert (results[0] == results[1]).all()


def pads(size, dtype, a, b, c):
    """What makes every row begin at a multiple of 16 bytes."""
    m, n, k = size
    unit = 16 // np.dtype(STORED[dtype]).itemsize
    rows = (m if a == "m" else k, n if b == "n" else k, m if c == "m" else n)
    return tuple(-row % unit for row in rows)


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [(kernel, dtype) for kernel, dtypes in KERNELS.items() for dtype in dtypes],
    ids=lambda x: x.__name__.rpartition(".")[2],
)
def test_types_transposes_and_ragged_sizes(kernel, dtype):
    taken = 0
    for index, (a, b, c) in enumerate(itertools.product("mk", "kn", "mn")):
        size = SIZES[index % len(SIZES)]
        gemm = Gemm(*size, dtype, a=a, b=b, c=c, most=1, pads=pads(size, dtype, a, b, c))
        plan = kernel.choose(gemm.problem, ALIGNED)
        if plan is not None:
            assert_runs(plan, gemm)
            taken += 1
    assert taken == 8 or (kernel is gemm_sm90 and taken > 0)


@pytest.mark.parametrize("kernel", [gemm_simt, gemm_sm80], ids=["simt", "sm80"])
@pytest.mark.parametrize("dtype", [Float16, Float8E4M3FN])
def test_misaligned_rows(kernel, dtype):
    for a, b, c in itertools.product("mk", "kn", "mn"):
        gemm = Gemm(37, 67, 45, dtype, a=a, b=b, c=c, most=1)
        size = np.dtype(STORED[dtype]).itemsize
        plan = kernel.choose(gemm.problem, (size, size, np.dtype(STORED[gemm.problem.c_type]).itemsize))
        assert_runs(plan, gemm)


@pytest.mark.parametrize(("kernel", "dtype"), [(gemm_simt, Float32), (gemm_sm80, Float16), (gemm_sm90, BFloat16)])
def test_epilogues_and_batches(kernel, dtype):
    for bias, beta, activation in ((None, 2, None), ("n", 0, "relu"), ("m", -1, "relu")):
        epilogue = Epilogue(2, beta, bias, Float32 if bias else None, int(bias is not None), activation)
        gemm = Gemm(40, 72, 32, dtype, batch=(3,), most=1, epilogue=epilogue)
        plan = kernel.choose(gemm.problem, ALIGNED)
        assert_runs(plan, gemm)


def test_integers_with_an_epilogue():
    epilogue = Epilogue(3, -2, "n", Int32, 1, "relu")
    for kernel in KERNELS:
        gemm = Gemm(40, 80, 48, Int8, epilogue=epilogue)
        assert_runs(kernel.choose(gemm.problem, ALIGNED), gemm)


@pytest.mark.parametrize("kernel", KERNELS, ids=["simt", "sm80", "sm90"])
def test_variants(kernel):
    """All that a tuner measures; a variant may differ from the others in its layouts, stages and splits."""
    gemm = Gemm(136, 200, 264, Float32 if kernel is gemm_simt else Float16, most=1)
    variants = kernel.variants(gemm.problem, ALIGNED)
    assert variants
    for plan in variants[:: max(1, len(variants) // 8)]:
        assert_runs(plan, gemm)


def test_the_check_without_memory():
    gemm = Gemm(128, 128, 64, Float16)
    plan = gemm_sm80.choose(gemm.problem, ALIGNED)
    assert run_on_host(plan, 0, 0, 0, check=True, move=False)
    assert run_on_host(plan, 2, 0, 0, check=True, move=False).misaligned_a.count > 0


def test_programs_are_kept():
    program_of.cache_clear()
    plans = [gemm_simt.choose(Gemm(16, 16, k).problem, ALIGNED) for k in range(1, MAX_PROGRAMS + 3)]
    first = program_of(plans[0])
    assert program_of(gemm_simt.choose(Gemm(16, 16, 1).problem, ALIGNED)) is first
    for plan in plans[1:]:
        program_of(plan)
        program_of(plans[0])
    assert program_of(plans[0]) is first
    assert program_of.cache_info().currsize == MAX_PROGRAMS
