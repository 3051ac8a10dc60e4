"""Small worlds of plain layouts, searched to the end: coordinates, admissibility, divisions of extents."""

from __future__ import annotations

from itertools import product

import pytest

from model import layouts as m
from model.layouts import Layout
from strategies import as_cute, as_model
from tilewright import Int32, Int64, LayoutError, cute

L = cute.parse


def unchecked(function, *args):
    with cute.unchecked():
        return function(*args)


# ---- coordinates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [3, (3,), (3, 3, 3), (2, (3, 1), 2), ((2, 2), (1, (2, 3)))])
def test_the_last_digit_of_a_coordinate_is_not_wrapped(shape):
    """As idx2crd: the coordinate after the last of the shape lies outside of it."""
    coord = cute.idx2crd(0, shape)
    for i in range(2 * m.product(shape)):
        assert coord == cute.idx2crd(i, shape)
        coord = cute.increment_coord(coord, shape)


def test_the_coordinate_after_the_last():
    assert cute.increment_coord((2, 2, 2), (3, 3, 3)) == cute.idx2crd(27, (3, 3, 3)) == (0, 0, 3)


@pytest.mark.parametrize("shape", [(3, 2, 2), (1, 3, 2), (2, (1, 2), 3)])
def test_digits_that_depend_on_a_dynamic_extent_are_dynamic(shape):
    """Another extent at run time would give another digit there; the digits before it are known."""
    count = len(m.leaves(shape))
    for dynamic in product((False, True), repeat=count - 1):
        extents = [Int32(s) if d else s for s, d in zip(m.leaves(shape), (*dynamic, False), strict=True)]
        extents = m.fill_leaves(shape, extents)
        for i in range(m.product(shape)):
            coord = cute.idx2crd(i, shape)
            result = m.leaves(cute.increment_coord(coord, extents))
            assert [as_model(x) for x in result] == m.leaves(cute.idx2crd(i + 1, shape))
            first = next((k for k, d in enumerate(dynamic) if d), count)
            carried = all(c + 1 == s for c, s in zip(m.leaves(coord)[:first], m.leaves(shape), strict=False))
            known = [isinstance(x, int) for x in result]
            assert known == [k < first or not carried for k in range(count)]
    wide = cute.increment_coord((0, 0), (Int64(3), 2))
    assert list(map(type, wide)) == [Int64, Int64]


def signed_layouts(extents=(1, 2, 3, 4), strides=(-8, -4, -3, -2, -1, 0, 1, 2, 3, 4, 8)):
    for shape in product(extents, repeat=2):
        for stride in product(strides, repeat=2):
            yield Layout(shape, stride)


def test_the_coordinate_of_an_offset_leads_back_to_it():
    """For every offset of the layout, whatever the signs of its strides."""
    for a in signed_layouts():
        layout = as_cute(a)
        for offset in set(m.offsets(a)):
            coord = layout.get_flat_coord(offset)
            assert all(0 <= c < s for c, s in zip(coord, a.shape, strict=True)), (str(a), offset, coord)
            assert layout(coord) == layout(layout.get_1d_coord(offset)) == offset, (str(a), offset, coord)


def test_the_coordinate_of_an_offset_in_a_large_layout_of_both_signs():
    layout = L("(8388608,(2,4)):(-1,(8388608,-16777216))")
    for i in (0, 5, 8388607, 8388608, 2 * 8388608 + 3, 8 * 8388608 - 1):
        assert layout.get_1d_coord(layout(i)) == i


# ---- divisions of extents --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b", "answer"), [(6, 4, 2), (4, 6, 1), (7, 2, 4), (12, 4, 3), (5, 7, 1)])
def test_division_of_extents_unchecked(a, b, answer):
    """CuTe C++ rounds up where it does not know the extents."""
    assert int(unchecked(cute.shape_div, Int32(a), b)) == int(unchecked(cute.shape_div, a, Int32(b))) == answer
    assert int(unchecked(cute.shape_div, Int32(a), Int32(b))) == answer
    if a % b and b % a:
        with pytest.raises(LayoutError, match="divides the other"):
            cute.shape_div(Int32(a), b)
        with pytest.raises(LayoutError, match="divides the other"):
            unchecked(cute.shape_div, a, b)


def test_division_of_tuples_of_extents_unchecked():
    assert tuple(map(int, unchecked(cute.shape_div, (Int32(6), Int32(4)), 4))) == (2, 4)
    assert tuple(map(int, unchecked(cute.shape_div, (Int32(6), Int32(10)), (4, 4)))) == (2, 3)


# ---- complements -----------------------------------------------------------------------------------------------------


def test_an_admissible_layout_has_a_complement_that_fills_the_cotarget():
    """Also where an extent is 1 at run time only, whose stride complement has to go by."""
    for extents, strides in product(product((1, 2, 3), repeat=2), product((1, 2, 3, 4, 6, 12), repeat=2)):
        for dynamic in (frozenset(), frozenset({0}), frozenset({0, 1})):
            a = Layout(extents, strides)
            layout = as_cute(a, dynamic)
            for cotarget in (1, 6, 12, 24, 30):
                if not cute.is_admissible(layout, cotarget):
                    continue
                both = m.join([a, as_model(cute.complement(layout, cotarget))])
                assert sorted(m.offsets(both)) == list(range(cotarget)), (str(layout), cotarget)


def test_an_extent_of_1_at_run_time_counts_with_its_stride():
    layout = cute.make_layout(Int32(1), stride=12)
    assert cute.size(cute.complement(layout, 263)) == 264
    assert not cute.is_admissible(layout, 263)
    assert cute.is_admissible(layout, 264)
    assert cute.is_admissible(L("1:12"), 263)
