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
Raises: LayoutError where many interleaving modes leave it undecided after 2^20 steps, or for a ComposedLayout of another
    layout beyond 2^24 elements.
Source: tilewright.

Examples:
    >>> cute.is_injective(cute.parse("(4,2):(1,8)")), cute.is_injective(cute.parse("(4,2):(1,2)"))
    (True, False))doc";

inline constexpr const char* is_disjoint = R"doc(Whether two layouts have no offset in common.

    a(i) = offset + b(j) for no i < |a|, j < |b|

Args:
    a: a Layout of integer strides, of any size.
    b: another one.
    offset: an integer, in elements: where b begins, seen from a.
Returns: a Verdict; of a no the witness is a pair (i, j) of one-dimensional coordinates.
Raises: LayoutError for basis strides, or where many interleaving modes leave it undecided after 2^20 steps.
Source: tilewright.

Examples:
    >>> cute.is_disjoint("(4,1024):(1,8)", "(4,1024):(1,8)", 4)
    True
    >>> cute.is_disjoint("(4,1024):(1,8)", "(4,1024):(1,6)", 4).witness
    (3072, 4094))doc";

inline constexpr const char* is_bijective = R"doc(Whether the offsets are exactly 0 to size - 1, each once.

    L is injective and im(L) = [0, |L|); for basis strides: every coordinate of the coshape, each once

Args:
    layout: a Layout, ComposedLayout or Tensor.
Returns: a bool. A thread-value layout that is bijective deals every element to one thread.
Raises: LayoutError as of is_injective, or for a swizzled layout with an offset beyond 2^24 elements.
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
Raises: LayoutError when a composed layout has more than 2^30 elements.
Source: tilewright.

Examples:
    >>> cute.equivalent(cute.parse("(2,(1,6)):(1,(6,2))"), cute.parse("12:1"))
    True
    >>> verdict = cute.equivalent(cute.parse("(4,2):(1,4)"), cute.parse("(4,2):(1,5)"))
    >>> verdict, verdict.witness
    (False (at coordinate 4 the values are 4 and 5), (4, 4, 5)))doc";

inline constexpr const char* sorted_layout = R"doc(The flat layout with its modes in the order of their strides.

    d_0 <= d_1 <= ..; in general another function with the same image

Args:
    layout: a Layout or Tensor.
Returns: a Layout.
Source: tilewright; what articles call a sorted layout.

Examples:
    >>> cute.sorted_layout(cute.parse("(4,2,3):(6,1,2)"))
    (2,3,4):(1,2,6))doc";

}  // namespace tilewright::bind::doc
