"""Complements, divisions and inverses have an answer wherever a layout is one, and a certificate wherever none is."""

from __future__ import annotations

import re
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import strategies as gen
from model import existence, laws
from model import layouts as m
from model.layouts import Layout
from strategies import as_cute, as_model
from tilewright import LayoutError, cute

L = cute.parse


def attempt(op, *args):
    """The result, or the error."""
    try:
        return as_model(op(*args))
    except LayoutError as error:
        return error


def cutes(op, *args):
    with cute.unchecked():
        found = attempt(op, *args)
    return found if isinstance(found, Layout) and min(m.leaves(found.shape)) > 0 else None


# ---- complements -----------------------------------------------------------------------------------------------------


def check_complement(a, end):
    """Which of the three answers it was: CuTe's, another one, or none."""
    wanted, given_by_cute = existence.covering(a, end), cutes(cute.complement, as_cute(a), end)
    result = attempt(cute.complement, as_cute(a), end)
    if given_by_cute is not None:
        assert result == given_by_cute
        sums = {x + y for x in m.offsets(a) for y in m.offsets(result)}
        assert wanted is None or set(range(end)) <= sums
        return "CuTe's"
    if wanted is not None:
        assert isinstance(result, Layout), f"complement({a}, {end}): {result}"
        assert m.offsets(result) == wanted
        return "another"
    assert isinstance(result, LayoutError)
    found = re.search(r"start at (\d+) and (\d+), and both have the offset (\d+); (\S+) has one", str(result))
    assert found, str(result)
    first, second, offset = map(int, found.groups()[:3])
    assert first < second
    assert {offset - first, offset - second} <= set(m.offsets(a))
    assert existence.covering(as_model(L(found[4])), end) is not None
    assert isinstance(attempt(cute.complement, L(found[4]), end), Layout)
    return "none"


@given(gen.layouts(max_size=64), st.integers(1, 64))
@example(Layout((3, 2), (1, 2)), 10)
@example(Layout((2, 2, 2), (1, 8, 14)), 4)
@example(Layout((2, 2, 2), (1, 8, 14)), 8)
def test_any_complement_is_decided(a, end):
    if min(m.leaves(a.stride)) >= 0:
        check_complement(a, end)


def test_complements_beside_brute_force():
    random, seen = Random(1), []
    for _ in range(2500):
        rank = random.randint(1, 3)
        strides = tuple(random.choice((0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24)) for _ in range(rank))
        a = Layout(tuple(random.randint(1, 4) for _ in range(rank)), strides)
        seen.append(check_complement(a, random.choice((1, 2, 4, 6, 8, 12, 16, 18, 24, 36, 48))))
    assert min(seen.count("CuTe's"), seen.count("another"), seen.count("none")) > 200


def test_a_complement_of_any_size():
    size = 1 << 40
    assert str(cute.complement(f"({size},2):(1,{size // 2})", 6 * size)) == f"4:{3 * size // 2}"
    with pytest.raises(LayoutError, match="copies would have to start at"):
        cute.complement(f"({size},2):(2,{size + 1})", 8 * size)


# ---- divisions -------------------------------------------------------------------------------------------------------


def check_division(a, b):
    result, given_by_cute = (
        attempt(cute.logical_divide, as_cute(a), as_cute(b)),
        cutes(cute.logical_divide, as_cute(a), as_cute(b)),
    )
    rest = attempt(cute.complement, as_cute(b), cute.coalesce(as_cute(a)).shape)
    if isinstance(result, Layout):
        assert laws.division(a, b, result) is None
        if given_by_cute is not None and laws.division(a, b, given_by_cute) is None:
            assert result == given_by_cute
        return result != given_by_cute
    assert isinstance(rest, LayoutError) or not existence.divides(a, m.join([b, rest])), str(result)
    remedies = re.findall(r"(\S+:\S+) (?:and \S+ )?divides? it", str(result))
    for remedy in remedies:
        cute.logical_divide(as_cute(a), L(remedy))
    return None


@given(gen.layouts(max_size=128), gen.layouts(max_size=12))
@example(Layout(10, 1), Layout((3, 2), (1, 2)))
@example(Layout((2, 5), (1, 3)), Layout(2, 3))
def test_any_division_is_decided(a, b):
    if min(m.leaves(b.stride)) >= 0:
        check_division(a, b)


def test_divisions_beside_brute_force():
    random, seen = Random(2), []
    for _ in range(2500):
        a, b = (
            Layout(
                tuple(random.choice(extents) for _ in range(rank)), tuple(random.choice(strides) for _ in range(rank))
            )
            for extents, strides, rank in (
                ((1, 2, 3, 4, 5, 6, 7), (0, 1, 2, 3, 4, 5, 7, 9, 12, 20, -3), random.randint(1, 3)),
                ((1, 2, 3, 4, 6), (0, 1, 1, 2, 3, 4, 6, 8), random.randint(1, 2)),
            )
        )
        seen.append(check_division(a, b))
    assert min(seen.count(True), seen.count(False), seen.count(None)) > 100


def test_a_division_of_any_size():
    """What was compared up to 2^22 coordinates is decided now."""
    size = 3 << 40
    assert str(cute.logical_divide(f"({size},5):(1,{size})", "4:1")) == f"(4,{5 * size // 4}):(1,4)"
    assert str(cute.logical_divide(f"({size},3):(1,{size + 8})", "4:1")) == f"(4,({size // 4},3)):(1,(4,{size + 8}))"
    with pytest.raises(LayoutError, match=r"coordinate 2 of the layout is in no tile.*; .* divides it"):
        cute.logical_divide(f"{size}:1", "(2,2):(1,3)")
    with pytest.raises(LayoutError, match=r"no layout is A o \(B, B\*\)"):
        cute.logical_divide(f"(3,{size}):(1,12)", "2:1")


# ---- left inverses ---------------------------------------------------------------------------------------------------


def check_left_inverse(a):
    """Which of the answers it was: CuTe's, another one, none, or none since A is not injective."""
    offsets = m.offsets(a)
    result, given_by_cute = attempt(cute.left_inverse, as_cute(a)), cutes(cute.left_inverse, as_cute(a))
    if len(set(offsets)) < len(offsets):
        assert isinstance(result, LayoutError)
        found = re.search(r"the coordinates (\d+) and (\d+) have the same offset (-?\d+)", str(result))
        assert found, str(result)
        i, j, offset = map(int, found.groups())
        assert i != j
        assert offsets[i] == offsets[j] == offset
        return "twice"
    if isinstance(result, Layout):
        assert laws.left_inverse(a, result) is None
        if given_by_cute is not None and laws.left_inverse(a, given_by_cute) is None:
            assert result == given_by_cute
        return "CuTe's" if result == given_by_cute else "another"
    assert not existence.has_left_inverse(a), f"{a}: {result}"
    for offset, value in re.findall(r"L\((-?\d+)\) = (\d+)", str(result)):
        if int(value) < len(offsets):
            assert offsets[int(value)] == int(offset)
    for remedy in re.findall(r"(\S+:\S+) has one", str(result)):
        cute.left_inverse(L(remedy))
    return "none"


@given(gen.layouts(max_size=24))
@example(Layout((2, 2), (2, 5)))
@example(Layout((4, 2), (-1, 4)))
@example(Layout((4, 2), (-1, 7)))
@example(Layout((4, 3), (1, 5)))
def test_any_left_inverse_is_decided(a):
    if 0 not in m.leaves(a.stride) and max(map(abs, m.offsets(a))) <= 24:
        check_left_inverse(a)


def test_left_inverses_beside_brute_force():
    random, seen = Random(3), []
    while len(seen) < 400:
        rank = random.randint(1, 3)
        extents = tuple(random.choice((2, 2, 2, 3, 4, 5)) for _ in range(rank))
        sign = 1 if random.random() < 0.8 else -1
        a = Layout(extents, tuple(sign ** random.randint(0, 1) * random.randint(1, 13) for _ in range(rank)))
        if max(map(abs, m.offsets(a))) <= 30:
            seen.append(check_left_inverse(a))
    assert min(seen.count(x) for x in ("CuTe's", "another", "none", "twice")) > 8


def test_a_left_inverse_of_any_size():
    size = 1 << 40
    for text in (f"(2,2):({size + 1},{2 * size + 7})", f"({size},2):(2,{2 * size + 1})"):
        a = as_model(L(text))
        inverse = as_model(cute.left_inverse(text))
        for i in (0, 1, 2, 3, m.size(a) // 2, m.size(a) - 2, m.size(a) - 1):
            assert m.at(inverse, m.at(a, i)) == i
    with pytest.raises(LayoutError, match=r"no layout L has L\(-\d+\) = \d+, L\(\d+\) = \d+$"):
        cute.left_inverse(f"({size},2):(1,-{size})")


def test_what_is_not_decided_is_an_error():
    with pytest.raises(LayoutError, match="was not decided within 4096 chains of radices"):
        cute.left_inverse("(1000,300,20):(1,1003,1000001)")


# ---- right inverses --------------------------------------------------------------------------------------------------


@given(gen.layouts(max_size=256))
@example(Layout((3, 2), (4, 1)))
def test_a_right_inverse_is_the_largest(a):
    """Of layouts that are injective but for stride 0, and have no negative stride: no function inverts more."""
    moving = m.join([Layout(1, 0), *(Layout(s, d) for s, d in m.pairs(a) if d != 0)])
    if min(m.leaves(a.stride)) < 0 or not m.injective(moving):
        return
    size = m.size(as_model(cute.right_inverse(as_cute(a))))
    assert size not in m.offsets(a)
