// A plan compiled for the CPU.
//
// A GPU runs the threads of a CTA in no order, so the CPU may choose one: it moves the coordinates that the threads'
// accesses cover in the order of memory, and neighbouring accesses as one longer run. The bytes moved are the same.
//
//     thread-value layout -> set of tile coordinates -> runs along the mode with the smallest stride
//     shared-memory layout -> table: position in that order -> offset in the image
//
// Where a tile sticks out of the problem, other runs are left: CTAs are sorted by what is left of them, along each mode
// one `Kind`, and every combination that occurs has its own list of runs (`Box`). No element is tested while copying,
// but for the two ends of shifted rows.
#pragma once

#include <vector>

#include "mapping.hpp"

namespace tilewright::host {

// `count` elements along the inner mode of a walk. A side is an offset in a tensor, counted from where its tile starts,
// or a position in a table of shared offsets. In shifted rows the inner mode's part is left to `first`.
struct Run {
  int64_t from;
  int64_t to;
  int64_t first;  // coordinate along the inner mode
  int64_t count;
};

// The coordinates that a thread-value layout covers, in the order of memory.
struct Walk {
  Walk(const ThreadValues& tv, const Geometry& geometry, const Coord& strides, std::optional<std::size_t> inner);

  std::size_t inner() const { return order[0]; }

  std::array<std::size_t, kMaxRank> order{};  // the innermost mode first
  Coord pitch{};                              // position of a coordinate: sum of c[m] * pitch[m]
  std::vector<uint8_t> covered;               // by position
};

// Shared offsets by the positions of a walk, in bytes; groups of `chunk` neighbouring positions (a power of two)
// lie together in shared memory.
struct Image {
  std::vector<int32_t> table;
  int64_t chunk = 1;
};

// What is left of a tile along one mode: [begin, end) in phase 1, [0, store_end) in phase 2.
struct Kind {
  int64_t begin;
  int64_t end;
  int64_t store_end;
  friend bool operator==(const Kind&, const Kind&) = default;
};

struct Box {
  std::vector<Run> load;  // direct: the whole copy
  std::vector<Run> store;
  bool chained = false;  // every run goes on in the next CTA
};

class Tables {
 public:
  // Raises PlanError or LayoutError, naming the field, where the plan would touch what it must not.
  explicit Tables(const CopyPlan& plan);

  bool staged() const { return image_bytes_ > 0; }
  int64_t image_bytes() const { return image_bytes_; }
  const Geometry& geometry() const { return geometry_; }
  const Walk& load() const { return load_; }
  const Walk& store() const { return store_; }
  const Image& load_image() const { return load_image_; }
  const Image& store_image() const { return store_image_; }
  // The mode along which a CTA's successor lies.
  std::size_t fastest() const { return fastest_; }

  // Which kind a tile is along a mode, as its share of the index of the box.
  std::size_t box_share(std::size_t mode, int64_t tile_index) const;
  const Box& box(std::size_t index) const { return boxes_[index]; }
  // Memory, roughly.
  std::size_t bytes() const;

 private:
  Kind kind(std::size_t mode, int64_t tile_index) const;
  void find_kinds();
  Box make_box(const std::array<Kind, kMaxRank>& kinds) const;

  Geometry geometry_;
  int64_t image_bytes_ = 0;
  Walk load_;
  Walk store_;
  Image load_image_;
  Image store_image_;
  std::array<std::vector<Kind>, kMaxRank> kinds_;
  std::array<std::size_t, kMaxRank> radix_{};
  std::size_t fastest_ = 0;
  std::vector<Box> boxes_;
};

}  // namespace tilewright::host
