"""Whether coordinates collide, images meet, an image lies in an interval: listed, and where nothing can be listed."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as gen
from model import layouts as m
from model.layouts import Layout
from strategies import as_cute
from tilewright import LayoutError, _core, cute

L = cute.parse


def value(layout, index):
    return int(layout(index))


def drawn(rng, rank, extent, stride):
    shape = tuple(rng.randint(1, extent) for _ in range(rank))
    return cute.make_layout(shape, stride=tuple(rng.randint(-stride, stride) for _ in range(rank)))


@given(gen.layouts())
def test_a_collision_is_one(a):
    layout = as_cute(a)
    found = _core._collision(layout)
    assert (found is None) == m.injective(a)
    if found is not None:
        first, second = found
        assert 0 <= first < second < m.size(a)
        assert value(layout, first) == value(layout, second)


@given(gen.layouts(), gen.layouts(), st.integers(-200, 200))
def test_images_that_meet(a, b, offset):
    x, y = as_cute(a), as_cute(b)
    verdict = cute.is_disjoint(x, y, offset)
    assert bool(verdict) == (not set(m.offsets(a)) & {offset + v for v in m.offsets(b)})
    if not verdict:
        i, j, shared = verdict.witness
        assert value(x, i) == offset + value(y, j) == shared


@given(gen.layouts(), st.integers(-100, 300), st.integers(0, 300))
def test_images_within_an_interval(a, begin, length):
    layout, offsets = as_cute(a), m.offsets(a)
    verdict = cute.image_within(layout, begin, begin + length)
    assert bool(verdict) == all(begin <= v < begin + length for v in offsets)
    if not verdict:
        i, found = verdict.witness
        assert value(layout, i) == found
        assert not begin <= found < begin + length


def test_every_pair_of_small_layouts():
    rank_2 = [
        cute.make_layout((s0, s1), stride=(d0, d1))
        for s0 in (2, 3)
        for s1 in (2, 4)
        for d0 in range(7)
        for d1 in range(7)
    ]
    images = [set(cute.image(layout).tolist()) for layout in rank_2]
    met = 0
    for a, image_a in zip(rank_2, images, strict=True):
        for b, image_b in zip(rank_2, images, strict=True):
            for offset in (0, 1, 5):
                disjoint = image_a.isdisjoint(v + offset for v in image_b)
                met += not disjoint
                assert bool(cute.is_disjoint(a, b, offset)) == disjoint, (a, b, offset)
    assert 0 < met < 3 * len(rank_2) ** 2


def test_strides_without_an_order():
    """Extents and strides for which the search goes to the lattice, small enough to be listed."""
    rng, met = random.Random(11), 0
    for _ in range(300):
        rank = rng.randint(2, 4)
        bound = rng.choice([300, 3000, 30000])
        a, b = (drawn(rng, rank, 9, bound) for _ in range(2))
        offset = rng.randint(-bound, bound)
        listed = np.intersect1d(a.offsets(), offset + b.offsets()).size == 0
        assert bool(cute.is_disjoint(a, b, offset)) == listed, (a, b, offset)
        met += not listed
        offsets = a.offsets()
        assert cute.is_injective(a) == (np.unique(offsets).size == offsets.size), a
    assert 20 < met < 280


def test_images_of_2_to_the_40_elements():
    """Planted meetings are found. Strides with a common divisor that does not divide the offset never meet."""
    rng = random.Random(12)
    for _ in range(200):
        bound = 1 << rng.randint(4, 40)
        a, b = (cute.make_layout((1024,) * 4, stride=tuple(rng.randint(1, bound) for _ in range(4))) for _ in range(2))
        i, j = (rng.randrange(1 << 40) for _ in range(2))
        verdict = cute.is_disjoint(a, b, value(a, i) - value(b, j))
        assert not verdict
        x, y, shared = verdict.witness
        assert value(a, x) == shared == value(a, i) - value(b, j) + value(b, y)
        apart = rng.randint(2, 9)
        scaled = [cute.make_layout(c.shape, stride=tuple(apart * int(d) for d in c.stride)) for c in (a, b)]
        offset = apart * rng.randint(-bound, bound) + rng.randint(1, apart - 1)
        assert cute.is_disjoint(*scaled, offset)


def test_images_beside_small_ones():
    """K*a + r and K*(b + offset) + r meet where a and b + offset do; moved by more than r reaches they never meet."""
    rng, met = random.Random(13), 0
    factor, low = (1 << 30) + 3, (1024, 1)
    for _ in range(200):
        a, b = (drawn(rng, 3, 6, 40) for _ in range(2))
        wide = [
            cute.make_layout((low[0], *c.shape), stride=(low[1], *(factor * int(d) for d in c.stride))) for c in (a, b)
        ]
        offset = rng.randint(-200, 200)
        disjoint = np.intersect1d(a.offsets(), offset + b.offsets()).size == 0
        met += not disjoint
        assert bool(cute.is_disjoint(*wide, factor * offset)) == disjoint
        assert cute.is_disjoint(*wide, factor * offset + 2048)
    assert 10 < met < 200


def test_values_that_are_coordinates():
    rows, columns = L("(4,8):(1@0,1@1)"), L("4:2@1")
    assert not cute.is_disjoint(rows, columns)
    i, j, shared = cute.is_disjoint(rows, columns).witness
    assert (rows(i), shared) == ((0, 0), (0, 0))
    assert j == 0
    with pytest.raises(LayoutError, match="numbers, those of the other are coordinates"):
        cute.is_disjoint(rows, L("4:1"))


def test_swizzled_images():
    rng = random.Random(14)
    for _ in range(300):
        swizzles = [cute.make_swizzle(rng.randint(1, 2), rng.randint(0, 2), 2) for _ in range(2)]
        swizzles[1] = rng.choice(swizzles)
        plain = [cute.make_layout((4, 4), stride=(rng.randint(1, 9), rng.randint(1, 40))) for _ in range(2)]
        offsets = [8 * rng.randint(0, 4) for _ in range(2)]
        a, b = (cute.make_composed_layout(s, o, layout) for s, o, layout in zip(swizzles, offsets, plain, strict=True))
        x, y = ([value(c, i) for i in range(16)] for c in (a, b))
        shift = rng.choice((0, 0, 3))
        assert bool(cute.is_disjoint(a, b, shift)) == set(x).isdisjoint(v + shift for v in y)
        assert cute.is_injective(a) == (len(set(x)) == 16)
        assert bool(cute.image_within(a, 8, 64)) == all(8 <= v < 64 for v in x)


def test_equivalent_layouts_of_any_size():
    tile = "S<3,3,3> o 0 o ((8,1024),(64,4096)):((64,512),(1,524288))"
    again = "S<3,3,3> o 0 o ((8,1024),(64,64,64)):((64,512),(1,524288,33554432))"
    other = "S<3,3,3> o 0 o ((8,1024),(64,64,64)):((64,512),(1,524288,33554496))"
    assert cute.equivalent(tile, again)
    verdict = cute.equivalent(tile, other)
    i, mine, theirs = verdict.witness
    assert (value(L(tile), i), value(L(other), i)) == (mine, theirs)
    assert mine != theirs


def test_dense_strides():
    """Strides that interleave in every way."""
    rng, disjoint, injective = random.Random(1), 0, 0
    pool = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 37, -1, -3, -8)
    for _ in range(3000):
        a, b = (
            Layout(tuple(rng.randint(1, 5) for _ in range(3)), tuple(rng.choice(pool) for _ in range(3)))
            for _ in range(2)
        )
        offset, values = rng.randint(-60, 60), m.offsets(a)
        apart = not set(values) & {offset + v for v in m.offsets(b)}
        assert bool(cute.is_disjoint(as_cute(a), as_cute(b), offset)) == apart
        once = len(set(values)) == len(values)
        assert cute.is_injective(as_cute(a)) == once
        disjoint, injective = disjoint + apart, injective + once
    assert 300 < disjoint < 2700
    assert 300 < injective < 2700


def sums(a, names):
    return " + ".join(f"{d}*{names}{k}" for k, (_, d) in enumerate(m.pairs(a)))


def ranges(a, names):
    return " and ".join(f"0 <= {names}{k} < {s}" for k, (s, _) in enumerate(m.pairs(a)))


def test_large_images_beside_integer_sets():
    import islpy

    rng, disjoint = random.Random(2), 0
    for _ in range(40):
        a, b = (
            Layout(tuple(1 << rng.randint(1, 6) for _ in range(3)), tuple(rng.randint(1, 1 << 14) for _ in range(3)))
            for _ in range(2)
        )
        common = rng.choice((1, 1, 8, 1024))
        a, b = (Layout(x.shape, tuple(d * common for d in x.stride)) for x in (a, b))
        offset = rng.randint(-(1 << 18), 1 << 18) // common * common + rng.choice((0, 0, 1))
        variables = ", ".join(f"{n}{k}" for n in "xy" for k in range(3))
        meet = islpy.Set(
            f"{{ [{variables}] : {ranges(a, 'x')} and {ranges(b, 'y')} "
            f"and {sums(a, 'x')} = {offset} + {sums(b, 'y')} }}"
        )
        assert bool(cute.is_disjoint(as_cute(a), as_cute(b), offset)) == meet.is_empty()
        disjoint += meet.is_empty()
    assert 3 < disjoint < 37


def test_size_does_not_matter():
    cube = cute.parse("(1024,1024,1024,1024):(1,2048,4194304,8589934592)")
    assert cute.size(cube) == 1 << 40
    assert cute.is_disjoint(cube, cube, 1024)
    assert cute.is_disjoint(cube, cube, 1023).witness is not None
    assert cute.is_injective(cube)
    assert not cute.is_injective("(1024,1024,1024,1024):(1000003,7,2097169,123456791)")
    assert cute.equivalent("S<3,4,3> o 0 o (65536,65536):(1,65536)", "S<3,4,3> o 0 o (65536,65536):(1,65536)")


def test_beyond_the_budget_is_an_error():
    """Forty strides without an order are a knapsack, in which nobody can look."""
    rng = random.Random(15)
    a = cute.make_layout((2,) * 40, stride=tuple(rng.randrange(1 << 39, 1 << 40) for _ in range(40)))
    with pytest.raises(LayoutError, match="was not decided"):
        cute.is_injective(a)
