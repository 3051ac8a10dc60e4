"""Divisions of all forms: the laws on random layouts, CuTe's own answers, and known values."""

from __future__ import annotations

import pytest
from hypothesis import given

import strategies as gen
from golden import load
from golden.check import verify
from model import laws
from model import layouts as m
from model.checks import answer, evaluate, hold
from strategies import ADMISSIBLE, as_cute, as_model
from tilewright import LayoutError, cute

L = cute.parse


def check_divide(form, a, tiler, admissible, dynamic=frozenset()):
    function = getattr(cute, f"{form}_divide")
    result = answer(function, as_cute(a, dynamic), as_cute(tiler), admissible=admissible and not dynamic)
    if result is None:
        return None
    divided = as_model(result)
    hold(laws.divide(form, a, tiler, divided))
    if admissible and not dynamic:
        assert m.size(divided) == m.size(a)
    return divided


@given(gen.divisions(), gen.marks)
def test_logical_divide(case, dynamic):
    kind, a, tiler = case
    check_divide("logical", a, tiler, kind == ADMISSIBLE, dynamic)


@given(gen.divisions())
def test_divides_are_one_function(case):
    """Zipped, tiled and flat regroup the logical result: all four exist or none, and sizes agree."""
    kind, a, tiler = case
    forms = [check_divide(form, a, tiler, kind == ADMISSIBLE) for form in ("logical", "zipped", "tiled", "flat")]
    assert len({f is None for f in forms}) == 1
    assert len({m.size(f) for f in forms if f is not None}) <= 1


@pytest.mark.parametrize("op", load("divide"))
def test_golden_divide(op):
    verify("divide", op)


VALUES = [
    ("logical_divide(L('(4,2,3):(2,1,8)'), L('4:2'))", "((2,2),(2,3)):((4,1),(2,8))"),
    ("logical_divide(L('(4,6):(1,4)'), L('6:1'))", "(6,4):(1,6)"),
    ("logical_divide(L('(4,6):(1,4)'), L('(2,3):(1,2)'))", "((2,3),4):((1,2),6)"),
    ("zipped_divide(L('(2048,2048):(2048,1)'), (1, 8))", "((1,8),(2048,256)):((0,1),(2048,8))"),
    ("zipped_divide(make_layout((10, 6)), (4, 4))", "((4,4),(3,2)):((1,10),(4,40))"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_value_of_divide(expression, expected):
    assert str(evaluate(expression)) == expected


DIVIDED = {
    "logical": "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))",
    "zipped": "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))",
    "tiled": "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))",
    "flat": "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))",
}


@pytest.mark.parametrize("form", DIVIDED)
def test_value_of_each_form(form):
    tiler = (L("3:3"), L("(2,4):(1,8)"))
    assert str(getattr(cute, f"{form}_divide")(L("(9,(4,8)):(59,(13,1))"), tiler)) == DIVIDED[form]


def test_over_covering_answer_of_cute():
    with cute.unchecked():
        assert str(cute.logical_divide(L("(6,4):(4,1)"), L("4:1"))) == "(4,(2,4)):(4,(16,1))"


@pytest.mark.parametrize(
    "expression",
    [
        "zipped_divide(L('(4,8):(1,4)'), (2, 4, 2))",
        "logical_divide(L('(6,4):(4,1)'), L('4:1'))",
    ],
)
def test_divide_refuses(expression):
    with pytest.raises(LayoutError):
        evaluate(expression)


def test_the_least_number_as_a_divisor():
    """A + B - 1 does not fit into 64 bits for B = -2^63, though its quotient by B does."""
    assert cute.shape_div(2**62, -(2**63)) == 0
    assert cute.shape_div(1, -(2**63)) == 1
