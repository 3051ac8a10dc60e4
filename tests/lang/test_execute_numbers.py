"""Numbers of kernels that the CPU executes: integers wrap, floats round once, casts are C's."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilewright
from kernel_programs import DTYPES, Kernel, gmem, layout, write
from test_execute import clean, elementwise

INTEGERS = ["Int8", "Int16", "Int32", "Int64", "Uint8", "Uint16", "Uint32", "Uint64"]


def wrapped(value: int, dtype) -> int:
    bits = 8 * np.dtype(dtype).itemsize
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.dtype(dtype).kind == "i" and value >> (bits - 1) else value


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


MEANINGS = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul": lambda a, b, w: a * b,
    "div": lambda a, b, w: truncated(a, b),
    "rem": lambda a, b, w: a - b * truncated(a, b),
    "floor_div": lambda a, b, w: a // b,
    "floor_mod": lambda a, b, w: a % b,
    "min": lambda a, b, w: min(a, b),
    "max": lambda a, b, w: max(a, b),
    "and": lambda a, b, w: a & b,
    "or": lambda a, b, w: a | b,
    "xor": lambda a, b, w: a ^ b,
    "shl": lambda a, b, w: a << b if 0 <= b < w else 0,
    "shr": lambda a, b, w: a >> (b if 0 <= b < w else w),
}


@pytest.mark.parametrize("scalar", INTEGERS)
@pytest.mark.parametrize("code", MEANINGS)
def test_integers_wrap(scalar, code):
    dtype = np.dtype(DTYPES[scalar])
    info = np.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, 31, 32, 63, 64, info.min, info.min + 1, info.max, info.max - 1, info.max // 3, -1, -2, -7]
    edges = [wrapped(e, dtype) for e in edges]
    pairs = [(a, b) for a in edges for b in edges if b or code not in ("div", "rem", "floor_div", "floor_mod")]
    x, y = (np.array(v, dtype) for v in zip(*pairs, strict=True))
    z = np.zeros_like(x)
    kernel = elementwise(scalar, lambda k, a, b: k.op(code, a, b))
    clean(kernel.run(math.ceil(len(x) / 64), 64, x, y, z, np.int32(len(x)), check=True))
    expected = [wrapped(MEANINGS[code](a, b, 8 * dtype.itemsize), dtype) for a, b in pairs]
    assert z.tolist() == expected


@pytest.mark.parametrize("scalar", ["Float16", "Float32", "Float64"])
@pytest.mark.parametrize(
    ("code", "function"),
    [
        ("add", np.add),
        ("sub", np.subtract),
        ("mul", np.multiply),
        ("div", np.divide),
        ("min", np.fmin),
        ("max", np.fmax),
    ],
)
def test_floats_round_once(scalar, code, function):
    dtype = np.dtype(DTYPES[scalar])
    bits = np.random.default_rng(1).integers(0, 2**63, 4096).astype(np.uint64)
    x = bits.view(np.uint8)[: 2048 * dtype.itemsize].view(dtype).copy()
    y = bits[::-1].copy().view(np.uint8)[: 2048 * dtype.itemsize].view(dtype).copy()
    z = np.zeros_like(x)
    clean(elementwise(scalar, lambda k, a, b: k.op(code, a, b)).run(32, 64, x, y, z, np.int32(2048), check=False))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(z, function(x, y))


def converted(value, source, target):
    """As opcode.hpp says."""
    if np.dtype(target).kind == "b":
        return value != 0
    if np.dtype(target).kind in "iu":
        info = np.iinfo(target)
        if np.dtype(source).kind == "f":
            if math.isnan(value):
                return 0
            return (
                int(min(max(value, info.min), info.max))
                if not math.isinf(value)
                else info.max
                if value > 0
                else info.min
            )
        return wrapped(int(value), target)
    with np.errstate(all="ignore"):
        return np.array(value, source).astype(target)


@pytest.mark.parametrize("source", ["Boolean", *INTEGERS, "Float16", "Float32", "Float64"])
def test_casts(source):
    dtype = np.dtype(DTYPES[source])
    if dtype.kind == "f":
        values = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            1e3,
            -1e3,
            65519.0,
            65520.0,
            1e9,
            3e9,
            -3e9,
            1e19,
            -1e19,
            1e30,
            math.inf,
            -math.inf,
            math.nan,
        ]
        with np.errstate(all="ignore"):
            x = np.array(values).astype(dtype)
    elif dtype.kind == "b":
        x = np.array([False, True])
    else:
        info = np.iinfo(dtype)
        x = np.array([0, 1, 5, info.max, info.min, info.max // 2 + 3, info.max // 7], dtype)
    for target, to in DTYPES.items():

        def body(k: Kernel, target=target):
            a, b = k.parameters
            i = k.thread()
            k.store(k.cast(k.load(k.at(a, i)), target), k.at(b, i))

        z = np.zeros(len(x), to)
        clean(write({"a": gmem(source), "b": gmem(target)}, body).run(1, len(x), x, z))
        expected = np.array([converted(v, dtype, to) for v in x.tolist()], to)
        np.testing.assert_array_equal(z, expected, err_msg=f"{source} to {target}")


SMALL = ["Float16", "BFloat16", "Float8E4M3FN", "Float8E5M2", "Float8E8M0FNU"]


@pytest.mark.parametrize("scalar", SMALL)
def test_small_floats_are_those_of_numeric(scalar):
    """To Float32 and back, of every pattern of 8 bits, or of many; numbers between them round to nearest."""
    dtype = getattr(tilewright, scalar)
    width = np.uint16 if dtype.width == 16 else np.uint8
    patterns = np.arange(2**dtype.width, step=1 if dtype.width == 8 else 7).astype(width)

    def body(k: Kernel):
        a, b, c = k.parameters
        i = k.thread_of_grid()
        k.store(k.cast(k.load(k.at(a, i)), "Float32"), k.at(b, i))
        k.store(k.cast(k.cast(k.load(k.at(b, i)), "Float64"), scalar), k.at(c, i))

    kernel = write({"a": gmem(scalar), "b": gmem("Float32"), "c": gmem(scalar)}, body)
    patterns = patterns[: len(patterns) // 64 * 64]
    wide, back = np.zeros(len(patterns), np.float32), np.zeros_like(patterns)
    clean(kernel.run(len(patterns) // 64, 64, patterns, wide, back))
    expected = np.array([dtype._decode(int(p)) for p in patterns], np.float32)
    np.testing.assert_array_equal(wide, expected)
    numbers = np.isfinite(wide)  # casts to 8 bits saturate
    np.testing.assert_array_equal(back[numbers], patterns[numbers])


def test_fma_rounds_a_tie_and_a_little():
    """7 * 37 / 256 lies between two numbers of BFloat16, and what is added, 2^-60, is lost to a Float64."""

    def body(k: Kernel):
        a, b, c = k.parameters
        i = k.thread()
        k.store(k.op("fma", k.load(k.at(a, i)), k.load(k.at(b, i)), k.load(k.at(c, i))), k.at(c, i))

    def patterns(*values):
        return np.array([tilewright.BFloat16._encode(v) for v in values], np.uint16)

    x, y, z = patterns(7, 7, 7, -7, -7), patterns(*[37 / 256] * 5), patterns(-(2.0**-60), 0, 2.0**-60, 2.0**-60, 0)
    clean(write({"a": gmem("BFloat16"), "b": gmem("BFloat16"), "c": gmem("BFloat16")}, body).run(1, 5, x, y, z))
    assert [tilewright.BFloat16._decode(int(p)) * 128 for p in z] == [129, 130, 130, -129, -130]


def test_fma_of_small_floats_rounds_once():
    rng = np.random.default_rng(2)
    x, y, z = (rng.integers(0, 2**16, 4096).astype(np.uint16).view(np.float16) for _ in range(3))

    def body(k: Kernel):
        a, b, c = k.parameters
        i = k.thread_of_grid()
        k.store(k.op("fma", k.load(k.at(a, i)), k.load(k.at(b, i)), k.load(k.at(c, i))), k.at(c, i))

    result = z.copy()
    clean(write({"a": gmem("Float16"), "b": gmem("Float16"), "c": gmem("Float16")}, body).run(32, 128, x, y, result))
    with np.errstate(all="ignore"):
        # The sum of halves is exact with 64 bits of mantissa.
        expected = (x.astype(np.longdouble) * y + z).astype(np.float16)
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("code", ["add", "mul", "div"])
@pytest.mark.parametrize("scalar", ["BFloat16", "Float8E4M3FN", "Float8E5M2"])
def test_arithmetic_of_small_floats_is_that_of_numeric(scalar, code):
    dtype = getattr(tilewright, scalar)
    width = np.uint16 if dtype.width == 16 else np.uint8
    x, y = np.random.default_rng(8).integers(0, 2**dtype.width, (2, 256)).astype(width)
    z = np.zeros(256, width)
    clean(elementwise(scalar, lambda k, a, b: k.op(code, a, b)).run(4, 64, x, y, z, np.int32(256)))
    operation = {"add": np.add, "mul": np.multiply, "div": np.divide}[code]
    for a, b, got in zip(x.tolist(), y.tolist(), z.tolist(), strict=True):
        with np.errstate(all="ignore"):
            exact = operation(np.float64(dtype._decode(a)), np.float64(dtype._decode(b)))
        if np.isnan(exact):
            assert np.isnan(dtype._decode(got))
        elif np.isinf(exact) and dtype.width == 8:
            assert abs(dtype._decode(got)) == dtype.max  # casts to 8 bits saturate
        else:
            expected = dtype._decode(dtype._encode(float(exact)))
            assert dtype._decode(got) == (
                expected if np.isfinite(expected) or dtype.width > 8 else np.sign(exact) * dtype.max
            )


def test_floats_of_four_bits():
    def body(k: Kernel):
        a, b, c, d = k.parameters
        t = k.thread()
        k.store(k.cast(k.load(k.at(a, t)), "Float32"), k.at(b, t))
        two = layout(2, 1)
        pair = k.load(k.at(d, k.op("mul", t, 2)), two)
        k.store(k.cast(pair, "Float4E2M1FN"), k.at(c, k.op("mul", t, 2)), two)

    a = np.array([0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE], np.uint8)
    b, c = np.zeros(16, np.float32), np.zeros(16, np.uint8)
    numbers = np.array(
        [0.25, 0.26, 0.75, 1.25, 1.3, 1.75, 2.5, 3.5, 4.9, 5.0, 5.1, 100.0, -0.2, -0.75, -6.0, -1e9] * 2, np.float32
    )
    parameters = {"a": gmem("Float4E2M1FN"), "b": gmem("Float32"), "c": gmem("Float4E2M1FN"), "d": gmem("Float32")}
    clean(write(parameters, body).run(1, 16, a, b, c, numbers, check=False))
    half = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    np.testing.assert_array_equal(b, np.array([*half, *(-h for h in half)], np.float32))
    patterns = [0, 1, 2, 2, 3, 4, 4, 6, 6, 6, 7, 7, 8, 10, 15, 15]
    np.testing.assert_array_equal(c, np.tile(np.array(patterns[::2]) | np.array(patterns[1::2]) << 4, 2))
