"""Results of constructors, coordinates and images as CuTe's headers and documentation give them."""

from __future__ import annotations

import pytest

import tilewright as tw
from model.checks import evaluate
from tilewright import cute

L = cute.parse
Int32 = tw.Int32


CONSTRUCTORS = [
    ("make_layout((24, 1))", "(24,1):(1,0)"),
    ("make_layout((4, 8), stride=(8, 1))", "(4,8):(8,1)"),
    ("make_layout([L('(2,4):(1,2)'), L('2:8')])", "((2,4),2):((1,2),8)"),
    ("make_identity_layout((4, 3))", "(4,3):(1@0,1@1)"),
    ("make_identity_layout(4)", "4:1"),
    ("make_identity_layout((2, (3, 4), 5))", "(2,(3,4),5):(1@0,(1@0@1,1@1@1),1@2)"),
    ("make_ordered_layout((4, 32), order=(1, 0))", "(4,32):(32,1)"),
    ("make_ordered_layout((4, 32), order=(0, 1))", "(4,32):(1,4)"),
    ("make_layout_like(L('(4,8):(16,2)'))", "(4,8):(8,1)"),
    ("make_layout_like(L('(4,8):(0,2)'))", "(4,8):(0,1)"),
    ("make_composed_layout(make_swizzle(3, 3, 3), 0, L('(8,64):(64,1)'))", "S<3,3,3> o 0 o (8,64):(64,1)"),
    ("make_swizzle(3, 4, 3)", "S<3,4,3>"),
    ("make_swizzle(0, 2, 5)", "S<0,4,3>"),
    ("recast_layout(16, 8, make_layout((2, 3, 4)))", "(1,3,4):(1,1,3)"),
    ("tile_to_shape(L('(2,2):(1,2)'), (8, 8), (0, 1))", "((2,4),(2,4)):((1,4),(2,16))"),
    ("get_swizzle_portion(L('(8,64):(64,1)'))", "S<0,4,3>"),
    ("get_swizzle_portion(composition(make_swizzle(3, 3, 3), L('(8,64):(64,1)')))", "S<3,3,3>"),
    ("get_nonswizzle_portion(composition(make_swizzle(3, 3, 3), L('(8,64):(64,1)')))", "(8,64):(64,1)"),
]


# thread layout, value layout, tiler, layout of (thread, value)
TV = [
    ("(2,3):(3,1)", "(2,2):(2,1)", (4, 6), "((3,2),(2,2)):((8,2),(4,1))"),
    ("(4,32):(32,1)", "(4,8):(8,1)", (16, 256), "((32,4),(8,4)):((128,4),(16,1))"),
    ("(4,64):(64,1)", "(16,8):(8,1)", (64, 512), "((64,4),(8,16)):((512,16),(64,1))"),
]


@pytest.mark.parametrize(("expression", "expected"), CONSTRUCTORS)
def test_value(expression, expected):
    assert str(evaluate(expression)) == expected


@pytest.mark.parametrize(("threads", "values", "tiler", "layout"), TV)
def test_make_layout_tv(threads, values, tiler, layout):
    got_tiler, got = cute.make_layout_tv(L(threads), L(values))
    assert (got_tiler, str(got)) == (tiler, layout)


def test_offsets_and_coordinates():
    layout = L("(4,3):(3,1)")
    assert layout.get_hier_coord(5) == (1, 2)
    assert layout.get_flat_coord(5) == (1, 2)
    assert layout.get_1d_coord(5) == 9
    assert cute.idx2crd(5, (4, 3)) == (1, 1)
    assert L("(2,4):(2,2)")(9) == 10  # past the size the last mode goes on


def test_image_mask():
    layout = L("(4,4):(1,4)")
    assert int(cute.make_layout_image_mask(layout, (1, 2), 0)) == 0b1111 << 8
    assert int(cute.make_layout_image_mask(layout, (1, 2), 1)) == 0b0010_0010_0010_0010
    with pytest.raises(ValueError, match="16"):
        cute.make_layout_image_mask(L("(4,8):(1,4)"), (0, 0), 0)


def test_composed_with_a_function():
    layout = cute.make_composed_layout(lambda offset: 100 - offset, 3, L("(2,4):(4,1)"))
    assert [layout(i) for i in range(8)] == [100 - 3 - o for o in (0, 4, 1, 5, 2, 6, 3, 7)]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("make_layout((4, 8), stride=(1, (4, 2)))", "shape and stride must be congruent"),
        ("make_layout((4, 0))", "Expected size in shape to be strictly positive, but got 0"),
        ("make_layout((4, -2))", "Expected size in shape to be strictly positive, but got -2"),
        ("get(L('(4,8):(1,4)'), mode=[2])", ""),
    ],
)
def test_refused(expression, message):
    with pytest.raises(ValueError, match=message or None):
        evaluate(expression)
