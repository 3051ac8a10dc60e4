"""TensorSSA: the same at the prompt, beside NumPy, and in a kernel, whose program is run."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from tilewright import Boolean, Float16, Float32, Int8, Int32, LayoutError, Uint16, cute
from traced_kernels import Argument, run, trace

SHAPES = [(2, 3), (4,), 6, (2, (2, 3)), (1, 3), (2, 1), (3, 4, 2)]


def vector(values, shape, dtype=Float32):
    tensor = cute.make_rmem_tensor(shape, dtype)
    tensor.store(list(values))
    return tensor.load()


def both(function, *vectors):
    """The result at the prompt, after checking that a kernel gives the same."""
    expected = function(*vectors)
    arguments = [Argument(v.dtype, list(v)) for v in vectors]

    def call(*pointers):
        loaded = [cute.make_tensor(p, v.shape).load() for p, v in zip(pointers, vectors, strict=True)]
        result = function(*loaded)
        if isinstance(result, cute.TensorSSA):
            assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        return result

    found, _ = run(call, *arguments)
    if isinstance(expected, cute.TensorSSA):
        found = found if isinstance(found, list) else [found]
        np.testing.assert_array_equal([x._value for x in found], np.asarray(expected))
    elif isinstance(found, tw.numeric.Numeric):
        assert found._value == expected or (math.isnan(found._value) and math.isnan(expected))
    return expected


def test_text():
    v = vector(range(12), (3, 4))
    assert str(v) == "tensor_value<vector<12xf32> o (3, 4)>"
    assert repr(vector([1, 2], (2,), Int8)) == "TensorSSA([1, 2], (2,), Int8)"
    texts = []
    trace(lambda p: texts.append(str(cute.make_tensor(p, (3, 4)).load())), Argument(Float32, [0] * 12))
    assert texts == [str(v)]


@pytest.mark.parametrize("symbol", ["add", "sub", "mul", "truediv", "floordiv", "mod"])
def test_arithmetic_is_numpys(symbol):
    function = getattr(operator, symbol)
    a, b = np.array([1, -2, 3.5, 7, 8, -9], np.float32), np.array([2, 4, -0.5, 3, 5, 2], np.float32)
    found = both(function, vector(a, (2, 3)), vector(b, (2, 3)))
    np.testing.assert_array_equal(np.asarray(found), function(a, b))
    assert np.asarray(found).dtype == np.float32
    found = both(lambda v: function(2, v), vector(b, (2, 3)))
    np.testing.assert_array_equal(np.asarray(found), function(np.float32(2), b))


@pytest.mark.parametrize("symbol", ["and_", "or_", "xor", "lshift", "rshift"])
def test_bits(symbol):
    function = getattr(operator, symbol)
    a, b = np.array([1, 2, 3, 40], np.int32), np.array([2, 2, 4, 3], np.int32)
    found = both(function, vector(a, 4, Int32), vector(b, 4, Int32))
    np.testing.assert_array_equal(np.asarray(found), function(a, b))


@pytest.mark.parametrize("symbol", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_give_booleans(symbol):
    function = getattr(operator, symbol)
    a, b = np.array([1, 2, 3], np.float32), np.array([2, 1, 3], np.float32)
    found = both(function, vector(a, 3), vector(b, 3))
    assert found.dtype is Boolean
    np.testing.assert_array_equal(np.asarray(found), function(a, b))
    out = cute.make_rmem_tensor(3, Boolean)
    out.store(found)
    assert list(out) == function(a, b).tolist()


def test_unary_operators():
    v = vector([1, -2, 0], 3)
    assert list(both(operator.neg, v)) == [-1, 2, 0]
    assert list(both(abs, v)) == [1, 2, 0]
    assert list(both(operator.invert, vector([1, 0], 2, Int8))) == [-2, -1]
    assert list(both(operator.invert, vector([1, 0], 2, Boolean))) == [False, True]
    with pytest.raises(TypeError, match=r"^~ needs a vector of integers, but got Float32$"):
        operator.invert(v)


@given(st.sampled_from(SHAPES), st.sampled_from(SHAPES))
def test_broadcasting_is_numpys(a, b):
    """Modes are matched from the last one on; a mode of the left that is a tuple goes with one like it, or with 1."""
    x, y = vector(range(int(cute.size(a))), a), vector(range(int(cute.size(b))), b)
    if cute.depth(a) > 1 or cute.depth(b) > 1:
        if a == b:
            assert both(operator.add, x, y).shape == a
        return
    left = np.asarray(x).reshape(a, order="F")
    right = np.asarray(y).reshape(b, order="F")
    try:
        expected = left + right
    except ValueError:
        with pytest.raises(ValueError, match="do not go together"):
            x + y
        return
    found = both(operator.add, x, y)
    assert found.shape == (expected.shape if isinstance(found.shape, tuple) else expected.shape[0])
    np.testing.assert_array_equal(np.asarray(found), expected.ravel("F"))


def test_broadcast_to_adds_modes_behind():
    v = vector([1, 2], (2,))
    assert list(both(lambda v: v.broadcast_to((2, 3)), v)) == [1, 2, 1, 2, 1, 2]
    assert list(both(lambda v: v.broadcast_to((2, (2, 2))), vector([1, 2], (2, 1)))) == [1, 2] * 4
    with pytest.raises(ValueError, match=r"a vector of shape \(2\) does not broadcast to \(3,2\)"):
        v.broadcast_to((3, 2))


def test_slices_of_the_notebook():
    array = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
    v = cute.from_dlpack(array).load()
    part = both(lambda v: v[None, 1, None], v)
    assert part.shape == (4, 3)
    np.testing.assert_array_equal(np.asarray(part).reshape(4, 3, order="F"), array[:, 1, :])
    assert both(lambda v: v[10], v) == array[2, 0, 1] == v[2, 0, 1]  # colexicographic
    with pytest.raises(IndexError, match=r"shape \(4,2,3\) has no such element"):
        v[24]


def test_a_dynamic_index():
    argument = Argument(Float32, range(6))
    found, _ = run(lambda p, i: cute.make_tensor(p, (2, 3)).load()[1, i], argument, Int32(2))
    assert found._value == 5
    found, _ = run(lambda p, i: cute.make_tensor(p, (2, 3)).load()[None, i], argument, Int32(1))
    assert [x._value for x in found] == [2, 3]


def test_reductions_of_the_notebook():
    v = cute.from_dlpack(np.array([[1, 2, 3], [4, 5, 6]], np.float32)).load()
    add = cute.ReductionOp.ADD
    assert both(lambda v: v.reduce(add, 0.0, reduction_profile=0), v) == 21
    rows = both(lambda v: v.reduce(add, 0.0, reduction_profile=(None, 1)), v)
    assert (rows.shape, list(rows)) == ((2,), [6, 15])
    columns = both(lambda v: v.reduce(add, 1.0, reduction_profile=(1, None)), v)
    assert (columns.shape, list(columns)) == ((3,), [6, 8, 10])
    assert both(lambda v: v.reduce(cute.ReductionOp.MUL, 1.0, 0), v) == 720
    assert both(lambda v: v.reduce(cute.ReductionOp.MAX, -math.inf, 0), v) == 6
    assert both(lambda v: v.reduce(cute.ReductionOp.MIN, math.inf, 0), v) == 1


def test_a_sum_is_formed_in_colexicographic_order():
    values = [1e8, 1, -1e8, 1, 1e-3, 7]
    expected = np.float32(0)
    for x in np.array(values, np.float32):
        expected = np.float32(expected + x)
    assert both(lambda v: v.reduce(cute.ReductionOp.ADD, 0.0, 0), vector(values, (2, 3))) == expected


def test_reductions_of_nested_shapes():
    v = vector(range(12), (2, (2, 3)))
    found = both(lambda v: v.reduce(cute.ReductionOp.ADD, 0, (None, (1, None))), v)
    assert found.shape == (2, (3,))
    assert list(found) == [0 + 2, 1 + 3, 4 + 6, 5 + 7, 8 + 10, 9 + 11]
    with pytest.raises(ValueError, match="needs a mode for each"):
        v.reduce(cute.ReductionOp.ADD, 0, (None, 1, 1))
    with pytest.raises(TypeError, match=r"expected op to be a cute\.ReductionOp"):
        v.reduce("add", 0, 0)


def test_conversions():
    v = vector([1.75, -2.5, 300, math.nan], 4)
    assert list(both(lambda v: v.to(Int8), v)) == [1, -2, 127, 0]
    assert list(both(lambda v: v.to(Float16), vector([1 / 3], 1))) == [np.float16(1 / 3)]
    assert list(both(lambda v: v.to(Boolean), vector([0.5, 0], 2))) == [True, False]
    assert [hex(x) for x in vector([1.0], 1).bitcast(Uint16)] == ["0x0", "0x3f80"]
    _, program = trace(lambda p: cute.make_tensor(p, 4).load().bitcast(Uint16), Argument(Float32, [0] * 4))
    assert "u16x8 = bitcast" in str(program)
    assert vector(range(6), (2, 3)).reshape((3, 2)).shape == (3, 2)
    with pytest.raises(ValueError, match=r"the shape has 4 elements, not 6"):
        vector(range(6), (2, 3)).reshape((2, 2))


def test_choices_and_constants():
    v = vector([1, 5, 3], 3)
    assert list(both(lambda v: cute.where(v > 2, v, 0.0), v)) == [0, 5, 3]
    assert list(both(lambda v: cute.where(v > 2, v, cute.full_like(v, -1)), v)) == [-1, 5, 3]
    assert list(both(cute.zeros_like, v)) == [0, 0, 0]
    assert list(both(cute.ones_like, v)) == [1, 1, 1]
    assert both(lambda v: cute.any_(v > 4), v)
    assert not both(lambda v: cute.all_(v > 4), v)
    found, _ = run(lambda n: cute.where(n > 2, n, 7), Int32(1))
    assert int(found) == 7


@pytest.mark.parametrize(
    "name", ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "floor", "ceil", "rcp"]
)
def test_functions(name):
    function = getattr(cute.math, name)
    values = np.array([0.25, 1, 2.5, 9], np.float32)
    reference = {"rsqrt": lambda x: x**-0.5, "rcp": lambda x: 1 / x, "erf": np.vectorize(math.erf)}
    expected = reference.get(name, getattr(np, name, None))(values.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(both(function, vector(values, 4))), expected)
    assert [function(float(x))._value for x in values] == expected.tolist()
    assert [run(function, Float32(float(x)))[0]._value for x in values] == expected.tolist()


def test_fastmath_is_said_to_the_program():
    _, program = trace(lambda x: cute.math.exp2(x, fastmath=True), Float32(1))
    assert "exp2 %0 {1}" in str(program)


def test_stores_want_the_same_type_and_size():
    out = cute.make_rmem_tensor((2, 3), Float16)
    with pytest.raises(TypeError, match=r"convert them first: v\.to\(Float16\)"):
        out.store(vector(range(6), (2, 3)))
    with pytest.raises(ValueError, match="expected 6 values, but got 4"):
        out.store(vector(range(4), 4).to(Float16))
    out[None, 1] = vector([1, 2], 2).to(Float16)
    assert list(out) == [0, 0, 1, 2, 0, 0]


def test_a_vector_is_no_condition_and_has_a_static_shape():
    with pytest.raises(TypeError, match=r"a vector is no condition; use cute\.any_"):
        bool(vector([1], 1) > 0)

    def function(p, n):
        tensor = cute.make_tensor(p, (n, 4))
        with pytest.raises(LayoutError, match="a vector has a static shape"):
            tensor.load()
        with pytest.raises(TypeError, match="known only at run time; store them in a tensor"):
            np.asarray(tensor[0, None].load())

    trace(function, Argument(Float32, [0] * 16), Int32(4))
