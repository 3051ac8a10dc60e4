// Layouts as functions: questions that CuTe leaves to the user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "composed.hpp"

namespace tilewright {

// Two 1-D coordinates.
struct Coordinates {
  int64_t first;
  int64_t second;
};

// No two coordinates share an offset; else two that do.
std::optional<Coordinates> collision(const AnyLayout& layout);
inline bool is_injective(const AnyLayout& layout) { return !collision(layout); }
// The offsets are exactly 0 .. size-1 (for basis strides: every coordinate of the coshape), each once.
bool is_bijective(const AnyLayout& layout);

// Whether (L, K) is admissible for complementation: with the modes sorted by stride, s_{i-1}*d_{i-1} | d_i and s_n*d_n
// | K.
struct Admissibility {
  bool holds;
  std::string reason;
};
Admissibility is_admissible(LayoutView layout, int64_t cotarget);

// Whether the modes, sorted by stride, nest: d_i = 0, or s_i*d_i | d_{i+1}. These are the layouts of the categories of
// arXiv 2601.05972.
Admissibility is_tractable(LayoutView layout);

// a(i) == b(i) for all i < size(a) == size(b); else the smallest coordinate where they differ, if the sizes agree.
struct Equivalence {
  bool holds;
  std::string reason;
  std::optional<int64_t> coordinate;
};
Equivalence equivalent(const AnyLayout& a, const AnyLayout& b);

// Coordinates i of a and j of b with a(i) == offset + b(j). None where the images are disjoint.
std::optional<Coordinates> meeting(const AnyLayout& a, const AnyLayout& b, int64_t offset);

// A coordinate whose value does not lie in [begin, end); none where all do.
std::optional<int64_t> outside(const AnyLayout& layout, int64_t begin, int64_t end);

// The modes sorted by stride. Not the same function in general: a helper for the articles that speak of sorted layouts.
Layout sorted_layout(LayoutView layout);

// Writes all offsets in colexicographic order; `out` has room for size(layout).
void write_offsets(const AnyLayout& layout, int64_t* out);
// The distinct offsets, sorted.
std::vector<int64_t> image(const AnyLayout& layout);

}  // namespace tilewright
