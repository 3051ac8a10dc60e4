// The layouts of a plan as tables: who handles which tile coordinate, and where shared memory keeps it.
#pragma once

#include <optional>
#include <vector>

#include "plan.hpp"

namespace tilewright::host {

// A thread-value layout: (thread, value) -> tile coordinate.
class ThreadValues {
 public:
  // Raises LayoutError where it is not static, does not have two modes, or names a mode that the tile does not have.
  ThreadValues(const Layout& tv, std::size_t rank, const char* field);

  int64_t threads() const { return threads_; }
  int64_t values() const { return values_; }
  const char* field() const { return field_; }

  // f(thread, value, coordinate) for each pair, the values of a thread one after the other.
  template <class F>
  void for_each(F&& f) const {
    Coord coord{};
    std::vector<int64_t> digits(leaves_.size(), 0);
    for (int64_t thread = 0; thread < threads_; ++thread) {
      for (int64_t value = 0; value < values_; ++value) {
        f(thread, value, std::as_const(coord));
        for (std::size_t k = 0; k < leaves_.size(); ++k) {
          const Leaf& leaf = leaves_[k];
          coord[leaf.mode] += leaf.stride;
          if (++digits[k] < leaf.extent) break;
          coord[leaf.mode] -= leaf.extent * leaf.stride;
          digits[k] = 0;
        }
      }
    }
  }

 private:
  struct Leaf {
    int64_t extent;
    int64_t stride;
    std::size_t mode;
  };
  void add_leaves(LayoutView mode, std::size_t rank);

  const char* field_;
  int64_t threads_;
  int64_t values_;
  std::vector<Leaf> leaves_;  // those of the values first
};

// Raises LayoutError where a coordinate lies outside of the box, or where the values of an access are no neighbours
// along a mode.
void check_coordinates(const ThreadValues& tv, std::size_t rank, const Coord& box);
void check_accesses(const ThreadValues& tv, int64_t vector, int64_t mode, const char* vector_field);
// f(thread, coordinate) for each access whose values are not neighbours along the mode.
template <class F>
void for_each_broken_access(const ThreadValues& tv, int64_t vector, int64_t mode, F&& f) {
  Coord first{};
  bool broken = false;
  tv.for_each([&](int64_t thread, int64_t value, const Coord& coord) {
    const int64_t i = value % vector;
    if (i == 0) {
      first = coord;
      broken = false;
      return;
    }
    Coord expected = first;
    expected[static_cast<std::size_t>(mode)] += i;
    if (!broken && coord != expected) {
      broken = true;
      f(thread, std::as_const(first));
    }
  });
}

// Shared memory: tile coordinate -> offset in elements.
class SharedLayout {
 public:
  // Raises LayoutError where it is not static, takes other coordinates than the tile's, or is too large.
  SharedLayout(const AnyLayout& smem, const Geometry& geometry);

  int64_t size() const { return size_; }  // elements; of a swizzled image whole blocks that the swizzle permutes
  // None where the layout does not have the coordinate, or where the offset is outside of the image.
  std::optional<int64_t> operator()(const Coord& coord) const;

 private:
  int64_t offset(const Coord& coord) const;

  std::size_t rank_;
  int64_t size_;
  int64_t start_ = 0;
  std::optional<Swizzle> swizzle_;
  std::array<int64_t, kMaxRank> extents_{};
  std::array<std::vector<int64_t>, kMaxRank> tables_;  // outer offsets along each mode, as far as the box goes
  Layout outer_;
};

}  // namespace tilewright::host
