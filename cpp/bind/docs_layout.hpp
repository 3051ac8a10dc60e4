// Docstrings: the classes and the functions that make them.
#pragma once

namespace tilewright::bind::doc {

inline constexpr const char* Layout =
    R"doc(A function from coordinates to offsets, given by a shape and a congruent stride.

    L = S:D,   L(c) = sum over leaves of c_k * d_k

Made by make_layout, parse and the algebra. A coordinate is an integer, `layout(i)`, mode 0 fastest, or a tuple,
`layout(i, j)`; None keeps a mode: `layout(None, j)` is a Layout. There is no check of bounds: past its size a layout
goes on with its last stride. Offsets count elements.

`layout[i]` is mode i, len() the rank; layouts compare, hash and pickle. str() is CuTe's text, `?` a dynamic integer.
Raises: LayoutError when a coordinate does not fit the shape.
Source: CuTe `Layout`; CUTLASS docs, media/docs/cpp/cute/01_layout.md.

Examples:
    >>> layout = cute.make_layout((4, (2, 3)), stride=(6, (1, 2)))
    >>> layout, layout(5), layout(1, (1, 0)), layout(1, 1), layout(None, 3)
    ((4,(2,3)):(6,(1,2)), 7, 7, 7, (4):(6))
    >>> layout.shape, layout.stride, layout[1], len(layout)
    ((4, (2, 3)), (6, (1, 2)), (2,3):(1,2), 2))doc";

inline constexpr const char* get_hier_coord = R"doc(The coordinate with a given offset, in the layout's own nesting.

    L(L.get_hier_coord(x)) = x for x in the image of L; otherwise the digits c_k = (x / d_k) mod s_k

Args:
    offset: an int, in elements.
Returns: a coordinate congruent with the shape; of several the one that counts first.
Raises: LayoutError for basis strides, or where strides do not nest and the layout has more than 2^22 elements.
Source: CuTe `Layout.get_hier_coord`.

Examples:
    >>> cute.parse("(4,3):(3,1)").get_hier_coord(5), cute.idx2crd(5, (4, 3))
    ((1, 2), (1, 1))
    >>> cute.parse("(4,(2,3)):(1,(4,8))").get_hier_coord(13)
    (1, (1, 1)))doc";

inline constexpr const char* get_flat_coord = R"doc(The coordinate with a given offset, one integer per mode.

    L(L.get_flat_coord(x)) = x for x in the image of L; otherwise as get_hier_coord

Args:
    offset: an int, in elements.
Returns: a flat tuple with one integer per mode.
Raises: as get_hier_coord.
Source: CuTe `Layout.get_flat_coord`.

Examples:
    >>> cute.parse("(4,(2,3)):(1,(4,8))").get_flat_coord(13)
    (1, 3))doc";

inline constexpr const char* get_1d_coord = R"doc(The 1-D coordinate with a given offset.

    L(L.get_1d_coord(x)) = x for x in the image of L; otherwise as get_hier_coord

Args:
    offset: an int, in elements.
Returns: an int, mode 0 fastest.
Raises: as get_hier_coord.
Source: CuTe C++ `Layout::get_1d_coord`.

Examples:
    >>> cute.parse("(4,3):(3,1)").get_1d_coord(5)
    9)doc";

inline constexpr const char* offsets = R"doc(All offsets in colexicographic order, as a NumPy array.

    offsets()[i] = L(i) for i < |L|

Args:
    out: a contiguous int64 array of size(L) elements to fill; by default a new one.
Returns: the array, int64, one-dimensional unless `out` has another shape; in elements.
Raises: LayoutError for basis strides; ValueError or TypeError when `out` does not fit.
Source: tilewright.

Examples:
    >>> cute.parse("(4,2):(1,8)").offsets().tolist()
    [0, 1, 2, 3, 8, 9, 10, 11])doc";

inline constexpr const char* LayoutSwizzle =
    R"doc(The swizzle of a ComposedLayout, its `inner`: it counts the elements of that layout.

A pointer's swizzle counts bytes. As `swizzle=` of a pointer to elements of 2^k bytes S<b,m,s> is S<b,m+k,s>, so that
the pointer with it and the layout's outer part reach what the whole layout reaches.

Examples:
    >>> layout = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    >>> layout.inner, layout.inner == cute.make_swizzle(3, 3, 3)
    (S<3,3,3>, True))doc";

inline constexpr const char* Swizzle =
    R"doc(A permutation of offsets that XORs b bits, the Z bits, with b others, the Y bits.

    S<b,m,s>:  s >= 0:  x ^ ((x & Y) >> s)    with Z = bits m .. m+b-1,  Y = Z << s
               s < 0:   x ^ ((x & Y) << -s)   with Y = bits m .. m+b-1,  Z = Y << -s

It is its own inverse and a bijection on every aligned block of 2^(b+m+|s|) offsets; runs of 2^m stay together.
Args:
    b, m, s: number of bits, base, shift; |s| >= b, bits up to 62.
Calling it with an integer, in elements, gives the swizzled one. num_bits, num_base, num_shift; y_mask, z_mask.
Raises: LayoutError when the parameters are out of range.
Source: CuTe `Swizzle`.

Examples:
    >>> swizzle = cute.Swizzle(2, 0, 3)
    >>> swizzle, [swizzle(i) for i in range(8, 12)], swizzle.y_mask, swizzle.z_mask
    (S<2,0,3>, [9, 8, 11, 10], 24, 3))doc";

inline constexpr const char* ComposedLayout =
    R"doc(A layout behind another function: a swizzled tile of shared memory, for example.

    R(c) = inner(offset + outer(c))

Made by make_composed_layout, by composition with a Swizzle, and by parse. It is called, indexed, compared and pickled
like a Layout; the operations of the algebra work on the outer layout. inner is a Swizzle, a Layout or a Python
callable, offset an integer or coordinate, outer a Layout, shape that of the outer layout.
Raises: LayoutError when a coordinate does not fit the shape; TypeError where it is constructed.
Source: CuTe `ComposedLayout`.

Examples:
    >>> layout = cute.composition(cute.make_swizzle(2, 0, 3), cute.parse("(8,8):(8,1)"))
    >>> layout, layout(1, 0), layout.inner, layout.outer
    (S<2,0,3> o 0 o (8,8):(8,1), 9, S<2,0,3>, (8,8):(8,1)))doc";

inline constexpr const char* ScaledBasis =
    R"doc(A multiple of a basis element: a stride that steps along one mode of a coordinate.

    v@i@j..: the coordinate that is v in mode i of mode j .. and 0 elsewhere

Args:
    value: an integer v.
    mode: an int or a sequence of ints, the path from the innermost mode to the outermost.
Attributes value and mode; n * e scales; is_static() asks for a static value.
Raises: LayoutError when a mode lies outside 0 to 4096.
Source: CuTe `ScaledBasis`.

Examples:
    >>> e = cute.ScaledBasis(2, (1, 0))
    >>> e, e.value, e.mode, 3 * e
    (2@1@0, 2, (1, 0), 6@1@0)
    >>> cute.make_layout((4, 3), stride=(cute.E(0), cute.ScaledBasis(2, 1)))(1, 2)
    (1, 4))doc";

inline constexpr const char* E = R"doc(A basis element: the stride that steps by one along one mode of a coordinate.

    E(i) = 1@i = (0,..,0,1,0,..) with the 1 in mode i

Args:
    mode: an int or a sequence of ints, the path from the innermost mode to the outermost.
Returns: a ScaledBasis.
Raises: LayoutError when a mode lies outside 0 to 4096.
Source: CuTe `E`.

Examples:
    >>> cute.E(1), cute.E([0, 1]), 3 * cute.E(1)
    (1@1, 1@0@1, 3@1))doc";

inline constexpr const char* basis_value = R"doc(The number that scales a basis element.

    basis_value(v@i) = v,   basis_value(n) = n

Args:
    element: a ScaledBasis or an integer.
Returns: an integer.
Raises: TypeError for other kinds.
Source: CuTe `basis_value`.

Examples:
    >>> cute.basis_value(3 * cute.E(1)), cute.basis_value(5)
    (3, 5))doc";

inline constexpr const char* basis_get = R"doc(The part of a tuple that a basis element points at.

    basis_get(v@i@j, t) = mode i of mode j of t,   basis_get(n, t) = t

Args:
    element: a ScaledBasis or an integer.
    tuple: an integer or nested tuple.
Returns: an integer or nested tuple.
Raises: LayoutError when a mode does not exist.
Source: CuTe `basis_get`.

Examples:
    >>> cute.basis_get(cute.E([0, 1]), (2, (3, 4))), cute.basis_get(cute.E(0), (2, (3, 4)))
    (3, 2))doc";

inline constexpr const char* make_basis_like = R"doc(The basis element of every leaf: the strides of an identity layout.

    make_basis_like((a,(b,c))) = (1@0,(1@0@1,1@1@1)),   make_basis_like(n) = 1

Args:
    shape: an integer or nested tuple; only its nesting counts.
Returns: strides congruent with the shape.
Raises: TypeError for a layout and other kinds.
Source: CuTe C++ `make_basis_like`.

Examples:
    >>> cute.make_basis_like((2, (3, 4)))
    (1@0, (1@0@1, 1@1@1)))doc";

inline constexpr const char* parse = R"doc(The object that a text in CuTe notation describes.

    parse(str(x)) = x for static x

Args:
    text: an int tuple `(4,_)`, a layout `(4,8):(8,1)`, `(8,4):(1@0,1@1)`, a swizzle `S<3,4,3>`, or a composed layout
        `S<3,4,3> o 0 o (8,64):(64,1)`.
Returns: an int or tuple, Layout, Swizzle or ComposedLayout.
Raises: LayoutError with the position of what cannot be read; a dynamic `?` has no value.
Source: tilewright.

Examples:
    >>> cute.parse("(4,(2,3)):(1,(4,8))"), cute.parse("(4,_)"), cute.parse("S<2,0,3> o 0 o (8,8):(8,1)")
    ((4,(2,3)):(1,(4,8)), (4, None), S<2,0,3> o 0 o (8,8):(8,1)))doc";

inline constexpr const char* make_layout = R"doc(A layout from a shape and a stride, or from layouts as its modes.

    make_layout(S, stride=D) = S:D;   make_layout([A, B, ..]) = (A, B, ..) with (c, d) -> A(c) + B(d)

Args:
    shape: an int or nested tuple of positive extents, a Layout (becomes one mode), or an iterable of Layouts.
    stride: congruent with the shape, in elements; by default compact, mode 0 fastest, 0 for a static extent of 1.
Returns: a Layout.
Raises: LayoutError when an extent is not positive, when shape and stride are not congruent or nested deeper than 64, or
    when a product does not fit into 64 bits; TypeError for other kinds.
Source: CuTe `make_layout`.

Examples:
    >>> cute.make_layout((4, 8)), cute.make_layout((4, 8), stride=(8, 1)), cute.make_layout((24, 1))
    ((4,8):(1,4), (4,8):(8,1), (24,1):(1,0))
    >>> cute.make_layout([cute.parse("(2,4):(1,2)"), cute.parse("2:8")]), cute.make_layout((Int32(4), 8))
    (((2,4),2):((1,2),8), (?,8):(1,?)))doc";

inline constexpr const char* make_layout_left = R"doc(The compact layout of a shape with mode 0 fastest: column-major.

    d_k = product of the extents before k

Args:
    shape: an int or nested tuple of positive extents.
Returns: a Layout; a static extent of 1 has stride 0.
Raises: LayoutError when an extent is not positive or a product does not fit into 64 bits.
Source: CuTe C++ `make_layout(shape, LayoutLeft{})`.

Examples:
    >>> cute.make_layout_left((4, (2, 3)))
    (4,(2,3)):(1,(4,8)))doc";

inline constexpr const char* make_layout_right =
    R"doc(The compact layout of a shape with the last mode fastest: row-major.

    d_k = product of the extents after k

Args:
    shape: an int or nested tuple of positive extents.
Returns: a Layout; a static extent of 1 has stride 0.
Raises: LayoutError when an extent is not positive or a product does not fit into 64 bits.
Source: CuTe C++ `make_layout(shape, LayoutRight{})`.

Examples:
    >>> cute.make_layout_right((4, (2, 3)))
    (4,(2,3)):(6,(3,1)))doc";

inline constexpr const char* make_identity_layout = R"doc(The layout that maps every coordinate to itself.

    L(c) = c: the stride of each leaf is its basis element; an integer i gives the coordinate idx2crd(i, S)

Args:
    shape: an int or nested tuple of positive extents.
Returns: a Layout; for an integer shape n:1.
Raises: LayoutError when an extent is not positive.
Source: CuTe `make_identity_layout`.

Examples:
    >>> layout = cute.make_identity_layout((4, 3))
    >>> layout, layout(5), cute.make_identity_layout((2, (3, 4)))
    ((4,3):(1@0,1@1), (1, 1), (2,(3,4)):(1@0,(1@0@1,1@1@1))))doc";

inline constexpr const char* make_ordered_layout =
    R"doc(The compact layout of a shape whose modes are fastest in a given order.

    d_k = product of the sizes of all modes of lower order; a mode whose order is one integer is column-major inside

Args:
    shape: an int or nested tuple of positive extents.
    order: integers, 0 the fastest, as nested as the shape or less.
Returns: a Layout; a static extent of 1 has stride 0.
Raises: LayoutError when the order does not fit the shape.
Source: CuTe `make_ordered_layout`.

Examples:
    >>> cute.make_ordered_layout((4, 32), order=(1, 0)), cute.make_ordered_layout((2, 3, 4), order=(2, 0, 1))
    ((4,32):(32,1), (2,3,4):(12,1,3))
    >>> cute.make_ordered_layout((2, (3, 4)), order=(1, 0))
    (2,(3,4)):(12,(1,3)))doc";

inline constexpr const char* make_layout_like =
    R"doc(The compact layout of the same shape with the strides in the same order.

    strides sort as those of L do; a stride of 0 stays 0

Args:
    layout: a Layout or Tensor.
Returns: a Layout of the same shape.
Raises: LayoutError when a product does not fit into 64 bits; TypeError for a swizzled layout and other kinds.
Source: CuTe `make_layout_like`.

Examples:
    >>> cute.make_layout_like(cute.parse("(4,3):(100,7)")), cute.make_layout_like(cute.parse("(4,2,3):(6,0,1)"))
    ((4,3):(3,1), (4,2,3):(3,0,1)))doc";

inline constexpr const char* make_fragment_like_layout =
    R"doc(The layout of registers that hold a partition: mode 0 compact and first.

    mode 0 (the elements of one atom) is column-major, a stride of 0 in it stays 0; the other modes follow compactly in
    the order of their strides

Args:
    layout: a Layout, a swizzled layout or a Tensor.
Returns: a Layout of the same mode sizes, without a swizzle.
Raises: LayoutError when a product does not fit into 64 bits, and for a composed layout that is not swizzled; TypeError
    for other kinds.
Source: CuTe C++ `make_fragment_like` of a layout.

Examples:
    >>> cute.make_fragment_like_layout(cute.parse("((4,2),3,5):((1,8),160,32)"))
    ((4,2),3,5):((1,4),40,8))doc";

inline constexpr const char* make_composed_layout =
    R"doc(The layout that applies an outer layout, adds an offset, and applies an inner function.

    R(c) = inner(offset + outer(c))

Args:
    inner: a Swizzle, a Layout, or a Python callable of an integer or coordinate.
    offset: an integer, in elements of the outer layout's offsets, or a coordinate congruent with them.
    outer: a Layout.
Returns: a ComposedLayout.
Raises: LayoutError when a swizzle would get coordinates; TypeError for another kind of inner function.
Source: CuTe `make_composed_layout`.

Examples:
    >>> layout = cute.make_composed_layout(cute.make_swizzle(2, 0, 3), 0, cute.parse("(4,8):(8,1)"))
    >>> layout, layout(1, 0)
    (S<2,0,3> o 0 o (4,8):(8,1), 9)
    >>> cute.make_composed_layout(lambda c: c[0] + 10 * c[1], (1, 0), cute.make_identity_layout((8, 4)))(2, 3)
    33)doc";

inline constexpr const char* make_swizzle =
    R"doc(The swizzle S<b,m,s>: b bits from bit m on are XORed with those s places higher.

    x ^ ((x & Y) >> s), see `Swizzle`; b = 0 is the identity and always S<0,4,3>

Args:
    b, m, s: number of bits, base, shift; |s| >= b.
Returns: a Swizzle.
Raises: LayoutError when the parameters are out of range.
Source: CuTe `make_swizzle`.

Examples:
    >>> cute.make_swizzle(3, 4, 3), cute.make_swizzle(0, 2, 3), cute.make_swizzle(2, 0, 3)(8)
    (S<3,4,3>, S<0,4,3>, 9))doc";

inline constexpr const char* swizzle_from_masks = R"doc(The swizzle with given Y and Z bits.

    x ^ (bits Y of x moved to Z): b = popcount(Y) = popcount(Z), m = the lowest bit of both, s = low(Y) - low(Z)

Args:
    y, z: masks with the same number of bits, each contiguous.
Returns: a Swizzle.
Raises: LayoutError when the masks are not such.
Source: CuTe C++ `make_swizzle<Y, Z>()`.

Examples:
    >>> cute.swizzle_from_masks(0b11000, 0b00011)
    S<2,0,3>)doc";

inline constexpr const char* get_swizzle_portion =
    R"doc(The swizzle of a layout; of a plain layout the identity S<0,4,3>.

    L = get_swizzle_portion(L) o offset o get_nonswizzle_portion(L)

Args:
    layout: a Layout, ComposedLayout or Tensor.
Returns: a Swizzle.
Raises: TypeError when the inner function is no swizzle.
Source: CuTe `get_swizzle_portion`.

Examples:
    >>> cute.get_swizzle_portion(cute.parse("S<3,4,3> o 0 o (8,64):(64,1)"))
    S<3,4,3>
    >>> cute.get_swizzle_portion(cute.parse("(8,64):(64,1)"))
    S<0,4,3>)doc";

inline constexpr const char* get_nonswizzle_portion =
    R"doc(The outer layout of a swizzled layout; a plain layout itself.

    L = get_swizzle_portion(L) o offset o get_nonswizzle_portion(L)

Args:
    layout: a Layout, ComposedLayout or Tensor.
Returns: a Layout.
Raises: TypeError for other kinds.
Source: CuTe `get_nonswizzle_portion`.

Examples:
    >>> cute.get_nonswizzle_portion(cute.parse("S<3,4,3> o 0 o (8,64):(64,1)"))
    (8,64):(64,1))doc";

inline constexpr const char* compact_major = R"doc(The strides of a compact layout that starts with a given stride.

    left: d_k = start * product of the extents before k;   right: of the extents after k

Args:
    shape: an int or nested tuple of extents.
    start: an integer, or one per mode: then each mode starts anew.
    major: 'left' (mode 0 fastest) or 'right'.
Returns: strides congruent with the shape; 0 for a static extent of 1.
Raises: ValueError for another `major`; LayoutError when shape and start do not fit.
Source: CuTe C++ `compact_major`.

Examples:
    >>> cute.compact_major((4, (2, 3))), cute.compact_major((4, (2, 3)), 2, "right")
    ((1, (4, 8)), (12, (6, 2))))doc";

inline constexpr const char* make_layout_image_mask =
    R"doc(The set of offsets of one mode as a bit mask: the blocks of a multicast.

    bit k is set where k = L(c) for some coordinate of the mode, the other modes fixed

Args:
    layout: a Layout of cosize at most 16: coordinates of a cluster to block numbers.
    coord: the coordinate of the other modes; its entry at `mode` does not count.
    mode: the mode that varies, an int.
Returns: an int of 16 bits.
Raises: ValueError when the cosize is above 16.
Source: CuTe `make_layout_image_mask`.

Examples:
    >>> bin(cute.make_layout_image_mask(cute.parse("(2,4):(1,2)"), (1, 0), mode=1))
    '0b10101010')doc";

}  // namespace tilewright::bind::doc
