"""Programs of every operation on every type, and what they give: exact integers, NumPy's floats, rounded fractions.

`kernels` are callables over arrays, of the CPU or of a GPU.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

import tilewright as tw
from lang_programs import Maker, layout, number, pointer

INTEGERS = {
    "Int8": np.int8, "Int16": np.int16, "Int32": np.int32, "Int64": np.int64,
    "Uint8": np.uint8, "Uint16": np.uint16, "Uint32": np.uint32, "Uint64": np.uint64,
}  # fmt: skip
FLOATS = {"Float32": np.float32, "Float64": np.float64}
NARROW = {"Float16": np.uint16, "BFloat16": np.uint16, "Float8E4M3FN": np.uint8, "Float8E5M2": np.uint8}
STORED = {**INTEGERS, **FLOATS, **NARROW, "TFloat32": np.float32, "Float8E8M0FNU": np.uint8, "Boolean": np.uint8}
TOGETHER = ["Float8E4M3FN", "Float8E5M2"]  # that an instruction makes two of
BINARY = ["add", "sub", "mul", "div", "rem", "floor_div", "floor_mod", "min", "max", "and", "or", "xor", "shl", "shr"]
BINARY += ["pow"]
UNARY = ["neg", "not", "abs", "popc"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]
FLOAT_BINARY = ["add", "sub", "mul", "div", "rem", "min", "max"]


def each_thread(make, out, results):
    """out[k * 65536 + thread] = result k."""
    t = make.thread()
    for k, result in enumerate(results):
        make.store(result, make.at(out, make.add(t, k * 1024)))


def one_scalar(make, scalar, binary, unary, compare):
    types = {"x": pointer(scalar, align=1), "y": pointer(scalar, align=1), "out": pointer(scalar, align=1),
             "flags": pointer("Boolean", align=1)}  # fmt: skip
    with make.kernel(f"numbers_{scalar}", **types) as (x, y, out, flags):
        t = make.thread()
        a, b = make.load(make.at(x, t)), make.load(make.at(y, t))
        results = [make.builder.op(code, [a, b]) for code in binary] + [make.builder.op(code, [a]) for code in unary]
        each_thread(make, out, results)
        each_thread(make, flags, [make.builder.op(code, [a, b]) for code in compare])


def casts(make, source, targets):
    types = {"x": pointer(source, align=1)} | {f"to_{t}": pointer(t, align=1) for t in targets}
    with make.kernel(f"casts_{source}", **types) as (x, *outs):
        t = make.thread()
        value = make.load(make.at(x, t))
        for target, out in zip(targets, outs, strict=True):
            make.store(make.cast(value, type=number(target)), make.at(out, t))


def casts_together(make, target, count):
    """Vectors of so many floats, which are cast by pairs and pairs of pairs."""
    with make.kernel(f"casts_{target}_{count}", x=pointer("Float32", align=4), out=pointer(target, align=1)) as (
        x,
        out,
    ):
        begin, vector = make.mul(make.thread(), count), layout(count, 1)
        value = make.load(make.at(x, begin), vector)
        make.store(make.cast(value, type=number(target, count)), make.at(out, begin), vector)


def fused(make, scalar):
    p = pointer(scalar, align=1)
    with make.kernel(f"fused_{scalar}", x=p, y=p, z=p, out=p) as (x, y, z, out):
        t = make.thread()
        make.store(make.fma(*(make.load(make.at(one, t)) for one in (x, y, z))), make.at(out, t))


def program():
    with Maker() as make:
        for scalar in INTEGERS:
            one_scalar(make, scalar, BINARY, UNARY, COMPARE)
        for scalar in [*FLOATS, *NARROW]:
            one_scalar(make, scalar, [*FLOAT_BINARY, "floor_div", "floor_mod"], ["neg", "abs"], COMPARE)
            fused(make, scalar)
        for source in STORED:
            casts(make, source, [t for t in STORED if t != source])
        for target in TOGETHER:
            for count in (2, 4, 5, 6):
                casts_together(make, target, count)
        return make.finish()


def edges(dtype):
    facts = np.iinfo(dtype)
    values = {0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 100, facts.max, facts.max - 1, facts.min, facts.min + 1}
    values |= {-v for v in values if -v >= facts.min}
    return np.array(sorted(v for v in values if facts.min <= v <= facts.max), dtype)


def pairs(values):
    both = np.array(list(itertools.product(range(len(values)), repeat=2)))
    return values[both[:, 0]].copy(), values[both[:, 1]].copy()


def wrapped(value, dtype):
    bits = np.iinfo(dtype).bits
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.iinfo(dtype).min < 0 and value >> (bits - 1) else value


def integer_result(code, x, y, dtype):
    """What the table of operations says, in Python's integers."""
    bits, is_signed = np.iinfo(dtype).bits, np.iinfo(dtype).min < 0
    if code == "div":
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
    if code == "rem":
        return abs(x) % abs(y) * (-1 if x < 0 else 1)
    if code in ("shl", "shr") and not 0 <= y < bits:
        return -1 if code == "shr" and is_signed and x < 0 else 0
    if code == "pow":
        if y < 0:
            return 1 if x == 1 else (-1 if y % 2 else 1) if x == -1 else 0
        return pow(x, y, 1 << bits)
    plain = {
        "add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "floor_div": lambda: x // y,
        "floor_mod": lambda: x % y, "min": lambda: min(x, y), "max": lambda: max(x, y), "and": lambda: x & y,
        "or": lambda: x | y, "xor": lambda: x ^ y, "shl": lambda: x << y, "shr": lambda: x >> y,
    }  # fmt: skip
    return plain[code]()


def run(kernels, name, arrays, rows, flag_rows=0, dtype=None):
    """Run a kernel over all of x and y, 1024 threads at a time; the rows of its results."""
    outs, flags = [], []
    for begin in range(0, len(arrays[0]), 512):
        part = [np.ascontiguousarray(x[begin : begin + 512]) for x in arrays]
        out = np.zeros((rows, 1024), dtype)
        flag = np.zeros((max(flag_rows, 1), 1024), np.uint8)
        assert kernels(name, *part, out, *([flag] if flag_rows else []), block=(len(part[0]),)) == 0
        outs.append(out[:, : len(part[0])])
        flags.append(flag[:, : len(part[0])])
    return np.concatenate(outs, 1), np.concatenate(flags, 1)


def check_integers(kernels, scalar):
    dtype = INTEGERS[scalar]
    x, y = pairs(edges(dtype))
    a, b = x[y != 0], y[y != 0]  # a division by zero is a defect, which the CPU's execution reports
    out, flags = run(kernels, f"numbers_{scalar}", [a, b], len(BINARY) + len(UNARY), len(COMPARE), dtype)
    for k, code in enumerate(BINARY):
        expected = [wrapped(integer_result(code, int(p), int(q), dtype), dtype) for p, q in zip(a, b, strict=True)]
        wrong = np.flatnonzero(out[k] != np.array(expected, dtype))
        assert not len(wrong), (code, a[wrong[0]], b[wrong[0]], out[k][wrong[0]], expected[wrong[0]])
    bits = np.iinfo(dtype).bits
    unary = {"neg": lambda v: -v, "not": lambda v: ~v, "abs": abs, "popc": lambda v: (v % (1 << bits)).bit_count()}
    for k, code in enumerate(UNARY, len(BINARY)):
        assert out[k].tolist() == [wrapped(unary[code](int(p)), dtype) for p in a], code
    for k, code in enumerate(COMPARE):
        assert (flags[k] == getattr(np, COMPARISONS[code])(a, b)).all(), code


COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}


def numbers_of(scalar):
    """Numbers of a narrow format, as patterns and as doubles: all of 8 bits, and many of 16."""
    size = np.iinfo(NARROW[scalar]).bits
    rng = np.random.default_rng(3)
    patterns = np.arange(256) if size == 8 else rng.integers(0, 1 << 16, 200)
    return patterns.astype(NARROW[scalar]), as_doubles(scalar, patterns)


def as_doubles(scalar, patterns):
    kind = getattr(tw, scalar)
    known = {int(p): kind._decode(int(p)) for p in np.unique(patterns)}
    return np.array([known[int(p)] for p in patterns])


def patterns_of(scalar, values):
    kind = getattr(tw, scalar)
    return np.array([kind._encode(float(v)) for v in values], NARROW[scalar])


def same_floats(scalar, out, expected):
    """Equal patterns; NaN is NaN."""
    got = as_doubles(scalar, out)
    return (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)


def python_floor(x, y):
    try:
        return x // y, x % y
    except ZeroDivisionError:
        return math.nan, math.nan


def check_floats(kernels, scalar):
    dtype = FLOATS[scalar]
    rng = np.random.default_rng(5)
    tiny = np.finfo(dtype)
    values = np.array(
        [0, -0.0, 1, -1, 0.5, 3.7, -2.25, 1e30, -1e-30, tiny.tiny, tiny.max, np.inf, -np.inf, np.nan], dtype
    )
    values = np.concatenate([values, rng.normal(size=20).astype(dtype)])
    x, y = pairs(values)
    codes = [*FLOAT_BINARY, "floor_div", "floor_mod", "neg", "abs"]
    out, flags = run(kernels, f"numbers_{scalar}", [x, y], len(codes), len(COMPARE), dtype)
    with np.errstate(all="ignore"):
        expected = {
            "add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "rem": np.fmod(x, y), "neg": -x, "abs": abs(x),
            "min": np.fmin(x, y), "max": np.fmax(x, y),
        }  # fmt: skip
    for k, code in enumerate(codes):
        if code in expected:
            assert np.array_equal(out[k], expected[code], equal_nan=True), code
    finite = np.isfinite(x) & np.isfinite(y) & (y != 0)
    if scalar == "Float64":
        both = np.array([python_floor(float(p), float(q)) for p, q in zip(x[finite], y[finite], strict=True)])
        assert np.array_equal(out[codes.index("floor_div")][finite], both[:, 0])
        assert np.array_equal(out[codes.index("floor_mod")][finite], both[:, 1])
    for k, code in enumerate(COMPARE):
        assert (flags[k] == getattr(np, COMPARISONS[code])(x, y)).all(), code


def check_narrow_floats(kernels, scalar):
    """Each operation is one of float32, rounded to the format; a product is added with one rounding."""
    patterns, _ = numbers_of(scalar)
    rng = np.random.default_rng(7)
    a, b = (rng.choice(patterns, 3000) for _ in range(2))
    x, y = (as_doubles(scalar, p).astype(np.float32) for p in (a, b))
    codes = [*FLOAT_BINARY, "floor_div", "floor_mod", "neg", "abs"]
    out, flags = run(kernels, f"numbers_{scalar}", [a, b], len(codes), len(COMPARE), NARROW[scalar])
    with np.errstate(all="ignore"):
        results = {
            "add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "rem": np.fmod(x, y), "neg": -x, "abs": abs(x),
            "min": np.fmin(x, y), "max": np.fmax(x, y),
        }  # fmt: skip
    limit = getattr(tw, scalar).max
    for k, code in enumerate(codes):
        if code not in results:
            continue
        exact = results[code].astype(np.float64)
        if scalar.startswith("Float8"):  # they have no infinity to go to
            exact = np.where(np.isnan(exact), exact, np.clip(exact, -limit, limit))
        expected = as_doubles(scalar, patterns_of(scalar, exact))
        close = same_floats(scalar, out[k], expected)
        if code in ("min", "max"):
            close |= (x == 0) & (y == 0)
        wrong = np.flatnonzero(~close)
        assert not len(wrong), (code, x[wrong[0]], y[wrong[0]], out[k][wrong[0]], expected[wrong[0]])
    for k, code in enumerate(COMPARE):
        assert (flags[k] == getattr(np, COMPARISONS[code])(x, y)).all(), code


def check_narrow_fma(kernels, scalar):
    patterns, _ = numbers_of(scalar)
    rng = np.random.default_rng(11)
    a, b, c = (rng.choice(patterns, 1000) for _ in range(3))
    out, _ = run(kernels, f"fused_{scalar}", [a, b, c], 1, 0, NARROW[scalar])
    x, y, z = (as_doubles(scalar, p) for p in (a, b, c))
    finite = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)
    limit = getattr(tw, scalar).max
    got = as_doubles(scalar, out[0])
    for i in np.flatnonzero(finite):
        exact = Fraction(x[i]) * Fraction(y[i]) + Fraction(z[i])
        if abs(exact) > limit:
            continue
        near = nearest(scalar, exact)
        assert got[i] == near, (x[i], y[i], z[i], got[i], near)


def nearest(scalar, exact):
    """The number of the format nearest to a fraction; ties to the even pattern."""
    kind = getattr(tw, scalar)
    guess = kind._encode(float(exact))
    around = [p for p in (guess - 1, guess, guess + 1) if 0 <= p < 1 << kind.bits and math.isfinite(kind._decode(p))]
    return kind._decode(min(around, key=lambda p: (abs(Fraction(kind._decode(p)) - exact), p & 1)))


def cast_samples(source):
    if source in INTEGERS:
        rng = np.random.default_rng(1)
        facts = np.iinfo(INTEGERS[source])
        return np.concatenate([edges(INTEGERS[source]), rng.integers(facts.min, facts.max, 200, INTEGERS[source])])
    if source in NARROW or source == "Float8E8M0FNU":
        return (
            np.arange(256).astype(STORED[source]) if np.dtype(STORED[source]).itemsize == 1 else numbers_of(source)[0]
        )
    if source == "Boolean":
        return np.array([0, 1, 2, 255], np.uint8)
    dtype = STORED[source]
    rng = np.random.default_rng(2)
    with np.errstate(all="ignore"):
        scaled = (rng.normal(size=200) * 2.0 ** rng.integers(-30, 70, 200)).astype(dtype)
        edges_of = [0, -0.0, 0.5, -0.5, 2.5, 127.5, -128.9, 65504, 65520, 448, 464, 57344, 1e9, -1e9, 3e9, 1e19, -1e19]
        edges_of += [1.7e38, np.inf, -np.inf, np.nan, 1 + 2**-11, 1 + 3 * 2**-11, 6.1e-5, 5.9e-8, 3e-8]
        special = np.array(edges_of, dtype)
    return np.concatenate([special, scaled])


def number_of(source, sample):
    if source in INTEGERS:
        return int(sample)
    if source == "Boolean":
        return int(sample != 0)
    if source in NARROW or source == "Float8E8M0FNU":
        return float(getattr(tw, source)._decode(int(sample)))
    return float(sample)


def cast_to(target, value):
    """The number that a cast gives: floats saturate to integers, and are rounded to floats once."""
    if target == "Boolean":
        return int(value != 0)
    if target in INTEGERS:
        facts = np.iinfo(INTEGERS[target])
        if isinstance(value, int):
            return wrapped(value, INTEGERS[target])
        if math.isnan(value):
            return 0
        return (
            int(min(max(value, facts.min), facts.max))
            if math.isinf(value)
            else min(max(int(value), facts.min), facts.max)
        )
    if target == "Float64":
        return float(value)
    if target == "Float32":
        if isinstance(value, int) and value != 0:
            return nearest_float32(value)
        with np.errstate(all="ignore"):
            return float(np.float32(value))
    if isinstance(value, float) and not math.isfinite(value):
        if math.isinf(value) and target.startswith("Float8"):
            return math.copysign(getattr(tw, target).max, value)
        return value
    kind = getattr(tw, target)
    exact = Fraction(value)
    if target.startswith("Float8") and abs(exact) > Fraction(kind.max):
        return math.copysign(kind.max, value)
    near = (
        kind._decode(kind._encode(float(value))) if abs(value) < 2**53 else kind._decode(kind._encode(odd_float(value)))
    )
    return near


def nearest_float32(value):
    low = np.float32(value)
    around = [np.nextafter(low, np.float32(-np.inf)), low, np.nextafter(low, np.float32(np.inf))]
    return float(min(around, key=lambda v: (abs(int(v) - value), int(v.view(np.uint32)) & 1)))


def odd_float(value):
    """A double from which rounding on is rounding once."""
    if isinstance(value, float):
        return value
    shift = max(abs(value).bit_length() - 50, 0)
    top = abs(value) >> shift
    return math.copysign(math.ldexp(top | (top << shift != abs(value)), shift), value)


def check_casts(kernels, source):
    samples = cast_samples(source)
    targets = [t for t in STORED if t != source]
    outs = [np.zeros(len(samples), STORED[t]) for t in targets]
    assert kernels(f"casts_{source}", samples, *outs, block=(len(samples),)) == 0
    for target, out in zip(targets, outs, strict=True):
        if target in ("TFloat32", "Float8E8M0FNU") or source == "TFloat32":
            continue  # check_special_formats
        for sample, got in zip(samples, out, strict=True):
            value = number_of(source, sample)
            expected = cast_to(target, value)
            found = number_of(target, got)
            is_same = found == expected or (found != found and expected != expected)
            assert is_same, (source, target, value, found, expected)


def check_casts_together(kernels, target):
    """Vectors are cast as their elements are."""
    samples = cast_samples("Float32")
    for count in (2, 4, 5, 6):
        padded = np.resize(samples, -(-len(samples) // count) * count)
        out = np.zeros(len(padded), np.uint8)
        assert kernels(f"casts_{target}_{count}", padded, out, block=(len(padded) // count,)) == 0
        for sample, got in zip(padded, out, strict=True):
            expected, found = cast_to(target, float(sample)), number_of(target, got)
            assert found == expected or (found != found and expected != expected), (target, count, sample, found)


def check_special_formats(kernels):
    """TFloat32 rounds to 10 bits of mantissa, ties away from 0; Float8E8M0FNU is a power of two."""
    samples = np.array([1, 1 + 2**-11, 1 + 2**-10, -1 - 2**-11, 3.14159, 1e-3, 0.75, 300, 2**-130], np.float32)
    targets = [t for t in STORED if t != "Float32"]
    outs = {t: np.zeros(len(samples), STORED[t]) for t in targets}
    kernels("casts_Float32", samples, *outs.values(), block=(len(samples),))
    bits = samples.view(np.uint32)
    assert (outs["TFloat32"].view(np.uint32) == ((bits + 0x1000) & ~np.uint32(0x1FFF))).all()
    powers = [tw.Float8E8M0FNU._decode(int(p)) for p in outs["Float8E8M0FNU"]]
    assert powers[:3] == [1.0, 1.0, 1.0]
    assert powers[4:9] == [4.0, 2.0**-10, 1.0, 256.0, 2.0**-127]
