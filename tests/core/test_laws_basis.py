"""Small worlds of layouts with basis strides, searched to the end: their values are coordinates."""

from __future__ import annotations

from itertools import product

import pytest

from model import laws, values
from model import layouts as m
from model.layouts import Basis, Layout
from strategies import as_cute, as_model
from tilewright import LayoutError, cute

L = cute.parse

ENTRIES = {(0,): (1, 2, 4), (1,): (1, 3), (2, 1): (1, 2)}
STRIDES = [Basis(value, path) for path, steps in ENTRIES.items() for value in steps]


def world(extents=(1, 2, 3), rank=2, strides=(*STRIDES, 0)):
    for shape, stride in product(product(extents, repeat=rank), product(strides, repeat=rank)):
        if any(isinstance(d, Basis) for d in stride):
            yield Layout(shape, stride)


def part_at(layout, path):
    """The modes along one entry of the codomain, as integers."""
    strides = [d.value if isinstance(d, Basis) and d.path == path else 0 for d in m.leaves(layout.stride)]
    return Layout(tuple(m.leaves(layout.shape)), tuple(strides))


def as_integers(layout):
    return Layout(layout.shape, m.fill_leaves(layout.stride, [getattr(d, "value", d) for d in m.leaves(layout.stride)]))


def entry(x, path):
    for i in path:
        x = m.modes(x)[i]
    return x


def profile_of(codomain, layout, path=()):
    """The sizes of the layout's modes at the leaves of a codomain."""
    if not isinstance(codomain, tuple):
        return m.size(entry(layout, path))
    return tuple(profile_of(c, layout, (*path, i)) for i, c in enumerate(codomain))


def refused(function, *args):
    with pytest.raises(LayoutError) as raised:
        function(*args)
    return raised.value


def answer(function, *args):
    try:
        return as_model(function(*args))
    except LayoutError:
        return None


@pytest.mark.parametrize(
    ("text", "right", "left"),
    [
        ("(4,5):(1@0,1@1)", "(4,5):(1,4)", "(4,5):(1,4)"),
        ("(4,5):(1@1,1@0)", "(5,4):(4,1)", "(5,4):(4,1)"),
        ("4:1@0", "(4):(1)", "(4):(1)"),
        ("(4,5):(2@0,1@1)", "(1,5):(0,4)", "((2,4),5):((0,1),4)"),
        ("(2,3,5):(3@0,1@0,1@1)", "((3,2),5):((2,1),6)", "((3,2),5):((2,1),6)"),
        ("(2,(3,4)):(1@1,(1@0,1@2))", "(3,2,4):(2,1,6)", "(3,2,4):(2,1,6)"),
        ("(2,(3,4)):(1@0,(1@0@1,1@1@1))", "(2,(3,4)):(1,(2,6))", "(2,(3,4)):(1,(2,6))"),
        ("(4,5):(-1@0,1@1)", "(1,5):(0,4)", "(4,5):(-1,4)"),
    ],
)
def test_inverses(text, right, left):
    assert str(cute.right_inverse(L(text))) == right
    assert str(cute.left_inverse(L(text))) == left


def test_right_inverse():
    """A(R(c)) = c for every coordinate c of R, and R reaches as far in each entry as the entry alone."""
    for a in world(rank=2):
        layout = as_cute(a)
        result = as_model(cute.right_inverse(layout))
        sizes = profile_of(codomain(a), result)
        wanted = m.offsets(values.identity(sizes))
        assert [m.at(a, i) for i in m.offsets(result)] == wanted, (str(a), str(result))
        for path in {d.path for d in a.stride if isinstance(d, Basis)}:
            alone = cute.right_inverse(as_cute(part_at(a, path)))
            assert cute.size(alone) == m.size(entry(result, path)), (str(a), str(result))


def codomain(layout):
    """The profile of the values: 0 for each entry."""
    root = []

    def put(at, path):
        while len(at) <= path[0]:
            at.append(0)
        if len(path) > 1:
            at[path[0]] = at[path[0]] or []
            put(at[path[0]], path[1:])

    def frozen(x):
        return tuple(map(frozen, x)) if isinstance(x, list) else x

    for d in m.leaves(layout.stride):
        if isinstance(d, Basis):
            put(root, d.path)
    return frozen(root)


def test_left_inverse():
    """L(A(i)) = i; refused only where A, or one of its entries, has no left inverse that digits make."""
    count = 0
    for a in world(rank=3, extents=(1, 2, 3), strides=(Basis(1, (0,)), Basis(2, (0,)), Basis(3, (1,)), Basis(1, (1,)))):
        result = answer(cute.left_inverse, as_cute(a))
        parts = [part_at(a, path) for path in ((0,), (1,))]
        alone = [answer(cute.left_inverse, as_cute(part)) for part in parts]
        assert (result is None) == (None in alone), str(a)
        if result is None:
            continue
        count += 1
        assert [m.at_value(result, coordinate(m.at(a, i))) for i in range(m.size(a))] == list(range(m.size(a)))
    assert count > 400


def coordinate(value):
    return value if isinstance(value, dict) else {}


def test_left_inverse_refuses_with_a_counterexample():
    for text in ("(2,2):(1@0,1@0)", "(4,2):(1@0,2@0)", "(4,2,3):(-1@0,4@0,1@1)"):
        i, got, wanted = refused(cute.left_inverse, L(text)).counterexample
        assert got != wanted == i


def test_complement():
    """Entry by entry the complement of the modes there; an entry without modes is left over as a whole."""
    seen = 0
    for a in world(rank=2, strides=[d for d in STRIDES if len(d.path) == 1]):
        for cotarget in ((6, 6), (8, 5), (12, (2, 3)), (4, 3, 5)):
            result = answer(cute.complement, as_cute(a), cotarget)
            alone = [answer(cute.complement, as_cute(part_at(a, (i,))), c) for i, c in enumerate(cotarget)]
            assert (result is None) == (None in alone), (str(a), cotarget)
            if result is None:
                continue
            seen += 1
            for i, c in enumerate(cotarget):
                found = as_integers(m.modes(result)[i])
                assert m.offsets(found) == m.offsets(alone[i]), (str(a), cotarget, str(result))
                assert laws.complement(part_at(a, (i,)), c, found) is None
    assert seen > 500


@pytest.mark.parametrize(
    ("text", "cotarget", "expected"),
    [
        ("(2,5,3):(4@1,5@0,16@1)", (50, 96), "((5,2),(4,2,2)):((1@0,25@0),(1@1,8@1,48@1))"),
        ("4:1@0", (8, 3), "(2,3):(4@0,1@1)"),
        ("4:1@0", 8, "(2):(4@0)"),
        ("(2,2):(1@0@1,1@1@1)", (3, (4, 2)), "(3,(2,1)):(1@0,(2@0@1,0))"),
        ("(3,4):(1@0,1@1)", None, "(1,1):(0,0)"),
    ],
)
def test_complements(text, cotarget, expected):
    assert str(cute.complement(L(text), cotarget)) == expected


def test_complement_refuses():
    assert "has 1 mode, but the basis strides need 2" in str(refused(cute.complement, L("2:1@1"), 8))
    assert "mix" in str(refused(cute.complement, L("(2,2):(1,1@0)"), (8, 8)))
    refused(cute.complement, L("(2,2):(1@0,-1@1)"), (8, 8))


def test_divide_by_a_tiler_that_names_modes():
    """R(i) = A((B, B*)(i)) wherever that lies in A, and every element of A is in one tile."""
    seen = 0
    a = Layout((4, 6), (7, 1))
    for b in world(rank=2, strides=[d for d in STRIDES if len(d.path) == 1]):
        tiling = answer(cute.complement, as_cute(b), a.shape)
        result = answer(cute.logical_divide, as_cute(a), as_cute(b))
        if result is None:
            continue
        seen += 1
        both = m.join([b, tiling])
        assert m.size(both) == m.size(result)
        inside = []
        for i, at in enumerate(m.offsets(both)):
            axes = coordinate(at)
            if all(0 <= axes.get((k,), 0) < s for k, s in enumerate(a.shape)):
                inside.append(m.at(result, i))
                assert inside[-1] == m.at_value(a, axes), (str(b), i)
        assert sorted(set(inside)) == sorted(m.offsets(a)), str(b)
    assert seen > 60


def test_divides():
    assert str(cute.logical_divide(L("(128,64):(1@1,1@0)"), L("2:64@0"))) == "(2,(64,64)):(64@1,(1@1,1@0))"
    assert str(cute.logical_divide(L("(8,8):(9,1)"), L("4:1@0"))) == "(4,(2,8)):(9,(36,1))"
    assert str(cute.logical_divide(L("(8,8):(9,1)"), L("(4,4):(1@1,2@0)"))) == "((4,4),(2,2)):((1,18),(9,4))"
    assert str(cute.zipped_divide(L("(8,8):(1@0,1@1)"), L("(2,4):(1@1,1@0)"))) == (
        "((2,4),(2,4)):((1@1,1@0),(4@0,2@1))"
    )


def test_a_division_that_loses_elements_is_refused():
    error = refused(cute.logical_divide, L("(6,4):(1,6)"), L("(2,2):(1@0,3@0)"))
    assert error.counterexample is not None
    assert error.counterexample[1] is None


def test_product():
    """Copies of the block that do not meet, at the places that the complement has."""
    seen = 0
    copies = [Layout(4, 1), Layout((2, 3), (1, 2)), Layout((3, 2), (2, 1)), Layout(2, Basis(1, (0,)))]
    copies.append(Layout((2, 3), (Basis(1, (1,)), Basis(1, (0,)))))
    for a in world(rank=2, strides=[d for d in STRIDES if len(d.path) == 1]):
        for b in copies:
            result = answer(cute.logical_product, as_cute(a), as_cute(b))
            if result is None:
                continue
            seen += 1
            assert m.pairs(m.modes(result)[0]) == m.pairs(a)
            assert m.size(m.modes(result)[1]) == m.size(b)
            if m.injective(a):
                assert m.injective(result), (str(a), str(b), str(result))
    assert seen > 500


def test_products():
    """The first, and the division by 2:64@0, are CuTeDSL's answers in its public reference of operations."""
    block, copies = L("(4,3):(1@0,1@1)"), L("(2,5):(1,2)")
    assert str(cute.logical_product(block, copies)) == "((4,3),(2,5)):((1@0,1@1),(4@0,8@0))"
    assert str(cute.raked_product(block, copies)) == "((2,4),(5,3)):((4@0,1@0),(8@0,1@1))"
    assert str(cute.logical_product(L("(4,5):(1@0,1@1)"), L("2:1"))) == "((4,5),2):((1@0,1@1),4@0)"
    assert str(cute.logical_product(L("3:1@0"), L("4:1"))) == "(3,4):(1@0,3@0)"
    assert str(cute.blocked_product(L("(2,2):(1@0,1@1)"), L("(3,2):(1@0,1@1)"))) == (
        "((2,3),(2,2)):((1@0,2@0),(1@1,2@1))"
    )


# ---- composition -----------------------------------------------------------------------------------------------------


def test_every_refused_composition_that_cute_accepts_has_a_counterexample():
    """A few shapes of A over all B with basis strides: the law, or the first coordinate where it fails."""
    lefts = [Layout(((5, 2), 2), ((8, 4), 120)), Layout((4, 6), (6, 1)), Layout(((2, 3), 4), ((1, 8), 2))]
    strides = [Basis(v, p) for p in ((0,), (1,), (0, 0)) for v in (1, 2, 3)]
    wrong = 0
    for a, shape, stride in product(lefts, product((2, 3, 5), repeat=2), product(strides, repeat=2)):
        b = Layout(shape, stride)
        try:
            result = as_model(cute.composition(as_cute(a), as_cute(b)))
        except LayoutError as error:
            if "CuTe rejects it too" in str(error) or "no such mode" in str(error) or " mix " in str(error):
                continue
            wrong += 1
            if error.counterexample is None:
                raise AssertionError from error
            with cute.unchecked():
                given = as_model(cute.composition(as_cute(a), as_cute(b)))
            i = error.counterexample[0]
            if i < min(m.size(given), m.size(b)):
                assert m.at(given, i) != m.at_value(a, m.at(b, i))
        else:
            assert laws.composition(a, b, result) is None
    assert wrong > 20
