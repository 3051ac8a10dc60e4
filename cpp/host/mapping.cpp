#include "mapping.hpp"

#include <algorithm>

#include "core/basis.hpp"

namespace tilewright::host {

namespace {

constexpr int64_t kMaxPairs = int64_t{1} << 20;       // threads * values
constexpr int64_t kMaxReach = int64_t{1} << 40;       // of a tile coordinate
constexpr int64_t kMaxImageBytes = int64_t{1} << 26;  // ten times what any GPU has, and more

std::string text_of(const Coord& coord, std::size_t rank) {
  std::string text = "(";
  for (std::size_t m = 0; m < rank; ++m) text += concat(m == 0 ? "" : ",", coord[m]);
  return text + ")";
}

void check_static(LayoutView layout, const char* field) {
  if (all_static(layout.shape) && all_static(layout.stride)) return;
  fail(concat(field, " = ", to_string(layout), " must be static, but has dynamic integers"));
}

}  // namespace

ThreadValues::ThreadValues(const Layout& tv, std::size_t rank, const char* field) : field_(field) {
  check_static(tv, field);
  if (tv.is_leaf() || tv.rank() != 2) {
    fail(concat(field, " = ", to_string(tv), " must have two modes (threads, values), but has ",
                counted(tv.is_leaf() ? 1 : tv.rank(), "mode")));
  }
  add_leaves(tv.view().mode(1), rank);
  add_leaves(tv.view().mode(0), rank);
  threads_ = size(tv.view().mode(0)).value;
  values_ = size(tv.view().mode(1)).value;
  if (checked_mul(threads_, values_) > kMaxPairs) {
    fail(concat(field, " has ", threads_, " threads of ", values_, " values; the CPU executes at most ", kMaxPairs,
                " values of a CTA"));
  }
  int64_t reach = 0;
  for (const Leaf& leaf : leaves_) {
    const int64_t stride = leaf.stride < 0 ? checked_mul(leaf.stride, -1) : leaf.stride;
    reach = checked_add(reach, checked_mul(leaf.extent, stride));
  }
  if (reach > kMaxReach) fail(concat(field, " reaches tile coordinates beyond 2^40"));
}

void ThreadValues::add_leaves(LayoutView layout, std::size_t rank) {
  for_each_leaf(layout, [&](const Node& extent, const Node& stride) {
    const BasisPath path = basis_path(stride.basis());
    if (path.size() > 1) {
      fail(concat(field_, ": the stride ", stride.value, basis_suffix(stride.basis()),
                  " is nested, but a tile coordinate is flat (strides E(0), E(1), ...)"));
    }
    const std::size_t mode = path.empty() ? 0 : path[0];
    if (mode >= rank) {
      fail(concat(field_, ": the stride ", stride.value, basis_suffix(stride.basis()), " moves along mode ", mode,
                  ", but the tile has ", counted(static_cast<int64_t>(rank), "mode")));
    }
    leaves_.push_back({extent.value, stride.value, mode});
  });
}

void check_coordinates(const ThreadValues& tv, std::size_t rank, const Coord& box) {
  tv.for_each([&](int64_t thread, int64_t value, const Coord& coord) {
    for (std::size_t m = 0; m < rank; ++m) {
      if (coord[m] >= 0 && coord[m] < box[m]) continue;
      fail(concat(tv.field(), ": value ", value, " of thread ", thread, " has the tile coordinate ",
                  text_of(coord, rank), ", outside of the tile ", text_of(box, rank)));
    }
  });
}

void check_accesses(const ThreadValues& tv, int64_t vector, int64_t mode, const char* vector_field) {
  if (tv.values() % vector != 0) {
    throw PlanError(
        concat(vector_field, " = ", vector, " must divide the ", tv.values(), " values of a thread of ", tv.field()));
  }
  if (vector == 1) return;
  for_each_broken_access(tv, vector, mode, [&](int64_t thread, const Coord&) {
    fail(concat(tv.field(), ": the ", vector, " values of an access of thread ", thread, " (", vector_field, " = ",
                vector, ") are not neighbours along mode ", mode));
  });
}

SharedLayout::SharedLayout(const AnyLayout& smem, const Geometry& geometry)
    : rank_(geometry.rank), outer_(Layout::leaf(static_int(1), static_int(0))) {
  if (const auto* plain = std::get_if<Layout>(&smem)) {
    outer_ = *plain;
  } else {
    const auto& composed = std::get<ComposedLayout>(smem);
    const bool takes_offset = composed.offset().is_leaf() && composed.offset().leaf().is_static();
    if (composed.swizzle() == nullptr || !takes_offset) {
      fail(concat("smem = ", to_string(composed), " must be a static Layout, or a swizzle of one"));
    }
    outer_ = composed.outer();
    swizzle_ = *composed.swizzle();
    start_ = composed.offset().leaf().value;
  }
  check_static(outer_, "smem");
  if (has_basis(outer_.stride())) fail("smem must give offsets, but has basis strides");
  const auto layout_rank = static_cast<std::size_t>(outer_.rank());
  if (rank_ != 1 && layout_rank != rank_) {
    fail(concat("smem has ", counted(outer_.rank(), "mode"), ", but takes coordinates of a tile of rank ", rank_));
  }
  size_ = cosize(outer_).value;
  if (swizzle_) {  // a swizzle changes bits below this power of two only
    const int64_t block =
        int64_t{1} << (swizzle_->bits() + swizzle_->base() + std::max(-swizzle_->shift(), int64_t{0}));
    size_ = checked_mul((size_ - 1) / block + 1, block);
  }
  const int64_t bytes = checked_mul(size_, geometry.element_bytes);
  if (bytes > kMaxImageBytes || start_ > kMaxImageBytes || start_ < -kMaxImageBytes) {
    fail(concat("smem spans ", bytes, " bytes from the offset ", start_, " on; the CPU keeps at most ", kMaxImageBytes,
                " bytes for a CTA"));
  }
  for (std::size_t m = 0; m < rank_; ++m) {
    const LayoutView mode = rank_ == 1 ? outer_.view() : outer_.view().mode(static_cast<int64_t>(m));
    extents_[m] = tilewright::size(mode).value;
    tables_[m].resize(static_cast<std::size_t>(std::min(extents_[m], geometry.box[m])));
    for (std::size_t c = 0; c < tables_[m].size(); ++c) tables_[m][c] = evaluate(mode, static_cast<int64_t>(c));
  }
}

int64_t SharedLayout::offset(const Coord& coord) const {
  int64_t offset = start_;
  for (std::size_t m = 0; m < rank_; ++m) {
    const auto c = static_cast<std::size_t>(coord[m]);
    if (c < tables_[m].size()) {
      offset += tables_[m][c];
    } else {
      offset += evaluate(rank_ == 1 ? outer_.view() : outer_.view().mode(static_cast<int64_t>(m)), coord[m]);
    }
  }
  return swizzle_ ? (*swizzle_)(offset) : offset;
}

std::optional<int64_t> SharedLayout::operator()(const Coord& coord) const {
  for (std::size_t m = 0; m < rank_; ++m) {
    if (coord[m] < 0 || coord[m] >= extents_[m]) return std::nullopt;
  }
  const int64_t result = offset(coord);
  if (result < 0 || result >= size_) return std::nullopt;
  return result;
}

}  // namespace tilewright::host
