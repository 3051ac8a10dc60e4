// The layout algebra. Each operation states its law; `A(i)` is layout A at the 1-D coordinate i.
//
// An answer is CuTe's answer, shape, stride and profile, wherever CuTe's answer satisfies the law. Where it does not,
// another layout of static integers that satisfies it is the answer, where there is one; else LayoutError is thrown
// with the smallest counter-example found. Inside an Unchecked scope CuTe's answer is returned as it is.
//
// Static and dynamic: an operation merges, drops or rejects only what static integers prove, as CuTe's types do; the
// laws are then checked by value, for dynamic integers too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "layout.hpp"

namespace tilewright {

// While one lives, the operations of this thread skip the checks of their laws.
class Unchecked {
 public:
  Unchecked();
  ~Unchecked();
  Unchecked(const Unchecked&) = delete;
  Unchecked& operator=(const Unchecked&) = delete;
};

// Whether laws are to be checked wherever all numbers are known: inside no Unchecked scope but that of tracing, whose
// numbers nobody knows yet.
bool checks_wanted();

// Checks laws again, where all numbers of an operation are known though a function is being traced.
class CheckedWhileTracing {
 public:
  explicit CheckedWhileTracing(bool all_known);
  ~CheckedWhileTracing();
  CheckedWhileTracing(const CheckedWhileTracing&) = delete;
  CheckedWhileTracing& operator=(const CheckedWhileTracing&) = delete;

 private:
  int depth_;
};
// For a scope that does not end with a C++ block (Python's `with`).
void enter_unchecked();
void leave_unchecked();

// A tiler: an extent n (meaning n:1), a layout, None (leave the mode alone), or one tiler per mode.
class Tiler {
 public:
  enum class Kind { kNone, kExtent, kLayout, kModes };

  Tiler() : kind_(Kind::kNone) {}
  explicit Tiler(const Node& extent) : kind_(Kind::kExtent), extent_(extent) {}
  explicit Tiler(Layout layout) : kind_(Kind::kLayout), layout_(std::move(layout)) {}
  explicit Tiler(std::vector<Tiler> modes) : kind_(Kind::kModes), modes_(std::move(modes)) {}

  Kind kind() const { return kind_; }
  const Node& extent() const { return extent_; }
  const Layout& layout() const { return *layout_; }
  const std::vector<Tiler>& modes() const { return modes_; }
  // The layout that a tiler of one mode stands for: itself, or make_layout(extent).
  Layout as_layout() const;
  std::string text() const;

 private:
  Kind kind_;
  Node extent_ = static_int(1);
  std::optional<Layout> layout_;
  std::vector<Tiler> modes_;
};

// The same function with the fewest modes that static integers prove: R(i) == L(i) for i < |L|, |R| == |L|.
Layout coalesce(LayoutView layout);
// Mode by mode where the profile is a tuple; modes beyond the profile stay.
Layout coalesce(LayoutView layout, TupleView profile);
// Extents of stride-0 modes become 1.
Layout filter_zeros(LayoutView layout);
// Extents where the profile is 0 become 1.
IntTuple filter_zeros(TupleView shape, TupleView profile);
// coalesce(filter_zeros(L)): the same image, without repetition by stride 0.
Layout filter(LayoutView layout);
Layout filter(LayoutView layout, TupleView profile);

// R = A o B: R(i) == A(B(i)) for i < |B|, and the shape of R refines the shape of B. A goes on past its size with its
// last stride.
Layout composition(LayoutView a, LayoutView b);
// An extent n means n:1; a tuple composes mode by mode and drops the modes of A beyond it.
Layout composition(LayoutView a, const Tiler& tiler);
Layout with_shape(LayoutView layout, TupleView shape);

// What L leaves over of [0, M): increasing, disjoint from L, (L, R) injective if L is; covers [0, M) where the sizes
// divide.
Layout complement(LayoutView layout, TupleView cotarget);
Layout complement(LayoutView layout);  // cotarget: the cosize of the filtered layout

// A(R(i)) == i for i < |R|.
Layout right_inverse(LayoutView layout);
// L(A(i)) == i for i < |A| where A is injective; A(L(A(i))) == A(i) where A repeats by stride 0.
Layout left_inverse(LayoutView layout);
// The modes with stride 0: A(N(i)) == 0.
Layout nullspace(LayoutView layout);

// The largest R with A(R(i)) == i == B(R(i)).
Layout max_common_layout(LayoutView a, LayoutView b);
// The largest power by which a pointer may be aligned that every repetition of the contiguous part keeps.
Node max_alignment(LayoutView layout);
// The layout that deals b threads over a shape: per mode gcd(extent, what is left of b).
Layout domain_distribute(TupleView shape, const Node& b);

// A / B = A o (B, B*): R(i) == A(t) wherever t = (B, B*)(i) lies inside A, and no element of A is lost.
Layout logical_divide(LayoutView layout, const Tiler& tiler);
Layout zipped_divide(LayoutView layout, const Tiler& tiler);
Layout tiled_divide(LayoutView layout, const Tiler& tiler);
Layout flat_divide(LayoutView layout, const Tiler& tiler);

// A x B = (A, A* o B).
Layout logical_product(LayoutView block, const Tiler& tiler);
Layout zipped_product(LayoutView block, const Tiler& tiler);
Layout tiled_product(LayoutView block, const Tiler& tiler);
Layout flat_product(LayoutView block, const Tiler& tiler);
Layout blocked_product(LayoutView block, LayoutView tiler);
Layout raked_product(LayoutView block, LayoutView tiler);

struct TvLayout {
  IntTuple tiler;
  Layout layout;
};
TvLayout make_layout_tv(LayoutView threads, LayoutView values);
Layout tile_to_shape(LayoutView block, TupleView shape, TupleView order);
Layout tile_to_shape_ordered(LayoutView block, TupleView shape, Major major);

// The same bytes seen as elements n times as wide, or n times as narrow.
Layout upcast(LayoutView layout, int64_t n);
Layout downcast(LayoutView layout, int64_t n);
Layout recast(LayoutView layout, int64_t old_bits, int64_t new_bits);

}  // namespace tilewright
