// Docstrings: nested tuples of integers.
#pragma once

namespace tilewright::bind::doc {

inline constexpr const char* wrap = R"doc(The argument as a tuple: a leaf becomes a tuple of one, a tuple stays.

    wrap(n) = (n),   wrap((n0,n1,..)) = (n0,n1,..)

Args:
    a: an integer or nested tuple.
Returns: a tuple.
Raises: TypeError for a layout and other kinds.
Source: CuTe C++ `wrap`.

Examples:
    >>> cute.wrap(3), cute.wrap((3, 4))
    ((3,), (3, 4)))doc";

inline constexpr const char* unwrap = R"doc(The argument without the parentheses of tuples of one.

    unwrap((x)) = unwrap(x),   otherwise unwrap(x) = x

Args:
    a: an integer or nested tuple.
Returns: an integer or a tuple of another length than one.
Raises: TypeError for a layout and other kinds.
Source: CuTe C++ `unwrap`.

Examples:
    >>> cute.unwrap(((3,),)), cute.unwrap((3, 4))
    (3, (3, 4)))doc";

inline constexpr const char* flatten = R"doc(The leaves in order, without nesting.

    flatten(L)(i) = L(i) for layouts; flatten((4,(2,3))) = (4,2,3), a leaf stays a leaf

Args:
    x: an integer, nested tuple, Layout, ComposedLayout (its outer layout is flattened) or Tensor.
Returns: the same kind of object with depth at most 1.
Raises: TypeError for other kinds.
Source: CuTe `flatten`.

Examples:
    >>> cute.flatten((4, (2, 3))), cute.flatten(4)
    ((4, 2, 3), 4)
    >>> cute.flatten(cute.parse("(4,(2,3)):(1,(4,8))"))
    (4,2,3):(1,4,8))doc";

inline constexpr const char* flatten_to_tuple = R"doc(The leaves in order as a tuple, also where the argument is a leaf.

    flatten_to_tuple(n) = (n),   flatten_to_tuple(t) = flatten(t)

Args:
    a: an integer or nested tuple.
Returns: a tuple of leaves.
Raises: TypeError for a layout and other kinds.
Source: CuTe `flatten_to_tuple`.

Examples:
    >>> cute.flatten_to_tuple((4, (2, 3))), cute.flatten_to_tuple(4)
    ((4, 2, 3), (4,)))doc";

inline constexpr const char* unflatten = R"doc(The leaves of a flat tuple or layout put into the nesting of a profile.

    flatten(unflatten(x, p)) = x,   unflatten(flatten(x), x) = x

Args:
    x: a flat tuple, Layout or Tensor.
    profile: a nested tuple with as many leaves as x has modes; only its nesting counts.
Returns: the same kind of object, congruent with the profile.
Raises: LayoutError when the profile has room for another number of modes.
Source: CuTe `unflatten`.

Examples:
    >>> cute.unflatten((4, 2, 3), (0, (0, 0)))
    (4, (2, 3))
    >>> cute.unflatten(cute.parse("(4,2,3):(1,4,8)"), (0, (0, 0)))
    (4,(2,3)):(1,(4,8)))doc";

inline constexpr const char* product = R"doc(The product of all leaves.

    product((n0,n1,..)) = product(n0) * product(n1) * ..,   product(()) = 1

Args:
    a: an integer or nested tuple.
Returns: an integer, dynamic where a factor is.
Raises: LayoutError when the product does not fit into 64 bits.
Source: CuTe `product`.

Examples:
    >>> cute.product((4, (2, 3)))
    24)doc";

inline constexpr const char* product_each = R"doc(The product of each mode: how large each mode is.

    product_each((a,b,..)) = (product(a),product(b),..)

Args:
    a: an integer (one mode) or nested tuple.
Returns: a flat tuple with one integer per mode.
Raises: LayoutError when a product does not fit into 64 bits; TypeError for other kinds.
Source: CuTe `product_each`.

Examples:
    >>> cute.product_each((4, (2, 3))), cute.product_each(4)
    ((4, 6), (4,)))doc";

inline constexpr const char* product_like = R"doc(The product of each part that faces a leaf of another tuple.

    product_like(a, g) = product(a) where g is a leaf, else mode by mode

Args:
    a: a nested tuple.
    b: the guide g, whose profile is the same as a's or coarser.
Returns: integers in the profile of the guide.
Raises: LayoutError when the ranks of a tuple and its guide differ.
Source: CuTe `product_like`.

Examples:
    >>> cute.product_like((2, (3, 4), 5), (0, 0, 0))
    (2, 12, 5))doc";

inline constexpr const char* inner_product = R"doc(The sum of products of leaves that face each other.

    inner_product(a, b) = sum over leaves of a_k * b_k; of a coordinate and a stride: the offset in elements

Args:
    a, b: congruent integers or nested tuples.
Returns: an integer, or a basis element where b has one.
Raises: LayoutError when the profiles differ, or when a sum or product does not fit into 64 bits.
Source: CuTe C++ `inner_product`.

Examples:
    >>> cute.inner_product((1, (0, 2)), (6, (3, 1)))
    8)doc";

inline constexpr const char* elem_scale =
    R"doc(Each leaf of one tuple times the size of the part of another that it faces.

    elem_scale(n, b) = n * product(b),   elem_scale((a0,a1,..), (b0,b1,..)) = (elem_scale(a0,b0),..)

Args:
    a: an integer or nested tuple.
    b: a tuple, Layout or Tensor (its shape) whose profile is the same or finer.
Returns: integers in the profile of a.
Raises: LayoutError when a tuple faces an integer, or the ranks differ.
Source: CuTe C++ `elem_scale`.

Examples:
    >>> cute.elem_scale((4, 2), (2, (3, 5)))
    (8, 30))doc";

inline constexpr const char* ceil_div = R"doc(How many tiles cover a shape, mode by mode.

    ceil_div(a, b) = ceil(a / b) per mode; modes beyond b stay; one integer b for a tuple a is used up mode by mode
    ceil_div(a, B) = shape(complement(B, a)) for a Layout B: mode 1 of zipped_divide(make_layout(a), B)

Args:
    a: an integer or nested tuple, in elements.
    b: an integer, a Layout, or a tuple of them with at most as many modes.
Returns: tiles per mode.
Raises: LayoutError for a divisor of 0, or when b has more modes; as complement.
Source: CuTe `ceil_div`.

Examples:
    >>> cute.ceil_div((10, 6), (4, 4)), cute.ceil_div((10, 6), 4), cute.ceil_div((10, 6), 20)
    ((3, 2), (3, 6), (1, 3))
    >>> cute.ceil_div((16, 32), cute.parse("(4,8):(1,4)")), cute.ceil_div((16, 32), (cute.parse("4:2"), 8))
    (16, ((2, 2), 4)))doc";

inline constexpr const char* round_up = R"doc(The smallest multiple that covers a shape, mode by mode.

    round_up(a, b) = ceil(a / b) * b per leaf; modes beyond b stay

Args:
    a: an integer or nested tuple, in elements.
    b: integers in the same profile; a tuple may have fewer modes.
Returns: integers in the profile of a.
Raises: LayoutError for a divisor of 0, or when a tuple faces an integer.
Source: CuTe `round_up`.

Examples:
    >>> cute.round_up((10, 6), (4, 4)), cute.round_up((10, 6), (4,))
    ((12, 8), (12, 6)))doc";

inline constexpr const char* shape_div =
    R"doc(The shape that is left when steps of b elements are taken through a, mode 0 first.

    shape_div(n, d) = n / d where d | n, 1 where n | d; one integer d for a tuple is used up mode by mode

Args:
    a: an integer or nested tuple, in elements.
    b: an integer, a tuple in a's profile (then mode by mode), or a Layout, whose shape counts.
Returns: integers in the profile of a.
Raises: LayoutError when neither number divides the other (for dynamic integers by their values).
Source: CuTe `shape_div`.

Examples:
    >>> cute.shape_div(12, 3), cute.shape_div(3, 12), cute.shape_div((6, 4), 12)
    (4, 1, (1, 2))
    >>> cute.shape_div((12, 4), (3, 8))
    (4, 1))doc";

inline constexpr const char* evenly_divides = R"doc(Whether tiles cover a shape without overhang.

    size(a) == size(b) * size(ceil_div(a, b))

Args:
    a: the shape, an integer or nested tuple.
    b: the tile, an integer, a Layout, or a tuple of them.
Returns: a bool; False when b has more modes than a.
Raises: LayoutError for a divisor of 0, when a size does not fit into 64 bits, and as complement for a Layout b;
    TypeError for other kinds.
Source: CuTe C++ `evenly_divides`.

Examples:
    >>> cute.evenly_divides((8, 6), (4, 3)), cute.evenly_divides((8, 6), (4, 4))
    (True, False))doc";

inline constexpr const char* is_congruent = R"doc(Whether two tuples have the same nesting.

    leaf ~ leaf;   (a0,a1,..) ~ (b0,b1,..) where the ranks agree and every a_k ~ b_k

Args:
    a, b: integers, nested tuples, or Layouts and Tensors, whose shapes count.
Returns: a bool.
Raises: TypeError for other kinds.
Source: CuTe `is_congruent`.

Examples:
    >>> cute.is_congruent((4, (2, 3)), (1, (4, 8))), cute.is_congruent((4, 6), (1, (4, 8)))
    (True, False))doc";

inline constexpr const char* is_weakly_congruent = R"doc(Whether the nesting of b is that of a or finer.

    leaf <= anything;   (a0,a1,..) <= (b0,b1,..) where the ranks agree and every a_k <= b_k

Args:
    a, b: integers, nested tuples, or Layouts and Tensors, whose shapes count.
Returns: a bool.
Raises: TypeError for other kinds.
Source: CuTe `is_weakly_congruent`.

Examples:
    >>> cute.is_weakly_congruent((4, 6), (1, (4, 8))), cute.is_weakly_congruent((1, (4, 8)), (4, 6))
    (True, False))doc";

inline constexpr const char* is_compatible =
    R"doc(Whether every coordinate of the shape a is one of the shape b: b refines a.

    n <= b where n == size(b);   (a0,a1,..) <= (b0,b1,..) where the ranks agree and every a_k <= b_k

Args:
    a, b: integers, nested tuples, or Layouts and Tensors, whose shapes count.
Returns: a bool.
Raises: LayoutError when a size does not fit into 64 bits; TypeError for other kinds.
Source: CuTe C++ `compatible`; CUTLASS docs, media/docs/cpp/cute/01_layout.md.

Examples:
    >>> cute.is_compatible(24, (4, 6)), cute.is_compatible((4, 6), (4, (2, 3))), cute.is_compatible((4, 6), 24)
    (True, True, False))doc";

inline constexpr const char* elem_less =
    R"doc(Whether every leaf of a is less than the leaf of b: a coordinate inside a shape.

    all a_k < b_k; False where a has more modes, modes of b beyond a do not count

Args:
    a: a coordinate.
    b: a shape, or a Layout or Tensor, whose shape counts.
Returns: a bool, in a kernel a Boolean where it depends on what is known at run time only. This is no order: neither of
    (0,3) and (1,2) is less.
Raises: LayoutError when an integer faces a tuple.
Source: CuTe `elem_less`; the predicate of a ragged tile.

Examples:
    >>> cute.elem_less((1, 2), (2, 3)), cute.elem_less((0, 3), (4, 3))
    (True, False))doc";

inline constexpr const char* lex_less =
    R"doc(Whether a comes before b in lexicographic order: the first mode decides first.

    a < b where a_k < b_k at the first k with a_k != b_k; a tuple comes after its own beginning

Args:
    a, b: integers or nested tuples.
Returns: a bool.
Raises: LayoutError when an integer faces a tuple.
Source: CuTe C++ `lex_less`.

Examples:
    >>> cute.lex_less((1, 2), (2, 1)), cute.lex_less((1, 2), (1, 2))
    (True, False))doc";

inline constexpr const char* colex_less =
    R"doc(Whether a comes before b in colexicographic order: the last mode decides first.

    a < b where a_k < b_k at the last k with a_k != b_k; so counts a layout: idx2crd(i) < idx2crd(i+1)

Args:
    a, b: integers or nested tuples.
Returns: a bool.
Raises: LayoutError when an integer faces a tuple.
Source: CuTe C++ `colex_less`.

Examples:
    >>> cute.colex_less((1, 2), (2, 1)), cute.colex_less((2, 1), (1, 2))
    (False, True))doc";

inline constexpr const char* size = R"doc(The number of elements: the product of the extents.

    |L| = product(shape(L)); size(x, mode=[i,j]) is that of mode j of mode i

Args:
    x: an integer, Layout, ComposedLayout or Tensor, or a nested tuple of them; a TiledCopy or TiledMma gives its
        threads.
    mode: an int or a sequence of ints, the path of a mode; size[i,j](x) means the same.
Returns: an integer, dynamic where an extent is.
Raises: LayoutError when a mode does not exist.
Source: CuTe `size`.

Examples:
    >>> layout = cute.parse("(4,(2,3)):(1,(4,8))")
    >>> cute.size(layout), cute.size(layout, mode=[1]), cute.size[1, 0](layout)
    (24, 6, 2))doc";

inline constexpr const char* cosize = R"doc(The number of offsets that a layout spans, in elements.

    sum of (s-1) * |d| over the modes, plus 1; where no stride is negative: the greatest offset plus 1

Args:
    x: a Layout, ComposedLayout (its outer layout) or Tensor.
    mode: the path of a mode; cosize[i](x) means the same.
Returns: an integer. `offset_range` tells where the offsets lie.
Raises: LayoutError when it does not fit into 64 bits; TypeError for a shape.
Source: CuTe `cosize`.

Examples:
    >>> cute.cosize(cute.parse("(4,2):(1,8)")), cute.cosize[1](cute.parse("(4,2):(1,8)"))
    (12, 9))doc";

inline constexpr const char* rank = R"doc(The number of modes; of an integer 1.

    rank((a,b,c)) = 3,   rank(n) = 1

Args:
    x: an integer, tuple, Layout, ComposedLayout or Tensor.
    mode: the path of a mode; rank[i](x) means the same.
Returns: an int.
Raises: LayoutError when a mode does not exist; TypeError for other kinds.
Source: CuTe `rank`.

Examples:
    >>> cute.rank((4, (2, 3))), cute.rank[1]((4, (2, 3))), cute.rank(4)
    (2, 2, 1))doc";

inline constexpr const char* depth = R"doc(How deeply tuples are nested; of an integer 0.

    depth(n) = 0,   depth((a,b,..)) = 1 + max(depth(a), depth(b), ..)

Args:
    x: an integer, tuple, Layout, ComposedLayout or Tensor.
    mode: the path of a mode; depth[i](x) means the same.
Returns: an int, at most 64.
Raises: LayoutError when a mode does not exist, and for tuples nested deeper than 64; TypeError for other kinds.
Source: CuTe `depth`.

Examples:
    >>> cute.depth((4, (2, 3))), cute.depth(4)
    (2, 0))doc";

inline constexpr const char* shape = R"doc(The shape of an object, or of one mode of it.

    shape(S:D) = S

Args:
    x: a Layout, ComposedLayout, Tensor, or a shape itself.
    mode: an int or a sequence of ints, the path of a mode.
Returns: an integer or nested tuple.
Raises: LayoutError when a mode does not exist.
Source: CuTe `shape`.

Examples:
    >>> cute.shape(cute.parse("(4,(2,3)):(1,(4,8))"), mode=[1])
    (2, 3))doc";

inline constexpr const char* coalesce_shape = R"doc(The extents multiplied as far as static and dynamic ones do not mix.

    product(coalesce_shape(s)) = product(s): neighbouring static extents multiply, and so do dynamic ones

Args:
    shape: an integer or nested tuple.
Returns: an integer or a flat tuple.
Raises: LayoutError when a product does not fit into 64 bits; TypeError for other kinds.
Source: CuTe C++ `coalesce` of a shape.

Examples:
    >>> cute.coalesce_shape((4, (1, 2))), str(cute.coalesce_shape((Int32(4), 1, 2, 3)))
    (8, '(?,6)'))doc";

inline constexpr const char* crd2idx = R"doc(The offset of a coordinate: sum of coordinate times stride.

    crd2idx(c, S:D) = sum c_k * d_k; an integer in place of a tuple counts its mode colexicographically, mode 0 fastest

Args:
    coord: an integer or nested tuple, at most as nested as the shape.
    layout: a Layout, ComposedLayout or Tensor, or a shape: then its compact column-major strides are meant.
    stride: strides congruent with `layout`, where that is a shape.
Returns: an integer, in elements; a coordinate where the strides are basis elements. There is no check of bounds.
Raises: LayoutError when the coordinate does not fit the shape.
Source: CuTe `crd2idx`.

Examples:
    >>> cute.crd2idx((1, (0, 2)), (4, (2, 3))), cute.crd2idx((1, (0, 2)), cute.parse("(4,(2,3)):(6,(3,1))"))
    (17, 8)
    >>> cute.crd2idx(5, (4, 3), (3, 1))
    4)doc";

inline constexpr const char* idx2crd = R"doc(The coordinate of a shape that an index counts, mode 0 fastest.

    crd2idx(idx2crd(i, S), S) = i; the last mode is not wrapped. With a stride: c_k = (i / d_k) mod s_k

Args:
    idx: an integer, or a tuple that is taken mode by mode.
    shape: a nested tuple, Layout or Tensor, whose shape counts.
    stride: congruent with the shape: then idx is an offset, see `Layout.get_hier_coord`.
Returns: a coordinate congruent with the shape.
Raises: LayoutError when the index does not fit the shape.
Source: CuTe `idx2crd`.

Examples:
    >>> cute.idx2crd(5, (4, (2, 3))), cute.idx2crd(12, (4, 2))
    ((1, (1, 0)), (0, 3))
    >>> cute.idx2crd(5, (4, 3), (3, 1))
    (1, 2))doc";

inline constexpr const char* crd2crd = R"doc(The coordinate of one shape at the place of a coordinate of another.

    crd2idx(crd2crd(c, S, T), T) = crd2idx(c, S), mode by mode where all three are tuples

Args:
    coord: a coordinate of the source shape.
    src_shape, dst_shape: integers or nested tuples.
Returns: a coordinate congruent with dst_shape.
Raises: LayoutError when the ranks differ.
Source: CuTe C++ `crd2crd`.

Examples:
    >>> cute.crd2crd((3, 2), (4, 6), (4, (2, 3))), cute.crd2crd(11, 24, (4, 6))
    ((3, (0, 1)), (3, 2)))doc";

inline constexpr const char* increment_coord =
    R"doc(The next coordinate, mode 0 fastest; the last mode goes on past its extent.

    increment_coord(c, S) = idx2crd(crd2idx(c, S) + 1, S)

Args:
    coord: a coordinate congruent with the shape.
    shape: an integer or nested tuple.
Returns: a coordinate.
Raises: LayoutError when the two are not congruent.
Source: CuTe `increment_coord`.

Examples:
    >>> cute.increment_coord((3, 0), (4, 2)), cute.increment_coord((3, 1), (4, 2))
    ((0, 1), (0, 2)))doc";

inline constexpr const char* is_static = R"doc(Whether every integer of an object is static, that is a Python int.

    True where no leaf is an Int32 or Int64

Args:
    x: an integer, nested tuple, ScaledBasis, Swizzle, Layout, ComposedLayout or Tensor (its layout).
Returns: a bool.
Raises: TypeError for other kinds.
Source: CuTe `is_static`.

Examples:
    >>> cute.is_static(cute.make_layout((4, 2))), cute.is_static(cute.make_layout((4, Int32(2))))
    (True, False))doc";

inline constexpr const char* is_integer = R"doc(Whether an object is an integer, static or dynamic; a bool is not.

Args:
    x: any object.
Returns: a bool.
Raises: nothing: of any object there is an answer.
Source: CuTe `is_integer`.

Examples:
    >>> cute.is_integer(3), cute.is_integer(Int32(3)), cute.is_integer((3,))
    (True, True, False))doc";

inline constexpr const char* is_int_tuple = R"doc(Whether an object is an integer or a nested tuple of integers.

Args:
    x: any object; lists count as tuples.
Returns: a bool.
Raises: nothing: of any object there is an answer.
Source: CuTe `is_int_tuple`.

Examples:
    >>> cute.is_int_tuple((3, (4, Int32(1)))), cute.is_int_tuple((3, None))
    (True, False))doc";

inline constexpr const char* has_underscore =
    R"doc(Whether a coordinate has a None, CuTe's underscore: whether it slices.

Args:
    x: an integer, None, nested tuple or Layout.
Returns: a bool; False for a Layout.
Raises: TypeError for other kinds.
Source: CuTe `has_underscore`.

Examples:
    >>> cute.has_underscore((1, (None, 2))), cute.has_underscore((1, 2))
    (True, False))doc";

inline constexpr const char* has_scaled_basis =
    R"doc(Whether a stride has a basis element: whether offsets are coordinates.

Args:
    x: a nested tuple of strides, a Layout, ComposedLayout or Tensor (its layout).
Returns: a bool.
Raises: TypeError for other kinds.
Source: CuTe `has_scaled_basis`.

Examples:
    >>> cute.has_scaled_basis(cute.make_identity_layout((4, 3))), cute.has_scaled_basis((1, 4))
    (True, False))doc";

inline constexpr const char* is_major = R"doc(Whether a mode has a static stride of 1.

    is_major(i, D): some leaf of D_i is the static 1

Args:
    mode: an int, or the path of a mode.
    stride: a nested tuple of strides.
Returns: a bool.
Raises: LayoutError when the mode does not exist.
Source: CuTe `is_major`.

Examples:
    >>> cute.is_major(1, (8, 1)), cute.is_major(0, (8, 1)), cute.is_major(0, ((2, 1), 8))
    (True, False, True))doc";

inline constexpr const char* leading_dim =
    R"doc(The mode with the static stride 1, where elements lie next to each other.

    the first leaf with stride 1 and extent other than the static 1

Args:
    shape, stride: congruent tuples.
Returns: the index of the mode, a tuple of indices where it is nested, or None.
Raises: LayoutError when shape and stride are not congruent.
Source: CuTe `leading_dim`.

Examples:
    >>> cute.leading_dim((4, 3), (3, 1)), cute.leading_dim((4, (2, 3)), (8, (1, 2))), cute.leading_dim((4, 3), (2, 8))
    (1, (1, 0), None))doc";

inline constexpr const char* assume = R"doc(A dynamic integer together with a number that is known to divide it.

    assume(x, divby=n): n | x

Args:
    x: an integer. A static one comes back as it is.
    divby: the divisor n; None leaves x alone.
Returns: an integer of the same value.
Raises: LayoutError when n does not divide the value; TypeError for a tuple.
Source: CuTe `assume`.

Examples:
    >>> print(cute.make_layout((cute.assume(Int32(8), divby=4), 2)))
    (?{div=4},2):(1,?{div=4}))doc";

inline constexpr const char* get_divisibility = R"doc(The largest number that is known to divide an integer.

    n | x for n = get_divisibility(x)

Args:
    x: an integer. Of a static one its magnitude is known, of a dynamic one what `assume` and arithmetic say.
Returns: an int.
Raises: TypeError for anything but an integer.
Source: CuTe `get_divisibility`.

Examples:
    >>> x = cute.assume(Int32(8), divby=4)
    >>> cute.get_divisibility(x), cute.get_divisibility(x * 3), cute.get_divisibility(12)
    (4, 12, 12))doc";

}  // namespace tilewright::bind::doc
