"""The laws of the algebra on random layouts, each against the brute-force model.

A call either satisfies its law or raises `LayoutError`; it may not raise for operands that are admissible by
construction. `make nightly` runs the same properties on 100 000 examples each.
"""

from __future__ import annotations

from hypothesis import assume, example, given
from hypothesis import strategies as st

import strategies as gen
from model import laws
from model import layouts as m
from model.layouts import Layout
from strategies import ADMISSIBLE, as_cute, as_model
from tilewright import LayoutError, cute


def answer(function, *args, admissible=False):
    """The result, or None where the call refuses."""
    try:
        return function(*args)
    except LayoutError:
        if admissible:
            raise
        return None


def hold(broken):
    assert broken is None, str(broken)


# ---- 1. coalesce -----------------------------------------------------------------------------------------------------


@given(gen.layouts(), gen.marks)
def test_coalesce(a, dynamic):
    once = cute.coalesce(as_cute(a, dynamic))
    result = as_model(once)
    hold(laws.same_function(a, result))
    assert m.depth(result.shape) <= 1
    assert cute.coalesce(once) == once


@given(gen.layouts(), gen.marks)
def test_coalesce_by_mode(a, dynamic):
    assume(isinstance(a.shape, tuple))
    result = as_model(cute.coalesce(as_cute(a, dynamic), tuple(1 for _ in a.shape)))
    assert len(m.modes(result)) == len(m.modes(a))
    for mode, coalesced in zip(m.modes(a), m.modes(result), strict=True):
        hold(laws.same_function(mode, coalesced))


@given(gen.layouts(), gen.marks)
def test_flatten_and_unflatten(a, dynamic):
    layout = as_cute(a, dynamic)
    flat = cute.flatten(layout)
    assert m.pairs(as_model(flat)) == m.pairs(a)
    assert m.depth(as_model(flat).shape) <= 1
    if isinstance(a.shape, tuple):
        assert cute.unflatten(flat, as_cute(a.shape)) == layout


@given(gen.layouts())
def test_filter(a):
    kept, result = as_model(cute.filter_zeros(as_cute(a))), as_model(cute.filter(as_cute(a)))
    hold(laws.same_image(a, kept))
    hold(laws.same_image(a, result))
    assert m.congruent(kept.shape, a.shape)
    assert all(d != 0 or s == 1 for s, d in m.pairs(result))


# ---- 2. and 3. composition -------------------------------------------------------------------------------------------


@given(gen.compositions(), gen.marks, gen.marks)
def test_composition(case, dynamic_a, dynamic_b):
    kind, a, b = case
    static = not dynamic_a and not dynamic_b
    layouts = as_cute(a, dynamic_a), as_cute(b, dynamic_b)
    result = answer(cute.composition, *layouts, admissible=kind == ADMISSIBLE and static)
    if result is not None:
        hold(laws.composition(a, b, as_model(result)))


@given(gen.divisions())
def test_composition_by_mode(case):
    kind, a, tiler = case
    result = answer(cute.composition, as_cute(a), as_cute(tiler), admissible=kind == ADMISSIBLE)
    if result is not None:
        hold(laws.composition_tiler(a, tiler, as_model(result)))


@given(gen.layouts())
def test_identity_is_neutral(a):
    whole = Layout(m.size(a), 1)
    right = as_model(cute.composition(as_cute(a), as_cute(whole)))
    hold(laws.same_function(a, right))
    if all(v >= 0 for v in m.offsets(a)):
        left = as_model(cute.composition(cute.make_layout(max(m.offsets(a)) + 1), as_cute(a)))
        hold(laws.same_function(a, left))


@given(gen.compositions(), gen.compositions())
def test_composition_distributes(one, two):
    """A o (B1, B2) = (A o B1, A o B2) where all three exist."""
    a, b1, b2 = one[1], one[2], two[2]
    layout, both = as_cute(a), as_cute(m.join([b1, b2]))
    whole, parts = (
        answer(cute.composition, layout, both),
        [answer(cute.composition, layout, as_cute(b)) for b in (b1, b2)],
    )
    if whole is not None and None not in parts:
        assert whole == cute.make_layout(parts)


@given(gen.compositions(), st.data())
def test_composition_associates(case, data):
    """(A o B) o C = A o (B o C) where all four exist and C stays inside B."""
    _, a, b = case
    c = data.draw(gen.dividing(b) | gen.layouts(max_size=32, negative=False))
    assume(all(0 <= v < m.size(b) for v in m.offsets(c)))
    x, y, z = as_cute(a), as_cute(b), as_cute(c)
    ab, bc = answer(cute.composition, x, y), answer(cute.composition, y, z)
    if ab is None or bc is None:
        return
    left, right = answer(cute.composition, ab, z), answer(cute.composition, x, bc)
    if left is not None and right is not None:
        hold(laws.same_function(as_model(left), as_model(right)))


# ---- 4. complement ---------------------------------------------------------------------------------------------------


@given(gen.layouts(max_size=64), gen.shapes(max_size=256))
def test_complement(a, cotarget):
    result = answer(cute.complement, as_cute(a), as_cute(cotarget))
    if result is not None:
        hold(laws.complement(a, cotarget, as_model(result)))


@given(gen.injective_layouts(max_size=64), st.integers(1, 4))
def test_admissible_complement_covers(a, copies):
    """Each stride a multiple of the extent below it, the cotarget of the last: nothing is left over, nothing twice."""
    reached = max([s * d for s, d in m.pairs(a) if s > 1], default=1)
    result = as_model(cute.complement(as_cute(a), reached * copies))
    both = m.join([a, result])
    assert sorted(m.offsets(both)) == list(range(reached * copies))
    assert cute.is_admissible(as_cute(a), reached * copies)


@given(gen.layouts(max_size=64))
def test_complement_by_default(a):
    result = answer(cute.complement, as_cute(a))
    if result is not None:
        assert min(m.offsets(a)) >= 0
        hold(laws.complement(a, m.cosize(a), as_model(result)))


# ---- 5. division -----------------------------------------------------------------------------------------------------


def check_divide(form, a, tiler, admissible, dynamic=frozenset()):
    function = getattr(cute, f"{form}_divide")
    result = answer(function, as_cute(a, dynamic), as_cute(tiler), admissible=admissible and not dynamic)
    if result is None:
        return None
    divided = as_model(result)
    hold(laws.divide(form, a, tiler, divided))
    if admissible and not dynamic:
        assert m.size(divided) == m.size(a)
    return divided


@given(gen.divisions(), gen.marks)
def test_logical_divide(case, dynamic):
    kind, a, tiler = case
    check_divide("logical", a, tiler, kind == ADMISSIBLE, dynamic)


@given(gen.divisions())
def test_divides_are_one_function(case):
    """Zipped, tiled and flat regroup the logical result: all four exist or none, and sizes agree."""
    kind, a, tiler = case
    forms = [check_divide(form, a, tiler, kind == ADMISSIBLE) for form in ("logical", "zipped", "tiled", "flat")]
    assert len({f is None for f in forms}) == 1
    assert len({m.size(f) for f in forms if f is not None}) <= 1


# ---- 6. products -----------------------------------------------------------------------------------------------------


@given(gen.products(), st.sampled_from(("logical", "zipped", "tiled", "flat")), gen.marks)
def test_product(case, form, dynamic):
    kind, a, b = case
    function = getattr(cute, f"{form}_product")
    result = answer(function, as_cute(a, dynamic), as_cute(b), admissible=kind == ADMISSIBLE and not dynamic)
    if result is None:
        return
    product = as_model(result)
    hold(laws.multiply(form, a, b, product))
    if m.injective(a) and m.injective(b):
        assert m.injective(product)


@given(gen.products(), st.sampled_from(("blocked", "raked")))
def test_paired_product(case, kind_of_product):
    kind, a, b = case
    function = getattr(cute, f"{kind_of_product}_product")
    result = answer(function, as_cute(a), as_cute(b), admissible=kind == ADMISSIBLE)
    if result is None:
        return
    product = as_model(result)
    hold(laws.paired_product(kind_of_product, a, b, product))
    sizes = [[m.size(x) for x in m.modes(laws.padded(y, len(m.modes(product))))] for y in (a, b)]
    assert [m.size(x) for x in m.modes(product)] == [x * y for x, y in zip(*sizes, strict=True)]


@given(gen.products(), st.data())
def test_tile_to_shape(case, data):
    kind, block, _ = case
    modes = m.modes(block)
    copies = [data.draw(st.integers(1, 3)) for _ in modes]
    order = tuple(data.draw(st.permutations(range(len(modes)))))
    target = tuple(m.size(x) * c for x, c in zip(modes, copies, strict=True))
    result = answer(cute.tile_to_shape, as_cute(block), target, order, admissible=kind == ADMISSIBLE)
    if result is not None:
        hold(laws.tile_to_shape(block, target, order, as_model(result)))


# ---- 7. and 8. inverses and the nullspace ----------------------------------------------------------------------------


@given(gen.layouts(), gen.marks)
def test_right_inverse(a, dynamic):
    result = answer(cute.right_inverse, as_cute(a, dynamic))
    if result is not None:
        hold(laws.right_inverse(a, as_model(result)))


@given(gen.layouts())
def test_left_inverse(a):
    result = answer(cute.left_inverse, as_cute(a))
    if result is not None:
        hold(laws.left_inverse(a, as_model(result)))


@given(gen.injective_layouts(gaps=False))
def test_inverses_of_a_bijection_agree(a):
    left, right = as_model(cute.left_inverse(as_cute(a))), as_model(cute.right_inverse(as_cute(a)))
    assert m.size(right) == m.size(a)
    assert m.offsets(right) == [m.at(left, i) for i in range(m.size(a))]


@given(gen.injective_layouts())
def test_left_inverse_of_an_admissible_layout(a):
    hold(laws.left_inverse(a, as_model(cute.left_inverse(as_cute(a)))))


@given(gen.layouts())
def test_nullspace(a):
    hold(laws.nullspace(a, as_model(cute.nullspace(as_cute(a)))))


@given(gen.layouts(), gen.layouts())
def test_max_common_layout(a, b):
    result = answer(cute.max_common_layout, as_cute(a), as_cute(b))
    if result is not None:
        hold(laws.max_common(a, b, as_model(result)))


# ---- 9. recast -------------------------------------------------------------------------------------------------------

factors = st.sampled_from((1, 2, 3, 4, 8))


@given(gen.layouts(), factors, gen.marks)
def test_upcast(a, n, dynamic):
    result = answer(cute.upcast, as_cute(a, dynamic), n)
    if result is not None:
        hold(laws.upcast(a, n, as_model(result)))


@given(gen.layouts(), factors, gen.marks)
def test_downcast(a, n, dynamic):
    narrow = answer(cute.downcast, as_cute(a, dynamic), n)
    if narrow is None:
        return
    hold(laws.downcast(a, n, as_model(narrow)))
    wide = answer(cute.upcast, narrow, n, admissible=True)
    assert as_model(wide) == a


widths = st.sampled_from((1, 4, 6, 8, 16, 32))


@given(gen.layouts(max_size=64), widths, widths)
@example(Layout((2, 2), (1, 2)), 6, 4)
def test_recast(a, old, new):
    result = answer(cute.recast_layout, new, old, as_cute(a))
    if result is not None:
        hold(laws.recast(a, old, new, as_model(result)))


# ---- 14. sizes -------------------------------------------------------------------------------------------------------


@given(gen.layouts(), gen.marks)
def test_sizes_and_values(a, dynamic):
    layout = as_cute(a, dynamic)
    assert as_model(cute.size(layout)) == m.size(a)
    assert as_model(cute.cosize(layout)) == m.cosize(a)
    if all(d >= 0 for d in m.leaves(a.stride)):
        assert m.cosize(a) == max(m.offsets(a)) + 1
    assert layout.offsets().tolist() == m.offsets(a)
    assert [as_model(layout(i)) for i in range(m.size(a))] == m.offsets(a)


@given(gen.shapes(), st.integers(2, 5))
def test_overflow_is_an_error(shape, count):
    """No product or offset wraps around 2^63."""
    huge = tuple(1 << 31 for _ in range(count))
    total = m.product(shape) << (31 * count)
    result = answer(lambda: cute.size(cute.make_layout((*huge, as_cute(shape)))))
    assert result == total if total < 1 << 63 else result is None


@given(gen.layouts())
def test_text_round_trip(a):
    layout = as_cute(a)
    assert str(layout) == str(a)
    assert cute.parse(str(layout)) == layout


@given(gen.layouts())
def test_image_and_injectivity(a):
    layout, image = as_cute(a), sorted(set(m.offsets(a)))
    assert cute.image(layout).tolist() == image
    assert cute.is_injective(layout) == m.injective(a)
    assert cute.is_bijective(layout) == (sorted(m.offsets(a)) == list(range(m.size(a))))


@given(gen.layouts(max_size=64), gen.layouts(max_size=64) | st.none())
def test_equivalent(a, b):
    if b is None:
        b = as_model(cute.coalesce(as_cute(a)))
    result = cute.equivalent(as_cute(a), as_cute(b))
    broken = laws.same_function(a, b)
    assert bool(result) == (broken is None)
    if broken is not None and broken.coordinate is not None:
        assert tuple(result.witness) == (broken.coordinate, broken.expected, broken.got)
