"""Inputs on which CuTe C++ is known to be wrong or surprising, and values printed by its headers."""

from __future__ import annotations

import pytest

import tilewright as tw
from golden.convert import to_json
from tilewright import cute

L = cute.parse


def dynamic(x):
    """All integers of a shape or stride as run-time integers."""
    return tuple(map(dynamic, x)) if isinstance(x, tuple) else tw.Int32(x)


def dynamic_layout(text, stride=True):
    layout = L(text)
    return cute.make_layout(dynamic(layout.shape), stride=dynamic(layout.stride) if stride else layout.stride)


def values(layout):
    return [layout(i) for i in range(int(cute.size(layout)))]


def composed(a, b):
    return [a(b(i)) for i in range(cute.size(b))]


def unchecked(function, *args):
    with cute.unchecked():
        return function(*args)


# (A, B, CuTe's A o B, how many of its values are wrong, the first counter-example)
WRONG_COMPOSITIONS = [
    ("(4,6,8):(2,3,5)", "6:3", "(2,3):(6,3)", 4, (2, 3, 7)),
    ("(6,2):(1,7)", "(3,2):(2,3)", "(3,2):(2,3)", 1, (5, 7, 8)),
    ("(3,4):(4,1)", "4:2", "(2,2):(8,1)", 2, (2, 1, 5)),
]


@pytest.mark.parametrize(("a", "b", "answer", "count", "example"), WRONG_COMPOSITIONS)
def test_wrong_composition(a, b, answer, count, example):
    a, b = L(a), L(b)
    with pytest.raises(tw.LayoutError) as raised:
        cute.composition(a, b)
    assert raised.value.operation == "composition"
    assert raised.value.operands == (str(a), str(b))
    assert tuple(raised.value.counterexample) == example
    got = unchecked(cute.composition, a, b)
    assert str(got) == answer
    assert sum(x != y for x, y in zip(values(got), composed(a, b), strict=True)) == count


@pytest.mark.parametrize(("a", "b", "answer", "count", "example"), WRONG_COMPOSITIONS[:1])
def test_wrong_composition_of_dynamic_layouts(a, b, answer, count, example):
    with pytest.raises(tw.LayoutError) as raised:
        cute.composition(dynamic_layout(a), L(b))
    assert tuple(raised.value.counterexample) == example
    got = unchecked(cute.composition, dynamic_layout(a), L(b))
    assert sum(x != y for x, y in zip(map(int, values(got)), composed(L(a), L(b)), strict=True)) == count


def test_error_text():
    with pytest.raises(tw.LayoutError) as raised:
        cute.composition(L("(4,6,8):(2,3,5)"), L("6:3"))
    assert str(raised.value) == (
        "composition((4,6,8):(2,3,5), 6:3): stride 3 of mode 0 does not divide shape 4 of the left layout "
        "(needs 3 | 4 or 4 | 3); at coordinate 2 CuTe gives 3, but A(B(2)) = A(6) = 7; no layout is A o B: "
        "A(B(1+2)) = 8, but A(B(1)) + A(B(2)) = 6 + 7; the largest tile that has an answer is 2:3"
    )


TENSOR = "(12,(4,8)):(59,(13,1))"


def test_division_that_loses_elements():
    for layout in (L(TENSOR), dynamic_layout(TENSOR)):
        with pytest.raises(tw.LayoutError):
            cute.zipped_divide(layout, 128)
    assert int(cute.size(unchecked(cute.zipped_divide, dynamic_layout(TENSOR), 128))) == 288


def test_division_that_overhangs():
    assert cute.size(cute.zipped_divide(L(TENSOR), (5, 8))) == 480


def test_division_of_a_dynamic_shape():
    layout = dynamic_layout("(6,4):(1,6)", stride=False)
    with pytest.raises(tw.LayoutError):
        cute.logical_divide(layout, L("4:1"))
    got = unchecked(cute.logical_divide, layout, L("4:1"))
    assert to_json(got) == {"shape": [[4, 1], [2, 4]], "stride": [[1, 6], [4, 6]]}
    static = cute.logical_divide(L("(6,4):(1,6)"), L("4:1"))
    assert str(static) == "(4,6):(1,4)"
    assert values(static) == values(L("(6,4):(1,6)"))


def test_64_bit_offsets():
    layout = L("(65536,65536):(65536,1)")
    assert layout((65535, 65535)) == layout(65535, 65535) == 4_294_967_295
    assert cute.size(layout) == cute.cosize(layout) == 2**32


PRINTED_BY_CUTE = [
    ("complement(L('(2,4):(1,2)'), 16)", "2:8"),
    ("complement(L('8:2'), 32)", "(2,2):(1,16)"),
    ("coalesce(L('(2,(1,6)):(1,(6,2))'))", "12:1"),
    ("right_inverse(L('(4,8):(8,1)'))", "(8,4):(4,1)"),
    ("nullspace(L('(4,2):(0,1)'))", "4:1"),
    (
        "zipped_divide(L('(9,(4,8)):(59,(13,1))'), (L('3:3'), L('(2,4):(1,8)')))",
        "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))",
    ),
    ("composition(L('(5,3):(7,1)'), L('2:3'))", "2:21"),
    ("left_inverse(L('(4,2):(1,16)'))", "(16,2):(1,4)"),
    ("left_inverse(L('4:2'))", "(2,4):(0,1)"),
    ("zipped_divide(L('10:1'), 4)", "(4,3):(1,4)"),
]


@pytest.mark.parametrize(("expression", "expected"), PRINTED_BY_CUTE)
def test_value(expression, expected):
    assert str(eval(expression, {**vars(cute), "L": L})) == expected
