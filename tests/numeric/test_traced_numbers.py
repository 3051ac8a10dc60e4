"""Numbers that are known at run time only: the same results and types as at the prompt, once they are known."""

from __future__ import annotations

import math
import operator

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tilewright as tw
from tilewright.numeric.traced import is_traced
from traced_kernels import run, trace

INTEGERS = [tw.Int8, tw.Int16, tw.Int32, tw.Int64, tw.Uint8, tw.Uint16, tw.Uint32, tw.Uint64]
FLOATS = [tw.Float16, tw.BFloat16, tw.Float32, tw.Float64, tw.Float8E4M3FN, tw.Float8E5M2]
TYPES = [*INTEGERS, *FLOATS, tw.Boolean]
ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


@st.composite
def numbers(draw, types=TYPES):
    dtype = draw(st.sampled_from(types))
    if dtype in FLOATS:
        return dtype(draw(st.integers(-64, 64)) / 8)
    return dtype(draw(st.integers(-(2**65), 2**65) | st.integers(-9, 9)))


@st.composite
def operands(draw, types=TYPES):
    """Two numbers, or a number and a Python number, in either order."""
    a = draw(numbers(types))
    b = draw(numbers(types) | st.integers(-9, 9) | (st.sampled_from([0.5, -2.0]) if types is TYPES else st.nothing()))
    return (a, b) if draw(st.booleans()) else (b, a)


def same(found, expected):
    assert type(found) is type(expected)
    assert found._value == expected._value or (math.isnan(found._value) and math.isnan(expected._value))


def check(function, *values):
    expected = function(*values)
    expected = tw.Boolean(expected) if isinstance(expected, bool) else expected
    traced = [v for v in values if isinstance(v, tw.numeric.Numeric)]

    def call(*symbols):
        rest = iter(symbols)
        return function(*(next(rest) if isinstance(v, tw.numeric.Numeric) else v for v in values))

    symbolic, _ = trace(call, *traced)
    assert is_traced(symbolic)
    assert type(symbolic) is type(expected)
    same(run(call, *traced)[0], expected)


@given(operands(), st.sampled_from(ARITHMETIC))
def test_arithmetic(pair, function):
    assume(function not in (operator.floordiv, operator.mod) or pair[1] != 0)
    check(function, *pair)


@given(operands([*INTEGERS, tw.Boolean]), st.sampled_from(BITS))
def test_bits(pair, function):
    shifts = function in (operator.lshift, operator.rshift)
    assume(not shifts or 0 <= int(pair[1]) < 100)
    check(function, *pair)


@given(operands(), st.sampled_from(COMPARISONS))
def test_comparisons(pair, function):
    check(function, *pair)


@given(numbers(), st.sampled_from(TYPES))
def test_conversions(x, dtype):
    assume(type(x) is not dtype)
    check(lambda y: y.to(dtype), x)


@given(numbers(INTEGERS), st.integers(0, 9))
def test_powers_of_integers(x, exponent):
    assume(exponent)
    check(lambda y: y**exponent, x)


@given(numbers())
def test_unary_operators(x):
    check(operator.neg, x)
    if type(x) not in FLOATS:
        check(operator.invert, x)
    if type(x) in FLOATS or (type(x).signed and x._value > -type(x).max):
        check(abs, x)


def test_division():
    check(operator.truediv, tw.Int32(10), tw.Int32(3))
    check(operator.truediv, tw.Float16(1), 3)
    check(lambda x: x**2, tw.Float32(1.1))


def test_what_divides_a_number_is_known():
    def function(n):
        assert [str(x) for x in (n, n * 2, n + 8, n // 4, n % 8, -n, n << 2, n.to(tw.Int64), n + 1)] == [
            *("?{div=4}", "?{div=8}", "?{div=4}", "?", "?{div=4}", "?{div=4}", "?{div=16}", "?{i64 div=4}", "?")
        ]

    trace(function, tw.Int32(4) * 4)
    # What a narrower type cuts off is a multiple of a power of two only.
    trace(lambda n: [str(n.to(tw.Int32))] == ["?{div=4}"] or pytest.fail("12"), tw.Int64(1) * 12)
    trace(lambda n: [str(n.to(tw.Int64))] == ["?{i64 div=12}"] or pytest.fail("12"), tw.Int32(1) * 12)


def test_python_asks_in_vain():
    def function(n):
        for ask, name in ((bool, "bool"), (int, "int"), (float, "float"), (hash, "hash"), (range, "index")):
            with pytest.raises(TypeError, match=rf"^{name}\(Int32\): the value is known only at run time; "):
                ask(n)
        assert (str(n), repr(n), f"{n}") == ("?", "Int32(?)", "?")

    trace(function, tw.Int32(3))


def test_a_python_number_that_does_not_fit_widens():
    def function(n):
        assert type(n + 2**40) is tw.Int64
        assert type(n & 0xFFFFFFFF) is tw.Int32

    trace(function, tw.Int32(3))
    check(lambda n: n < 2**40, tw.Int32(7))


def test_a_value_of_a_kernel_is_not_used_outside():
    symbol, _ = trace(lambda n: n + 1, tw.Int32(3))
    with pytest.raises(RuntimeError, match="outside of the function that was traced; store it in a tensor"):
        symbol + 1
