"""Whether offsets meet: within one layout, and between two, beside a look at every offset and beside integer sets."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as gen
from model import layouts as m
from model.layouts import Layout
from strategies import as_cute
from tilewright import LayoutError, _core, cute


@given(gen.layouts(max_size=256))
def test_a_collision_is_one(a):
    values, found = m.offsets(a), _core._collision(as_cute(a))
    assert (found is None) == (len(set(values)) == len(values)) == cute.is_injective(as_cute(a))
    if found is not None:
        assert found[0] < found[1]
        assert values[found[0]] == values[found[1]]


@given(gen.layouts(max_size=128), gen.layouts(max_size=128), st.integers(-600, 600))
def test_images_are_disjoint(a, b, offset):
    verdict = cute.is_disjoint(as_cute(a), as_cute(b), offset)
    shared = set(m.offsets(a)) & {offset + v for v in m.offsets(b)}
    assert bool(verdict) == (not shared)
    if shared:
        i, j = verdict.witness
        assert m.at(a, i) == offset + m.at(b, j)


def test_dense_strides():
    """Strides that interleave in every way."""
    random, disjoint, injective = Random(1), 0, 0
    pool = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 37, -1, -3, -8)
    for _ in range(3000):
        a, b = (
            Layout(tuple(random.randint(1, 5) for _ in range(3)), tuple(random.choice(pool) for _ in range(3)))
            for _ in range(2)
        )
        offset, values = random.randint(-60, 60), m.offsets(a)
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

    random, disjoint = Random(2), 0
    for _ in range(40):
        a, b = (
            Layout(
                tuple(1 << random.randint(1, 6) for _ in range(3)), tuple(random.randint(1, 1 << 14) for _ in range(3))
            )
            for _ in range(2)
        )
        common = random.choice((1, 1, 8, 1024))
        a, b = (Layout(x.shape, tuple(d * common for d in x.stride)) for x in (a, b))
        offset = random.randint(-(1 << 18), 1 << 18) // common * common + random.choice((0, 0, 1))
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


def test_what_is_not_decided_is_an_error():
    """Sums of 48 even numbers do not reach an odd one, which more steps show than are taken."""
    random = Random(5)
    weights = [2 * random.randint(1 << 40, 1 << 41) for _ in range(48)]
    a = as_cute(Layout((2,) * 48, (*weights[:-1], weights[-1] | 1)))
    with pytest.raises(LayoutError, match="was not decided within 1048576 steps"):
        cute.is_disjoint(a, "1:0", sum(weights) // 2)


def test_basis_strides_are_refused():
    with pytest.raises(LayoutError, match="take the modes one by one"):
        cute.is_disjoint("(4,4):(1@0,1@1)", "4:1")
