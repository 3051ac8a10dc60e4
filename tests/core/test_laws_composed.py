"""The laws of composed layouts on random input, both ways: what is returned is CuTe's answer and right, and what is
refused is wrong."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import strategies as gen
from model import composed
from model import layouts as m
from model.checks import answer, hold
from model.layouts import Layout
from strategies import as_cute, as_model
from test_laws_maps import model_of
from tilewright import LayoutError, cute

OFFSETS = st.sampled_from((0, 0, 0, 1, 2, 4, 8, 16, 3, 24, 33))
SMALL = gen.layouts(max_size=32, negative=False)
BIT_EXTENTS = st.lists(st.sampled_from((2, 4, 8, 16, 32, 3)), min_size=1, max_size=4)


@st.composite
def bit_layouts(draw, max_size=1024):
    """Extents that are powers of two, strides too or a little beside: more elements than are compared by value."""
    extents = draw(BIT_EXTENTS)
    while m.product(tuple(extents)) > max_size:
        extents.pop()
    strides, reached = [0] * len(extents), 1
    for i in gen.shuffled(draw, range(len(extents))):
        strides[i] = gen.element(draw, (reached, reached, reached, reached // 2, reached + 1, 0))
        reached *= extents[i] * gen.element(draw, (1, 1, 2))
    return Layout(tuple(extents), tuple(strides))


def swizzled(parameters, offset, a):
    return cute.make_composed_layout(cute.make_swizzle(*parameters), offset, as_cute(a))


def general(x):
    """A plain or composed layout as the model has it."""
    if isinstance(x, cute.ComposedLayout) and isinstance(x.inner, cute.Layout):
        return {"layout_a": as_model(x.inner), "offset": as_model(x.offset), "layout_b": as_model(x.outer)}
    return model_of(x)


def decided(call, law):
    """The call returns CuTe's own answer where the law holds for it, and refuses it elsewhere."""
    with cute.unchecked():
        own = answer(call)
    if own is None:  # CuTe rejects it
        return
    try:
        result = call()
    except LayoutError:
        assert law(own) is not None, f"{own} is right"
    else:
        assert result == own
        hold(law(result))


def values_are(expected):
    return lambda r: None if composed.values(general(r)) == expected else f"{r} has other values"


@given(gen.swizzles, st.one_of(SMALL, bit_layouts()))
def test_layout_of_a_swizzle(parameters, a):
    swizzle = cute.make_swizzle(*parameters)
    expected = [m.at(a, m.swizzle(*parameters, i)) for i in range(m.size(a))]
    decided(lambda: cute.composition(as_cute(a), swizzle), values_are(expected))


@given(gen.swizzles, SMALL, st.one_of(SMALL, bit_layouts()))
def test_layout_of_a_swizzled_layout(parameters, a, b):
    """Also where the swizzled layout leads out of the other."""
    expected = [m.at(a, m.swizzle(*parameters, v)) for v in m.offsets(b)]
    decided(lambda: cute.composition(as_cute(a), swizzled(parameters, 0, b)), values_are(expected))


@given(SMALL, SMALL, SMALL)
def test_layout_of_a_composed_layout(a, b, c):
    expected = [m.at(a, m.at(b, v)) for v in m.offsets(c)]
    inside = cute.make_composed_layout(as_cute(b), 0, as_cute(c))
    decided(lambda: cute.composition(as_cute(a), inside), values_are(expected))


@given(gen.swizzles, OFFSETS, SMALL, gen.swizzles)
def test_swizzled_layout_of_a_swizzle(outside, offset, a, inside):
    """The form is not CuTe's, which nests the two; where one swizzle does it, it is right."""
    result = answer(cute.composition, swizzled(outside, offset, a), cute.make_swizzle(*inside))
    if result is not None:
        expected = [m.swizzle(*outside, offset + m.at(a, m.swizzle(*inside, i))) for i in range(m.size(a))]
        hold(values_are(expected)(result))


@given(gen.swizzles, OFFSETS, st.one_of(gen.layouts(max_size=64, negative=False), bit_layouts()), gen.marks, st.data())
def test_slice(parameters, offset, a, dynamic, data):
    coord = data.draw(gen.coordinates(a.shape, underscores=True))
    layout = cute.make_composed_layout(cute.make_swizzle(*parameters), offset, as_cute(a, dynamic))
    whole = {"swizzle": parameters, "offset": offset, "layout": a}

    def law(result):
        sliced, rest = model_of(result[0]), as_model(result[1])
        kept = [m.size(mode) for mode in m.kept(a, coord)]
        if m.product(tuple(kept)) != m.size(composed.outer(sliced)):
            return "elements are lost"
        return composed.slice_and_offset(whole, coord, sliced, rest)

    decided(lambda: cute.slice_and_offset(coord, layout), law)


@given(gen.swizzles, OFFSETS, SMALL, SMALL, st.sampled_from(("right_inverse", "left_inverse")))
def test_inverses(parameters, offset, a, inner, name):
    for layout in (swizzled(parameters, 0, a), cute.make_composed_layout(as_cute(inner), offset, as_cute(a))):
        whole = general(layout)
        decided(lambda layout=layout: getattr(cute, name)(layout), lambda r, x=whole: inverts(name, x, general(r)))
    moved = swizzled(parameters, offset, a)
    result = answer(getattr(cute, name), moved)
    if result is not None:
        hold(inverts(name, general(moved), general(result)))


def inverts(name, a, r):
    first, then = (r, a) if name == "right_inverse" else (a, r)
    size = m.size(composed.outer(first))
    return None if [composed.at(then, composed.at(first, i)) for i in range(size)] == list(range(size)) else name


@given(gen.swizzles, gen.swizzles, OFFSETS, OFFSETS, SMALL, SMALL, st.booleans())
def test_max_common_layout(p, q, first, second, a, b, alike):
    x, y = swizzled(p, first, a), swizzled(p if alike else q, second, b)
    for left, right in ((x, as_cute(b)), (as_cute(a), y), (x, y)):

        def law(vector, left=left, right=right):
            at = m.offsets(as_model(vector))
            for whole in (general(left), general(right)):
                found = [composed.at(whole, i) for i in at]
                if [v - found[0] for v in found] != list(range(len(at))):
                    return f"{whole} is not contiguous"
            return None

        decided(lambda left=left, right=right: cute.max_common_layout(left, right), law)


@given(gen.swizzles, OFFSETS, OFFSETS, SMALL, SMALL)
def test_max_common_vector(parameters, first, second, a, b):
    """Some elements lie one after the other in both; a layout goes on with its last stride."""
    x, y = swizzled(parameters, first, a), swizzled(parameters, second, b)
    count = answer(cute.max_common_vector, x, y)
    if count is not None:
        pairs = {(composed.at(general(x), i), composed.at(general(y), i)) for i in range(max(m.size(a), m.size(b)))}
        assert any(all((p + j, q + j) in pairs for j in range(count)) for p, q in pairs)


@given(SMALL, OFFSETS, SMALL, st.sampled_from((2, 3, 4)))
def test_recast_of_a_layout_inside(inner, offset, a, n):
    layout = cute.make_composed_layout(as_cute(inner), offset, as_cute(a))
    narrow, strides = general(layout), m.leaves(a.stride)

    def coordinates(shape, ratios, i):
        """What the coordinate i of the narrow layout is in the wide one, and its place inside the element."""
        at, position, inside, place = 0, 1, 0, 1
        for digit, extent, ratio in zip(m.coordinates(i, shape[0]), m.leaves(shape[1]), ratios, strict=True):
            at, position = at + digit // ratio * position, position * extent
            inside, place = inside + digit % ratio * place, place * ratio
        return at, inside

    def upcast_law(r):
        ratios = [1 if d == 0 else max(1, -(-n // abs(d))) for d in strides]
        for i in range(m.size(a)):
            at, inside = coordinates((a.shape, as_model(r.outer.shape)), ratios, i)
            part = composed.at(narrow, i) - n * composed.at(general(r), at)
            if not 0 <= part < n or (inside == 0 and part):
                return f"{i} lies elsewhere"
        return None

    def downcast_law(r):
        ratios = [n if abs(d) == 1 else 1 for d in strides]
        if m.size(as_model(r.outer)) != n * m.size(a):
            return "the size is wrong"
        for i in range(n * m.size(a)):
            at, inside = coordinates((as_model(r.outer.shape), a.shape), ratios, i)
            if composed.at(general(r), i) != n * composed.at(narrow, at) + inside:
                return f"{i} lies elsewhere"
        return None

    decided(lambda: cute.upcast(layout, n), upcast_law)
    decided(lambda: cute.downcast(layout, n), downcast_law)


@given(gen.swizzles, gen.injective_layouts(max_size=8), gen.injective_layouts(max_size=16))
def test_product_with_a_swizzled_tiler(parameters, a, b):
    needed = max(m.swizzle(*parameters, v) for v in m.offsets(b)) + 1
    places = as_model(cute.complement(as_cute(a), 8 * (max(m.offsets(a)) + 1) * needed))
    expected = [x + m.at(places, m.swizzle(*parameters, v)) for v in m.offsets(b) for x in m.offsets(a)]
    decided(lambda: cute.logical_product(as_cute(a), swizzled(parameters, 0, b)), values_are(expected))


@given(gen.swizzles, OFFSETS, gen.layouts(max_size=64), st.data())
def test_domain_offset(parameters, offset, a, data):
    coord = data.draw(gen.coordinates(a.shape))
    moved, rest = cute.domain_offset(coord, swizzled(parameters, offset, a))
    assert rest == 0
    start = offset + m.at_coord(a, coord)
    assert composed.values(model_of(moved)) == [m.swizzle(*parameters, start + v) for v in m.offsets(a)]
