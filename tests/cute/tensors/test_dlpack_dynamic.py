"""mark_layout_dynamic and mark_compact_shape_dynamic: the examples of the documentation, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from dlpack_capsules import Producer
from tilewright import cute
from tilewright.cute.runtime import from_dlpack

# ---- mark_layout_dynamic ---------------------------------------------------------------------------------------------


def strided(shape, strides):
    """A tensor of bytes with a given layout."""
    reach = sum((s - 1) * d for s, d in zip(shape, strides, strict=True))
    return from_dlpack(Producer(bytes(reach + 1), shape=shape, strides=strides))


A = ((8, 4, 16, 2), (2, 16, 64, 1))
B = ((1, 4, 1, 32, 1), (1, 1, 1, 4, 1))


@pytest.mark.parametrize(
    ("layout", "leading_dim", "expected"),
    [
        (A, None, "(?,?,?,?):(?{i64},?{i64},?{i64},1)"),
        (B, 0, "(?,?,?,?,?):(1,?{i64},?{i64},?{i64},?{i64})"),
        (B, 2, "(?,?,?,?,?):(?{i64},?{i64},1,?{i64},?{i64})"),
        (B, None, "(?,?,?,?,?):(?{i64},1,?{i64},?{i64},?{i64})"),
        (((2, 2), (8, 2)), None, "(?,?):(?{i64},?{i64})"),
        (((3, 4, 2, 5), (5, 0, 0, 1)), None, "(?,?,?,?):(?{i64},0,0,1)"),
        (((2, 2, 3, 4), (2, 1, 4, 12)), 1, "(?,?,?,?):(?{i64},1,?{i64},?{i64})"),
        (((2, 2, 3, 4), (12, 6, 2, 1)), -1, "(?,?,?,?):(?{i64},?{i64},?{i64},1)"),
    ],
)
def test_mark_layout_dynamic(layout, leading_dim, expected):
    tensor = strided(*layout)
    assert tensor.mark_layout_dynamic(leading_dim) is tensor
    assert str(tensor.layout) == expected
    assert (tuple(map(int, tensor.shape)), tuple(map(int, tensor.stride))) == layout


def test_mark_layout_dynamic_with_32_bit_strides():
    tensor = from_dlpack(np.zeros((4, 8), np.int8), use_32bit_stride=True).mark_layout_dynamic()
    assert str(tensor.layout) == "(?,?):(?,1)"
    assert str(tensor).endswith("@generic o (?, ?):(?, 1)>")
    huge = np.lib.stride_tricks.as_strided(np.zeros(1, np.int8), (2, 2**31), (0, 0))
    huge = from_dlpack(huge, use_32bit_stride=True)
    huge.layout = cute.make_layout((2, 2**31), stride=(2**31, 1))
    with pytest.raises(
        tw.LayoutError, match=r"reaches offsets from 0 to 4294967295, which 32-bit strides do not hold; use"
    ):
        huge.mark_layout_dynamic()


@pytest.mark.parametrize(
    ("layout", "leading_dim", "message"),
    [
        (A, 1, r"mark_layout_dynamic: Expected strides\[leading_dim\] == 1, but got 16 \(leading_dim 1 of Tensor<"),
        (B, 3, r"mark_layout_dynamic: Expected strides\[leading_dim\] == 1, but got 4 \(leading_dim 3 of Tensor<"),
        (A, 4, r"mark_layout_dynamic: leading_dim 4 is out of range for Tensor<.*>, which has 4 dimensions"),
        (
            ((1, 1, 1), (1, 1, 1)),
            None,
            r"the dimensions 0, 1, 2 of Tensor<.*> all have stride 1, and none has an extent above 1; pass",
        ),
        (
            ((2, 3), (1, 1)),
            None,
            r"the dimensions 0, 1 of Tensor<.*> all have stride 1, and more than one has an extent above 1",
        ),
    ],
)
def test_mark_layout_dynamic_errors(layout, leading_dim, message):
    with pytest.raises(tw.LayoutError, match=message):
        strided(*layout).mark_layout_dynamic(leading_dim)


# ---- mark_compact_shape_dynamic --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "marks", "expected"),
    [
        (A, [{"mode": 0, "divisibility": 2}], "(?{div=2},4,16,2):(2,?{i64 div=4},?{i64 div=16},1)"),
        (A, [{"mode": 1, "divisibility": 2}], "(8,?{div=2},16,2):(2,16,?{i64 div=32},1)"),
        (
            A,
            [{"mode": 1, "divisibility": 2}, {"mode": 3, "divisibility": 2}],
            "(8,?{div=2},16,?{div=2}):(?{i64 div=2},?{i64 div=16},?{i64 div=32},1)",
        ),
        (B, [{"mode": 2, "stride_order": (3, 0, 2, 4, 1)}], "(1,4,?,32,1):(0,1,4,?{i64 div=4},0)"),
        (B, [{"mode": 2, "stride_order": (2, 3, 4, 0, 1)}], "(1,4,?,32,1):(0,1,128,4,0)"),
    ],
)
def test_mark_compact_shape_dynamic(layout, marks, expected):
    tensor = strided(*layout)
    for mark in marks:
        assert tensor.mark_compact_shape_dynamic(**mark) is tensor
    assert str(tensor.layout) == expected
    offsets = strided(*layout).layout.offsets()
    assert tensor.layout.offsets().tolist() == offsets.tolist()


def test_mark_compact_shape_dynamic_with_32_bit_strides():
    tensor = from_dlpack(np.zeros((4, 8), np.int8), use_32bit_stride=True).mark_compact_shape_dynamic(1)
    assert str(tensor.layout) == "(4,?):(?,1)"


ORDER = (3, 0, 2, 4, 1)


@pytest.mark.parametrize(
    ("layout", "mark", "message"),
    [
        (
            A,
            {"mode": 3, "stride_order": (0, 1, 2, 3)},
            r"is not compact in the stride order \(0, 1, 2, 3\) \(outermost first\): mode 2 has stride 64",
        ),
        (
            B,
            {"mode": 0, "stride_order": (2, 1, 3, 0, 4)},
            r"mode 3 has stride 4, but the dimensions inside it have 1 el",
        ),
        (((2, 3), (5, 1)), {"mode": 0}, r"is not compact in the stride order \(0, 1\) .*: mode 0 has stride 5, but"),
        (B, {"mode": 0}, r"several modes of Tensor<.*> have the same stride, so their order cannot be deduced; pass"),
        (B, {"mode": 30, "stride_order": ORDER}, r"mode 30 is out of range \[0, 5\) of Tensor<"),
        (
            B,
            {"mode": 3, "stride_order": (2, 1, 2, 3, 4)},
            r"stride_order \(2, 1, 2, 3, 4\) must name each of the 5 modes",
        ),
        (
            B,
            {"mode": 3, "stride_order": range(6)},
            r"stride_order \(0, 1, 2, 3, 4, 5\) must name each of the 5 modes of",
        ),
        (B, {"mode": 0, "divisibility": 4}, r"the extent 1 of mode 0 of Tensor<.*> is not divisible by 4; pass a div"),
    ],
)
def test_mark_compact_shape_dynamic_errors(layout, mark, message):
    with pytest.raises(tw.LayoutError, match=r"^mark_compact_shape_dynamic: .*(" + message + ")"):
        strided(*layout).mark_compact_shape_dynamic(**mark)


def test_the_stride_order_of_an_earlier_mark_stays():
    tensor = strided(*B).mark_compact_shape_dynamic(2, stride_order=(3, 0, 2, 4, 1))
    with pytest.raises(
        tw.LayoutError, match=r"stride_order \(2, 3, 4, 0, 1\) differs from \(3, 0, 2, 4, 1\), the order in which"
    ):
        tensor.mark_compact_shape_dynamic(3, stride_order=(2, 3, 4, 0, 1))
    assert str(tensor.mark_compact_shape_dynamic(1).layout) == "(1,?,?,32,1):(0,1,?{i64},?{i64},0)"


def test_offsets_along_a_static_stride_have_32_bits():
    tensor = from_dlpack(np.broadcast_to(np.zeros(1, np.int8), (2**21 + 1, 1024)).copy())
    with pytest.raises(tw.LayoutError, match=r"mode 0 .* reaches offset 2147483648.*mark_layout_dynamic"):
        tensor.mark_compact_shape_dynamic(mode=0)
    assert str(tensor.mark_compact_shape_dynamic(mode=1).layout) == "(2097153,?):(?{i64},1)"
