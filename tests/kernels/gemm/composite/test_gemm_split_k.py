"""GEMMs in parts along K: what the parts and their sum compute, when K is split, and what the sum's kernel does."""

from __future__ import annotations

import itertools
import math
import pickle
import struct

import numpy as np
import pytest

from cpu_device import COMPILER
from cpu_sum_kernels import SumKernels
from tilewright import BFloat16, Float8E4M3FN, Float16, Float32, Float64, Int8, Int32, LayoutError, _core, kernels
from tilewright.devices import H200
from tilewright.kernels.gemm import host as gemm_host
from tilewright.kernels.gemm.choose.choose import Search, choose_gemm, choose_whole
from tilewright.kernels.gemm.choose.split_k import in_parts, seconds_of, sum_seconds
from tilewright.kernels.gemm.composite.padded import PaddedGemm
from tilewright.kernels.gemm.composite.padding import pad
from tilewright.kernels.gemm.composite.split_k import SplitKGemm, parts_problem
from tilewright.kernels.gemm.composite.sum_parts import SumParts, sums_of, takes_accesses
from tilewright.kernels.gemm.epilogue import compute_type
from tilewright.kernels.gemm.problem import Epilogue, problem_of
from tilewright.kernels.gemm.report import GemmReport
from tilewright.kernels.gemm.simt import build as simt
from tilewright.kernels.gemm.sm80 import choose as sm80
from tilewright.kernels.gemm.sm90 import choose as sm90
from tilewright.kernels.gemm.sm90 import tensor_maps

ALIGNED = (16, 16, 16)
NUMPY = {Float16: np.float16, Float32: np.float32, Float64: np.float64, Int32: np.int32, Int8: np.int8}


def numbers(*shape, dtype=np.float32, seed=0):
    drawn = np.random.default_rng(seed).standard_normal(shape)
    return (3 * drawn).astype(dtype) if np.dtype(dtype).kind == "i" else drawn.astype(dtype)


def sum_plan(problem, parts, wide=None):
    plan = SumParts(problem=problem, parts=parts, wide=False)
    return plan.replace(wide=takes_accesses(problem, plan.vector, 16) if wide is None else wide)


def split(problem, parts, alignments=ALIGNED):
    """The plan of a problem in so many parts."""
    gemm = choose_gemm(parts_problem(problem, problem.k // parts), (*alignments[:2], 16), H200)
    return SplitKGemm(problem=problem, gemm=gemm, sum=sum_plan(problem, parts))


def planned(a, b, c, parts, **keywords):
    plan = kernels.gemm.plan(a, b, c, **keywords)
    problem = plan.problem.swapped() if plan.swapped else plan.problem
    return split(problem, parts)


@pytest.mark.parametrize("transposed", [False, True], ids=["C", "C transposed"])
@pytest.mark.parametrize("orders", ["kk", "mn", "kn"])
@pytest.mark.parametrize("bias_along", ["m", "n"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_the_sum_of_parts_is_c(dtype, bias_along, orders, transposed):
    """With everything that an epilogue has, and the check of the parts."""
    m, n, k = 72, 40, 192
    a, b = numbers(m, k, dtype=dtype), numbers(n, k, dtype=dtype, seed=1)
    a, b = (np.asfortranarray(x) if order in "mn" else x for x, order in zip((a, b), orders, strict=True))
    before = numbers(m, n, dtype=dtype, seed=2)
    bias = numbers(m, 1, seed=3) if bias_along == "m" else numbers(n, seed=3)
    c = np.asfortranarray(before) if transposed else before.copy()
    plan = planned(a, b, c, 4, alpha=0.5, beta=2, bias=bias, activation="relu")
    assert plan.gemm.problem.batch == (4,)
    expected = np.maximum(0.5 * (a.astype(np.float64) @ b.astype(np.float64).T) + 2.0 * before + bias, 0)
    tolerance = {"rtol": 2e-3, "atol": 2e-2} if dtype is np.float16 else {"rtol": 1e-5, "atol": 1e-4}
    plan.run(a, b, c, bias=bias)
    np.testing.assert_allclose(c, expected, **tolerance)
    c[...] = before
    report = plan.run(a, b, c, bias=bias, check=True)
    assert str(report) == f"each of {m * n} elements of C is written exactly once"
    np.testing.assert_allclose(c, expected, **tolerance)


def test_integers_and_batches():
    a = numbers(3, 24, 64, dtype=np.int8).transpose(1, 2, 0)
    b = numbers(3, 40, 64, dtype=np.int8, seed=1).transpose(1, 2, 0)
    c = np.zeros((3, 24, 40), np.int32).transpose(1, 2, 0)
    planned(a, b, c, 2).run(a, b, c)
    np.testing.assert_array_equal(c, np.einsum("mkl,nkl->mnl", a.astype(np.int32), b.astype(np.int32)))


def test_parts_after_copies_of_operands():
    """Rows that TMA does not take are copied first, beside the sums in the workspace."""
    a, b = numbers(40, 322, dtype=np.float16), numbers(24, 322, dtype=np.float16, seed=1)
    c = np.zeros((40, 24), np.float16)
    problem = kernels.gemm.plan(a, b, c).problem
    parts = parts_problem(problem, 161)
    gemm = PaddedGemm.of(parts, (2, 2, 16), (True, True), choose_gemm(
        parts._replace(a_strides=(192, 1, 192 * 40), b_strides=(192, 1, 192 * 24)), ALIGNED, H200
    ))  # fmt: skip
    plan = SplitKGemm(problem=problem, gemm=gemm, sum=sum_plan(problem, 2))
    begin, size = plan.workspace
    assert (begin % 128, size - begin) == (0, 2 * 40 * 32 * 4)
    assert begin >= gemm.workspace[2]
    plan.run(a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=2e-3, atol=2e-2)


def test_other_sizes():
    plan = planned(numbers(40, 64), numbers(24, 64), np.zeros((40, 24), np.float32), 4)
    for m, k in ((1, 64), (33, 128), (100, 4)):
        x, y = numbers(m, k), numbers(24, k, seed=1)
        np.testing.assert_allclose(plan.run(x, y), x @ y.T, rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match=r"K is 66, but the plan is of 4 equal parts of it; let kernels.gemm choose"):
        plan.run(numbers(40, 66), numbers(24, 66))
    with pytest.raises(ValueError, match="K is 0, but"):
        plan.run(numbers(40, 0), numbers(24, 0))


def test_parts_that_are_not_sound_are_reported(monkeypatch):
    report = GemmReport(4, {"never_written": {"count": 1, "first": [(0, 1)]}})
    monkeypatch.setattr(gemm_host, "run_on_host", lambda *args, **options: report)
    plan = planned(numbers(40, 64), numbers(24, 64), np.zeros((40, 24), np.float32), 4)
    assert plan.run(numbers(40, 64), numbers(24, 64), check=True) is report


# ---- parts of any length ----

UNEVEN = [  # types, orders, M, N, K, products of a part
    (np.float16, "kk", 72, 40, 1000, 384), (np.float16, "mn", 136, 24, 330, 64), (np.float16, "kn", 8, 264, 200, 128),
    (np.float32, "kk", 40, 72, 204, 32), (np.float32, "mk", 72, 40, 100, 96), (np.int8, "kk", 40, 72, 272, 128),
]  # fmt: skip


@pytest.mark.parametrize("case", UNEVEN, ids=str)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["", "batch"])
def test_the_last_part_may_be_shorter(case, batch):
    dtype, orders, m, n, k, part = case
    a, b = numbers(*batch, m, k, dtype=dtype), numbers(*batch, n, k, dtype=dtype, seed=1)
    turned = (1, 2, 0) if batch else (0, 1)
    a, b = (
        (np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2) if order in "mn" else x).transpose(turned)
        for x, order in zip((a, b), orders, strict=True)
    )
    c = np.zeros((*batch, m, n), np.int32 if dtype is np.int8 else dtype).transpose(turned)
    direct = kernels.gemm.plan(a, b, c, allow_tf32=dtype is np.float32)
    problem = direct.problem.swapped() if direct.swapped else direct.problem
    parts = parts_problem(problem, part)
    assert (parts.whole_k, parts.undivided.k, parts.batch) == (k, k, (*batch, -(-k // part)))
    assert parts.flops == problem.flops
    for view in (parts, parts.swapped()):
        gemm = sm90.choose(view, ALIGNED, H200)
        if gemm is None:  # TF32 along N
            continue
        plan = SplitKGemm(
            problem=problem, gemm=gemm.replace(swapped=view is not parts), sum=sum_plan(problem, parts.batch[-1])
        )
        assert f"{parts.batch[-1]} parts of {part} along K" in str(plan)
        right = np.einsum("mk...,nk...->mn...", a.astype(np.float64), b.astype(np.float64))
        plan.run(a, b, c)
        np.testing.assert_allclose(c, right, rtol=2e-3, atol=5e-2)
        c[...] = 0
        assert str(plan.run(a, b, c, check=True)) == f"each of {c.size} elements of C is written exactly once"
        np.testing.assert_allclose(c, right, rtol=2e-3, atol=5e-2)


def test_uneven_parts_after_copies_of_operands():
    """The whole is copied, and parts of the copy are multiplied."""
    a, b = numbers(40, 323, dtype=np.float16), numbers(24, 323, dtype=np.float16, seed=1)
    c = np.zeros((40, 24), np.float16)
    problem = kernels.gemm.plan(a, b, c).problem
    copied, aligned = pad(problem, (2, 2, 16), (True, True))
    gemm = PaddedGemm.of(
        parts_problem(problem, 128), (2, 2, 16), (True, True), sm90.choose(parts_problem(copied, 128), aligned, H200)
    )
    assert gemm.workspace == (0, 40 * 384 * 2, 64 * 384 * 2)
    plan = SplitKGemm(problem=problem, gemm=gemm, sum=sum_plan(problem, 3))
    plan.run(a, b, c)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, rtol=2e-3, atol=2e-2)
    x, y = numbers(17, 700, dtype=np.float16), numbers(24, 700, dtype=np.float16, seed=1)
    np.testing.assert_allclose(plan.run(x, y), x.astype(np.float64) @ y.astype(np.float64).T, rtol=2e-3, atol=5e-2)


def test_other_sizes_of_uneven_parts():
    problem = problem_of(40, 24, 1000, Float16)
    gemm = sm90.choose(parts_problem(problem, 256), ALIGNED, H200)
    plan = SplitKGemm(problem=problem, gemm=gemm, sum=sum_plan(problem, 4))
    for k, parts, part in ((2000, 4, 512), (1024, 4, 256), (104, 2, 64), (8, 1, 64)):
        found = plan.for_problem(problem_of(40, 24, k, Float16))
        assert (found.parts, found.gemm.problem.k, found.gemm.problem.whole_k) == (parts, part, k % part and k)
        x, y = numbers(40, k, dtype=np.float16), numbers(24, k, dtype=np.float16, seed=1)
        np.testing.assert_allclose(plan.run(x, y), x.astype(np.float64) @ y.astype(np.float64).T, rtol=2e-3, atol=9e-2)


def test_what_tma_is_told_of_uneven_parts(monkeypatch):
    """One matrix with all of K, over which the mode of the parts is broadcast; and how far a part is from the next."""
    told = []
    monkeypatch.setattr(tensor_maps, "_encode", lambda dtype, at, modes, box: told.append(modes) or bytes(128))
    problem = problem_of(64, 64, 1000, Float16)
    plan = sm90.choose(parts_problem(problem, 384), ALIGNED, H200)
    equal = plan.replace(problem=parts_problem(problem_of(64, 64, 1152, Float16), 384))
    whole = plan.replace(problem=problem, store="singles")
    tiles = math.prod(plan.tiles())
    words = *plan.tiles(), 3 * tiles, min(plan.tile_run, plan.tiles()[0])
    # Steps, tiles along M and N, all of them, how many are together, K of a part, parts; and of the first of both the
    # matrices that A and B have: one.
    assert struct.pack("<11I", 6, *words, 384, 3, 0, 0, 0, 0) in plan.params()
    assert told[:2] == [[(1000, 1), (64, 1000), (1, 0)]] * 2
    told.clear()
    assert struct.pack("<11I", 6, *words, 0, 3, 0, 1, 0, 1) in equal.params()
    assert told[:2] == [[(384, 1), (64, 1152), (3, 384)]] * 2
    assert struct.pack("<6I", 16, *plan.tiles(), tiles, words[-1], 0) in whole.params()


def test_parts_that_the_kernel_does_not_take():
    problem = problem_of(64, 64, 1000, Float16)
    plan = sm90.choose(parts_problem(problem, 384), ALIGNED, H200)
    for wrong in (parts_problem(problem, 96), plan.problem._replace(a_strides=(1000, 1, 380))):
        with pytest.raises(LayoutError, match=r"parts of K = 1000 have whole steps of 64, but for the last one"):
            plan.replace(problem=wrong)
    for change in ({"split_k": 2, "workers": 264}, {"stream_k_ctas": 132}):
        with pytest.raises(
            LayoutError, match=r"GemmSm90: .* has a last part of K that is shorter than 384, but in this"
        ):
            plan.replace(**change)


def test_by_fma_parts_are_equal():
    """It would read behind the end of a row."""
    problem = problem_of(64, 64, 1000, Float16)
    plan = simt.choose(parts_problem(problem, 250), ALIGNED, H200)
    with pytest.raises(
        LayoutError, match=r"GemmSimt: .* parts of K = 1000 has a last part of K that is shorter than 384"
    ):
        plan.replace(problem=parts_problem(problem, 384))
    with pytest.raises(ValueError, match="SplitKGemm: parts of 0 products along K; a part has at least one"):
        parts_problem(problem, 0)


def test_parts_by_mma_sync_have_whole_steps():
    problem = problem_of(64, 64, 1000, Float64)
    plan = sm80.choose(parts_problem(problem, 384), ALIGNED, H200)
    assert plan.problem.whole_k == 1000
    with pytest.raises(LayoutError, match=r"GemmSm80: parts of K = 1000 have whole steps of (16|32), but for the last"):
        plan.replace(problem=parts_problem(problem, 104))


@pytest.mark.parametrize("b", ["k", "n"])
@pytest.mark.parametrize("alignment", [2, 16])
@pytest.mark.parametrize("k", [1024, 1027, 1100])
def test_all_plans_that_are_chosen_from_are_right(k, alignment, b):
    """Parts of equal length and others, of operands as they lie and of copies."""
    first = alignment % 16 // 2  # element of A
    memory = numbers(24 * k + first, dtype=np.float16)
    a, y = memory[first:].reshape(24, k), numbers(40, k, dtype=np.float16, seed=1)
    y = np.asfortranarray(y) if b == "n" else y
    c = np.zeros((24, 40), np.float16)
    right = a.astype(np.float64) @ y.astype(np.float64).T
    direct = kernels.gemm.plan(a, y, c)
    problem = direct.problem.swapped() if direct.swapped else direct.problem
    found = [plan for plan, _ in in_parts(Search(problem, (alignment, 16, 16), H200), choose_whole)]
    kinds = {(isinstance(plan.gemm, PaddedGemm), plan.gemm.problem.whole_k == 0) for plan in found}
    assert {equal for _, equal in kinds} >= {k == 1024}
    assert any(copied for copied, _ in kinds) == (alignment == 2 or k % 8 > 0)
    for plan in found[::4]:
        c[...] = 0
        plan.run(a, y, c)
        np.testing.assert_allclose(c, right, rtol=4e-3, atol=9e-2, err_msg=str(plan))


@pytest.mark.parametrize("k", [32749, 44480, 9166])
def test_a_k_without_divisors_is_split_too(k):
    plan = choose_gemm(problem_of(128, 64, k, BFloat16), ALIGNED, H200)
    assert isinstance(plan, SplitKGemm)
    assert plan.gemm.problem.whole_k == k
    assert isinstance(plan.gemm, PaddedGemm) == (k % 2 > 0)  # gemm_sm80 takes rows of 4 bytes as they lie
    rows = plan.why().rows
    assert rows[0].plan == plan


# ---- the kernel of the sum ----

EPILOGUES = (
    Epilogue(),
    Epilogue(alpha=0.5, beta=2, activation="relu"),
    Epilogue(bias="m", bias_type=Float32, bias_stride=1),
    Epilogue(bias="n", bias_type=Float32, bias_stride=2, activation="silu"),
)
SHAPES = ((64, 100, ()), (7, 13, (3,)), (33, 1, ()), (5, 258, (2, 3)))
OTHERS = ((Float32, EPILOGUES[0]), (Float64, EPILOGUES[1]))
FORMS = list(itertools.product(SHAPES, "nm", (0, 3)))
PROBLEMS = [
    problem_of(m, n, 96, dtype, c=c, batch=batch, pads=(0, 0, pad), epilogue=epilogue, out=dtype)
    for i, ((m, n, batch), c, pad) in enumerate(FORMS)
    for dtype, epilogue in ((Float16, EPILOGUES[i % 4]), (Float16, EPILOGUES[(i + i // 4 + 1) % 4]), *OTHERS)
]


@pytest.fixture(scope="module")
def sum_kernels(tmp_path_factory):
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    return SumKernels([sum_plan(p, 5) for p in PROBLEMS], tmp_path_factory.mktemp("sums"))


@pytest.mark.parametrize("parts", [1, 2, 16, 17, 40])
def test_the_kernel_has_the_bits_of_the_host(sum_kernels, parts):
    rng = np.random.default_rng(parts)
    for p in PROBLEMS:
        sums, plan = sums_of(p), sum_plan(p, parts)
        of_parts = rng.standard_normal(sums.step * parts).astype(NUMPY[p.acc_type])
        reach = 1 + sum((e - 1) * d for e, d in zip((p.m, p.n, *p.batch), p.c_strides, strict=True))
        found = rng.standard_normal(reach).astype(NUMPY[p.c_type])
        bias, expected = rng.standard_normal(2 * max(p.m, p.n)).astype(np.float32), found.copy()
        sum_kernels.run(plan, of_parts, found, bias.ctypes.data)
        strides = parts_problem(p._replace(k=parts), 1).c_strides[:-1]
        _core.host.finish_sums(
            p, compute_type(p), of_parts.ctypes.data, strides, parts, sums.step, expected.ctypes.data, bias.ctypes.data
        )
        if p.epilogue.activation == "silu":  # by another exponential
            np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-5, err_msg=str(plan))
        else:
            np.testing.assert_array_equal(found, expected, err_msg=str(plan))


def test_the_sum_adds_in_the_order_of_parts():
    """1 is lost beside 1e8 where it comes behind it, and is there where 1e8 has gone before."""
    p = problem_of(1, 1, 4, Float32)
    c = np.zeros(1, np.float32)
    for order, expected in (((1e8, 1, -1e8), 0), ((1e8, -1e8, 1), 1)):
        sums = np.zeros(3 * 32, np.float32)
        sums[::32] = order
        _core.host.finish_sums(p, Float32, sums.ctypes.data, (32, 1), 3, 32, c.ctypes.data)
        assert c[0] == expected


def test_finish_sums_refuses():
    p, c = problem_of(2, 2, 4, Float32), np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="strides has 3 entries, but must have 2, one for each mode of C"):
        _core.host.finish_sums(p, Float32, c.ctypes.data, (2, 1, 4), 1, 4, c.ctypes.data)
    with pytest.raises(ValueError, match="count = -1 must not be negative"):
        _core.host.finish_sums(p, Float32, c.ctypes.data, (2, 1), -1, 4, c.ctypes.data)
    with pytest.raises(ValueError, match="address and c_address must not be null"):
        _core.host.finish_sums(p, Float32, 0, (2, 1), 1, 4, c.ctypes.data)
    biased = p._replace(epilogue=Epilogue(bias="n", bias_type=Float32, bias_stride=1))
    with pytest.raises(ValueError, match="bias_address must not be null"):
        _core.host.finish_sums(biased, Float32, c.ctypes.data, (2, 1), 1, 4, c.ctypes.data)


@pytest.mark.parametrize("c", ["n", "m"])
@pytest.mark.parametrize("columns", [100, 102, 103])
def test_accesses_are_those_of_every_element(columns, c):
    """What is loaded and stored is each element of the parts and of C once."""
    p = problem_of(33, columns, 96, Float16, c=c, epilogue=Epilogue(beta=1, bias="n", bias_type=Float32, bias_stride=1))
    plan = sum_plan(p, 3)
    found = {x.name: x for x in plan.analyze()}
    sums = plan.sums
    vectors = -(-sums.length // 4)
    warps = -(-vectors * sums.rows // 32)
    assert found["load parts"].requests == 3 * warps
    assert found["load parts"].bytes_useful == 3 * 16 * vectors * sums.rows
    for name in ("read C", "store C"):
        useful = sum(found[x].bytes_useful for x in (name, f"{name}, edges") if x in found)
        assert useful == 2 * p.m * p.n, name
    assert plan.wide == (sums.length % 4 == 0)
    assert found["store C"].sass == ("STG.E.64" if plan.wide else "STG.E.U16")


def test_the_kernel_compiles_without_spills():
    plan = sum_plan(problem_of(256, 256, 4096, BFloat16, epilogue=EPILOGUES[1]), 32)
    (report,) = plan.compile().report.values()
    assert report.spill_bytes == 0
    assert report.registers <= 128
    assert "griddepcontrol.wait" in plan.compile().ptx
    assert "griddepcontrol" not in plan.compile("sm_80").ptx


# ---- the choice ----


@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "b"),
    [
        (64, 64, 32768, BFloat16, "k"),
        (256, 256, 131072, BFloat16, "k"),
        (128, 128, 16384, Float16, "k"),
        (120, 4132, 5952, BFloat16, "n"),
        (488, 48, 7400, Float16, "n"),
        (112, 96, 7296, Float32, "n"),
        (552, 64, 6888, Float32, "k"),
        (64, 64, 32768, Float32, "k"),
    ],
)
def test_few_tiles_of_long_sums_are_split(m, n, k, dtype, b):
    problem = problem_of(m, n, k, dtype, b=b)
    plan = choose_gemm(problem, ALIGNED, H200)
    assert isinstance(plan, SplitKGemm)
    assert seconds_of(plan.gemm, H200) < 0.9 * seconds_of(choose_whole(problem, ALIGNED, H200), H200)
    plan.require_device(H200)


@pytest.mark.parametrize("problem", [
    problem_of(4096, 4096, 4096, BFloat16), problem_of(1000, 1000, 1000, BFloat16), problem_of(256, 256, 512, BFloat16),
    problem_of(512, 512, 512, Float32), problem_of(512, 512, 512, Float64), problem_of(1, 128, 16384, Float32),
    problem_of(4096, 4, 4096, Float32), problem_of(64, 64, 32768, BFloat16, batch=(2, 2, 2), pads=(8, 8, 8)),
], ids=str)  # fmt: skip
def test_others_are_not_split(problem):
    """Of many tiles, short sums, a matrix times vectors, and as many batch modes as kernels take."""
    assert not isinstance(choose_gemm(problem, ALIGNED, H200), SplitKGemm)


def test_what_does_not_fit_together_is_refused():
    plan = split(problem_of(64, 64, 1024, Float16), 4)
    other = split(problem_of(64, 64, 2048, Float16), 4)
    with pytest.raises(ValueError, match=r"SplitKGemm: gemm is a plan of .* with parts of 512 along K it has to be"):
        plan.replace(gemm=other.gemm)
    with pytest.raises(ValueError, match=r"SplitKGemm: sum adds 8 parts up, but gemm has 4 of 256 along K"):
        plan.replace(sum=sum_plan(plan.problem, 8))
    with pytest.raises(ValueError, match="SplitKGemm: sum is a plan of"):
        plan.replace(sum=sum_plan(problem_of(64, 64, 1024, Float16, pads=(0, 0, 8)), 4))
    with pytest.raises(ValueError, match=r"writes C by accesses of 8 bytes, but mC \(64,64\):\(64,1\) at 0x2 has rows"):
        plan.require(4096, 4096, 2, "plan.run")
    many = sum_plan(problem_of(1 << 20, 1 << 13, 64, Float16), 2)
    with pytest.raises(LayoutError, match="the kernel counts fewer than 2\\^31"):
        many.require_device(H200)


def test_a_plan_is_a_value():
    plan = split(problem_of(64, 64, 1024, Float16), 4)
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert "4 parts of 256 along K" in str(plan)
    assert "sum of 4 parts" in str(plan)
    assert [type(x).__name__ for x in plan.single_plans] == ["GemmSm90", "SumParts"]
    assert "a second kernel" in plan.svg()
    assert {x.name for x in plan.analyze()} >= {"load parts", "store C"}


def test_float8_is_split_too():
    plan = choose_gemm(problem_of(64, 64, 1 << 17, Float8E4M3FN), ALIGNED, H200)
    assert isinstance(plan, SplitKGemm)
    assert plan.gemm.problem.c_type is Float32
    assert plan.sum.problem.c_type is BFloat16


@pytest.mark.parametrize(
    ("problem", "kernel"),
    [(problem_of(512, 512, 16384, BFloat16), "sm90"), (problem_of(552, 64, 6888, Float32), "simt")],
    ids=["sm90", "simt"],
)
def test_why_lists_other_parts_and_the_whole(problem, kernel):
    plan = choose_gemm(problem, ALIGNED, H200)
    rows = plan.why().rows
    assert rows[0].plan == plan
    assert rows[0].kernel == f"{kernel}, {plan.parts} parts of K"
    assert rows[0].seconds == pytest.approx(seconds_of(plan.gemm, H200) + sum_seconds(plan.problem, plan.parts, H200))
    split = [x for x in rows if isinstance(x.plan, SplitKGemm)]
    assert len(split) > 2
    assert all(x.seconds >= rows[0].seconds for x in split)
    whole = [x for x in rows if not isinstance(x.plan, SplitKGemm)]
    assert min(whole, key=lambda x: x.seconds).plan == choose_whole(plan.problem, ALIGNED, H200)
