"""GEMM tables on the CPU; NumPy says what a GEMM gives."""

from __future__ import annotations

import doctest
import itertools

import numpy as np
import pytest

from host_gemms import FP8, Gemm, array, encoded, simt, sliced, sm80, sm90
from tilewright import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, TFloat32, Uint8
from tilewright._core import host
from tilewright.cute.atoms.wgmma_layout import descriptor_offsets, matrix_descriptor, tma_offsets
from tilewright.kernels.gemm.problem import Epilogue

SIZES = [
    (32, 16, 8),
    (64, 48, 128),
    (45, 37, 29),
    (1, 1, 1),
    (3, 100, 7),
    (100, 3, 65),
    (33, 50, 0),
    (0, 5, 3),
    (5, 0, 3),
]


def whole(count, unit):
    """What must be added for whole accesses."""
    return -count % unit


# ---- the three kernels, by hand ----


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("a", "b", "c"), list(itertools.product("km", "kn", "nm")))
def test_simt(size, a, b, c):
    Gemm(*size, a=a, b=b, c=c).assert_computes(simt())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [Float32, Float64, Int8])
def test_slices_of_k(size, dtype):
    Gemm(*size, dtype).assert_computes(sliced())


def test_sums_of_slices_are_added_in_their_order():
    """(2^30 + 1) - 2^30 is 0 in float, (2^30 - 2^30) + 1 is 1: k = 0, 1, 2 are slices of their own."""
    gemm = Gemm(8, 4, 3)
    gemm.b[...] = 1
    for k, expected in (((2**30, 1, -(2**30)), 0), ((2**30, -(2**30), 1), 1), ((1, 2**30, -(2**30)), 0)):
        gemm.a[...] = np.array(k, np.float32)
        for compute in (gemm.run, gemm.check):
            compute(sliced())
            assert (gemm.c == expected).all(), (k, compute)


@pytest.mark.parametrize("size", SIZES)
def test_mma_sync(size):
    _, n, k = size
    Gemm(*size, Float16, pads=(whole(k, 8), whole(k, 4), whole(n, 4))).assert_computes(sm80())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("majors", ["kk", "km", "mk", "mm"])
@pytest.mark.parametrize("span", [0, 32, 64, 128])
def test_wgmma(size, majors, span):
    m, n, k = size
    a, b = (majors[0], "n" if majors[1] == "m" else "k")
    pads = (whole(m if a == "m" else k, 8), whole(n if b == "n" else k, 8), whole(n, 8))
    Gemm(*size, Float16, a=a, b=b, pads=pads).assert_computes(sm90(majors=majors, span=span, n=64))


@pytest.mark.parametrize(("dtype", "size"), [(Float8E4M3FN, 1), (Int8, 1), (BFloat16, 2), (TFloat32, 4)])
@pytest.mark.parametrize("n", [16, 128, 256])
def test_wgmma_of_other_types(dtype, size, n):
    tables = sm90(size, n=n)
    if dtype is TFloat32:
        tables = tables._replace(rounding="tf32")
    gemm = Gemm(70, 300, 200, dtype, most=1, pads=(whole(200, 16), whole(200, 16), whole(300, 16)))
    gemm.assert_computes(tables)


# ---- types ----


@pytest.mark.parametrize(
    ("dtype", "b_type", "out"),
    [
        (Float16, None, Float32), (BFloat16, None, None), (Float32, None, BFloat16), (Float64, None, None),
        (Float64, None, Float32), (Float8E4M3FN, Float8E5M2, None), (Float8E5M2, None, Float32), (Int8, None, None),
        (Uint8, Int8, None), (Uint8, None, Float32), (Int8, None, Int8), (Float16, None, Float8E5M2),
    ],
)  # fmt: skip
def test_types(dtype, b_type, out):
    most = 1 if out in (Int8, Float8E5M2) else 4
    for m, n, k in ((70, 40, 50), (5, 3, 4)):
        k = 3 if out is Float8E5M2 else k
        Gemm(m, n, k, dtype, b_type=b_type, out=out, most=most).assert_computes(simt())


def test_sums_of_integers_wrap_around():
    gemm = Gemm(1, 1, 140000, Int8)
    gemm.a[...] = gemm.b[...] = -128
    for function in (gemm.run, gemm.check):
        gemm.c[...] = 0
        function(simt())
        assert gemm.c[0, 0] == (140000 * 128 * 128 + 2**31) % 2**32 - 2**31


def values_of(dtype):
    """Numbers at and between those of a type; no -0, which a sum that begins with 0 does not give."""
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2**32, 3000, dtype=np.uint32)
    some = bits.view(np.float32)
    near = np.float32(2.0) ** rng.integers(-30, 20, 3000).astype(np.float32) * (
        1 + rng.integers(0, 2**12, 3000) / np.float32(2**12)
    )
    return np.concatenate([some[np.isfinite(some)], near, -near, [0, 1e30, np.inf, -np.inf]]).astype(np.float32)


def converted(values, dtype, out):
    """Each number through a GEMM with K = 1."""
    gemm = Gemm(len(values), 1, 1, dtype, out=out)
    gemm.a[:, 0] = values
    gemm.b[...] = encoded([[1]], dtype)
    gemm.run(simt())
    return gemm.c[:, 0]


@pytest.mark.parametrize("wide", [Float32, Float64])
def test_rounding_to_half(wide):
    values = values_of(Float16)
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16)
    np.testing.assert_array_equal(converted(values, wide, Float16), expected)


def test_doubles_are_rounded_once():
    tie = 1 + 2.0**-11  # between two halves; a float would lose what decides
    got = converted(np.array([tie, tie + 2.0**-40, tie - 2.0**-40, -tie - 2.0**-40]), Float64, Float16)
    assert got.tolist() == [1, 1 + 2.0**-10, 1, -1 - 2.0**-10]


def test_all_halves():
    bits = np.arange(2**16, dtype=np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(converted(bits, Float16, Float32), bits.astype(np.float32))


def test_rounding_to_bfloat16():
    values = values_of(BFloat16)
    bits = values.view(np.uint32).astype(np.uint64)
    expected = (bits + 0x7FFF + (bits >> 16 & 1) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(converted(values, Float32, BFloat16), expected)
    np.testing.assert_array_equal(converted(expected, BFloat16, Float32).view(np.uint32) >> 16, expected)


@pytest.mark.parametrize("dtype", FP8)
def test_rounding_to_fp8(dtype):
    """To the nearest, of two the even one; large numbers to the largest."""
    numbers = FP8[dtype][:127]  # of codes from 0 on
    numbers = numbers[np.isfinite(numbers)]
    codes = np.arange(len(numbers))
    values = np.abs(values_of(dtype)).astype(np.float64)
    above = np.searchsorted(numbers, values).clip(1, len(numbers) - 1)
    middle = (numbers[above - 1] + numbers[above]) / 2
    even = np.where((values > middle) | ((values == middle) & (above % 2 == 0)), above, above - 1)
    np.testing.assert_array_equal(converted(values.astype(np.float32), Float32, dtype), even)
    np.testing.assert_array_equal(converted(-values.astype(np.float32), Float32, dtype), even | 128 * (values > 0))
    assert converted(np.array([np.nan], np.float32), Float32, dtype)[0] == 127
    np.testing.assert_array_equal(converted(codes.astype(np.uint8), dtype, Float32), FP8[dtype][codes])


def test_tf32_cuts_off_and_rounds():
    one = np.float32(1)
    values = one + np.array([2.0**-10, 2.0**-11, 2.0**-11 - 2.0**-20, 2.0**-12], np.float32)
    for rounding, expected in (("tf32", [1 + 2.0**-10, 1, 1, 1]), ("tf32_rna", [1 + 2.0**-10, 1 + 2.0**-10, 1, 1])):
        gemm = Gemm(4, 1, 1, TFloat32)
        gemm.a[:, 0], gemm.b[...] = values, 1
        assert gemm.run(simt()._replace(rounding=rounding))[:, 0].tolist() == expected
        assert gemm.check(simt()._replace(rounding=rounding))
    with pytest.raises(ValueError, match="rounding must say how TFloat32 is made"):
        gemm.run(simt())


# ---- problems ----


@pytest.mark.parametrize("batch", [(3,), (2, 3), (2, 1, 3), (0,)])
def test_batches(batch):
    Gemm(20, 17, 9, batch=batch, c="m").assert_computes(simt())


def test_any_strides():
    gemm = Gemm(40, 17, 9, batch=(2, 3), a="m")
    p = gemm.problem
    rng = np.random.default_rng(2)
    memory = rng.integers(-4, 5, 40 * 9 * 4).astype(np.float32)
    # A is broadcast along the first batch mode, B has negative strides, C has gaps.
    a = np.lib.stride_tricks.as_strided(memory, (40, 9, 2, 3), (4, 160, 0, 1440))
    b = rng.integers(-4, 5, (2, 3, 17, 9)).astype(np.float32).transpose(2, 3, 0, 1)[::-1, ::-1]
    c = np.zeros((3, 2, 80, 17), np.float32).transpose(2, 3, 1, 0)[::2]
    strides = [tuple(s // 4 for s in x.strides) for x in (a, b, c)]
    gemm.problem = p._replace(a_strides=strides[0], b_strides=strides[1], c_strides=strides[2])
    gemm.a, gemm.b, gemm.c, gemm.before = a, b, c, np.zeros(c.shape)
    gemm.assert_computes(simt())


@pytest.mark.parametrize("bias", [None, "m", "n"])
@pytest.mark.parametrize(("dtype", "tables"), [(Float32, simt), (Int8, simt), (Float64, simt), (Float16, sm80)])
@pytest.mark.parametrize("k", [0, 21])
def test_epilogues(bias, dtype, tables, k):
    bias_type = {None: None, Int8: Int32}.get(dtype if bias else None, dtype if bias else None)
    epilogue = Epilogue(2, -3, bias, bias_type, 2 if bias else 0, "relu")
    gemm = Gemm(40, 36, k, dtype, epilogue=epilogue, pads=(whole(k, 8), whole(k, 4), 0))
    gemm.assert_computes(tables())
    gemm.c[...] = gemm.before.astype(gemm.c.dtype)
    gemm.problem = gemm.problem._replace(epilogue=epilogue._replace(beta=0, activation=None, alpha=1))
    gemm.assert_computes(tables())


def test_an_epilogue_of_floats_after_integers():
    gemm = Gemm(20, 20, 9, Int8, out=Float32, epilogue=Epilogue(0.5, 0.25, "n", Float32, 1))
    gemm.assert_computes(simt())


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
@pytest.mark.parametrize("dtype", [Float32, Float64])
def test_activations(activation, dtype):
    torch = pytest.importorskip("torch")
    x = np.linspace(-20, 20, 401).astype(np.float64)
    gemm = Gemm(len(x), 1, 1, dtype, epilogue=Epilogue(activation=activation))
    gemm.a[:, 0], gemm.b[...] = x, 1
    functions = torch.nn.functional
    function = {
        "relu": functions.relu, "gelu": functions.gelu, "silu": functions.silu,
        "gelu_tanh": lambda t: functions.gelu(t, approximate="tanh"),
    }[activation]  # fmt: skip
    expected = function(torch.from_numpy(gemm.a[:, 0].astype(np.float64))).numpy()
    tolerance = 1e-12 if dtype is Float64 else 2e-6
    np.testing.assert_allclose(gemm.run(simt())[:, 0], expected, rtol=tolerance, atol=tolerance)
    assert gemm.check(simt())


def test_beta_0_does_not_read_c():
    gemm = Gemm(20, 20, 9)
    gemm.c[...] = np.nan
    np.testing.assert_array_equal(gemm.run(simt()), gemm.sums())


# ---- work, pipelines ----


def test_split_k():
    """Units of one tile are added up in their order, wherever they stand."""
    gemm = Gemm(40, 20, 50, Float32, seed=3)
    gemm.a[...] += np.float32(0.1)
    units = [(m, n, 0, first, count) for first, count in ((0, 3), (3, 4)) for m in (0, 1) for n in (0, 1)]
    tables = simt()._replace(work=array(np.array(units)))
    split = gemm.run(tables).copy()
    whole_k = gemm.run(simt()).copy()
    np.testing.assert_allclose(split, gemm.sums(), atol=1e-3)
    assert (split != whole_k).any()
    assert gemm.check(tables)
    assert (gemm.run(tables) == split).all()


def test_the_first_k_tile_may_be_cut():
    for k in (1, 8, 9, 29):
        Gemm(33, 20, k).assert_computes(simt()._replace(residue="first"))


def test_the_result_does_not_depend_on_the_threads():
    gemm = Gemm(200, 150, 90)
    gemm.a[...] = np.random.default_rng(0).standard_normal(gemm.a.shape)
    results = {gemm.run(simt(), threads).tobytes() for threads in (1, 2, 5, 0)}
    assert len(results) == 1


@pytest.mark.parametrize(("tables", "dtype"), [(simt, Float32), (sm80, Float16), (sm90, Float16)])
def test_both_ways_add_in_the_same_order(tables, dtype):
    gemm = Gemm(70, 40, 136, dtype, out=Float32)
    for x in (gemm.a, gemm.b):
        x[...] = np.random.default_rng(0).standard_normal(x.shape)
    fast = gemm.run(tables()).copy()
    gemm.check(tables())
    np.testing.assert_array_equal(gemm.c, fast)


@pytest.mark.parametrize("predicate", ["element", "access"])
def test_predicates_of_whole_accesses(predicate):
    tables = sm80(predicate=predicate)
    Gemm(40, 20, 48, Float16).assert_computes(tables)


# ---- what the hardware says ----


def test_tma_and_descriptors_agree_with_canonical_layouts():
    """The layouts that the PTX ISA draws for its examples, without the swizzle."""
    for layout, descriptor, size, major in (
        ((8, 2, 4, 2, 4, 32, 1, 64), matrix_descriptor(0, 256, 128), 4, "k"),
        ((8, 2, 8, 2, 1, 64, 8, 128), matrix_descriptor(0, 256, 128), 2, "mn"),
    ):
        r0, r1, k0, k1, sr0, sr1, sk0, sk1 = layout
        r, k = np.meshgrid(np.arange(r0 * r1), np.arange(k0 * k1), indexing="ij")
        expected = r % r0 * sr0 + r // r0 * sr1 + k % k0 * sk0 + k // k0 * sk1
        np.testing.assert_array_equal(descriptor_offsets(descriptor, (r0 * r1, k0 * k1), size, major), expected)


def test_bad_boxes_and_descriptors():
    for arguments, text in (
        ((0, 8, 16), "leading = 8 must be a multiple of 16"),
        ((1 << 18, 0, 0), "below 2"),
        ((0, 0, 0, 16), "swizzle = 16 must be"),
    ):
        with pytest.raises(ValueError, match=text):
            matrix_descriptor(*arguments)
    with pytest.raises(ValueError, match="base offset 1"):
        descriptor_offsets(1 << 49, (64, 16), 2)
    with pytest.raises(ValueError, match="must be k-major"):
        descriptor_offsets(0, (64, 8), 4, "mn")
    with pytest.raises(ValueError, match="no operand"):
        descriptor_offsets(0, (64, 8), 8)
    with pytest.raises(ValueError, match="must have 128"):
        tma_offsets(32, 8, 2, 128)
    with pytest.raises(ValueError, match="multiple of 16"):
        tma_offsets(3, 8, 2)
    with pytest.raises(ValueError, match="start = 64"):
        tma_offsets(8, 8, 2, 0, 64)
    with pytest.raises(ValueError, match="swizzle = 48"):
        tma_offsets(8, 8, 2, 48)


def test_examples():
    for name, text in (("GemmProgram", host.GemmProgram.__doc__),):
        example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
        assert doctest.DocTestRunner().run(example).attempted > 0
        assert doctest.DocTestRunner().run(example).failed == 0
