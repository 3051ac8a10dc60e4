"""Recast, upcast and downcast: the laws on random layouts, CuTe's own answers, and known values."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strategies as gen
from golden import load
from golden.check import verify
from model import laws
from model.checks import answer, hold
from model.layouts import Layout
from strategies import as_cute, as_model
from tilewright import cute

factors = st.sampled_from((1, 2, 3, 4, 8))


@given(gen.layouts(), factors, gen.marks)
def test_upcast(a, n, dynamic):
    result = answer(cute.upcast, as_cute(a, dynamic), n)
    if result is not None:
        hold(laws.upcast(a, n, as_model(result)))


@given(gen.layouts(), factors, gen.marks)
def test_downcast(a, n, dynamic):
    narrow = answer(cute.downcast, as_cute(a, dynamic), n)
    if narrow is None:
        return
    hold(laws.downcast(a, n, as_model(narrow)))
    wide = answer(cute.upcast, narrow, n, admissible=True)
    assert as_model(wide) == a


widths = st.sampled_from((1, 4, 6, 8, 16, 32))


@given(gen.layouts(max_size=64), widths, widths)
@example(Layout((2, 2), (1, 2)), 6, 4)
def test_recast(a, old, new):
    result = answer(cute.recast_layout, new, old, as_cute(a))
    if result is not None:
        hold(laws.recast(a, old, new, as_model(result)))


@pytest.mark.parametrize("op", load("recast"))
def test_golden_recast(op):
    verify("recast", op)
