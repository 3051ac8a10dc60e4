"""Products of all forms: the laws on random layouts, CuTe's own answers, and known values."""

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
from strategies import ADMISSIBLE, as_cute, as_model
from tilewright import LayoutError, cute

L = cute.parse


@given(gen.products(), st.sampled_from(("logical", "zipped", "tiled", "flat")), gen.marks)
def test_product(case, form, dynamic):
    kind, a, b = case
    function = getattr(cute, f"{form}_product")
    result = answer(function, as_cute(a, dynamic), as_cute(b), admissible=kind == ADMISSIBLE and not dynamic)
    if result is None:
        return
    product = as_model(result)
    hold(laws.multiply(form, a, b, product))
    if m.injective(a) and m.injective(b):
        assert m.injective(product)


@given(gen.products(), st.sampled_from(("blocked", "raked")))
def test_paired_product(case, kind_of_product):
    kind, a, b = case
    function = getattr(cute, f"{kind_of_product}_product")
    result = answer(function, as_cute(a), as_cute(b), admissible=kind == ADMISSIBLE)
    if result is None:
        return
    product = as_model(result)
    hold(laws.paired_product(kind_of_product, a, b, product))
    sizes = [[m.size(x) for x in m.modes(laws.padded(y, len(m.modes(product))))] for y in (a, b)]
    assert [m.size(x) for x in m.modes(product)] == [x * y for x, y in zip(*sizes, strict=True)]


@given(gen.products(), st.data())
def test_tile_to_shape(case, data):
    kind, block, _ = case
    modes = m.modes(block)
    copies = [data.draw(st.integers(1, 3)) for _ in modes]
    order = tuple(data.draw(st.permutations(range(len(modes)))))
    target = tuple(m.size(x) * c for x, c in zip(modes, copies, strict=True))
    result = answer(cute.tile_to_shape, as_cute(block), target, order, admissible=kind == ADMISSIBLE)
    if result is not None:
        hold(laws.tile_to_shape(block, target, order, as_model(result)))


@pytest.mark.parametrize("op", load("product"))
def test_golden_product(op):
    verify("product", op)


VALUES = [
    ("logical_product(L('(2,2):(4,1)'), L('6:1'))", "((2,2),(2,3)):((4,1),(2,8))"),
    ("raked_product(L('(32,8):(8,1)'), L('(1,1):(0,0)'))", "((1,32),(1,8)):((0,8),(0,1))"),
]


@pytest.mark.parametrize(("expression", "expected"), VALUES)
def test_value_of_product(expression, expected):
    assert str(evaluate(expression)) == expected


MULTIPLIED = {
    "blocked": "((2,3),(5,4)):((5,10),(1,30))",
    "raked": "((3,2),(4,5)):((10,5),(30,1))",
    "zipped": "((2,5),(3,4)):((5,1),(10,30))",
    "tiled": "((2,5),3,4):((5,1),10,30)",
    "flat": "(2,5,3,4):(5,1,10,30)",
}


@pytest.mark.parametrize("form", MULTIPLIED)
def test_value_of_each_form(form):
    assert str(getattr(cute, f"{form}_product")(L("(2,5):(5,1)"), L("(3,4):(1,3)"))) == MULTIPLIED[form]


@pytest.mark.parametrize(
    "expression",
    [
        "tile_to_shape(L('(4,4):(1,4)'), (14, 8), (0, 1))",
    ],
)
def test_product_refuses(expression):
    with pytest.raises(LayoutError):
        evaluate(expression)
