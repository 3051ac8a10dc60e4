// A copy plan and its problem: what a GPU kernel would be launched with, executed by this layer on the CPU.
//
// The problem has R <= 8 modes; element c of the source lies at src + c . src_strides, of the destination at
// dst + c . dst_strides (in elements; coordinate 0 at the addresses). A CTA copies one tile of it, CTA b the one that
// starts at o[m] = b[m] * tile[m]. Inside the tile, thread t handles its value v at the coordinate tv(t, v):
//
//     direct    dst[o + tv(t, v)] = src[o + tv(t, v)]
//     staged    phase 1   image[smem(c)] = src[o + c]   for all c = load_tv(t, v)
//               phase 2   dst[o + x] = image[smem(x)]   for all x = store_tv(t, v)
//
// Elements outside of the extents are left out. A plan may shift its rows so that the stores of a row whose address in
// the destination is not aligned are aligned all the same. With S = dst_shift and d = dst_mode (dst_strides[d] == 1):
//
//     sh(c) = (dst_address / element_bytes + sum of c[m] * dst_strides[m] over m != d) mod S
//     phase 1: tile coordinate y is the element r = o + y, but r[d] = o[d] - S + y[d]
//     phase 2: tile coordinate x is the element r = o + x, but r[d] = o[d] + x[d] - sh(r),
//              kept at y = x, but y[d] = x[d] - sh(r) + S
//
// so load_tv and smem reach over the tile by S along d. A direct plan may have dst_shift: its tile coordinate x is the
// element r of phase 2. Both ways there are ceil((extent + S - 1) / tile) tiles along d.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "core/composed.hpp"

namespace tilewright::host {

inline constexpr std::size_t kMaxRank = 8;
using Coord = std::array<int64_t, kMaxRank>;

// A plan with a bad field that is no layout; a layout that does not fit is a LayoutError.
class PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct CopyPlan {
  uint64_t src_address;
  uint64_t dst_address;
  int64_t element_bytes;
  std::size_t rank;
  Coord extents;
  Coord src_strides;
  Coord dst_strides;
  Coord tile;
  Layout load_tv;
  Layout store_tv;
  int64_t load_vector;
  int64_t store_vector;
  std::optional<AnyLayout> smem;  // none: direct
  int64_t src_mode;
  int64_t dst_mode;
  int64_t dst_shift;
};

// What follows from the fields alone, without the layouts.
struct Geometry {
  explicit Geometry(const CopyPlan& plan);  // raises PlanError where a field makes no sense

  std::size_t rank;
  Coord extents;
  Coord src_strides;  // 0 along modes of extent 1, which may say anything; 1 if they are shifted
  Coord dst_strides;
  Coord tile;
  Coord box;    // the tile as phase 1 and shared memory see it
  Coord back;   // phase 1 starts this much before the tile
  Coord tiles;  // CTAs along each mode
  int64_t ctas;
  int64_t elements;  // of the problem
  int64_t element_bytes;
  std::size_t d = 0;  // dst_mode, where rows are shifted
  int64_t dst_shift;
};

// Raises PlanError where a vector or a shift needs neighbours in memory and the strides have none.
void check_vector_strides(const CopyPlan& plan);

// Raises LayoutError where a direct plan has two thread-value layouts.
void check_direct(const CopyPlan& plan);

// a mod n in [0, n), for n > 0.
inline int64_t floor_mod(int64_t a, int64_t n) {
  const int64_t rest = a % n;
  return rest < 0 ? rest + n : rest;
}

// Offsets of coordinates outside of the problem may wrap; they address nothing.
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace tilewright::host
