// The requests of a copy plan: every instruction, or loop, of kernels/tiled_copy.cuh, tile by tile that differs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "async_totals.hpp"
#include "core/composed.hpp"
#include "tiles.hpp"
#include "totals.hpp"

namespace tilewright::analysis {

using Coordinate = std::vector<int64_t>;

// (thread, value) -> coordinate in the tile: the sum of the thread's and the value's.
struct Dealt {
  std::vector<Coordinate> threads;
  std::vector<Coordinate> values;
};

// Offsets in shared memory of coordinates of the tile there, in elements.
struct SharedTile {
  Coordinate stride;
  int64_t offset = 0;
  std::optional<Swizzle> swizzle;
};

// What of a plan and its tensors says who accesses what; the fields are the plan's, strides and addresses are in bytes.
struct CopyLaunch {
  Coordinate tiles;  // their number along each mode, their extents, and the tensor's
  Coordinate tile;
  Coordinate extents;
  std::array<Coordinate, 2> strides;         // of source and destination
  std::array<int64_t, 2> base{};             // the address of the first element
  std::array<int64_t, 2> memory{};           // where the source's elements begin and end
  std::array<std::size_t, 2> vector_mode{};  // along which accesses of source and destination lie
  int64_t element = 1;                       // bytes
  int64_t load_vector = 1;
  int64_t store_vector = 1;
  int64_t smem_store = 1;
  int64_t smem_load = 1;
  int64_t src_step = 1;
  int64_t dst_shift = 0;
  int64_t joined = 0;    // where an access of the source is two aligned ones, shifted into each other: their bytes
  bool checked = false;  // whether threads look whether they are inside of the tensor
  bool single = false;   // the elements of an access are loaded one by one,
  bool guarded = false;  // and each only if it is inside

  // Whether accesses may read more than their elements, of what lies in the source's memory.
  bool reads_beyond() const { return joined || (src_step > 1 && !guarded); }
  std::vector<Mode> modes() const;  // the tiles along each mode
};

// Where the requests are added up; what is loaded by cp.async is not put into shared memory besides.
struct DirectTallies {
  Tally& load;
  Tally& store;
  Tally& load_edges;
  Tally& store_edges;
};
struct LoadTallies {
  std::variant<Tally*, AsyncTally*> load;
  Tally& put;
  Tally& load_edges;
  Tally& put_edges;
};
struct StoreTallies {
  Tally& take;
  Tally& store;
  Tally& store_edges;
};

// A copy past shared memory; `load` deals the tile out.
void direct_requests(const CopyLaunch& launch, const Dealt& load, const DirectTallies& tallies);

// A copy through shared memory: into it, and out of it.
void staged_loads(const CopyLaunch& launch, const Dealt& load, const SharedTile& shared, const LoadTallies& tallies);
void staged_stores(const CopyLaunch& launch, const Dealt& store, const SharedTile& shared, const StoreTallies& tallies);

}  // namespace tilewright::analysis
