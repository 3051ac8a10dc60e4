"""Complement: the laws on random layouts, CuTe's own answers, and known values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as gen
from golden import load
from golden.check import verify
from model import laws
from model import layouts as m
from model.checks import answer, evaluate, hold
from strategies import as_cute, as_model
from tilewright import LayoutError, cute


@given(gen.layouts(max_size=64), gen.shapes(max_size=256))
def test_complement(a, cotarget):
    result = answer(cute.complement, as_cute(a), as_cute(cotarget))
    if result is not None:
        hold(laws.complement(a, cotarget, as_model(result)))


@given(gen.injective_layouts(max_size=64), st.integers(1, 4))
def test_admissible_complement_covers(a, copies):
    """Each stride a multiple of the extent below it, the cotarget of the last: nothing is left over, nothing twice."""
    reached = max([s * d for s, d in m.pairs(a) if s > 1], default=1)
    result = as_model(cute.complement(as_cute(a), reached * copies))
    both = m.join([a, result])
    assert sorted(m.offsets(both)) == list(range(reached * copies))
    assert cute.is_admissible(as_cute(a), reached * copies)


@given(gen.layouts(max_size=64))
def test_complement_by_default(a):
    result = answer(cute.complement, as_cute(a))
    if result is not None:
        assert min(m.offsets(a)) >= 0
        hold(laws.complement(a, m.cosize(a), as_model(result)))


@pytest.mark.parametrize("op", load("complement"))
def test_golden_complement(op):
    verify("complement", op)


VALUES = [
    ("complement(L('4:2'), 24)", "(2,3):(1,8)"),
    ("complement(L('(2,2):(1,6)'), 24)", "(3,2):(2,12)"),
    ("complement(L('(2,2):(4,1)'), 24)", "(2,3):(2,8)"),
    ("complement(L('(4,6):(1,4)'), 24)", "1:0"),
    ("complement(L('4:1'), 4)", "1:0"),
    ("complement(L('4:1'), (6, 4))", "8:4"),
    ("complement(L('4:1'), 10)", "3:4"),
    ("complement(L('4:0'), 8)", "8:1"),
    ("complement(L('(2,2):(1,3)'), 12)", "2:6"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_value_of_complement(expression, expected):
    assert str(evaluate(expression)) == expected


DYNAMIC = [
    ("complement(make_layout(Int32(3), stride=2), 6)", "(2,?):(1,?{div=2})"),
    ("complement(L('3:2'), Int32(12))", "(2,?):(1,6)"),
]


@pytest.mark.parametrize(("expression", "expected"), DYNAMIC)
def test_text_of_dynamic_complement(expression, expected):
    assert str(evaluate(expression)) == expected


@pytest.mark.parametrize(
    "expression",
    [
        "complement(L('(2,2):(2,3)'), 16)",
    ],
)
def test_complement_refuses(expression):
    with pytest.raises(LayoutError):
        evaluate(expression)


@pytest.mark.parametrize("cotarget", [0, -4])
def test_nothing_is_admissible_for_a_cotarget_that_is_not_positive(cotarget):
    with pytest.raises(LayoutError):
        cute.complement(cute.parse("4:1"), cotarget)
    verdict = cute.is_admissible(cute.parse("4:1"), cotarget)
    assert not verdict
    assert verdict.reason == f"the cotarget {cotarget} is not positive"
