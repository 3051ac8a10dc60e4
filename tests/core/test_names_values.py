"""Results of constructors and of the algebra as CuTe's headers and documentation give them."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright import cute

L = cute.parse
Int32 = tw.Int32


def evaluate(expression):
    return eval(expression, {**vars(cute), "L": L, "Int32": Int32})


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

ALGEBRA = [
    ("coalesce(L('(2,(1,6)):(1,(6,2))'))", "12:1"),
    ("coalesce(L('((2,(3,4)),(3,2),1):((4,(8,24)),(2,6),12)'))", "(24,6):(4,2)"),
    ("coalesce(L('(2,(1,6)):(1,(6,2))'), target_profile=(1, 1))", "(2,6):(1,2)"),
    ("coalesce(L('(2,1):(3,1)'))", "2:3"),
    ("composition(L('(6,2):(8,2)'), L('(4,3):(3,1)'))", "((2,2),3):((24,2),8)"),
    ("composition(L('(10,2):(16,4)'), L('(5,4):(1,5)'))", "(5,(2,2)):(16,(80,4))"),
    ("composition(L('20:2'), L('(5,4):(4,1)'))", "(5,4):(8,2)"),
    ("composition(L('(12,(4,8)):(59,(13,1))'), (3, 8))", "(3,(4,2)):(59,(13,1))"),
    ("composition(L('(4,8):(1,4)'), (2, 4))", "(2,4):(1,4)"),
    ("complement(L('4:2'), 24)", "(2,3):(1,8)"),
    ("complement(L('(2,2):(1,6)'), 24)", "(3,2):(2,12)"),
    ("complement(L('(2,2):(4,1)'), 24)", "(2,3):(2,8)"),
    ("complement(L('(4,6):(1,4)'), 24)", "1:0"),
    ("complement(L('4:1'), 4)", "1:0"),
    ("complement(L('4:1'), (6, 4))", "8:4"),
    ("complement(L('4:1'), 10)", "3:4"),
    ("complement(L('4:0'), 8)", "8:1"),
    ("complement(L('(2,2):(1,3)'), 12)", "2:6"),
    ("right_inverse(L('(3,2):(4,1)'))", "2:3"),
    ("left_inverse(L('(3,2):(4,1)'))", "(4,3):(3,1)"),
    ("logical_divide(L('(4,2,3):(2,1,8)'), L('4:2'))", "((2,2),(2,3)):((4,1),(2,8))"),
    ("logical_divide(L('(4,6):(1,4)'), L('6:1'))", "(6,4):(1,6)"),
    ("logical_divide(L('(4,6):(1,4)'), L('(2,3):(1,2)'))", "((2,3),4):((1,2),6)"),
    ("zipped_divide(L('(2048,2048):(2048,1)'), (1, 8))", "((1,8),(2048,256)):((0,1),(2048,8))"),
    ("zipped_divide(make_layout((10, 6)), (4, 4))", "((4,4),(3,2)):((1,10),(4,40))"),
    ("logical_product(L('(2,2):(4,1)'), L('6:1'))", "((2,2),(2,3)):((4,1),(2,8))"),
    ("raked_product(L('(32,8):(8,1)'), L('(1,1):(0,0)'))", "((1,32),(1,8)):((0,8),(0,1))"),
]

DIVIDED = {
    "logical": "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))",
    "zipped": "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))",
    "tiled": "((3,(2,4)),3,(2,2)):((177,(13,2)),59,(26,1))",
    "flat": "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))",
}

MULTIPLIED = {
    "blocked": "((2,3),(5,4)):((5,10),(1,30))",
    "raked": "((3,2),(4,5)):((10,5),(30,1))",
    "zipped": "((2,5),(3,4)):((5,1),(10,30))",
    "tiled": "((2,5),3,4):((5,1),10,30)",
    "flat": "(2,5,3,4):(5,1,10,30)",
}

# thread layout, value layout, tiler, layout of (thread, value)
TV = [
    ("(2,3):(3,1)", "(2,2):(2,1)", (4, 6), "((3,2),(2,2)):((8,2),(4,1))"),
    ("(4,32):(32,1)", "(4,8):(8,1)", (16, 256), "((32,4),(8,4)):((128,4),(16,1))"),
    ("(4,64):(64,1)", "(16,8):(8,1)", (64, 512), "((64,4),(8,16)):((512,16),(64,1))"),
]


@pytest.mark.parametrize(("expression", "expected"), CONSTRUCTORS + ALGEBRA)
def test_value(expression, expected):
    assert str(evaluate(expression)) == expected


@pytest.mark.parametrize("form", DIVIDED)
def test_divide(form):
    tiler = (L("3:3"), L("(2,4):(1,8)"))
    assert str(getattr(cute, f"{form}_divide")(L("(9,(4,8)):(59,(13,1))"), tiler)) == DIVIDED[form]


@pytest.mark.parametrize("form", MULTIPLIED)
def test_product(form):
    assert str(getattr(cute, f"{form}_product")(L("(2,5):(5,1)"), L("(3,4):(1,3)"))) == MULTIPLIED[form]


@pytest.mark.parametrize(("threads", "values", "tiler", "layout"), TV)
def test_make_layout_tv(threads, values, tiler, layout):
    got_tiler, got = cute.make_layout_tv(L(threads), L(values))
    assert (got_tiler, str(got)) == (tiler, layout)


DYNAMIC = [
    ("composition(make_layout((6, 2), stride=(Int32(8), 2)), L('(4,3):(3,1)'))", "((2,2),3):((?{div=3},2),?)"),
    ("complement(make_layout(Int32(3), stride=2), 6)", "(2,?):(1,?{div=2})"),
    ("complement(L('3:2'), Int32(12))", "(2,?):(1,6)"),
    ("coalesce(make_layout((Int32(2), Int32(1)), stride=(Int32(3), Int32(1))))", "(?,?):(?,?)"),
    ("coalesce(make_layout((Int32(4),), stride=(Int32(3),)))", "?:?"),
    (
        "coalesce(make_layout((4, 5, Int32(7), 3, 2), stride=(1, 4, Int32(2), 1, 3)))",
        "(20,?,6):(1,?,1)",
    ),
]


@pytest.mark.parametrize(("expression", "expected"), DYNAMIC)
def test_dynamic_text(expression, expected):
    assert str(evaluate(expression)) == expected


# Values of results with run-time integers: what a program prints when it runs.
DYNAMIC_VALUES = [
    ("(6,2):(8,2)", "(4,3):(3,1)", "((2,2),(3,1)):((24,2),(8,2))"),
    ("(10,2):(16,4)", "(5,4):(1,5)", "((5,1),(2,2)):((16,4),(80,4))"),
]


def run_time(x):
    if isinstance(x, tuple):
        return tuple(map(run_time, x))
    return Int32(x) if isinstance(x, int) else x


def known(x):
    if isinstance(x, tuple):
        return "(" + ",".join(map(known, x)) + ")"
    return str(x if isinstance(x, int) else x._value)


@pytest.mark.parametrize(("a", "b", "expected"), DYNAMIC_VALUES)
def test_composition_of_run_time_integers(a, b, expected):
    a, b = (cute.make_layout(run_time(L(x).shape), stride=run_time(L(x).stride)) for x in (a, b))
    result = cute.composition(a, b)
    assert f"{known(result.shape)}:{known(result.stride)}" == expected


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
        ("composition(L('(4,8):(1,4)'), (2, 4, 2))", ""),
        ("zipped_divide(L('(4,8):(1,4)'), (2, 4, 2))", ""),
        ("complement(L('(4,4):(1,1)'), 16)", ""),
        ("composition(L('(4,3):(1,8)'), L('6:1'))", ""),
        ("composition(make_layout((Int32(4), Int32(3)), stride=(1, 8)), L('6:1'))", ""),
        ("logical_divide(L('(6,4):(4,1)'), L('4:1'))", ""),
        ("tile_to_shape(L('(4,4):(1,4)'), (14, 8), (0, 1))", ""),
    ],
)
def test_refused(expression, message):
    with pytest.raises(ValueError, match=message or None):
        evaluate(expression)


def test_over_covering_answer_of_cute():
    with cute.unchecked():
        assert str(cute.logical_divide(L("(6,4):(4,1)"), L("4:1"))) == "(4,(2,4)):(4,(16,1))"
