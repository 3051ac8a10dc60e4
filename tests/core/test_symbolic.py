"""The algebra with leaves that are known at run time only: the answer's structure, and its values once they are known.

Every operation is done twice: with dynamic integers whose values are known, where laws are not checked, and while a
function is traced, with values of the program. Text is compared as it is, values by running the program.
"""

from __future__ import annotations

from hypothesis import assume, given

import strategies as gen
from drawing import composite, integers
from program_evaluator import evaluate
from tilewright import Int32, Int64, LayoutError, _core, cute

program = _core.program


def leaves_of(x):
    """The leaves of tuples, layouts and composed layouts, in order."""
    if isinstance(x, cute.ComposedLayout):
        x = (x.inner, x.offset, x.outer)
    if isinstance(x, cute.Layout):
        x = (x.shape, x.stride)
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in leaves_of(part)]
    if isinstance(x, cute.ScaledBasis):
        return [x.value]
    return [x]


def mapped(f, x):
    """The same with f of every dynamic leaf."""
    if isinstance(x, cute.ComposedLayout):
        return cute.make_composed_layout(mapped(f, x.inner), mapped(f, x.offset), mapped(f, x.outer))
    if isinstance(x, cute.Layout):
        return cute.make_layout(mapped(f, x.shape), stride=mapped(f, x.stride))
    if isinstance(x, tuple):
        return tuple(mapped(f, part) for part in x)
    if isinstance(x, cute.ScaledBasis):
        value = mapped(f, x.value)
        return x if value is x.value else cute.ScaledBasis(value, x.mode)
    return f(x) if isinstance(x, (Int32, Int64)) else x


def compare(function, *operands):
    """The same answer by values and by a trace; False where the operands are refused."""
    try:
        with cute.unchecked():
            expected = function(*operands)
    except LayoutError:
        return False
    values = [leaf for leaf in leaves_of(list(operands)) if isinstance(leaf, (Int32, Int64))]
    with program.Builder() as builder:
        parameters = builder.begin_function("f", True, [program.number(type(v).__name__) for v in values], [])
        symbols = iter([type(v)._make(s, v._div) for s, v in zip(parameters, values, strict=True)])
        try:
            with cute.unchecked():  # as they are not where a number is a value of the program, but are where none is
                found = function(*(mapped(lambda leaf: next(symbols), x) for x in operands))
        except LayoutError as error:
            # What the static integers break is refused, though an extent could be 1 when the kernel runs; and an offset
            # is not searched for.
            if "CuTe rejects it too" not in str(error) and "cannot be searched" not in str(error):
                raise
            return False
        text, names = str(found), [leaf._value for leaf in leaves_of(found) if getattr(leaf, "is_traced", False)]
        leaves = [leaf if not getattr(leaf, "is_traced", False) else None for leaf in leaves_of(found)]
        keys = [f"%{symbol.id}" for symbol in names]
        builder.end_function()
        known = evaluate(builder.finish(), [type(v)(int(v)) for v in values])
    assert text == str(expected), function
    numbers = iter([int(known[key]) for key in keys])
    for leaf, wanted in zip(leaves, leaves_of(expected), strict=True):
        if leaf is None:
            assert next(numbers) == int(wanted), function
        elif isinstance(wanted, (int, Int32, Int64)):
            assert int(leaf) == int(wanted), function
    return True


def compare_each(functions, *operands):
    """Each function of the same operands: drawing them takes longer than comparing. One has to answer."""
    answered = [compare(function, *operands) for function in functions]
    assume(any(answered))


ANY, ONE, NONE = "any", "one", "none"  # of the strides: which may be dynamic


def marked(draw, layout, strides=ANY):
    """A layout, or a shape, with some leaves dynamic, of 32 or 64 bits: the stride of a layout's ONE mode, or NONE."""
    whole = gen.as_cute(layout)

    def leaf(x):
        kind = gen.element(draw, (None, None, Int32, Int64))
        return x if kind is None or not isinstance(x, int) else kind(x)

    if not isinstance(whole, cute.Layout):
        return cute.transform_leaf(leaf, whole)
    shape, stride = cute.transform_leaf(leaf, whole.shape), whole.stride
    if strides == ANY or (strides == ONE and len(leaves_of(stride)) == 1):
        stride = cute.transform_leaf(leaf, stride)
    return cute.make_layout(shape, stride=stride)


@composite
def marked_layouts(draw, layouts, strides=ANY):
    return marked(draw, draw(layouts), strides)


@composite
def marked_compositions(draw):
    _, a, b = draw(gen.compositions())
    return marked(draw, a), marked(draw, b)


@given(marked_compositions())
def test_composition(pair):
    compare_each([cute.composition], *pair)


@given(marked_layouts(gen.layouts(negative=False)))
def test_of_one_layout(layout):
    functions = [
        cute.coalesce,
        cute.filter,
        cute.filter_zeros,
        cute.flatten,
        cute.size,
        cute.cosize,
        cute.coshape,
        cute.max_alignment,
        cute.make_layout_like,
        cute.nullspace,
    ]
    compare_each(functions, layout)


# An inverse of a layout that is not injective depends on the order in which equal strides happen to be sorted.
@given(marked_layouts(gen.injective_layouts()))
def test_right_inverse(layout):
    compare_each([cute.right_inverse], layout)


# Dynamic strides are refused by left_inverse, and by complement and products where there are several modes.
@given(marked_layouts(gen.injective_layouts(), NONE))
def test_left_inverse(layout):
    compare_each([cute.left_inverse], layout)


@given(marked_layouts(gen.layouts(negative=False), ONE))
def test_complement(layout):
    compare_each([cute.complement], layout)


@composite
def marked_divisions(draw):
    _, a, tiler = draw(gen.divisions())
    return marked(draw, a), gen.as_cute(tiler)


@given(marked_divisions())
def test_divisions(operands):
    compare_each([cute.logical_divide, cute.zipped_divide, cute.tiled_divide, cute.flat_divide], *operands)


@composite
def marked_products(draw):
    _, a, b = draw(gen.products())
    return marked(draw, a, ONE), marked(draw, b)


@given(marked_products())
def test_products(operands):
    functions = [cute.logical_product, cute.zipped_product, cute.blocked_product, cute.raked_product]
    compare_each(functions, *operands)


@composite
def indexed_layouts(draw):
    layout = draw(gen.layouts(negative=False))
    coord = gen.coordinate(draw, layout.shape, underscores=True)
    return gen.as_cute(layout), marked(draw, layout), draw(integers(0, 200)), coord


@given(indexed_layouts())
def test_offsets_coordinates_and_slices(case):
    layout, whole, index, coord = case
    inside = Int32(index % int(cute.size(layout)))
    dynamic = cute.transform_leaf(lambda c: c if c is None else Int32(c), coord)
    compared = [
        compare(lambda a, i: a(i), whole, Int32(index)),
        compare(lambda a, i: cute.idx2crd(i, a.shape), whole, Int32(index)),
        compare(lambda a, i: a.get_hier_coord(i), layout, inside),
    ]
    if cute.has_underscore(dynamic):
        compared.append(compare(lambda a, c: cute.slice_and_offset(c, a), whole, dynamic))
    else:
        compared.append(compare(lambda a, c: a(c), whole, dynamic))
        compared.append(compare(lambda a, c: cute.crd2idx(c, a.shape), whole, dynamic))
    assume(all(compared))


@composite
def marked_shapes(draw):
    shape = draw(gen.shapes())
    return marked(draw, shape), marked(draw, shape)


@given(marked_shapes())
def test_shapes(shapes):
    whole, tile = shapes
    assume(
        all(
            [
                compare(lambda a: cute.make_layout(a), whole),
                compare(lambda a: cute.make_layout_right(a), whole),
                compare(lambda a: cute.make_identity_layout(a), whole),
                compare(lambda a, b: cute.ceil_div(a, b), whole, tile),
                compare(lambda a, b: cute.round_up(a, b), whole, tile),
                compare(lambda a: cute.product_each(a), whole),
            ]
        )
    )


@composite
def swizzled_layouts(draw):
    bits, base, shift = (draw(integers(0, 3)) for _ in range(3))
    rows, columns = gen.element(draw, (8, 16)), gen.element(draw, (8, 32, 64))
    layout = cute.make_layout((rows, columns), stride=(columns, 1))
    swizzled = cute.make_composed_layout(cute.make_swizzle(bits, base, max(bits, shift)), 0, layout)
    return swizzled, draw(integers(0, rows - 1)), draw(integers(0, columns - 1)), draw(integers(0, 3))


@given(swizzled_layouts())
def test_slices_of_swizzled_layouts(case):
    layout, r, c, tile = case
    divided = cute.zipped_divide(layout, (8, 8))
    assume(
        all(
            [
                compare(lambda a, i, j: a((i, j)), layout, Int32(r), Int32(c)),
                compare(lambda a, i: cute.slice_and_offset((i, None), a), layout, Int32(r)),
                compare(lambda a, j: cute.slice_and_offset((None, j), a), layout, Int32(c)),
                compare(lambda a, i: cute.slice_and_offset(((None, None), i), a), divided, Int32(tile)),
                compare(lambda a, i: cute.slice_and_offset(((i, None), None), a), divided, Int32(r % 8)),
            ]
        )
    )
