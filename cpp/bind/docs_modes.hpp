// Docstrings: picking, grouping, padding and slicing modes.
#pragma once

namespace tilewright::bind::doc {

inline constexpr const char* get = R"doc(One mode, found by a path.

    get(x, mode=[i,j,..]) = mode .. of mode j of mode i of x

Args:
    x: an integer, tuple, Layout, ComposedLayout or Tensor.
    mode: an int or a sequence of ints; get[i,j](x) means the same. The empty path gives x.
Returns: the mode: an integer or tuple, or an object of the same kind as x.
Raises: LayoutError when a mode does not exist.
Source: CuTe `get`.

Examples:
    >>> layout = cute.parse("(4,(2,3)):(1,(4,8))")
    >>> cute.get(layout, mode=[1]), cute.get[1, 0](layout)
    ((2,3):(4,8), 2:4))doc";

inline constexpr const char* select = R"doc(Some modes of the top level, in the order given.

    select(x, mode=[i,j,..]) = (x_i, x_j, ..)

Args:
    x: a tuple (of anything), Layout, ComposedLayout or Tensor.
    mode: an int or a sequence of ints; select[i,j](x) means the same.
Returns: an object of the same kind as x.
Raises: ValueError when a mode does not exist.
Source: CuTe `select`.

Examples:
    >>> cute.select(cute.parse("(4,(2,3)):(1,(4,8))"), mode=[1, 0]), cute.select[0, 2]((5, 6, 7))
    (((2,3),4):((4,8),1), (5, 7)))doc";

inline constexpr const char* take = R"doc(The modes from begin to end, end excluded.

    take((x0,x1,x2,..), b, e) = (x_b, .., x_{e-1})

Args:
    x: a tuple (of anything), Layout, ComposedLayout or Tensor.
    begin, end: ints.
Returns: an object of the same kind as x, of rank end - begin.
Raises: ValueError when the range is empty or leaves the rank.
Source: CuTe C++ `take`.

Examples:
    >>> cute.take(cute.parse("(4,2,3):(1,4,8)"), 1, 3), cute.take((4, 2, 3), 0, 2)
    ((2,3):(4,8), (4, 2)))doc";

inline constexpr const char* replace = R"doc(The layout with another layout in the place of one mode.

    replace((L0,..,Li,..), i, M) = (L0,..,M,..)

Args:
    layout: a Layout, ComposedLayout or Tensor.
    i: the mode, an int.
    mode: a Layout.
Returns: an object of the same kind as `layout`.
Raises: LayoutError when mode i does not exist.
Source: CuTe C++ `replace`.

Examples:
    >>> cute.replace(cute.parse("(4,2):(1,4)"), 1, cute.parse("3:8"))
    (4,3):(1,8))doc";

inline constexpr const char* front = R"doc(The first leaf.

    front((a,..)) = front(a),   front(leaf) = leaf

Args:
    x: anything, or a nested tuple of it.
Returns: the leaf.
Raises: ValueError for an empty tuple.
Source: CuTe `front`.

Examples:
    >>> cute.front(((7, 2), 3))
    7)doc";

inline constexpr const char* group_modes = R"doc(The modes from begin to end, end excluded, nested as one mode.

    group_modes((a,b,c,d), 1, 3) = (a,(b,c),d); the function of a layout stays the same

Args:
    x: a tuple (of anything), Layout, ComposedLayout or Tensor.
    begin, end: ints; negative ones count from the back, end=None means the rank.
Returns: an object of the same kind as x, of rank rank(x) - (end - begin) + 1.
Raises: ValueError when the range is empty or leaves the rank.
Source: CuTe `group_modes`.

Examples:
    >>> cute.group_modes(cute.parse("(2,3,4):(1,2,6)"), 1, 3), cute.group_modes((2, 3, 4), 0, 2)
    ((2,(3,4)):(1,(2,6)), ((2, 3), 4)))doc";

inline constexpr const char* append = R"doc(The object with a mode added at the end, once or until it has a given rank.

    append((a,b), m) = (a,b,m),   append((a,b), m, 4) = (a,b,m,m)

Args:
    x: a tuple (of anything), Layout, ComposedLayout or Tensor; a leaf is one mode.
    elem: the mode: for layouts a Layout.
    up_to_rank: the rank to reach; by default rank(x) + 1.
Returns: an object of the same kind as x.
Raises: ValueError when x has more modes; TypeError when elem is no Layout where x is one.
Source: CuTe `append`.

Examples:
    >>> cute.append(cute.parse("(4,2):(1,4)"), cute.parse("3:8")), cute.append((4, 2), 1, 4)
    ((4,2,3):(1,4,8), (4, 2, 1, 1)))doc";

inline constexpr const char* prepend = R"doc(The object with a mode added in front, once or until it has a given rank.

    prepend((a,b), m) = (m,a,b),   prepend((a,b), m, 4) = (m,m,a,b)

Args:
    x: a tuple (of anything), Layout, ComposedLayout or Tensor; a leaf is one mode.
    elem: the mode: for layouts a Layout.
    up_to_rank: the rank to reach; by default rank(x) + 1.
Returns: an object of the same kind as x.
Raises: ValueError when x has more modes; TypeError when elem is no Layout where x is one.
Source: CuTe `prepend`.

Examples:
    >>> cute.prepend(cute.parse("4:1"), cute.parse("1:0"), 3), cute.prepend((4, 2), 8)
    ((1,1,4):(0,0,1), (8, 4, 2)))doc";

inline constexpr const char* append_ones = R"doc(The object with modes of extent 1 (of layouts 1:0) added at the end.

    append_ones(x, r) = append(x, 1, r)

Args:
    x: a tuple, Layout, ComposedLayout or Tensor.
    up_to_rank: the rank to reach; by default rank(x) + 1.
Returns: an object of the same kind as x.
Raises: ValueError when x has more modes.
Source: CuTe `append_ones`.

Examples:
    >>> cute.append_ones(cute.parse("(4,2):(1,4)"), up_to_rank=4), cute.append_ones((4, 2))
    ((4,2,1,1):(1,4,0,0), (4, 2, 1)))doc";

inline constexpr const char* prepend_ones = R"doc(The object with modes of extent 1 (of layouts 1:0) added in front.

    prepend_ones(x, r) = prepend(x, 1, r)

Args:
    x: a tuple, Layout, ComposedLayout or Tensor.
    up_to_rank: the rank to reach; by default rank(x) + 1.
Returns: an object of the same kind as x.
Raises: ValueError when x has more modes.
Source: CuTe `prepend_ones`.

Examples:
    >>> cute.prepend_ones(cute.parse("(4,2):(1,4)"), up_to_rank=3), cute.prepend_ones((4, 2))
    ((1,4,2):(0,1,4), (1, 4, 2)))doc";

inline constexpr const char* repeat = R"doc(The argument n times, as a tuple; once is the argument itself.

    repeat(x, n) = (x, x, .., x),   repeat(x, 1) = x

Args:
    x: anything.
    n: an int from 1 to 2^20.
Returns: a tuple, or x.
Raises: ValueError for another n.
Source: CuTe `repeat`.

Examples:
    >>> cute.repeat(8, 3), cute.repeat(8, 1)
    ((8, 8, 8), 8))doc";

inline constexpr const char* repeat_as_tuple = R"doc(The argument n times, always as a tuple.

    repeat_as_tuple(x, n) = (x, x, .., x)

Args:
    x: anything.
    n: an int from 1 to 2^20.
Returns: a tuple of n.
Raises: ValueError for another n.
Source: CuTe `repeat_as_tuple`.

Examples:
    >>> cute.repeat_as_tuple(8, 3), cute.repeat_as_tuple(8, 1)
    ((8, 8, 8), (8,)))doc";

inline constexpr const char* repeat_like = R"doc(The argument at every leaf of a tuple.

    repeat_like(x, (a,(b,c))) = (x,(x,x))

Args:
    x: anything.
    target: a nested tuple; only its nesting counts.
Returns: a tuple congruent with the target, or x where that is a leaf.
Raises: LayoutError for a target that is nested deeper than 64; any other object counts as a leaf.
Source: CuTe `repeat_like`.

Examples:
    >>> cute.repeat_like(None, (4, (2, 3)))
    (None, (None, None)))doc";

inline constexpr const char* zip_layouts =
    R"doc(Layouts of the same rank put together mode by mode; one layout: its modes.

    zip((a0,a1,..), (b0,b1,..)) = ((a0,b0),(a1,b1),..)

Args:
    layouts: Layouts of the same rank, or one Layout whose modes have the same rank.
Returns: a Layout.
Raises: LayoutError when the ranks differ.
Source: CuTe C++ `zip`.

Examples:
    >>> cute.zip_layouts(cute.parse("(4,2):(1,4)"), cute.parse("(3,5):(8,24)"))
    ((4,3),(2,5)):((1,8),(4,24)))doc";

inline constexpr const char* slice_ =
    R"doc(The modes where a coordinate has None; the offset of the other modes is dropped.

    L(fill(c, x)) = slice_(L, c)(x) + offset, see `slice_and_offset`; of a tensor the offset moves the iterator

Args:
    x: a tuple, Layout, ComposedLayout or Tensor.
    coord: None (keep), an integer (drop), or a tuple of these per mode.
Returns: an object of the same kind; a swizzled layout may become a plain one. `():()` where nothing is kept.
Raises: LayoutError when the coordinate does not fit the shape, or a swizzled slice fits no layout.
Source: CuTe `slice_`.

Examples:
    >>> cute.slice_(cute.parse("(4,(2,3)):(1,(4,8))"), (None, (0, None)))
    (4,3):(1,8)
    >>> cute.slice_((4, 8), (2, None)), cute.slice_(cute.make_tensor(100, cute.parse("(4,8):(8,1)")), (2, None))
    ((8,), tensor<116 o (8):(1)>))doc";

inline constexpr const char* dice = R"doc(The modes where a coordinate has an integer: what `slice_` drops.

    modes of dice(x, c) and of slice_(x, c) together are those of x

Args:
    x: a tuple, Layout, ComposedLayout or Tensor.
    dicer: None (drop), an integer (keep), or a tuple of these per mode.
Returns: an object of the same kind. `():()` where nothing is kept.
Raises: LayoutError when the coordinate does not fit the shape.
Source: CuTe `dice`.

Examples:
    >>> cute.dice(cute.parse("(4,(2,3)):(1,(4,8))"), (None, (0, None)))
    (2):(4))doc";

inline constexpr const char* slice_and_offset =
    R"doc(The modes where a coordinate has None, and the offset of the others.

    L(fill(c, x)) = sliced(x) + offset

Args:
    coord: None (keep), an integer (fix), or a tuple of these per mode.
    layout: a Layout or ComposedLayout; a swizzled one that keeps no Y bit with its Z bit becomes a plain layout.
Returns: (sliced layout, offset in elements, or a coordinate where the strides are basis elements).
Raises: LayoutError when the coordinate does not fit the shape, or the offset carries into swizzle bits of the slice.
Source: CuTe C++ `slice_and_offset`.

Examples:
    >>> cute.slice_and_offset((2, None), cute.parse("(4,8):(8,1)"))
    ((8):(1), 16)
    >>> cute.slice_and_offset((2, None), cute.parse("S<2,0,3> o 0 o (8,8):(8,1)"))
    (((2,2,2)):((1,-2,4)), 18))doc";

inline constexpr const char* domain_offset = R"doc(The tensor or layout with its origin moved to a coordinate.

    domain_offset(c, T)(x) = T(c + x), added mode by mode, for c + x inside T

Args:
    coord: a coordinate of the tensor.
    tensor: a Tensor, Layout or ComposedLayout.
Returns: the tensor with the same layout and its iterator moved; of a layout the pair (layout, offset in elements). A
    composed layout takes the offset inside, and 0 is left.
Raises: LayoutError when the coordinate does not fit the shape.
Source: CuTe `domain_offset`.

Examples:
    >>> cute.domain_offset((1, 2), cute.make_identity_tensor((4, 8)))
    tensor<(1,2) o (4,8):(1@0,1@1)>
    >>> cute.domain_offset((1, 2), cute.parse("(4,8):(8,1)"))
    ((4,8):(8,1), 10))doc";

}  // namespace tilewright::bind::doc
