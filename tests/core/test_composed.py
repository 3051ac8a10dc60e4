"""Composed layouts case by case: CuTe's own answers, what is refused of them, and what large ones are decided by.

CuTe's answers were printed by its C++ headers.
"""

from __future__ import annotations

import pytest

from tilewright import Float32, Int32, LayoutError, cute

L = cute.parse


def own(operation, *args):
    """CuTe's answer."""
    with cute.unchecked():
        return operation(*args)


def refused(operation, *args):
    with pytest.raises(LayoutError) as error:
        operation(*args)
    return error.value.counterexample


# ---- slices ----------------------------------------------------------------------------------------------------------

CARRYING = "S<2,2,-3> o 8 o (4,(1,4,2),1):(8,(0,2,1),0)"


def test_cutes_slice_joins_offsets_by_xor():
    coord = (3, (0, None, None), 0)
    layout, offset = own(cute.slice_and_offset, coord, L(CARRYING))
    assert (str(layout), offset) == ("((2,2),2):((2,36),1)", 16)
    assert refused(cute.slice_and_offset, coord, L(CARRYING)) == (0, 16, 32)


def test_a_dynamic_mode_above_the_period_belongs_outside():
    layout = cute.make_composed_layout(cute.make_swizzle(1, 1, -1), 5, cute.make_layout((Int32(4), 8), stride=(16, 2)))
    sliced, offset = own(cute.slice_and_offset, (1, None), layout)
    assert (str(sliced), offset) == ("S<1,1,-1> o 5 o (8):(2)", 16)


def test_slices_with_dynamic_extents_lose_no_elements():
    layout = cute.composition(cute.make_swizzle(3, 3, 3), cute.make_layout((Int32(12), 64), stride=(64, 1)))
    assert int(cute.size(own(cute.slice_, layout, (None, 0)))) == 8
    for cut in (cute.slice_, lambda layout, coord: cute.slice_and_offset(coord, layout), lambda t, c: t(c)):
        with pytest.raises(LayoutError, match="of size 8, but the slice has size 12"):
            cut(layout, (None, 0))
    memory = cute.make_rmem_tensor(1024, Float32)
    with pytest.raises(LayoutError, match="of size 8, but the slice has size 12"):
        cute.make_tensor(memory.iterator, layout)[None, 0]
    whole = cute.composition(cute.make_swizzle(3, 3, 3), cute.make_layout((Int32(8), 64), stride=(64, 1)))
    column = cute.slice_(whole, (None, 1))
    assert [int(column(i)) for i in range(8)] == [int(whole((i, 1))) - int(whole((0, 1))) for i in range(8)]


LARGE = "(8388608,8,3):(1,8388608,67108864)"


def test_large_slices_are_decided_by_their_bits():
    sliced, offset = cute.slice_and_offset((None, None, 1), L(f"S<3,20,3> o 0 o {LARGE}"))
    assert (str(sliced), offset) == ("S<3,20,3> o 0 o (8388608,8):(1,8388608)", 67108864)
    # What CuTe gives counts up to 2^20 - 1 and carries then.
    whole = L("S<3,20,3> o 1 o (8388608,8):(1,8388608)")
    assert refused(cute.slice_and_offset, (None, 3), whole)[0] == (1 << 20) - 1
    # Rows of 3072 and columns of 5000 elements: the odd digits are walked.
    rows = "(3072,5000,3):(8192,1,536870912)"
    sliced, offset = cute.slice_and_offset((None, None, 1), L(f"S<3,3,3> o 0 o {rows}"))
    assert (str(sliced), offset) == ("S<3,3,3> o 0 o (3072,5000):(8192,1)", 536870912)


def test_large_slices_that_stay_open_are_refused():
    with pytest.raises(LayoutError, match=r"the first 4194304 of 15000000 coordinates agree .* were not compared"):
        cute.slice_and_offset((None, None, 1), L("S<3,3,3> o 0 o (3000,5000,3):(5000,1,536870912)"))


# ---- composition -----------------------------------------------------------------------------------------------------


def test_a_layout_of_a_swizzled_one_that_leaves_it():
    a, b = L("(2,4):(4,1)"), L("S<1,0,2> o 0 o 8:2")
    assert str(own(cute.composition, a, b)) == "S<1,1,-1> o 0 o 8:1"
    assert refused(cute.composition, a, b) == (6, 2, 10)


def test_a_layout_carries_a_swizzle_where_the_other_leads():
    result = cute.composition(L("(4,2):(8,1)"), L("S<1,2,3> o 0 o 16:2"))
    assert str(result) == "S<1,0,3> o 0 o (2,8):(16,1)"


@pytest.mark.parametrize(
    ("layout", "coordinate"),
    [
        ("(8388608,2,3):(1,16777216,50331648)", 1 << 24),
        ("(8388608,2,3):(1,16777216,67108864)", None),
        ("(8388608,2,4):(1,16777216,33554432)", None),
        ("(4194304,4,2):(1,16777216,33554432)", 1 << 24),
    ],
)
def test_large_swizzles_are_decided_by_their_bits(layout, coordinate):
    """The smallest coordinate lies beyond those that are compared by value."""
    swizzle = cute.make_swizzle(1, 22, 1)
    if coordinate is None:
        assert cute.composition(L(layout), swizzle) == own(cute.composition, L(layout), swizzle)
        return
    at, got, expected = refused(cute.composition, L(layout), swizzle)
    assert at == coordinate
    assert got == own(cute.composition, L(layout), swizzle)(at)
    assert expected == L(layout)(swizzle(at))


def test_a_swizzled_layout_of_a_swizzle():
    """CuTe nests the two."""
    swizzle = cute.make_swizzle(1, 0, 2)
    assert str(cute.composition(L("S<1,0,2> o 0 o 8:1"), swizzle)) == "8:1"
    assert str(cute.composition(L("S<1,1,2> o 16 o 16:1"), swizzle)) == "S<2,0,2> o 16 o 16:1"
    with pytest.raises(LayoutError, match="no single swizzle"):
        cute.composition(L("S<1,1,2> o 3 o 16:1"), swizzle)


def test_a_product_with_a_swizzled_tiler():
    assert str(cute.logical_product(L("4:1"), L("S<1,0,2> o 0 o 8:1"))) == "S<1,2,2> o 0 o (4,8):(1,4)"
    product = cute.logical_product(L("(4,2):(2,1)"), L("S<1,1,2> o 0 o (4,4):(1,4)"))
    assert str(product) == "S<1,4,2> o 0 o ((4,2),(4,4)):((2,1),(8,32))"


# ---- inverses --------------------------------------------------------------------------------------------------------


def test_inverses():
    swizzle = cute.make_swizzle(2, 3, 3)
    assert cute.right_inverse(swizzle) == cute.left_inverse(swizzle) == swizzle
    assert str(cute.left_inverse(L("(4,5):(1,4) o 2 o (8,2):(1,8)"))) == "16:1 o -2 o 20:1"
    # CuTe leaves the swizzle on the right, 8:1 o -8 o S<1,0,2>.
    layout = L("S<1,0,2> o 8 o 8:1")
    inverse = cute.left_inverse(layout)
    assert str(inverse) == "S<1,0,2> o -8 o 8:1"
    assert [inverse(layout(i)) for i in range(8)] == list(range(8))
    with pytest.raises(LayoutError, match="with the swizzle on the left"):
        cute.left_inverse(L("S<3,3,3> o 4 o (8,8):(8,1)"))


def test_large_inverses_are_decided_by_their_bits():
    layout = L("S<3,3,10> o 0 o (4096,4096):(4096,1)")
    assert str(cute.left_inverse(layout)) == "S<3,1,-14> o 0 o (4096,4096):(4096,1)"


def test_common_vectors():
    layout = L("S<2,0,2> o 0 o (4,4):(1,4)")
    assert str(cute.max_common_layout(layout, layout)) == "1:1"
    assert cute.max_common_vector(layout, layout) == 16  # every element, in the order of the offsets
    # The first Y bit moves a Z bit above it: the 8 elements lie at offsets 0 to 9.
    upwards = L("S<1,0,-3> o 0 o 8:1")
    assert own(cute.max_common_vector, upwards, upwards) == 8
    refused(cute.max_common_vector, upwards, upwards)


def test_common_vectors_begin_at_the_offset():
    moved, plain = L("S<2,2,3> o 33 o 32:1"), L("32:1")
    assert own(cute.max_common_vector, moved, plain) == 4
    assert refused(cute.max_common_vector, moved, plain) == (3, 32, 40)
    assert refused(cute.max_common_layout, plain, moved) == (3, 32, 40)
    assert str(cute.max_common_layout(L("S<2,2,3> o 32 o 32:1"), plain)) == "4:1"


# ---- recast, text, and what acts on the outer layout -----------------------------------------------------------------


def test_recast_of_a_layout_inside():
    layout = L("(4,5):(1,4) o 2 o (8,4):(1,8)")
    assert str(cute.recast_layout(32, 16, layout)) == "(2,5):(1,2) o 1 o (4,4):(1,4)"
    assert str(cute.recast_layout(8, 16, layout)) == "(8,5):(1,8) o 4 o (16,4):(1,16)"
    with pytest.raises(LayoutError, match="whose element at 0 begins at 2, but coordinate 0 of it lies at 3"):
        cute.recast_layout(32, 16, L("(4,5):(1,4) o 3 o (8,4):(1,8)"))


def test_text_of_a_tuple_offset_is_read_back():
    layout = cute.make_composed_layout(L("(4,5):(1,4)"), (1, 2), cute.make_identity_layout((2, 2)))
    assert str(layout) == "(4,5):(1,4) o (1,2) o (2,2):(1@0,1@1)"
    assert L(str(layout)) == layout


def test_domain_offset():
    layout = L("S<3,3,3> o 4 o (8,8):(8,1)")
    assert cute.domain_offset((1, 2), layout) == (L("S<3,3,3> o 14 o (8,8):(8,1)"), 0)
    tensor = cute.make_rmem_tensor(L("S<2,0,2> o 0 o (4,4):(1,4)"), Float32)
    for i in range(16):
        tensor[i] = i
    moved = cute.domain_offset((1, 2), tensor)
    assert [moved[0, 0], moved[2, 1]] == [tensor[1, 2], tensor[3, 3]]


def test_what_does_not_look_at_the_swizzle():
    layout = L("S<3,3,3> o 4 o (8,8):(8,1)")
    assert str(cute.nullspace(layout)) == "1:0"
    assert str(cute.make_fragment_like(layout)) == "(8,(8)):(1,(8))"
    assert str(cute.make_fragment_like(layout, Float32).layout) == "(8,(8)):(1,(8))"


def test_alignment():
    assert cute.max_alignment(cute.make_swizzle(2, 3, 3)) == 8
    assert cute.max_alignment(L("S<3,3,3> o 0 o (8,8):(8,1)")) == 8
    assert cute.max_alignment(L("S<3,3,3> o 4 o (8,8):(8,1)")) == 4
    assert cute.max_alignment(L("(4,5):(1,4) o 2 o (8,4):(1,8)")) == 1


def test_an_offset_without_an_opposite():
    """The processor divides -2^63 by -1 by ending the process."""
    with cute.unchecked(), pytest.raises(LayoutError, match="does not fit into 64 bits"):
        cute.left_inverse("S<0,5,2> o -9223372036854775808 o (8,8):(8,-1)")
