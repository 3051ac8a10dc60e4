#include "plan.hpp"

#include <string>

namespace tilewright::host {

namespace {

constexpr int64_t kMaxTile = int64_t{1} << 22;    // elements; the tables have entries for each
constexpr int64_t kMaxShift = 1024;               // elements
constexpr int64_t kMaxOffset = int64_t{1} << 60;  // bytes

template <class... Pieces>
[[noreturn]] void bad(const Pieces&... pieces) {
  throw PlanError(concat(pieces...));
}

// a * b where it stays within the limit, else the limit plus one.
int64_t capped_mul(int64_t a, int64_t b, int64_t limit) { return a != 0 && b > limit / a ? limit + 1 : a * b; }

// The strides of the modes that move; raises where an offset in bytes would not fit.
Coord strides_of(const CopyPlan& plan, const Coord& strides, const char* field) {
  Coord moving{};
  int64_t reach = 0;  // elements between the lowest and the highest address, at most
  const int64_t limit = kMaxOffset / plan.element_bytes;
  for (std::size_t m = 0; m < plan.rank; ++m) {
    if (plan.extents[m] <= 1) continue;
    moving[m] = strides[m];
    const int64_t stride = strides[m] < -limit ? limit + 1 : strides[m] < 0 ? -strides[m] : strides[m];
    const int64_t span = capped_mul(plan.extents[m] - 1, stride, limit);
    if (span > limit - reach) {
      bad(field, "[", m, "] = ", strides[m], " with the extent ", plan.extents[m],
          " reaches over more than 2^60 bytes");
    }
    reach += span;
  }
  return moving;
}

std::size_t mode_of(const CopyPlan& plan, int64_t mode, const char* field, const char* needed_by) {
  if (mode < 0 || mode >= static_cast<int64_t>(plan.rank)) {
    bad(field, " = ", mode, " is no mode of a problem of rank ", plan.rank, ", but ", needed_by, " needs one");
  }
  return static_cast<std::size_t>(mode);
}

void check_scalars(const CopyPlan& plan) {
  const int64_t bytes = plan.element_bytes;
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) {
    bad("element_bytes = ", bytes, " must be 1, 2, 4, 8 or 16");
  }
  for (const auto& [name, value] : {std::pair{"load_vector", plan.load_vector}, {"store_vector", plan.store_vector}}) {
    if (value < 1) bad(name, " = ", value, " must be at least 1 element");
  }
  if (plan.dst_shift < 0 || plan.dst_shift > kMaxShift) {
    bad("dst_shift = ", plan.dst_shift, " must be between 0 and ", kMaxShift, " elements");
  }
}

}  // namespace

Geometry::Geometry(const CopyPlan& plan)
    : rank(plan.rank),
      extents(plan.extents),
      tile(plan.tile),
      box(plan.tile),
      back{},
      tiles{},
      ctas(1),
      elements(1),
      element_bytes(plan.element_bytes),
      dst_shift(plan.dst_shift) {
  check_scalars(plan);
  bool empty = false;
  for (std::size_t m = 0; m < rank; ++m) {
    if (extents[m] < 0) bad("extents[", m, "] = ", extents[m], " must not be negative");
    if (tile[m] < 1) bad("tile[", m, "] = ", tile[m], " must be positive");
    empty = empty || extents[m] == 0;
  }
  src_strides = strides_of(plan, plan.src_strides, "src_strides");
  dst_strides = strides_of(plan, plan.dst_strides, "dst_strides");
  if (dst_shift > 0) {
    d = mode_of(plan, plan.dst_mode, "dst_mode", "dst_shift");
    if (extents[d] == 1) dst_strides[d] = 1;
    if (plan.smem) {
      if (tile[d] <= kMaxTile) box[d] += dst_shift;
      back[d] = dst_shift;
    }
  }
  int64_t volume = 1;
  for (std::size_t m = 0; m < rank; ++m) {
    volume = capped_mul(volume, box[m], kMaxTile);
    if (volume > kMaxTile) bad("tile has more than ", kMaxTile, " elements, its shift included");
  }
  if (empty) {
    ctas = elements = 0;
    return;
  }
  constexpr int64_t kMost = int64_t{1} << 62;
  for (std::size_t m = 0; m < rank; ++m) {
    if (extents[m] > kMost / 2) bad("extents[", m, "] = ", extents[m], " is more than 2^61");
    const int64_t reach = extents[m] + (dst_shift > 0 && m == d ? dst_shift - 1 : 0);
    tiles[m] = (reach - 1) / tile[m] + 1;
    elements = capped_mul(elements, extents[m], kMost);
    ctas = capped_mul(ctas, tiles[m], kMost);
  }
  if (elements > kMost || ctas > kMost) bad("extents: the problem has more than 2^62 elements");
}

void check_direct(const CopyPlan& plan) {
  if (plan.smem || plan.load_tv == plan.store_tv) return;
  fail(concat("store_tv = ", to_string(plan.store_tv), " must be load_tv = ", to_string(plan.load_tv),
              " where smem is None: a thread has only what it read itself"));
}

void check_vector_strides(const CopyPlan& plan) {
  const auto needed = [&](const char* why, int64_t count, int64_t mode, const char* mode_field) {
    return std::pair(mode_of(plan, mode, mode_field, why),
                     concat(why, " = ", count, " along ", mode_field, " = ", mode));
  };
  const auto check_stride = [&](const auto& mode, const Coord& strides, const char* field) {
    const auto& [m, why] = mode;
    if (plan.extents[m] <= 1 || strides[m] == 1) return;
    bad(field, "[", m, "] = ", strides[m], " must be 1, because ", why, " takes neighbours in memory");
  };
  if (plan.load_vector > 1) {
    const auto mode = needed("load_vector", plan.load_vector, plan.src_mode, "src_mode");
    // Without shared memory the elements of an access may come from anywhere: they go to registers one by one.
    if (plan.smem) check_stride(mode, plan.src_strides, "src_strides");
  }
  if (plan.store_vector > 1) {
    check_stride(needed("store_vector", plan.store_vector, plan.dst_mode, "dst_mode"), plan.dst_strides, "dst_strides");
  }
  if (plan.dst_shift > 0) {
    check_stride(needed("dst_shift", plan.dst_shift, plan.dst_mode, "dst_mode"), plan.dst_strides, "dst_strides");
  }
}

}  // namespace tilewright::host
