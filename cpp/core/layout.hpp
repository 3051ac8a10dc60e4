// Layout: a function from coordinates to offsets, given by a shape and a congruent stride.
//
//     L = S:D,   L(c) = sum over leaves of c_i * d_i
//
// `(4,(2,3)):(1,(4,8))` maps the coordinate (c0,(c1,c2)) to c0 + 4*c1 + 8*c2. A coordinate may be less nested than the
// shape: an integer stands for the colexicographic (mode 0 fastest) coordinate,
//
//     i          0   1   2   3   4   5   ...      i = c0 + 4*(c1 + 2*c2)
//     (c0,c1,c2) 000 100 200 300 010 110 ...
//     L(i)       0   1   2   3   4   5   ...      this layout is compact, so L(i) = i
//
// The last leaf is not wrapped: past the size a layout goes on with its last stride. So does CuTe, and composition
// relies on it.
//
// With basis strides (E(0) = 1@0, E(1) = 1@1, ...) the offset is a coordinate itself; the identity layout is the
// example.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "basis.hpp"
#include "int_tuple.hpp"

namespace tilewright {

// A layout seen through pointers to its two trees, walked in step.
struct LayoutView {
  TupleView shape;
  TupleView stride;

  bool is_leaf() const { return shape.is_leaf(); }
  int64_t rank() const { return shape.rank(); }
  LayoutView mode(int64_t i) const { return {shape.mode(i), stride.mode(i)}; }
};

class Layout {
 public:
  // Checks that shape and stride are congruent and every extent is positive.
  Layout(IntTuple shape, IntTuple stride);
  explicit Layout(LayoutView view) : shape_(view.shape), stride_(view.stride) {}
  static Layout leaf(const Node& extent, const Node& stride) { return unchecked(IntTuple(extent), IntTuple(stride)); }
  // For results of the algebra, whose profiles agree by construction (CuTe's own answers may have extents of 0).
  static Layout unchecked(IntTuple&& shape, IntTuple&& stride) { return {std::move(shape), std::move(stride), 0}; }

  const IntTuple& shape() const { return shape_; }
  const IntTuple& stride() const { return stride_; }
  LayoutView view() const { return {shape_.view(), stride_.view()}; }
  operator LayoutView() const { return view(); }  // NOLINT: passing a Layout where a view is read is the point
  bool is_leaf() const { return shape_.is_leaf(); }
  int64_t rank() const { return shape_.rank(); }

  friend bool operator==(const Layout& a, const Layout& b) { return a.shape_ == b.shape_ && a.stride_ == b.stride_; }

 private:
  Layout(IntTuple&& shape, IntTuple&& stride, int) : shape_(std::move(shape)), stride_(std::move(stride)) {}
  IntTuple shape_;
  IntTuple stride_;
};

// One leaf of a layout.
struct Mode {
  Node extent;
  Node stride;
};
using Modes = SmallVector<Mode, 8>;

// Appends shape and stride trees in step.
class LayoutBuilder {
 public:
  void open() { shape_.open(), stride_.open(); }
  void close() { shape_.close(), stride_.close(); }
  void leaf(const Node& extent, const Node& stride) { shape_.leaf(extent), stride_.leaf(stride); }
  void copy(LayoutView view) { shape_.copy(view.shape), stride_.copy(view.stride); }
  // The flat layout of these modes: none is 1:0, one is a leaf, more are a tuple.
  void flat(const Modes& modes) {
    if (modes.size() == 1) return leaf(modes[0].extent, modes[0].stride);
    if (modes.empty()) return leaf(static_int(1), static_int(0));
    open();
    for (const Mode& mode : modes) leaf(mode.extent, mode.stride);
    close();
  }
  Layout take() { return Layout::unchecked(shape_.take(), stride_.take()); }

 private:
  TupleBuilder shape_;
  TupleBuilder stride_;
};

template <class F>
void for_each_mode(LayoutView layout, F&& f) {
  if (layout.is_leaf()) {
    f(layout);
    return;
  }
  const Node* shape = layout.shape.get() + 1;
  const Node* stride = layout.stride.get() + 1;
  for (int64_t i = 0; i < layout.rank(); ++i) {
    const int64_t span = shape->span();
    f(LayoutView{shape, stride});
    shape += span;
    stride += span;
  }
}

template <class F>
void for_each_leaf(LayoutView layout, F&& f) {
  const int64_t span = layout.shape.span();
  for (int64_t i = 0; i < span; ++i) {
    if (!layout.shape.get()[i].is_tuple()) f(layout.shape.get()[i], layout.stride.get()[i]);
  }
}

// Whether an extent or a stride is known only when the program that is traced runs.
inline bool has_symbol(LayoutView layout) {
  bool found = false;
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    found = found || extent.is_symbolic() || stride.is_symbolic();
  });
  return found;
}

// The leaves, in order.
Modes modes_of(LayoutView layout);
Layout from_modes(const Modes& modes);
// (first, second)
Layout pair(LayoutView first, LayoutView second);

std::string to_string(LayoutView layout);

// Size, cosize, evaluation.
inline Node size(LayoutView layout) { return product(layout.shape); }
// The greatest offset plus one where no stride is negative; sum of (s-1)*|d| plus one in general; over basis strides
// per component.
IntTuple coshape(LayoutView layout);
Node cosize(LayoutView layout);
// The least and the greatest offset.
struct Range {
  int64_t min;
  int64_t max;
};
Range offset_range(LayoutView layout);

// crd2idx: the offset of a coordinate. A basis stride makes it a tuple.
IntTuple crd2idx(TupleView coord, LayoutView layout);
Node crd2idx(TupleView coord, TupleView shape);
// For plain strides and a 1-D coordinate, by values alone: the hot path of `layout(i)`.
int64_t evaluate(LayoutView layout, int64_t index);

IntTuple idx2crd(TupleView index, TupleView shape);
IntTuple crd2crd(TupleView coord, TupleView source, TupleView target);
// The coordinate that a layout maps to an offset: c with layout(c) == offset. Where there is none, the digits (offset /
// d) mod s.
IntTuple offset_to_coord(const Node& offset, LayoutView layout);
IntTuple increment_coord(TupleView coord, TupleView shape);

// Modes.
Layout get(LayoutView layout, const std::vector<int64_t>& path);
Layout select(LayoutView layout, const std::vector<int64_t>& modes);
Layout take(LayoutView layout, int64_t begin, int64_t end);
Layout group(LayoutView layout, int64_t begin, int64_t end);
// Raise where the modes [begin,end) are not some of `rank` modes, and where `rank` modes cannot grow to `up_to`.
void check_range(int64_t begin, int64_t end, int64_t rank);
void check_rank(int64_t rank, int64_t up_to);
Layout append(LayoutView layout, LayoutView mode);
Layout prepend(LayoutView layout, LayoutView mode);
Layout append_to_rank(LayoutView layout, int64_t rank, LayoutView mode);
Layout prepend_to_rank(LayoutView layout, int64_t rank, LayoutView mode);
Layout replace(LayoutView layout, int64_t i, LayoutView mode);
Layout concatenate(const std::vector<Layout>& layouts);
// ((a0,b0),(a1,b1),...) of layouts of equal rank; of one layout, of its modes.
Layout zip(const std::vector<Layout>& layouts);
Layout flatten(LayoutView layout);
Layout unflatten(LayoutView layout, TupleView profile);

// Slices: the modes where the coordinate is None (slice), or where it is not (dice).
Layout slice(TupleView coord, LayoutView layout);
Layout dice(TupleView coord, LayoutView layout);
IntTuple slice(TupleView coord, TupleView tuple);
IntTuple dice(TupleView coord, TupleView tuple);
struct Sliced {
  Layout layout;
  IntTuple offset;
};
Sliced slice_and_offset(TupleView coord, LayoutView layout);

// Constructors.
Layout make_layout(TupleView shape);
Layout make_identity_layout(TupleView shape);
Layout make_ordered_layout(TupleView shape, TupleView order);
Layout make_layout_like(LayoutView layout);
Layout make_fragment_like(LayoutView layout);

}  // namespace tilewright
