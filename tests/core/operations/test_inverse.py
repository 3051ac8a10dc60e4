"""Left and right inverses, nullspaces, common layouts: the laws on random layouts, CuTe's own answers, known values."""

from __future__ import annotations

import pytest
from hypothesis import given

import strategies as gen
from golden import load
from golden.check import verify
from model import laws
from model import layouts as m
from model.checks import answer, evaluate, hold
from strategies import as_cute, as_model
from tilewright import cute


@given(gen.layouts(), gen.marks)
def test_right_inverse(a, dynamic):
    result = answer(cute.right_inverse, as_cute(a, dynamic))
    if result is not None:
        hold(laws.right_inverse(a, as_model(result)))


@given(gen.layouts())
def test_left_inverse(a):
    result = answer(cute.left_inverse, as_cute(a))
    if result is not None:
        hold(laws.left_inverse(a, as_model(result)))


@given(gen.injective_layouts(gaps=False))
def test_inverses_of_a_bijection_agree(a):
    left, right = as_model(cute.left_inverse(as_cute(a))), as_model(cute.right_inverse(as_cute(a)))
    assert m.size(right) == m.size(a)
    assert m.offsets(right) == [m.at(left, i) for i in range(m.size(a))]


@given(gen.injective_layouts())
def test_left_inverse_of_an_admissible_layout(a):
    hold(laws.left_inverse(a, as_model(cute.left_inverse(as_cute(a)))))


@given(gen.layouts())
def test_nullspace(a):
    hold(laws.nullspace(a, as_model(cute.nullspace(as_cute(a)))))


@given(gen.layouts(), gen.layouts())
def test_max_common_layout(a, b):
    result = answer(cute.max_common_layout, as_cute(a), as_cute(b))
    if result is not None:
        hold(laws.max_common(a, b, as_model(result)))


@pytest.mark.parametrize("op", load("inverse"))
def test_golden_inverse(op):
    verify("inverse", op)


VALUES = [
    ("right_inverse(L('(3,2):(4,1)'))", "2:3"),
    ("left_inverse(L('(3,2):(4,1)'))", "(4,3):(3,1)"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_value_of_inverse(expression, expected):
    assert str(evaluate(expression)) == expected


def test_the_alignment_of_the_least_stride():
    """The absolute value of -2^63 is no number of 64 bits: `make fuzz` ends where it is asked for."""
    assert cute.max_alignment("(4,2):(1,-9223372036854775808)") == 4
