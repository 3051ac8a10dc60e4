"""Element types: their facts, exact conversion, arithmetic, and the dynamic integers of the algebra."""

from __future__ import annotations

import bisect
import copy
import functools
import math
import pickle
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright import numeric
from tilewright.numeric import Float, Integer, Numeric
from tilewright.numeric.dlpack import from_dlpack_code

TYPES = [t for t in vars(numeric).values() if isinstance(t, type) and issubclass(t, Numeric) and hasattr(t, "bits")]
INTEGERS = [t for t in TYPES if issubclass(t, Integer) and t is not tw.Boolean]
FLOATS = [t for t in TYPES if issubclass(t, Float)]
SMALL_FLOATS = [t for t in FLOATS if t.width <= 16]

# name in CuTe's text, bits of a value, bits in memory, largest value, smallest positive value
FACTS = {
    "Boolean": ("i8", 1, 8, 1, 1),
    "Int4": ("i4", 4, 4, 7, 1),
    "Int8": ("i8", 8, 8, 127, 1),
    "Int16": ("i16", 16, 16, 2**15 - 1, 1),
    "Int32": ("i32", 32, 32, 2**31 - 1, 1),
    "Int64": ("i64", 64, 64, 2**63 - 1, 1),
    "Int128": ("i128", 128, 128, 2**127 - 1, 1),
    "Uint8": ("i8", 8, 8, 255, 1),
    "Uint16": ("i16", 16, 16, 2**16 - 1, 1),
    "Uint32": ("i32", 32, 32, 2**32 - 1, 1),
    "Uint64": ("i64", 64, 64, 2**64 - 1, 1),
    "Uint128": ("i128", 128, 128, 2**128 - 1, 1),
    "Float64": ("f64", 64, 64, 1.7976931348623157e308, 5e-324),
    "Float32": ("f32", 32, 32, 2.0**128 - 2.0**104, 2.0**-149),
    "TFloat32": ("tf32", 32, 32, 2.0**128 - 2.0**117, 2.0**-136),
    "Float16": ("f16", 16, 16, 65504.0, 2.0**-24),
    "BFloat16": ("bf16", 16, 16, 2.0**128 - 2.0**120, 2.0**-133),
    "Float8E5M2": ("f8E5M2", 8, 8, 57344.0, 2.0**-16),
    "Float8E4M3": ("f8E4M3", 8, 8, 240.0, 2.0**-9),
    "Float8E4M3FN": ("f8E4M3FN", 8, 8, 448.0, 2.0**-9),
    "Float8E4M3B11FNUZ": ("f8E4M3B11FNUZ", 8, 8, 30.0, 2.0**-13),
    "Float8E8M0FNU": ("f8E8M0FNU", 8, 8, 2.0**127, 2.0**-127),
    "Float6E3M2FN": ("f6E3M2FN", 6, 6, 28.0, 2.0**-4),
    "Float6E2M3FN": ("f6E2M3FN", 6, 6, 7.5, 2.0**-3),
    "Float4E2M1FN": ("f4E2M1FN", 4, 4, 6.0, 2.0**-1),
}


def test_every_type_has_its_facts():
    assert {t.__name__ for t in TYPES} == set(FACTS)
    for t in TYPES:
        name, width, bits, largest, smallest = FACTS[t.__name__]
        assert (t.name, t.width, t.bits, t.max) == (name, width, bits, largest)
        assert t(largest)._value == largest
        assert t(smallest)._value == smallest
        assert getattr(tw, t.__name__) is t


def test_zero_and_infinity_stand_where_the_type_has_them():
    assert [t for t in TYPES if not hasattr(t, "zero")] == [tw.Float8E8M0FNU]
    assert all(t.zero == 0 for t in TYPES if hasattr(t, "zero"))
    with_infinity = [t for t in TYPES if hasattr(t, "inf")]
    assert {t.__name__ for t in with_infinity} == {
        *("Float64", "Float32", "TFloat32", "Float16", "BFloat16", "Float8E5M2", "Float8E4M3")
    }
    assert all(t(math.inf)._value == t.inf == math.inf for t in with_infinity)


def test_kinds():
    assert [t.is_integer for t in (tw.Int8, tw.Boolean, tw.Float16)] == [True, True, False]
    assert [t.is_float for t in (tw.Int8, tw.Boolean, tw.Float16)] == [False, False, True]
    assert tw.Float16.is_same_kind(tw.Float8E5M2)
    assert not tw.Float16.is_same_kind(tw.Uint8)
    assert (tw.Int8(3).dtype, tw.Int8(3).value) == (tw.Int8, 3)


def test_text():
    assert str(tw.Float16) == repr(tw.Float16) == "Float16"
    assert str(type(tw.Int32(3))) == "Int32"
    assert (str(tw.Float32(1.5)), repr(tw.Float32(1.5)), f"{tw.Int8(3):>3}") == ("1.5", "Float32(1.5)", "  3")


def test_dlpack_codes_lead_back_to_the_type():
    for t in TYPES:
        if t is not tw.TFloat32:
            assert from_dlpack_code(*t.dlpack) is t
    assert from_dlpack_code(5, 64) is None


# ---- floating-point formats ------------------------------------------------------------------------------------------


@functools.cache
def numbers(t: type[Float]) -> dict[int, float]:
    """Every finite number of a type by its pattern."""
    values = {bits: t._decode(bits) for bits in range(1 << t.width)}
    return {bits: value for bits, value in values.items() if math.isfinite(value)}


@functools.cache
def in_order(t: type[Float]) -> list[float]:
    return sorted(set(numbers(t).values()))


@pytest.mark.parametrize("t", SMALL_FLOATS, ids=str)
def test_every_pattern_is_decoded_and_encoded(t):
    finite = numbers(t)
    for bits, value in finite.items():
        assert t._encode(value) == bits
    special = [t._decode(bits) for bits in range(1 << t.width) if bits not in finite]
    nans = {"ieee": 2 ** (t.mantissa + 1) - 2, "fn": 2, "fnuz": 1, "finite": 0}[t.kind]
    infinities = 2 if t.kind == "ieee" else 0
    if t is tw.Float8E8M0FNU:
        nans = 1
    assert sum(map(math.isnan, special)) == nans
    assert sum(map(math.isinf, special)) == infinities
    assert len(finite) == (1 << t.width) - nans - infinities
    if nans:
        assert math.isnan(t(math.nan)._value)


@pytest.mark.parametrize("t", SMALL_FLOATS, ids=str)
@given(st.floats(allow_nan=False, allow_infinity=False, width=64), st.floats(-2, 2))
def test_rounding_is_to_the_nearest_number(t, wide, narrow):
    values = in_order(t)
    for x in (wide, narrow):
        if t is tw.Float8E8M0FNU and x <= 0:
            continue
        rounded = t(x)._value
        place = bisect.bisect_left(values, x)
        neighbours = values[max(place - 1, 0) : place + 1]
        distances = [abs(Fraction(value) - Fraction(x)) for value in neighbours]
        if math.isinf(rounded):  # the next number, if there were one, would be as near as the largest
            assert distances[0] >= (Fraction(values[-1]) - Fraction(values[-2])) / 2
            continue
        assert abs(Fraction(rounded) - Fraction(x)) == min(distances)
        if len(distances) == 2 and distances[0] == distances[1]:  # a tie
            assert rounded == neighbours[1] if t is tw.Float8E8M0FNU else t._encode(rounded) % 2 == 0


@given(st.floats(width=64) | st.integers(-(2**70), 2**70))
def test_wide_types_round_like_the_machine(x):
    def same(a, b):
        return a == b or (a != a and b != b)

    assert same(tw.Float64(x)._value, float(x))
    if abs(x) < 2.0**127:
        # The machine rounds an integer twice on its way to float32; from the exact fraction it is rounded once here.
        exact = x if isinstance(x, float) else None
        if exact is not None:
            assert same(tw.Float32(x)._value, struct.unpack("f", struct.pack("f", x))[0])
        else:
            near = np.float32(x)
            candidates = [near, np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))]
            best = min(abs(int(c) - x) for c in candidates)
            assert abs(int(tw.Float32(x)._value) - x) == best


def test_rounding_an_integer_once():
    x = 2**60 + 2**36 + 1  # just above the middle of two float32; through float64 it would be the middle
    assert float(np.float32(float(x))) == 2.0**60
    assert tw.Float32(x)._value == 2.0**60 + 2.0**37


def test_overflow_saturates_where_there_is_no_infinity():
    assert tw.Float8E4M3FN(1e9)._value == 448
    assert tw.Float4E2M1FN(-1e9)._value == -6
    assert tw.Float8E5M2(1e9)._value == math.inf
    assert tw.Float16(10**400)._value == math.inf


def test_signed_zero():
    assert math.copysign(1, tw.Float16(-0.0)._value) == -1
    assert tw.Float8E4M3B11FNUZ._encode(-0.0) == 0


def test_float_errors():
    with pytest.raises(ValueError, match=r"^Float4E2M1FN has no NaN$"):
        tw.Float4E2M1FN(math.nan)
    with pytest.raises(ValueError, match=r"^Float8E8M0FNU\(-1\.0\): the type holds powers of two only$"):
        tw.Float8E8M0FNU(-1)
    with pytest.raises(TypeError, match=r"^Float32: expected a number, but got 'x' of type str$"):
        tw.Float32("x")


# ---- conversion ------------------------------------------------------------------------------------------------------


@given(st.integers(-(2**130), 2**130))
def test_integer_conversion_keeps_the_low_bits(x):
    for t in INTEGERS:
        if not (-t.max - 1 if t.signed else 0) <= x <= t.max:
            continue
        for to in INTEGERS:
            assert (int(t(x).to(to)) - x) % 2**to.width == 0


def test_to():
    assert repr(tw.Float32(-3.7).to(tw.Int8)) == "Int8(-3)"
    assert repr(tw.Int8(-1).to(tw.Uint16)) == "Uint16(65535)"
    assert repr(tw.Int8(2).to(tw.Boolean)) == "Boolean(True)"
    assert repr(tw.Float32(0.5).to(tw.Boolean)) == "Boolean(True)"
    assert repr(tw.Float32(1 / 3).to(tw.BFloat16)) == "BFloat16(0.333984375)"
    assert (tw.Float32(3.7).to(int), tw.Int32(3).to(float), tw.Int32(3).to(bool)) == (3, 3.0, True)
    assert str((tw.Int32(8) * 4).to(tw.Int64)) == "?{i64 div=4}"
    assert [int(tw.Float32(x).to(tw.Int8)) for x in (300, -300, 127.9, -129, math.inf, math.nan)] == [
        *(127, -128, 127, -128, 127, 0)
    ]
    assert int(tw.Float32(-1).to(tw.Uint8)) == 0
    with pytest.raises(TypeError, match=r"^Float32\.to: expected a numeric type such as Float32, but got 'f32'$"):
        tw.Float32(1).to("f32")


@given(st.integers(-(2**70), 2**70))
def test_construction_keeps_the_low_bits(x):
    for t in INTEGERS:
        assert (int(t(x)) - x) % 2**t.width == 0
        assert (-t.max - 1 if t.signed else 0) <= int(t(x)) <= t.max


def test_construction():
    assert int(tw.Int32(2**31)) == -(2**31)
    assert int(tw.Uint8(-1)) == 255
    assert (int(tw.Int8(2.9)), int(tw.Int8(-2.9)), int(tw.Int8(300.5))) == (2, -2, 44)
    assert (bool(tw.Boolean(math.nan)), bool(tw.Boolean(math.inf)), bool(tw.Boolean(0.0))) == (True, True, False)
    assert int(tw.Int32(np.int64(7))) == int(tw.Int32(np.float32(7.5))) == 7
    with pytest.raises(ValueError, match="NaN"):
        tw.Int32(math.nan)
    with pytest.raises(OverflowError, match="infinity"):
        tw.Int32(math.inf)
    with pytest.raises(TypeError, match=r"^Int32: expected a number, but got \(1, 2\) of type tuple$"):
        tw.Int32((1, 2))


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def test_result_types():
    """The floating-point operand's type; else the wider one; of equal width the unsigned one, or Float32."""
    expected = {
        (tw.Int8, tw.Int32): tw.Int32,
        (tw.Uint8, tw.Int32): tw.Int32,
        (tw.Uint32, tw.Int32): tw.Uint32,
        (tw.Uint64, tw.Int32): tw.Uint64,
        (tw.Int64, tw.Uint32): tw.Int64,
        (tw.Int32, tw.Float32): tw.Float32,
        (tw.Int64, tw.Float16): tw.Float16,
        (tw.Float16, tw.Float32): tw.Float32,
        (tw.BFloat16, tw.Float16): tw.Float32,
        (tw.BFloat16, tw.Int8): tw.BFloat16,
        (tw.Float32, tw.Float64): tw.Float64,
        (tw.Float8E4M3FN, tw.Float8E5M2): tw.Float32,
        (tw.Boolean, tw.Int8): tw.Int8,
        (tw.Boolean, tw.Float32): tw.Float32,
    }
    for (a, b), t in expected.items():
        assert type(a(1) + b(1)) is type(b(1) + a(1)) is t, (a, b)
    assert type(tw.Float16(1) + 1) is tw.Float16
    assert type(tw.Int8(1) + 0.5) is type(0.5 * tw.Int8(1)) is tw.Float32
    assert type(tw.Int8(7) / tw.Int8(2)) is tw.Float32
    assert type(tw.Int64(7) / 2) is tw.Float64
    assert (tw.Int32(10) / tw.Int32(3))._value == np.float32(10) / np.float32(3)
    assert type(tw.Boolean(1) & tw.Boolean(0)) is tw.Boolean
    assert repr(tw.Boolean(1) + tw.Boolean(1)) == "Int32(?)"
    assert int(tw.Boolean(1) + tw.Boolean(1)) == 2
    assert int(-tw.Boolean(1)) == -1


def test_a_python_number_that_the_type_lacks_is_not_wrapped():
    assert type(tw.Int32(1) + 2**40) is tw.Int64
    assert int(tw.Int32(1) + 2**40) == 2**40 + 1
    assert tw.Int32(-1) != 2**40 - 1
    assert (tw.Int32(-1) & 0xFFFFFFFF) == 0xFFFFFFFF  # a pattern of its width
    assert type(tw.Int32(1) << 31) is tw.Int32


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}


@given(st.integers(-(2**33), 2**33), st.integers(-(2**33), 2**33), st.sampled_from(sorted(OPERATORS)))
def test_integer_arithmetic_wraps_around(x, y, symbol):
    function = OPERATORS[symbol]
    if symbol in ("//", "%") and y == 0:
        return
    expected = function(x, y)
    for t in (tw.Int8, tw.Int32, tw.Int64, tw.Uint16):
        low = -t.max - 1 if t.signed else 0
        if not (low <= x <= t.max and low <= y <= t.max):
            continue
        for a, b in ((t(x), t(y)), (t(x), y), (x, t(y))):
            result = function(a, b)
            assert type(result) is t
            assert (int(result) - expected) % 2**t.width == 0


@given(st.floats(width=32), st.floats(width=32))
def test_float_arithmetic_rounds_once(x, y):
    with np.errstate(all="ignore"):
        a, b = np.float32(x), np.float32(y)
        for function in (lambda p, q: p + q, lambda p, q: p - q, lambda p, q: p * q, lambda p, q: p / q):
            expected, found = float(function(a, b)), function(tw.Float32(x), tw.Float32(y))._value
            assert expected == found or (math.isnan(expected) and math.isnan(found))
            assert math.copysign(1, expected) == math.copysign(1, found) or math.isnan(expected)


def test_unary_operators():
    assert (-tw.Int8(5), int(+tw.Int8(5)), int(abs(tw.Int8(-5))), int(~tw.Int8(5)), int(~tw.Uint8(5))) == (
        -5,
        5,
        5,
        -6,
        250,
    )
    assert int(-tw.Uint8(1)) == 255
    assert math.copysign(1, (-tw.Float32(0.0))._value) == -1
    assert (~tw.Boolean(0))._value is True
    assert (bool(tw.Float32(0)), bool(tw.Int32(2)), int(tw.Float32(2.5)), float(tw.Int32(2))) == (False, True, 2, 2.0)
    assert int(-tw.Int8(-128)) == -128
    assert str(-(tw.Int32(2) * 8)) == "?{div=8}"
    assert [int(tw.Int32(-3) << 32), int(tw.Int32(-3) >> 40), int(tw.Uint8(200) >> 9)] == [0, -1, 0]


def test_arithmetic_errors():
    with pytest.raises(TypeError, match=r"^& needs two integers, but got 1 & Float32\(2\.0\)$"):
        1 & tw.Float32(2)
    with pytest.raises(ZeroDivisionError):
        tw.Int32(1) // 0
    with pytest.raises(TypeError):
        tw.Int32(1) + "1"


def test_comparisons_are_pythons():
    assert (tw.Int32(3) < 4) is True
    assert (tw.Int32(3) == tw.Float32(3)) is True
    assert (tw.Int64(3) != 3) is False
    assert (tw.Float16(3.5) <= 3) is False
    assert (tw.Int32(3) == "3") is False
    assert hash(tw.Int32(3)) == hash(3)
    assert {tw.Int64(3): "found"}[3] == "found"


@pytest.mark.parametrize("t", TYPES, ids=str)
def test_copies(t):
    value = t(1)
    for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert type(twin) is t
        assert twin == value


# ---- dynamic integers ------------------------------------------------------------------------------------------------


def test_dynamic_text():
    x, y = tw.Int32(8), tw.Int64(8)
    assert (str(x), repr(x), str(y), repr(y)) == ("?", "Int32(?)", "?{i64}", "Int64(?{i64})")
    assert (str(x * 3), str(y * 8), str(x + y)) == ("?{div=3}", "?{i64 div=8}", "?{i64}")
    assert list(range(x)) == list(range(8))
    assert pickle.loads(pickle.dumps(x * 3))._div == 3


def test_make_takes_value_and_divisor_as_they_are():
    x = tw.Int64._make(96, 32)
    assert (x._value, x._div, x.width, str(x)) == (96, 32, 64, "?{i64 div=32}")
    assert tw.Int32(x)._div == 32


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 12)), min_size=2, max_size=2),
    st.sampled_from([*sorted(OPERATORS), "<<", ">>"]),
    st.sampled_from(["dynamic dynamic", "dynamic static", "static dynamic"]),
)
def test_the_known_divisor_divides(pairs, symbol, kinds):
    (x, p), (y, q) = ((value * div, div) for value, div in pairs)
    if (symbol in ("//", "%") and y == 0) or (symbol in ("<<", ">>") and not 0 <= y < 20):
        return
    function = {**OPERATORS, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b}[symbol]
    left, right = kinds.split()
    a = tw.Int64._make(x, p) if left == "dynamic" else x
    b = tw.Int64._make(y, q) if right == "dynamic" else y
    result = function(a, b)
    assert result._value == function(x, y)
    assert result._value % result._div == 0
    if symbol == "*":
        assert result._div == (p if left == "dynamic" else abs(x)) * (q if right == "dynamic" else abs(y)) or 0 in (
            x,
            y,
        )


def test_divisors_follow_arithmetic():
    x = tw.Int32(5) * 12
    assert [y._div for y in (x + 8, x - 18, x * x, x // 4, x // 5, x % 8, x << 1, x + tw.Int32(1), -x, x + 0)] == [
        *(4, 6, 144, 3, 1, 4, 24, 1, 12, 12)
    ]
    assert (tw.min(x, 8)._div, tw.max(x, tw.Int32(3) * 6)._div) == (4, 6)


@pytest.mark.parametrize("family", [Numeric, Integer, Float])
def test_families_of_types_have_no_numbers(family):
    with pytest.raises(TypeError, match=f"{family} is a family of types and has no numbers; use one such as Int32"):
        family(3)
