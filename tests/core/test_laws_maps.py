"""More laws on random input: swizzles, thread-value layouts, coordinates, slices, predicated tiles."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies as gen
from golden.convert import components
from model import composed, laws, values
from model import layouts as m
from model.checks import answer, hold
from model.layouts import Layout
from strategies import ADMISSIBLE, as_cute, as_model
from tilewright import LayoutError, cute

# ---- 10. swizzle -----------------------------------------------------------------------------------------------------


@given(gen.swizzles, st.integers(0, 7))
def test_swizzle_is_an_involution_on_every_block(parameters, block):
    bits, base, shift = parameters
    swizzle, size = cute.make_swizzle(*parameters), 1 << (bits + base + abs(shift))
    inputs = range(block * size, (block + 1) * size)
    outputs = [swizzle(i) for i in inputs]
    assert outputs == [m.swizzle(*parameters, i) for i in inputs]
    assert sorted(outputs) == list(inputs)
    assert [swizzle(i) for i in outputs] == list(inputs)
    assert outputs == [swizzle(i - block * size) + block * size for i in inputs]


@given(gen.swizzles, gen.swizzles)
def test_composition_of_swizzles(a, b):
    result = answer(cute.composition, cute.make_swizzle(*a), cute.make_swizzle(*b))
    if result is not None:
        hold(composed.swizzle_of_swizzle(a, b, sizes(result)))


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_recast_of_swizzles(n):
    for parameters in gen.SWIZZLES:
        swizzle = cute.make_swizzle(*parameters)
        wide, narrow = answer(cute.upcast, swizzle, n), cute.downcast(swizzle, n)
        if wide is not None:
            hold(composed.recast_swizzle(parameters, 1, n, sizes(wide)))
        hold(composed.recast_swizzle(parameters, n, 1, sizes(narrow)))


def sizes(swizzle):
    return swizzle.num_bits, swizzle.num_base, swizzle.num_shift


def model_of(x):
    """A composed layout with a swizzle as the model has it."""
    if not isinstance(x, cute.ComposedLayout):
        return as_model(x)
    return {"swizzle": sizes(x.inner), "offset": as_model(x.offset), "layout": as_model(x.outer)}


@given(gen.swizzles, gen.injective_layouts(max_size=128, gaps=False))
def test_swizzled_layout(parameters, a):
    layout = cute.composition(cute.make_swizzle(*parameters), as_cute(a))
    expected = [m.swizzle(*parameters, v) for v in m.offsets(a)]
    assert [layout(i) for i in range(m.size(a))] == expected
    assert cute.is_injective(layout)


@given(gen.swizzles, gen.layouts(max_size=64, negative=False), st.integers(0, 64), st.data())
def test_slice_of_a_swizzled_layout(parameters, a, offset, data):
    coord = data.draw(gen.coordinates(a.shape, underscores=True))
    layout = cute.make_composed_layout(cute.make_swizzle(*parameters), offset, as_cute(a))
    result = answer(cute.slice_and_offset, coord, layout)
    if result is None:
        return
    sliced, rest = result
    whole = {"swizzle": parameters, "offset": offset, "layout": a}
    hold(composed.slice_and_offset(whole, coord, model_of(sliced), as_model(rest)))


@given(gen.swizzles, gen.injective_layouts(max_size=64, gaps=False))
def test_layout_of_a_swizzle(parameters, a):
    result = answer(cute.composition, as_cute(a), cute.make_swizzle(*parameters))
    if result is not None:
        hold(composed.layout_of_swizzle(a, parameters, model_of(result)))


@given(gen.swizzles, gen.injective_layouts(max_size=64, gaps=False))
def test_inverses_of_a_swizzled_layout(parameters, a):
    layout = cute.composition(cute.make_swizzle(*parameters), as_cute(a))
    whole = {"swizzle": parameters, "offset": 0, "layout": a}
    for name in ("right_inverse", "left_inverse"):
        result = answer(getattr(cute, name), layout)
        if result is not None:
            hold(getattr(composed, name)(whole, model_of(result)))


# ---- 11. thread-value layouts ----------------------------------------------------------------------------------------


@given(gen.products())
def test_layout_tv(case):
    kind, thr, val = case
    result = answer(cute.make_layout_tv, as_cute(thr), as_cute(val), admissible=kind == ADMISSIBLE)
    if result is None:
        return
    tiler, tv = as_model(result[0]), as_model(result[1])
    tile = as_model(cute.raked_product(as_cute(thr), as_cute(val)))
    hold(laws.layout_tv(thr, val, {"layout_mn": tile, "tiler_mn": tiler, "layout_tv": tv}))
    if sorted(m.offsets(tile)) == list(range(m.size(tile))):  # every element of the tile has exactly one owner
        assert m.size(tv) == m.size(thr) * m.size(val) == m.product(tiler)
        assert sorted(m.offsets(tv)) == list(range(m.product(tiler)))


@given(gen.injective_layouts(max_size=16, gaps=False), gen.injective_layouts(max_size=16, gaps=False))
def test_partition_is_a_set_partition(thr, val):
    """Composing a tile with its TV layout deals each element to one thread."""
    tiler, tv = cute.make_layout_tv(as_cute(thr), as_cute(val))
    tile = cute.make_layout(tiler, stride=as_cute(values.compact(as_model(tiler)).stride))
    dealt = as_model(cute.composition(tile, tv))
    rows = m.modes(dealt)
    threads = [{m.add(t, v) for v in m.offsets(rows[1])} for t in m.offsets(rows[0])]
    assert sum(map(len, threads)) == m.product(as_model(tiler))
    assert set().union(*threads) == set(m.offsets(as_model(tile)))


# ---- 12. coordinates and slices --------------------------------------------------------------------------------------


@given(gen.shapes())
def test_coordinates_invert(shape):
    whole, compact = as_cute(shape), values.compact(shape)
    for i in range(m.product(shape)):
        coord = cute.idx2crd(i, whole)
        found = as_model(coord)
        assert m.leaves(found) == m.coordinates(i, shape)
        assert m.congruent(found, shape)
        assert cute.crd2idx(coord, whole) == i == m.at_coord(compact, found)


@given(gen.shapes(max_size=64))
def test_increment(shape):
    coord, seen = cute.idx2crd(0, as_cute(shape)), []
    whole = as_cute(shape)
    for _ in range(m.product(shape)):
        seen.append(coord)
        coord = cute.increment_coord(coord, whole)
    assert seen == [cute.idx2crd(i, whole) for i in range(m.product(shape))]


@given(gen.layouts(), st.data())
def test_value_at_a_coordinate(a, data):
    coord = data.draw(gen.coordinates(a.shape))
    assert as_cute(a)(coord) == cute.crd2idx(coord, as_cute(a)) == m.at_coord(a, coord)


@given(gen.injective_layouts())
def test_offset_to_coordinate(a):
    layout = as_cute(a)
    for i, offset in enumerate(m.offsets(a)):
        assert m.leaves(as_model(layout.get_hier_coord(offset))) == m.coordinates(i, a.shape)
        assert layout.get_1d_coord(offset) == i


@given(gen.layouts(), gen.marks, st.data())
def test_slice(a, dynamic, data):
    coord = data.draw(gen.coordinates(a.shape, underscores=True))
    sliced, offset = cute.slice_and_offset(coord, as_cute(a, dynamic))
    hold(laws.slice_and_offset(a, coord, as_model(sliced), as_model(offset)))
    assert cute.slice_(as_cute(a, dynamic), coord) == sliced


# ---- 13. tiles with predicates ---------------------------------------------------------------------------------------


@st.composite
def tilings(draw):
    shape = tuple(draw(st.lists(st.integers(1, 12), min_size=1, max_size=3)))
    return shape, tuple(draw(st.integers(1, 8)) for _ in shape)


@given(tilings())
def test_predicated_tiles_cover_once(case):
    """The coordinates of the identity tensor, tile by tile, that lie inside: each of the tensor's once."""
    shape, tiler = case
    identity = cute.make_identity_tensor(shape)
    counts = [-(-s // t) for s, t in zip(shape, tiler, strict=True)]
    seen = []
    for tile in product(*map(range, counts)):
        part = cute.local_tile(identity, tiler, tile)
        coords = [part[i] for i in range(cute.size(part))]
        seen += [tuple(as_model(c)) for c in coords if cute.elem_less(c, shape)]
    assert sorted(seen) == sorted(product(*map(range, shape)))


@given(tilings())
def test_tiled_values(case):
    """A ragged division gives the tensor's own values at every coordinate that lies inside."""
    shape, tiler = case
    a = values.compact(shape)
    divided = cute.zipped_divide(as_cute(a), tiler)
    coords = cute.zipped_divide(cute.make_identity_layout(shape), tiler)
    seen = []
    for i in range(cute.size(divided)):
        found = components(coords(i))
        coord = tuple(found.get((k,), 0) for k in range(len(shape)))
        if all(c < s for c, s in zip(coord, shape, strict=True)):
            assert divided(i) == m.at_coord(a, coord)
            seen.append(coord)
    assert len(seen) == len(set(seen)) == m.product(shape)


@given(gen.shapes(max_size=64))
def test_identity_layout_gives_coordinates(shape):
    layout = cute.make_identity_layout(as_cute(shape))
    for i in range(m.product(shape)):
        assert components(layout(i)) == components(cute.idx2crd(i, as_cute(shape)))


# ---- what the generators promise -------------------------------------------------------------------------------------


@given(gen.compositions())
def test_admissible_pairs_stay_inside(case):
    kind, a, b = case
    if kind == ADMISSIBLE:
        assert max(m.offsets(b)) < m.size(a)


def test_nothing_is_refused_for_nothing():
    with pytest.raises(LayoutError):
        cute.composition(as_cute(Layout((3, 4), (4, 1))), as_cute(Layout(4, 2)))
