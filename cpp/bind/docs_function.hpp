// Docstrings: questions about layouts as functions.
#pragma once

namespace tilewright::bind::doc {

inline constexpr const char* coshape = R"doc(The smallest shape that holds every offset, from 0 on.

    plain strides: sum of (s-1) * |d| over the modes, plus 1; basis strides: the same for every component

Args:
    layout: a Layout or Tensor.
Returns: an integer, or a tuple of them where the offsets are coordinates.
Raises: LayoutError when a number does not fit into 64 bits.
Source: CuTe C++ `coshape`.

Examples:
    >>> cute.coshape(cute.parse("(4,2):(1,8)")), cute.coshape(cute.make_identity_layout((4, 3)))
    (12, (4, 3)))doc";

inline constexpr const char* offset_range = R"doc(The least and the greatest offset of a layout.

    min = sum of (s-1) * d over the modes with d < 0,   max = the same with d > 0

Args:
    layout: a Layout or Tensor.
Returns: the pair (min, max) of ints, in elements.
Raises: LayoutError when a number does not fit into 64 bits; TypeError for a ComposedLayout.
Source: tilewright; with negative strides it says more than CuTe's `cosize`.

Examples:
    >>> cute.offset_range(cute.parse("(4,2):(1,-8)"))
    (-8, 3))doc";

inline constexpr const char* image = R"doc(The distinct offsets of a layout, sorted.

    {L(i) : i < |L|}

Args:
    layout: a Layout, ComposedLayout or Tensor of at most 2^30 elements.
Returns: a one-dimensional NumPy array, int64, in elements.
Raises: LayoutError for basis strides or a larger layout.
Source: tilewright.

Examples:
    >>> cute.image(cute.parse("(4,2):(1,2)")).tolist()
    [0, 1, 2, 3, 4, 5])doc";

inline constexpr const char* is_injective = R"doc(Whether no two coordinates share an offset.

    L(i) = L(j) only for i = j

Args:
    layout: a Layout, ComposedLayout or Tensor.
Returns: a bool.
Exact for layouts of any size, also with a swizzle: it decides whether bounded multiples of the strides add up to 0
(docs/theory.md).
Raises: LayoutError where strides that do not nest exceed the budget of that search, and for a composed layout without a
    swizzle of more than 2^24 elements.
Source: tilewright.

Examples:
    >>> cute.is_injective(cute.parse("(4,2):(1,8)")), cute.is_injective(cute.parse("(4,2):(1,2)"))
    (True, False))doc";

inline constexpr const char* is_bijective = R"doc(Whether the offsets are exactly 0 to size - 1, each once.

    L is injective and im(L) = [0, |L|); for basis strides: every coordinate of the coshape, each once

Args:
    layout: a Layout, ComposedLayout or Tensor.
Returns: a bool. A thread-value layout that is bijective deals every element to one thread.
Raises: LayoutError as is_injective does, and for a swizzled layout of more than 2^24 elements that is no whole number
    of the swizzle's periods.
Source: tilewright.

Examples:
    >>> cute.is_bijective(cute.parse("(4,8):(8,1)")), cute.is_bijective(cute.parse("(4,8):(9,1)"))
    (True, False)
    >>> cute.is_bijective(cute.parse("S<3,0,3> o 0 o (8,8):(8,1)"))
    True)doc";

inline constexpr const char* is_tractable = R"doc(Whether the modes of a layout nest, in the order of their strides.

    with the modes sorted by stride: d_k = 0, or s_k * d_k | d_{k+1}, for every k

These are the layouts that come from maps of tuples in *Categorical Foundations for CuTe Layouts* (arXiv 2601.05972), whose
composition by mutual refinement is one of those that `composition` has.

Args:
    layout: a Layout or Tensor.
Returns: a Verdict, with the reason of a no.
Raises: TypeError for a ComposedLayout.
Source: tilewright.

Examples:
    >>> cute.is_tractable("(4,8):(8,1)"), cute.is_tractable("(4,2):(1,6)")
    (True, False (the mode 4:1 ends at 4, which does not divide the stride 6)))doc";

inline constexpr const char* is_admissible = R"doc(Whether a layout and a cotarget are admissible for complementation.

    with the modes sorted by stride: s_{k-1} * d_{k-1} | d_k for every k, and s_n * d_n | M

Then (L, complement(L, M)) is a bijection onto [0, M).
Args:
    layout: a Layout.
    cotarget: M, an int, in elements.
Returns: a Verdict: true or false in a condition, with the `reason` of a no.
Raises: TypeError for a swizzled layout and other kinds, and for a cotarget that is no integer.
Source: docs/seeds.md, article 004; CuTe does not check it.

Examples:
    >>> cute.is_admissible(cute.parse("(4,2):(1,8)"), 16)
    True
    >>> cute.is_admissible(cute.parse("(4,2):(1,6)"), 24)
    False (the modes with smaller strides fill 4 offsets, which does not divide the stride 6))doc";

inline constexpr const char* equivalent = R"doc(Whether two layouts are the same function of the 1-D coordinate.

    |a| = |b| and a(i) = b(i) for i < |a|; the nesting does not count, dynamic integers count by their values

Args:
    a, b: Layouts, ComposedLayouts or Tensors.
Returns: a Verdict: true or false in a condition, with the `reason` of a no and the `witness`: the smallest
    (i, a(i), b(i)) that differ, or None.
Raises: LayoutError where more than 2^22 values of composed layouts would have to be compared one by one.
Source: tilewright.

Examples:
    >>> cute.equivalent(cute.parse("(2,(1,6)):(1,(6,2))"), cute.parse("12:1"))
    True
    >>> verdict = cute.equivalent(cute.parse("(4,2):(1,4)"), cute.parse("(4,2):(1,5)"))
    >>> verdict, verdict.witness
    (False (at coordinate 4 the values are 4 and 5), (4, 4, 5)))doc";

inline constexpr const char* is_disjoint = R"doc(Whether the images of two layouts have no offset in common.

    a(i) != offset + b(j) for all i < |a|, j < |b|

Exact for layouts of any size: it decides whether bounded multiples of the strides add up to the offset
(docs/theory.md).
Args:
    a, b: Layouts, ComposedLayouts or Tensors.
    offset: what is added to the offsets of b, an int, in elements.
Returns: a Verdict: true or false in a condition, with the `reason` of a no and the `witness`: (i, j, a(i)), two 1-D
    coordinates and the offset that they share.
Raises: LayoutError where strides that do not nest exceed the budget of that search, and for composed layouts of more
    than 2^24 elements that have not the same swizzle.
Source: tilewright.

Examples:
    >>> even, odd = cute.parse("(4,8):(2,64)"), cute.parse("(4,8):(2,64)")
    >>> cute.is_disjoint(even, odd, 1)
    True
    >>> verdict = cute.is_disjoint(cute.parse("4:3"), cute.parse("4:5"), 4)
    >>> verdict, verdict.witness
    (False (coordinates 3 and 1 share the offset 9), (3, 1, 9)))doc";

inline constexpr const char* image_within = R"doc(Whether all offsets of a layout lie in an interval.

    begin <= L(i) < end for all i < |L|

Args:
    layout: a Layout, ComposedLayout or Tensor.
    begin, end: ints, in elements.
Returns: a Verdict: true or false in a condition, with the `reason` of a no and the `witness`: (i, L(i)) outside.
Raises: LayoutError for basis strides, and for a composed layout of more than 2^24 elements.
Source: tilewright.

Examples:
    >>> cute.image_within(cute.parse("(4,8):(1,64)"), 0, 512)
    True
    >>> cute.image_within(cute.parse("(4,8):(1,64)"), 0, 451)
    False (coordinate 31 has the offset 451, outside [0, 451)))doc";

inline constexpr const char* sorted_layout = R"doc(The flat layout with its modes in the order of their strides.

    d_0 <= d_1 <= ..; in general another function with the same image

Args:
    layout: a Layout or Tensor.
Returns: a Layout.
Raises: TypeError for a swizzled layout and other kinds.
Source: tilewright; what articles call a sorted layout.

Examples:
    >>> cute.sorted_layout(cute.parse("(4,2,3):(6,1,2)"))
    (2,3,4):(1,2,6))doc";

}  // namespace tilewright::bind::doc
