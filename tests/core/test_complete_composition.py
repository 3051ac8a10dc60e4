"""Composition has an answer wherever a layout is A o B, and a certificate that can be checked wherever none is."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from random import Random

import pytest
from hypothesis import example, given

import strategies as gen
from model import existence
from model import layouts as m
from model.laws import composition as law
from model.laws import division, replication
from model.layouts import Layout
from strategies import as_cute, as_model
from tilewright import Int32, LayoutError, cute

L = cute.parse


def answer(a, b):
    """The result, or the error."""
    try:
        return as_model(cute.composition(as_cute(a), as_cute(b)))
    except LayoutError as error:
        return error


def cutes_answer(a, b):
    try:
        with cute.unchecked():
            return as_model(cute.composition(as_cute(a), as_cute(b)))
    except LayoutError:
        return None


def check_certificate(a, b, error):
    """i and j have no digit in common in any layout with these values, and A(B(i + j)) is not A(B(i)) + A(B(j))."""
    found = re.search(
        r"A\(B\((\d+)\+(\d+)\)\) = (-?\d+), but A\(B\(\1\)\) \+ A\(B\(\2\)\) = (-?\d+) \+ (-?\d+)", str(error)
    )
    assert found, str(error)
    i, j, whole, left, right = map(int, found.groups())
    assert min(i, j) > 0
    assert i + j < m.size(b)
    assert [m.at(a, m.at(b, k)) for k in (i + j, i, j)] == [whole, left, right]
    assert whole != left + right
    for remedy in re.findall(r"(?:an answer is|larger one is) (\d+:-?\d+)", str(error)):
        cute.composition(as_cute(a), L(remedy))


def check(a, b, exists):
    """Our answer where there is one: CuTe's where that is right."""
    result, cutes = answer(a, b), cutes_answer(a, b)
    if not exists:
        assert isinstance(result, LayoutError), f"{a} o {b} = {result}"
        check_certificate(a, b, result)
        return
    assert isinstance(result, Layout), f"{a} o {b}: {result}"
    assert law(a, b, result) is None
    if cutes is not None and law(a, b, cutes) is None:
        assert result == cutes


def test_an_example():
    assert str(cute.composition("(2,5):(1,3)", "4:3")) == "(2,2):(4,9)"


def test_a_tuple_of_one_mode_keeps_its_profile():
    for b, expected in (("(2):(-1)", "(2):(-1)"), ("((2)):((-1))", "((2)):((-1))"), ("(4):(3)", "((2,2)):((4,9))")):
        a = "(2,5):(1,3)" if b == "(4):(3)" else "(2,1):(1,1)"
        assert str(cute.composition(a, b)) == expected


def test_rank_2_is_decided():
    """All s:d inside of all layouts of rank 2: only whether a carry jumps matters, so strides 1 and 3 stand for all."""
    answers = count = 0
    for extents in product(range(2, 9), repeat=2):
        a = Layout(extents, (1, 3 if extents[0] != 3 else 4))
        last = prod(extents) - 1
        for d in range(1, last + 1):
            for s in range(2, last // d + 2):
                b = Layout(s, d)
                exists = existence.composes(a, b)
                check(a, b, exists)
                count, answers = count + 1, answers + exists
    assert (count, answers) == (4210, 2221)


def test_rank_3_is_decided():
    """Two carries that may cancel."""
    answers = count = 0
    for extents in product(range(2, 5), repeat=3):
        for jumps in ((1, -1), (1, 1), (-1, 2), (2, -1)):
            second = extents[0] + jumps[0]
            a = Layout(extents, (1, second, extents[1] * second + jumps[1]))
            last = prod(extents) - 1
            for d in range(1, last + 1):
                for s in range(2, last // d + 2):
                    b = Layout(s, d)
                    exists = existence.composes(a, b)
                    check(a, b, exists)
                    count, answers = count + 1, answers + exists
    assert count > 7000
    assert count / 4 < answers < count


@given(gen.layouts(max_size=256), gen.layouts(max_size=64))
@example(Layout((2, 5), (1, 3)), Layout(4, 3))
@example(Layout((6, 2), (1, 7)), Layout((3, 2), (2, 3)))
@example(Layout((2, 2, 4), (0, 1, 1)), Layout((2, 2), (3, 1)))  # the carries of both modes cancel
def test_any_pair_is_decided(a, b):
    check(a, b, existence.composes(a, b))


def random_layout(random, rank, most, cancelling):
    extents = [random.choice((2, 2, 3, 4, 5, 6, 8)) for _ in range(rank)]
    extents[random.randrange(rank)] = random.randint(1, most)
    strides = [random.randint(0, 4)]
    for extent in extents[:-1]:
        jump = random.choice((-2, -1, 0, 1, 1)) if cancelling else random.randint(-100, 100)
        strides.append(extent * strides[-1] + jump)
    return Layout(tuple(extents), tuple(strides))


def random_stride(random, a):
    size = m.size(a)
    divisors = [prod(m.leaves(a.shape)[:k]) for k in range(len(m.leaves(a.shape)))]
    near = random.choice((size, size // 2, random.choice(divisors), random.randint(1, size)))
    return max(1, near + random.choice((0, 0, 0, -1, 1)))


@pytest.mark.parametrize("cancelling", [False, True])
def test_large_pairs_beside_brute_force(cancelling):
    random, answers = Random(11), 0
    for _ in range(150):
        a = random_layout(random, random.randint(2, 6), 1 << 20, cancelling)
        b = Layout(random.choice((2, 3, 4, 6, 8, 12, 64, 96, 1000, 4096)), random_stride(random, a))
        exists = existence.composes(a, b)
        answers += exists
        check(a, b, exists)
    assert 15 < answers < 135


def test_large_pairs_beside_integer_sets():
    random, answers = Random(12), 0
    for _ in range(20):
        a = random_layout(random, random.randint(2, 4), 1 << 20, random.random() < 0.5)
        s, d = random.choice((2, 6, 64, 96, 1 << 20, 3 << 30)), random_stride(random, a)
        modes, result = existence.coarsest_by_sets(a, s, d), answer(a, Layout(s, d))
        answers += modes is not None
        if modes is None:
            assert isinstance(result, LayoutError), f"{a} o {s}:{d} = {result}"
            check_certificate(a, Layout(s, d), result)
        else:
            assert isinstance(result, Layout), f"{a} o {s}:{d}: {result}"
            flat = [x for x in m.pairs(result) if x[0] > 1]
            assert flat == [x for x in modes if x[0] > 1] or as_model(cute.coalesce(as_cute(result))) == as_model(
                cute.coalesce(as_cute(Layout(tuple(x for x, _ in modes), tuple(x for _, x in modes))))
            )
    assert 3 < answers < 20


def test_basis_strides_are_decided():
    identity = L("(4,6):(1@0,1@1)")
    assert str(cute.composition("(2,5):(1@0,3@0)", "4:3")) == "(2,2):(4@0,9@0)"
    assert str(cute.composition("((2,5),7):((1,3),50)", "(4,7):(3@0,1@1)")) == "((2,2),7):((4,9),50)"
    with pytest.raises(
        LayoutError, match="its stride in mode 0 would have several entries, A\\(B\\(1\\)\\) = \\(1,1\\)"
    ):
        cute.composition(identity, "2:5")


def test_size_does_not_matter():
    """What was compared up to 2^22 coordinates is decided now."""
    large = 1 << 40
    assert str(cute.composition(f"({large},2):(1,{large + 1})", f"{large}:1")) == f"{large}:1"
    assert str(cute.composition(f"(2,{large}):(1,3)", f"({large},2):(2,1)")) == f"({large},2):(3,1)"
    assert str(cute.composition(f"(6,{large}):(1,7)", f"{large}:3")) == f"(2,{large // 2}):(3,7)"
    with pytest.raises(LayoutError, match=r"A\(B\(1\+2\)\) = 14, but A\(B\(1\)\) \+ A\(B\(2\)\) = 4 \+ 9"):
        cute.composition(f"(5,{large}):(1,6)", f"{large}:4")
    dynamic = cute.make_layout((Int32(4), 1 << 30), stride=(1, 4))
    assert str(cute.composition(dynamic, "(3,33554432):(1,1)")) == "((?,?),(?,?)):((1,?{div=4}),(1,?{div=4}))"


def test_overflow_is_an_error():
    with pytest.raises(LayoutError, match="64 bits"):
        cute.composition(f"(3,{1 << 60}):(1,{1 << 61})", f"{1 << 40}:{1 << 30}")


def subset_sums(weights, wanted):
    """The operands of Theorem 3 in docs/theory.md: no layout exactly if some of the weights add up to `wanted`."""
    first, rank = 2 * wanted + 1, len(weights)
    second = rank * wanted + 1
    strides = []
    for w in weights:
        k = max(0, -((2 * w * wanted - w * second * first) // (first * wanted)))
        strides.append(2 * w + k * first)
    return Layout((first, second, 2), (0, 1, second - 1)), Layout((2,) * rank, tuple(strides))


def test_the_hard_case_is_a_question_of_subset_sums():
    random = Random(3)
    verdicts = set()
    for _ in range(200):
        weights = [random.randint(2, 30) for _ in range(random.randint(3, 6))]
        wanted = random.randint(sum(weights) // 2 + 1, sum(weights))
        if max(weights) >= wanted:
            continue
        sums = {0}
        for w in weights:
            sums |= {s + w for s in sums}
        a, b = subset_sums(weights, wanted)
        assert isinstance(answer(a, b), LayoutError) == (wanted in sums)
        verdicts.add(wanted in sums)
    assert verdicts == {True, False}


def test_what_is_not_decided_is_an_error():
    """The sums of 36 even weights do not reach an odd number, which more boxes show than are looked at."""
    random = Random(4)
    weights = [2 * random.randint(10**6, 2 * 10**6) for _ in range(36)]
    a, b = subset_sums(weights, sum(weights) // 2 + 1 | 1)
    with pytest.raises(LayoutError, match="was not decided within 65536 boxes"):
        cute.composition(as_cute(a), as_cute(b))


def small_layout(random, rank, strides):
    extents = tuple(random.choice((2, 3, 4, 5, 6, 8)) for _ in range(rank))
    return as_cute(Layout(extents, tuple(random.choice(strides) for _ in extents)))


def test_divisions_answer_where_the_tiling_composes():
    """R = A o (B, B*) is there whenever that is a layout and no element is lost."""
    random, count = Random(5), 0
    for _ in range(3000):
        a = small_layout(random, random.randint(2, 3), (1, 2, 3, 4, 5, 7, 9, 12, 13))
        b = small_layout(random, random.randint(1, 2), (1, 2, 3, 4, 5, 6, 8))
        try:
            tiling = cute.make_layout([b, cute.complement(b, cute.coalesce(a).shape)])
            cute.composition(a, tiling)
        except LayoutError:
            continue
        if set(tiling.offsets().tolist()) >= set(range(cute.size(a))):
            assert division(as_model(a), as_model(b), as_model(cute.logical_divide(a, b))) is None
            count += 1
    assert count > 500


def test_a_division_of_few_elements_by_a_tile_of_many():
    """The tile overhangs by millions of elements. That it loses none follows from its strides."""
    divided = cute.logical_divide("8:-126170", "((7,2),3):((1023560,15),4)")
    assert str(divided) == "(((7,2),3),(4,34118)):(((-129142565200,-1892550),-504680),(-126170,-3785100))"


def test_copies_with_negative_offsets_need_room_too():
    """A* = 2:1 within size(A)*cosize(B): at -2 it would fall onto the block."""
    for text in ("(7,((2),2)):(0,((-1),-1))", "3:-1"):
        with pytest.raises(LayoutError, match="has 2 places, but the tiler needs 3"):
            cute.logical_product("(2,6,4):(2,6,38)", text)
    assert str(cute.logical_product("(2,6,4):(2,6,38)", "2:-1")) == "((2,6,4),2):((2,6,38),-1)"


def test_products_answer_where_the_complement_has_too_little_room():
    assert str(cute.logical_product("(2,3):(1,6)", "(4,2):(3,8)")) == "((2,3),(4,2)):((1,6),(18,40))"
    random, answers = Random(3), 0
    for _ in range(3000):
        a, b = (small_layout(random, random.randint(1, 2), (1, 2, 3, 4, 6, 8, 12, 24)) for _ in range(2))
        try:
            product = cute.logical_product(a, b)
        except LayoutError:
            continue
        assert replication(as_model(a), as_model(b), as_model(product)) is None
        places = cute.complement(a, cute.size(a) * cute.cosize(b))
        answers += cute.size(places) < cute.cosize(b)
    assert answers > 20


def test_tractable_layouts():
    """Sorted by stride, each mode ends at a divisor of the next stride."""
    assert cute.is_tractable("(4,8):(8,1)")
    assert cute.is_tractable("(4,3,2):(1,0,8)")
    for text in ("(4,2):(1,6)", "4:-1", "(2,2):(1@0,1@1)"):
        assert not cute.is_tractable(text)
    assert cute.is_tractable("(4,2):(1,6)").reason == "the mode 4:1 ends at 4, which does not divide the stride 6"
