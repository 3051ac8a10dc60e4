// Axes: which rows or columns of a large panel are drawn, their labels level by level, the rules between tiles.
#pragma once

#include <stdexcept>

#include "core/int_tuple.hpp"
#include "picture/model.hpp"

namespace tilewright::picture {

inline constexpr int64_t kMost = 64;      // a panel draws this many rows and columns
inline constexpr int64_t kLargest = 512;  // of them that may be asked for
inline constexpr const char* kElision = "…";

// An option with a value that it cannot have: what Python calls ValueError.
class OptionError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// The indices that are drawn, in order; none stands for those that are left out.
using Shown = std::vector<std::optional<int64_t>>;
using Extents = std::vector<int64_t>;

// All indices, or, beyond `most`, the first ones, a gap, and the last ones.
Shown shown_of(int64_t extent, int64_t most = kMost);
bool is_cut(const Shown& shown);
// What a note says about a panel of which not all is drawn; "" where all is.
std::string cut_note(const std::string& what, int64_t rows, int64_t columns, int64_t most = kMost);

// The extents of a shape's leaves, those of 1 left out; a shape of one element has one leaf.
Extents extents(TupleView shape);
int64_t product_of(const Extents& extents);
// The coordinate of an index, leaf by leaf, the first one fastest; the last leaf takes what is left.
Extents digits(int64_t index, const Extents& leaves);
// The labels of a mode's indices: one level for each leaf of its shape, the last leaf, which varies least, outside.
Axis axis_of(const Extents& leaves, const Shown& shown, const std::string& prefix = "");
// Rules where a leaf other than the first goes on, heavier for those further out.
std::vector<Rule> rules_of(const Extents& leaves, const Shown& shown);

// Heavy rules after every `extent` rows or columns.
std::vector<Rule> ends(int64_t extent, const Shown& shown);

// A shape with its dynamic integers as plain ones.
IntTuple static_shape(TupleView shape);
// The element that is to be marked: of a coordinate in a shape. OptionError outside of it.
int64_t index_of(TupleView at, TupleView shape);
// The text of an index as a coordinate of a shape.
std::string coordinate_text(int64_t index, TupleView shape);

}  // namespace tilewright::picture
