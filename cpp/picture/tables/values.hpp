// What a layout gives at each index, as pictures say it.
#pragma once

#include "core/composed.hpp"
#include "picture/model.hpp"

namespace tilewright::picture {

inline constexpr int64_t kCounted = int64_t{1} << 16;  // elements of a layout that are evaluated at once

// An offset, or a coordinate of basis strides, with its dynamic integers as plain ones.
struct Offset {
  std::string text;
  std::optional<int64_t> number;  // none of a coordinate
  Owner first;                    // the first number in it
};
Offset offset_of(TupleView given);

// start + layout(i) for each index i.
class Values {
 public:
  explicit Values(AnyLayout layout, int64_t start = 0);
  const AnyLayout& layout() const { return layout_; }
  Offset at(int64_t index) const;
  std::optional<int64_t> number(int64_t index) const;
  // All offsets, where there are not too many and they are no coordinates.
  const std::vector<int64_t>& known() const { return known_; }

 private:
  AnyLayout layout_;
  int64_t start_;
  std::vector<int64_t> known_;
};

const Layout& domain_of(const AnyLayout& layout);
inline TupleView shape_of(const AnyLayout& layout) { return domain_of(layout).shape(); }
inline int64_t size_of(const AnyLayout& layout) { return product(shape_of(layout)).value; }
// CuTe's text; with the values of dynamic integers, or with ? for them.
std::string values_text(const AnyLayout& layout);
std::string text_of(const AnyLayout& layout);
// How many elements a layout has, and how its offsets lie.
std::string facts_of(const Values& values);

}  // namespace tilewright::picture
