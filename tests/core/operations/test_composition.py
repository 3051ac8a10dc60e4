"""Composition: the laws on random layouts, CuTe's own answers, and known values."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import strategies as gen
from golden import load
from golden.check import verify
from model import laws
from model import layouts as m
from model.checks import answer, evaluate, hold
from model.layouts import Layout
from strategies import ADMISSIBLE, as_cute, as_model
from tilewright import Int32, LayoutError, cute

L = cute.parse


@given(gen.compositions(), gen.marks, gen.marks)
def test_composition(case, dynamic_a, dynamic_b):
    kind, a, b = case
    static = not dynamic_a and not dynamic_b
    layouts = as_cute(a, dynamic_a), as_cute(b, dynamic_b)
    result = answer(cute.composition, *layouts, admissible=kind == ADMISSIBLE and static)
    if result is not None:
        hold(laws.composition(a, b, as_model(result)))


@given(gen.divisions())
def test_composition_by_mode(case):
    kind, a, tiler = case
    result = answer(cute.composition, as_cute(a), as_cute(tiler), admissible=kind == ADMISSIBLE)
    if result is not None:
        hold(laws.composition_tiler(a, tiler, as_model(result)))


@given(gen.layouts())
def test_identity_is_neutral(a):
    whole = Layout(m.size(a), 1)
    right = as_model(cute.composition(as_cute(a), as_cute(whole)))
    hold(laws.same_function(a, right))
    if all(v >= 0 for v in m.offsets(a)):
        left = as_model(cute.composition(cute.make_layout(max(m.offsets(a)) + 1), as_cute(a)))
        hold(laws.same_function(a, left))


@given(gen.compositions(), gen.compositions())
def test_composition_distributes(one, two):
    """A o (B1, B2) = (A o B1, A o B2) where all three exist."""
    a, b1, b2 = one[1], one[2], two[2]
    layout, both = as_cute(a), as_cute(m.join([b1, b2]))
    whole, parts = (
        answer(cute.composition, layout, both),
        [answer(cute.composition, layout, as_cute(b)) for b in (b1, b2)],
    )
    if whole is not None and None not in parts:
        assert whole == cute.make_layout(parts)


@given(gen.compositions(), st.data())
def test_composition_associates(case, data):
    """(A o B) o C = A o (B o C) where all four exist and C stays inside B."""
    _, a, b = case
    c = data.draw(gen.dividing(b) | gen.layouts(max_size=32, negative=False))
    assume(all(0 <= v < m.size(b) for v in m.offsets(c)))
    x, y, z = as_cute(a), as_cute(b), as_cute(c)
    ab, bc = answer(cute.composition, x, y), answer(cute.composition, y, z)
    if ab is None or bc is None:
        return
    left, right = answer(cute.composition, ab, z), answer(cute.composition, x, bc)
    if left is not None and right is not None:
        hold(laws.same_function(as_model(left), as_model(right)))


@pytest.mark.parametrize("op", load("composition"))
def test_golden_composition(op):
    verify("composition", op)


VALUES = [
    ("composition(L('(6,2):(8,2)'), L('(4,3):(3,1)'))", "((2,2),3):((24,2),8)"),
    ("composition(L('(10,2):(16,4)'), L('(5,4):(1,5)'))", "(5,(2,2)):(16,(80,4))"),
    ("composition(L('20:2'), L('(5,4):(4,1)'))", "(5,4):(8,2)"),
    ("composition(L('(12,(4,8)):(59,(13,1))'), (3, 8))", "(3,(4,2)):(59,(13,1))"),
    ("composition(L('(4,8):(1,4)'), (2, 4))", "(2,4):(1,4)"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_value_of_composition(expression, expected):
    assert str(evaluate(expression)) == expected


DYNAMIC = [
    ("composition(make_layout((6, 2), stride=(Int32(8), 2)), L('(4,3):(3,1)'))", "((2,2),3):((?{div=3},2),?)"),
]


@pytest.mark.parametrize(("expression", "expected"), DYNAMIC)
def test_text_of_dynamic_composition(expression, expected):
    assert str(evaluate(expression)) == expected


# Values of results with run-time integers: what a program prints when it runs.
DYNAMIC_VALUES = [
    ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),(3,1)):((24,2),(8,2))"),
    ("(10,2):(16,4)", "(5,4):(1,5)", "((5,1),(2,2)):((16,4),(80,4))"),
]


def run_time(x):
    if isinstance(x, tuple):
        return tuple(map(run_time, x))
    return Int32(x) if isinstance(x, int) else x


def known(x):
    if isinstance(x, tuple):
        return "(" + ",".join(map(known, x)) + ")"
    return str(x if isinstance(x, int) else x._value)


@pytest.mark.parametrize(("a", "b", "expected"), DYNAMIC_VALUES)
def test_composition_of_run_time_integers(a, b, expected):
    a, b = (cute.make_layout(run_time(L(x).shape), stride=run_time(L(x).stride)) for x in (a, b))
    result = cute.composition(a, b)
    assert f"{known(result.shape)}:{known(result.stride)}" == expected


@pytest.mark.parametrize(
    "expression",
    [
        "composition(L('(4,8):(1,4)'), (2, 4, 2))",
        "composition(L('(4,3):(1,8)'), L('6:1'))",
        "composition(make_layout((Int32(4), Int32(3)), stride=(1, 8)), L('6:1'))",
    ],
)
def test_composition_refuses(expression):
    with pytest.raises(LayoutError):
        evaluate(expression)
