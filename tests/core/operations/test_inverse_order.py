"""Inverses where CuTe's order of the modes decides: answers printed by its headers (4.7, g++)."""

from __future__ import annotations

import pytest

from model import laws
from model import layouts as m
from strategies import as_model
from tilewright import LayoutError, cute

L = cute.parse

# Equal strides: the answers differ with the one that is taken, and all of them satisfy the law.
RIGHT = [
    ("(3,((2,4),2)):(1,((1,0),10))", "2:3"),
    ("(2,3,6,3):(2,1,3,1)", "18:2"),
    ("(6,3,2,4):(4,2,1,4)", "(2,3):(18,6)"),
    ("(4,4,2,6,2):(2,6,2,4,1)", "(2,12):(192,16)"),
    ("(2,6,2,3,4):(1,2,4,1,0)", "3:24"),
    ("(6,2,3):(1,8,1)", "6:1"),
    ("(6,4,2,6,3):(1,6,1,1,2)", "24:1"),
    ("(2,6,3,3,2):(12,1,1,12,1)", "6:2"),
    ("(6,3,2):(1,2,1)", "6:1"),
    ("(4,6,3,3,6):(2,2,1,3,3)", "9:24"),
    ("(4,2,6,2,4):(4,1,1,8,1)", "2:4"),
    ("(4,4,6,4):(4,3,3,1)", "(4,4):(96,1)"),
    ("(2,6,4,6,4):(1,2,4,1,2)", "12:1"),
    ("(6,2,2,2,3):(0,2,3,1,3)", "(2,2):(24,6)"),
    ("(3,3,3,6,3):(12,1,1,2,4)", "3:3"),
    ("(6,3,2,6):(0,8,8,1)", "6:36"),
    ("(4,3,4,2,3):(2,0,1,2,1)", "4:12"),
    ("(4,6,6,3):(2,6,1,1)", "(6,6):(24,4)"),
    ("(3,3,6,4,3):(1,1,1,12,4)", "3:1"),
    ("(3,2,6):(0,1,1)", "2:3"),
]

# Negative strides take no part.
RIGHT_OF_NEGATIVE = [
    ("4:-1", "1:0"),
    ("(4,2):(-1,4)", "1:0"),
    ("(8388608,2):(1,-8388608)", "8388608:1"),
    ("(3,2,4):(0,1,-4)", "2:3"),
    ("(4,4):(-4,1)", "4:4"),
    ("(6,4,2):(1,-12,1)", "6:1"),
    ("(4,2,2):(-3,8,1)", "2:8"),
    ("6:-12", "1:0"),
    ("6:-3", "1:0"),
    ("(3,2,3):(3,-12,1)", "(3,3):(6,1)"),
    ("(3,2,4):(6,1,-3)", "2:3"),
    ("(2,3,4):(1,-6,8)", "2:1"),
    ("(3,4):(-12,1)", "4:3"),
    ("6:-2", "1:0"),
    ("4:-6", "1:0"),
    ("(3,3):(-2,1)", "3:3"),
]

LEFT_UNCHECKED = [
    ("4:-1", "(-1,4):(0,1)"),
    ("(4,2):(-1,4)", "(-1,-4,2):(0,1,4)"),
    ("2:3", "(3,2):(0,1)"),
    ("(4,2):(6,6)", "(6,2):(0,4)"),
    ("(3,3):(-4,4)", "(-4,-1,3):(0,1,3)"),
    ("2:4", "(4,2):(0,1)"),
    ("6:-12", "(-12,6):(0,1)"),
    ("4:0", "4:0"),
    ("6:-3", "(-3,6):(0,1)"),
    ("(6,4):(-4,-4)", "(-4,4):(0,6)"),
    ("2:0", "2:0"),
    ("(6,2):(-2,4)", "(-2,-2,2):(0,1,6)"),
    ("2:1", "2:1"),
    ("2:6", "(6,2):(0,1)"),
    ("6:-2", "(-2,6):(0,1)"),
    ("6:2", "(2,6):(0,1)"),
    ("4:-6", "(-6,4):(0,1)"),
    ("(6,3,2,3,2):(2,2,12,6,0)", "(2,3,2,2):(0,1,36,18)"),
    ("(3,3,3):(0,0,1)", "3:9"),
    ("(3,3,3,6):(2,1,6,12)", "(2,3,2,6):(3,1,9,27)"),
    ("(4,2,4,4):(8,8,0,8)", "(8,4):(0,32)"),
    ("(6,3,2,4):(4,2,1,4)", "(2,2,4):(18,6,36)"),
    ("(3,2,3,6,4):(0,4,0,1,8)", "(4,2,4):(18,3,108)"),
    ("(4,4,3,2):(6,1,2,12)", "(2,3,2,2):(4,16,1,48)"),
    ("(2,6,2,3,4):(1,2,4,1,0)", "(4,2):(1,12)"),
    ("(6,2,3):(1,8,1)", "(8,2):(12,6)"),
    ("(4,6,6,3,2):(4,4,2,4,2)", "(2,2,6):(0,432,4)"),
    ("(2,4,2,4):(6,6,6,2)", "(2,3,2):(0,16,1)"),
    ("(6,4,2,6,3):(1,6,1,1,2)", "(2,3):(48,288)"),
    ("(2,6,3,3,2):(12,1,1,12,1)", "(12,2):(108,1)"),
    ("(6,3,2):(1,2,1)", "(2,3):(18,6)"),
    ("(4,2,6,2,4):(4,1,1,8,1)", "(4,2,2):(96,1,48)"),
    ("(4,3,6,2):(0,2,2,4)", "(2,2,2):(0,12,72)"),
    ("(3,4,4):(1,4,2)", "(2,2,4):(1,12,3)"),
    ("(6,2,3,2,6):(8,1,0,0,2)", "(2,4,6):(6,72,1)"),
    ("(2,6,4,6,4):(1,2,4,1,2)", "(2,2,4):(48,288,12)"),
]


@pytest.mark.parametrize(("layout", "answer"), RIGHT + RIGHT_OF_NEGATIVE)
def test_right_inverse(layout, answer):
    assert str(cute.right_inverse(L(layout))) == answer
    with cute.unchecked():
        assert str(cute.right_inverse(L(layout))) == answer
    if cute.size(L(layout)) < 1 << 20:
        assert laws.right_inverse(as_model(L(layout)), as_model(L(answer))) is None


@pytest.mark.parametrize(("layout", "answer"), LEFT_UNCHECKED)
def test_left_inverse(layout, answer):
    """Unchecked it is CuTe's; else the same, one with positive extents, or an error with its first counter-example."""
    with cute.unchecked():
        assert str(cute.left_inverse(L(layout))) == answer
    a = as_model(L(layout))
    try:
        result = cute.left_inverse(L(layout))
    except LayoutError as error:
        i, got, wanted = error.counterexample
        assert got != i == wanted
        assert not m.injective(a) or any(d < 0 for d in m.leaves(a.stride))
    else:
        assert laws.left_inverse(a, as_model(result)) is None
        if min(m.leaves(a.stride)) >= 0:
            assert str(result) == answer


@pytest.mark.parametrize(("layout", "answer"), [("4:-1", "4:-1"), ("(4,2):(-1,-8)", "(8,2):(-1,-4)")])
def test_left_inverse_where_all_strides_are_negative(layout, answer):
    assert str(cute.left_inverse(L(layout))) == answer


def test_left_inverse_of_both_signs_is_refused_at_any_size():
    with pytest.raises(LayoutError) as raised:
        cute.left_inverse(L("(8388608,2):(1,-8388608)"))
    assert tuple(raised.value.counterexample) == (8388609, -8388607, 8388609)


@pytest.mark.parametrize(
    ("layout", "answer"), [("8:-1", 1), ("8:-6", 1), ("(2,8):(1,-6)", 2), ("(4,4):(-4,1)", 4), ("(3,4):(-12,1)", 4)]
)
def test_alignment_under_negative_strides(layout, answer):
    assert cute.max_alignment(L(layout)) == answer
