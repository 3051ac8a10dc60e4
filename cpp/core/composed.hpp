// Swizzle and ComposedLayout: functions that no shape:stride describes.
//
// Swizzle<B,M,S> XORs B bits of an offset, the Z bits, with B others, the Y bits, |S| positions away; the lowest M bits
// stay:
//
//     S > 0:   ... YYY ... ZZZ mmmm        x ^ ((x & Y) >> S)
//
// It is linear over F2 and its own inverse (|S| >= B), a bijection on every aligned block of 2^(B+M+|S|) offsets.
//
// A ComposedLayout is c -> inner(offset + outer(c)): a swizzled shared-memory tile, for example.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "algebra.hpp"

namespace tilewright {

class Swizzle {
 public:
  Swizzle(int64_t bits, int64_t base, int64_t shift);
  static Swizzle from_masks(int64_t y, int64_t z);

  int64_t bits() const { return bits_; }
  int64_t base() const { return base_; }
  int64_t shift() const { return shift_; }
  int64_t y_mask() const { return mask() << (base_ + (shift_ > 0 ? shift_ : 0)); }
  int64_t z_mask() const { return mask() << (base_ - (shift_ < 0 ? shift_ : 0)); }
  // Offsets repeat the pattern after this many: 2^(B+M+|S|).
  int64_t period() const { return int64_t{1} << (bits_ + base_ + (shift_ < 0 ? -shift_ : shift_)); }

  int64_t operator()(int64_t offset) const {
    const int64_t y = offset & y_mask();
    return offset ^ (shift_ >= 0 ? y >> shift_ : y << -shift_);
  }
  friend bool operator==(const Swizzle&, const Swizzle&) = default;

 private:
  int64_t mask() const { return (int64_t{1} << bits_) - 1; }
  int64_t bits_;
  int64_t base_;
  int64_t shift_;
};

std::string to_string(const Swizzle& swizzle);
// The offset with its bits changed.
Node apply(const Swizzle& swizzle, const Node& offset);

// A function that is not of this library: the Python callable of a ComposedLayout.
class Function {
 public:
  Function() = default;
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;
  virtual ~Function() = default;
  virtual IntTuple call(const IntTuple& argument) const = 0;
  virtual std::string text() const = 0;
  virtual bool equals(const Function& other) const = 0;
  virtual std::size_t hash() const = 0;
};

using Inner = std::variant<Swizzle, Layout, std::shared_ptr<const Function>>;

class ComposedLayout {
 public:
  ComposedLayout(Inner inner, IntTuple offset, Layout outer);

  const Inner& inner() const { return inner_; }
  const IntTuple& offset() const { return offset_; }
  const Layout& outer() const { return outer_; }
  const Swizzle* swizzle() const { return std::get_if<Swizzle>(&inner_); }
  // The same inner function and offset over another layout.
  ComposedLayout with_outer(Layout outer) const { return {inner_, offset_, std::move(outer)}; }

  IntTuple operator()(TupleView coord) const;
  friend bool operator==(const ComposedLayout& a, const ComposedLayout& b);

 private:
  Inner inner_;
  IntTuple offset_;
  Layout outer_;
};

// The offset of a composed layout moved by a value of its outer layout.
IntTuple add_offset(const IntTuple& offset, const IntTuple& value);

void note_outer(const ComposedLayout& layout);  // in a derivation
// f on the outer layout; what is inside stays.
template <class F>
ComposedLayout on_outer(const ComposedLayout& layout, F&& f) {
  note_outer(layout);
  return layout.with_outer(f(LayoutView(layout.outer())));
}

std::string inner_text(const Inner& inner);
std::string to_string(const ComposedLayout& layout);
std::size_t hash_value(const ComposedLayout& layout);

using AnyLayout = std::variant<Layout, ComposedLayout>;

// Swizzles of the same shift: (a o b)(x) == a(b(x)).
Swizzle composition(const Swizzle& a, const Swizzle& b);
// Swizzle<0,M,S> is the identity and vanishes.
AnyLayout composition(const Swizzle& swizzle, const Layout& layout);
// layout o swizzle as swizzle' o layout, the bits carried through the layout.
AnyLayout composition(const Layout& layout, const Swizzle& swizzle);
AnyLayout composition(const Layout& layout, const ComposedLayout& composed);
AnyLayout composition(const ComposedLayout& composed, const Swizzle& swizzle);

// A swizzle is its own inverse.
AnyLayout right_inverse(const ComposedLayout& layout);
AnyLayout left_inverse(const ComposedLayout& layout);
// 1:0, as CuTe answers for every composed layout.
Layout nullspace(const ComposedLayout& layout);
// A(R(i)) - A(R(0)) == i == B(R(i)) - B(R(0)).
Layout max_common_layout(const AnyLayout& a, const AnyLayout& b);
// |max_common_layout(a, b)|; layouts of one swizzle share longer vectors, whose elements it permutes in both.
int64_t max_common_vector(const AnyLayout& a, const AnyLayout& b);
Node max_alignment(const Swizzle& swizzle);
Node max_alignment(const ComposedLayout& layout);
Layout make_fragment_like(const ComposedLayout& layout);
// A x B for a swizzled tiler: the swizzle is carried to the left, over the product with the plain tiler.
AnyLayout logical_product(const Layout& block, const ComposedLayout& tiler);
// c' -> L(c + c'): the offset of c joins the offset inside.
ComposedLayout domain_offset(TupleView coord, const ComposedLayout& layout);

Swizzle upcast(const Swizzle& swizzle, int64_t n);
Swizzle downcast(const Swizzle& swizzle, int64_t n);
Swizzle recast(const Swizzle& swizzle, int64_t old_bits, int64_t new_bits);
ComposedLayout upcast(const ComposedLayout& layout, int64_t n);
ComposedLayout downcast(const ComposedLayout& layout, int64_t n);
ComposedLayout recast(const ComposedLayout& layout, int64_t old_bits, int64_t new_bits);

// The offsets of one period with only the bits that the swizzle reads or changes, or only the others.
Layout projection(const Swizzle& swizzle, bool swizzled);

// A slice of a swizzled layout is an ordinary layout again wherever the modes that are kept touch no Z bit together
// with its Y bit.
struct SlicedComposed {
  AnyLayout layout;
  IntTuple offset;
};
SlicedComposed slice_and_offset(TupleView coord, const ComposedLayout& layout);

}  // namespace tilewright
