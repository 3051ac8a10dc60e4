"""Coalesce, flatten and filter: the laws on random layouts, CuTe's own answers, and known values."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

import strategies as gen
from golden import load
from golden.check import verify
from model import laws
from model import layouts as m
from model.checks import evaluate, hold
from strategies import as_cute, as_model
from tilewright import cute


@given(gen.layouts(), gen.marks)
def test_coalesce(a, dynamic):
    once = cute.coalesce(as_cute(a, dynamic))
    result = as_model(once)
    hold(laws.same_function(a, result))
    assert m.depth(result.shape) <= 1
    assert cute.coalesce(once) == once


@given(gen.layouts(), gen.marks)
def test_coalesce_by_mode(a, dynamic):
    assume(isinstance(a.shape, tuple))
    result = as_model(cute.coalesce(as_cute(a, dynamic), tuple(1 for _ in a.shape)))
    assert len(m.modes(result)) == len(m.modes(a))
    for mode, coalesced in zip(m.modes(a), m.modes(result), strict=True):
        hold(laws.same_function(mode, coalesced))


@given(gen.layouts(), gen.marks)
def test_flatten_and_unflatten(a, dynamic):
    layout = as_cute(a, dynamic)
    flat = cute.flatten(layout)
    assert m.pairs(as_model(flat)) == m.pairs(a)
    assert m.depth(as_model(flat).shape) <= 1
    if isinstance(a.shape, tuple):
        assert cute.unflatten(flat, as_cute(a.shape)) == layout


@given(gen.layouts())
def test_filter(a):
    kept, result = as_model(cute.filter_zeros(as_cute(a))), as_model(cute.filter(as_cute(a)))
    hold(laws.same_image(a, kept))
    hold(laws.same_image(a, result))
    assert m.congruent(kept.shape, a.shape)
    assert all(d != 0 or s == 1 for s, d in m.pairs(result))


@pytest.mark.parametrize("op", load("simplify"))
def test_golden_coalesce(op):
    verify("simplify", op)


VALUES = [
    ("coalesce(L('(2,(1,6)):(1,(6,2))'))", "12:1"),
    ("coalesce(L('((2,(3,4)),(3,2),1):((4,(8,24)),(2,6),12)'))", "(24,6):(4,2)"),
    ("coalesce(L('(2,(1,6)):(1,(6,2))'), target_profile=(1, 1))", "(2,6):(1,2)"),
    ("coalesce(L('(2,1):(3,1)'))", "2:3"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_value_of_coalesce(expression, expected):
    assert str(evaluate(expression)) == expected


DYNAMIC = [
    ("coalesce(make_layout((Int32(2), Int32(1)), stride=(Int32(3), Int32(1))))", "(?,?):(?,?)"),
    ("coalesce(make_layout((Int32(4),), stride=(Int32(3),)))", "?:?"),
    (
        "coalesce(make_layout((4, 5, Int32(7), 3, 2), stride=(1, 4, Int32(2), 1, 3)))",
        "(20,?,6):(1,?,1)",
    ),
]


@pytest.mark.parametrize(("expression", "expected"), DYNAMIC)
def test_text_of_dynamic_coalesce(expression, expected):
    assert str(evaluate(expression)) == expected
