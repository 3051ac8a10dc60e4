"""Tuples that hold layouts, and division by layouts."""

from __future__ import annotations

from itertools import product

import pytest

from model import layouts as m
from model.layouts import Layout
from strategies import as_cute, as_model
from tilewright import Int32, LayoutError, cute

L = cute.parse
A, B = L("(4,(2,3)):(1,(4,8))"), L("5:2")
S = L("S<2,0,3> o 0 o (8,4):(4,1)")


def test_sizes_and_shapes():
    assert cute.shape((A, B)) == ((4, (2, 3)), 5)
    assert cute.shape((A, (B, 7), [S])) == ((4, (2, 3)), (5, 7), ((8, 4),))
    assert cute.shape((A, B), mode=[0, 1]) == (2, 3)
    assert (cute.rank((A, B)), cute.rank((A, B), mode=[0]), cute.rank[0, 1]((A, B))) == (2, 2, 2)
    assert (cute.size((A, B)), cute.size((A, B), mode=[1]), cute.size[0, 1]((A, (B,)))) == (120, 5, 6)
    assert cute.depth((A, B)) == 3
    assert cute.size((cute.make_layout(Int32(3)), 2)) == 6


def test_a_tensor_in_a_tuple_counts_with_its_shape():
    tensor = cute.make_identity_tensor((3, 4))
    assert cute.shape((tensor, A)) == ((3, 4), (4, (2, 3)))
    assert cute.get((tensor, A), mode=[1, 0]) == L("4:1")


def test_modes():
    assert cute.get((A, B), mode=[0]) is A
    assert cute.get((A, (B, 3)), mode=[0, 1]) == L("(2,3):(4,8)")
    assert cute.get((A, (B, 3)), mode=[1, 1]) == 3
    assert cute.get[1, 0]((A, (S, 3))) is S
    assert cute.flatten((A, ((B, 3), S))) == (A, B, 3, S)
    assert cute.flatten(((A,),)) == (A,)
    for mode in ([2], [-1], [1, 1]):
        with pytest.raises(LayoutError, match="does not exist"):
            cute.get((A, B), mode=mode)


def test_what_is_no_layout_is_still_refused():
    for wrong in ((A, None), (A, "x"), (A, 1.5)):
        with pytest.raises(TypeError, match="integer"):
            cute.size(wrong)


# ---- division by layouts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "tiler", "tiles"),
    [
        ((8, 16), "((4,8)):((1,4))", 4),
        ((16, 32), "(4,8):(1,4)", 16),
        (24, "(2,2):(1,6)", (3, 2)),
        ((8, (4, 6)), "4:1", 48),
        (10, "4:1", 3),
    ],
)
def test_tiles_of_a_layout(shape, tiler, tiles):
    """Printed by CuTe's headers, but for the shapes of one mode."""
    assert cute.ceil_div(shape, L(tiler)) == tiles
    assert cute.ceil_div(cute.make_layout(shape), L(tiler)) == tiles


def test_tiles_of_a_layout_are_the_rest_of_its_division():
    """The second mode of zipped_divide, wherever that exists; it divides the coalesced shape, so no mode may merge."""
    found = 0
    for extents, strides, shape in product(
        product((1, 2, 3, 4), repeat=2), product((1, 2, 3, 4, 8), repeat=2), (12, 24, (4, 6), (2, 3, 4), (6, 2, 2))
    ):
        tiler = as_cute(Layout(extents, strides))
        try:
            rows = cute.make_ordered_layout(shape, tuple(reversed(range(cute.rank(shape)))))
            rest = cute.zipped_divide(rows if isinstance(shape, tuple) else cute.make_layout(shape), tiler)
        except LayoutError:
            continue
        found += 1
        assert cute.size(cute.ceil_div(shape, tiler)) == cute.size(rest, mode=[1])
    assert found > 300


def test_tiles_mode_by_mode():
    assert cute.ceil_div((16, 32, 5), (L("4:2"), 8)) == ((2, 2), 4, 5)
    assert cute.ceil_div((16, (4, 6)), (None, L("(2,2):(1,4)"))) == (16, (2, 3))
    for shape, tiler in ((16, (L("4:1"), 2)), ((8, 8), (L("4:1"), 2, 2))):
        with pytest.raises(LayoutError, match="the tiler"):
            cute.ceil_div(shape, tiler)


def test_too_few_tiles_are_made_up_for():
    """Divided mode by mode, (4,12) has too few places for the tile; within the product it has enough."""
    assert cute.ceil_div((4, 12), L("3:2")) == (2, 8)
    with cute.unchecked():
        assert cute.ceil_div((4, 12), L("3:2")) == (2, 6)


def test_layouts_that_divide_evenly():
    """size(a) == size(b) * size(ceil_div(a, b))"""
    assert cute.evenly_divides((8, 16), L("((4,8)):((1,4))"))
    assert cute.evenly_divides(24, L("(2,2):(1,6)"))
    assert cute.evenly_divides((4, 12), L("3:2"))
    assert not cute.evenly_divides(10, L("4:1"))
    assert cute.evenly_divides((16, 32), (L("4:2"), 8))


# ---- complements within tuples ---------------------------------------------------------------------------------------


def test_complement_within_a_tuple_reaches_its_end():
    """All small cases: CuTe's answer where it reaches the end, else that for the product."""
    mended = admissible = 0
    layouts = [Layout(s, d) for s in range(1, 7) for d in range(1, 9)]
    for a, cotarget in product(layouts, product((2, 3, 4, 6, 8, 9, 12), repeat=2)):
        layout, end = as_cute(a), m.product(cotarget)
        with cute.unchecked():
            given = as_model(cute.complement(layout, cotarget))
        whole = as_model(cute.complement(layout, end))
        result = as_model(cute.complement(layout, cotarget))
        if m.size(given) >= m.size(whole):
            assert result == given
            assert m.offsets(given)[: m.size(whole)] == m.offsets(whole)
        else:
            mended += 1
            admissible += bool(cute.is_admissible(layout, end))
            assert result == whole
    assert mended > 300
    assert admissible > 20


# ---- thread-value layouts --------------------------------------------------------------------------------------------


def test_thread_value_layouts_have_every_thread_and_value():
    """M(tv(t, v)) = t + |thr| * v, or the first place where CuTe's answer breaks it."""
    held = refused = 0
    modes = [Layout(s, d) for s, d in product((1, 2, 3, 4), (1, 2, 8))]
    for thr, val in product(modes, repeat=2):
        tile = None
        try:
            tile = cute.raked_product(as_cute(thr), as_cute(val))
            _, tv = cute.make_layout_tv(as_cute(thr), as_cute(val))
        except LayoutError as error:
            refused += tile is not None
            if tile is not None and error.counterexample is None and "CuTe rejects it too" not in str(error):
                raise
            continue
        held += 1
        assert [tile(tv(i)) for i in range(cute.size(tv))] == list(range(m.size(thr) * m.size(val)))
    assert held > 20
    assert refused > 20


def test_thread_value_layout_of_threads_with_gaps():
    with pytest.raises(LayoutError) as raised:
        cute.make_layout_tv(L("12:8"), L("2:1"))
    assert tuple(raised.value.counterexample) == (2, 8, 2)
    with cute.unchecked():
        assert str(cute.make_layout_tv(L("12:8"), L("2:1"))[1]) == "(12,2):(1,12)"
