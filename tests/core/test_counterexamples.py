"""Every error about a law shows where the law breaks, and answers that are too large to compare are refused."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

import strategies as gen
from golden.convert import components
from model import layouts as m
from model.layouts import Layout
from strategies import as_cute
from tilewright import Int32, LayoutError, cute

L = cute.parse

# What an operand has to be before there is an answer with a law.
PRECONDITIONS = (
    "CuTe rejects it too",
    "CuTe divides by it",
    "is divided by 0",
    "is negative: a complement needs non-negative strides",
    "neither of",
    "does not divide the target shape",
)
OPERATIONS = {
    "composition": 2,
    "complement": 1,
    "left_inverse": 1,
    "right_inverse": 1,
    "max_common_layout": 2,
    "max_alignment": 1,
    "logical_divide": 2,
    "logical_product": 2,
    "blocked_product": 2,
    "raked_product": 2,
    "make_layout_tv": 2,
}


def layouts(seed, count):
    """Small layouts, some of their integers dynamic, strides 0, equal and negative among them."""
    random = Random(seed)
    for _ in range(count):
        modes = random.randint(1, 3)
        shape = tuple(random.choice((1, 2, 3, 4, 6)) for _ in range(modes))
        stride = tuple(random.choice((-2, -1, 0, 1, 1, 2, 3, 4, 6, 8, 12)) for _ in range(modes))
        dynamic = frozenset(i for i in range(2 * modes) if random.random() < 0.15)
        yield as_cute(Layout(shape, stride), dynamic)


def refused(function, *args):
    try:
        function(*args)
    except LayoutError as error:
        return error
    return None


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_error_about_a_law_has_a_counterexample(name):
    operation, arity = getattr(cute, name), OPERATIONS[name]
    for operands in zip(*(layouts(seed, 2000) for seed in range(arity)), strict=True):
        error = refused(operation, *operands)
        if error is None or any(text in str(error) for text in PRECONDITIONS):
            continue
        assert error.counterexample is not None, str(error)
        _, got, wanted = error.counterexample
        assert got is None or got != wanted


@pytest.mark.parametrize("name", ["upcast", "downcast"])
def test_every_error_of_a_recast_has_a_counterexample(name):
    for layout in layouts(7, 1000):
        for n in (2, 3, 4):
            error = refused(getattr(cute, name), layout, n)
            if error is None or any(text in str(error) for text in PRECONDITIONS):
                continue
            assert error.counterexample is not None, str(error)


def test_counterexamples_of_recasts():
    for operands, wanted in (
        ((cute.upcast, L("(4,3):(1,2)"), 4), (6, 0, 1)),
        ((cute.upcast, cute.make_layout((2, 4), stride=(1, Int32(6))), 4), (4, 2, 3)),
        ((cute.upcast, L("4:-1"), 4), (1, 0, -1)),
        ((cute.downcast, L("4:-1"), 2), (1, -1, 1)),
        ((cute.downcast, L("(8,1):(1,1)"), 3), (24, 1, None)),
        ((cute.recast_layout, 64, 6, L("2:1")), (0, 0, None)),
    ):
        assert tuple(refused(*operands).counterexample) == wanted


def test_the_smallest_counterexample_of_all_entries():
    """Of two entries of the values, the one that breaks first counts."""
    a = L("((4,6),(5,3)):((1@0,4@1),(7@1,9@0))")
    found = 0
    for shape in product((2, 3, 5), repeat=2):
        for stride in product((1, 2, 3, 5, 6), repeat=2):
            b = as_cute(Layout(shape, stride))
            error = refused(cute.composition, a, b)
            if error is None or error.counterexample is None or error.counterexample[1] is None:
                continue
            found += 1
            with cute.unchecked():
                given = cute.composition(a, b)
            first = next(k for k in range(cute.size(b)) if components(given(k)) != components(a(b(k))))
            i, got, wanted = error.counterexample
            assert (i, got, components(wanted)) == (first, given(first), components(a(b(first))))
    assert found > 8


# ---- larger than what is compared ------------------------------------------------------------------------------------

LARGE = 1 << 23


@pytest.mark.parametrize(
    ("operation", "operands"),
    [
        (cute.composition, (f"({LARGE},2):(1,{LARGE})", f"({LARGE - 1},2):(1,{LARGE})")),
        (cute.logical_divide, (f"({LARGE},3):(1,{LARGE})", f"({LARGE - 1},2):(1,{LARGE})")),
    ],
)
def test_what_is_not_compared_is_refused(operation, operands):
    """Or it is proved: an answer breaks the law nowhere."""
    operands = tuple(map(L, operands))
    error = refused(operation, *operands)
    if error is None:
        result = operation(*operands)
        for i in (0, LARGE - 2, LARGE - 1, LARGE, 2 * LARGE - 3):
            assert result(i) == operands[0](operands[1](i))


def test_a_thread_value_layout_that_is_too_large_is_refused():
    dynamic = cute.make_layout((Int32(4), LARGE), stride=(1, 4))
    error = refused(cute.make_layout_tv, dynamic, L("1:0"))
    assert error is None or error.counterexample is not None or "were not compared" in str(error)


def test_generators_reach_both_signs():
    drawn = list(layouts(0, 500))
    assert any(m.injective(gen.as_model(x)) for x in drawn)
    assert any(min(m.leaves(gen.as_model(x).stride)) < 0 for x in drawn)
