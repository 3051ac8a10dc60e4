"""The laws of sizes, values and texts on random layouts, each against the brute-force model; others are in operations.

A call either satisfies its law or raises `LayoutError`; it may not raise for operands that are admissible by
construction. `make nightly` runs the same properties on 100 000 examples each.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import strategies as gen
from model import laws
from model import layouts as m
from model.checks import answer
from strategies import as_cute, as_model
from tilewright import cute


@given(gen.layouts(), gen.marks)
def test_sizes_and_values(a, dynamic):
    layout = as_cute(a, dynamic)
    assert as_model(cute.size(layout)) == m.size(a)
    assert as_model(cute.cosize(layout)) == m.cosize(a)
    if all(d >= 0 for d in m.leaves(a.stride)):
        assert m.cosize(a) == max(m.offsets(a)) + 1
    assert layout.offsets().tolist() == m.offsets(a)
    assert [as_model(layout(i)) for i in range(m.size(a))] == m.offsets(a)


@given(gen.shapes(), st.integers(2, 5))
def test_overflow_is_an_error(shape, count):
    """No product or offset wraps around 2^63."""
    huge = tuple(1 << 31 for _ in range(count))
    total = m.product(shape) << (31 * count)
    result = answer(lambda: cute.size(cute.make_layout((*huge, as_cute(shape)))))
    assert result == total if total < 1 << 63 else result is None


@given(gen.layouts())
def test_text_round_trip(a):
    layout = as_cute(a)
    assert str(layout) == str(a)
    assert cute.parse(str(layout)) == layout


@given(gen.layouts())
def test_image_and_injectivity(a):
    layout, image = as_cute(a), sorted(set(m.offsets(a)))
    assert cute.image(layout).tolist() == image
    assert cute.is_injective(layout) == m.injective(a)
    assert cute.is_bijective(layout) == (sorted(m.offsets(a)) == list(range(m.size(a))))


@given(gen.layouts(max_size=64), gen.layouts(max_size=64) | st.none())
def test_equivalent(a, b):
    if b is None:
        b = as_model(cute.coalesce(as_cute(a)))
    result = cute.equivalent(as_cute(a), as_cute(b))
    broken = laws.same_function(a, b)
    assert bool(result) == (broken is None)
    if broken is not None and broken.coordinate is not None:
        assert tuple(result.witness) == (broken.coordinate, broken.expected, broken.got)
