"""Conversions between element types on the device, compiled by the C++ compiler of this machine, bit by bit.

As for sm_75, which has no instruction for bf16 and fp8, so that what stands for those is looked at. The reference
rounds in float64, which is exact.
"""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from cpu_device import COMPILER
from cpu_ptx import compile_library, rewritten
from gemm_device_cases import STORED, values
from tilewright import BFloat16, Float8E4M3FN, Float8E5M2, Float16, Float32, Float64, Int8, Int32, Uint8
from tilewright.kernels.common.device_types import numeric_type

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")

# Bits of the significand, the exponent of the smallest number, the largest number, whether there is infinity.
FLOATS = {
    Float16: (11, -24, 65504, True), BFloat16: (8, -133, 3.3895313892515355e38, True),
    Float8E4M3FN: (4, -9, 448, False), Float8E5M2: (3, -16, 57344, False),
    Float32: (24, -149, 3.4028234663852886e38, True),
}  # fmt: skip
INTEGERS = (Int8, Uint8, Int32)
TYPES = (*FLOATS, Float64, *INTEGERS)
CODE = r"""
#include "tilewright/numeric.cuh"
using namespace tilewright;
template <class From, class To> static void all(const void* from, void* to, int count) {
  for (int i = 0; i < count; ++i) static_cast<To*>(to)[i] = convert<To>(static_cast<const From*>(from)[i]);
}
extern "C" void convert_all(int index, const void* from, void* to, int count) {
  using Run = void (*)(const void*, void*, int);
  static const Run table[] = {ENTRIES};
  table[index](from, to, count);
}
extern "C" unsigned pair(int index, float lo, float hi) {
  using Run = unsigned (*)(float, float);
  static const Run table[] = {convert_pair<Half>, convert_pair<BFloat16>, convert_pair<Float8E4M3>,
                              convert_pair<Float8E5M2>};
  return table[index](lo, hi);
}
"""


@pytest.fixture(scope="module", params=[750, 800])
def library(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("numeric")
    rewritten("tilewright/numeric", folder)
    entries = (f"all<{numeric_type(a)}, {numeric_type(b)}>" for a in TYPES for b in TYPES)
    library = compile_library(CODE.replace("ENTRIES", ", ".join(entries)), folder, request.param)
    library.pair.restype = ctypes.c_uint
    library.pair.argtypes = [ctypes.c_int, ctypes.c_float, ctypes.c_float]
    return library


def samples(dtype):
    """All numbers of a small type; of a large one random bits, and numbers halfway between those of small ones."""
    rng = np.random.default_rng(1)
    stored = STORED[dtype]
    if np.dtype(stored).itemsize <= 2 and dtype is not Float16:
        return np.arange(1 << 8 * np.dtype(stored).itemsize).astype(stored)
    if dtype is Float16:
        return np.arange(65536, dtype=np.uint16).view(np.float16)
    if dtype is Int32:
        large = rng.integers(-(2**31), 2**31, 20000)
        return np.concatenate([np.arange(-500, 500), large, halfway(30)]).astype(np.int32)
    bits = rng.integers(0, 1 << 63, 20000, dtype=np.uint64) << 1 | rng.integers(0, 2, 20000, dtype=np.uint64)
    random = bits.view(np.float64) if dtype is Float64 else (bits >> 32).astype(np.uint32).view(np.float32)
    near = np.concatenate([halfway(e) for e in range(-140, 130, 3)])
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 465, 57344, 61440, 65519, 65520, 0.5, 1.5, 2.5, 2.0**31]
    with np.errstate(over="ignore", invalid="ignore"):
        return np.concatenate([random, near, special, rng.standard_normal(5000) * 300]).astype(stored)


def halfway(exponent):
    """Numbers on and just beside the middle between neighbours of every small type."""
    rng = np.random.default_rng(exponent + 1000)
    found = []
    for bits in (11, 8, 4, 3, 24):
        whole = rng.integers(1 << (bits - 1), 1 << bits, 20) + 0.5
        for shift in (0, 2**-20, -(2**-20), 2**-28, -(2**-28)):
            found.append(np.ldexp(whole + shift, exponent - bits))
    return np.concatenate(found) * rng.choice([-1, 1], 500)


def rounded(x, dtype):
    """The number of a type that is nearest to each, halves to the even one."""
    if dtype is Float64:
        return x
    if dtype in INTEGERS:
        info = np.iinfo(STORED[dtype])
        return np.clip(np.rint(np.where(np.isnan(x), 0, x)), info.min, info.max)
    bits, least, most, has_infinity = FLOATS[dtype]
    exponent = np.frexp(np.where(np.isfinite(x), x, 1))[1]
    unit = np.maximum(exponent - bits, least)
    result = np.ldexp(np.rint(np.ldexp(np.where(np.isfinite(x), x, 0), -unit)), unit)
    result = np.where(np.isfinite(x), result, x)
    beyond = abs(result) > most
    return np.where(beyond, np.copysign(np.inf if has_infinity else most, result), result)


@pytest.mark.parametrize("source", TYPES, ids=lambda t: t.__name__)
def test_conversions(library, source):
    stored = samples(source)
    numbers = values(stored, source)
    for target in TYPES:
        found = np.empty(stored.shape, STORED[target])
        index = TYPES.index(source) * len(TYPES) + TYPES.index(target)
        library.convert_all(index, stored.ctypes, found.ctypes, stored.size)
        expected = numbers if target is source else rounded(numbers, target)
        np.testing.assert_array_equal(values(found, target), expected, err_msg=f"{source} to {target}")
        if target not in INTEGERS and source not in INTEGERS:  # zeros have a sign
            number = ~np.isnan(expected)
            assert (np.signbit(values(found, target)) == np.signbit(expected))[number].all()


def test_pairs(library):
    for index, dtype in enumerate((Float16, BFloat16, Float8E4M3FN, Float8E5M2)):
        bits = 8 * np.dtype(STORED[dtype]).itemsize
        for lo, hi in ((1.0, -2.5), (0.0, 1e9), (-1e-9, 3.0)):
            pair = library.pair(index, lo, hi)
            halves = np.array([pair & ((1 << bits) - 1), pair >> bits]).astype(f"uint{bits}").view(STORED[dtype])
            np.testing.assert_array_equal(values(halves, dtype), rounded(np.float32([lo, hi]).astype(float), dtype))
