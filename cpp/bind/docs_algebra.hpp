// Docstrings: the algebra, operation by operation. A, B, L, R are layouts, A(i) is A at the 1-D coordinate i.
#pragma once

namespace tilewright::bind::doc {

inline constexpr const char* coalesce = R"doc(The same function with the fewest modes that static integers prove.

    R(i) = L(i) for i < |L|, |R| = |L|: static extents of 1 vanish, s0:d, s1:s0*d become s0*s1:d

Args:
    layout: a Layout, ComposedLayout, Tensor, or a shape (see `coalesce_shape`).
    target_profile: a tuple coalesces mode by mode and keeps the modes; modes beyond it stay.
Returns: an object of the same kind, flat up to the profile. Dynamic extents and strides stay.
Raises: LayoutError when the profile has more modes.
Source: CuTe `coalesce`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

Examples:
    >>> layout = cute.parse("(2,(1,6)):(1,(6,2))")
    >>> cute.coalesce(layout), cute.coalesce(layout, target_profile=(1, 1))
    (12:1, (2,6):(1,2))
    >>> cute.coalesce(cute.make_layout((Int32(4), 2)))
    (?,2):(1,?))doc";

inline constexpr const char* filter = R"doc(The layout without repetition by stride 0, coalesced.

    im(R) = im(L): coalesce(filter_zeros(L))

Args:
    layout: a Layout, ComposedLayout or Tensor.
    target_profile: a tuple filters mode by mode; modes beyond it stay.
Returns: an object of the same kind.
Raises: LayoutError when the profile has more modes than the layout; TypeError for other kinds.
Source: CuTe `filter`.

Examples:
    >>> cute.filter(cute.parse("(4,2,3):(1,0,4)")), cute.filter(cute.parse("((4,2),3):((1,0),4)"), (1, 1))
    (12:1, (4,3):(1,4)))doc";

inline constexpr const char* filter_zeros = R"doc(The layout with extent 1 wherever the stride is the static 0.

    im(R) = im(L), shape and stride keep their nesting

Args:
    layout: a Layout, ComposedLayout or Tensor.
    target_profile: a nested tuple in place of the strides: extents become 1 where it is 0.
Returns: an object of the same kind.
Raises: LayoutError when a tuple of the profile has not as many modes as the shape there; TypeError for other kinds.
Source: CuTe `filter_zeros`.

Examples:
    >>> cute.filter_zeros(cute.parse("(4,2,3):(1,0,4)")), cute.filter_zeros(cute.parse("(4,2,3):(1,5,4)"), (1, 0, 1))
    ((4,1,3):(1,0,4), (4,1,3):(1,5,4)))doc";

inline constexpr const char* composition = R"doc(The layout that applies B, then A.

    R = A o B:  R(i) = A(B(i)) for i < |B|, and the shape of R refines that of B;
    past its size A goes on with its last stride

Args:
    lhs: A: a Layout, ComposedLayout, Tensor or Swizzle.
    rhs: B: a Layout, an extent n (n:1), or a tuple of these and None, which composes mode by mode: None keeps a mode,
        modes of A beyond the tuple are dropped. With a Layout, a Swizzle or a swizzled layout on the left also a Swizzle, with the first two a
        swizzled layout.
Returns: a Layout; a ComposedLayout, Swizzle or Tensor where A or B is one.
Raises: LayoutError when no layout is A o B, with CuTe's smallest wrong coordinate and a certificate, i and j with
    A(B(i+j)) != A(B(i)) + A(B(j)); of dynamic integers when CuTe's answer is wrong; TypeError for other kinds.
Source: CuTe `composition`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

Examples:
    >>> cute.composition(cute.parse("(6,2):(8,2)"), cute.parse("(4,3):(3,1)"))
    ((2,2),3):((24,2),8)
    >>> cute.composition(cute.parse("(12,(4,8)):(59,(13,1))"), (3, 8))
    (3,(4,2)):(59,(13,1))
    >>> cute.composition(cute.make_swizzle(2, 0, 3), cute.parse("(8,8):(8,1)"))
    S<2,0,3> o 0 o (8,8):(8,1))doc";

inline constexpr const char* with_shape = R"doc(The layout read in another shape.

    R = L o (compact column-major layout of the shape): R(i) = L(i) for i < |shape|

Args:
    layout: L: a Layout, ComposedLayout or Tensor.
    shape: an int or nested tuple of positive extents, or a Layout, whose shape counts.
Returns: an object of the same kind whose shape refines the one given.
Raises: LayoutError when no layout of such a shape is that function.
Source: CuTe C++ `Layout::with_shape`.

Examples:
    >>> cute.with_shape(cute.parse("(6,4):(4,1)"), (3, 8))
    (3,(2,4)):(4,(12,1)))doc";

inline constexpr const char* complement = R"doc(The layout of what L leaves over below M: where copies of L go.

    R(i-1) < R(i), im(L) and im(R) meet in 0 only, (L, R) is injective if L is;
    (L, R) is a bijection onto [0, M) where is_admissible(L, M)

With basis strides the law holds in each entry of the codomain, which M and R have in their profile.
Args:
    layout: L: a Layout, ComposedLayout (its outer layout) or Tensor.
    cotarget: M, in elements: an int, a shape (divided mode by mode) or a Layout; by default coshape(filter(L)).
Returns: a coalesced Layout. Where the sizes do not divide, it rounds up.
Where modes of L overlap, R is the least layout whose copies of L make up [0, M), each offset in one of them. Where a
shape that L does not divide mode by mode would end below M, R is the complement within its product. docs/theory.md
proves both.
Raises: LayoutError when modes of L overlap and there is no such layout, with two copies that meet, when a stride is
    negative, or M is not positive.
Source: CuTe `complement`; CUTLASS docs, media/docs/cpp/cute/02_layout_algebra.md.

Examples:
    >>> cute.complement(cute.parse("4:2"), 24), cute.complement(cute.parse("(2,2):(1,6)"), 24)
    ((2,3):(1,8), (3,2):(2,12))
    >>> cute.complement(cute.parse("4:1"), (6, 4)), cute.complement(cute.parse("(4,6):(1,4)"), 24)
    (8:4, 1:0)
    >>> cute.complement(cute.parse("(2,4):(2@0,1@1)"), (8, 8))
    ((2,2),2):((1@0,4@0),4@1))doc";

inline constexpr const char* right_inverse =
    R"doc(The layout that finds a coordinate for the offsets 0, 1, 2, .. as far as they are contiguous.

    A(R(i)) = i for i < |R|; with basis strides A(R(c)) = c for the coordinates c of R, which has the codomain's profile

Args:
    layout: A: a Layout, a Swizzle, or a layout composed with a Swizzle or Layout and an integer offset.
Returns: a Layout (a Swizzle of a Swizzle, composed for a composed one), as large as static strides prove; 1:0 where there is no stride 1.
Raises: LayoutError with a counter-example when CuTe's answer breaks the law (swizzles); TypeError for other kinds.
Source: CuTe `right_inverse`.

Examples:
    >>> cute.right_inverse(cute.parse("(4,8):(8,1)")), cute.right_inverse(cute.parse("(3,2):(4,1)"))
    ((8,4):(4,1), 2:3)
    >>> cute.right_inverse(cute.parse("(4,5):(1@1,1@0)"))
    (5,4):(4,1))doc";

inline constexpr const char* left_inverse = R"doc(The layout that finds the coordinate of an offset.

    L(A(i)) = i for i < |A| where A is injective; where it repeats by stride 0, A(L(A(i))) = A(i)

Args:
    layout: A: a Layout with static strides, a Swizzle, or a layout composed with a Swizzle or Layout and an integer
        offset.
Returns: a Layout (a Swizzle of a Swizzle, composed for a composed one). Offsets that A skips map to some coordinate. With
    basis strides it has the profile of A's codomain.
There is an answer wherever a layout satisfies the law (docs/theory.md): CuTe's, whose radices are the strides, else one
with other radices, sought among 4096 chains of them.
Raises: LayoutError when two coordinates have one offset, when no layout has the values or 4096 chains do not decide it,
    when a stride is dynamic, or a swizzle breaks the law; TypeError for other kinds.
Source: CuTe `left_inverse`.

Examples:
    >>> cute.left_inverse(cute.parse("(3,2):(4,1)")), cute.left_inverse(cute.parse("(2,2):(2,5)"))
    ((4,3):(3,1), (2,4):(0,1)))doc";

inline constexpr const char* nullspace = R"doc(The coordinates that a layout maps to 0: its modes with stride 0.

    A(N(i)) = 0 for i < |N|;   |N| * |im A| = |A| where the other modes are injective

Args:
    layout: A: a Layout, ComposedLayout or Tensor.
Returns: a Layout of 1-D coordinates of A; 1:0 where no stride is 0, and for a composed layout, as in CuTe.
Raises: LayoutError when a product does not fit into 64 bits; TypeError for other kinds.
Source: CuTe `nullspace`.

Examples:
    >>> cute.nullspace(cute.parse("(4,2,3):(0,1,0)")), cute.nullspace(cute.parse("4:1"))
    ((4,3):(1,8), 1:0))doc";

inline constexpr const char* max_common_layout =
    R"doc(The 1-D coordinates that are contiguous in both of two layouts: one vector copy.

    a(R(i)) = i = b(R(i)) for i < |R|; of a composed layout a(R(i)) = a(R(0)) + i

Args:
    a, b: Layouts, swizzled layouts or Tensors.
Returns: a Layout, as large as static integers prove; 1:0 where there is none.
Raises: LayoutError with a counter-example when CuTe's answer breaks the law; for an inner function that is no swizzle.
Source: CuTe `max_common_layout`.

Examples:
    >>> cute.max_common_layout(cute.parse("(4,8):(8,1)"), cute.parse("(4,8):(8,1)"))
    (8,4):(4,1)
    >>> cute.max_common_layout(cute.parse("(4,8):(1,4)"), cute.parse("(4,8):(1,8)"))
    4:1)doc";

inline constexpr const char* max_common_vector =
    R"doc(The number of elements that one vector copy between two layouts may move.

    |max_common_layout(a, b)|; where both have the same swizzle, that of their outer layouts, whose elements the swizzle
    permutes in both

Args:
    a, b: Layouts, swizzled layouts or Tensors.
Returns: an int, in elements; the alignment of the pointers is not considered.
Raises: as max_common_layout.
Source: CuTe `max_common_vector`.

Examples:
    >>> a, b = cute.parse("(4,8):(1,4)"), cute.parse("(4,8):(1,8)")
    >>> cute.max_common_vector(a, b), cute.max_common_vector(a, cute.parse("(4,8):(8,1)"))
    (4, 1))doc";

inline constexpr const char* max_alignment =
    R"doc(The alignment that every repetition of the contiguous part of a layout keeps.

    gcd of the length of the contiguous run from offset 0 and the strides of all modes outside of it; 2^M of a swizzle
    S<B,M,S>; of a swizzled layout gcd of both and the offset

Args:
    layout: a Layout, ComposedLayout, Swizzle or Tensor.
Returns: an int, in elements.
Raises: LayoutError when a dynamic stride is not a multiple of it.
Source: CuTe C++ `max_alignment`.

Examples:
    >>> cute.max_alignment(cute.parse("(8,4):(1,16)")), cute.max_alignment(cute.parse("(8,4):(1,12)"))
    (8, 4))doc";

inline constexpr const char* domain_distribute = R"doc(The layout that deals b threads over a shape, mode 0 first.

    per leaf: gcd(extent, what is left of b) threads, with the leaf's stride in the compact layout of the shape

Args:
    shape: an int or nested tuple of static extents.
    b: the number of threads, a static int.
Returns: a coalesced Layout from threads to 1-D coordinates of the shape; its size divides b.
Raises: LayoutError for dynamic or non-positive integers.
Source: CuTe C++ `domain_distribute`.

Examples:
    >>> cute.domain_distribute((6, 8), 16), cute.domain_distribute((128, 16), 256)
    ((2,8):(1,6), 256:1))doc";

inline constexpr const char* upcast = R"doc(The same memory counted in elements n times as wide.

    n * R(c') = L(c) and the elements L(c) .. inside the wide one R(c'), where c' packs the coordinates c of one element

Args:
    layout: a Layout, a Swizzle, or a layout composed with either.
    n: a positive int; a power of two for swizzles.
Returns: an object of the same kind; offsets in wide elements.
Raises: LayoutError when a stride and n do not divide one another, modes inside one element overlap the next, a stride
    is negative or dynamic and no multiple of n, or a swizzle would move parts of an element.
Source: CuTe C++ `upcast`.

Examples:
    >>> cute.upcast(cute.parse("(8,4):(1,8)"), 4), cute.upcast(cute.make_swizzle(3, 4, 3), 4)
    ((2,4):(1,2), S<3,2,3>))doc";

inline constexpr const char* downcast = R"doc(The same memory counted in elements 1/n as wide.

    R(n * c + k) = n * L(c) + k for k < n, c along the mode of stride 1;   upcast(downcast(L, n), n) = L

Args:
    layout: a Layout with a static stride of 1, a Swizzle, or a layout composed with either.
    n: a positive int; a power of two for swizzles.
Returns: an object of the same kind; offsets in narrow elements.
Raises: LayoutError when no mode has the static stride 1, or more than one.
Source: CuTe C++ `downcast`.

Examples:
    >>> cute.downcast(cute.parse("(2,4):(1,2)"), 4), cute.downcast(cute.make_swizzle(3, 4, 3), 4)
    ((8,4):(1,8), S<3,6,3>))doc";

inline constexpr const char* recast_layout = R"doc(The layout of the same memory seen as elements of another width.

    upcast(L, n) for new = n * old, downcast(L, n) for old = n * new, else both: upcast, then downcast

Args:
    new_type_bits, old_type_bits: widths of the elements, in bits.
    layout: a Layout, a Swizzle, or a layout composed with either.
Returns: an object of the same kind; offsets in new elements.
Raises: as upcast and downcast; also when the number of bits would change.
Source: CuTe `recast_layout`.

Examples:
    >>> cute.recast_layout(16, 8, cute.parse("(2,3,4):(1,2,6)")), cute.recast_layout(8, 16, cute.parse("(2,3):(1,2)"))
    ((1,3,4):(1,1,3), (4,3):(1,4)))doc";

inline constexpr const char* unchecked =
    R"doc(A `with` block in which operations skip the checks of their laws and give CuTe's own answers.

    with cute.unchecked():  R may break R(i) = A(B(i)) and its kin

What CuTe rejects stays an error. It holds for the thread that entered it; blocks nest.
Source: tilewright; see docs/differences.md.

Examples:
    >>> a, b = cute.parse("(3,4):(4,1)"), cute.parse("4:2")
    >>> with cute.unchecked():
    ...     r = cute.composition(a, b)
    >>> r, [r(i) for i in range(4)], [a(b(i)) for i in range(4)]
    ((2,2):(8,1), [0, 8, 1, 9], [0, 8, 5, 2]))doc";

}  // namespace tilewright::bind::doc
